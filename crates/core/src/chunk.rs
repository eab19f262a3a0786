//! The stream of a model call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::citation::Citation;
use crate::id::{ProviderCallId, ToolCallId};
use crate::message::AssistantMessage;
use crate::response::ResponseInfo;
use crate::structured::StructuredError;
use crate::usage::{ModelUsage, Usage};

/// One piece of a reply while it is generated. Streamed and complete responses yield the same kinds of chunks: any
/// number of deltas, then exactly one [`Done`](Self::Done).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamChunk {
    /// A piece of answer text, never empty.
    Content(String),
    /// A piece of readable reasoning, never empty.
    Thinking(String),
    /// A piece of a tool call. The tool's name is sent once, as soon as it is known; `id` is always present, so that
    /// pieces of parallel calls can be distinguished.
    ToolCallDelta {
        /// The position of the call in order of first appearance, from 0.
        slot: usize,
        /// Our id of the call.
        id: ToolCallId,
        /// The provider's id, once it is known.
        provider_id: Option<ProviderCallId>,
        /// The tool's wire name, sent once.
        name: Option<String>,
        /// The next piece of the arguments, possibly empty.
        arguments_delta: String,
    },
    /// A citation by the provider, which follows the text that is based on the source. Providers that send their
    /// citations only at the end have them in the message, without this chunk.
    Citation(Box<Citation>),
    /// The end: the whole message and its finish reason.
    Done(Box<Completion>),
}

/// A finished reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// The whole message, with its parts in the provider's order.
    pub message: AssistantMessage,
    /// The reason why the model stopped.
    pub finish_reason: FinishReason,
    /// The finish reason as sent by the provider; `None` if it sent none.
    pub raw_finish_reason: Option<String>,
    /// The token usage, including that of earlier attempts that failed.
    pub usage: Usage,
    /// The part of `usage` of the attempt that answered, if earlier attempts are included; it tells the length of the
    /// conversation. `None` if all of `usage` is that attempt's.
    pub answered: Option<Box<Usage>>,
    /// The parts of `usage`, by model, if models other than the one that was asked used tokens, as after a fallback.
    /// Empty if all of `usage` is that of the model that was asked.
    pub usage_by_model: Vec<ModelUsage>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// The provider's id of the response.
    pub response_id: Option<String>,
    /// Options that the provider does not support and that the caller allowed to be left out.
    pub degradations: Vec<Degradation>,
    /// The answer as a value of the requested schema, or the reason why it is not one. `None` if no schema was
    /// requested, and for a reply that calls tools, refuses or is empty.
    pub structured: Option<Result<Value, StructuredError>>,
    /// The head of the provider's response: request id, rate limits, headers. `None` if no HTTP request was made.
    pub response: Option<Box<ResponseInfo>>,
}

impl Completion {
    /// Creates a finished reply; set the remaining fields by assignment.
    pub fn new(message: AssistantMessage, finish_reason: FinishReason, usage: Usage) -> Self {
        Self {
            message,
            finish_reason,
            raw_finish_reason: None,
            usage,
            answered: None,
            usage_by_model: Vec::new(),
            model: None,
            response_id: None,
            degradations: Vec::new(),
            structured: None,
            response: None,
        }
    }

    /// Adds the tokens of attempts that failed before this one answered. Counts that nobody reported add nothing.
    /// [`usage_by_model`](Self::usage_by_model) stays as it is: set it if models other than the one that was asked used
    /// some of these tokens.
    pub fn add_earlier(&mut self, earlier: &Usage) {
        if *earlier != Usage::default() {
            self.answered.get_or_insert_with(|| Box::new(self.usage.clone()));
            self.usage.add(earlier);
        }
    }
}

/// The reason why the model stopped. It does not decide if tools run; the calls in the message do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model finished, or reached a stop sequence.
    Stop,
    /// The output limit or the context window was reached. A call that was cut off by it is never executed.
    Length,
    /// The model expects the results of its tool calls.
    ToolCalls,
    /// The provider cut off or withheld the reply.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The provider paused its own work and expects the turn to be sent back to continue.
    Pause,
    /// The provider failed during generation and reported it as a finish reason.
    Error,
    /// An unknown reason, as sent by the provider.
    Other(String),
}

impl FinishReason {
    /// The name in JSON and logs.
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

    /// The reason to report for a message with or without calls: with calls, `Stop` and unknown reasons mean
    /// [`ToolCalls`](Self::ToolCalls); without calls, `ToolCalls` means [`Stop`](Self::Stop).
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

/// An option that was left out or changed because the provider or model does not support it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Degradation {
    /// The option, as [`ModelSettings`](crate::ModelSettings) names it.
    pub option: String,
    /// The change and the reason for it.
    pub note: String,
}

impl Degradation {
    /// Creates a recorded degradation.
    pub fn new(option: impl Into<String>, note: impl Into<String>) -> Self {
        Self { option: option.into(), note: note.into() }
    }
}
