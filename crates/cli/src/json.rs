//! A run as JSON lines: one event a line.

use attache_agent::{ApprovalRequest, DeferredRequest, Event, EventKind, NestedAgent, Outcome};
use attache_core::{Document, ToolCall};
use serde_json::{Value, json};

use crate::output::with_causes;

/// The line of an event: `seq`, `step`, `type`, and what belongs to the type.
pub(crate) fn line(event: &Event) -> String {
    format!("{}\n", object(event))
}

fn object(event: &Event) -> Value {
    let (kind, mut body) = fields(&event.kind);
    if let Value::Object(body) = &mut body {
        body.shift_insert(0, "seq".to_owned(), event.seq.into());
        body.shift_insert(1, "step".to_owned(), event.step.into());
        body.shift_insert(2, "type".to_owned(), kind.into());
    }
    body
}

/// The line of a warning that is no event of a run, before it or between its events: it has neither `seq` nor `step`.
pub(crate) fn warning(code: &str, message: &str) -> String {
    format!("{}\n", json!({ "type": "warning", "code": code, "message": message }))
}

fn fields(kind: &EventKind) -> (&'static str, Value) {
    match kind {
        EventKind::RunStarted { run_id } => ("run_started", json!({ "run_id": run_id })),
        EventKind::StepStarted { model, reply } => {
            ("step_started", json!({ "model": model, "message_id": reply }))
        }
        EventKind::Content(text) => ("content", json!({ "text": text })),
        EventKind::Thinking(text) => ("thinking", json!({ "text": text })),
        EventKind::ToolCallDelta { id, name, arguments_delta } => {
            ("tool_call_delta", json!({ "call_id": id, "name": name, "arguments_delta": arguments_delta }))
        }
        EventKind::PartialValue(value) => ("partial_value", json!({ "value": value })),
        EventKind::Made(document) => ("document", json!({ "document": self::document(document) })),
        EventKind::ToolCallsRequested { calls, content } => {
            ("tool_calls_requested", json!({ "calls": self::calls(calls), "content": content }))
        }
        EventKind::ToolStarted { call } => ("tool_started", call_fields(call)),
        EventKind::ToolProgress { id, progress } => (
            "tool_progress",
            json!({ "call_id": id, "done": progress.done, "total": progress.total, "message": progress.message }),
        ),
        EventKind::ExternalPending { call } => ("external_pending", call_fields(call)),
        EventKind::ApprovalRequested(asked) => ("approval_requested", approval(asked)),
        EventKind::CallDeferred(request) => ("call_deferred", deferred(request)),
        EventKind::ApprovalDecided(decided) => (
            "approval_decided",
            json!({ "approval_id": decided.id, "decision": decided.decision, "by": decided.by }),
        ),
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
        EventKind::Compacted { tokens, summarised, usage } => {
            ("compacted", json!({ "tokens": tokens, "summarised": summarised, "usage": usage }))
        }
        EventKind::ToolsOffered { names } => ("tools_offered", json!({ "names": names })),
        EventKind::HandedOff { from, agent } => ("handed_off", json!({ "from": from, "agent": agent })),
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
        EventKind::Nested { path, event } => ("nested", json!({ "path": way(path), "event": object(event) })),
        EventKind::Source(citation) => ("citation", json!({ "citation": citation })),
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
    let value = match outcome.structured.as_deref() {
        Some(Ok(value)) => Some(value),
        _ => None,
    };
    json!({
        "run_id": outcome.run_id,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "text": outcome.text,
        "value": value,
        "agent": outcome.agent,
        "steps": outcome.steps,
        "usage": outcome.usage,
        "cost": { "known": outcome.cost.known, "unknown_steps": outcome.cost.unknown_steps },
        "calls": calls(&outcome.calls),
        "citations": outcome.citations,
        "figures": outcome.figures,
        "unfound": outcome.unfound,
        "documents": outcome.documents().map(document).collect::<Vec<_>>(),
        "approvals": outcome.approvals.iter().map(approval).collect::<Vec<_>>(),
        "deferred": outcome.deferred.iter().map(deferred).collect::<Vec<_>>(),
        "pending": calls(&outcome.pending),
        "unknown": calls(&outcome.unknown),
    })
}

fn approval(asked: &ApprovalRequest) -> Value {
    json!({
        "approval_id": asked.id,
        "call_id": asked.call.id,
        "name": asked.call.name,
        "arguments": arguments(&asked.call),
        "reason": asked.reason,
        "expires_at": asked.expires_at,
        "path": way(&asked.path),
    })
}

fn deferred(request: &DeferredRequest) -> Value {
    let DeferredRequest { call, deferred, path, .. } = request;
    json!({
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments(call),
        "prompt": deferred.prompt,
        "schema": deferred.schema,
        "handle": deferred.handle,
        "expires_at": deferred.expires_at,
        "path": way(path),
    })
}

/// The agents on the way to what happens inside a tool.
fn way(path: &[NestedAgent]) -> Value {
    path.iter().map(|agent| json!({ "name": agent.name, "call_id": agent.call })).collect()
}

/// A document, without its content.
fn document(document: &Document) -> Value {
    json!({
        "id": document.id(),
        "media_type": document.media_type().essence(),
        "file_name": document.file_name(),
        "size": document.size(),
    })
}

fn calls(calls: &[ToolCall]) -> Value {
    calls.iter().map(call_fields).collect()
}

fn call_fields(call: &ToolCall) -> Value {
    json!({ "call_id": call.id, "name": call.name, "arguments": arguments(call) })
}

fn arguments(call: &ToolCall) -> Value {
    call.arguments.object().map_or_else(|_| call.arguments.raw().into(), Value::Object)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use attache_agent::LogEvents;
    use attache_core::Usage;
    use attache_core::citation::{Citation, How, Source};

    use super::*;

    /// An event at the end of a log, which becomes any other.
    fn event(kind: EventKind) -> Event {
        let mut event = LogEvents::new().finish();
        event.kind = kind;
        event
    }

    // The list of events in the guide, with the names of members that the server has.
    #[test]
    fn each_kind_of_event_has_a_line_of_its_own() {
        let reply = serde_json::from_value(json!("m-1")).unwrap();
        let decided = json!({ "id": "a", "decision": "approveAlways", "by": "ann" });
        let source = Source::Url { url: "https://example.com".into(), title: None };
        let inside = event(EventKind::HandedOff { from: None, agent: "sales".to_owned() });
        let cases = [
            (
                EventKind::StepStarted { model: "a/b".to_owned(), reply },
                json!({ "type": "step_started", "model": "a/b", "message_id": "m-1" }),
            ),
            (
                EventKind::PartialValue(json!({ "total": 1 })),
                json!({ "type": "partial_value", "value": { "total": 1 } }),
            ),
            (
                EventKind::ToolsOffered { names: vec!["find".to_owned()] },
                json!({ "type": "tools_offered", "names": ["find"] }),
            ),
            (
                EventKind::ApprovalDecided(serde_json::from_value(decided).unwrap()),
                json!({
                    "type": "approval_decided",
                    "approval_id": "a",
                    "decision": "approveAlways",
                    "by": "ann",
                }),
            ),
            (
                EventKind::Nested { path: Arc::from([]), event: Box::new(inside) },
                json!({
                    "type": "nested",
                    "path": [],
                    "event": { "seq": 1, "step": 0, "type": "handed_off", "from": null, "agent": "sales" },
                }),
            ),
        ];
        for (kind, expected) in cases {
            let mut told: Value = serde_json::from_str(&line(&event(kind))).unwrap();
            let members = told.as_object_mut().unwrap();
            assert_eq!((members.remove("seq"), members.remove("step")), (Some(json!(1)), Some(json!(0))));
            assert_eq!(told, expected);
        }
        let compacted = EventKind::Compacted { tokens: 9, summarised: true, usage: Usage::default() };
        let told = object(&event(compacted));
        assert_eq!((&told["type"], &told["tokens"]), (&json!("compacted"), &json!(9)));
        let told = object(&event(EventKind::Source(Box::new(Citation::new(source, How::Native)))));
        assert_eq!(told["type"], "citation");
        let made = object(&event(EventKind::Made(Box::new(Document::inline("day,rain")))));
        assert_eq!(
            (&made["type"], &made["document"]["media_type"]),
            (&json!("document"), &json!("text/plain"))
        );
        assert!(told["citation"].to_string().contains("example.com"), "{told}");
    }
}
