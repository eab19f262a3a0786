//! Runs one call: time limit, panics, and what the model reads of a failure.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use attache_core::tool::{Deferred, ToolSpec};
use attache_core::{
    BoxFuture, Effect, Tool, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolResult, fresh,
};
use futures_util::FutureExt;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::journal::Scope;
use crate::log::{Disposition, ToolOutcome};
use crate::observe::WatchedTool;
use crate::run::UNKNOWN_OUTCOME;
use crate::tool_time::Pace;
use crate::tools::layers::is_ours;
use crate::tools::listing::{CHANGED, GONE, is_same};
use crate::tools::{Door, Handling, Ready, Work};

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
    pub(crate) watched: Option<Arc<WatchedTool>>,
    pub(crate) handling: Arc<Handling>,
}

/// Runs the call, once. A failure of whatever kind is an observation for the model; dropping the future cancels it.
///
/// The invocation is borrowed: each future around one that is moved would have room for it of its own.
///
/// # Errors
/// There is no result yet: it comes later.
pub(crate) async fn invoke(invocation: &mut Invocation) -> Result<ToolOutcome, Box<Deferred>> {
    let Invocation { entry: Ready { spec, work }, call, context, limit, pace, scope, watched, handling } =
        invocation;
    let (spec, call, limit, scope) = (&*spec, &*call, *limit, &*scope);
    let mut context = mem::take(context);
    context.deadline = Some((Instant::now() + limit).into_std());
    let work = pin!(
        AssertUnwindSafe(async { begin(spec, work, call, context, scope.clone(), watched.take()).await })
            .catch_unwind()
    );
    let came = match pace.within(limit, scope.as_ref().and_then(|scope| scope.time_limit()), work).await {
        // It is no outcome, and passes by whoever changes outcomes.
        Some(Ok(Ok(ToolOutput { deferred: Some(deferred), .. }))) => return Err(deferred),
        Some(Ok(came)) => came,
        Some(Err(panic)) => Err(panicked(call, &*panic)),
        None => {
            let text = format!("timed out after {} s", limit.as_secs_f64());
            Err(ToolError::new(text).with_kind(ToolErrorKind::Timeout))
        }
    };
    // Where a run inside waits, broke off or was taken over, there is no outcome yet, and no failure.
    let is_result = scope.as_ref().is_none_or(|scope| scope.has_result());
    // The driver reads in their results which tools were shown.
    let came = match handling.outcome.as_ref().filter(|_| is_result && !is_ours(spec)) {
        None => came,
        Some(hook) => catch_unwind(AssertUnwindSafe(|| hook(spec, came)))
            .unwrap_or_else(|panic| Err(panicked(call, &*panic))),
    };
    let (result, disposition) = match came {
        Ok(output) => {
            let mut result = ToolResult::new(call, output.status, output.tree);
            result.documents = output.documents;
            result.withheld = output.withheld;
            (result, Disposition::Executed)
        }
        Err(error) => failed(call, error, spec.metadata.effect != Effect::Read, is_result && handling.aborts),
    };
    Ok(ToolOutcome { call_id: call.id.clone(), result, disposition })
}

fn panicked(call: &ToolCall, panic: &(dyn Any + Send)) -> ToolError {
    tracing::error!(tool = call.name, panic = panic_text(panic), "a tool panicked");
    ToolError::new("the tool failed unexpectedly").with_kind(ToolErrorKind::Panicked)
}

fn failed(
    call: &ToolCall,
    mut error: ToolError,
    has_effect: bool,
    aborts: bool,
) -> (ToolResult, Disposition) {
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
    // An error that the model can mend does not end a run.
    let is_final = !matches!(error.kind(), ToolErrorKind::Retry) && disposition != Disposition::Refused;
    let disposition = if aborts && is_final { Disposition::Aborted } else { disposition };
    (ToolResult::failed(call, &error), disposition)
}

/// The tool's own future. The usual tool has boxed it already; only the rest is boxed here.
fn begin<'a>(
    spec: &'a ToolSpec,
    work: &'a mut Work,
    call: &'a ToolCall,
    context: ToolContext,
    scope: Option<Arc<Scope>>,
    watched: Option<Arc<WatchedTool>>,
) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
    let is_blocking = spec.metadata.blocking;
    match work {
        Work::Tool(tool, arguments) => {
            let arguments = mem::take(arguments);
            if !is_blocking && scope.is_none() && watched.is_none() {
                return tool.run(arguments, context);
            }
            Box::pin(run_tool(Arc::clone(tool), arguments, is_blocking, context, scope, watched))
        }
        Work::External => Box::pin(std::future::ready(Err(ToolError::new("the caller answers this tool")))),
        Work::Family(Door::Handler(family)) if is_blocking => {
            let (family, call) = (Arc::clone(family), call.clone());
            let work = async move { family.call(&call.name, &call.arguments, context).await };
            Box::pin(off_the_workers(work, scope, watched))
        }
        Work::Family(Door::Handler(family)) => {
            let work = async move {
                let begin = || family.call(&call.name, &call.arguments, context);
                WatchedTool::around(watched.as_ref(), begin).await
            };
            Box::pin(Scope::around(scope, work))
        }
        Work::Family(Door::Catalog(catalog)) => Box::pin(async move {
            // The catalog decides at each call which tool that is.
            let tool = catalog.get(&call.name).await?.filter(|tool| tool.spec().metadata.enabled);
            let Some(tool) = tool else {
                return Err(ToolError::new(GONE).with_kind(ToolErrorKind::UnknownTool));
            };
            // The call was approved and logged for the tool that was listed.
            if !is_same(spec, tool.spec(), catalog.name()) {
                return Err(ToolError::new(CHANGED).with_kind(ToolErrorKind::UnknownTool));
            }
            let is_blocking = is_blocking || tool.spec().metadata.blocking;
            let arguments = tool.arguments(&call.arguments)?;
            run_tool(tool, arguments, is_blocking, context, scope, watched).await
        }),
    }
}

async fn run_tool(
    tool: Arc<dyn Tool>,
    arguments: Map<String, Value>,
    is_blocking: bool,
    context: ToolContext,
    scope: Option<Arc<Scope>>,
    watched: Option<Arc<WatchedTool>>,
) -> Result<ToolOutput, ToolError> {
    if is_blocking {
        return off_the_workers(async move { tool.run(arguments, context).await }, scope, watched).await;
    }
    let work = async { WatchedTool::around(watched.as_ref(), || tool.run(arguments, context)).await };
    Scope::around(scope, work).await
}

/// Does work that blocks on a thread of its own.
async fn off_the_workers(
    work: impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    scope: Option<Arc<Scope>>,
    watched: Option<Arc<WatchedTool>>,
) -> Result<ToolOutput, ToolError> {
    let runtime = tokio::runtime::Handle::current();
    let fresh = fresh::Source::current();
    let work = move || {
        let _entered = fresh.enter();
        let work = WatchedTool::around(watched.as_ref(), || Box::pin(work));
        runtime.block_on(Scope::around(scope, work))
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(ToolError::new("the tool was stopped").with_source(error)),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("")
}
