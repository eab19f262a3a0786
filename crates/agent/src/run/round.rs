//! The round of calls that the last reply made.

use attache_core::{ToolCall, ToolCallId};

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

    /// True if the caller was told to answer a call that was looked at first.
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

    /// True if a call is the first of the last reply.
    pub(crate) fn opens_round(&self, id: &ToolCallId) -> bool {
        matches!(&self.phase, Phase::Calls(calls) if calls.first().is_some_and(|call| call.id == *id))
    }

    /// The number of calls that the last reply made.
    pub(crate) fn round_len(&self) -> usize {
        match &self.phase {
            Phase::Calls(calls) => calls.iter().filter(|call| !self.is_output(&call.name)).count(),
            _ => 0,
        }
    }
}
