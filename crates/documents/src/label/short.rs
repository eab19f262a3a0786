//! Short ids that are unambiguous inside one message.

use std::collections::{HashMap, HashSet};

use attache_core::{Document, DocumentId};

/// The short ids of the documents of one message, longer where [`DocumentId::short`] is ambiguous.
#[derive(Debug, Default)]
pub(crate) struct ShortIds<'d>(HashMap<&'d DocumentId, &'d str>);

impl<'d> ShortIds<'d> {
    pub(crate) fn of(documents: impl IntoIterator<Item = &'d Document, IntoIter: ExactSizeIterator>) -> Self {
        let documents = documents.into_iter();
        if documents.len() < 2 {
            return Self::default();
        }
        let mut groups: HashMap<&str, HashSet<&DocumentId>> = HashMap::new();
        for id in documents.map(Document::id) {
            groups.entry(id.short()).or_default().insert(id);
        }
        Self(groups.into_values().filter(|group| group.len() > 1).flat_map(longer).collect())
    }

    pub(crate) fn get(&self, document: &'d Document) -> &'d str {
        self.0.get(document.id()).copied().unwrap_or_else(|| document.id().short())
    }
}

/// For each id the shortest run of dash-separated groups that no other id starts with; the whole id if there is none.
///
/// In order, those that share most with an id stand beside it, so its neighbours are all that is compared.
fn longer<'d>(ids: HashSet<&'d DocumentId>) -> Vec<(&'d DocumentId, &'d str)> {
    let groups = |id: &'d DocumentId| id.as_str().split('-');
    let mut ids: Vec<&DocumentId> = ids.into_iter().collect();
    ids.sort_by(|one, other| groups(one).cmp(groups(other)));
    let shared = |one: &'d DocumentId, other: Option<&&'d DocumentId>| {
        other.map_or(0, |other| groups(one).zip(groups(other)).take_while(|(a, b)| a == b).count())
    };
    let before = std::iter::once(None).chain(ids.iter().map(Some));
    let after = ids.iter().skip(1).map(Some).chain([None]);
    let prefix = |((id, before), after): ((&&'d DocumentId, _), _)| {
        let (id, needed) = (*id, shared(id, before).max(shared(id, after)));
        let end = id.as_str().match_indices('-').nth(needed).map(|(dash, _)| dash).filter(|dash| *dash > 0);
        (id, end.and_then(|end| id.as_str().get(..end)).unwrap_or(id.as_str()))
    };
    ids.iter().zip(before).zip(after).map(prefix).collect()
}
