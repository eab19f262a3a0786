//! The results of calls that did not come to their end.

use std::sync::Arc;

use attache_core::{Arguments, ContentTree, Message, ResultStatus, ToolCall, ToolResult, ToolResultsMessage};
use serde_json::Value;

use crate::log::{Disposition, Key, ToolOutcome};
use crate::run::{Paused, Phase, Run};

/// The approvals for which calls of a run wait, in the metadata of the results that it has until then.
const OPEN_APPROVALS: &str = "openApprovals";

/// The approvals for which the last calls of a conversation wait, as its messages say. They refuse a run and allow none,
/// so that it does no harm to forge them.
pub(crate) fn open_approvals(history: &[Arc<Message>]) -> Option<Vec<String>> {
    let last = history.iter().rev().find_map(|message| match &**message {
        Message::ToolResults(results) => Some(results.metadata.get(OPEN_APPROVALS)),
        _ => None,
    });
    let ids = last??.as_array()?;
    Some(ids.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Takes the word of open approvals out of a conversation in which the caller leaves them: later runs are not refused.
pub(crate) fn without_approvals(messages: &mut [Arc<Message>]) {
    let marked = messages.iter_mut().rev().find(|message| matches!(&***message, Message::ToolResults(_)));
    if let Some(message) = marked
        && let Message::ToolResults(results) = &**message
        && results.metadata.get(OPEN_APPROVALS).is_some()
    {
        let mut left = results.clone();
        let mut entries = left.metadata.entries().clone();
        entries.retain(|name, _| name != OPEN_APPROVALS);
        left.metadata = entries.into();
        *message = Message::ToolResults(left).shared();
    }
}

/// The words with which a model learns that an effect was begun and may or may not have happened: always the same.
pub(crate) const UNKNOWN_OUTCOME: &str = "this call was begun and its outcome is unknown: its effect may or may not \
    have happened; it was not repeated; verify before you try again";

/// The result of a call whose effect was begun and did not come to its end.
pub(crate) fn unknown_result(call: &ToolCall) -> ToolResult {
    ToolResult::new(call, ResultStatus::Error, ContentTree::text(UNKNOWN_OUTCOME))
}

/// The result of a call whose effect was begun before its run was interrupted. It is not run again.
pub(crate) fn unknown_outcome(call: &ToolCall) -> ToolOutcome {
    ToolOutcome { call_id: call.id.clone(), result: unknown_result(call), disposition: Disposition::Unknown }
}

fn is_paused(paused: &[Paused], call: &ToolCall) -> bool {
    paused.iter().any(|(id, _)| *id == call.id)
}

/// The result of a call whose arguments a person changed: the model learns with which it ran.
pub(crate) fn told_of_change(mut result: ToolResult, arguments: &Arguments) -> ToolResult {
    let told = format!(
        r#"{{"note":"a person changed the arguments before the call ran","arguments":{},"result":{}}}"#,
        arguments.replay_json(),
        result.tree.json()
    );
    if let Some(tree) = ContentTree::parse(&told, result.tree.documents().to_vec()) {
        result.tree = tree.with_withheld(result.tree.withheld().to_vec());
    }
    result
}

impl Run {
    /// An outcome as the model is told of it: a result that came from elsewhere is as the hooks left it, and comes without
    /// the word that its arguments were changed.
    pub(super) fn as_told(&self, outcome: &ToolOutcome, calls: &[ToolCall]) -> ToolOutcome {
        let mut told = outcome.clone();
        if told.disposition != Disposition::Submitted {
            return told;
        }
        if let Some(changed) = self.hooked_result(&told.call_id) {
            told.result = changed.clone();
        }
        if (self.is_changed(&told.call_id) || self.is_rewritten(&told.call_id))
            && let Some(call) = calls.iter().find(|call| call.id == told.call_id)
        {
            told.result = told_of_change(told.result, &self.as_decided(call).arguments);
        }
        told
    }

    /// Takes a result that stands behind the abort of its round, as logs of older programs have it where two calls aborted.
    pub(super) fn take_late(&mut self, key: &Key, outcome: &ToolOutcome) -> Result<(), &'static str> {
        let id = &outcome.call_id;
        if outcome.result.call_id != *id || !key.is_result_of(id) {
            return Err("it is the result of another call");
        }
        let last = match self.history.last().map(|last| &**last) {
            Some(Message::ToolResults(last)) => last,
            _ => return Err("the run was not waiting for results"),
        };
        let Some(place) = last.results.iter().position(|result| result.call_id == *id) else {
            return Err("it belongs to no call of the last reply");
        };
        let is_known = match outcome.disposition {
            // It has to be looked at, and nobody does any more.
            Disposition::Submitted => return Ok(()),
            Disposition::Unknown | Disposition::TimedOut | Disposition::Panicked | Disposition::Cancelled => {
                false
            }
            _ => true,
        };
        if is_known {
            self.unknown.retain(|call| call.id != *id);
        }
        let mut told = last.clone();
        if let Some(result) = told.results.get_mut(place) {
            result.clone_from(&outcome.result);
        }
        self.history.pop();
        self.push(Message::ToolResults(told));
        Ok(())
    }

    /// The result of a call that gets none any more.
    pub(super) fn unanswered(&self, call: &ToolCall) -> ToolResult {
        if self.begun.contains_key(&call.id) { unknown_result(call) } else { ToolResult::cancelled(call) }
    }

    /// The outcome of a call that something from outside interrupts.
    pub(crate) fn interrupted_call(&self, call: &ToolCall) -> ToolOutcome {
        match self.begun.contains_key(&call.id) {
            true => unknown_outcome(call),
            false => ToolOutcome {
                call_id: call.id.clone(),
                result: ToolResult::cancelled(call),
                disposition: Disposition::Interrupted,
            },
        }
    }

    /// The outcome of a call that nobody answers any more.
    pub(crate) fn closed_call(&self, call: &ToolCall) -> ToolOutcome {
        let result = self.unanswered(call);
        ToolOutcome { call_id: call.id.clone(), result, disposition: Disposition::Cancelled }
    }

    /// The results of a round that is not over, so that each call has one: those that are there, and for the others
    /// a word that they are not.
    pub(super) fn results_so_far(&self, calls: &[ToolCall], paused: &[Paused]) -> Arc<Message> {
        let results = calls.iter().map(|call| match self.outcomes.get(&call.id) {
            Some(outcome) => outcome.result.clone(),
            None if self.deferred_call(&call.id).is_some() => {
                ToolResult::error(call, "no result yet: it comes later")
            }
            None if is_paused(paused, call) => {
                ToolResult::error(call, "no result yet: somebody is asked about it")
            }
            None if self.begun.contains_key(&call.id) => unknown_result(call),
            None if self.waits_for_decision(&call.id) => {
                ToolResult::error(call, "not executed: nobody has approved it yet")
            }
            None => ToolResult::error(call, "no result was delivered in time"),
        });
        let mut message = ToolResultsMessage::new(results);
        let inside = paused.iter().filter(|(call, _)| !self.outcomes.contains_key(call));
        let inside = inside.flat_map(|(_, waiting)| &waiting.approvals).map(|request| request.id.as_str());
        let own = self.open_questions().map(|asked| asked.id.as_str());
        let open: Vec<Value> = own.chain(inside).map(Value::from).collect();
        if !open.is_empty() {
            message.metadata = message.metadata.with(OPEN_APPROVALS, open);
        }
        let message = Message::ToolResults(message);
        match self.history.last() {
            // Not the id of the results as they will be when all are there.
            Some(reply) => message.with_id(reply.id().derived("pending")).shared(),
            None => message.shared(),
        }
    }

    /// The calls of unknown outcome, those of a round that is not over included.
    pub(super) fn unknown_so_far(&self, paused: &[Paused]) -> Vec<ToolCall> {
        let mut unknown = self.unknown.clone();
        if let Phase::Calls(calls) = &self.phase {
            let open = |call: &&ToolCall| match self.outcomes.get(&call.id) {
                Some(outcome) => self.is_unknown(outcome),
                None => {
                    self.begun.contains_key(&call.id)
                        && self.deferred_call(&call.id).is_none()
                        && !is_paused(paused, call)
                }
            };
            unknown.extend(calls.iter().filter(open).cloned());
        }
        unknown
    }

    /// True if nobody knows whether the effect of a call happened.
    pub(super) fn is_unknown(&self, outcome: &ToolOutcome) -> bool {
        match outcome.disposition {
            Disposition::Unknown => true,
            Disposition::TimedOut | Disposition::Panicked | Disposition::Cancelled => {
                self.begun.contains_key(&outcome.call_id)
            }
            _ => false,
        }
    }
}
