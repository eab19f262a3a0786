//! Failures of the model that ended drives of a run.

use std::sync::Arc;

use attache_core::{ErrorKind, ProviderError};

use crate::log::Failed;
use crate::outcome::{Cause, EndReason, RunError};
use crate::run::pending::Failures;
use crate::run::{Run, Spent};

impl Run {
    /// True if the log ends with a [failure](Self::failure).
    pub fn has_failed(&self) -> bool {
        self.failed().is_some()
    }

    pub(crate) fn failed(&self) -> Option<&Failed> {
        self.failures.as_ref()?.last.as_ref()
    }

    /// The failure with which the log ends: its reason and its message, without the causes, the time after which to try
    /// again and the words that came before it, which whoever drove the run was told. The driver is about to let the run go,
    /// or has done so, unless somebody has taken it up again and recorded nothing yet.
    pub fn failure(&self) -> Option<RunError> {
        let failed = self.failed()?;
        let mut outcome = self.outcome();
        outcome.reason = failed.reason.clone();
        let kind = match &failed.reason {
            EndReason::ProviderError(kind) => ErrorKind::parse(kind),
            EndReason::EmptyResponse => Some(ErrorKind::EmptyResponse),
            _ => None,
        };
        let cause = kind.map(|kind| Arc::new(ProviderError::new(kind, &*failed.message)) as Cause);
        Some(RunError::new(outcome, cause))
    }

    /// The number of failures that were recorded.
    pub(crate) fn failures(&self) -> u32 {
        self.failures.as_ref().map_or(0, |failures| failures.count)
    }

    pub(super) fn fail(&mut self, failed: &Failed) {
        Spent::in_vain(failed).iter().for_each(|spent| self.spend_inside(spent));
        let count = self.failures().saturating_add(1);
        self.failures = Some(Box::new(Failures { count, last: Some(failed.clone()) }));
    }
}

impl Spent {
    /// The spending of a reply that its provider ended with an error.
    pub(super) fn in_vain(failed: &Failed) -> Option<Self> {
        let usage = failed.usage.clone()?;
        Some(Self { usage, cost: failed.cost, guessed: 0 })
    }
}
