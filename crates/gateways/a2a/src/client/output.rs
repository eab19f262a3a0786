//! The result of a call of an agent, as a model is shown it.

use attache_core::Document;
use attache_core::tool::Deferred;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::wire::A2aState;

/// The result of a call: the pieces of an answer in order, or the word that it comes later.
///
/// One text alone is shown as it is. Otherwise the model reads a list of blocks, in which documents stand as references.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct A2aOutput {
    /// The pieces.
    pub content: Vec<A2aBlock>,
    /// The state of the task, if the answer is one.
    pub state: Option<A2aState>,
    /// The task.
    pub task: Option<String>,
    /// The conversation that it belongs to.
    pub context: Option<String>,
    /// True if the model reads the ids of task and conversation.
    pub shows_ids: bool,
    /// The source of the result, if it is none yet.
    pub deferred: Option<Box<Deferred>>,
}

/// A piece of an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct A2aBlock {
    /// The name of the artifact that it belongs to.
    pub artifact: Option<String>,
    /// The description of that artifact, at its first piece.
    pub description: Option<String>,
    /// The piece.
    pub content: A2aContent,
}

/// The content of a piece.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum A2aContent {
    /// Text.
    Text(String),
    /// JSON.
    Data(Value),
    /// A file: its bytes, or the address from which it is read when the model is shown it.
    Document(Document),
    /// JSON that is not understood here, as it came.
    Other(String),
    /// A note on pieces that are not shown.
    Note(String),
}

impl A2aOutput {
    /// The documents, in order.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.content.iter().filter_map(|block| match &block.content {
            A2aContent::Document(document) => Some(document),
            _ => None,
        })
    }

    /// True if the agent says that it did not do what it was asked.
    pub fn is_error(&self) -> bool {
        self.deferred.is_none()
            && matches!(self.state, Some(A2aState::Failed | A2aState::Rejected | A2aState::Canceled))
    }
}

impl Serialize for A2aOutput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(deferred) = &self.deferred {
            return deferred.serialize(serializer);
        }
        let content = Blocks(&self.content);
        let names_state = self.shows_ids || self.is_error();
        if !names_state {
            return content.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(state) = self.state {
            map.serialize_entry("state", state.as_str())?;
        }
        if self.shows_ids {
            if let Some(task) = &self.task {
                map.serialize_entry("task", task)?;
            }
            if let Some(context) = &self.context {
                map.serialize_entry("conversation", context)?;
            }
        }
        map.serialize_entry("content", &content)?;
        map.end()
    }
}

struct Blocks<'a>(&'a [A2aBlock]);

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            [] => serializer.serialize_unit(),
            [
                A2aBlock {
                    description: None, content: A2aContent::Text(text) | A2aContent::Note(text), ..
                },
            ] => serializer.serialize_str(text),
            [A2aBlock { description: None, content: A2aContent::Data(data), .. }] => {
                data.serialize(serializer)
            }
            blocks => blocks.serialize(serializer),
        }
    }
}

impl Serialize for A2aBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut block = serializer.serialize_map(None)?;
        let kind = match &self.content {
            A2aContent::Text(_) => "text",
            A2aContent::Data(_) => "data",
            A2aContent::Document(_) => "file",
            A2aContent::Other(_) => "unknown",
            A2aContent::Note(_) => "note",
        };
        block.serialize_entry("type", kind)?;
        if let Some(artifact) = &self.artifact {
            block.serialize_entry("artifact", artifact)?;
        }
        if let Some(description) = &self.description {
            block.serialize_entry("description", description)?;
        }
        match &self.content {
            A2aContent::Text(text) | A2aContent::Note(text) => block.serialize_entry("text", text)?,
            A2aContent::Data(data) => block.serialize_entry("data", data)?,
            A2aContent::Document(document) => block.serialize_entry("document", document)?,
            A2aContent::Other(json) => block.serialize_entry("json", json)?,
        }
        block.end()
    }
}
