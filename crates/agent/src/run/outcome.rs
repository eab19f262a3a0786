//! The outcome of a run by its log.

use attache_core::{Document, Message, MessageId};

use crate::outcome::{EndReason, Outcome};
use crate::run::{Paused, Phase, Run};

impl Run {
    /// The documents in the reply of that id, which is one of the last messages.
    pub(crate) fn made_in(&self, reply: &MessageId) -> Vec<Document> {
        let found = self.history.iter().rev().find(|message| message.id() == reply);
        match found.map(|message| &**message) {
            Some(Message::Assistant(reply)) => reply.documents().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// The end, or what there is of it so far: also the approvals and results for which it waits, those of runs inside its
    /// tools included.
    pub fn outcome(&self) -> Outcome {
        self.outcome_beside(&self.paused())
    }

    /// The same where it is known better than by the log which tools of open calls wait for somebody inside.
    pub(crate) fn outcome_beside(&self, paused: &[Paused]) -> Outcome {
        let mut messages = self.messages();
        let waiting = self.waiting_beside(paused);
        let checked = self.checked.as_deref().cloned().unwrap_or_default();
        let reason = match &self.phase {
            Phase::Ending { reason, .. } | Phase::Ended(reason) => reason.clone(),
            Phase::Calls(calls) => {
                messages.push(self.results_so_far(calls, paused));
                waiting.reason
            }
            Phase::New | Phase::Model { .. } => EndReason::Cancelled,
        };
        Outcome {
            run_id: self.id.clone(),
            reason,
            detail: self.detail.clone(),
            text: self.text.clone(),
            agent: self.agent().map(str::to_owned),
            reasoning: self.reasoning.clone(),
            structured: self.output().and_then(|output| output.structured.clone()).map(Box::new),
            citations: checked.citations,
            figures: checked.figures,
            unfound: checked.unfound,
            turn: self.turn,
            messages,
            calls: self.calls.clone(),
            pending: waiting.calls,
            approvals: waiting.approvals,
            deferred: waiting.deferred,
            grants: self.grants().to_vec(),
            unknown: self.unknown_so_far(paused),
            unread: self.unread.clone(),
            steps: self.step,
            usage: self.usage.clone(),
            cost: self.cost,
        }
    }
}
