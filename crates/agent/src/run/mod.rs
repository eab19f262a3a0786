//! The run: a fold over its log.

mod apply;
mod approvals;
mod counters;
mod deferred;
mod empty;
mod failure;
mod fold;
mod handoff;
mod hooked;
mod limits;
mod loop_detection;
mod memory;
mod nested;
mod outcome;
mod output;
mod pending;
mod results;
mod round;
mod team;
mod waiting;

pub use counters::CallLimit;
pub(crate) use counters::Spent;
pub(crate) use fold::{interrupted, told_late};
pub(crate) use results::{
    UNKNOWN_OUTCOME, open_approvals, told_of_change, unknown_outcome, without_approvals,
};
pub use team::AGENT;
pub(crate) use team::without_instructions;
pub(crate) use waiting::Paused;
pub use waiting::Waiting;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use attache_core::citation::Checked;
use attache_core::{Effect, Message, MessageId, ToolCall, ToolCallId, Usage};

use crate::limits::Limits;
use crate::log::{Ended, Entry, FamilyTools, Key, OfferedTool, SyntheticMessage, ToolOutcome};
use crate::outcome::EndReason;
use crate::output::Output;
use crate::price::Cost;
use counters::Tallies;
use loop_detection::Repeats;
use pending::{Failures, Held, HookVerdicts};
use team::Team;

/// The next thing for a driver to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Action {
    /// Record the beginning.
    Start,
    /// Record the messages in the inbox, if there are some. Then call the model with the history.
    CallModel {
        /// Where to record the reply.
        key: Key,
        /// The step, from 1.
        step: u32,
        /// True if tools are off because the run is about to end.
        landing: bool,
    },
    /// Record that another agent has the conversation, with all that the run must know of it.
    HandOver {
        /// Where to record it.
        key: Key,
        /// The name of the agent.
        agent: String,
    },
    /// Have these calls answered: run their tools, or wait for the caller.
    AnswerCalls {
        /// The calls without a result, in call order.
        calls: Vec<PendingCall>,
    },
    /// Record the end.
    End {
        /// The reason.
        reason: EndReason,
        /// True if messages in the inbox, recorded first, make the run go on.
        open: bool,
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
    /// True if the caller answers it.
    pub external: bool,
    /// The limit that it passes, if it does: it is refused, whoever would answer it.
    pub beyond_limit: Option<CallLimit>,
    /// The effect of its tool, if the intent to run it is recorded already.
    pub begun: Option<Effect>,
}

/// A log that is not one of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log entry {key} does not fit the run: {problem}")]
#[non_exhaustive]
pub struct ReplayError {
    /// The entry.
    pub key: String,
    /// The fault.
    pub problem: &'static str,
}

/// An id that is made already. It says nothing of a run that its log does not.
#[derive(Clone, Debug, Default)]
struct Announced(Option<MessageId>);

impl PartialEq for Announced {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A run as its log tells it.
///
/// It does no I/O: [`next`](Self::next) says what to do, [`apply`](Self::apply) takes what came of it. The same
/// entries give the same run, whoever drove it, on whatever machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    id: String,
    /// The start of the ids that the run makes: no other turn of the conversation has it.
    base: String,
    /// The number of the turn, which stands in it.
    turn: u64,
    limits: Limits,
    began_at: u64,
    deadline: Option<u64>,
    /// The milliseconds in which the run had nothing to do before somebody else decided or answered.
    waited: u64,
    /// When the last entry was recorded.
    last_at: u64,
    external: Vec<String>,
    direct: Vec<String>,
    options: Option<u64>,
    /// The mark by which an observer finds the run again.
    mark: Option<Box<str>>,
    families: Vec<FamilyTools>,
    output: Option<Box<Output>>,
    team: Option<Box<Team>>,
    /// The tools that were offered since the run began, by the times at which that happened.
    offered: Vec<Vec<OfferedTool>>,
    /// The conversation without the synthetic messages of this run.
    history: Vec<Arc<Message>>,
    /// Where the run's own task begins in the history.
    task: usize,
    /// The synthetic messages by the results that they follow.
    synthetic: HashMap<MessageId, SyntheticMessage>,
    synthetic_count: u32,
    /// Messages with the documents that were found inside others, and how long the history was then.
    found: Vec<(usize, Arc<Message>)>,
    phase: Phase,
    step: u32,
    asked_at: u64,
    inboxes: u32,
    made: u64,
    /// The id of the next message, where somebody was told of it.
    announced: Announced,
    calls: Vec<ToolCall>,
    /// The ids of all calls of the conversation, also of those that were closed.
    call_ids: HashSet<ToolCallId>,
    outcomes: HashMap<ToolCallId, ToolOutcome>,
    begun: HashMap<ToolCallId, Effect>,
    /// The calls of the last reply that the caller was told to answer.
    let_through: Vec<ToolCallId>,
    /// Boxed, since few runs have it.
    held: Option<Box<Held>>,
    unknown: Vec<ToolCall>,
    hooked: Option<Box<HookVerdicts>>,
    /// Where the last reply stands in the history, if no entry came since.
    replied: Option<usize>,
    repeats: Repeats,
    tallies: Tallies,
    usage: Usage,
    cost: Cost,
    /// Tokens of steps whose provider reported none, as guessed.
    guessed: u64,
    text: String,
    reasoning: String,
    nudges: u32,
    pauses: u32,
    cut_rounds: u32,
    detail: Option<String>,
    unread: Vec<Arc<Message>>,
    /// The tokens that the provider counted in the request of the last reply.
    read: Option<u64>,
    remembered: Option<Box<Remembered>>,
    checked: Option<Box<Checked>>,
    /// Boxed, since few runs have one.
    failures: Option<Box<Failures>>,
    /// The runs inside the tools of calls without a result, as the log tells of them.
    inside: Vec<Inside>,
}

/// The decisions of the memory so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct Remembered {
    count: u32,
    /// The tokens at which the last summary failed.
    failed_at: Option<u64>,
    /// The messages of the history when the API was asked for its tokens, and its answer.
    counted: Option<(usize, Option<u64>)>,
}

/// A run inside the tool of a call.
#[derive(Clone, Debug, PartialEq)]
struct Inside {
    call: ToolCallId,
    scope: String,
    run: Run,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    New,
    Model {
        landing: Option<EndReason>,
    },
    Calls(Arc<[ToolCall]>),
    Ending {
        reason: EndReason,
        open: bool,
    },
    Ended(EndReason),
}

impl Run {
    /// A run that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run that a log tells of. Of the runs inside its tools it knows their spending, and for what they wait.
    ///
    /// # Errors
    /// [`ReplayError`] names the first entry that does not fit.
    pub fn replay<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, ReplayError> {
        let mut run = Self::new();
        entries.into_iter().try_for_each(|entry| run.apply(entry))?;
        Ok(run)
    }

    /// The run's id; empty before it began.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The id of the run that made a message, as far as the message's id tells: it comes from the log of a run, or from
    /// anywhere.
    pub fn that_made(message: &MessageId) -> Option<&str> {
        crate::outcome::origin(message).map(|(run, _)| run)
    }

    /// The conversation so far, without the synthetic messages of this run; see [`messages`](Self::messages).
    pub fn history(&self) -> &[Arc<Message>] {
        &self.history
    }

    /// The conversation so far, with the synthetic messages behind the results that they belong to.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        if self.synthetic.is_empty() {
            return self.history.clone();
        }
        let mut messages = Vec::with_capacity(self.history.len() + self.synthetic.len());
        let mut replaced = false;
        for message in &self.history {
            // One that was made for another model stands in the history that the run began with.
            if !(replaced && message.is_tool_call_documents()) {
                messages.push(Arc::clone(message));
            }
            let synthetic = self.synthetic.get(message.id());
            replaced = synthetic.is_some();
            messages.extend(synthetic.map(|synthetic| Arc::clone(&synthetic.message)));
        }
        messages
    }

    /// Model calls that came to their end.
    pub fn steps(&self) -> u32 {
        self.step
    }

    /// The tokens of all steps.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// One line for people about the end, where there is one.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// The next thing to do.
    pub fn next(&self) -> Action {
        match &self.phase {
            Phase::New => Action::Start,
            Phase::Model { .. } if let Some(next) = self.handing_over() => {
                Action::HandOver { key: self.handoff_key(), agent: next.agent.clone() }
            }
            Phase::Model { landing } => {
                let step = self.step.saturating_add(1);
                Action::CallModel { key: Key::model(step), step, landing: landing.is_some() }
            }
            Phase::Calls(calls) => Action::AnswerCalls { calls: self.pending(calls) },
            Phase::Ending { reason, open } => Action::End { reason: reason.clone(), open: *open },
            Phase::Ended(_) => Action::Ended,
        }
    }

    /// Ends the run in this process alone, where its log does not take the end.
    pub(crate) fn end_unrecorded(&mut self, ended: &Ended) {
        if !matches!(self.phase, Phase::New | Phase::Ended(_)) {
            self.end(ended);
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// True if the run has a deadline.
    pub(crate) fn is_timed(&self) -> bool {
        self.deadline.is_some()
    }

    /// When the run's time is up, as it stands `now`, in milliseconds since 1970. The time in which it is asked of a
    /// person, or in which it has nothing to do before somebody answers, is none of its own.
    pub(crate) fn deadline(&self, now: u64) -> Option<u64> {
        self.deadline.map(|deadline| deadline.saturating_add(self.waited_until(now)))
    }

    fn waited_until(&self, now: u64) -> u64 {
        let waits = self.is_timed() && (self.is_asked() || self.is_waiting());
        self.waited.saturating_add(if waits { now.saturating_sub(self.last_at) } else { 0 })
    }

    /// The time before the deadline that is left for a last answer: a tenth of the run's time, and half a minute at
    /// most.
    pub(crate) fn landing_room(&self) -> Duration {
        let all = self.deadline.map_or(0, |deadline| deadline.saturating_sub(self.began_at));
        Duration::from_millis((all / 10).min(30_000))
    }

    /// The number of what the run has otherwise than its agent.
    pub(crate) fn options(&self) -> Option<u64> {
        self.options
    }

    pub(crate) fn families(&self) -> &[FamilyTools] {
        &self.families
    }

    /// Where the run's own task begins in the history.
    pub(crate) fn task(&self) -> usize {
        self.task
    }

    /// The start of the run's ids, which no other turn of the conversation has.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// How often the inbox held something.
    pub(crate) fn inboxes(&self) -> u32 {
        self.inboxes
    }

    /// The findings about the answer.
    #[cfg(feature = "citations")]
    pub(crate) fn checked(&self) -> Option<&Checked> {
        self.checked.as_deref()
    }

    /// The answer, or what there is of it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// When the last reply was recorded, in milliseconds since 1970.
    pub(crate) fn asked_at(&self) -> u64 {
        self.asked_at
    }

    /// The calls of unknown outcome that the model was told of.
    pub(crate) fn unknown(&self) -> &[ToolCall] {
        &self.unknown
    }

    /// The synthetic message that was last recorded behind these results.
    pub(crate) fn synthetic(&self, anchor: &MessageId) -> Option<&SyntheticMessage> {
        self.synthetic.get(anchor)
    }

    /// The number of synthetic messages that were recorded.
    pub(crate) fn synthetic_count(&self) -> u32 {
        self.synthetic_count
    }

    /// The documents that were found inside others, as messages, and how long the history was then.
    pub(crate) fn found(&self) -> &[(usize, Arc<Message>)] {
        &self.found
    }

    /// The number of decisions of the memory that were recorded.
    pub(crate) fn decisions(&self) -> u32 {
        self.remembered.as_ref().map_or(0, |remembered| remembered.count)
    }

    /// The tokens at which the last summary failed, if it did.
    pub(crate) fn summary_failed_at(&self) -> Option<u64> {
        self.remembered.as_ref().and_then(|remembered| remembered.failed_at)
    }

    /// The tokens that the provider counted in the request of the last reply.
    pub(crate) fn read_tokens(&self) -> Option<u64> {
        self.read
    }

    /// True if a call of that id was made before, in this run or earlier in the conversation.
    pub(crate) fn knows_call(&self, id: &ToolCallId) -> bool {
        self.call_ids.contains(id)
    }
}

#[cfg(test)]
mod tests;
