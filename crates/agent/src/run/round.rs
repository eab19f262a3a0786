//! The round of calls that the last reply made.

use attache_core::{Message, ResultStatus, ToolCall, ToolCallId, ToolResult, ToolResultsMessage};

use crate::log::{Disposition, Key, ToolOutcome};
use crate::outcome::EndReason;
use crate::run::fold::ending;
use crate::run::{PendingCall, Phase, Run};

impl Run {
    /// The calls without a result.
    pub(super) fn pending(&self, calls: &[ToolCall]) -> Vec<PendingCall> {
        let open = calls.iter().enumerate().filter(|(_, call)| !self.outcomes.contains_key(&call.id));
        // Most rounds have one call, and are asked for once.
        let mut pending = Vec::with_capacity(calls.len().saturating_sub(self.outcomes.len()));
        pending.extend(open.map(|(place, call)| {
            let beyond_limit = self.beyond_limit(calls, place);
            PendingCall {
                key: Key::result(&call.id),
                external: beyond_limit.is_none()
                    && !self.has_answered()
                    && (self.external.contains(&call.name) || self.deferred_call(&call.id).is_some())
                    && !(self.is_held() && self.waits_for_decision(&call.id)),
                beyond_limit,
                begun: self.begun.get(&call.id).copied(),
                call: if self.is_held() { self.as_decided(call) } else { call.clone() },
            }
        }));
        pending
    }

    /// The results of the last reply's calls, in call order; of a round that is not over those that are there.
    pub(crate) fn round_results(&self) -> Vec<ToolResult> {
        if let Phase::Calls(calls) = &self.phase {
            let there = calls.iter().filter_map(|call| self.outcomes.get(&call.id));
            return there.map(|outcome| outcome.result.clone()).collect();
        }
        let last = self.history.iter().rev().find_map(|message| match &**message {
            Message::ToolResults(last) => Some(&last.results),
            _ => None,
        });
        last.cloned().unwrap_or_default()
    }

    /// True if the caller was told to answer a call.
    pub(crate) fn is_let_through(&self, call: &ToolCallId) -> bool {
        self.let_through.contains(call)
    }

    /// True if calls of the last reply wait for their results.
    pub(crate) fn awaits_results(&self) -> bool {
        matches!(self.phase, Phase::Calls(_))
    }

    /// True if the caller may have to answer calls.
    pub(crate) fn may_wait_for_caller(&self) -> bool {
        !self.external.is_empty() || self.is_held()
    }

    /// True if the last reply made several calls, of which this is not the first.
    pub(crate) fn is_further_call(&self, id: &ToolCallId) -> bool {
        self.round_len() > 1
            && matches!(&self.phase, Phase::Calls(calls) if calls.first().is_none_or(|first| first.id != *id))
    }

    /// The number of calls that the last reply made.
    pub(crate) fn round_len(&self) -> usize {
        match &self.phase {
            Phase::Calls(calls) => calls.iter().filter(|call| !self.is_output(&call.name)).count(),
            _ => 0,
        }
    }

    /// Answers calls that are not executed, so that each call has its result.
    pub(super) fn close(&mut self, calls: &[ToolCall], text: &str) {
        if !calls.is_empty() {
            let mut result = |call: &ToolCall| match self.outcomes.remove(&call.id) {
                Some(outcome) => outcome.result,
                None => ToolResult::error(call, text),
            };
            let results = calls.iter().map(&mut result).collect();
            self.push_results(results);
        }
    }

    fn push_results(&mut self, results: Vec<ToolResult>) {
        let id = self.mint();
        self.push(Message::ToolResults(ToolResultsMessage::with_id(id, results)));
    }

    pub(super) fn outcome_of_call(&mut self, outcome: &ToolOutcome, calls: &[ToolCall]) {
        self.outcomes.insert(outcome.call_id.clone(), self.as_told(outcome, calls));
        self.forget_inside(&outcome.call_id);
        if outcome.disposition.ends_run() {
            if outcome.disposition == Disposition::Tripped {
                self.detail = Some(outcome.result.tree.model_text().into_owned());
            }
            self.close_round(calls);
            self.phase = ending(match outcome.disposition {
                Disposition::Tripped => EndReason::GuardrailTripped,
                _ => EndReason::ToolAbort,
            });
        } else if calls.iter().all(|call| self.outcomes.contains_key(&call.id)) {
            // Calls are closed without an answer just before the run ends.
            if self.outcomes.values().any(|outcome| outcome.disposition == Disposition::Cancelled) {
                self.close_round(calls);
                self.phase = ending(EndReason::Cancelled);
            } else {
                self.finish_round(calls);
            }
        }
    }

    /// All calls of the round have results: they go into the history in call order.
    pub(super) fn finish_round(&mut self, calls: &[ToolCall]) {
        let mut outcomes: Vec<ToolOutcome> = Vec::with_capacity(calls.len());
        outcomes.extend(calls.iter().filter_map(|call| self.outcomes.remove(&call.id)));
        let unknown = calls.iter().zip(&outcomes).filter(|(_, outcome)| self.is_unknown(outcome));
        let unknown: Vec<ToolCall> = unknown.map(|(call, _)| call.clone()).collect();
        self.unknown.extend(unknown);
        self.note_transfer(calls, &outcomes);
        let stop = self.observe(calls, &outcomes);
        self.begun.clear();
        self.let_through.clear();
        self.let_go();
        let direct = outcomes.iter().zip(calls).all(|(outcome, call)| {
            self.direct.contains(&call.name) && outcome.result.status == ResultStatus::Ok
        });
        // Collecting in place would keep the room of the outcomes for as long as the history lives.
        let mut results = Vec::with_capacity(outcomes.len());
        results.extend(outcomes.into_iter().map(|outcome| outcome.result));
        let finished = if direct { None } else { self.finished(calls, &results) };
        let answer = direct.then(|| {
            let texts: Vec<_> = results.iter().map(|result| result.tree.model_text()).collect();
            texts.join("\n")
        });
        let (answer, reason) = match finished {
            Some(text) => (Some(text), EndReason::FinishTool),
            None => (answer, EndReason::ReturnDirect),
        };
        let stop = stop.told(calls, &mut results);
        self.push_results(results);
        let landed = self.tallies.landed.take();
        self.phase = if let Some(reason) = self.end_of_output() {
            let open = landed.is_none() && reason == EndReason::Answer;
            Phase::Ending { reason: landed.filter(|_| self.step > 1).unwrap_or(reason), open }
        } else if let Some(answer) = answer {
            let _ = self.read_output(&answer, true);
            self.text = answer;
            let (id, text) = (self.mint(), self.text.clone());
            self.push(Message::assistant(text).with_id(id));
            // After a landing nothing goes on.
            Phase::Ending { reason, open: landed.is_none() }
        } else if let Some(landed) = landed {
            ending(landed)
        } else if stop.is_some() {
            self.land(stop)
        } else {
            self.before_model()
        };
    }

    /// Puts the results of a round into the history that comes to no end of its own.
    pub(super) fn close_round(&mut self, calls: &[ToolCall]) {
        let mut results = Vec::with_capacity(calls.len());
        for call in calls {
            match self.outcomes.remove(&call.id) {
                Some(outcome) => {
                    if self.is_unknown(&outcome) {
                        self.unknown.push(call.clone());
                    }
                    results.push(outcome.result);
                }
                None => {
                    if self.begun.contains_key(&call.id) {
                        self.unknown.push(call.clone());
                    }
                    results.push(self.unanswered(call));
                }
            }
        }
        self.begun.clear();
        self.let_through.clear();
        self.let_go();
        self.push_results(results);
    }
}
