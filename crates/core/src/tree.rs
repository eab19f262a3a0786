//! What a tool returned: JSON text, and the documents in it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::document::{Document, MARKER};
use crate::id::DocumentId;

/// What the model reads where a tool returned nothing, `null` or blank text.
pub const NO_RESULT: &str = "Tool execution succeeded, but returned no result.";

/// Limits of a tool's output, enforced while it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeLimits {
    /// Nested arrays and objects; 100 by default.
    pub max_depth: usize,
    /// Bytes of JSON text; 16 MiB by default. (How much of it the model sees is the agent's decision.)
    pub max_bytes: usize,
    /// Documents in one output; 1,000 by default.
    pub max_documents: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { max_depth: 100, max_bytes: 16 << 20, max_documents: 1_000 }
    }
}

/// Why an output could not become a [`ContentTree`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// Arrays and objects are nested deeper than the limit.
    #[error("the output is nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The JSON text is longer than the limit.
    #[error("the output is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The output's own serialisation failed, or it holds too many documents.
    #[error("the output cannot be serialised")]
    Serialize(#[source] serde_json::Error),
}

/// A tool's output, or an event's payload, as compact JSON text in source order with the documents in it.
///
/// Documents stand in the text as references; only the listed documents are real. A reference in the text that is
/// not in the list (forged, or of another conversation) is just text.
#[derive(Clone, Debug)]
pub struct ContentTree {
    json: Arc<str>,
    documents: Arc<[Document]>,
}

impl ContentTree {
    /// A plain text without documents.
    pub fn text(text: &str) -> Self {
        let json = serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned());
        Self::from_parts(json, Vec::new())
    }

    /// A JSON value without documents. References in it are text.
    pub fn value(value: &serde_json::Value) -> Self {
        Self::from_parts(value.to_string(), Vec::new())
    }

    /// Valid JSON text and its documents, as they were stored. `None` if the text is not JSON.
    pub fn parse(json: &str, documents: Vec<Document>) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        let (json, _) = crate::json::compact(raw.get());
        Some(Self::from_parts(json, documents))
    }

    /// Compact JSON text and its documents, in the order in which they shall be shown.
    pub(crate) fn from_parts(json: String, documents: Vec<Document>) -> Self {
        Self { json: Arc::from(json), documents: Arc::from(documents) }
    }

    /// Compact JSON text and captured documents, which are put in the order of their places in the text; what
    /// has no place there comes last.
    pub(crate) fn located(json: String, mut captured: Vec<Document>) -> Self {
        if captured.len() < 2 {
            return Self::from_parts(json, captured);
        }
        let mut ordered = Vec::with_capacity(captured.len());
        for id in reference_ids(&json) {
            if let Some(at) = captured.iter().position(|document| *document.id() == id) {
                ordered.push(captured.remove(at));
            }
        }
        ordered.append(&mut captured);
        Self::from_parts(json, ordered)
    }

    /// The compact JSON text, members in source order.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The documents: in the order of their first reference in the text, then those without one.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The same text with other handles for its documents, for loading and storing them.
    #[must_use]
    pub fn map_documents(&self, change: impl FnMut(&Document) -> Document) -> Self {
        Self { json: Arc::clone(&self.json), documents: self.documents.iter().map(change).collect() }
    }

    /// References in the text that stand for none of its documents.
    pub fn unresolved(&self) -> Vec<DocumentId> {
        reference_ids(&self.json)
            .filter(|id| !self.documents.iter().any(|document| document.id() == id))
            .collect()
    }

    /// Whether the model would read nothing but blank.
    pub fn is_blank(&self) -> bool {
        match self.json.as_bytes() {
            b"null" | b"\"\"" => true,
            // What begins with a visible character needs no closer look.
            [b'"', first, ..] if first.is_ascii_graphic() && !matches!(first, b'\\' | b'"') => false,
            [b'"', ..] => self.string().is_none_or(|text| text.trim().is_empty()),
            _ => false,
        }
    }

    /// What the model reads: a string without its quotes, [`NO_RESULT`] for nothing, JSON otherwise.
    pub fn model_text(&self) -> Cow<'_, str> {
        if self.is_blank() {
            return Cow::Borrowed(NO_RESULT);
        }
        self.string().unwrap_or(Cow::Borrowed(&self.json))
    }

    /// [`model_text`](Self::model_text) as a JSON string literal with its quotes; text that already is one is
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

impl PartialEq for ContentTree {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
            && self.documents.len() == other.documents.len()
            && self.documents.iter().zip(&*other.documents).all(|(a, b)| a.id() == b.id())
    }
}

/// Serialises as the JSON itself. Inside a capture its documents are captured again, so a tool may return what
/// another tool returned.
impl Serialize for ContentTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        for document in &*self.documents {
            if matches!(crate::capture::register(document), crate::capture::Registered::Full) {
                return Err(S::Error::custom("too many documents in one result"));
            }
        }
        let raw: &RawValue = serde_json::from_str(&self.json).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// The ids in the document references of compact JSON text, in source order, duplicates included.
///
/// A reference is an object with the member `attache.document`; text inside strings is never taken for one, since
/// its quotes are escaped. Iterative: depth costs no stack.
pub fn reference_ids(json: &str) -> impl Iterator<Item = DocumentId> {
    #[derive(Deserialize)]
    struct Reference {
        #[serde(rename = "documentId")]
        document_id: DocumentId,
    }
    let needle = [r#"""#, MARKER, r#"":"#].concat();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + json.get(from..)?.find(&needle)?;
            from = at + needle.len();
            let opened = at.checked_sub(1).and_then(|before| json.as_bytes().get(before));
            if !matches!(opened, Some(b'{' | b',')) {
                continue;
            }
            // The rest of the object, read as one of its own; its reader stops at the closing brace.
            let rest = std::io::Read::chain(&b"{"[..], json.get(at..)?.as_bytes());
            let mut values = serde_json::Deserializer::from_reader(rest).into_iter::<Reference>();
            if let Some(Ok(reference)) = values.next() {
                return Some(reference.document_id);
            }
        }
    })
}

#[cfg(test)]
mod tests;
