//! Short ids that are unambiguous inside one message.

use std::collections::HashMap;

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
        let mut groups: HashMap<&str, Vec<&DocumentId>> = HashMap::new();
        for id in documents.map(Document::id) {
            let group = groups.entry(id.short()).or_default();
            if !group.contains(&id) {
                group.push(id);
            }
        }
        let ambiguous = groups.into_values().filter(|group| group.len() > 1);
        Self(
            ambiguous
                .flat_map(|group| group.clone().into_iter().map(move |id| (id, longer(id, &group))))
                .collect(),
        )
    }

    pub(crate) fn get(&self, document: &'d Document) -> &'d str {
        self.0.get(document.id()).copied().unwrap_or_else(|| document.id().short())
    }
}

/// The shortest run of dash-separated groups that no other id of `group` starts with; the whole id if there is none.
fn longer<'d>(id: &'d DocumentId, group: &[&DocumentId]) -> &'d str {
    let whole = id.as_str();
    let prefixes = whole.match_indices('-').filter_map(|(dash, _)| whole.get(..dash));
    let unique = |prefix: &&str| {
        let shared = |other: &&&DocumentId| {
            let rest = other.as_str().strip_prefix(*prefix);
            **other != id && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        !prefix.is_empty() && group.iter().find(shared).is_none()
    };
    prefixes.filter(|prefix| prefix.len() > id.short().len()).find(unique).unwrap_or(whole)
}
