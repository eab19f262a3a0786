//! A reply as Cohere sends it, whole or as events (cohere.md 6).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::mock::answer::named_event;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    let choice = reply.plain_choice("Cohere")?;
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for part in &choice.parts {
        match part {
            Part::Text(pieces) => content.push(json!({"type": "text", "text": pieces.concat()})),
            Part::Thinking { pieces, .. } => {
                content.push(json!({"type": "thinking", "thinking": pieces.concat()}));
            }
            Part::Call { id, name, arguments } => calls.push(call(id, name, &arguments.concat())),
            Part::RedactedThinking(_) | Part::Refusal(_) | Part::Block(_) => {}
        }
    }
    let mut message = Map::from_iter([("role".to_owned(), Value::from("assistant"))]);
    for (key, list) in [("content", content), ("tool_calls", calls)] {
        if !list.is_empty() {
            message.insert(key.to_owned(), Value::from(list));
        }
    }
    let mut body =
        json!({"id": id_of(reply, request), "message": message, "finish_reason": finish_of(choice)});
    if let (Some(usage), Some(body)) = (&reply.usage, body.as_object_mut()) {
        body.insert("usage".to_owned(), usage_of(usage));
    }
    Ok(body)
}

pub(crate) fn render_stream(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    let choice = reply.plain_choice("Cohere")?;
    let start =
        json!({"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []});
    let start = json!({"type": "message-start", "id": id_of(reply, request), "delta": {"message": start}});
    let mut events = vec![named_event("message-start", &start)];
    let (mut block, mut slot) = (0, 0);
    for part in &choice.parts {
        match part {
            Part::Text(pieces) => blocks(&mut events, &mut block, "text", pieces),
            Part::Thinking { pieces, .. } => blocks(&mut events, &mut block, "thinking", pieces),
            Part::Call { id, name, arguments } => {
                events.push(piece("tool-call-start", slot, &json!({"tool_calls": call(id, name, "")})));
                events.extend(arguments.iter().map(|arguments| {
                    let function = json!({"function": {"arguments": arguments}});
                    piece("tool-call-delta", slot, &json!({"tool_calls": function}))
                }));
                events.push(ended("tool-call-end", slot));
                slot += 1;
            }
            Part::RedactedThinking(_) | Part::Refusal(_) | Part::Block(_) => {}
        }
    }
    if terminated {
        events.push(end(finish_of(choice), None, reply.usage.as_ref()));
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    }
    Ok(events)
}

/// The events of a content block, whose number they share.
fn blocks(events: &mut Vec<Bytes>, index: &mut usize, kind: &str, pieces: &[String]) {
    let start = Map::from_iter([("type".to_owned(), kind.into()), (kind.to_owned(), "".into())]);
    events.push(piece("content-start", *index, &json!({"content": start})));
    events.extend(pieces.iter().map(|text| {
        let content = Map::from_iter([(kind.to_owned(), Value::from(text.as_str()))]);
        piece("content-delta", *index, &json!({"content": content}))
    }));
    events.push(ended("content-end", *index));
    *index += 1;
}

fn piece(name: &str, index: usize, message: &Value) -> Bytes {
    named_event(name, &json!({"type": name, "index": index, "delta": {"message": message}}))
}

fn ended(name: &str, index: usize) -> Bytes {
    named_event(name, &json!({"type": name, "index": index}))
}

/// The last event; a failure has a message.
pub(super) fn end(word: &str, error: Option<&str>, usage: Option<&ReplyUsage>) -> Bytes {
    let mut delta = Map::from_iter([("finish_reason".to_owned(), Value::from(word))]);
    if let Some(error) = error {
        delta.insert("error".to_owned(), Value::from(error));
    }
    if let Some(usage) = usage {
        delta.insert("usage".to_owned(), usage_of(usage));
    }
    named_event("message-end", &json!({"type": "message-end", "delta": delta}))
}

fn id_of(reply: &Reply, request: &RecordedRequest) -> String {
    reply.id.clone().unwrap_or_else(|| format!("mock-{}", request.index))
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn finish_of(choice: &ChoiceScript) -> &str {
    match &choice.finish {
        Some(Finish::Raw(word)) => word,
        Some(Finish::Length) => "MAX_TOKENS",
        Some(Finish::ToolCalls) => "TOOL_CALL",
        Some(Finish::StopSequence(_)) => "STOP_SEQUENCE",
        None if choice.has_calls() => "TOOL_CALL",
        _ => "COMPLETE",
    }
}

/// The counts, in floats; those that are paid are fewer.
fn usage_of(usage: &ReplyUsage) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "scripts count far below what a double holds exactly")]
    let float = |count: u64| count as f64;
    let mut tokens = Map::from_iter([
        ("input_tokens".to_owned(), json!(float(usage.input))),
        ("output_tokens".to_owned(), json!(float(usage.output))),
    ]);
    if usage.reasoning > 0 {
        tokens.insert("reasoning_tokens".to_owned(), json!(float(usage.reasoning)));
    }
    let paid = usage.input.saturating_sub(usage.cached);
    json!({
        "billed_units": {"input_tokens": float(paid), "output_tokens": float(usage.output)},
        "tokens": tokens,
        "cached_tokens": float(usage.cached),
    })
}
