//! Messages and their ordered parts.

pub(crate) mod assistant;
mod part;
mod results;
mod user;

use std::sync::Arc;

pub use assistant::{
    Arguments, ArgumentsError, AssistantMessage, AssistantPart, MadeDocument, OpaquePart, ReasoningPart,
    ToolCall,
};
pub use part::{Metadata, ReplayData, TextPart, UserPart};
pub use results::{ResultStatus, Routed, ToolResult, ToolResultsMessage};
pub use user::{UserMessage, UserOrigin};

use crate::document::Document;
use crate::id::MessageId;
use crate::identity::Identities;

/// The speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The author's instructions.
    System,
    /// A person, an event, or the synthetic message with the documents of tool results.
    User,
    /// The model.
    Assistant,
    /// The results of all calls of one assistant message.
    ToolResults,
}

/// One message of a conversation.
///
/// Messages are values: a window, a router or a compaction makes new ones and leaves the old as they are. They
/// are shared as `Arc<Message>`, so a history is never copied.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// The author's instructions.
    System(SystemMessage),
    /// The words of a person or an event, or the synthetic message with the documents of tool results.
    User(UserMessage),
    /// One reply of the model.
    Assistant(AssistantMessage),
    /// The results of all calls of one assistant message, in call order.
    ToolResults(ToolResultsMessage),
}

impl Message {
    /// A system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(SystemMessage::new(text))
    }

    /// A user message of one text. Blank text yields a message without parts.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage::new([UserPart::text(text)]))
    }

    /// An assistant message of one text, for examples and imported histories.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant(AssistantMessage::new([AssistantPart::text(text)]))
    }

    /// The speaker.
    pub fn role(&self) -> Role {
        match self {
            Self::System(_) => Role::System,
            Self::User(_) => Role::User,
            Self::Assistant(_) => Role::Assistant,
            Self::ToolResults(_) => Role::ToolResults,
        }
    }

    /// The identity inside the conversation.
    pub fn id(&self) -> &MessageId {
        match self {
            Self::System(message) => &message.id,
            Self::User(message) => &message.id,
            Self::Assistant(message) => &message.id,
            Self::ToolResults(message) => &message.id,
        }
    }

    /// The same message under another identity.
    #[must_use]
    pub fn with_id(mut self, id: MessageId) -> Self {
        match &mut self {
            Self::System(message) => message.id = id,
            Self::User(message) => message.id = id,
            Self::Assistant(message) => message.id = id,
            Self::ToolResults(message) => message.id = id,
        }
        self
    }

    /// The metadata.
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::System(message) => &message.metadata,
            Self::User(message) => &message.metadata,
            Self::Assistant(message) => &message.metadata,
            Self::ToolResults(message) => &message.metadata,
        }
    }

    /// The decisions of routing about this message, as a number that changes when one does. A message without
    /// documents has 0. Together with the id it tells a renderer whether it has seen exactly this before.
    pub fn stamp(&self) -> u64 {
        match self {
            Self::User(message) => message.routed.as_ref().map_or(0, |routed| routed.stamp),
            Self::ToolResults(message) => message.results.iter().fold(0, |stamp: u64, result| {
                stamp.rotate_left(7) ^ result.routed.as_ref().map_or(0, |routed| routed.stamp)
            }),
            Self::System(_) | Self::Assistant(_) => 0,
        }
    }

    /// The documents that it holds, in order: attached, inside structured parts, made by the model, and in tool results,
    /// those that a handler withholds included.
    pub fn documents(&self) -> Vec<&Document> {
        match self {
            Self::System(_) => Vec::new(),
            Self::Assistant(message) => message.documents().collect(),
            Self::User(message) => message.parts.iter().flat_map(UserPart::documents).collect(),
            Self::ToolResults(message) => {
                let mut documents = Vec::new();
                for result in &message.results {
                    let captured = result.tree.documents();
                    documents.extend(captured);
                    if result.documents.is_empty() {
                        continue;
                    }
                    let mut known = Identities::new();
                    for document in captured {
                        known.number(document);
                    }
                    documents.extend(result.documents.iter().filter(|shown| known.get(shown).is_none()));
                }
                documents
            }
        }
    }

    /// True if it is the synthetic user message that carries the documents of the tool results before it.
    pub fn is_tool_call_documents(&self) -> bool {
        matches!(self, Self::User(message) if message.origin == UserOrigin::ToolCallDocuments)
    }

    /// The shared form in which histories hold it.
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}

/// The author's instructions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SystemMessage {
    /// The identity.
    pub id: MessageId,
    /// The texts, none of them blank.
    pub parts: Vec<TextPart>,
    /// The metadata.
    pub metadata: Metadata,
}

impl SystemMessage {
    /// Instructions of one text; blank text yields no part.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            id: MessageId::new(),
            parts: TextPart::new(text).into_iter().collect(),
            metadata: Metadata::default(),
        }
    }
}
