//! Runs one call: time limit, panics, and what the model reads of a failure.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use attache_core::{
    ContentTree, Effect, ResultStatus, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolOutput,
    ToolResult, ToolResultsMessage,
};
use futures_util::FutureExt;
use tokio::time::timeout;

use crate::entry::{Disposition, ToolOutcome};
use crate::tools::{Ready, Work};

/// One call on its way.
pub(crate) struct Invocation {
    pub(crate) entry: Ready,
    pub(crate) call: ToolCall,
    pub(crate) context: ToolContext,
    pub(crate) default_timeout: Duration,
}

/// Runs the call. A failure of whatever kind is an observation for the model; dropping the future cancels it.
pub(crate) async fn invoke(invocation: Invocation) -> ToolOutcome {
    let Invocation { entry, call, mut context, default_timeout } = invocation;
    let limit = entry.spec.metadata.timeout.unwrap_or(default_timeout);
    context.deadline = Some(Instant::now() + limit);
    let effect = entry.spec.metadata.effect;
    let work = AssertUnwindSafe(run(entry, call.clone(), context)).catch_unwind();
    let (result, disposition) = match timeout(limit, work).await {
        Ok(Ok(Ok(output))) => {
            let mut result = ToolResult::new(&call, output.status, output.tree);
            result.documents = output.documents;
            result.withheld = output.withheld;
            (result, Disposition::Executed)
        }
        Ok(Ok(Err(error))) => failed(&call, &error),
        Ok(Err(panic)) => {
            tracing::error!(tool = call.name, panic = panic_text(&*panic), "a tool panicked");
            (ToolResult::error(&call, "the tool failed unexpectedly"), Disposition::Panicked)
        }
        Err(_) => {
            let seconds = limit.as_secs_f64();
            let text = match effect {
                Effect::Read | Effect::Idempotent => format!("timed out after {seconds} s"),
                _ => format!("timed out after {seconds} s; the action may or may not have happened"),
            };
            (ToolResult::error(&call, &text), Disposition::TimedOut)
        }
    };
    ToolOutcome { call_id: call.id, result, disposition }
}

fn failed(call: &ToolCall, error: &ToolError) -> (ToolResult, Disposition) {
    if let Some(source) = error.source() {
        tracing::warn!(tool = call.name, kind = ?error.kind(), error = %source, "a tool failed");
    }
    let text = match error.for_model().trim() {
        "" => "the tool failed",
        text => text,
    };
    let disposition = match error.kind() {
        ToolErrorKind::Abort => Disposition::Aborted,
        ToolErrorKind::InvalidArguments | ToolErrorKind::UnknownTool | ToolErrorKind::MissingContext => {
            Disposition::Refused
        }
        ToolErrorKind::Timeout => Disposition::TimedOut,
        _ => Disposition::Executed,
    };
    (ToolResult::error(call, text), disposition)
}

async fn run(entry: Ready, call: ToolCall, context: ToolContext) -> Result<ToolOutput, ToolError> {
    match entry.work {
        Work::Tool(tool, arguments) if entry.spec.metadata.blocking => {
            let runtime = tokio::runtime::Handle::current();
            let work = move || runtime.block_on(tool.run(arguments, context));
            match tokio::task::spawn_blocking(work).await {
                Ok(result) => result,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(error) => Err(ToolError::new("the tool was stopped").with_source(error)),
            }
        }
        Work::Tool(tool, arguments) => tool.run(arguments, context).await,
        Work::Family(family) => family.call(&call.name, &call.arguments, context).await,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("")
}

/// The results as the model shall read them, if one is too long: its text loses its middle, with a marker.
pub(crate) fn shortened(results: &ToolResultsMessage, max_chars: usize) -> Option<ToolResultsMessage> {
    let short: Vec<_> =
        results.results.iter().map(|result| without_middle(&result.tree, max_chars)).collect();
    if short.iter().all(Option::is_none) {
        return None;
    }
    let mut cut = results.clone();
    for (result, short) in cut.results.iter_mut().zip(short) {
        if let Some(short) = short {
            result.tree = short;
        }
    }
    Some(cut)
}

fn without_middle(tree: &ContentTree, max_chars: usize) -> Option<ContentTree> {
    let text = tree.model_text();
    let total = text.chars().count();
    if total <= max_chars {
        return None;
    }
    let half = max_chars / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(total.saturating_sub(half)).collect();
    let cut = total.saturating_sub(2 * half);
    let json = serde_json::to_string(&format!("{head}\n[… {cut} characters left out …]\n{tail}")).ok()?;
    ContentTree::parse(&json, tree.documents().to_vec())
}

/// The result of a call whose effect was begun before a crash.
pub(crate) fn unknown_effect(call: &ToolCall) -> ToolOutcome {
    let text = "this call was begun before an interruption and its outcome is unknown; it was not repeated: verify \
                before you try again";
    let result = ToolResult::new(call, ResultStatus::Error, ContentTree::text(text));
    ToolOutcome { call_id: call.id.clone(), result, disposition: Disposition::Unknown }
}
