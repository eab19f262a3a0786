//! The entries of a run's log.

use std::sync::Arc;

use attache_core::citation::Checked;
use attache_core::{
    Degradation, Effect, FinishReason, Message, MessageId, ToolCall, ToolCallId, ToolResult, Usage,
};
use attache_documents::DocumentDecision;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::Limits;
use crate::log::Key;
use crate::log::approval::{Asked, Decided, Grant};
use crate::log::deferred::DeferredCall;
use crate::log::handoff::{HandedOff, Handoffs};
use crate::log::hooked::Hooked;
use crate::log::tools::{FamilyTools, Offered, ToolRule};
use crate::outcome::EndReason;
use crate::output::OutputSpec;
use crate::price::Money;

/// The version of the entries that this program writes. It reads this one and older ones.
pub const SCHEMA_VERSION: u32 = 1;

/// One entry of the log. The log is the truth; everything else is a projection of it.
///
/// As JSON it begins with `schemaVersion`. A newer version, and a member that this program does not know, is refused by
/// name: what it says may decide what the run does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Entry {
    #[serde(rename = "schemaVersion")]
    version: Version,
    /// Where it belongs.
    pub key: Key,
    /// When it was recorded, in milliseconds since 1970; set by the journal.
    #[serde(default)]
    pub at: u64,
    /// The thing that happened.
    pub kind: EntryKind,
}

impl Entry {
    /// An entry that a journal has yet to stamp.
    pub fn new(key: Key, kind: EntryKind) -> Self {
        Self { version: Version, key, at: 0, kind }
    }

    /// True if it closes a call that nobody answered before its run ended.
    pub(crate) fn closes_call(&self) -> bool {
        matches!(&self.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Cancelled)
    }
}

/// The version of an entry: there is one so far.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA_VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            SCHEMA_VERSION => Ok(Self),
            version => Err(serde::de::Error::custom(format!(
                "the entry has schema version {version}, and this program reads up to {SCHEMA_VERSION}"
            ))),
        }
    }
}

/// The thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EntryKind {
    /// The run began.
    Started(Started),
    /// The messages that were in the inbox when the run looked.
    Inbox(Vec<Arc<Message>>),
    /// The model replied.
    Reply(Reply),
    /// The run is at this limit: its next model call is the last one. Recorded where no entry before it says so.
    Landing(EndReason),
    /// A call waits until somebody approves it.
    Asked(Asked),
    /// An approval is settled.
    Decided(Decided),
    /// The result of a call comes later, from elsewhere.
    Deferred(DeferredCall),
    /// Hooks have decided at one point.
    Hooked(Hooked),
    /// A call with effects is about to run, or the caller is to answer one.
    Begun(Begun),
    /// A call has its result.
    ToolOutcome(ToolOutcome),
    /// A call of unknown outcome has its result after all.
    Receipt(ToolOutcome),
    /// The synthetic message that was sent behind tool results: audit, never an input to routing.
    Documents(SyntheticMessage),
    /// The way in which the documents of a request were routed: audit, never an input to routing. It stands before the reply,
    /// and only where it is another one than before.
    Routed(Routed),
    /// More tools are offered from the next model call on.
    Offered(Offered),
    /// The conversation was handed over to another agent, which answers from now on.
    HandedOff(Box<HandedOff>),
    /// The documents that were found inside others, as a message that no model reads.
    Found(Arc<Message>),
    /// The memory decided what the model is shown from now on.
    Compacted(Compacted),
    /// The model's API was asked for the tokens of the conversation.
    Counted(Counted),
    /// The model did not answer, and nobody drives the run any more. It has not ended: whoever resumes it asks again.
    Failed(Box<Failed>),
    /// The run ended.
    Ended(Ended),
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Started {
    /// The run.
    pub run_id: String,
    /// The conversation so far and the new input, in order.
    pub messages: Vec<Arc<Message>>,
    /// Where the new input begins in `messages`.
    pub task: usize,
    /// The limits that hold for the run.
    pub limits: Limits,
    /// When the run's time is up, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
    /// The tools that families offered when the run began: it offers them until it ends, whatever a server says later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) families: Vec<FamilyTools>,
    /// The value that the run is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<OutputSpec>>,
    /// The tools whose calls the caller answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_tools: Vec<String>,
    /// The tools whose output is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direct_tools: Vec<String>,
    /// The tools that the run treats in a way of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ToolRule>,
    /// Leave to call tools without asking that the run was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// The hand-offs that the run may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoffs: Option<Box<Handoffs>>,
    /// The number of the model, settings, tools and principal that the run alone has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<u64>,
    /// The number by which a run inside a tool finds its log again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<u64>,
    /// Those of the runs that its tool had started until then and no log tells of: some may never write one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<u64>,
    /// The mark by which an observer finds the run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mark: Option<Box<str>>,
}

/// One reply of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Reply {
    /// The message.
    pub message: Arc<Message>,
    /// The reason for which the model stopped.
    pub finish_reason: FinishReason,
    /// Why the model stopped, in the provider's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// The tokens that it took, with those of attempts before it that failed.
    pub usage: Usage,
    /// The part of `usage` that is of the attempt which answered, where there were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Box<Usage>>,
    /// Its cost, where prices are configured and one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens of the step by a guess, where its provider reported none and the run around the tool that this one works
    /// for has to count them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub guessed: u64,
    /// Options that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degradations: Vec<Degradation>,
}

/// The intent to run a call with effects. A call that was begun and has no result is of unknown outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Begun {
    /// The call.
    pub call_id: ToolCallId,
    /// The effect of its tool: whether the call may be repeated.
    pub effect: Effect,
}

impl Begun {
    pub(crate) fn new(call_id: ToolCallId, effect: Effect) -> Self {
        Self { call_id, effect }
    }
}

fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The call.
    pub call_id: ToolCallId,
    /// Its result.
    pub result: ToolResult,
    /// How the result came about.
    pub disposition: Disposition,
}

impl ToolOutcome {
    /// The outcome of a call that is not made, with the words that the model reads.
    pub(crate) fn not_made(call: &ToolCall, text: &str, disposition: Disposition) -> Self {
        Self { call_id: call.id.clone(), result: ToolResult::error(call, text), disposition }
    }
}

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Disposition {
    /// The tool ran to its end, successfully or not.
    Executed,
    /// The tool was not run: its arguments did not fit, or a limit was reached.
    Refused,
    /// There is no tool of that name.
    NoSuchTool,
    /// The tool asked the model to correct the call.
    Retry,
    /// The tool was not run: a person or a policy denied it, or nobody approved it in time.
    Denied,
    /// A hook gave the result in the tool's place.
    Replaced,
    /// A hook ended the run in the place of the call.
    Tripped,
    /// The tool ran longer than allowed, the run had no time left for it, or the caller did not answer in time.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The caller answered.
    Submitted,
    /// The tool's effect was begun, and nobody knows whether it happened: the run crashed, was cancelled or ended by
    /// another tool meanwhile. It was not run again.
    Unknown,
    /// The tool ended the run.
    Aborted,
    /// The run ended before the call began, or before the caller answered it.
    Cancelled,
    /// Something from outside interrupted the call before it began, or before the caller answered it.
    Interrupted,
}

impl Disposition {
    /// True if the run ends with such a call.
    pub(crate) fn ends_run(self) -> bool {
        matches!(self, Self::Aborted | Self::Tripped)
    }
}

/// A synthetic message as it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct SyntheticMessage {
    /// The tool results that it follows.
    pub anchor: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// The model's capabilities when it was made, as a number.
    pub fingerprint: u64,
    /// The decisions of routing behind it, as a number.
    pub stamp: u64,
}

/// The documents of a request as they were routed. An agent meets most of them again in each request, so that the decisions
/// which are the same as before are not repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Routed {
    /// The number of the first decisions that are those of the last such entry.
    pub kept: usize,
    /// The decisions behind them.
    pub decisions: Vec<DocumentDecision>,
}

impl Routed {
    /// The decisions, where others were recorded before.
    pub(crate) fn since(before: &[DocumentDecision], now: &[DocumentDecision]) -> Self {
        let kept = before.iter().zip(now).take_while(|(before, now)| before == now).count();
        Self { kept, decisions: now.get(kept..).unwrap_or_default().to_vec() }
    }

    /// Makes of the decisions that were recorded before those of the request.
    pub(crate) fn follow(&self, decisions: &mut Vec<DocumentDecision>) {
        decisions.truncate(self.kept);
        decisions.extend_from_slice(&self.decisions);
    }
}

/// A decision of the memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Compacted {
    /// The message that stands in the history from now on and holds the [mark](crate::Mark); none if a summary failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Arc<Message>>,
    /// The reason why the summary failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The tokens of the request that was too long, by estimate; 0 where nobody counted them.
    #[serde(default)]
    pub tokens: u64,
    /// The tokens of the summary's requests.
    #[serde(default)]
    pub usage: Usage,
    /// Their cost, where prices are configured and one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The model that was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The tokens of a conversation before the first reply, as the model's API counts them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Counted {
    /// The tokens; none if they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The reason why they could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The failure of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Failed {
    /// Why the drive ended.
    pub reason: EndReason,
    /// The words of the provider, in one line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The tokens of a reply that failed, as far as its provider counted any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Their cost, where prices are configured and one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// The model's text so far, where it was interrupted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interrupted_text: String,
    /// One line for people, where the reason alone does not say enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The messages in the inbox that the run did not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Arc<Message>>,
    /// The findings about the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Box<Checked>>,
}

impl Ended {
    /// An end for this reason, with nothing to add.
    pub(crate) fn new(reason: EndReason) -> Self {
        Self { reason, interrupted_text: String::new(), detail: None, unread: Vec::new(), checked: None }
    }
}
