//! A reply as Ollama sends it, whole or line by line (openai.md C.13).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::line;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

/// A fixed time, so that bodies are the same in every run.
const CREATED: &str = "2026-08-04T19:58:15.115854Z";

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    let choice = reply.plain_choice("Ollama")?;
    let (mut content, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &choice.parts {
        match part {
            Part::Text(pieces) => content.push_str(&pieces.concat()),
            Part::Thinking { pieces, .. } => thinking.push_str(&pieces.concat()),
            Part::Call { id, name, arguments } => calls.push(call(calls.len(), id, name, arguments)?),
            Part::RedactedThinking(_) | Part::Refusal(_) | Part::Block(_) => {}
        }
    }
    let mut message = Map::from_iter([("content".to_owned(), Value::from(content))]);
    if !thinking.is_empty() {
        message.insert("thinking".to_owned(), Value::from(thinking));
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::from(calls));
    }
    Ok(last(reply, request, message, finish_of(choice)))
}

pub(crate) fn render_stream(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    let choice = reply.plain_choice("Ollama")?;
    let mut slot = 0;
    let mut lines = Vec::new();
    let mut send = |key: &str, value: Value| {
        let mut message = Map::from_iter([("content".to_owned(), Value::from(""))]);
        message.insert(key.to_owned(), value);
        lines.push(line(&object(reply, request, message, false)));
    };
    for part in &choice.parts {
        match part {
            Part::Text(pieces) => pieces.iter().for_each(|text| send("content", text.as_str().into())),
            Part::Thinking { pieces, .. } => {
                pieces.iter().for_each(|text| send("thinking", text.as_str().into()));
            }
            Part::Call { id, name, arguments } => {
                send("tool_calls", json!([call(slot, id, name, arguments)?]));
                slot += 1;
            }
            Part::RedactedThinking(_) | Part::Refusal(_) | Part::Block(_) => {}
        }
    }
    if terminated {
        let message = Map::from_iter([("content".to_owned(), Value::from(""))]);
        lines.push(line(&last(reply, request, message, finish_of(choice))));
    }
    Ok(lines)
}

/// A call comes whole. Older servers send no id, which an empty one stands for.
fn call(index: usize, id: &str, name: &str, arguments: &[String]) -> Result<Value, String> {
    let arguments: Value = serde_json::from_str(&arguments.concat()).unwrap_or_default();
    if !arguments.is_object() {
        return Err("Ollama sends arguments as an object".to_owned());
    }
    let mut call = Map::new();
    if !id.is_empty() {
        call.insert("id".to_owned(), Value::from(id));
    }
    call.insert("function".to_owned(), json!({"index": index, "name": name, "arguments": arguments}));
    Ok(Value::Object(call))
}

fn object(reply: &Reply, request: &RecordedRequest, mut message: Map<String, Value>, done: bool) -> Value {
    message.insert("role".to_owned(), Value::from("assistant"));
    let model = reply.model.clone().map(Value::String);
    let model = model.or_else(|| request.json().get("model").cloned());
    json!({"model": model, "created_at": CREATED, "message": message, "done": done})
}

/// The whole answer, or the last line.
fn last(reply: &Reply, request: &RecordedRequest, message: Map<String, Value>, word: &str) -> Value {
    let mut object = object(reply, request, message, true);
    if let Some(object) = object.as_object_mut() {
        object.insert("done_reason".to_owned(), Value::from(word));
        object.insert("total_duration".to_owned(), Value::from(5_645_304_708_u64));
        if let Some(ReplyUsage { input, output, cached, .. }) = reply.usage {
            object.insert("prompt_eval_count".to_owned(), Value::from(input));
            object.insert("prompt_eval_cached_count".to_owned(), Value::from(cached));
            object.insert("eval_count".to_owned(), Value::from(output));
        }
    }
    object
}

/// Calls do not change the word.
fn finish_of(choice: &ChoiceScript) -> &str {
    match &choice.finish {
        Some(Finish::Raw(word)) => word,
        Some(Finish::Length) => "length",
        _ => "stop",
    }
}
