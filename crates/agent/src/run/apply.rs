//! Takes entries of a log: each fits the phase of the run, or is refused.

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{ToolCall, ToolCallId};

use super::{Phase, ReplayError, Run};
use crate::log::{Entry, EntryKind, ToolOutcome};
use crate::outcome::EndReason;

impl Run {
    /// Takes an entry, also one of a run inside a tool.
    ///
    /// # Errors
    /// [`ReplayError`] if the entry does not fit what came before; the run is unchanged then.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        let waited = self.waited_until(entry.at);
        self.take(entry)?;
        (self.waited, self.last_at) = (waited, self.last_at.max(entry.at));
        Ok(())
    }

    fn take(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        if let Some(scope) = entry.key.outer_scope() {
            self.apply_inside(scope, entry);
            return Ok(());
        }
        let misfit = |problem| ReplayError { key: entry.key.to_string(), problem };
        if let EntryKind::Reply(_) | EntryKind::Routed(_) | EntryKind::Landing(_) = &entry.kind {
            self.go_on_behind_picture();
        }
        let (at, replied) = (entry.at, self.replied);
        match (&entry.kind, &self.phase) {
            (EntryKind::Started(_), phase) if *phase != Phase::New => {
                return Err(misfit("the run has begun already"));
            }
            (EntryKind::Started(started), _) => self.start(started, at),
            (_, Phase::New) => return Err(misfit("the run has not begun")),
            (_, Phase::Ended(_)) => return Err(misfit("the run has ended")),
            (EntryKind::Inbox(messages), Phase::Model { .. } | Phase::Ending { open: true, .. }) => {
                if !entry.key.is_numbered("inbox/", self.inboxes) {
                    return Err(misfit("another look into the inbox comes first"));
                }
                self.take_inbox(messages);
            }
            (EntryKind::Inbox(_), _) => return Err(misfit("the run was not looking into the inbox")),
            (EntryKind::Reply(reply), Phase::Model { landing }) => {
                if !entry.key.is_numbered("model/", self.step.saturating_add(1)) {
                    return Err(misfit("another step comes first"));
                }
                let landing = landing.clone();
                self.reply(reply, landing, at).map_err(misfit)?;
            }
            (EntryKind::Reply(_), _) => return Err(misfit("the run was not asking the model")),
            (EntryKind::Landing(reason), Phase::Model { landing: None }) => {
                if !entry.key.is_numbered("landing/", self.step.saturating_add(1)) {
                    return Err(misfit("another step comes first"));
                }
                self.phase = self.land(Some(reason.clone()));
            }
            (EntryKind::Landing(_), _) => return Err(misfit("the run was not about to ask the model")),
            (EntryKind::Asked(asked), Phase::Calls(calls)) => {
                check_call(calls, &self.outcomes, &asked.call_id).map_err(misfit)?;
                self.take_asked(&entry.key, asked).map_err(misfit)?;
            }
            (EntryKind::Decided(decided), Phase::Calls(_)) => {
                self.take_decided(&entry.key, decided).map_err(misfit)?;
            }
            (EntryKind::Deferred(deferred), Phase::Calls(calls)) => {
                check_call(calls, &self.outcomes, &deferred.call_id).map_err(misfit)?;
                self.take_deferred(&entry.key, deferred).map_err(misfit)?;
            }
            (EntryKind::Deferred(_), _) => return Err(misfit("the run was not waiting for results")),
            (EntryKind::Asked(_) | EntryKind::Decided(_), _) => {
                return Err(misfit("the run was not waiting for a decision"));
            }
            (EntryKind::Hooked(hooked), _) => {
                self.take_hooked(&entry.key, hooked, replied).map_err(misfit)?;
            }
            (EntryKind::Begun(begun), Phase::Calls(calls)) => {
                check_call(calls, &self.outcomes, &begun.call_id).map_err(misfit)?;
                if self.begun.contains_key(&begun.call_id) || self.is_let_through(&begun.call_id) {
                    return Err(misfit("the call was begun already"));
                }
                // The caller has a call that it is to answer: nothing of it has begun here.
                let is_its = |call: &ToolCall| call.id == begun.call_id && self.is_external(&call.name);
                match calls.iter().any(is_its) {
                    true => self.let_through.push(begun.call_id.clone()),
                    false => drop(self.begun.insert(begun.call_id.clone(), begun.effect)),
                }
            }
            (EntryKind::ToolOutcome(outcome), Phase::Calls(calls)) => {
                check_call(calls, &self.outcomes, &outcome.call_id).map_err(misfit)?;
                if outcome.result.call_id != outcome.call_id || !entry.key.is_result_of(&outcome.call_id) {
                    return Err(misfit("it is the result of another call"));
                }
                let calls = Arc::clone(calls);
                self.outcome_of_call(outcome, &calls);
            }
            (
                EntryKind::ToolOutcome(outcome),
                Phase::Ending { reason: EndReason::ToolAbort | EndReason::GuardrailTripped, .. },
            ) => self.take_late(&entry.key, outcome).map_err(misfit)?,
            (EntryKind::Begun(_) | EntryKind::ToolOutcome(_), _) => {
                return Err(misfit("the run was not waiting for results"));
            }
            (EntryKind::Receipt(outcome), Phase::Model { .. } | Phase::Ending { open: true, .. }) => {
                self.take_receipt(outcome).map_err(misfit)?;
            }
            (EntryKind::Receipt(_), _) => return Err(misfit("the run was not looking for receipts")),
            (EntryKind::Documents(documents), _) => {
                self.synthetic_count = self.synthetic_count.saturating_add(1);
                self.synthetic.insert(documents.anchor.clone(), documents.clone());
            }
            (EntryKind::Routed(_), Phase::Model { .. }) => {}
            (EntryKind::Offered(offered), Phase::Model { .. }) => {
                let number = u32::try_from(self.offered.len()).unwrap_or(u32::MAX);
                if !entry.key.is_numbered("offered/", number) {
                    return Err(misfit("other tools are offered first"));
                }
                self.offer(offered);
            }
            (EntryKind::Offered(_) | EntryKind::Routed(_), _) => {
                return Err(misfit("the run was not asking the model"));
            }
            (EntryKind::HandedOff(handed), _) => {
                if entry.key != self.handoff_key() {
                    return Err(misfit("another hand-off comes first"));
                }
                self.hand_off(handed).map_err(misfit)?;
            }
            (EntryKind::Found(message), _) => self.found.push((self.history.len(), Arc::clone(message))),
            (EntryKind::Compacted(compacted), Phase::Model { .. }) => {
                if !entry.key.is_numbered("memory/", self.decisions()) {
                    return Err(misfit("another decision of the memory comes first"));
                }
                self.remember(compacted);
            }
            (EntryKind::Counted(counted), Phase::Model { .. }) => self.note_count(counted),
            (EntryKind::Counted(_) | EntryKind::Compacted(_), _) => {
                return Err(misfit("the run was not asking the model"));
            }
            (EntryKind::Failed(failed), Phase::Model { .. }) => {
                if !entry.key.is_numbered("failed/", self.failures()) {
                    return Err(misfit("another failure comes first"));
                }
                self.fail(failed);
            }
            (EntryKind::Failed(_), _) => return Err(misfit("the run was not asking the model")),
            (EntryKind::Ended(ended), _) => self.end(ended),
        }
        if !matches!(entry.kind, EntryKind::Reply(_)) {
            self.replied = None;
        }
        if let Some(failures) = &mut self.failures {
            failures.pass(&entry.kind);
        }
        Ok(())
    }
}

/// Checks that a call of the last reply waits for its result.
fn check_call(
    calls: &[ToolCall],
    outcomes: &HashMap<ToolCallId, ToolOutcome>,
    id: &ToolCallId,
) -> Result<(), &'static str> {
    if !calls.iter().any(|call| call.id == *id) {
        return Err("it belongs to no call of the last reply");
    }
    if outcomes.contains_key(id) { Err("the call has its result already") } else { Ok(()) }
}
