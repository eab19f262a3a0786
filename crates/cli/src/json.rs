//! A run as JSON lines: one event a line.

use attache_agent::{Event, EventKind, Outcome};
use serde_json::{Value, json};

use crate::output::with_causes;

/// The line of an event: `seq`, `step`, `type`, and what belongs to the type.
pub(crate) fn line(event: &Event) -> String {
    let (kind, mut body) = fields(&event.kind);
    if let Value::Object(body) = &mut body {
        body.shift_insert(0, "seq".to_owned(), event.seq.into());
        body.shift_insert(1, "step".to_owned(), event.step.into());
        body.shift_insert(2, "type".to_owned(), kind.into());
    }
    format!("{body}\n")
}

/// The line of a warning that comes before a run: it has neither `seq` nor `step`.
pub(crate) fn warning(code: &str, message: &str) -> String {
    format!("{}\n", json!({ "type": "warning", "code": code, "message": message }))
}

fn fields(kind: &EventKind) -> (&'static str, Value) {
    match kind {
        EventKind::RunStarted { run_id } => ("run_started", json!({ "run_id": run_id })),
        EventKind::StepStarted { model, .. } => ("step_started", json!({ "model": model })),
        EventKind::Content(text) => ("content", json!({ "text": text })),
        EventKind::Thinking(text) => ("thinking", json!({ "text": text })),
        EventKind::ToolCallDelta { id, name, arguments_delta } => {
            ("tool_call_delta", json!({ "call_id": id, "name": name, "arguments_delta": arguments_delta }))
        }
        EventKind::ToolCallsRequested { calls, content } => {
            let calls: Vec<_> = calls.iter().map(call_fields).collect();
            ("tool_calls_requested", json!({ "calls": calls, "content": content }))
        }
        EventKind::ToolStarted { call } => ("tool_started", call_fields(call)),
        EventKind::ToolProgress { id, progress } => (
            "tool_progress",
            json!({ "call_id": id, "done": progress.done, "total": progress.total, "message": progress.message }),
        ),
        EventKind::ExternalPending { call } => ("external_pending", call_fields(call)),
        EventKind::ToolFinished { result, disposition } => (
            "tool_finished",
            json!({
                "call_id": result.call_id,
                "name": result.tool_name,
                "is_error": result.is_error(),
                "disposition": disposition,
                "content": serde_json::from_str::<Value>(result.tree.json()).unwrap_or(Value::Null),
                "documents": result.documents,
            }),
        ),
        EventKind::ReplyWithdrawn { reply } => ("reply_withdrawn", json!({ "message_id": reply })),
        EventKind::ToolResultsReceived { count } => ("tool_results_received", json!({ "count": count })),
        EventKind::DocumentsRouted(report) => ("documents_routed", json!({ "report": report.decisions })),
        EventKind::DocumentsLeftOut { documents } => {
            ("documents_left_out", json!({ "documents": documents }))
        }
        EventKind::WindowMoved { evicted } => ("window_moved", json!({ "evicted": evicted })),
        EventKind::StepFinished { finish_reason, usage, response } => {
            let mut fields = json!({ "finish_reason": finish_reason, "usage": usage });
            let request = response.as_ref().and_then(|response| response.request_id());
            if let (Value::Object(fields), Some(id)) = (&mut fields, request) {
                fields.insert("request_id".to_owned(), id.into());
            }
            ("step_finished", fields)
        }
        EventKind::HistoryRepaired(repairs) => {
            let repairs: Vec<_> = repairs.iter().map(ToString::to_string).collect();
            ("history_repaired", json!({ "repairs": repairs }))
        }
        EventKind::Warning { code, message } => ("warning", json!({ "code": code, "message": message })),
        EventKind::Finished(Ok(outcome)) => ("finished", end(outcome)),
        EventKind::Finished(Err(error)) => {
            let mut fields = end(error.partial());
            if let Value::Object(fields) = &mut fields {
                fields.insert("error".to_owned(), with_causes(error).into());
            }
            ("finished", fields)
        }
        _ => ("other", json!({})),
    }
}

/// The members that tell the end of a run.
fn end(outcome: &Outcome) -> Value {
    json!({
        "reason": outcome.reason,
        "text": outcome.text,
        "steps": outcome.steps,
        "usage": outcome.usage,
        "calls": outcome.calls.iter().map(call_fields).collect::<Vec<_>>(),
    })
}

fn call_fields(call: &attache_core::ToolCall) -> Value {
    let arguments = call.arguments.object().map_or_else(|_| call.arguments.raw().into(), Value::Object);
    json!({ "call_id": call.id, "name": call.name, "arguments": arguments })
}
