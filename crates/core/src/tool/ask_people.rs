//! The people whom a tool asks while it works.

use std::fmt;

use serde_json::Value;

use super::Deferred;
use crate::future::BoxFuture;

/// The people behind a run. A runtime provides them to the calls of tools that ask
/// ([`ToolMetadata::asks`](super::ToolMetadata::asks)).
pub trait People: Send + Sync {
    /// Asks, and waits for the answer as long as the run allows.
    ///
    /// # Cancellation
    /// Dropping the future withdraws the question.
    fn ask(&self, question: Deferred) -> BoxFuture<'static, Result<Value, Unanswered>>;

    /// The handle of the question at which an earlier attempt at this call stopped.
    fn left_off(&self) -> Option<String>;
}

/// The reason why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// Somebody declined to answer, possibly with a reason.
    #[error("somebody declined to answer")]
    Declined {
        /// Their words.
        why: String,
    },
    /// Nobody can answer, or nobody answered in time.
    #[error("nobody is there to answer")]
    Nobody,
    /// The answer comes later: the run ends, and repeats the call once there is an answer. The tool must return now,
    /// and its return value is ignored.
    #[error("the answer comes later")]
    Later,
}

/// The people behind a call, if there are any.
#[derive(Clone, Copy, Default)]
pub struct Asking(Option<&'static dyn People>);

impl Asking {
    /// Creates a handle to these people.
    pub fn of(people: &'static dyn People) -> Self {
        Self(Some(people))
    }

    pub(crate) fn people(self) -> Option<&'static dyn People> {
        self.0
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Asking(people)" } else { "Asking(nobody)" })
    }
}
