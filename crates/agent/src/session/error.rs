//! The failures of sessions.

use attache_core::StoreError;

use crate::journal::JournalError;
use crate::outcome::RunError;
use crate::run::ReplayError;

/// A session cannot be had, or takes no run now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such session, or it is another principal's.
    #[error("there is no such session")]
    NotFound,
    /// A run is under way in the session.
    #[error("the run {run} is under way in the session")]
    Busy {
        /// The run.
        run: String,
    },
    /// Calls that the last run waits with were approved, and a run that leaves them was to begin: resume the last run.
    #[error("the run {run} has calls that were approved ({}): resume it", ids.join(", "))]
    Approved {
        /// The run.
        run: String,
        /// The approvals.
        ids: Vec<String>,
    },
    /// As many runs wait for the session as may.
    #[error("{depth} runs wait for the session already")]
    QueueFull {
        /// The maximum number of runs that wait.
        depth: usize,
    },
    /// The id is empty, too long or not of one line.
    #[error("the id of a session must have 1 to 200 bytes and no control characters")]
    InvalidId,
    /// A name has a NUL character, which not every store takes.
    #[error("{name} has a NUL character")]
    Nul {
        /// The name that has it.
        name: &'static str,
    },
    /// The session's store or log failed.
    #[error("the session's log failed")]
    Journal(#[from] JournalError),
    /// The session's log is not one of a run.
    #[error("the session's log is not one of a run")]
    Replay(#[from] ReplayError),
}

impl RunError {
    /// The session's error, if that is why a run of a session did not begin.
    pub fn session_error(&self) -> Option<&SessionError> {
        self.cause()
    }
}

/// A name that each store takes.
pub(super) fn without_nul<T: AsRef<str>>(text: T, name: &'static str) -> Result<T, SessionError> {
    if text.as_ref().contains('\0') { Err(SessionError::Nul { name }) } else { Ok(text) }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        Self::Journal(error.into())
    }
}
