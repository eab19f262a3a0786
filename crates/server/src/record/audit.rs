//! The audit log: decisions about calls, and the calls themselves.

use std::sync::Arc;
use std::time::SystemTime;

use attache_core::hash::hex;
use sha2::{Digest as _, Sha256};

/// An entry of the audit log: [`Server::audit`](crate::Server::audit). The same is told to `tracing`, with the target
/// `attache::audit`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditEntry {
    /// The time.
    pub at: SystemTime,
    /// The `X-Request-Id` of the request that decided, or that began the run or went on with it.
    pub request: Option<Arc<str>>,
    /// The principal whose run it is.
    pub principal: Arc<str>,
    /// The name of the agent.
    pub agent: Arc<str>,
    /// The session of the run.
    pub session: Option<String>,
    /// The run.
    pub run: String,
    /// The thing that happened.
    pub what: Audited,
}

/// A thing that the audit log tells. Arguments are there if the [server says so](crate::Server::audit_content); their
/// SHA-256, in hexadecimal digits, always is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Audited {
    /// A call waits until somebody approves it.
    ApprovalRequested {
        /// The approval.
        approval: String,
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The SHA-256 of the arguments as the model wrote them.
        sha256: String,
        /// The arguments.
        arguments: Option<String>,
    },
    /// Somebody decided about a call, or nobody did before the time was up.
    ApprovalDecided {
        /// The approval.
        approval: String,
        /// The one who decided.
        by: Option<String>,
        /// `approve`, `always`, `deny`, `edit`, or `none`.
        decision: &'static str,
        /// The SHA-256 of the arguments in the place of the model's, as compact JSON.
        sha256: Option<String>,
        /// The arguments in the place of the model's.
        arguments: Option<String>,
    },
    /// A tool begins to work on a call.
    CallBegun {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The SHA-256 of the arguments as the model wrote them.
        sha256: String,
        /// The arguments.
        arguments: Option<String>,
    },
    /// A call has its result, whether a tool worked on it or not.
    CallEnded {
        /// The call.
        call_id: String,
        /// The tool, if it is known.
        tool: Option<String>,
        /// `ok`, `error`, `refused`, `retry`, `denied`, `timed_out`, `panicked`, `submitted` (by the client), `unknown`,
        /// `cancelled` or `other`.
        outcome: &'static str,
    },
}

pub(crate) type Hook = Arc<dyn Fn(&AuditEntry) + Send + Sync>;

/// The ways to tell of it.
#[derive(Clone, Default)]
pub(crate) struct Audit {
    pub(crate) hook: Option<Hook>,
    pub(crate) content: bool,
}

impl Audit {
    pub(super) fn has_content(&self) -> bool {
        self.content
    }

    pub(super) fn tell(&self, entry: &AuditEntry) {
        let AuditEntry { request, principal, agent, session, run, what, .. } = entry;
        let (request, session) = (request.as_deref(), session.as_deref());
        /// An entry with its own fields behind those that all have.
        macro_rules! told {
            ($($field:tt)*) => {
                tracing::info!(
                    target: "attache::audit", request, principal = &**principal, agent = &**agent, session, run, $($field)*
                )
            };
        }
        match what {
            Audited::ApprovalRequested { approval, call_id, tool, sha256, arguments } => {
                told!(approval, call_id, tool, sha256, arguments, "an approval is asked for");
            }
            Audited::ApprovalDecided { approval, by, decision, sha256, arguments } => {
                told!(approval, by, decision, sha256, arguments, "an approval is decided");
            }
            Audited::CallBegun { call_id, tool, sha256, arguments } => {
                told!(call_id, tool, sha256, arguments, "a call begins");
            }
            Audited::CallEnded { call_id, tool, outcome } => {
                told!(call_id, tool, outcome, "a call ended");
            }
        }
        if let Some(hook) = &self.hook {
            hook(entry);
        }
    }
}

pub(super) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
