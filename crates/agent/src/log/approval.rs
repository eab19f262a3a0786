//! The entries about calls that somebody must approve.

use attache_core::{ToolCall, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::nested_agent::NestedAgent;

/// A call waits for the decision of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Asked {
    /// The approval: a random id, which nobody can guess.
    pub id: String,
    /// The call.
    pub call_id: ToolCallId,
    /// The digest of its arguments.
    pub arguments: String,
    /// The digest of its tool.
    pub tool: String,
    /// On whose behalf the run works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The reason for the question, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time after which the call is not run any more, in milliseconds since 1970.
    pub expires_at: u64,
}

/// An approval is settled. There is one such entry for each, whoever writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Decided {
    /// The approval.
    pub id: String,
    /// The decision; `None` if there was none before the time was up or the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The person or program that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Decision {
    /// The call runs.
    Approve,
    /// The call runs, and so do later calls of the same tool in the run; see [`Grant`].
    ApproveAlways,
    /// The call does not run. The model reads the text.
    Deny(String),
    /// The call runs with these arguments, an object. The model is told so. If they do not fit, somebody is asked again.
    Edit(Value),
}

/// Leave to call a tool without asking, given by [`Decision::ApproveAlways`]. It holds for the run, and for later runs
/// of the conversation that are given it: see [`RunInput::with_grants`](crate::RunInput::with_grants). It stands in no
/// message, so that a history cannot forge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Grant {
    /// The tool's name.
    pub tool: String,
    /// The digest of the tool: another one of that name is not meant.
    pub digest: String,
    /// The principal of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The person or program that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A call that waits for a decision, for whoever decides.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The approval, to decide by.
    pub id: String,
    /// The call, with the arguments as the model wrote them.
    pub call: ToolCall,
    /// On whose behalf the run works.
    pub principal: Option<String>,
    /// The reason for the question, for people.
    pub reason: Option<String>,
    /// The time after which the call is not run any more, in milliseconds since 1970.
    pub expires_at: u64,
    /// The agents on the way to it from the run that tells it, the outermost first; empty for a call of that run itself.
    pub path: Vec<NestedAgent>,
}
