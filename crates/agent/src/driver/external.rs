//! Calls that the caller answers.

use std::collections::VecDeque;
use std::time::SystemTime;

use attache_core::{Effect, ToolCall, ToolCallId};

use crate::driver::Driver;
use crate::driver::open::time;
use crate::driver::stop::Fault;
use crate::driver::wait::{Answer, wait};
use crate::log::{Begun, Entry, EntryKind, Key};
use crate::run::PendingCall;
use crate::tools::Resolved;

impl Driver {
    /// The calls that the caller answers, and the others. A call whose arguments do not fit is answered here, whoever
    /// would run it.
    pub(super) fn split(&self, calls: Vec<PendingCall>) -> (Vec<PendingCall>, VecDeque<PendingCall>) {
        if calls.iter().all(|pending| !pending.external) {
            return (Vec::new(), calls.into());
        }
        let (external, internal): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|pending| self.waits_for_caller(pending));
        let mut internal: VecDeque<PendingCall> = internal.into();
        let looks = self.looks_at_calls();
        if !looks && !self.run.is_held() {
            return (external, internal);
        }
        // Deferred ones are waited for in another way.
        let external =
            external.into_iter().filter(|pending| self.run.deferred_call(&pending.call.id).is_none());
        // Somebody may be asked about them first, or was.
        let is_judged = |pending: &PendingCall| {
            self.run.question(&pending.call.id).is_some()
                || (looks && matches!(self.toolbox.resolve(&pending.call.name), Resolved::External(_)))
        };
        let (judged, external): (Vec<_>, Vec<_>) = external.partition(is_judged);
        for pending in judged.into_iter().rev() {
            internal.push_front(pending);
        }
        (external, internal)
    }

    /// Lets the caller answer the calls of the last reply that wait for a result. Those that are looked at first take one
    /// once they are announced.
    pub(super) fn expect_answers(&self) {
        if self.run.may_wait_for_caller() && !self.looks_at_calls() {
            let waiting = self.open_calls().into_iter().filter(|pending| self.waits_for_caller(pending));
            self.control.expect(waiting);
        }
    }

    /// The entry from which whoever follows the log learns that the caller is to answer a call, unless it is there.
    pub(super) fn lets_through(&self, pending: &PendingCall) -> Option<Entry> {
        let id = &pending.call.id;
        let begun = || EntryKind::Begun(Begun::new(id.clone(), Effect::Read));
        (!self.run.is_let_through(id)).then(|| Entry::new(Key::begun(id), begun()))
    }

    /// Records that for calls which nobody looks at first. Nobody reads a log that nobody keeps.
    pub(super) async fn let_through(&mut self, external: &[PendingCall]) -> Result<(), Fault> {
        if self.recorder.place().is_volatile() {
            return Ok(());
        }
        let entries: Vec<_> = external.iter().filter_map(|pending| self.lets_through(pending)).collect();
        if !entries.is_empty() {
            self.record_all(entries).await?;
        }
        Ok(())
    }

    /// True if a result of a call may be taken: where calls are looked at first, of one that was announced, or that a
    /// tool said comes later.
    pub(super) fn is_let_through(&self, call: &ToolCallId) -> bool {
        !self.looks_at_calls() || self.control.expects(call) || self.run.deferred_call(call).is_some()
    }

    /// True if a call waits for the caller's result.
    pub(super) fn waits_for_caller(&self, pending: &PendingCall) -> bool {
        pending.external
            && self.barred(&pending.call).is_none()
            && match self.toolbox.resolve(&pending.call.name) {
                Resolved::External(entry) => entry.unfit(&pending.call.arguments).is_none(),
                // A log may know a tool that is no longer offered.
                Resolved::Tool(_) | Resolved::Unknown(_) => true,
                Resolved::Waiting(_) => false,
            }
    }

    /// Waits for the caller's result of a call.
    pub(super) fn wait_for_caller(&self, call: &ToolCall) -> Answer {
        let place = self.recorder.place().clone();
        self.looked_at(call, wait(place, Key::result(&call.id), self.answers_until()))
    }

    /// Until when the caller may deliver results: counted from the reply, however often the run is resumed.
    fn answers_until(&self) -> Option<SystemTime> {
        time(self.run.asked_at()).checked_add(self.setup.timing.answer_deadline?)
    }
}
