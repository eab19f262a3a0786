//! The failures of decisions.

use crate::journal::JournalError;
use crate::log::Decided;

/// The reason why a decision was not taken. The run stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// No such approval was asked for.
    #[error("nobody asked for the approval {id:?}")]
    Unknown {
        /// The id that was given.
        id: String,
    },
    /// Somebody decided otherwise before.
    #[error("the approval {:?} has another decision already{}", first.id, by(first))]
    Decided {
        /// The first decision, which stands.
        first: Box<Decided>,
    },
    /// The time for a decision is up, or the run does not need one any more.
    #[error("the approval {id:?} takes no decision any more")]
    Closed {
        /// The approval.
        id: String,
    },
    /// The conversation that a run shall go on from has calls that wait for approval in another run.
    #[error("calls of the conversation wait for approval: decide {}, and resume their run", ids.join(", "))]
    Open {
        /// The approvals.
        ids: Vec<String>,
    },
    /// The journal failed.
    #[error("the decision could not be recorded")]
    Journal(#[from] JournalError),
}

fn by(decided: &Decided) -> String {
    decided.by.as_ref().map(|by| format!(", by {by:?}")).unwrap_or_default()
}
