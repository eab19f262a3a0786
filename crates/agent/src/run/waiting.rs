//! Those for whom a run waits, also inside its tools.

use attache_core::{ToolCall, ToolCallId};

use crate::log::{ApprovalRequest, DeferredRequest, NestedAgent};
use crate::outcome::EndReason;
use crate::run::{Phase, Run};

/// The things for which a run waits, those of runs inside its tools included.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Waiting {
    /// The reason with which a drive of the run ends: [`EndReason::PendingApproval`], [`EndReason::InputRequired`] or
    /// [`EndReason::PendingExternal`], the first of them that is so.
    pub reason: EndReason,
    /// The calls without a result. In the place of a call whose tool waits for somebody inside stand the calls there.
    pub calls: Vec<ToolCall>,
    /// Those of them that wait for a decision.
    pub approvals: Vec<ApprovalRequest>,
    /// Those of them whose results come later. Those that are in neither list are the caller's to answer.
    pub deferred: Vec<DeferredRequest>,
}

/// A call whose tool waits inside, and what it waits for.
pub(crate) type Paused = (ToolCallId, Waiting);

impl Run {
    /// The things for which the run waits, if it has nothing else to do before somebody decides or a result comes. The log
    /// does not say whether somebody drives it meanwhile.
    pub fn waiting(&self) -> Option<Waiting> {
        self.is_waiting().then(|| self.waiting_beside(&self.paused()))
    }

    /// True if the run has nothing else to do before somebody decides or a result comes.
    pub(crate) fn is_waiting(&self) -> bool {
        let Phase::Calls(calls) = &self.phase else { return false };
        let mut pending = self.pending(calls).into_iter();
        pending.all(|pending| {
            let id = &pending.call.id;
            self.waits_for_decision(id)
                || self.deferred_call(id).is_some()
                || pending.external
                || self.waits_inside(id)
        })
    }

    /// True if a person is to decide about a call, also of a run inside a tool. Other calls may be held up by that.
    pub(crate) fn is_asked(&self) -> bool {
        self.open_questions().next().is_some()
            || self.inside.iter().any(|inside| !inside.run.has_ended() && inside.run.is_asked())
    }

    /// The calls that the caller is to answer, those of runs inside its tools included, whatever else the run has to do beside
    /// them; [`waiting`](Self::waiting) says whether it has. Calls that wait for a decision are none, nor are those whose
    /// results come later.
    pub fn awaited(&self) -> Vec<ToolCall> {
        let Phase::Calls(calls) = &self.phase else { return Vec::new() };
        let mut awaited = Vec::new();
        for pending in self.pending(calls) {
            let id = &pending.call.id;
            if !pending.external {
                let inside = self.inside.iter().filter(|inside| inside.call == *id);
                awaited.extend(inside.flat_map(|inside| inside.run.awaited()));
            } else if self.deferred_call(id).is_none() {
                awaited.push(pending.call);
            }
        }
        awaited
    }

    /// True if runs inside the tool of a call wait, and nothing else happens there.
    fn waits_inside(&self, call: &ToolCallId) -> bool {
        let mut open = self.inside.iter().filter(|inside| inside.call == *call && !inside.run.has_ended());
        open.clone().next().is_some() && open.all(|inside| inside.run.is_waiting())
    }

    /// The calls whose tools wait for somebody inside, as the log tells of them.
    pub(crate) fn paused(&self) -> Vec<Paused> {
        let paused = self.inside.iter().filter(|inside| self.is_open(&inside.call)).filter_map(|inside| {
            let waiting = inside.run.waiting_beside(&inside.run.paused());
            let is_asked =
                !waiting.approvals.is_empty() || !waiting.deferred.is_empty() || inside.run.is_waiting();
            is_asked.then(|| (inside.call.clone(), waiting))
        });
        paused.collect()
    }

    /// The things for which the run waits, whatever else it has to do. `paused` are its calls whose tools wait inside.
    pub(crate) fn waiting_beside(&self, paused: &[Paused]) -> Waiting {
        let mut waiting = Waiting {
            reason: EndReason::PendingExternal,
            calls: Vec::new(),
            approvals: self.approvals(),
            deferred: self.deferred(),
        };
        let Phase::Calls(calls) = &self.phase else { return waiting };
        for call in calls.iter().filter(|call| !self.outcomes.contains_key(&call.id)) {
            if !paused.iter().any(|(id, _)| *id == call.id) {
                waiting.calls.push(call.clone());
            }
            for (_, waits) in paused.iter().filter(|(id, _)| *id == call.id) {
                waiting.calls.extend_from_slice(&waits.calls);
                let agent = NestedAgent::new(&call.name, call.id.clone());
                let inside = |path: &[NestedAgent]| [std::slice::from_ref(&agent), path].concat();
                waiting.approvals.extend(
                    waits
                        .approvals
                        .iter()
                        .cloned()
                        .map(|asked| ApprovalRequest { path: inside(&asked.path), ..asked }),
                );
                waiting.deferred.extend(
                    waits
                        .deferred
                        .iter()
                        .cloned()
                        .map(|request| DeferredRequest { path: inside(&request.path), ..request }),
                );
            }
        }
        let is_asked = |request: &DeferredRequest| request.deferred.prompt.is_some();
        waiting.reason = match (waiting.approvals.is_empty(), waiting.deferred.iter().any(is_asked)) {
            (false, _) => EndReason::PendingApproval,
            (true, true) => EndReason::InputRequired,
            (true, false) => EndReason::PendingExternal,
        };
        waiting
    }

    fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }
}
