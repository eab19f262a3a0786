//! The calls of one reply that are answered by hand, held to the rules of a run.

use std::sync::Arc;

use attache_core::{
    AssistantMessage, FinishReason, Message, ToolCall, ToolResult, ToolResultsMessage, Usage,
};

use crate::driver::ToolFacts;
use crate::limits::Limits;
use crate::log::{Disposition, Entry, EntryKind, Key, Reply, Started, ToolOutcome};
use crate::outcome::EndReason;
use crate::run::{Action, Run, told_of_change};
use crate::tools::Toolbox;

/// The calls of one reply with their results.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Round {
    /// The reply, whose calls have the names of the tools that they mean.
    pub reply: AssistantMessage,
    /// The results, in call order; those of [`pending`](Self::pending) calls are missing.
    pub results: Vec<ToolResult>,
    /// The calls of tools that the caller answers.
    pub pending: Vec<ToolCall>,
    /// The answer, if all tools of the round return it directly and none failed, or if one that ends runs came to its end.
    pub answer: Option<String>,
    /// The reason why the agent's loop ends behind the round, if it does: [`EndReason::ReturnDirect`] and
    /// [`EndReason::FinishTool`] with an answer, [`EndReason::ToolAbort`] where a tool or a refusal ends it, and
    /// [`EndReason::GuardrailTripped`] where a hook does. The model is not asked again then.
    pub ended: Option<EndReason>,
    /// The calls that the caller answers and whose arguments a hook changed: the model learns of them with each result.
    rewritten: Vec<ToolCall>,
    /// A run whose last reply it is, before any call has its result: it knows what comes of them.
    open: Box<Run>,
}

impl Round {
    /// The round of a reply whose calls have names and ids of their own.
    pub(crate) fn new(reply: AssistantMessage, toolbox: &Toolbox, limits: &Limits) -> Self {
        let open = Run::replay(&opened(&reply, toolbox, limits)).unwrap_or_else(|error| {
            tracing::error!(%error, "a reply is not answered");
            Run::new()
        });
        let (results, pending, rewritten) = (Vec::new(), Vec::new(), Vec::new());
        Self { reply, results, pending, answer: None, ended: None, rewritten, open: Box::new(open) }
    }

    /// The run of the round, before any call has its result.
    pub(crate) fn run(&self) -> Run {
        (*self.open).clone()
    }

    /// Takes what came of the calls.
    pub(crate) fn take(&mut self, run: &Run) {
        self.results = run.round_results();
        self.end(run);
        if self.ended.is_some() {
            self.pending.clear();
        }
    }

    fn end(&mut self, run: &Run) {
        self.ended = match run.next() {
            Action::End { reason, .. } => Some(reason),
            _ => None,
        };
        self.answer = self.is_answered().then(|| run.text().to_owned());
    }

    fn is_answered(&self) -> bool {
        matches!(self.ended, Some(EndReason::ReturnDirect | EndReason::FinishTool))
    }

    /// Leaves a call to the caller.
    pub(crate) fn wait_for(&mut self, call: ToolCall, is_rewritten: bool) {
        if is_rewritten {
            self.rewritten.push(call.clone());
        }
        self.pending.push(call);
    }

    /// Adds the result of a pending call, in its place. Another result of the call takes the place of the one before.
    pub fn submit(&mut self, mut result: ToolResult) {
        self.pending.retain(|call| call.id != result.call_id);
        if let Some(call) = self.rewritten.iter().find(|call| call.id == result.call_id) {
            result = told_of_change(result, &call.arguments);
        }
        self.results.retain(|known| known.call_id != result.call_id);
        self.results.push(result);
        let order: Vec<_> = self.reply.tool_calls().map(|call| call.id.clone()).collect();
        self.results.sort_by_key(|result| order.iter().position(|id| *id == result.call_id));
        // An abort stays one.
        if self.ended.is_some() && !self.is_answered() {
            return;
        }
        let mut run = self.run();
        for result in &self.results {
            let (call_id, result) = (result.call_id.clone(), result.clone());
            note(&mut run, ToolOutcome { call_id, result, disposition: Disposition::Executed });
        }
        self.end(&run);
    }

    /// The messages that the round adds to the history: the reply, its results, and a direct answer.
    pub fn messages(self) -> impl Iterator<Item = Arc<Message>> {
        let results = Message::ToolResults(ToolResultsMessage::new(self.results));
        let answer = self.answer.map(Message::assistant);
        [Message::Assistant(self.reply), results].into_iter().chain(answer).map(Message::shared)
    }
}

/// Gives a call its outcome, if it waits for one.
pub(crate) fn note(run: &mut Run, outcome: ToolOutcome) {
    if run.awaits_results() {
        let entry = Entry::new(Key::result(&outcome.call_id), EntryKind::ToolOutcome(outcome));
        if let Err(error) = run.apply(&entry) {
            tracing::warn!(%error, "a result belongs to no call of the round");
        }
    }
}

/// The log of a run that has made this reply and nothing else.
fn opened(reply: &AssistantMessage, toolbox: &Toolbox, limits: &Limits) -> [Entry; 2] {
    let facts = ToolFacts::of(toolbox, None);
    let started = Started {
        run_id: String::new(),
        messages: Vec::new(),
        task: 0,
        // The caller counts the steps.
        limits: Limits { max_steps: u32::MAX, ..limits.clone() },
        deadline: None,
        families: Vec::new(),
        output: None,
        external_tools: facts.external,
        direct_tools: facts.direct,
        rules: facts.rules,
        grants: Vec::new(),
        handoffs: None,
        options: None,
        question: None,
        beside: Vec::new(),
        mark: None,
    };
    let reply = Reply {
        message: Message::Assistant(reply.clone()).shared(),
        finish_reason: FinishReason::ToolCalls,
        raw_finish_reason: None,
        usage: Usage::default(),
        answered: None,
        cost: None,
        model: None,
        guessed: 0,
        degradations: Vec::new(),
    };
    [
        Entry::new(Key::start(), EntryKind::Started(started)),
        Entry::new(Key::model(1), EntryKind::Reply(reply)),
    ]
}
