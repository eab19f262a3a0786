//! The JSON form of messages, schema version 1.
//!
//! A message is read without tagged enums, so that embedded JSON keeps its member order and its numbers. A part that is
//! not understood is refused by name: in a conversation of another program it may be the message itself.

mod any;
mod read;
mod reference;
mod write;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::citation::Citation;
use crate::id::{DocumentId, MessageId, ToolCallId};
use crate::message::{AssistantMessage, Message, Metadata, ToolResult};
use reference::ReferenceRecord;
pub(crate) use reference::Resolve;
use write::result_record;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageRecord {
    #[serde(default)]
    id: Option<MessageId>,
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<PartList>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    results: Vec<ResultRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    citations: Vec<Citation>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

/// A list of parts; a plain string is read as one text.
#[derive(Serialize)]
struct PartList(Vec<PartRecord>);

impl<'de> Deserialize<'de> for PartList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return Ok(Self(vec![PartRecord { text: Some(text), ..part("text") }]));
        }
        serde_json::from_str(raw.get()).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PartRecord {
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refusal: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    document: Option<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    documents: Vec<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<DocumentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<ToolCallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayRecord {
    family: String,
    model: String,
    data: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResultRecord {
    call_id: ToolCallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
    /// Every document of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    documents: Vec<ReferenceRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<DocumentId>,
    /// The documents to show where they are not the tree's without the withheld ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<Vec<ReferenceRecord>>,
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        MessageRecord::of(self).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

/// Reads the persisted form; documents are references without bytes until they are loaded. Inside a tagged or flattened
/// type, of which serde reads the text first, replay data and arguments lose their white space.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = any::raw(deserializer)?;
        let record: MessageRecord = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        record.into_message(&Resolve::without_bytes()).map_err(serde::de::Error::custom)
    }
}

fn part(kind: &str) -> PartRecord {
    PartRecord { r#type: kind.to_owned(), ..PartRecord::default() }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries().serialize(serializer)
    }
}

/// The parts of a message that somebody else stores, such as one reply inside a log entry.
impl Serialize for AssistantMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Message::Assistant(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AssistantMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Message::deserialize(deserializer)? {
            Message::Assistant(message) => Ok(message),
            _ => Err(serde::de::Error::custom("not an assistant message")),
        }
    }
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        result_record(self).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = any::raw(deserializer)?;
        let record: ResultRecord = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        record.into_result(&Resolve::without_bytes()).map_err(serde::de::Error::custom)
    }
}
