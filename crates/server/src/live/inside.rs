//! The agents inside calls, as far as one must know them to say whether anything goes on there.

use std::sync::Arc;

use attache_agent::{EndReason, EventKind, NestedAgent};
use attache_core::ToolCallId;

/// The agents inside calls: a fold over their events.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside(Vec<AgentInside>);

/// An agent, and its calls without a result. While it has none its model speaks.
#[derive(Clone, Debug)]
struct AgentInside {
    path: Arc<[NestedAgent]>,
    calls: Vec<(ToolCallId, Open)>,
}

/// The state of a call without a result, with all that goes on inside it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Open {
    /// Something goes on, perhaps in an agent further inside. So it is while a result comes later: a tool that asks people
    /// works on once it has its answer, and tells nothing of that.
    Busy,
    /// Nothing goes on before the client answers.
    Client,
    /// Nothing goes on before somebody else decides or answers.
    Waits,
}

impl Inside {
    /// Takes an event of an agent in.
    pub(super) fn event(&mut self, path: &Arc<[NestedAgent]>, kind: &EventKind) {
        match kind {
            EventKind::StepStarted { .. } => self.at(path, Vec::clear),
            EventKind::ToolCallsRequested { calls, .. } => {
                let busy = calls.iter().map(|call| (call.id.clone(), Open::Busy));
                self.at(path, |open| *open = busy.collect());
            }
            EventKind::ToolStarted { call } => {
                self.starts(&call.id);
                self.set(path, &call.id, Open::Busy);
            }
            EventKind::CallDeferred(request) => self.set(path, &request.call.id, Open::Busy),
            EventKind::ExternalPending { call } => self.set(path, &call.id, Open::Client),
            EventKind::ApprovalRequested(asked) => self.set(path, &asked.call.id, Open::Waits),
            EventKind::ToolFinished { result, .. } => {
                self.ends(&result.call_id);
                self.at(path, |calls| calls.retain(|(id, _)| *id != result.call_id));
            }
            EventKind::Finished(_) => {
                let reason = kind.outcome().map(|outcome| &outcome.reason);
                let waits = matches!(
                    reason,
                    Some(EndReason::PendingApproval | EndReason::PendingExternal | EndReason::InputRequired)
                );
                match waits {
                    true => self.at(path, |calls| {
                        let busy = calls.iter_mut().filter(|(_, open)| matches!(open, Open::Busy));
                        busy.for_each(|(_, open)| *open = Open::Waits);
                    }),
                    false => self.0.retain(|agent| agent.path != *path),
                }
            }
            _ => {}
        }
    }

    /// Somebody has decided about a call of an agent.
    pub(super) fn decided(&mut self, path: &Arc<[NestedAgent]>, call: &ToolCallId) {
        self.set(path, call, Open::Busy);
    }

    /// A call starts, perhaps anew: its agents tell again for what they wait.
    pub(super) fn starts(&mut self, call: &ToolCallId) {
        let its = self.0.iter_mut().filter(|agent| agent.path.last().is_some_and(|last| last.call == *call));
        its.flat_map(|agent| &mut agent.calls).for_each(|(_, open)| *open = Open::Busy);
    }

    /// A call has its result.
    pub(super) fn ends(&mut self, call: &ToolCallId) {
        self.0.retain(|agent| agent.path.iter().all(|around| around.call != *call));
    }

    /// The state of a call of the run whose tool runs.
    pub(super) fn state(&self, call: &ToolCallId) -> Open {
        self.state_at(1, call)
    }

    /// The state of a call whose agents have paths of that length.
    fn state_at(&self, depth: usize, call: &ToolCallId) -> Open {
        let is_its = |agent: &&AgentInside| {
            agent.path.len() == depth && agent.path.last().is_some_and(|last| last.call == *call)
        };
        // A tool without agents works.
        let mut state = None;
        for agent in self.0.iter().filter(is_its) {
            if agent.calls.is_empty() {
                return Open::Busy;
            }
            for (id, open) in &agent.calls {
                let inner = match open {
                    Open::Busy => self.state_at(depth + 1, id),
                    other => *other,
                };
                match inner {
                    Open::Busy => return Open::Busy,
                    Open::Client => state = Some(Open::Client),
                    Open::Waits => state = state.or(Some(Open::Waits)),
                }
            }
        }
        state.unwrap_or(Open::Busy)
    }

    /// Changes the open calls of an agent, which is added where it is not known.
    fn at(&mut self, path: &Arc<[NestedAgent]>, change: impl FnOnce(&mut Vec<(ToolCallId, Open)>)) {
        if let Some(agent) = self.0.iter_mut().find(|agent| agent.path == *path) {
            return change(&mut agent.calls);
        }
        let mut calls = Vec::new();
        change(&mut calls);
        self.0.push(AgentInside { path: Arc::clone(path), calls });
    }

    fn set(&mut self, path: &Arc<[NestedAgent]>, call: &ToolCallId, open: Open) {
        self.at(path, |calls| match calls.iter_mut().find(|(id, _)| id == call) {
            Some((_, known)) => *known = open,
            None => calls.push((call.clone(), open)),
        });
    }
}
