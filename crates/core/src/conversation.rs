//! Export and import of conversations.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::document::{Document, DocumentSource};
use crate::id::DocumentId;
use crate::message::Message;
use crate::persist::{MessageRecord, Resolve};
use crate::store::StoreError;
use crate::tool::ToolDefinition;

/// The version of the persisted form that this crate writes.
pub const SCHEMA_VERSION: u64 = 1;

/// Messages, with the bytes of their documents in a separate table.
///
/// The JSON form is `{"schemaVersion":1,"messages":[…],"documents":[{"id","contentType","fileName","data"}]}`, with
/// `data` in base64; the optional member `tools` holds definitions (`name`, `description`, `inputSchema`). A document
/// whose bytes were not available has `"missing":true` instead of `data`. Messages contain documents only as
/// references. An unknown member is an error that names it, since its content would be lost; a newer version is an
/// error too.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Conversation {
    /// The messages in order.
    pub messages: Vec<Arc<Message>>,
    /// The tools that were offered to the model.
    pub tools: Vec<ToolDefinition>,
}

/// The reason why a conversation cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// The text is not JSON of the documented form; the source names the unknown part.
    #[error("not a conversation")]
    Malformed(#[source] serde_json::Error),
    /// The conversation was written by a newer version of attache.
    #[error(
        "the conversation has schema version {found}, this version of attache reads up to {SCHEMA_VERSION}; upgrade attache"
    )]
    TooNew {
        /// The version found.
        found: u64,
    },
    /// The bytes of a document are not base64.
    #[error("the data of document {id:?} is not base64")]
    BadData {
        /// The document.
        id: DocumentId,
    },
    /// A message cannot be written.
    #[error("the conversation cannot be written")]
    Unwritable(#[source] serde_json::Error),
    /// A document currently cannot be read from its store.
    #[error("the store does not yield the document {id:?}")]
    Store {
        /// The document.
        id: DocumentId,
        /// The failure of the store.
        source: StoreError,
    },
    /// A document entry has neither data nor the `missing` mark, or it has both.
    #[error("the document {id:?} must have either data or the mark that they are missing")]
    NoData {
        /// The document.
        id: DocumentId,
    },
    /// Two document entries have the same id, or two documents with the same id have different bytes.
    #[error("the document {id:?} is in the table twice")]
    DuplicateDocument {
        /// The document.
        id: DocumentId,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored<'a> {
    #[serde(default)]
    schema_version: u64,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    documents: Vec<StoredDocument>,
    #[serde(default)]
    tools: Vec<StoredTool>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredDocument {
    id: DocumentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    missing: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    input_schema: Option<Value>,
}

/// The version alone: what else a newer one holds is not to be understood.
fn version(json: &str) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        schema_version: u64,
    }
    serde_json::from_str(json).ok().map(|Version { schema_version }| schema_version)
}

impl Conversation {
    /// Creates a conversation from `messages`.
    pub fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), tools: Vec::new() }
    }

    /// Adds the definitions of the tools that were offered to the model.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = ToolDefinition>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// Reads the exported form; documents get their bytes from the document table.
    ///
    /// # Errors
    /// [`ConversationError`] if the text is not of the documented form or was written by a newer version.
    pub fn from_json(json: &str) -> Result<Self, ConversationError> {
        let stored: Stored<'_> = serde_json::from_str(json).map_err(|error| match version(json) {
            Some(found) if found > SCHEMA_VERSION => ConversationError::TooNew { found },
            _ => ConversationError::Malformed(error),
        })?;
        if stored.schema_version > SCHEMA_VERSION {
            return Err(ConversationError::TooNew { found: stored.schema_version });
        }
        let mut table = HashMap::with_capacity(stored.documents.len());
        let mut known = HashSet::with_capacity(stored.documents.len());
        for document in stored.documents {
            let StoredDocument { id, content_type, file_name, data, missing } = document;
            if !known.insert(id.clone()) {
                return Err(ConversationError::DuplicateDocument { id });
            }
            let data = match (data, missing) {
                (Some(data), false) => data,
                (None, true) => continue,
                _ => return Err(ConversationError::NoData { id }),
            };
            let Some(bytes) = crate::base64::decode_whole(data) else {
                return Err(ConversationError::BadData { id });
            };
            let mut handle =
                Document::from_bytes(bytes, content_type.as_deref().unwrap_or_default()).with_id(id.clone());
            if let Some(name) = file_name {
                handle = handle.with_file_name(name);
            }
            table.insert(id, handle);
        }
        let resolve = Resolve::from_table(&table);
        let messages = stored.messages.into_iter().map(|raw| {
            let record: MessageRecord =
                serde_json::from_str(raw.get()).map_err(ConversationError::Malformed)?;
            record.into_message(&resolve).map(Arc::new).map_err(ConversationError::Malformed)
        });
        let messages = messages.collect::<Result<_, ConversationError>>()?;
        let tools = stored.tools.into_iter().map(|tool| {
            let schema =
                tool.input_schema.unwrap_or_else(|| serde_json::json!({"type": "object", "properties": {}}));
            ToolDefinition::new(tool.name, tool.description, schema)
        });
        Ok(Self { messages, tools: tools.collect() })
    }

    /// Writes the exported form. Documents whose bytes are not in memory are marked as [`missing`](Self::missing).
    ///
    /// # Errors
    /// [`ConversationError::Unwritable`] if a message cannot be written, [`ConversationError::DuplicateDocument`] if
    /// two documents inside one tree have the same id but different bytes. Elsewhere the later one gets a new id.
    pub fn to_json(&self) -> Result<String, ConversationError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Export<'a> {
            schema_version: u64,
            messages: &'a [Arc<Message>],
            #[serde(skip_serializing_if = "Vec::is_empty")]
            documents: Vec<StoredDocument>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            tools: Vec<StoredTool>,
        }
        let messages = apart(&self.messages);
        // The handle with the bytes, where several stand for one document.
        let mut at: HashMap<&DocumentId, usize> = HashMap::new();
        let mut handles: Vec<&Document> = Vec::new();
        let mentions = messages.iter().flat_map(|message| message.documents());
        for document in mentions.filter(|document| needs_bytes(document)) {
            let place = *at.entry(document.id()).or_insert(handles.len());
            match handles.get_mut(place) {
                None => handles.push(document),
                Some(known) if known.has_other_content(document) => {
                    return Err(ConversationError::DuplicateDocument { id: document.id().clone() });
                }
                Some(known) if !known.is_in_memory() => *known = document,
                Some(_) => {}
            }
        }
        let documents = handles.into_iter().map(|document| {
            let data = match document.source() {
                DocumentSource::Bytes(bytes) => Some(crate::base64::encode(bytes)),
                _ => None,
            };
            StoredDocument {
                id: document.id().clone(),
                content_type: Some(document.media_type().to_string()),
                file_name: document.file_name().map(str::to_owned),
                missing: data.is_none(),
                data,
            }
        });
        let documents = documents.collect();
        let tools = self.tools.iter().map(|tool| StoredTool {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            input_schema: Some(tool.input_schema().clone()),
        });
        let export =
            Export { schema_version: SCHEMA_VERSION, messages: &messages, documents, tools: tools.collect() };
        serde_json::to_string_pretty(&export).map_err(ConversationError::Unwritable)
    }

    /// The documents whose bytes are not in memory and so are not in an export: each occurrence, in order.
    pub fn missing(&self) -> impl Iterator<Item = &Document> {
        self.documents().filter(|document| matches!(document.source(), DocumentSource::Stored))
    }

    /// Every document in the messages, including duplicates, in order.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.messages.iter().flat_map(|message| message.documents())
    }
}

/// True if the bytes are in the side table, not in the reference.
fn needs_bytes(document: &Document) -> bool {
    matches!(document.source(), DocumentSource::Bytes(_) | DocumentSource::Stored)
}

/// The messages, in which documents stand apart that have one id and different content.
fn apart(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut known: HashMap<DocumentId, Document> = HashMap::new();
    let apart = messages.iter().map(|message| {
        let mut changed: Option<Message> = None;
        match &**message {
            Message::System(_) | Message::Assistant(_) => {}
            Message::User(user) => {
                for (at, part) in user.parts.iter().enumerate() {
                    let own = part.apart_from(|id| known.get(id));
                    note(&mut known, own.as_ref().unwrap_or(part).documents());
                    let Some(own) = own else { continue };
                    if let Message::User(user) = changed.get_or_insert_with(|| (**message).clone())
                        && let Some(part) = user.parts.get_mut(at)
                    {
                        *part = own;
                    }
                }
            }
            Message::ToolResults(results) => {
                for (at, result) in results.results.iter().enumerate() {
                    let own = result.own_ids(|id| known.get(id)).map(|ids| result.with_ids(&ids));
                    let shown = own.as_ref().unwrap_or(result);
                    note(&mut known, shown.tree.documents().iter().chain(&shown.documents));
                    let Some(own) = own else { continue };
                    if let Message::ToolResults(results) = changed.get_or_insert_with(|| (**message).clone())
                        && let Some(result) = results.results.get_mut(at)
                    {
                        *result = own;
                    }
                }
            }
        }
        changed.map_or_else(|| Arc::clone(message), Arc::new)
    });
    apart.collect()
}

/// Notes what the ids of documents stand for.
fn note<'d>(known: &mut HashMap<DocumentId, Document>, documents: impl IntoIterator<Item = &'d Document>) {
    for document in documents {
        match known.get_mut(document.id()) {
            None => {
                known.insert(document.id().clone(), document.clone());
            }
            Some(known) if !known.is_in_memory() && document.is_in_memory() => *known = document.clone(),
            Some(_) => {}
        }
    }
}
