//! The input of a run.

use std::sync::Arc;

use attache_core::{Content, Extensions, Message, UserMessage};

/// The input of a run: the conversation so far, and the new messages.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunInput {
    /// The run's id; a random one is drawn where none is given.
    pub run_id: Option<String>,
    /// The conversation so far, without the agent's own system message.
    pub history: Vec<Arc<Message>>,
    /// The new messages.
    pub messages: Vec<Arc<Message>>,
    /// Values for tools, on top of the agent's.
    pub extensions: Extensions,
}

impl RunInput {
    /// New messages without a history.
    pub fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Sets the conversation so far. A system message in it stands in for the agent's.
    #[must_use]
    pub fn with_history(mut self, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        self.history = history.into_iter().collect();
        self
    }

    /// Sets the run's id.
    #[must_use]
    pub fn with_run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// Adds a value for tools to find by its type; it wins over the agent's of the same type.
    #[must_use]
    pub fn with_context<T: std::any::Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self::new([Message::user(text).shared()])
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self::new([Message::user(text).shared()])
    }
}

impl From<UserMessage> for RunInput {
    fn from(message: UserMessage) -> Self {
        Self::new([Message::User(message).shared()])
    }
}

impl From<Vec<Option<Content>>> for RunInput {
    fn from(parts: Vec<Option<Content>>) -> Self {
        UserMessage::new(parts).into()
    }
}
