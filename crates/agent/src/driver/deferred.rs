//! Calls whose results come later, and calls that are interrupted.

use attache_core::tool::Deferred;
use attache_core::{ToolCallId, ToolResult};

use crate::driver::Driver;
use crate::driver::approval::undecided;
use crate::driver::calls::finished_event;
use crate::driver::delivered::tell;
use crate::driver::open::time;
use crate::driver::record::record_result;
use crate::driver::stop::Fault;
use crate::driver::wait::{Gate, wait_deferred};
use crate::event::EventKind;
use crate::journal::now;
use crate::log::{DeferredCall, Disposition, Entry, EntryKind, Key, ToolOutcome};

impl Driver {
    /// Records that the result of a call comes later.
    pub(super) async fn defer(&mut self, call_id: ToolCallId, deferred: Deferred) -> Result<(), Fault> {
        let Deferred { handle, prompt, schema, lifetime, .. } = deferred;
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let expires_at = lifetime.map(|lifetime| now().saturating_add(millis(lifetime)));
        let key = Key::deferred(&call_id);
        let deferred = DeferredCall { call_id, handle, prompt, schema, expires_at };
        self.record_surely(vec![Entry::new(key, EntryKind::Deferred(deferred))]).await?;
        Ok(())
    }

    /// Records what cannot be had again, with several attempts, and folds in the entries that stand.
    async fn record_surely(&mut self, entries: Vec<Entry>) -> Result<Vec<Entry>, Fault> {
        let (stand, fault) = record_result(&self.recorder, entries, false).await;
        if let Some(fault) = fault {
            return Err(fault);
        }
        self.absorb();
        for entry in &stand {
            self.run.apply(entry)?;
        }
        Ok(stand)
    }

    /// Waits for the results that nobody waits for yet, and announces that they come later.
    pub(super) fn watch_deferred(&self, gate: &mut Option<Box<Gate>>, events: &mut Vec<EventKind>) {
        for request in self.run.deferred() {
            let gate = gate.get_or_insert_with(|| Box::new(self.gate()));
            let call = &request.call.id;
            if gate.asked.iter().any(|known| known == call.as_str()) {
                continue;
            }
            gate.asked.push(call.to_string());
            let place = self.recorder.place().clone();
            let comes = wait_deferred(place, call.clone(), request.deferred.expires_at.map(time));
            let pending = self.open_calls().into_iter().find(|pending| pending.call.id == *call);
            let asked = pending.as_ref().map_or(&request.call, |pending| &pending.call);
            gate.waits.push(self.looked_at(asked, comes));
            self.control.expect(pending);
            self.control.expect_fit(call, request.deferred.schema.clone());
            events.push(EventKind::CallDeferred(Box::new(request)));
        }
    }

    /// Ends the wait for a result. One that was delivered before stands.
    pub(super) async fn close_deferred(&mut self, call: &ToolCallId) -> Result<Option<EventKind>, Fault> {
        let Some(called) = self.run.proposed(call).cloned() else { return Ok(None) };
        let result = ToolResult::error(&called, "no result was delivered in time");
        let outcome = ToolOutcome { call_id: call.clone(), result, disposition: Disposition::TimedOut };
        let mut entries: Vec<Entry> = self.unseen(&called).into_iter().collect();
        entries.push(Entry::new(Key::result(call), EntryKind::ToolOutcome(outcome)));
        let entry = self.record_seen(entries).await?;
        Ok(finished_event(&entry))
    }

    /// Takes what somebody left into the log while nobody looked: decisions, results, and that their time is up.
    pub(super) async fn take_left(&mut self) -> Result<Vec<EventKind>, Fault> {
        let mut events = self.take_decisions().await?;
        if !self.run.deferred().is_empty() {
            events.extend(self.take_delivered().await?);
            for request in self.run.deferred() {
                if request.deferred.expires_at.is_some_and(|expires| expires <= now()) {
                    events.extend(self.close_deferred(&request.call.id).await?);
                }
            }
        }
        Ok(events)
    }

    /// Settles all calls that have no result, because something from outside interrupts them.
    pub(super) async fn interrupt_calls(&mut self) -> Result<Vec<EventKind>, Fault> {
        self.control.interrupts_no_more();
        let unconfirmed = std::mem::take(&mut self.unconfirmed);
        let known: Vec<Key> = unconfirmed.iter().map(|entry| entry.key.clone()).collect();
        let mut entries = Vec::new();
        let questions = self.run.open_questions().map(|asked| asked.id.as_str());
        entries.extend(questions.map(|id| Entry::new(Key::decided(id), undecided(id))));
        let open = self.open_calls().into_iter().filter(|pending| !known.contains(&pending.key));
        for pending in open {
            entries.extend(self.unseen(&pending.call).filter(|_| pending.external));
            let outcome = self.run.interrupted_call(&pending.call);
            entries.push(Entry::new(pending.key, EntryKind::ToolOutcome(outcome)));
        }
        // The last of them may end the round.
        entries.extend(unconfirmed);
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        // If it is interrupted, whoever records the end has them.
        self.unconfirmed.clone_from(&entries);
        let recorded = self.record_surely(entries).await;
        self.unconfirmed.clear();
        let mut stand = recorded?;
        tell(&mut stand);
        Ok(stand.iter().filter_map(finished_event).collect())
    }
}
