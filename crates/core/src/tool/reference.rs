//! A document as a tool's argument.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::document::Document;
use crate::id::DocumentId;

/// A reference to a document by a model, as an argument of a tool: its full id, the short id of its label, or the
/// reference object from a tool's result.
///
/// It is only a name. [`ToolContext::document`](crate::ToolContext::document) and [`load`](crate::ToolContext::load)
/// resolve it, only against the documents of the conversation: for an invented id, or one of another conversation, the
/// model gets an error.
///
/// ```
/// use attache_core::{Document, DocumentRef, ToolContext, ToolError};
///
/// /// Says how long a document is.
/// async fn length(document: DocumentRef, context: ToolContext) -> Result<u64, ToolError> {
///     let document = context.load(&document).await?;
///     Ok(document.size().unwrap_or_default())
/// }
/// # let read = |json: &str| serde_json::from_str::<DocumentRef>(json).unwrap();
/// assert_eq!(read(r#""7d41c0b2""#).as_str(), "7d41c0b2");
/// assert_eq!(read(r#"{"attache.document":"stored","documentId":"d-1"}"#).as_str(), "d-1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DocumentRef(Box<str>);

/// The schema's words for the model.
pub(crate) const HINT: &str = "The id of a document of this conversation, as its label or the result that it came \
                               in shows it";

impl DocumentRef {
    /// Parses a reference as written by a model: an id, the start of one, or a URL. `None` if it is blank.
    pub fn parse(text: impl AsRef<str>) -> Option<Self> {
        let text = text.as_ref().trim();
        // Some models wrap a reference object in a string, or quote what is quoted already.
        let reference = || serde_json::from_str::<Reference>(text).ok().filter(|_| text.starts_with('{'));
        if let Some(Reference { document_id }) = reference() {
            return Some(Self::from(&document_id));
        }
        let bare = text.trim_matches(['"', '\'', '`']).trim();
        (!bare.is_empty()).then(|| Self(Box::from(bare)))
    }

    /// The text as the model wrote it. It may be a URL with a secret in its query.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if it looks like the address of an external document.
    pub(crate) fn is_address(&self) -> bool {
        self.0.contains("://")
    }
}

/// The reference object as a model sees it, as far as it matters here.
#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "documentId")]
    document_id: DocumentId,
}

impl From<&DocumentId> for DocumentRef {
    fn from(id: &DocumentId) -> Self {
        Self(Box::from(id.as_str()))
    }
}

impl From<&Document> for DocumentRef {
    fn from(document: &Document) -> Self {
        Self::from(document.id())
    }
}

/// An address does not show.
impl fmt::Debug for DocumentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_address() {
            true => f.write_str("DocumentRef(an address)"),
            false => f.debug_tuple("DocumentRef").field(&self.0).finish(),
        }
    }
}

impl Serialize for DocumentRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for DocumentRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = DocumentRef;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a document")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<DocumentRef, E> {
                DocumentRef::parse(text).ok_or_else(|| E::custom("the id of a document must not be blank"))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DocumentRef, A::Error> {
                let Reference { document_id } = Reference::deserialize(MapAccessDeserializer::new(map))?;
                Ok(DocumentRef::from(&document_id))
            }
        }

        deserializer.deserialize_any(Written)
    }
}

/// A plain string. That an object is taken too need not be known to whoever has the choice.
impl JsonSchema for DocumentRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("DocumentRef")
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": HINT})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_write() {
        let read =
            |json: &str| serde_json::from_str::<DocumentRef>(json).map(|read| read.as_str().to_owned()).ok();
        for json in [
            r#""7d41c0b2""#,
            r#"" '7d41c0b2' ""#,
            r#""`7d41c0b2`""#,
            r#"{"documentId":"7d41c0b2"}"#,
            r#"{"attache.document":"stored","documentId":"7d41c0b2","storeId":"m","metadata":{"size":3}}"#,
            r#""{\"attache.document\":\"stored\",\"documentId\":\"7d41c0b2\"}""#,
        ] {
            assert_eq!(read(json).as_deref(), Some("7d41c0b2"), "{json}");
        }
        for json in [r#""""#, r#"" \"\" ""#, "7", "null", "[]", "{}", r#"{"documentId":""}"#] {
            assert_eq!(read(json), None, "{json}");
        }
        assert_eq!(read(r#""{\"id\":1}""#).as_deref(), Some(r#"{"id":1}"#), "it names no document, then");
    }

    // Invariant 11
    #[test]
    fn an_address_does_not_show() {
        let shown = format!("{:?}", DocumentRef::parse("https://x/?sig=canary"));
        assert!(!shown.contains("canary"), "{shown}");
    }
}
