//! The record of what the server does: numbers for whoever watches it, and an audit log.

mod audit;
mod metrics;
mod recorder;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use attache_agent::{Decided, Decision, Disposition, Event, EventKind, RunError};
use attache_core::{Arguments, ProviderError, ResultStatus, ToolCall, ToolResult, fresh};

pub(crate) use self::audit::Audit;
pub use self::audit::{AuditEntry, Audited};
use self::metrics::Count;
pub(crate) use self::metrics::{Gauges, Metrics};
pub(crate) use self::recorder::{Recorder, Slot};
use crate::causes::with_causes;

/// The maximum number of decisions that are remembered as taken down.
const MOST_DECIDED: usize = 1024;

/// The record of what the server does.
pub(crate) struct Record {
    pub(crate) metrics: Metrics,
    audit: Audit,
    /// The approvals of the newest decisions: of a run that another protocol drives, both the route at which somebody
    /// decided and the run tell of it.
    decided: Mutex<VecDeque<String>>,
}

/// The run that something happened in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Of<'a> {
    pub(crate) request: Option<&'a Arc<str>>,
    pub(crate) principal: &'a Arc<str>,
    pub(crate) agent: &'a Arc<str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) run: &'a str,
    /// True if another protocol drives it: its events alone tell who decided about a call.
    pub(crate) is_mounted: bool,
}

impl Record {
    pub(crate) fn new(audit: Audit) -> Self {
        Self { metrics: Metrics::default(), audit, decided: Mutex::default() }
    }

    /// Takes down an event of a run.
    pub(crate) fn event(&self, of: Of<'_>, event: &Event) {
        match &event.kind {
            EventKind::Finished(ended) => {
                if let Some(error) = ended.as_ref().err().and_then(RunError::provider_error) {
                    log_failure(of, error);
                }
                self.metrics.finished(of.run, ended);
            }
            EventKind::StepFinished { usage, .. } => self.metrics.tokens(usage),
            EventKind::ToolStarted { call } => self.call(of, call, |call_id, tool, sha256, arguments| {
                Audited::CallBegun { call_id, tool, sha256, arguments }
            }),
            EventKind::ToolFinished { result, disposition } => self.ended(of, result, *disposition),
            EventKind::ApprovalRequested(asked) => {
                self.call(of, &asked.call, |call_id, tool, sha256, arguments| Audited::ApprovalRequested {
                    approval: asked.id.clone(),
                    call_id,
                    tool,
                    sha256,
                    arguments,
                });
            }
            // The route at which somebody decides knows the request, too; here it is known that nobody did.
            EventKind::ApprovalDecided(decided) if of.is_mounted || decided.by.is_none() => {
                self.decided(of, decided);
            }
            EventKind::Nested { event, .. } if !matches!(event.kind, EventKind::Finished(_)) => {
                self.event(of, event);
            }
            _ => {}
        }
    }

    /// Takes down a decision about a call, once.
    pub(crate) fn decided(&self, of: Of<'_>, decided: &Decided) {
        {
            let mut known = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
            if known.contains(&decided.id) {
                return;
            }
            if known.len() == MOST_DECIDED {
                known.pop_front();
            }
            known.push_back(decided.id.clone());
        }
        let (decision, edited) = match &decided.decision {
            None => ("none", None),
            Some(Decision::Approve) => ("approve", None),
            Some(Decision::ApproveAlways) => ("always", None),
            Some(Decision::Deny(_)) => ("deny", None),
            Some(Decision::Edit(arguments)) => ("edit", Some(arguments.to_string())),
            Some(_) => ("other", None),
        };
        self.metrics.add(Count::Approvals, decision, 1);
        let what = Audited::ApprovalDecided {
            approval: decided.id.clone(),
            by: decided.by.clone(),
            decision,
            sha256: edited.as_deref().map(audit::digest),
            arguments: edited.filter(|_| self.audit.has_content()),
        };
        self.tell(of, what);
    }

    fn call(
        &self,
        of: Of<'_>,
        call: &ToolCall,
        what: impl FnOnce(String, String, String, Option<String>) -> Audited,
    ) {
        let shown = |arguments: &Arguments| arguments.raw().to_owned();
        let arguments = self.audit.has_content().then(|| shown(&call.arguments));
        let digest = audit::digest(call.arguments.raw());
        self.tell(of, what(call.id.to_string(), call.name.clone(), digest, arguments));
    }

    fn ended(&self, of: Of<'_>, result: &ToolResult, disposition: Disposition) {
        let outcome = match disposition {
            Disposition::Executed if result.status == ResultStatus::Ok => "ok",
            Disposition::Executed => "error",
            Disposition::Refused | Disposition::NoSuchTool => "refused",
            Disposition::Retry => "retry",
            Disposition::Denied => "denied",
            Disposition::TimedOut => "timed_out",
            Disposition::Panicked => "panicked",
            Disposition::Submitted => "submitted",
            Disposition::Unknown => "unknown",
            Disposition::Cancelled => "cancelled",
            _ => "other",
        };
        self.metrics.add(Count::ToolCalls, outcome, 1);
        let call_id = result.call_id.to_string();
        self.tell(of, Audited::CallEnded { call_id, tool: result.tool_name.clone(), outcome });
    }

    fn tell(&self, of: Of<'_>, what: Audited) {
        self.audit.tell(&AuditEntry {
            at: fresh::now(),
            request: of.request.cloned(),
            principal: Arc::clone(of.principal),
            agent: Arc::clone(of.agent),
            session: of.session.map(str::to_owned),
            run: of.run.to_owned(),
            what,
        });
    }
}

/// Tells whoever runs the server why a model failed: users are not told.
fn log_failure(of: Of<'_>, error: &ProviderError) {
    let Of { run, agent, .. } = of;
    let (kind, is_of_setup) = (error.kind().as_str(), error.kind().is_of_setup());
    let error = with_causes(error);
    match is_of_setup {
        true => tracing::error!(run, agent = &**agent, kind, error, "the model cannot be asked"),
        false => tracing::warn!(run, agent = &**agent, kind, error, "the model failed"),
    }
}
