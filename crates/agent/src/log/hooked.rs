//! The entries of what hooks decided.

use std::sync::Arc;

use attache_core::{Message, ToolCallId, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The verdicts of a run's hooks at one point. A run that is resumed goes by them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Hooked {
    /// The input ends the run.
    Input(HookStop),
    /// The model may be asked for a step: these messages stand behind the conversation.
    Ask(Vec<Arc<Message>>),
    /// The model must not be asked.
    Tripped(String),
    /// The last reply is kept.
    Kept,
    /// The last reply is to be made again, for this reason.
    Retry(String),
    /// The last reply ends the run.
    Reply(HookStop),
    /// A call may be made.
    #[serde(rename_all = "camelCase")]
    Call {
        /// The call.
        call_id: ToolCallId,
        /// Its arguments, where they are changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// A result came from elsewhere, and the hooks have seen it.
    #[serde(rename_all = "camelCase")]
    Result {
        /// The call.
        call_id: ToolCallId,
        /// The result as the model reads it, where it is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<ToolResult>>,
    },
}

/// The way in which a hook ends a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum HookStop {
    /// With this text in the place of an answer.
    Block(String),
    /// For this reason, which is for people.
    Trip(String),
}
