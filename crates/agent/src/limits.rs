//! What bounds a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of a run. They are recorded when it starts and hold until it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Model calls; at the last one tools are off. 20 by default.
    pub max_steps: u32,
    /// Tool calls, those that the caller answers included; once they are made, tools are off. 150 by default.
    pub max_tool_calls: u32,
    /// Tokens read and written in all steps; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The meaning of a reply with neither text nor calls.
    pub empty_reply: EmptyReply,
    /// The most characters of one result that the model reads; the middle of a longer one is left out with a marker.
    /// 50,000 by default. The log keeps all of it.
    pub max_result_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 20,
            max_tool_calls: 150,
            max_tokens: None,
            empty_reply: EmptyReply::Error,
            max_result_chars: 50_000,
        }
    }
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

/// The treatment of a conversation that a run shall start from and that not every provider takes, such as one with a
/// call without its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryPolicy {
    /// It is mended as [`repair`](attache_core::repair) does, and the run tells what was done.
    #[default]
    Repair,
    /// The run fails.
    Refuse,
}

/// Times and widths of one process; unlike [`Limits`] they are no part of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    /// How long a tool may take that sets no timeout of its own. 60 s by default.
    pub(crate) tool_timeout: Duration,
    /// How many calls of one reply run at once. 8 by default.
    pub(crate) parallel_calls: usize,
    /// How long the whole run may take; unlimited by default.
    pub(crate) deadline: Option<Duration>,
    /// How long calls wait for results that the caller delivers; unlimited by default.
    pub(crate) answer_deadline: Option<Duration>,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            tool_timeout: Duration::from_secs(60),
            parallel_calls: 8,
            deadline: None,
            answer_deadline: None,
        }
    }
}
