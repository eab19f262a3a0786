//! Runs one call: time limit, panics, and what the model reads of a failure.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{Effect, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolResult, fresh};
use futures_util::FutureExt;
use tokio::time::Instant;

use crate::journal::Scope;
use crate::log::{Disposition, ToolOutcome};
use crate::pace::Pace;
use crate::run::UNKNOWN_OUTCOME;
use crate::tools::{Ready, Work};

/// One call on its way.
pub(crate) struct Invocation {
    pub(crate) entry: Ready,
    pub(crate) call: ToolCall,
    pub(crate) context: ToolContext,
    /// How long it may take, its own limit and the run's considered.
    pub(crate) limit: Duration,
    pub(crate) pace: Pace,
    /// Where the runs that the tool starts are recorded.
    pub(crate) scope: Option<Arc<Scope>>,
}

/// Runs the call. A failure of whatever kind is an observation for the model; dropping the future cancels it.
pub(crate) async fn invoke(invocation: Invocation) -> ToolOutcome {
    let Invocation { entry, call, mut context, limit, pace, scope } = invocation;
    context.deadline = Some((Instant::now() + limit).into_std());
    let has_effect = entry.spec.metadata.effect != Effect::Read;
    let begun = |text: String| if has_effect { format!("{text}; {UNKNOWN_OUTCOME}") } else { text };
    let work = AssertUnwindSafe(run(entry, call.clone(), context, scope)).catch_unwind();
    let (result, disposition) = match pace.within(limit, work).await {
        Some(Ok(Ok(output))) => {
            let mut result = ToolResult::new(&call, output.status, output.tree);
            result.documents = output.documents;
            result.withheld = output.withheld;
            (result, Disposition::Executed)
        }
        Some(Ok(Err(error))) => failed(&call, error, has_effect),
        Some(Err(panic)) => {
            tracing::error!(tool = call.name, panic = panic_text(&*panic), "a tool panicked");
            let text = begun("the tool failed unexpectedly".to_owned());
            (ToolResult::error(&call, &text), Disposition::Panicked)
        }
        None => {
            let text = begun(format!("timed out after {} s", limit.as_secs_f64()));
            (ToolResult::error(&call, &text), Disposition::TimedOut)
        }
    };
    ToolOutcome { call_id: call.id, result, disposition }
}

fn failed(call: &ToolCall, mut error: ToolError, has_effect: bool) -> (ToolResult, Disposition) {
    if let Some(source) = error.source() {
        tracing::warn!(tool = call.name, kind = ?error.kind(), error = %source, "a tool failed");
    }
    let disposition = match error.kind() {
        ToolErrorKind::Abort => Disposition::Aborted,
        ToolErrorKind::InvalidArguments | ToolErrorKind::MissingContext => Disposition::Refused,
        ToolErrorKind::UnknownTool => Disposition::NoSuchTool,
        ToolErrorKind::Retry => Disposition::Retry,
        ToolErrorKind::Timeout => Disposition::TimedOut,
        ToolErrorKind::Panicked => Disposition::Panicked,
        _ => Disposition::Executed,
    };
    if has_effect && matches!(disposition, Disposition::TimedOut | Disposition::Panicked) {
        error = error.with_remark(UNKNOWN_OUTCOME);
    }
    (ToolResult::failed(call, &error), disposition)
}

async fn run(
    entry: Ready,
    call: ToolCall,
    context: ToolContext,
    scope: Option<Arc<Scope>>,
) -> Result<ToolOutput, ToolError> {
    match entry.work {
        Work::Tool(tool, arguments) if entry.spec.metadata.blocking => {
            let runtime = tokio::runtime::Handle::current();
            let fresh = fresh::Source::current();
            let work = move || {
                let _entered = fresh.enter();
                runtime.block_on(Scope::around(scope, tool.run(arguments, context)))
            };
            match tokio::task::spawn_blocking(work).await {
                Ok(result) => result,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => Err(ToolError::new("the tool was stopped").with_source(error)),
            }
        }
        Work::Tool(tool, arguments) => {
            Scope::around(scope, async { tool.run(arguments, context).await }).await
        }
        Work::Family(family) => {
            let work = async { family.call(&call.name, &call.arguments, context).await };
            Scope::around(scope, work).await
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("")
}
