//! The user's side: prompts, events, and documents of tool results.

use crate::document::Document;
use crate::id::MessageId;
use crate::message::part::{Metadata, UserPart};
use crate::message::results::Routed;
use crate::tree::ContentTree;

/// The metadata key of the synthetic message that carries the documents of tool results.
pub const TOOL_CALL_DOCUMENTS: &str = "toolCallDocuments";

/// The metadata key of a hint that the agent's loop gives to the model, such as that a step is the last one. Nobody
/// asks anything with it.
pub const NOTICE: &str = "notice";

/// The metadata key of an author's message of an earlier run of a session that ended before the model answered. It is no
/// part of the turn that comes next: a document that the model does not take is a note there, and no error again.
pub const UNANSWERED: &str = "unanswered";

/// The origin of a user message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UserOrigin {
    /// A person or program that prompts the model. Documents that the model cannot take are an error.
    #[default]
    Author,
    /// Something that happened while the agent ran. Its documents never fail a run.
    Event,
    /// The synthetic message after tool results: a projection, never an input to routing. Its metadata has
    /// [`TOOL_CALL_DOCUMENTS`].
    ToolCallDocuments,
}

/// A message on the user's side.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UserMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The origin of the message.
    pub origin: UserOrigin,
    /// The parts in order.
    pub parts: Vec<UserPart>,
    /// The content to show to the model instead of `parts`, as decided by routing. Never stored.
    pub routed: Option<Routed>,
    /// The metadata.
    pub metadata: Metadata,
}

impl UserMessage {
    /// Creates an author's message with one text; [`attach`](Self::attach) adds documents. Blank text adds no part.
    ///
    /// ```
    /// use attache_core::{Document, UserMessage};
    /// let message = UserMessage::text("What does it say?").attach(Document::new(&b"%PDF-1.7"[..]));
    /// assert_eq!(message.parts.len(), 2);
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([UserPart::text(text)])
    }

    /// Appends a document.
    #[must_use]
    pub fn attach(mut self, document: Document) -> Self {
        self.parts.push(UserPart::Document(document));
        self
    }

    /// Creates an author's message from parts; `None` stands for a blank part.
    pub fn new(parts: impl IntoIterator<Item = Option<UserPart>>) -> Self {
        Self {
            id: MessageId::new(),
            origin: UserOrigin::Author,
            parts: parts.into_iter().flatten().collect(),
            routed: None,
            metadata: Metadata::default(),
        }
    }

    /// Creates an event from its payload, which may contain documents anywhere.
    pub fn event(payload: ContentTree) -> Self {
        Self { origin: UserOrigin::Event, ..Self::new([Some(UserPart::Object(payload))]) }
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The content that a renderer shows: the routed content if present, otherwise the parts.
    pub fn shown(&self) -> &[UserPart] {
        self.routed.as_ref().map_or(&self.parts, |routed| &routed.content)
    }
}

impl From<&str> for UserMessage {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for UserMessage {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
