//! The input of a run.

use std::sync::Arc;

use attache_core::{Content, Document, Extensions, Message, UserMessage};

use crate::log::Started;

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

    /// Whether a run with this input began so. Each attempt of a tool makes its messages and documents anew, so that ids
    /// tell nothing, but for a run's id that somebody gave.
    pub(crate) fn began(&self, started: &Started) -> bool {
        let new = started.messages.get(started.task..).unwrap_or_default();
        match &self.run_id {
            Some(id) => *id == started.run_id,
            None => new.len() == self.messages.len() && new.iter().zip(&self.messages).all(says_the_same),
        }
    }
}

fn says_the_same((a, b): (&Arc<Message>, &Arc<Message>)) -> bool {
    match (&**a, &**b) {
        (Message::User(a), Message::User(b)) => {
            a.parts.len() == b.parts.len() && a.parts.iter().zip(&b.parts).all(shows_the_same)
        }
        _ => a.role() == b.role(),
    }
}

fn shows_the_same((a, b): (&Content, &Content)) -> bool {
    // Of a stored document no content is at hand.
    let same = |a: &Document, b: &Document| {
        (a.media_type(), a.file_name(), a.size()) == (b.media_type(), b.file_name(), b.size())
            && a.bytes().zip(b.bytes()).is_none_or(|(a, b)| a == b)
    };
    match (a, b) {
        (Content::Text(a), Content::Text(b)) => a.text() == b.text(),
        (Content::Document(a), Content::Document(b)) => same(a, b),
        (Content::Object(a), Content::Object(b)) => {
            let (documents, others) = (a.documents(), b.documents());
            let pairs = documents.iter().zip(others);
            documents.len() == others.len()
                && pairs.clone().all(|(a, b)| same(a, b))
                && (!documents.is_empty() || a.json() == b.json())
        }
        _ => false,
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
