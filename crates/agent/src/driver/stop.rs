//! Why a drive stops before its run has ended.

use std::sync::Arc;

use attache_core::{ProviderError, StoreError};

use crate::approval::DecideError;
use crate::control::LeaveError;
use crate::deliver::SubmitError;
use crate::journal::JournalError;
use crate::outcome::{Cause, EndReason};
use crate::run::ReplayError;
use crate::tools::ToolsError;

/// A failure that ends the drive, not the run: of a model's failure the log tells, of others nothing is recorded, and the
/// run can be resumed. Each run has room for several, so it is a pointer.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct Fault(Box<Failure>);

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("the journal failed")]
    Journal(#[from] JournalError),
    #[error("the documents could not be stored")]
    Store(#[from] StoreError),
    #[error("the log is not one of a run")]
    Replay(#[from] ReplayError),
    #[error("the tools cannot be offered")]
    Tools(#[from] ToolsError),
    #[error("a decision was not taken")]
    Decide(#[from] DecideError),
    #[error("a result was not taken")]
    Submit(#[from] SubmitError),
    #[error("the model could not be asked")]
    Provider(#[from] ProviderError),
}

impl Fault {
    pub(super) fn reason(&self) -> EndReason {
        match &*self.0 {
            Failure::Provider(error) => EndReason::provider(error),
            Failure::Journal(JournalError::Fenced) => EndReason::Superseded,
            _ => EndReason::InternalError,
        }
    }

    /// True if the journal or a store failed.
    pub(super) fn is_of_storage(&self) -> bool {
        matches!(*self.0, Failure::Journal(_) | Failure::Store(_))
    }

    pub(super) fn into_cause(self) -> Cause {
        match *self.0 {
            Failure::Provider(error) => Arc::new(error),
            Failure::Journal(error) => Arc::new(error),
            Failure::Store(error) => Arc::new(error),
            Failure::Replay(error) => Arc::new(error),
            Failure::Tools(error) => Arc::new(error),
            Failure::Decide(error) => Arc::new(error),
            Failure::Submit(error) => Arc::new(error),
        }
    }
}

impl<E: Into<Failure>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self(Box::new(error.into()))
    }
}

impl From<LeaveError> for Failure {
    fn from(error: LeaveError) -> Self {
        match error {
            LeaveError::Decide(error) => error.into(),
            LeaveError::Submit(error) => error.into(),
        }
    }
}

/// The end of a phase that did not simply go on. The text is the model's so far.
pub(super) enum Stop {
    Interrupted(Interrupted, String),
    Fault(Fault, String),
    /// Calls wait for somebody, and the run waits no longer.
    Pending(EndReason),
}

impl<F: Into<Fault>> From<F> for Stop {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into(), String::new())
    }
}

/// Why a run is interrupted.
#[derive(Clone)]
pub(super) enum Interrupted {
    Cancelled(String),
    Deadline,
}

impl Stop {
    /// The reason of the end, what the model had said, and the cause of a failure.
    pub(super) fn tell(self) -> (EndReason, String, Option<Cause>) {
        match self {
            Self::Interrupted(interrupted, said) => (interrupted.reason().0, said, None),
            Self::Pending(reason) => (reason, String::new(), None),
            Self::Fault(fault, said) => (fault.reason(), said, Some(fault.into_cause())),
        }
    }
}

impl Interrupted {
    pub(super) fn reason(self) -> (EndReason, Option<String>) {
        match self {
            Self::Cancelled(why) => (EndReason::Cancelled, Some(why)),
            Self::Deadline => (EndReason::Deadline, None),
        }
    }
}
