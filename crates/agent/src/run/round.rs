//! The round of calls that the last reply made.

use attache_core::{Message, ToolCall, ToolCallId, ToolResult};

use crate::log::Key;
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
}
