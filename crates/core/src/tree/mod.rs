//! The output of a tool: JSON text, and the documents in it.

pub(crate) mod error;
mod references;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::document::Document;
pub use crate::document::reference::{REFERENCE_ID, REFERENCE_MARKER};
use crate::id::DocumentId;
use crate::identity::{new_ids, with_new_ids};
pub(crate) use error::Reason;
pub use error::{TreeError, TreeErrorKind};
pub use references::reference_ids;
pub(crate) use references::references_within;

/// The text that the model reads if a tool returned nothing, `null` or blank text.
pub const NO_RESULT: &str = "Tool execution succeeded, but returned no result.";

/// Limits of a tool's output, enforced during serialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeLimits {
    /// The maximum nesting depth of arrays and objects; 100 by default.
    pub max_depth: usize,
    /// The maximum number of bytes of JSON text; 16 MiB by default. (The agent decides how much of it the model sees.)
    pub max_bytes: usize,
    /// The maximum number of documents in one output; 1,000 by default.
    pub max_documents: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { max_depth: 100, max_bytes: 16 << 20, max_documents: 1_000 }
    }
}

/// A tool's output, or an event's payload, as compact JSON text in source order with the documents in it.
///
/// Documents are references in the text; only the listed documents are real. A reference in the text that is not in the
/// list (forged, or from another conversation) is just text. Some listed documents may be withheld: they are never
/// shown to a model, wherever the tree is used.
#[derive(Clone, Debug)]
pub struct ContentTree {
    json: Arc<str>,
    documents: Arc<[Document]>,
    withheld: Arc<[DocumentId]>,
}

impl ContentTree {
    /// Creates a plain text without documents.
    pub fn text(text: &str) -> Self {
        let json = crate::json::quoted(text, usize::MAX).unwrap_or_else(|_| "null".to_owned());
        Self::from_parts(json, Vec::new())
    }

    /// Creates a tree of a JSON value without documents. References in it are text.
    pub fn value(value: &serde_json::Value) -> Self {
        Self::from_parts(value.to_string(), Vec::new())
    }

    /// Creates a tree from JSON text and its documents, as they were stored. Returns `None` if the text is not JSON.
    pub fn parse(json: &str, documents: Vec<Document>) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        let (json, _) = crate::json::compact(raw.get());
        Some(Self::from_parts(json, documents))
    }

    /// Compact JSON text and its documents, in the order in which they shall be shown.
    pub(crate) fn from_parts(json: String, documents: Vec<Document>) -> Self {
        // The empty list is shared, and most trees have it.
        let documents = if documents.is_empty() { Arc::default() } else { Arc::from(documents) };
        Self { json: Arc::from(json), documents, withheld: Arc::default() }
    }

    pub(crate) fn with_documents(self, documents: Vec<Document>) -> Self {
        Self { documents: Arc::from(documents), ..self }
    }

    /// Sets the documents that must not be shown; the others may be.
    #[must_use]
    pub fn with_withheld(mut self, withheld: Vec<DocumentId>) -> Self {
        self.withheld = Arc::from(withheld);
        self
    }

    /// The compact JSON text, members in source order.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The documents, including withheld ones: in the order of their first reference in the text, then those without
    /// one.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The documents that must not be shown.
    pub fn withheld(&self) -> &[DocumentId] {
        &self.withheld
    }

    /// The documents that may be shown, in order.
    pub fn shown(&self) -> impl Iterator<Item = &Document> {
        let withheld: HashSet<&DocumentId> = self.withheld.iter().collect();
        self.documents.iter().filter(move |document| withheld.is_empty() || !withheld.contains(document.id()))
    }

    /// Returns this tree with the same text and other handles for its documents, for loading and storing them.
    #[must_use]
    pub fn map_documents(&self, change: impl FnMut(&Document) -> Document) -> Self {
        Self { documents: self.documents.iter().map(change).collect(), ..self.clone() }
    }

    /// The same tree with other ids for some of its documents, in the text too.
    pub(crate) fn with_ids(&self, ids: &HashMap<DocumentId, DocumentId>) -> Self {
        Self {
            json: Arc::from(references::renamed(&self.json, ids)),
            documents: with_new_ids(&self.documents, ids),
            withheld: new_ids(&self.withheld, ids),
        }
    }

    /// The references in the text that match none of its documents.
    pub fn unresolved(&self) -> Vec<DocumentId> {
        let mut unresolved: Vec<DocumentId> = reference_ids(&self.json).collect();
        if !unresolved.is_empty() {
            let known: HashSet<&DocumentId> = self.documents.iter().map(Document::id).collect();
            unresolved.retain(|id| !known.contains(id));
        }
        unresolved
    }

    /// True if the text for the model would be blank.
    pub fn is_blank(&self) -> bool {
        match self.json.as_bytes() {
            b"null" | b"\"\"" => true,
            // A text that begins with a visible character needs no closer look.
            [b'"', first, ..] if first.is_ascii_graphic() && !matches!(first, b'\\' | b'"') => false,
            [b'"', ..] => self.string().is_none_or(|text| text.trim().is_empty()),
            _ => false,
        }
    }

    /// The text that the model reads: a string without its quotes, [`NO_RESULT`] for nothing, JSON otherwise.
    pub fn model_text(&self) -> Cow<'_, str> {
        if self.is_blank() {
            return Cow::Borrowed(NO_RESULT);
        }
        self.string().unwrap_or(Cow::Borrowed(&self.json))
    }

    /// [`model_text`](Self::model_text) as a JSON string literal with its quotes; text that is already a literal is
    /// borrowed, not escaped again.
    pub fn model_text_literal(&self) -> Cow<'_, str> {
        if self.json.starts_with('"') && !self.is_blank() {
            return Cow::Borrowed(&self.json);
        }
        // A string always serialises.
        Cow::Owned(serde_json::to_string(&*self.model_text()).unwrap_or_default())
    }

    fn string(&self) -> Option<Cow<'_, str>> {
        #[derive(Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        if !self.json.starts_with('"') {
            return None;
        }
        serde_json::from_str::<Text<'_>>(&self.json).ok().map(|text| text.0)
    }
}

/// Two trees are equal if their texts and the ids of their documents are; which of them are withheld is the result's
/// affair.
impl PartialEq for ContentTree {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
            && self.documents.len() == other.documents.len()
            && self.documents.iter().zip(&*other.documents).all(|(a, b)| a.id() == b.id())
    }
}

#[cfg(test)]
mod tests;
