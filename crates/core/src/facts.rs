//! The facts that are remembered across conversations.

use std::time::SystemTime;

use crate::future::BoxFuture;
use crate::hash::StableHash;
use crate::store::{StoreError, StoreErrorKind};

/// The most characters of a fact.
const MAX_CHARS: usize = 4_000;

/// Something that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// Its id; the same text of the same principal has the same one.
    pub id: String,
    /// The text.
    pub text: String,
    /// The time when it was remembered last.
    pub at: SystemTime,
}

impl Fact {
    /// A fact.
    pub fn new(id: impl Into<String>, text: impl Into<String>, at: SystemTime) -> Self {
        Self { id: id.into(), text: text.into(), at }
    }

    /// The fact that a text of a principal is: without blanks around it and NUL characters, which not every store takes.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] if the text has more than 4,000 characters.
    pub fn of(principal: &str, text: &str, at: SystemTime) -> Result<Self, StoreError> {
        let text = text.trim().replace('\0', "");
        if text.chars().count() > MAX_CHARS {
            let message = format!("a fact has at most {MAX_CHARS} characters");
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        let id = StableHash::new().text(principal).text(&text).finish();
        Ok(Self::new(format!("{id:016x}"), text, at))
    }
}

/// Remembers facts across conversations, those of each principal apart. Implementations are bounded.
pub trait LongTermMemory: Send + Sync {
    /// Remembers a text. The same text again is the same fact, as of now.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] if it does not fit,
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn remember<'a>(&'a self, principal: &'a str, text: &'a str) -> BoxFuture<'a, Result<Fact, StoreError>>;

    /// The facts that match the words of `query`, the best first, at most `limit`. A query without words has the newest.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Fact>, StoreError>>;

    /// Forgets a fact. Says whether there was one of that id.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn forget<'a>(&'a self, principal: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
