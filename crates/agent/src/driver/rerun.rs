//! Judges calls before they run, and those that had begun when the process ended: which run again, which are of unknown
//! outcome, which are refused.

use attache_core::Effect;

use crate::driver::Driver;
use crate::log::{Disposition, ToolOutcome};
use crate::output::ANSWERED;
use crate::run::{PendingCall, unknown_outcome};
use crate::tools::{Ready, Resolved};

impl Driver {
    /// The tool that runs a call, or the result of a call that is not run. A call that was begun before an interruption
    /// and cannot be run again is of unknown outcome, whatever the reason.
    pub(super) fn judge(&self, pending: &PendingCall) -> Result<Ready, Box<ToolOutcome>> {
        self.ready(pending).map_err(|refused| match pending.begun {
            Some(_) => Box::new(unknown_outcome(&pending.call)),
            None => refused,
        })
    }

    fn ready(&self, pending: &PendingCall) -> Result<Ready, Box<ToolOutcome>> {
        let call = &pending.call;
        // It was begun before an interruption. Only a call that may be repeated is.
        let is_repeated =
            |effect| matches!(effect, Effect::Read | Effect::Idempotent) || self.nests(&call.name);
        // One that stopped at a question goes on from there, and repeats nothing.
        if pending.begun.is_some_and(|effect| !is_repeated(effect) && !self.recorder.left_off(&call.id)) {
            return Err(Box::new(unknown_outcome(call)));
        }
        let refused = |text: &str| Box::new(ToolOutcome::not_made(call, text, Disposition::Refused));
        if self.run.has_answered() && !self.reads(&call.name) {
            return Err(refused(ANSWERED));
        }
        if let Some(limit) = pending.beyond_limit {
            return Err(refused(&limit.to_string()));
        }
        if let Some(text) = self.barred(call) {
            return Err(refused(text));
        }
        if self.is_unknown_transfer(&call.name) {
            return Err(refused("not executed: this run began without that hand-off"));
        }
        match self.toolbox.resolve(&call.name) {
            Resolved::Tool(entry) => entry.ready(&call.arguments).map_err(|text| refused(&text)),
            Resolved::External(entry) => match entry.ready(&call.arguments) {
                Ok(ready) if self.run.is_external(&call.name) => Ok(ready),
                Ok(_) => Err(refused("not executed: this tool is answered by the caller")),
                Err(text) => Err(refused(&text)),
            },
            Resolved::Waiting(text) => Err(refused(&text)),
            Resolved::Unknown(text) => match self.fallen_back(&call.name) {
                Some(entry) => entry.ready(&call.arguments).map_err(|text| refused(&text)),
                None => Err(Box::new(ToolOutcome::not_made(call, &text, Disposition::NoSuchTool))),
            },
        }
    }

    /// True if the tool of that name has no effect.
    fn reads(&self, name: &str) -> bool {
        matches!(self.toolbox.resolve(name), Resolved::Tool(entry) if entry.spec.metadata.effect == Effect::Read)
    }

    /// True if the tool of that name starts runs: their logs know what was done.
    fn nests(&self, name: &str) -> bool {
        matches!(self.toolbox.resolve(name), Resolved::Tool(entry) if entry.spec.metadata.nests)
    }
}
