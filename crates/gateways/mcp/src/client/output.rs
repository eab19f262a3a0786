//! The result of a call of a server, as a model is shown it.

use attache_core::tool::Deferred;
use attache_core::{ContentTree, Document};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The result of a call: typed content in the order in which the server sent it.
///
/// One text alone is shown as it is. Otherwise the model reads a list of blocks, in which documents stand as
/// references; or the structured content alone where the blocks only repeat it; or both.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct McpOutput {
    /// The blocks of content.
    pub content: Vec<McpContent>,
    /// The structured content, unless the blocks say all of it.
    pub structured: Option<Value>,
    /// True if the server says that the tool failed.
    pub is_error: bool,
    /// The source of the result, if it is none yet: a task that takes longer than a call.
    pub deferred: Option<Box<Deferred>>,
    /// Texts of the structured content that are the bytes of a document of the blocks.
    pub(crate) repeated: Vec<(String, Document)>,
}

/// One block of content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpContent {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// The role of the speaker, in a prompt.
        role: Option<String>,
    },
    /// The text of a resource.
    Resource {
        /// Its address; empty if the server gives none.
        uri: String,
        /// Its media type, as the server says.
        media_type: Option<String>,
        /// The text.
        text: String,
    },
    /// An image, sound, the bytes of a resource, or a link to one.
    Document {
        /// The kind of block: `image`, `audio`, `resource`, `resource_link`.
        kind: &'static str,
        /// The document. That of a link is external.
        document: Document,
        /// The address of a resource.
        uri: Option<String>,
        /// The server's description of it.
        description: Option<String>,
        /// True if the server means it for the user alone: it is withheld from the model.
        for_user: bool,
    },
    /// A block of a kind that is not known here, as it came but for base64.
    Other(Value),
    /// A note on blocks that are not shown.
    Note(String),
}

impl McpContent {
    /// A text without a role.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), role: None }
    }
}

impl McpOutput {
    /// A failure with its text for the model.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { content: vec![McpContent::text(text)], is_error: true, ..Self::default() }
    }

    /// The documents for the model, in order; all others are withheld.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.content.iter().filter_map(|content| match content {
            McpContent::Document { document, for_user: false, .. } => Some(document),
            _ => None,
        })
    }

    /// The documents of the output, of those that its tree has, to show the model.
    pub(crate) fn extract(&self, tree: &ContentTree) -> Vec<Document> {
        let shown: Vec<Document> = self.documents().cloned().collect();
        tracing::debug!(documents = shown.len(), in_tree = tree.documents().len(), "documents of a server");
        shown
    }
}

impl Serialize for McpOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(deferred) = &self.deferred {
            return deferred.serialize(serializer);
        }
        let structured = self.structured.as_ref().map(|value| Shown { value, repeated: &self.repeated });
        match (structured, &*self.content) {
            (None, []) => serializer.serialize_unit(),
            (None, [McpContent::Text { text, role: None }]) => serializer.serialize_str(text),
            (None, [McpContent::Note(text)]) => serializer.serialize_str(text),
            (None, content) => content.serialize(serializer),
            (Some(structured), []) => structured.serialize(serializer),
            (Some(structured), content) => {
                let mut both = serializer.serialize_map(Some(2))?;
                both.serialize_entry("structuredContent", &structured)?;
                both.serialize_entry("content", content)?;
                both.end()
            }
        }
    }
}

impl Serialize for McpContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut block = serializer.serialize_map(None)?;
        match self {
            Self::Text { text, role } => {
                block.serialize_entry("type", "text")?;
                if let Some(role) = role {
                    block.serialize_entry("role", role)?;
                }
                block.serialize_entry("text", text)?;
            }
            Self::Resource { uri, media_type, text } => {
                block.serialize_entry("type", "resource")?;
                if !uri.is_empty() {
                    block.serialize_entry("uri", uri)?;
                }
                if let Some(media_type) = media_type {
                    block.serialize_entry("mimeType", media_type)?;
                }
                block.serialize_entry("text", text)?;
            }
            Self::Document { kind, document, uri, description, for_user } => {
                block.serialize_entry("type", kind)?;
                if let Some(uri) = uri {
                    block.serialize_entry("uri", uri)?;
                }
                if let Some(description) = description {
                    block.serialize_entry("description", description)?;
                }
                if *for_user {
                    block.serialize_entry("audience", &["user"])?;
                }
                block.serialize_entry("document", document)?;
            }
            Self::Other(value) => {
                block.serialize_entry("type", "unknown")?;
                block.serialize_entry("note", "a block of a kind that is not known here")?;
                block.serialize_entry("block", value)?;
            }
            Self::Note(text) => {
                block.serialize_entry("type", "note")?;
                block.serialize_entry("text", text)?;
            }
        }
        block.end()
    }
}

/// A structured value in which documents stand where it repeats their bytes.
struct Shown<'a> {
    value: &'a Value,
    repeated: &'a [(String, Document)],
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.repeated.is_empty() {
            return self.value.serialize(serializer);
        }
        match self.value {
            Value::String(text) => match self.repeated.iter().find(|(known, _)| known == text) {
                Some((_, document)) => document.serialize(serializer),
                None => serializer.serialize_str(text),
            },
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    list.serialize_element(&Shown { value, repeated: self.repeated })?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, &Shown { value, repeated: self.repeated })?;
                }
                map.end()
            }
            other => other.serialize(serializer),
        }
    }
}

/// True if a structured value says no more than `texts` and `blocks` do.
///
/// Servers repeat their blocks in it: as the one text, or as the list of blocks, below one member.
pub(crate) fn is_repeated(structured: &Value, texts: &[&str], blocks: &[Value]) -> bool {
    let inner = match structured {
        Value::Object(members) if members.len() == 1 => members.values().next().unwrap_or(structured),
        _ => structured,
    };
    match inner {
        Value::String(text) => matches!(texts, [only] if *only == text) && blocks.len() == 1,
        Value::Array(items) => {
            !items.is_empty() && items.len() == blocks.len() && {
                items.iter().zip(blocks).all(|(item, block)| is_same_block(item, block))
            }
        }
        Value::Object(_) => matches!(blocks, [only] if is_same_block(inner, only)),
        _ => false,
    }
}

/// True if two blocks have the same kind and content, whatever is said beside it.
fn is_same_block(one: &Value, other: &Value) -> bool {
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return false };
    let same =
        |one: &Map<String, Value>, other: &Map<String, Value>, member| one.get(member) == other.get(member);
    let alike = ["type", "text", "data", "uri"].into_iter().all(|member| same(one, other, member));
    let resources = match (one.get("resource"), other.get("resource")) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            ["text", "blob", "uri"].into_iter().all(|member| same(one, other, member))
        }
        (None, None) => true,
        _ => false,
    };
    one.contains_key("type") && alike && resources
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_structured_value_that_repeats_the_blocks_says_nothing_new() {
        let blocks = [json!({"type": "text", "text": "hi"})];
        assert!(is_repeated(&json!({"content": "hi"}), &["hi"], &blocks));
        assert!(is_repeated(&json!({"content": [{"type": "text", "text": "hi"}]}), &["hi"], &blocks));
        assert!(!is_repeated(&json!({"content": "hello"}), &["hi"], &blocks));
        assert!(!is_repeated(&json!({"content": "hi", "pages": 3}), &["hi"], &blocks));
        assert!(!is_repeated(&json!({"content": []}), &["hi"], &blocks));
    }

    #[test]
    fn bytes_that_are_repeated_become_the_document() {
        let document = Document::new(&b"%PDF-1.7"[..]);
        let output = McpOutput {
            structured: Some(json!({"a": ["JVBERi0xLjc="], "b": 1})),
            repeated: vec![("JVBERi0xLjc=".to_owned(), document.clone())],
            ..McpOutput::default()
        };
        let tree = attache_core::Capture::new().finish(&output).unwrap();
        assert_eq!(tree.documents(), [document]);
        assert!(!tree.json().contains("JVBERi"), "{}", tree.json());
    }
}
