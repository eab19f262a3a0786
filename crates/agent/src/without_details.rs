//! Events without the details of tools, for people who shall not see them.

use std::sync::Arc;

use attache_core::citation::{Citation, Figure};
use attache_core::{Arguments, ContentTree, ToolCall, ToolResult};
use attache_documents::RoutingReport;
use serde_json::Value;

use crate::event::{Event, EventKind};
use crate::outcome::Outcome;

impl Event {
    /// The event without the details of tools: of a call there is the name and if it succeeded, of the end the answer.
    /// Citations say what the answer rests on, and quote nothing: the passage may be a tool's.
    /// The texts that the model reads, and the log, are as they were.
    #[must_use]
    pub fn without_tool_details(mut self) -> Self {
        self.kind = self.kind.without_tool_details();
        self
    }
}

impl EventKind {
    /// See [`Event::without_tool_details`].
    #[must_use]
    pub fn without_tool_details(self) -> Self {
        match self {
            Self::ToolCallDelta { id, name, .. } => {
                Self::ToolCallDelta { id, name, arguments_delta: String::new() }
            }
            Self::ToolCallsRequested { calls, content } => {
                Self::ToolCallsRequested { calls: calls.into_iter().map(bare).collect(), content }
            }
            Self::ToolStarted { call } => Self::ToolStarted { call: bare(call) },
            Self::ToolFinished { result, disposition } => {
                Self::ToolFinished { result: Box::new(judged(*result)), disposition }
            }
            Self::ToolProgress { id, mut progress } => {
                progress.message = None;
                Self::ToolProgress { id, progress }
            }
            Self::DocumentsRouted(report) => Self::DocumentsRouted(of_people(report)),
            Self::Source(citation) => Self::Source(Box::new(citation.without_passage())),
            Self::Nested { path, mut event } => {
                event.kind = unsaid(event.kind).without_tool_details();
                Self::Nested { path, event }
            }
            Self::Finished(Ok(outcome)) => Self::Finished(Ok(Box::new(answered(*outcome)))),
            Self::Finished(Err(error)) => Self::Finished(Err(error.with_partial(answered))),
            other => other,
        }
    }
}

/// An event of an agent inside without what it says, which is the result of a tool.
fn unsaid(kind: EventKind) -> EventKind {
    let silent = |mut outcome: Outcome| {
        outcome.text.clear();
        outcome.reasoning.clear();
        outcome.structured = None;
        outcome.detail = None;
        outcome.citations.clear();
        outcome.figures.clear();
        outcome.unfound.clear();
        outcome
    };
    match kind {
        EventKind::Content(_) | EventKind::Source(_) | EventKind::Made(_) => {
            EventKind::Content(String::new())
        }
        EventKind::Thinking(_) => EventKind::Thinking(String::new()),
        EventKind::PartialValue(_) => EventKind::PartialValue(Value::Null),
        EventKind::ToolCallsRequested { calls, .. } => {
            EventKind::ToolCallsRequested { calls, content: String::new() }
        }
        // Those of the run around it, too, are documents of its tools, or were handed in by them.
        EventKind::DocumentsRouted(mut report) => {
            Arc::make_mut(&mut report).decisions.clear();
            EventKind::DocumentsRouted(report)
        }
        EventKind::Finished(Ok(outcome)) => EventKind::Finished(Ok(Box::new(silent(*outcome)))),
        EventKind::Finished(Err(error)) => EventKind::Finished(Err(error.with_partial(silent))),
        other => other,
    }
}

/// A report without the documents of tools.
fn of_people(mut report: Arc<RoutingReport>) -> Arc<RoutingReport> {
    let told = Arc::make_mut(&mut report);
    told.decisions.retain(|decision| decision.tool_call_id.is_none());
    told.unresolved.clear();
    report
}

/// A call without its arguments.
fn bare(mut call: ToolCall) -> ToolCall {
    call.arguments = Arguments::new("{}");
    call.replay = None;
    call
}

/// A result that says if it is one.
fn judged(mut result: ToolResult) -> ToolResult {
    result.tree = ContentTree::text(if result.is_error() { "failure" } else { "success" });
    result.documents.clear();
    result.withheld.clear();
    result
}

/// The end without the conversation. An event alone does not tell which documents came from tools.
fn answered(mut outcome: Outcome) -> Outcome {
    outcome.messages.clear();
    outcome.citations = outcome.citations.into_iter().map(Citation::without_passage).collect();
    outcome.figures = outcome.figures.into_iter().map(Figure::without_passage).collect();
    for calls in [&mut outcome.calls, &mut outcome.pending, &mut outcome.unknown] {
        *calls = std::mem::take(calls).into_iter().map(bare).collect();
    }
    outcome
}
