//! Helpers of the tests of Responses answers.

use attache_core::{AssistantPart, Completion, ProviderError, StreamChunk};
use attache_openai::ResponsesCodec;
use attache_transport::Replay;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::deltas_agree;

/// The body of a stream of these events, each named in its frame.
pub(crate) fn events(events: &[Value]) -> String {
    let events = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    events.collect()
}

pub(crate) fn replay(body: &str) -> Replay {
    replay_of(200, body)
}

pub(crate) fn replay_of(status: u16, body: &str) -> Replay {
    let status = StatusCode::from_u16(status).unwrap();
    attache_transport::replay(&ResponsesCodec::from("gpt-5.6"), status, &HeaderMap::new(), [body])
}

/// The reply of a stream that must be understood.
pub(crate) fn reply(list: &[Value]) -> Completion {
    let body = events(list);
    let replay = replay(&body);
    assert!(replay.error.is_none(), "{:?} in {body}", replay.error);
    deltas_agree(&replay.chunks, &replay.completion);
    replay.completion
}

/// The error of a stream that must fail.
pub(crate) fn failure(list: &[Value]) -> ProviderError {
    let body = events(list);
    replay(&body).error.unwrap_or_else(|| panic!("no error in {body}"))
}

/// The error of an answer in one piece.
pub(crate) fn refused(status: u16, body: &Value) -> ProviderError {
    replay_of(status, &body.to_string()).error.unwrap_or_else(|| panic!("no error in {body}"))
}

/// The answer in one piece with these items.
pub(crate) fn response(status: &str, output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "model": "gpt-5.6-2026", "status": status, "error": null,
        "incomplete_details": null, "output": output, "usage": {"input_tokens": 3, "output_tokens": 2}})
}

pub(crate) fn completed(output: &[Value]) -> Value {
    json!({"type": "response.completed", "response": response("completed", output)})
}

pub(crate) fn added(index: impl Into<Value>, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index.into(), "item": item})
}

pub(crate) fn done(index: impl Into<Value>, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index.into(), "item": item})
}

pub(crate) fn text(index: impl Into<Value>, id: impl Into<Value>, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index.into(), "item_id": id.into(),
        "content_index": 0, "delta": delta})
}

pub(crate) fn arguments(index: impl Into<Value>, id: impl Into<Value>, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index.into(), "item_id": id.into(),
        "delta": delta})
}

pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

/// A message that was begun.
pub(crate) fn begun(id: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []})
}

pub(crate) fn call(id: &str, call_id: &str, name: &str, arguments: impl Into<Value>) -> Value {
    let arguments: Value = arguments.into();
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments,
        "status": "completed"})
}

pub(crate) fn reasoning(id: &str, summaries: &[&str]) -> Value {
    let summaries: Vec<Value> =
        summaries.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
    json!({"type": "reasoning", "id": id, "summary": summaries, "encrypted_content": "gAAA"})
}

/// The parts of a reply in words.
pub(crate) fn parts(completion: &Completion) -> Vec<String> {
    let parts = completion.message.parts.iter().map(|part| match part {
        AssistantPart::Text(part) if part.is_refusal() => format!("refusal {}", part.text()),
        AssistantPart::Text(part) => format!("text {}", part.text()),
        AssistantPart::Reasoning(part) => {
            format!("reasoning {}{}", part.text(), if part.replay().is_some() { " +" } else { "" })
        }
        AssistantPart::ToolCall(call) => {
            let id = call.provider_id.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("call {} {id} {}", call.name, call.arguments.raw())
        }
        AssistantPart::Opaque(part) => format!("opaque {}", part.kind),
        other => panic!("unexpected {other:?}"),
    });
    parts.collect()
}

/// The part of the answer text that was handed out.
pub(crate) fn shown(replay: &Replay) -> Vec<String> {
    let pieces = replay.chunks.iter().filter_map(|chunk| match chunk {
        StreamChunk::Content(piece) => Some(piece.clone()),
        _ => None,
    });
    pieces.collect()
}
