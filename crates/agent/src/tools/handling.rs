//! The way in which an agent treats the calls of its tools: what comes of them, which a step may make, where
//! a name leads that is not offered.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::ToolSpec;
use attache_core::{Message, ToolCall, ToolChoice, ToolError, ToolErrorKind, ToolOutput, ToolResult};
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::tools::catalog::ToolCatalog;
use crate::tools::disclosure::Disclosure;
use crate::tools::{Executor, ToolEntry};

/// The time that a catalog may take to look up a name.
const LOOKUP: Duration = Duration::from_secs(10);

/// Changes what comes of calls.
pub(crate) type OutcomeHook =
    Arc<dyn Fn(&ToolSpec, Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> + Send + Sync>;

/// Changes the word to the model about calls that are not run.
pub(crate) type RefusalHook = Arc<dyn Fn(&Refusal<'_>) -> Option<ToolError> + Send + Sync>;

/// Says which tools a step may call.
pub(crate) type StepHook = Arc<dyn Fn(StepView<'_>) -> StepTools + Send + Sync>;

/// The way in which an agent treats the calls of its tools.
#[derive(Clone, Default)]
pub(crate) struct Handling {
    pub(crate) disclosure: Option<Disclosure>,
    pub(crate) outcome: Option<OutcomeHook>,
    pub(crate) refusal: Option<RefusalHook>,
    /// True if no call of a reply runs before somebody has decided about all that need it.
    pub(crate) hold_all: bool,
    /// True if a tool that fails ends the run.
    pub(crate) aborts: bool,
    pub(crate) step: Option<StepHook>,
    /// Where names lead that are not offered, in order.
    pub(crate) fallback: Vec<Arc<dyn ToolCatalog>>,
}

/// A call that is not run; see [`AgentBuilder::tool_refusal`](crate::AgentBuilder::tool_refusal).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refusal<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// Its tool, if there is one.
    pub tool: Option<&'a ToolSpec>,
    /// The kind of reason.
    pub reason: RefusalReason,
    /// The words that the model reads.
    pub text: &'a str,
}

/// The reason why a call is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalReason {
    /// Its arguments do not fit.
    Arguments,
    /// There is no tool of its name, or no longer the one that was offered.
    UnknownTool,
    /// A person, the policy for approvals or a hook said no, or nobody decided in time.
    Denied,
    /// The run, or the tool, is at a limit of calls.
    Limit,
    /// Tools, or this one, are off in this step.
    Off,
}

impl Handling {
    /// The tool that a name leads to which is not offered, by the first catalog that has one.
    pub(crate) async fn look_up(&self, name: &str) -> Option<ToolEntry> {
        for catalog in &self.fallback {
            let get = AssertUnwindSafe(async { catalog.get(name).await }).catch_unwind();
            match timeout(LOOKUP, get).await {
                Ok(Ok(Ok(Some(tool)))) if tool.spec().metadata.enabled => {
                    let spec = Arc::new(tool.spec().clone());
                    return Some(ToolEntry { spec, executor: Executor::Tool(tool) });
                }
                Ok(Ok(Ok(_))) => {}
                Ok(Ok(Err(error))) => tracing::warn!(catalog = catalog.name(), ?error, "a lookup failed"),
                Ok(Err(_)) => tracing::error!(catalog = catalog.name(), "a lookup panicked"),
                Err(_) => tracing::warn!(catalog = catalog.name(), "a lookup took too long"),
            }
        }
        None
    }

    /// The result of a call that is not run, and whether the run ends for it.
    pub(crate) fn refused(
        &self,
        call: &ToolCall,
        tool: Option<&ToolSpec>,
        reason: RefusalReason,
        result: ToolResult,
    ) -> (ToolResult, bool) {
        let Some(change) = &self.refusal else { return (result, false) };
        let text = result.tree.model_text();
        let refusal = Refusal { call, tool, reason, text: &text };
        let changed = catch_unwind(AssertUnwindSafe(|| change(&refusal)));
        match changed.inspect_err(|_| tracing::error!(tool = call.name, "the word about a refusal panicked"))
        {
            Ok(Some(error)) => (ToolResult::failed(call, &error), error.kind() == ToolErrorKind::Abort),
            Ok(None) | Err(_) => (result, false),
        }
    }
}

/// A step whose tools are to be decided; see [`AgentBuilder::step_tools`](crate::AgentBuilder::step_tools).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StepView<'a> {
    /// The step, from 1.
    pub number: u32,
    /// The conversation that the model is asked about.
    pub history: &'a [Arc<Message>],
}

/// The tools of one step; see [`AgentBuilder::step_tools`](crate::AgentBuilder::step_tools).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct StepTools {
    pub(crate) choice: ToolChoice,
    pub(crate) only: Option<Vec<String>>,
}

impl StepTools {
    /// All tools; the model decides.
    pub fn all() -> Self {
        Self::default()
    }

    /// Tools of these names alone. Calls of the others are not executed. Where the model's API takes a list of allowed
    /// tools, the others are sent all the same; elsewhere they are left out in this step, so that prompt caches miss.
    pub fn subset(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { only: Some(names.into_iter().map(Into::into).collect()), ..Self::default() }
    }

    /// Says whether and which tool the model must call.
    pub fn with_choice(mut self, choice: ToolChoice) -> Self {
        self.choice = choice;
        self
    }

    /// The reason why a call of that tool is not executed, if there is one.
    pub(crate) fn bars(&self, name: &str) -> Option<&'static str> {
        if self.choice == ToolChoice::None {
            Some(TOOLS_OFF)
        } else if self.only.as_ref().is_some_and(|only| !only.iter().any(|allowed| allowed == name)) {
            Some("not executed: this tool is not available in this step")
        } else {
            None
        }
    }
}

/// The words for a model that makes several calls although it was asked for one.
pub(crate) const ONE_CALL: &str =
    "not executed: one call at a time; make it again by itself if it is still needed";

/// The words for a model that calls a tool although tools are off.
pub(crate) const TOOLS_OFF: &str = "not executed: tool use is off in this step";
