//! Detection of identical documents.

use std::collections::HashMap;

use crate::document::{Document, DocumentSource};
use crate::id::DocumentId;

/// Numbers documents in order of first appearance; identical documents get the same number.
///
/// Documents are identical as defined by [`Document::is_same`]: the same id and, if both contents are known, the same
/// content, or the same URL for external documents. A number costs one table lookup, regardless of their count; content
/// is hashed only if an id has several contents.
///
/// ```
/// use attache_core::{Document, DocumentId};
/// use attache_core::identity::Identities;
/// let id = DocumentId::parse("contract-42").unwrap();
/// let of = |text: &str| Document::inline(text).with_id(id.clone());
/// let (first, second, first_again) = (of("version 1"), of("version 2"), of("version 1"));
/// let mut identities = Identities::new();
/// assert_eq!([&first, &second, &first_again].map(|document| identities.number(document)), [0, 1, 0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Identities<'d> {
    /// The document that an id stood for first.
    by_id: HashMap<&'d DocumentId, (usize, &'d Document)>,
    /// Documents with the id of another, and other content.
    versions: HashMap<(&'d DocumentId, [u8; 32]), usize>,
    by_url: HashMap<&'d str, usize>,
    count: usize,
}

impl<'d> Identities<'d> {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of distinct documents.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if no document has a number.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of a document, or `None` if it has none yet.
    pub fn get(&self, document: &Document) -> Option<usize> {
        if let Some(number) = url(document).and_then(|url| self.by_url.get(url)) {
            return Some(*number);
        }
        let (number, first) = self.by_id.get(document.id())?;
        if first.has_other_content(document) {
            return self.versions.get(&(document.id(), document.hash()?)).copied();
        }
        Some(*number)
    }

    /// The number of a document; a new document gets the next number.
    pub fn number(&mut self, document: &'d Document) -> usize {
        let number = self.get(document).unwrap_or(self.count);
        self.count = self.count.max(number + 1);
        match self.by_id.get_mut(document.id()) {
            None => {
                self.by_id.insert(document.id(), (number, document));
            }
            // Content that becomes known tells later ones apart.
            Some((known, first)) if *known == number => {
                if !first.is_in_memory() && document.is_in_memory() {
                    *first = document;
                }
            }
            Some(_) => {
                if let Some(hash) = document.hash() {
                    self.versions.insert((document.id(), hash), number);
                }
            }
        }
        if let Some(url) = url(document) {
            self.by_url.entry(url).or_insert(number);
        }
        number
    }

    /// Numbers the document and returns true if it is the first of its identity.
    pub fn insert(&mut self, document: &'d Document) -> bool {
        let before = self.count;
        self.number(document) >= before
    }
}

fn url(document: &Document) -> Option<&str> {
    match document.source() {
        DocumentSource::External { url } => Some(url),
        _ => None,
    }
}

/// The ids that documents get whose own one stands for other content already; `None` if none does.
pub(crate) fn own_ids<'a, 'd>(
    documents: impl IntoIterator<Item = &'a Document>,
    known: impl Fn(&DocumentId) -> Option<&'d Document>,
) -> Option<HashMap<DocumentId, DocumentId>> {
    let mut ids = HashMap::new();
    for document in documents {
        if known(document.id()).is_some_and(|known| known.has_other_content(document))
            && let Some(id) = document.id_beside_another()
        {
            ids.insert(document.id().clone(), id);
        }
    }
    Some(ids).filter(|ids| !ids.is_empty())
}

/// The documents, each with the id that takes the place of its own, if one does.
pub(crate) fn with_new_ids<C: FromIterator<Document>>(
    documents: &[Document],
    ids: &HashMap<DocumentId, DocumentId>,
) -> C {
    let renewed = |document: &Document| match ids.get(document.id()) {
        Some(id) => document.clone().with_id(id.clone()),
        None => document.clone(),
    };
    documents.iter().map(renewed).collect()
}

/// The same of ids.
pub(crate) fn new_ids<C: FromIterator<DocumentId>>(
    of: &[DocumentId],
    ids: &HashMap<DocumentId, DocumentId>,
) -> C {
    of.iter().map(|id| ids.get(id).unwrap_or(id).clone()).collect()
}
