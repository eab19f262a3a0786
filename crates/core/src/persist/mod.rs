//! The JSON form of messages, schema version 1.
//!
//! A message is read without tagged enums, so that embedded JSON keeps its member order and its numbers. A part that is
//! not understood is refused by name: in a conversation of another program it may be the message itself.

mod any;
mod read;
mod record;
mod reference;
mod write;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::message::{AssistantMessage, Message, Metadata, ToolResult};
pub(crate) use record::MessageRecord;
use record::ResultRecord;
pub(crate) use reference::Resolve;
use write::result_record;

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
