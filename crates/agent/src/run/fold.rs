//! The change that each kind of entry makes to the run.

use std::sync::Arc;

use attache_core::hash::StableHash;
use attache_core::message::{Metadata, NOTICE, UserOrigin};
use attache_core::tool::ToolSpec;
use attache_core::{
    AssistantMessage, AssistantPart, FinishReason, Message, MessageId, Role, ToolCall, UserMessage, UserPart,
};

use crate::log::{Digits, Ended, Offered, Reply, Started, ToolOutcome, ToolRule, with_joined};
use crate::memory::text_tokens::tokens_of_length;
use crate::memory::turns::{PAUSED, TURN_ENDED};
use crate::outcome::{EndReason, STEP, is_told_at_the_end};
use crate::output::Output;
use crate::run::team::AGENT;
use crate::run::{Phase, Run};

/// The number of times that a provider which pauses is continued.
const MAX_PAUSES: u32 = 10;

/// The number of steps before the limit at which the model is told of it, at the tail, so that the cached prefix holds.
const STEPS_TOLD: u32 = 3;

impl Run {
    pub(super) fn start(&mut self, started: &Started, at: u64) {
        self.began_at = at;
        self.id.clone_from(&started.run_id);
        self.turn = turn_number(&started.messages);
        self.base = format!("{}-{:016x}", started.run_id, self.turn);
        self.announced.0 = None;
        self.limits = started.limits.clone();
        self.deadline = started.deadline;
        self.external.clone_from(&started.external_tools);
        self.direct.clone_from(&started.direct_tools);
        self.tallies.rules.clone_from(&started.rules);
        self.options = started.options;
        self.mark.clone_from(&started.mark);
        self.families.clone_from(&started.families);
        self.output = started.output.clone().map(|spec| Box::new(Output::new(*spec)));
        self.history.clone_from(&started.messages);
        for message in &started.messages {
            if let Message::Assistant(reply) = &**message {
                self.call_ids.extend(reply.tool_calls().map(|call| call.id.clone()));
            }
        }
        self.task = started.task;
        if !started.grants.is_empty() {
            self.held.get_or_insert_default().grants.clone_from(&started.grants);
        }
        if let Some(handoffs) = &started.handoffs {
            self.begin_handoffs(handoffs);
        }
        self.phase = self.before_model();
    }

    /// Tools that were not known when the run began bring what holds for their calls.
    pub(super) fn offer(&mut self, offered: &Offered) {
        for new in offered.tools.iter().filter(|offered| offered.family.is_some()) {
            let spec = ToolSpec::from(&new.tool);
            if spec.metadata.return_direct {
                self.direct.push(spec.definition.name().to_owned());
            }
            self.tallies.rules.extend(ToolRule::of(&spec));
        }
        self.offered.push(offered.tools.clone());
    }

    /// An id that is the same at each replay.
    pub(super) fn mint(&mut self) -> MessageId {
        self.made += 1;
        self.announced.0.take().unwrap_or_else(|| self.numbered(self.made))
    }

    fn numbered(&self, number: u64) -> MessageId {
        let number = Digits::of(number);
        let id = with_joined(&[&self.base, ".", number.as_str()], |id| MessageId::parse(id));
        id.unwrap_or_else(MessageId::new)
    }

    /// The id of the next message that the run makes: that of a reply, while the model is asked. It is made once.
    pub(crate) fn next_id(&mut self) -> MessageId {
        let id = self.announced.0.take().unwrap_or_else(|| self.numbered(self.made + 1));
        self.announced.0.insert(id).clone()
    }

    pub(super) fn push(&mut self, message: Message) {
        self.history.push(message.shared());
    }

    /// The model; without tools if this is the last call allowed.
    pub(super) fn before_model(&mut self) -> Phase {
        let landing = self.limit_reached();
        let (limit, left) = (self.limits.max_steps, self.limits.max_steps.saturating_sub(self.step));
        // Before the half of a run nothing is near. At the last step the notice of the landing tells it.
        let told = STEPS_TOLD.min(limit / 2);
        if landing.is_none() && left == told && told > 1 {
            let id = if limit > 2 * STEPS_TOLD { self.mint() } else { self.id_of_short_notice() };
            let text = format!("This run has {left} steps left. At the last one tools are off.");
            self.push(notice(text).with_id(id));
        }
        self.land(landing)
    }

    /// The id of the notice in a short run. It is none of the numbered ones: older programs told nothing there, and their logs
    /// refer to messages by the numbers.
    fn id_of_short_notice(&self) -> MessageId {
        let id = with_joined(&[&self.base, ".left"], |id| MessageId::parse(id));
        id.unwrap_or_else(MessageId::new)
    }

    /// The same where the model is told nothing, or was told already. The ids of the notices are used up as they always were:
    /// logs refer to the messages behind them by their ids.
    pub(super) fn before_model_in_silence(&mut self) -> Phase {
        let told = self.history.len();
        let phase = self.before_model();
        self.history.truncate(told);
        phase
    }

    /// The model phase. Before a landing the model is told, at the tail, so that the cached prefix holds.
    pub(super) fn land(&mut self, landing: Option<EndReason>) -> Phase {
        // With nothing done yet there is nothing to land.
        if let (Some(reason), true) = (&landing, self.step > 0) {
            let id = self.mint();
            let text = self.landing_notice(reason);
            self.push(notice(text).with_id(id));
        }
        Phase::Model { landing }
    }

    pub(super) fn take_inbox(&mut self, messages: &[Arc<Message>]) {
        self.inboxes += 1;
        // A message that came back unread, because nobody knew whether it was recorded, may be injected again.
        let new = self.unheard(messages);
        if !new.is_empty() {
            self.hear(new.into_iter());
        }
    }

    /// The messages that are not in the history.
    fn unheard(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let is_new = |message: &&Arc<Message>| self.history.iter().all(|known| known.id() != message.id());
        messages.iter().filter(is_new).cloned().collect()
    }

    /// Adds messages from outside. Before an answer ends the run they make it go on; a notice that tools are off stays
    /// behind them.
    pub(super) fn hear(&mut self, messages: impl Iterator<Item = Arc<Message>>) {
        if matches!(self.phase, Phase::Ending { .. }) {
            self.history.extend(messages);
            self.ask_again();
            self.phase = self.before_model();
            return;
        }
        let notice = self.history.pop_if(|last| last.metadata().get(NOTICE).is_some());
        self.history.extend(messages);
        self.history.extend(notice);
    }

    /// A call that was taken for one of unknown outcome has its result after all.
    pub(super) fn take_receipt(&mut self, outcome: &ToolOutcome) -> Result<(), &'static str> {
        let place = self.unknown.iter().position(|call| call.id == outcome.call_id);
        let call = place.map(|at| self.unknown.remove(at)).ok_or("no such call is of unknown outcome")?;
        let mut message = told_late(&call.name, outcome);
        message.id = self.mint();
        self.hear(std::iter::once(Message::User(message).shared()));
        Ok(())
    }

    pub(super) fn reply(
        &mut self,
        reply: &Reply,
        landing: Option<EndReason>,
        at: u64,
    ) -> Result<(), &'static str> {
        let Message::Assistant(message) = &*reply.message else {
            return Err("a reply must be an assistant message");
        };
        let mut calls: Vec<ToolCall> = Vec::with_capacity(message.tool_calls().count());
        calls.extend(message.tool_calls().cloned());
        if !calls.iter().all(|call| self.call_ids.insert(call.id.clone())) {
            return Err("two calls have one id");
        }
        self.step += 1;
        self.asked_at = at;
        self.usage.add(&reply.usage);
        self.cost.add(reply.cost);
        let answered = reply.answered.as_deref().unwrap_or(&reply.usage);
        self.read = answered.input_tokens;
        if reply.guessed > 0 {
            self.guessed = self.guessed.saturating_add(reply.guessed);
        } else if self.limits.limit_tokens() && answered.input_tokens.is_none() {
            self.guessed = self.guessed.saturating_add(self.guess(message));
        }
        let text = message.text();
        let blank = text.trim().is_empty();
        if !blank {
            self.text.clone_from(&text);
        }
        self.reasoning.clear();
        if blank && calls.is_empty() && message.documents().next().is_none() {
            self.reasoning = message.thinking();
        }
        self.ask_again();
        let continued = reply.finish_reason == FinishReason::Pause
            && calls.is_empty()
            && landing.is_none()
            && self.pauses < MAX_PAUSES;
        self.replied = Some(self.history.len());
        // A message of reasoning alone says nothing that may be replayed.
        let says = |part: &AssistantPart| !matches!(part, AssistantPart::Reasoning(_));
        if message.parts.iter().any(says) {
            let mut message = message.clone();
            message.id = self.mint();
            if let Some(agent) = self.agent() {
                message.metadata = message.metadata.with(AGENT, agent);
            }
            if continued {
                message.metadata = message.metadata.with(PAUSED, true);
            }
            if message.parts.iter().any(is_told_at_the_end) {
                message.metadata = message.metadata.with(STEP, self.step - 1);
            }
            self.push(Message::Assistant(message));
        }
        self.tallies.measure(answered, self.history.len());
        self.phase = match (&reply.finish_reason, calls.is_empty()) {
            (FinishReason::Refusal, _) => {
                if blank {
                    self.text = message.refusal().unwrap_or_default();
                }
                self.close(&calls, "not executed: the reply was refused");
                ending(EndReason::Refusal)
            }
            (FinishReason::ContentFilter, _) => {
                self.close(&calls, "not executed: the reply was filtered");
                ending(EndReason::ContentFilter)
            }
            (FinishReason::Error, _) => {
                self.close(&calls, "not executed: the provider failed");
                self.detail = Some("the provider ended the reply with an error".to_owned());
                ending(EndReason::ProviderError("api".to_owned()))
            }
            (_, false) if landing.is_some() && !self.may_finish(&calls) => {
                self.take_output(&calls);
                self.close(&calls, "not executed: tools are off");
                match self.has_answered() {
                    true => self.answered(EndReason::Answer, landing),
                    false => ending(landing.unwrap_or(EndReason::MaxSteps)),
                }
            }
            (reason, false) if *reason == FinishReason::Length || calls.iter().any(is_truncated) => {
                self.close(&calls, "output limit reached before this call was complete; send a smaller call");
                self.cut_rounds += 1;
                if let Some(landing) = landing {
                    ending(landing)
                } else if self.cut_rounds > 1 {
                    ending(EndReason::Length)
                } else {
                    self.before_model()
                }
            }
            (_, false) => {
                self.cut_rounds = 0;
                self.tallies.count(&calls, landing);
                self.calls.extend(calls.iter().cloned());
                if self.take_output(&calls) {
                    self.finish_round(&calls);
                    return Ok(());
                }
                Phase::Calls(calls.into())
            }
            (FinishReason::Pause, true) if continued => {
                self.pauses += 1;
                // A provider goes on with a reply that it paused only where nothing is said behind it.
                self.before_model_in_silence()
            }
            (FinishReason::Pause, true) if landing.is_some() => self.answered(EndReason::MaxSteps, landing),
            (FinishReason::Length, true) => ending(EndReason::Length),
            // A picture is an answer, too.
            (_, true) if blank && message.documents().next().is_none() => match message.refusal() {
                Some(refusal) => {
                    self.text = refusal;
                    ending(EndReason::Refusal)
                }
                None => self.empty(landing),
            },
            (_, true) => {
                if blank {
                    self.text.clear();
                }
                self.held_answer(&text, landing)
            }
        };
        Ok(())
    }

    /// The tokens of a step whose provider reported none: those of the texts that were read and written.
    pub(crate) fn guess(&self, reply: &AssistantMessage) -> u64 {
        tokens_of_length(self.chars_from(0).saturating_add(reply_len(reply)))
    }

    /// The tokens of the texts from that place in the history on.
    pub(super) fn guess_from(&self, start: usize) -> u64 {
        tokens_of_length(self.chars_from(start))
    }

    fn chars_from(&self, start: usize) -> usize {
        let chars = |message: &Arc<Message>| match &**message {
            Message::System(message) => message.parts.iter().map(|part| part.text().len()).sum::<usize>(),
            Message::User(message) => message.parts.iter().map(content_len).sum(),
            Message::Assistant(message) => reply_len(message),
            Message::ToolResults(message) => {
                message.results.iter().map(|result| result.tree.json().len()).sum()
            }
            _ => 0,
        };
        self.history.iter().skip(start).map(chars).sum()
    }

    /// An answer ends the run, unless more was said meanwhile. After a landing nothing goes on.
    fn answered(&mut self, reason: EndReason, landing: Option<EndReason>) -> Phase {
        match landing {
            // An answer at the only step is one, whatever would have come after it.
            Some(EndReason::MaxSteps) if self.step == 1 => ending(reason),
            Some(landing) => ending(landing),
            None => Phase::Ending { reason, open: true },
        }
    }

    /// The end of a run whose model has answered, unless the answer has to be mended.
    pub(super) fn held_answer(&mut self, text: &str, landing: Option<EndReason>) -> Phase {
        match self.read_output(text, landing.is_some()) {
            Ok(()) => self.answered(EndReason::Answer, landing),
            Err(Some(hint)) => {
                let id = self.mint();
                self.push(notice(hint).with_id(id));
                self.before_model()
            }
            Err(None) => match landing {
                Some(landing) if self.step > 1 => ending(landing),
                _ => ending(EndReason::InvalidAnswer),
            },
        }
    }

    pub(super) fn end(&mut self, ended: &Ended) {
        if let Phase::Calls(calls) = &self.phase {
            let calls = Arc::clone(calls);
            self.close_round(&calls);
        }
        if !ended.interrupted_text.trim().is_empty() {
            self.text.clone_from(&ended.interrupted_text);
            let id = self.mint();
            self.push(interrupted(&ended.interrupted_text).with_id(id));
        }
        self.end_turn();
        if ended.detail.is_some() {
            self.detail.clone_from(&ended.detail);
        }
        // An append whose answer did not come may have been taken.
        self.unread = self.unheard(&ended.unread);
        self.inside = Vec::new();
        self.checked.clone_from(&ended.checked);
        self.phase = Phase::Ended(ended.reason.clone());
    }
}

impl Run {
    /// Marks the last message of the model's side, so that the next question opens a turn, although no answer stands
    /// before it.
    fn end_turn(&mut self) {
        let last = self.history.iter_mut().skip(self.task).rev().find(|message| message.role() != Role::User);
        let Some(last) = last else { return };
        let marked = match &**last {
            Message::ToolResults(results) => {
                let mut results = results.clone();
                results.metadata = results.metadata.with(TURN_ENDED, true);
                Message::ToolResults(results)
            }
            Message::Assistant(reply) if reply.metadata.get(PAUSED).is_some() => {
                let mut reply = reply.clone();
                reply.metadata = reply.metadata.with(TURN_ENDED, true);
                Message::Assistant(reply)
            }
            _ => return,
        };
        *last = marked.shared();
    }
}

/// The word of a call that was taken for one of unknown outcome.
pub(crate) fn told_late(tool: &str, outcome: &ToolOutcome) -> UserMessage {
    let status = if outcome.result.is_error() { "It failed" } else { "It was done" };
    let text = format!(
        "The call {tool} of unknown outcome came to its end after all. {status}: {}",
        outcome.result.tree.model_text()
    );
    let documents =
        outcome.result.documents.iter().map(|document| Some(UserPart::Document(document.clone())));
    let mut message = UserMessage::new([UserPart::text(text)].into_iter().chain(documents));
    message.origin = UserOrigin::Event;
    message
}

/// The text of a reply that was interrupted, as a message.
pub(crate) fn interrupted(text: &str) -> Message {
    let mut message = AssistantMessage::new([AssistantPart::text(text)]);
    message.metadata = Metadata::new().with("interrupted", true);
    Message::Assistant(message)
}

pub(super) fn ending(reason: EndReason) -> Phase {
    Phase::Ending { reason, open: false }
}

/// A word of the loop to the model. It belongs to the round before it.
pub(super) fn notice(text: impl Into<String>) -> Message {
    let mut message = UserMessage::new([UserPart::text(text)]);
    message.origin = UserOrigin::Event;
    message.metadata = Metadata::new().with(NOTICE, true);
    Message::User(message)
}

/// A number that tells the turns of a conversation apart. A run id may be used again, the message that a turn begins
/// with is another one each time.
fn turn_number(messages: &[Arc<Message>]) -> u64 {
    messages.iter().fold(StableHash::new(), |hash, message| hash.text(message.id().as_str())).finish()
}

fn is_truncated(call: &ToolCall) -> bool {
    matches!(call.arguments.json(), Err(attache_core::message::ArgumentsError::Truncated))
}

fn reply_len(message: &AssistantMessage) -> usize {
    let part = |part: &AssistantPart| match part {
        AssistantPart::Text(text) => text.text().len(),
        AssistantPart::ToolCall(call) => call.arguments.raw().len(),
        AssistantPart::Reasoning(reasoning) => reasoning.text().len(),
        _ => 0,
    };
    message.parts.iter().map(part).sum()
}

fn content_len(content: &UserPart) -> usize {
    match content {
        UserPart::Text(text) => text.text().len(),
        UserPart::Object(tree) => tree.json().len(),
        _ => 0,
    }
}
