//! Calls that wait for a person's decision, and what becomes of them.

use attache_core::{Arguments, ToolCall, ToolCallId};

use crate::log::{ApprovalRequest, Asked, Decided, Decision, Grant, Key};
use crate::run::pending::Question;
use crate::run::{Phase, Run};

impl Run {
    /// True if somebody was asked about a call of the last reply, or gave leave for calls.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The last question about a call.
    pub(crate) fn question(&self, call: &ToolCallId) -> Option<&Question> {
        self.held.as_ref()?.question(call)
    }

    /// The key under which the next question about a call is recorded.
    pub(crate) fn asks_at(&self, call: &ToolCallId) -> Key {
        let before = self.held.iter().flat_map(|held| &held.approvals);
        Key::asked(call, before.filter(|question| question.asked.call_id == *call).count())
    }

    /// The leave for calls that was given.
    pub(crate) fn grants(&self) -> &[Grant] {
        self.held.as_ref().map_or(&[], |held| &held.grants)
    }

    /// The questions that nobody has answered.
    pub(crate) fn open_questions(&self) -> impl Iterator<Item = &Asked> {
        let open = move |question: &&Question| {
            let asked = &question.asked.call_id;
            question.decided.is_none() && !self.outcomes.contains_key(asked)
        };
        let of_round = self.held.iter().filter(|_| matches!(self.phase, Phase::Calls(_)));
        of_round.flat_map(|held| &held.approvals).filter(open).map(|question| &question.asked)
    }

    /// True if a call waits for a decision.
    pub(crate) fn waits_for_decision(&self, call: &ToolCallId) -> bool {
        self.open_questions().any(|asked| asked.call_id == *call)
    }

    /// The calls that wait for a decision; of runs inside its tools see [`waiting`](Self::waiting).
    pub fn approvals(&self) -> Vec<ApprovalRequest> {
        let request = |asked: &Asked| {
            Some(ApprovalRequest {
                id: asked.id.clone(),
                call: self.proposed(&asked.call_id)?.clone(),
                principal: asked.principal.clone(),
                reason: asked.reason.clone(),
                expires_at: asked.expires_at,
                path: Vec::new(),
            })
        };
        self.open_questions().filter_map(request).collect()
    }

    /// A call of the last reply as the model made it.
    pub(crate) fn proposed(&self, id: &ToolCallId) -> Option<&ToolCall> {
        match &self.phase {
            Phase::Calls(calls) => calls.iter().find(|call| call.id == *id),
            _ => None,
        }
    }

    /// True if a call of the last reply has no result.
    pub(crate) fn is_open(&self, id: &ToolCallId) -> bool {
        self.proposed(id).is_some() && !self.outcomes.contains_key(id)
    }

    /// The call as it shall run: with the arguments of whoever decided.
    pub(super) fn as_decided(&self, call: &ToolCall) -> ToolCall {
        let mut call = call.clone();
        let decided = self.question(&call.id).and_then(|question| question.decided.as_ref());
        if let Some(Decision::Edit(arguments)) = decided.and_then(|decided| decided.decision.as_ref())
            && !self.is_edit_rewritten(&call.id)
        {
            call.arguments = Arguments::new(arguments.to_string());
        }
        call
    }

    /// The number of times that people have changed the arguments of a call.
    pub(crate) fn edits(&self, call: &ToolCallId) -> usize {
        let of_call = self.held.iter().flat_map(|held| &held.approvals);
        let is_edit = |question: &&Question| {
            let decided = question.decided.as_ref().and_then(|decided| decided.decision.as_ref());
            question.asked.call_id == *call && matches!(decided, Some(Decision::Edit(_)))
        };
        of_call.filter(is_edit).count()
    }

    /// True if a person changed the arguments of a call.
    pub(crate) fn is_changed(&self, call: &ToolCallId) -> bool {
        let decided = self.question(call).and_then(|question| question.decided.as_ref());
        decided.is_some_and(|decided| matches!(decided.decision, Some(Decision::Edit(_))))
    }

    pub(super) fn take_asked(&mut self, key: &Key, asked: &Asked) -> Result<(), &'static str> {
        if *key != self.asks_at(&asked.call_id) {
            return Err("another question about the call comes first");
        }
        if self.question(&asked.call_id).is_some_and(|question| question.decided.is_none()) {
            return Err("the call waits for a decision already");
        }
        let question = Question { asked: asked.clone(), decided: None };
        self.held.get_or_insert_default().approvals.push(question);
        Ok(())
    }

    pub(super) fn take_decided(&mut self, key: &Key, decided: &Decided) -> Result<(), &'static str> {
        let Phase::Calls(calls) = &self.phase else { return Err("the run was not waiting for a decision") };
        let held = self.held.as_mut().ok_or("nobody asked for this approval")?;
        let mut questions = held.approvals.iter_mut();
        let question = questions
            .find(|question| question.asked.id == decided.id)
            .ok_or("nobody asked for this approval")?;
        if *key != Key::decided(&decided.id) || question.decided.is_some() {
            return Err("the approval is settled already");
        }
        question.decided = Some(decided.clone());
        let call = calls.iter().find(|call| call.id == question.asked.call_id);
        if let (Some(Decision::ApproveAlways), Some(call)) = (&decided.decision, call) {
            held.grants.push(Grant {
                tool: call.name.clone(),
                digest: question.asked.tool.clone(),
                principal: question.asked.principal.clone(),
                by: decided.by.clone(),
            });
        }
        Ok(())
    }

    /// Forgets what held up the calls of a round that is over; leave that was given stays.
    pub(super) fn let_go(&mut self) {
        self.forget_hooked();
        if let Some(held) = &mut self.held {
            held.approvals.clear();
            held.deferred.clear();
            if held.grants.is_empty() {
                self.held = None;
            }
        }
    }
}
