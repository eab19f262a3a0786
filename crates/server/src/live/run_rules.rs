//! The rules by which the server goes on with a run, or ends it.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// The fate of a run that nobody looks at any more: its last viewer left before the end.
///
/// In a request it is `"cancel"`, `"detach"` or `{"graceSeconds": 30}`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OnDisconnect {
    /// It is cancelled at once: the request to the provider is hung up, tools are dropped.
    #[default]
    Cancel,
    /// It is cancelled unless somebody looks at it again within this time.
    #[serde(rename = "graceSeconds", deserialize_with = "seconds")]
    Grace(Duration),
    /// It goes on to its end.
    Detach,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u32::deserialize(deserializer).map(|seconds| Duration::from_secs(seconds.into()))
}

impl OnDisconnect {
    /// The time that a run goes on without viewers; `None` for ever.
    pub(super) fn patience(self) -> Option<Duration> {
        match self {
            Self::Cancel => Some(Duration::ZERO),
            Self::Grace(patience) => Some(patience),
            Self::Detach => None,
        }
    }
}

/// The rules of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) on_disconnect: OnDisconnect,
    /// The longest that it may take, as long as one task drives it.
    pub(crate) run_time: Option<Duration>,
    /// The treatment of calls that the client answers.
    pub(crate) client_calls: ClientCalls,
    /// True if somebody may look at it after its end.
    pub(crate) is_kept: bool,
    /// True if another process began it, which is gone.
    pub(crate) is_taken_over: bool,
}

/// The treatment of calls that the client answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientCalls {
    /// Once nothing else is under way, the run is let go: the next request brings the results.
    Pause,
    /// The run waits this long for each; then the model reads that nobody answered.
    Wait(Duration),
}
