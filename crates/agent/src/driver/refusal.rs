//! Calls that are not run: the word to the model about them may be changed, and may end the run.

use attache_core::ToolCall;

use crate::driver::Driver;
use crate::log::{Disposition, ToolOutcome};
use crate::run::PendingCall;
use crate::tools::{RefusalReason, Resolved};

impl Driver {
    /// The outcome of a call that is not run, as the agent wants it told.
    pub(super) fn refused(&self, pending: &PendingCall, mut outcome: ToolOutcome) -> ToolOutcome {
        let handling = &self.setup.handling;
        if handling.refusal.is_none() {
            return outcome;
        }
        let PendingCall { call, beyond_limit, .. } = pending;
        let Some(reason) = self.reason(call, beyond_limit.is_some(), outcome.disposition) else {
            return outcome;
        };
        let tool = match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) | Resolved::External(entry) => Some(&*entry.spec),
            Resolved::Waiting(_) | Resolved::Unknown(_) => None,
        };
        let aborts;
        (outcome.result, aborts) = handling.refused(call, tool, reason, outcome.result);
        if aborts {
            outcome.disposition = Disposition::Aborted;
        }
        outcome
    }

    fn reason(&self, call: &ToolCall, is_beyond: bool, disposition: Disposition) -> Option<RefusalReason> {
        match disposition {
            Disposition::Denied => Some(RefusalReason::Denied),
            Disposition::NoSuchTool => Some(RefusalReason::UnknownTool),
            Disposition::Refused if is_beyond => Some(RefusalReason::Limit),
            Disposition::Refused if self.run.has_answered() || self.barred(call).is_some() => {
                Some(RefusalReason::Off)
            }
            Disposition::Refused => match self.toolbox.resolve(&call.name) {
                // The model reads the definition of the tool.
                Resolved::Waiting(_) => None,
                _ => Some(RefusalReason::Arguments),
            },
            _ => None,
        }
    }
}
