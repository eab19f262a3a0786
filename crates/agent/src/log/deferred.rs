//! The entry about a call whose result comes later.

use attache_core::{ToolCall, ToolCallId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::nested_agent::NestedAgent;

/// A tool returned no result: it comes later, from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct DeferredCall {
    /// The call.
    pub call_id: ToolCallId,
    /// The worker's own id for the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The question, if a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The JSON Schema that the result must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The time after which no result is taken, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// A call whose result comes later, for whoever delivers it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeferredRequest {
    /// The call.
    pub call: ToolCall,
    /// Its handle, question, schema and time.
    pub deferred: DeferredCall,
    /// The agents on the way to it from the run that tells it, the outermost first; empty for a call of that run itself.
    pub path: Vec<NestedAgent>,
}
