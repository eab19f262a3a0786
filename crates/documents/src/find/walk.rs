//! Finds documents in the output of a tool.

use std::collections::HashMap;

use attache_core::tree::{REFERENCE_ID, REFERENCE_MARKER, reference_ids};
use attache_core::{ContentTree, Document, DocumentId};
use serde_json::Value;

/// The documents of a tree: in the order of their first reference in its text, then those without one.
///
/// Each is returned once. References that match none of the tree's documents are text; see [`ContentTree::unresolved`].
///
/// ```
/// use attache_core::{Capture, Document};
/// let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf");
/// let tree = Capture::new().finish(&[Some(&pdf), None, Some(&pdf)])?;
/// assert_eq!(attache_documents::walk(&tree), [&pdf]);
/// # Ok::<(), attache_core::tree::TreeError>(())
/// ```
pub fn walk(tree: &ContentTree) -> Vec<&Document> {
    let mut found = Found::among(tree.documents());
    for id in reference_ids(tree.json()) {
        found.take(&id);
    }
    found.then_the_rest()
}

/// The documents referenced in a part of a tree, depth first in source order, each once.
///
/// For handlers that show only part of their output: read the tree's JSON, select a part, and walk it with the tree's
/// documents. A reference resolves only against `documents`; any other reference is plain data. Keys of objects are
/// never interpreted, and depth uses heap, not stack.
///
/// ```
/// use attache_core::{Capture, Document};
/// use serde_json::{Value, json};
///
/// let (chart, raw) = (Document::inline("chart"), Document::inline("raw"));
/// let mut capture = Capture::new();
/// let output = capture.run_blocking(|| json!({"charts": [chart], "raw": raw}));
/// let tree = capture.finish(&output)?;
/// let value: Value = serde_json::from_str(tree.json())?;
/// assert_eq!(attache_documents::walk_value(&value["charts"], tree.documents()), [chart]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn walk_value(value: &Value, documents: &[Document]) -> Vec<Document> {
    let mut found = Found::among(documents);
    let mut ahead = vec![value];
    while let Some(value) = ahead.pop() {
        match value {
            Value::Object(members) => {
                if let Some(id) = members.contains_key(REFERENCE_MARKER).then(|| reference(value)).flatten() {
                    found.take(&id);
                }
                // A flattened document shares its object with other members, so a reference is no leaf.
                ahead.extend(members.values().rev());
            }
            Value::Array(items) => ahead.extend(items.iter().rev()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found.taken.into_iter().cloned().collect()
}

fn reference(value: &Value) -> Option<DocumentId> {
    value.get(REFERENCE_ID).and_then(Value::as_str).and_then(DocumentId::parse)
}

/// Which of the known documents were met so far.
struct Found<'d> {
    known: Vec<Option<&'d Document>>,
    by_id: HashMap<&'d DocumentId, usize>,
    taken: Vec<&'d Document>,
}

impl<'d> Found<'d> {
    fn among(documents: &'d [Document]) -> Self {
        let by_id = documents.iter().enumerate().rev().map(|(at, document)| (document.id(), at)).collect();
        Self { known: documents.iter().map(Some).collect(), by_id, taken: Vec::new() }
    }

    fn take(&mut self, id: &DocumentId) {
        let slot = self.by_id.get(id).and_then(|at| self.known.get_mut(*at));
        self.taken.extend(slot.and_then(Option::take));
    }

    fn then_the_rest(mut self) -> Vec<&'d Document> {
        self.taken.extend(self.known.into_iter().flatten());
        self.taken
    }
}
