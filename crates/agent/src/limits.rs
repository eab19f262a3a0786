//! The bounds of a run.

use serde::{Deserialize, Serialize};

use crate::price::Money;

/// Limits of a run. They are recorded when it starts and hold until it ends.
///
/// At each limit of the whole run the model is asked once more, with its tools off, so that its work comes to an answer;
/// a call that passes another limit is refused, and the model reads why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Model calls; at the last one tools are off. 20 by default.
    pub max_steps: u32,
    /// Tool calls, those that the caller answers included; once they are made, tools are off. 150 by default.
    pub max_tool_calls: u32,
    /// Calls of one tool that sets no number of its own; further ones are refused. 40 by default.
    #[serde(skip_serializing_if = "is_default_max_calls_per_tool")]
    pub max_calls_per_tool: u32,
    /// Calls of one reply; further ones are refused, and the model may make them in its next. 16 by default.
    #[serde(skip_serializing_if = "is_default_max_calls_per_reply")]
    pub max_calls_per_reply: u32,
    /// The maximum number of times in a row that the model may correct a call of one tool, where the arguments did not
    /// fit or the tool asked for another try. 2 by default.
    #[serde(skip_serializing_if = "is_default_max_tool_retries")]
    pub max_tool_retries: u32,
    /// True if the run goes on when a tool's retries are used up: the model is told to leave the tool alone. By default
    /// the run ends as [`EndReason::ToolRetriesExhausted`](crate::EndReason::ToolRetriesExhausted).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub go_on_without_tool: bool,
    /// Replies in a row that call nothing but tools that do not exist. 3 by default.
    #[serde(skip_serializing_if = "is_default_max_unknown_rounds")]
    pub max_unknown_rounds: u32,
    /// Agents inside agents inside this one. 3 by default.
    #[serde(skip_serializing_if = "is_default_max_depth")]
    pub max_depth: u32,
    /// Hand-offs from one agent to another; further ones are refused. 10 by default.
    #[serde(skip_serializing_if = "is_default_max_handoffs")]
    pub max_handoffs: u32,
    /// Tokens read and written in all steps, those of agents inside included; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Tokens read; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// Tokens written; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The cost of all steps, those of agents inside included, by the agent's [`Prices`](crate::Prices); none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// The meaning of a reply with neither text nor calls.
    pub empty_reply: EmptyReply,
    /// The maximum number of characters of one result that the model reads; the middle of a longer one is left out with
    /// a marker. 50,000 by default. The log keeps all of it.
    pub max_result_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 20,
            max_tool_calls: 150,
            max_calls_per_tool: 40,
            max_calls_per_reply: 16,
            max_tool_retries: 2,
            go_on_without_tool: false,
            max_unknown_rounds: 3,
            max_depth: 3,
            max_handoffs: 10,
            max_tokens: None,
            max_input_tokens: None,
            max_output_tokens: None,
            max_cost: None,
            empty_reply: EmptyReply::Error,
            max_result_chars: 50_000,
        }
    }
}

impl Limits {
    /// True if what a model call spends is limited.
    pub(crate) fn limit_spending(&self) -> bool {
        self.limit_tokens() || self.max_cost.is_some()
    }

    /// True if tokens are limited.
    pub(crate) fn limit_tokens(&self) -> bool {
        self.max_tokens.or(self.max_input_tokens).or(self.max_output_tokens).is_some()
    }
}

// The entry of a run that leaves them as they are does not name them.
macro_rules! is_default {
    ($($name:ident = $field:ident;)*) => {
        $(fn $name(value: &u32) -> bool {
            *value == Limits::default().$field
        })*
    };
}

is_default! {
    is_default_max_calls_per_tool = max_calls_per_tool;
    is_default_max_calls_per_reply = max_calls_per_reply;
    is_default_max_tool_retries = max_tool_retries;
    is_default_max_unknown_rounds = max_unknown_rounds;
    is_default_max_depth = max_depth;
    is_default_max_handoffs = max_handoffs;
}

/// The meaning of a reply with neither text nor calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum EmptyReply {
    /// The run fails.
    #[default]
    Error,
    /// The model is asked again, this often.
    Nudge(u32),
    /// The run ends with an empty answer.
    Accept,
}
