//! The reasons why an agent gives no answer.

use attache_core::{ErrorKind, ProviderError, ToolError};

use crate::config::Config;

/// Longer texts of errors are cut.
const LONGEST_ERROR: usize = 2_000;

/// The code for a task that is not known.
pub(crate) const UNKNOWN_TASK: i64 = -32001;

/// The reason why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The agent answers with an error of the protocol.
    Refused {
        code: i64,
        message: String,
    },
    /// An error status without such an error.
    Status {
        status: u16,
        message: String,
    },
    /// The network, or the way to it.
    Unreached(ProviderError),
    /// The answer broke off.
    Cut(ProviderError),
    Late,
    /// The answer is none.
    Malformed(&'static str),
    TooLarge,
    /// It is not asked at all.
    Forbidden(&'static str),
}

impl Failure {
    /// True if the agent may not be where its card says, or not speak as it says, any more.
    pub(crate) fn doubts_card(&self) -> bool {
        match self {
            Self::Refused { code: -32601 | -32009, .. } | Self::Status { status: 404 | 405 | 410, .. } => {
                true
            }
            Self::Unreached(error) => error.kind() != ErrorKind::Timeout,
            _ => false,
        }
    }

    /// True if there is an answer, of which nothing is to be made.
    pub(crate) fn is_nonsense(&self) -> bool {
        matches!(self, Self::Malformed(_) | Self::TooLarge)
    }

    /// True if a task is not known, or not any more.
    pub(crate) fn is_unknown_task(&self) -> bool {
        matches!(self, Self::Refused { code: UNKNOWN_TASK, .. } | Self::Status { status: 404, .. })
    }

    /// The error that the model reads. `begun` says that the agent may have begun to work.
    pub(crate) fn told(self, config: &Config, begun: bool) -> ToolError {
        let unknown = if begun { "; it is not known if it works on it" } else { "" };
        let said = |message: &str| match config.told(message, LONGEST_ERROR) {
            said if said.trim().is_empty() => String::new(),
            said => format!(": {said}"),
        };
        match self {
            Self::Refused { code, message } => {
                config.failed(&format!("answers with error {code}{}", said(&message)))
            }
            Self::Status { status: 401 | 403, .. } => {
                config.unavailable("asks for credentials, or refuses them")
            }
            Self::Status { status, message } => {
                let text = format!("answers with status {status}{}", said(&message));
                match status {
                    408 | 500..=599 => config.unavailable(&format!("{text}{unknown}")),
                    429 => config.unavailable(&text),
                    _ => config.failed(&text),
                }
            }
            Self::Unreached(error) if error.kind() == ErrorKind::Timeout => {
                config.late(&format!("did not answer in time{unknown}")).with_source(error)
            }
            Self::Unreached(error) if error.kind() == ErrorKind::Permission => {
                config.failed("is at an address that is not public").with_source(error)
            }
            Self::Unreached(error) => {
                config.unavailable(&format!("cannot be reached{unknown}")).with_source(error)
            }
            Self::Cut(error) => {
                config.unavailable(&format!("broke off its answer{unknown}")).with_source(error)
            }
            Self::Late => config.late(&format!("did not answer in time{unknown}")),
            Self::Malformed(why) => config.failed(&format!("answers with {why}")),
            Self::TooLarge => {
                let most = config.limits.message_bytes;
                config.failed(&format!("answers with more than the {most} bytes that are read"))
            }
            Self::Forbidden(why) => config.failed(&format!("is not asked: {why}")),
        }
    }
}
