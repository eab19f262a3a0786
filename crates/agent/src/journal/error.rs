//! The failures of a journal.

use attache_core::StoreError;

/// A failure of a journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another driver has claimed the log.
    #[error("another driver has taken the run over")]
    Fenced,
    /// The log has another length than the caller knows.
    #[error("the log has grown to {entries} entries since it was read")]
    Moved {
        /// Its length.
        entries: usize,
    },
    /// The log cannot be read as it is.
    #[error("the log cannot be read: {problem}")]
    Unreadable {
        /// The entry, and what is wrong with it.
        problem: String,
    },
    /// The journal holds a run already, and a new one was to be started in it.
    #[error("the journal holds a run already: resume it, or use another journal")]
    Occupied,
    /// The journal holds no run that could be resumed.
    #[error("the journal holds no run to go on with: begin one")]
    Empty,
    /// The store behind it failed.
    #[error("the journal's store failed")]
    Store(#[from] StoreError),
}
