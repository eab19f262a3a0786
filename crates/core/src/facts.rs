//! Facts that are remembered across conversations.

use std::time::SystemTime;

use crate::future::BoxFuture;
use crate::hash::StableHash;
use crate::store::{StoreError, StoreErrorKind};

/// The maximum number of characters of a fact.
const MAX_CHARS: usize = 4_000;

/// A remembered fact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// The id; the same text of the same principal always has the same id.
    pub id: String,
    /// The text.
    pub text: String,
    /// The time at which it was last remembered.
    pub at: SystemTime,
}

impl Fact {
    /// Creates a fact.
    pub fn new(id: impl Into<String>, text: impl Into<String>, at: SystemTime) -> Self {
        Self { id: id.into(), text: text.into(), at }
    }

    /// Creates the fact for a text of a principal. Surrounding white space is removed, and so are NUL characters, which
    /// not every store supports.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] if the text has more than 4,000 characters.
    pub fn of(principal: &str, text: &str, at: SystemTime) -> Result<Self, StoreError> {
        let text = text.trim().replace('\0', "");
        if text.chars().count() > MAX_CHARS {
            let message = format!("a fact must have at most {MAX_CHARS} characters");
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        let id = StableHash::new().text(principal).text(&text).finish();
        Ok(Self::new(format!("{id:016x}"), text, at))
    }
}

/// Remembers facts across conversations, separately for each principal. Implementations are limited in size.
pub trait LongTermMemory: Send + Sync {
    /// Remembers a text. Remembering the same text again updates the time of the fact.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] if it does not fit, [`StoreErrorKind::Unavailable`] if the backend does not answer.
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

    /// Forgets a fact. Returns true if there was a fact with that id.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn forget<'a>(&'a self, principal: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
