//! The policy that says which calls need an approval.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use attache_core::tool::ToolSpec;
use attache_core::{Approval, BoxFuture, ToolCall};
use futures_util::FutureExt;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::tools::{Ready, Work};

/// The time that a policy may take for one call.
const JUDGING: Duration = Duration::from_secs(10);
/// The time that somebody has to decide, unless the policy says otherwise.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Says of each call whether it runs, before it does. Closures are policies.
///
/// It is asked once the arguments fit the tool's schema, and again right before a call runs that somebody approved. A
/// policy that panics or takes longer than 10 s denies the call. Calls of tools with [`Approval::Always`] are not run
/// without a person's word, whatever it says.
///
/// ```
/// use attache_agent::{Agent, Ask, Proposal, Verdict};
/// # fn example(model: attache_core::ModelHandle) -> Result<(), attache_agent::BuildError> {
/// let agent = Agent::builder(model)
///     .approval_policy(|proposal: &Proposal<'_>| match proposal.arguments.get("amount").and_then(|n| n.as_f64()) {
///         Some(amount) if amount > 10_000.0 => Verdict::Deny("nobody pays as much".to_owned()),
///         Some(amount) if amount > 100.0 => Verdict::Ask(Ask::because("it is a large amount")),
///         _ => Verdict::Run,
///     })
///     .build()?;
/// # Ok(()) }
/// ```
pub trait ApprovalPolicy: Send + Sync {
    /// Judges a call.
    fn judge<'a>(&'a self, proposal: &'a Proposal<'a>) -> BoxFuture<'a, Verdict>;
}

impl<F: Fn(&Proposal<'_>) -> Verdict + Send + Sync> ApprovalPolicy for F {
    fn judge<'a>(&'a self, proposal: &'a Proposal<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(self(proposal)))
    }
}

/// A call that a policy judges, also one that the caller answers: it is not announced before.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Proposal<'a> {
    /// The tool, with its effect.
    pub tool: &'a ToolSpec,
    /// The call.
    pub call: &'a ToolCall,
    /// Its arguments as the tool takes them.
    pub arguments: &'a Map<String, Value>,
    /// The run.
    pub run_id: &'a str,
    /// On whose behalf the run works.
    pub principal: Option<&'a str>,
    /// The person or program that approved the call, if somebody did already.
    pub approved_by: Option<&'a str>,
    /// True if the caller of the run answers the call, as clients of a server do: nothing of the agent works on it.
    pub by_caller: bool,
}

/// The verdict on a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It runs.
    Run,
    /// It does not run. The model reads the text.
    Deny(String),
    /// Somebody decides.
    Ask(Ask),
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ask {
    /// The reason for the question.
    pub reason: Option<String>,
    /// The time in which to decide and to run the call. 24 hours by default.
    pub lifetime: Duration,
    /// True if leave that was given before does not count; see [`Grant`](crate::Grant).
    pub each_time: bool,
}

impl Default for Ask {
    fn default() -> Self {
        Self { reason: None, lifetime: LIFETIME, each_time: false }
    }
}

impl Ask {
    /// A question with its reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    /// Sets the time in which to decide and to run the call.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Says that leave which was given before does not count.
    #[must_use]
    pub fn with_each_time(mut self, each_time: bool) -> Self {
        self.each_time = each_time;
        self
    }
}

/// The verdict on a call that is ready to run: the stricter one of its tool and the policy.
pub(crate) async fn judged(
    policy: Option<&dyn ApprovalPolicy>,
    call: &ToolCall,
    ready: &Ready,
    run_id: &str,
    principal: Option<&str>,
    approved_by: Option<&str>,
) -> Verdict {
    let asks = ready.spec.metadata.approval != Approval::Never;
    let Some(policy) = policy else {
        return if asks { Verdict::Ask(Ask::default()) } else { Verdict::Run };
    };
    let written: Map<String, Value>;
    let arguments = match &ready.work {
        Work::Tool(_, arguments) => arguments,
        Work::Family(_) | Work::External => {
            written = call.arguments.object().unwrap_or_default();
            &written
        }
    };
    let by_caller = matches!(ready.work, Work::External);
    let proposal = Proposal { tool: &ready.spec, call, arguments, run_id, principal, approved_by, by_caller };
    let judging = AssertUnwindSafe(async { policy.judge(&proposal).await }).catch_unwind();
    match timeout(JUDGING, judging).await {
        Ok(Ok(Verdict::Run)) if asks => Verdict::Ask(Ask::default()),
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) | Err(_) => {
            tracing::error!(tool = call.name, "the approval policy did not answer, so a call is denied");
            Verdict::Deny("nobody could say whether it may run".to_owned())
        }
    }
}
