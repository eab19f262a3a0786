//! The stream that comes out of a model call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::citation::Citation;
use crate::id::{ProviderCallId, ToolCallId};
use crate::message::AssistantMessage;
use crate::response::ResponseInfo;
use crate::structured::StructuredError;
use crate::usage::Usage;

/// One piece of a reply while it is made. The chunks are the same for a streamed and a whole answer: any
/// number of deltas, then exactly one [`Done`](Self::Done).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamChunk {
    /// A piece of answer text, never empty.
    Content(String),
    /// A piece of readable reasoning, never empty.
    Thinking(String),
    /// A piece of a tool call. The first of a call has its name as soon as the provider sent it; `id` is always
    /// there, so that pieces of parallel calls can be told apart.
    ToolCallDelta {
        /// The call's place in the order of first appearance, from 0.
        slot: usize,
        /// Our id of the call.
        id: ToolCallId,
        /// The provider's id, once it is known.
        provider_id: Option<ProviderCallId>,
        /// The tool's wire name, once.
        name: Option<String>,
        /// The next piece of the arguments, possibly empty.
        arguments_delta: String,
    },
    /// The provider cites a source: it comes behind the text that rests on it. Providers that tell their citations with
    /// the end alone have them in the message, and nothing comes here.
    Citation(Box<Citation>),
    /// The end: the whole message and how it ended.
    Done(Box<Completion>),
}

/// A finished reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// The whole message, parts in the provider's order.
    pub message: AssistantMessage,
    /// Why the model stopped, in our words.
    pub finish_reason: FinishReason,
    /// Why the model stopped, in the provider's word; `None` if it sent none.
    pub raw_finish_reason: Option<String>,
    /// The tokens that it cost.
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// The provider's id of the response.
    pub response_id: Option<String>,
    /// Options that the provider could not honour and the caller allowed to be left out.
    pub degradations: Vec<Degradation>,
    /// The answer as a value of the schema that was asked for, or why it is none. `None` if no schema was asked for,
    /// and for a reply that calls tools, refuses or says nothing.
    pub structured: Option<Result<Value, StructuredError>>,
    /// The head of the provider's answer: the request's id, rate limits, headers. `None` where no provider was asked over
    /// HTTP.
    pub response: Option<Box<ResponseInfo>>,
}

impl Completion {
    /// A finished reply; the remaining fields are set by assignment.
    pub fn new(message: AssistantMessage, finish_reason: FinishReason, usage: Usage) -> Self {
        Self {
            message,
            finish_reason,
            raw_finish_reason: None,
            usage,
            model: None,
            response_id: None,
            degradations: Vec::new(),
            structured: None,
            response: None,
        }
    }
}

/// The reason for which the model stopped. The calls in the message decide whether tools run, not this.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum FinishReason {
    /// It was done, or met a stop sequence.
    Stop,
    /// The output limit or the context window was reached. A call it ends in is never executed.
    Length,
    /// It wants results of its tool calls.
    ToolCalls,
    /// The provider cut or withheld the reply.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// The provider paused its own work and wants the turn sent back to go on.
    Pause,
    /// The provider failed while generating, and said so as a finish reason.
    Error,
    /// A reason that this version does not know, in the provider's word.
    Other(String),
}

impl FinishReason {
    /// The word in JSON and logs.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Pause => "pause",
            Self::Error => "error",
            Self::Other(word) => word,
        }
    }

    /// The reason to report for a message that does or does not hold calls: with calls, `Stop` and unknown reasons
    /// mean [`ToolCalls`](Self::ToolCalls); without calls, `ToolCalls` means [`Stop`](Self::Stop).
    #[must_use]
    pub fn for_message(self, has_tool_calls: bool) -> Self {
        match self {
            Self::Stop | Self::Other(_) if has_tool_calls => Self::ToolCalls,
            Self::ToolCalls if !has_tool_calls => Self::Stop,
            reason => reason,
        }
    }
}

impl From<String> for FinishReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            "refusal" => Self::Refusal,
            "pause" => Self::Pause,
            "error" => Self::Error,
            _ => Self::Other(word),
        }
    }
}

impl From<FinishReason> for String {
    fn from(reason: FinishReason) -> Self {
        reason.as_str().to_owned()
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An option that was left out or changed because the provider or model does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Degradation {
    /// The option, as [`ModelSettings`](crate::ModelSettings) names it.
    pub option: String,
    /// The change that was made instead, and why.
    pub note: String,
}

impl Degradation {
    /// A recorded degradation.
    pub fn new(option: impl Into<String>, note: impl Into<String>) -> Self {
        Self { option: option.into(), note: note.into() }
    }
}
