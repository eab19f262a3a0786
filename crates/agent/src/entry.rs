//! The entries of a run's log.

use std::fmt;
use std::sync::Arc;

use attache_core::{Degradation, FinishReason, Message, MessageId, ToolCallId, ToolResult, Usage};
use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::outcome::EndReason;

/// Where an entry belongs: the same for each attempt at the same thing, so that what was recorded is not done again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(Arc<str>);

impl Key {
    pub(crate) fn start() -> Self {
        Self(Arc::from("start"))
    }

    pub(crate) fn inbox(number: u32) -> Self {
        Self(Arc::from(format!("inbox/{number}")))
    }

    pub(crate) fn model(step: u32) -> Self {
        Self(Arc::from(format!("model/{step}")))
    }

    pub(crate) fn tool(step: u32, place: usize) -> Self {
        Self(Arc::from(format!("tool/{step}/{place}")))
    }

    pub(crate) fn documents(anchor: &MessageId, fingerprint: u64) -> Self {
        Self(Arc::from(format!("documents/{anchor}/{fingerprint:016x}")))
    }

    pub(crate) fn end() -> Self {
        Self(Arc::from("end"))
    }

    /// The key as text, such as `model/3` or `tool/3/0`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One entry of the log. The log is the truth; everything else is a projection of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// Where it belongs.
    pub key: Key,
    /// When it was recorded, in milliseconds since 1970; set by the journal.
    #[serde(default)]
    pub at: u64,
    /// What happened.
    pub kind: EntryKind,
}

impl Entry {
    /// An entry that a journal has yet to stamp.
    pub fn new(key: Key, kind: EntryKind) -> Self {
        Self { key, at: 0, kind }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EntryKind {
    /// The run began.
    Started(Started),
    /// What was in the inbox when the run looked.
    Inbox(Vec<Arc<Message>>),
    /// The model replied.
    Reply(Reply),
    /// A call has its result.
    ToolOutcome(ToolOutcome),
    /// The synthetic message that was sent behind tool results: audit, never an input to routing.
    Documents(SyntheticMessage),
    /// The run ended.
    Ended(Ended),
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Started {
    /// The run.
    pub run_id: String,
    /// The conversation so far and the new input, in order.
    pub messages: Vec<Arc<Message>>,
    /// The limits that hold for the run.
    pub limits: Limits,
    /// The tools whose calls the caller answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_tools: Vec<String>,
    /// The tools whose output is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direct_tools: Vec<String>,
}

/// One reply of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reply {
    /// The message.
    pub message: Arc<Message>,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Why the model stopped, in the provider's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degradations: Vec<Degradation>,
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The call.
    pub call_id: ToolCallId,
    /// Its result.
    pub result: ToolResult,
    /// How the result came about.
    pub disposition: Disposition,
}

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Disposition {
    /// The tool ran to its end, successfully or not.
    Executed,
    /// The tool was not run: unknown, or its arguments did not fit.
    Refused,
    /// The tool ran longer than allowed.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The caller answered.
    Submitted,
    /// The tool's effect was begun before a crash and nobody knows whether it happened. It was not run again.
    Unknown,
    /// The tool ended the run.
    Aborted,
    /// The run ended before there was a result.
    Cancelled,
}

/// A synthetic message as it was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SyntheticMessage {
    /// The tool results that it follows.
    pub anchor: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// What the model could take when it was made.
    pub fingerprint: u64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// What the model had said when it was interrupted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub interrupted_text: String,
    /// One line for people, where the reason alone does not say enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What was in the inbox and nobody read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Arc<Message>>,
}

impl Ended {
    /// An end for this reason, with nothing to add.
    pub(crate) fn new(reason: EndReason) -> Self {
        Self { reason, interrupted_text: String::new(), detail: None, unread: Vec::new() }
    }
}
