//! The run: a fold over its log.

mod repeat;

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{
    AssistantMessage, AssistantPart, Content, FinishReason, Message, MessageId, Metadata, ResultStatus,
    ToolCall, ToolCallId, ToolResult, ToolResultsMessage, Usage, UserMessage, UserOrigin,
};

use crate::entry::{
    Disposition, Ended, Entry, EntryKind, Key, Reply, Started, SyntheticMessage, ToolOutcome,
};
use crate::limits::{EmptyReply, Limits};
use crate::outcome::{EndReason, Outcome};
use repeat::Repeats;

/// What a driver has to do next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Record the beginning.
    Start,
    /// Take what is in the inbox, and record it.
    TakeInbox {
        /// Where to record it.
        key: Key,
    },
    /// Call the model with the history.
    CallModel {
        /// Where to record the reply.
        key: Key,
        /// The step, from 1.
        step: u32,
        /// Whether tools are off because the run is about to end.
        landing: bool,
    },
    /// Have these calls answered: run their tools, or wait for the caller.
    AnswerCalls {
        /// The calls without a result, in call order.
        calls: Vec<PendingCall>,
    },
    /// Record the end.
    End {
        /// Why.
        reason: EndReason,
    },
    /// Nothing; the run has ended.
    Ended,
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PendingCall {
    /// Where to record its result.
    pub key: Key,
    /// The call.
    pub call: ToolCall,
    /// Whether the caller answers it.
    pub external: bool,
    /// Whether it passes the limit of tool calls: it is refused, whoever would answer it.
    pub beyond_limit: bool,
}

/// Why a log is not one of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log entry {key} does not fit the run: {problem}")]
#[non_exhaustive]
pub struct ReplayError {
    /// The entry.
    pub key: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// A run as its log tells it.
///
/// It does no I/O: [`next`](Self::next) says what to do, [`apply`](Self::apply) takes what came of it. The same
/// entries give the same run, whoever drove it, on whatever machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    id: String,
    limits: Limits,
    external: Vec<String>,
    direct: Vec<String>,
    history: Vec<Arc<Message>>,
    phase: Phase,
    step: u32,
    inbox_looks: u32,
    made: u64,
    calls: Vec<ToolCall>,
    outcomes: HashMap<ToolCallId, ToolOutcome>,
    repeats: Repeats,
    usage: Usage,
    text: String,
    reasoning: String,
    nudges: u32,
    pauses: u32,
    cut_rounds: u32,
    detail: Option<String>,
    unread: Vec<Arc<Message>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    New,
    /// Look into the inbox, then go on.
    Inbox(Then),
    Model {
        landing: Option<EndReason>,
    },
    Calls(Vec<ToolCall>),
    Ending(EndReason),
    Ended(EndReason),
}

#[derive(Clone, Debug, PartialEq)]
enum Then {
    Model(Option<EndReason>),
    End(EndReason),
}

/// How often a provider that continues by itself is continued.
const MAX_PAUSES: u32 = 10;

impl Run {
    /// A run that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run that a log tells of.
    ///
    /// # Errors
    /// [`ReplayError`] names the first entry that does not fit.
    pub fn replay<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, ReplayError> {
        let mut run = Self::new();
        for entry in entries {
            run.apply(entry)?;
        }
        Ok(run)
    }

    /// The run's id; empty before it began.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The conversation so far, synthetic messages included.
    pub fn history(&self) -> &[Arc<Message>] {
        &self.history
    }

    /// Model calls that came to their end.
    pub fn steps(&self) -> u32 {
        self.step
    }

    /// What they cost.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// One line for people about the end, where there is one.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What to do next.
    pub fn next(&self) -> Action {
        match &self.phase {
            Phase::New => Action::Start,
            Phase::Inbox(_) => Action::TakeInbox { key: Key::inbox(self.inbox_looks) },
            Phase::Model { landing } => {
                let step = self.step.saturating_add(1);
                Action::CallModel { key: Key::model(step), step, landing: landing.is_some() }
            }
            Phase::Calls(calls) => {
                let before = self.calls.len().saturating_sub(calls.len());
                let limit = usize::try_from(self.limits.max_tool_calls).unwrap_or(usize::MAX);
                let pending =
                    calls.iter().enumerate().filter(|(_, call)| !self.outcomes.contains_key(&call.id));
                let pending = pending.map(|(place, call)| {
                    let beyond_limit = before.saturating_add(place) >= limit;
                    PendingCall {
                        key: Key::tool(self.step, place),
                        external: !beyond_limit && self.external.contains(&call.name),
                        beyond_limit,
                        call: call.clone(),
                    }
                });
                Action::AnswerCalls { calls: pending.collect() }
            }
            Phase::Ending(reason) => Action::End { reason: reason.clone() },
            Phase::Ended(_) => Action::Ended,
        }
    }

    /// Takes what was recorded.
    ///
    /// # Errors
    /// [`ReplayError`] if the entry does not fit what came before; the run is unchanged then.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        let misfit = |problem| ReplayError { key: entry.key.to_string(), problem };
        match (&entry.kind, &self.phase) {
            (EntryKind::Started(started), Phase::New) => self.start(started),
            (EntryKind::Inbox(messages), Phase::Inbox(then)) => {
                let then = then.clone();
                self.take_inbox(messages, then);
            }
            (EntryKind::Reply(reply), Phase::Model { landing }) => {
                let landing = landing.clone();
                self.reply(reply, landing).map_err(misfit)?;
            }
            (EntryKind::ToolOutcome(outcome), Phase::Calls(calls)) => {
                if !calls.iter().any(|call| call.id == outcome.call_id) {
                    return Err(misfit("it answers no call of the last reply"));
                }
                if self.outcomes.contains_key(&outcome.call_id) {
                    return Err(misfit("the call has its result already"));
                }
                let calls = calls.clone();
                self.outcomes.insert(outcome.call_id.clone(), outcome.clone());
                if calls.iter().all(|call| self.outcomes.contains_key(&call.id)) {
                    self.finish_round(&calls);
                }
            }
            (EntryKind::Documents(documents), phase) if !matches!(phase, Phase::New) => self.place(documents),
            (EntryKind::Ended(ended), phase) if !matches!(phase, Phase::New | Phase::Ended(_)) => {
                self.end(ended)
            }
            (EntryKind::Started(_), _) => return Err(misfit("the run has begun already")),
            (_, Phase::New) => return Err(misfit("the run has not begun")),
            (_, Phase::Ended(_)) => return Err(misfit("the run has ended")),
            (EntryKind::Inbox(_), _) => return Err(misfit("the run was not looking into the inbox")),
            (EntryKind::Reply(_), _) => return Err(misfit("the run was not asking the model")),
            (EntryKind::ToolOutcome(_), _) => return Err(misfit("the run was not waiting for results")),
            (EntryKind::Documents(_) | EntryKind::Ended(_), _) => {
                return Err(misfit("it comes at the wrong time"));
            }
        }
        Ok(())
    }

    /// The end, or what there is of it so far.
    pub fn outcome(&self) -> Outcome {
        let mut messages = self.history.clone();
        let (reason, pending) = match &self.phase {
            Phase::Ending(reason) | Phase::Ended(reason) => (reason.clone(), Vec::new()),
            Phase::Calls(calls) => {
                messages.push(self.results_so_far(calls));
                let open = calls.iter().filter(|call| !self.outcomes.contains_key(&call.id));
                (EndReason::PendingExternal, open.cloned().collect())
            }
            Phase::New | Phase::Inbox(_) | Phase::Model { .. } => (EndReason::Cancelled, Vec::new()),
        };
        Outcome {
            run_id: self.id.clone(),
            reason,
            text: self.text.clone(),
            reasoning: self.reasoning.clone(),
            messages,
            calls: self.calls.clone(),
            pending,
            unread: self.unread.clone(),
            steps: self.step,
            usage: self.usage.clone(),
        }
    }

    /// The results of a round that is not over, so that each call has one: those that are there, and for the others
    /// a word that they are not.
    fn results_so_far(&self, calls: &[ToolCall]) -> Arc<Message> {
        let results = calls.iter().map(|call| match self.outcomes.get(&call.id) {
            Some(outcome) => outcome.result.clone(),
            None => ToolResult::error(call, "no result was delivered in time"),
        });
        let message = Message::ToolResults(ToolResultsMessage::new(results));
        match self.history.last() {
            // Not the id of the results as they will be when all are there.
            Some(reply) => message.with_id(reply.id().derived("pending")).shared(),
            None => message.shared(),
        }
    }

    /// An id that is the same at each replay.
    fn mint(&mut self) -> MessageId {
        self.made += 1;
        MessageId::parse(format!("{}.{}", self.id, self.made)).unwrap_or_else(MessageId::new)
    }

    fn push(&mut self, message: Message) {
        self.history.push(message.shared());
    }

    fn start(&mut self, started: &Started) {
        self.id.clone_from(&started.run_id);
        self.limits = started.limits.clone();
        self.external.clone_from(&started.external_tools);
        self.direct.clone_from(&started.direct_tools);
        self.history.clone_from(&started.messages);
        self.phase = self.before_model();
    }

    /// The inbox, then the model; without tools if this is the last call allowed.
    fn before_model(&mut self) -> Phase {
        let spent = [self.usage.input_tokens, self.usage.output_tokens].into_iter().flatten().sum::<u64>();
        let landing = if self.step.saturating_add(1) >= self.limits.max_steps {
            Some(EndReason::MaxSteps)
        } else if self.limits.max_tokens.is_some_and(|limit| spent >= limit) {
            Some(EndReason::TokenLimit)
        } else {
            None
        };
        self.inbox_looks += 1;
        Phase::Inbox(Then::Model(landing))
    }

    fn take_inbox(&mut self, messages: &[Arc<Message>], then: Then) {
        self.history.extend(messages.iter().cloned());
        self.phase = match then {
            Then::End(reason) if messages.is_empty() => Phase::Ending(reason),
            Then::End(_) => {
                // More was said before the answer ended the run: it goes on, and looks again before the call.
                let next = self.before_model();
                match next {
                    Phase::Inbox(Then::Model(landing)) => self.landing(landing),
                    other => other,
                }
            }
            Then::Model(landing) => self.landing(landing),
        };
    }

    /// The model phase. Before a landing the model is told, at the tail, so that the cached prefix holds.
    fn landing(&mut self, landing: Option<EndReason>) -> Phase {
        // With nothing done yet there is nothing to land.
        if let (Some(reason), true) = (&landing, self.step > 0) {
            let why = match reason {
                EndReason::TokenLimit => "The token limit of this run is reached.",
                EndReason::NoProgress => "The same call was repeated without progress.",
                _ => "This is the last step of this run.",
            };
            let id = self.mint();
            let notice =
                format!("{why} Tools are off now: answer with what you have, and say what is missing.");
            self.push(notice_message(notice).with_id(id));
        }
        Phase::Model { landing }
    }

    fn reply(&mut self, reply: &Reply, landing: Option<EndReason>) -> Result<(), &'static str> {
        let Message::Assistant(message) = &*reply.message else {
            return Err("a reply must be an assistant message");
        };
        self.step += 1;
        self.usage.add(&reply.usage);
        let calls: Vec<ToolCall> = message.tool_calls().cloned().collect();
        let text = message.text();
        let blank = text.trim().is_empty();
        if !blank {
            self.text.clone_from(&text);
        }
        self.reasoning.clear();
        // A message of reasoning alone says nothing that may be replayed.
        let says = |part: &AssistantPart| !matches!(part, AssistantPart::Reasoning(_));
        if message.parts.iter().any(says) {
            let id = self.mint();
            self.push(Message::Assistant(message.clone()).with_id(id));
        }
        self.phase = match (&reply.finish_reason, calls.is_empty()) {
            (FinishReason::Refusal, _) => {
                if blank {
                    self.text = message.refusal().unwrap_or_default();
                }
                self.close(&calls, "not executed: the reply was refused");
                Phase::Ending(EndReason::Refusal)
            }
            (FinishReason::ContentFilter, _) => {
                self.close(&calls, "not executed: the reply was filtered");
                Phase::Ending(EndReason::ContentFilter)
            }
            (FinishReason::Error, _) => {
                self.close(&calls, "not executed: the provider failed");
                self.detail = Some("the provider ended the reply with an error".to_owned());
                Phase::Ending(EndReason::ProviderError("api".to_owned()))
            }
            (_, false) if landing.is_some() => {
                self.close(&calls, "not executed: tools are off");
                Phase::Ending(landing.unwrap_or(EndReason::MaxSteps))
            }
            (reason, false) if *reason == FinishReason::Length || calls.iter().any(truncated) => {
                self.close(&calls, "output limit reached before this call was complete; send a smaller call");
                self.cut_rounds += 1;
                if self.cut_rounds > 1 { Phase::Ending(EndReason::Length) } else { self.before_model() }
            }
            (_, false) => {
                self.cut_rounds = 0;
                self.calls.extend(calls.iter().cloned());
                Phase::Calls(calls)
            }
            (FinishReason::Pause, true) if landing.is_none() && self.pauses < MAX_PAUSES => {
                self.pauses += 1;
                self.before_model()
            }
            (FinishReason::Pause, true) if landing.is_some() => self.answered(EndReason::MaxSteps, landing),
            (FinishReason::Length, true) => Phase::Ending(EndReason::Length),
            (_, true) if blank => match message.refusal() {
                Some(refusal) => {
                    self.text = refusal;
                    Phase::Ending(EndReason::Refusal)
                }
                None => self.empty(message, landing),
            },
            (_, true) => self.answered(EndReason::Answer, landing),
        };
        Ok(())
    }

    /// An answer ends the run, unless more was said meanwhile. After a landing nothing goes on.
    fn answered(&mut self, reason: EndReason, landing: Option<EndReason>) -> Phase {
        match landing {
            Some(landing) => Phase::Ending(landing),
            None => {
                self.inbox_looks += 1;
                Phase::Inbox(Then::End(reason))
            }
        }
    }

    fn empty(&mut self, message: &AssistantMessage, landing: Option<EndReason>) -> Phase {
        self.reasoning = message.thinking();
        match self.limits.empty_reply {
            EmptyReply::Accept => self.answered(EndReason::Answer, landing),
            EmptyReply::Nudge(times) if self.nudges < times && landing.is_none() => {
                self.nudges += 1;
                let id = self.mint();
                self.push(notice_message("Your last reply was empty. Answer, or call a tool.").with_id(id));
                self.before_model()
            }
            EmptyReply::Nudge(_) | EmptyReply::Error => {
                self.detail = Some(match self.reasoning.trim().is_empty() {
                    true => "the model answered with neither text nor calls".to_owned(),
                    false => "the model answered with nothing but reasoning".to_owned(),
                });
                Phase::Ending(EndReason::EmptyResponse)
            }
        }
    }

    /// Answers calls that are not executed, so that each call has its result.
    fn close(&mut self, calls: &[ToolCall], text: &str) {
        if calls.is_empty() {
            return;
        }
        let results: Vec<_> = calls.iter().map(|call| ToolResult::error(call, text)).collect();
        self.push_results(results);
    }

    fn push_results(&mut self, results: Vec<ToolResult>) {
        let id = self.mint();
        self.push(Message::ToolResults(ToolResultsMessage::new(results)).with_id(id));
    }

    /// All calls of the round have results: they go into the history in call order.
    fn finish_round(&mut self, calls: &[ToolCall]) {
        let outcomes: Vec<ToolOutcome> =
            calls.iter().filter_map(|call| self.outcomes.remove(&call.id)).collect();
        let aborted = outcomes.iter().any(|outcome| outcome.disposition == Disposition::Aborted);
        let direct = outcomes.iter().zip(calls).all(|(outcome, call)| {
            self.direct.contains(&call.name) && outcome.result.status == ResultStatus::Ok
        });
        let pairs = calls.iter().zip(&outcomes).map(|(call, outcome)| (call, &outcome.result));
        let stuck = self.repeats.observe(pairs);
        // Collecting in place would keep the room of the outcomes for as long as the history lives.
        let mut results = Vec::with_capacity(outcomes.len());
        results.extend(outcomes.into_iter().map(|outcome| outcome.result));
        if stuck == repeat::Verdict::Nudge {
            repeat::nudge(calls, &mut results);
        }
        let answer = direct.then(|| {
            let texts: Vec<_> = results.iter().map(|result| result.tree.model_text()).collect();
            texts.join("\n")
        });
        self.push_results(results);
        self.phase = if aborted {
            Phase::Ending(EndReason::ToolAbort)
        } else if let Some(answer) = answer {
            self.text = answer;
            let (id, text) = (self.mint(), self.text.clone());
            self.push(Message::assistant(text).with_id(id));
            self.answered(EndReason::ReturnDirect, None)
        } else if stuck == repeat::Verdict::Stop {
            self.inbox_looks += 1;
            Phase::Inbox(Then::Model(Some(EndReason::NoProgress)))
        } else {
            self.before_model()
        };
    }

    /// The synthetic message stands right behind the results it belongs to; one made for another model replaces it.
    fn place(&mut self, documents: &SyntheticMessage) {
        let Some(at) = self.history.iter().rposition(|message| *message.id() == documents.anchor) else {
            return;
        };
        let at = at + 1;
        match self.history.get_mut(at) {
            Some(known) if known.is_tool_call_documents() => *known = Arc::clone(&documents.message),
            _ => self.history.insert(at, Arc::clone(&documents.message)),
        }
    }

    fn end(&mut self, ended: &Ended) {
        if let Phase::Calls(calls) = &self.phase {
            let calls = calls.clone();
            let results = calls.iter().map(|call| match self.outcomes.remove(&call.id) {
                Some(outcome) => outcome.result,
                None => ToolResult::cancelled(call),
            });
            let results = results.collect();
            self.push_results(results);
        }
        if !ended.interrupted_text.trim().is_empty() {
            self.text.clone_from(&ended.interrupted_text);
            let mut message = AssistantMessage::new([AssistantPart::text(ended.interrupted_text.as_str())]);
            message.metadata = Metadata::new().with("interrupted", true);
            message.id = self.mint();
            self.push(Message::Assistant(message));
        }
        if ended.detail.is_some() {
            self.detail.clone_from(&ended.detail);
        }
        self.unread.clone_from(&ended.unread);
        self.phase = Phase::Ended(ended.reason.clone());
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many calls the last reply made.
    pub(crate) fn round_len(&self) -> usize {
        match &self.phase {
            Phase::Calls(calls) => calls.len(),
            _ => 0,
        }
    }
}

/// What the loop tells the model. It belongs to the round before it, as an event does.
fn notice_message(text: impl Into<String>) -> Message {
    let mut message = UserMessage::new([Content::text(text)]);
    message.origin = UserOrigin::Event;
    Message::User(message)
}

fn truncated(call: &ToolCall) -> bool {
    matches!(call.arguments.json(), Err(attache_core::ArgumentsError::Truncated))
}

#[cfg(test)]
mod tests;
