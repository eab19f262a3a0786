//! The references that stand for documents in JSON.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Document, DocumentSource};
use crate::hash::hex;
use crate::id::DocumentId;

/// The names as literals, for `concat!`.
macro_rules! reference_marker {
    () => {
        "attache.document"
    };
}
macro_rules! reference_id {
    () => {
        "documentId"
    };
}
pub(crate) use {reference_id, reference_marker};

/// The member that makes a JSON object a document reference. It says how the document is kept.
pub const REFERENCE_MARKER: &str = reference_marker!();

/// The member of a document reference that holds the document's id.
pub const REFERENCE_ID: &str = reference_id!();

impl Document {
    /// Writes the reference for a reader.
    pub(crate) fn write_reference<S: Serializer>(
        &self,
        serializer: S,
        reader: Reader<'_>,
    ) -> Result<S::Ok, S::Error> {
        let inner = &*self.0;
        let stored = matches!(reader, Reader::Store);
        let (id, store) = match reader {
            Reader::Model { id, store_id } => (id, store_id),
            Reader::Store | Reader::Nobody => (&inner.id, None),
        };
        let mut map = serializer.serialize_map(None)?;
        let kind = match &inner.source {
            DocumentSource::Bytes(_) | DocumentSource::Stored => "stored",
            DocumentSource::External { .. } => "external",
            DocumentSource::Inline { .. } => "inline",
        };
        map.serialize_entry(REFERENCE_MARKER, kind)?;
        map.serialize_entry(REFERENCE_ID, id)?;
        match &inner.source {
            DocumentSource::Bytes(_) | DocumentSource::Stored => {
                if let Some(store) = inner.store_id.as_deref().or(store) {
                    map.serialize_entry("storeId", store)?;
                }
            }
            DocumentSource::External { url } if stored => map.serialize_entry("url", url)?,
            DocumentSource::Inline { text } if stored => map.serialize_entry("content", text)?,
            DocumentSource::External { .. } | DocumentSource::Inline { .. } => {}
        }
        map.serialize_entry(
            "metadata",
            &ReferenceMetadata {
                content_type: inner.media_type.to_string(),
                file_name: inner.file_name.as_deref(),
                size: inner.size,
                sha256: inner.hash.get().filter(|_| stored && kind == "stored").map(hex),
            },
        )?;
        if matches!(reader, Reader::Nobody) {
            map.serialize_entry("problem", NOT_CAPTURED)?;
        }
        map.end()
    }
}

/// The reader of a reference.
#[derive(Clone, Copy)]
pub(crate) enum Reader<'a> {
    /// The reader of a stored conversation, which has everything.
    Store,
    /// A model, which sees no address and no content.
    Model { id: &'a DocumentId, store_id: Option<&'a str> },
    /// Nobody who has the document: as for a model, and it says so.
    Nobody,
}

/// The words of a reference that was written while no capture was active.
const NOT_CAPTURED: &str = "the content is not available: it was serialised outside of a tool's call";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceMetadata<'a> {
    content_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_holds_no_bytes() {
        let document = Document::from_bytes(&b"%PDF-1.7 secret"[..], "")
            .with_file_name("a.pdf")
            .with_store_id("main")
            .with_id(DocumentId::parse("d-1").unwrap());
        assert_eq!(
            serde_json::to_string(&document).unwrap(),
            r#"{"attache.document":"stored","documentId":"d-1","storeId":"main","metadata":{"contentType":"application/pdf","fileName":"a.pdf","size":15},"problem":"the content is not available: it was serialised outside of a tool's call"}"#
        );
    }

    #[test]
    fn a_reference_outside_of_a_capture_holds_no_address_and_no_content() {
        let documents = [Document::external("https://x/a.pdf?sig=canary"), Document::inline("canary")];
        let text = serde_json::to_string(&documents).unwrap();
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(text.matches("the content is not available").count(), 2);
    }
}
