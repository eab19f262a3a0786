//! A reply as Chat Completions sends it, whole (openai.md A.5) or as chunks (openai.md A.7).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::mock::answer::data_event;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

/// A fixed time, so that bodies are the same in every run.
const CREATED: u64 = 1_700_000_000;

/// The members that every chunk and the whole answer share.
struct Envelope {
    id: String,
    model: Value,
}

impl Envelope {
    fn new(reply: &Reply, request: &RecordedRequest) -> Self {
        let model = reply.model.clone().map(Value::String);
        Self {
            id: reply.id.clone().unwrap_or_else(|| format!("chatcmpl-mock-{}", request.index)),
            model: model.or_else(|| request.json().get("model").cloned()).unwrap_or_default(),
        }
    }

    fn object(&self, kind: &str, choices: &[Value]) -> Value {
        json!({
            "id": self.id, "object": kind, "created": CREATED, "model": self.model,
            "service_tier": "default", "system_fingerprint": "fp_mock", "choices": choices,
        })
    }
}

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    check(reply)?;
    let choices: Vec<Value> =
        reply.choices.iter().enumerate().map(|(index, choice)| whole(index, choice)).collect();
    let mut body = Envelope::new(reply, request).object("chat.completion", &choices);
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
    check(reply)?;
    let options = request.json().get("stream_options");
    let option = |key: &str| options.and_then(|options| options.get(key)?.as_bool());
    let with_usage = option("include_usage").unwrap_or(false);
    let with_padding = option("include_obfuscation").unwrap_or(true);
    let envelope = Envelope::new(reply, request);
    let mut events = Vec::new();
    let mut send = |choices: &[Value], usage: Value| {
        let mut chunk = envelope.object("chat.completion.chunk", choices);
        if let Some(chunk) = chunk.as_object_mut() {
            if with_usage {
                chunk.insert("usage".to_owned(), usage);
            }
            if with_padding {
                chunk.insert("obfuscation".to_owned(), Value::from("x".repeat(7 + events.len() % 5)));
            }
        }
        events.push(data_event(&chunk));
    };

    // The choices of one answer are written by turns.
    let mut streams: Vec<_> = reply.choices.iter().map(|choice| deltas(choice).into_iter()).collect();
    loop {
        let mut wrote = false;
        for (index, stream) in streams.iter_mut().enumerate() {
            if let Some(delta) = stream.next() {
                send(
                    &[json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": null})],
                    Value::Null,
                );
                wrote = true;
            }
        }
        if !wrote {
            break;
        }
    }
    for (index, choice) in reply.choices.iter().enumerate() {
        let reason = finish_of(choice);
        send(&[json!({"index": index, "delta": {}, "logprobs": null, "finish_reason": reason})], Value::Null);
    }
    if let Some(usage) = reply.usage.as_ref().filter(|_| with_usage) {
        send(&[], usage_of(usage));
    }
    if terminated {
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    }
    Ok(events)
}

/// Refuses what the API cannot say.
fn check(reply: &Reply) -> Result<(), String> {
    let parts = reply.choices.iter().flat_map(|choice| &choice.parts);
    for part in parts {
        let what = match part {
            Part::RedactedThinking(_) => "redacted thinking",
            Part::Thinking { signature: Some(_), .. } => "thinking with a signature",
            Part::Block(_) => "content blocks",
            _ => continue,
        };
        return Err(format!("Chat Completions has no {what}"));
    }
    match reply.choices.iter().find(|choice| choice.finish == Some(Finish::Pause)) {
        Some(_) => Err("Chat Completions does not pause".to_owned()),
        None => Ok(()),
    }
}

fn whole(index: usize, choice: &ChoiceScript) -> Value {
    let mut refusal = None;
    let mut reasoning = None;
    let mut calls = Vec::new();
    for part in &choice.parts {
        match part {
            Part::Refusal(pieces) => refusal.get_or_insert_with(String::new).push_str(&pieces.concat()),
            Part::Thinking { pieces, .. } => {
                reasoning.get_or_insert_with(String::new).push_str(&pieces.concat());
            }
            Part::Call { id, name, arguments } => calls.push(json!({
                "id": id, "type": "function", "function": {"name": name, "arguments": arguments.concat()},
            })),
            Part::Text(_) | Part::RedactedThinking(_) | Part::Block(_) => {}
        }
    }
    let silent = refusal.is_some() || !calls.is_empty();
    let content = choice.text().or_else(|| (!silent).then(String::new));
    let mut message = Map::new();
    message.insert("role".to_owned(), Value::from("assistant"));
    message.insert("content".to_owned(), Value::from(content));
    if let Some(reasoning) = reasoning {
        message.insert("reasoning_content".to_owned(), Value::from(reasoning));
    }
    message.insert("refusal".to_owned(), Value::from(refusal));
    message.insert("annotations".to_owned(), json!([]));
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::from(calls));
    }
    json!({"index": index, "message": message, "logprobs": null, "finish_reason": finish_of(choice)})
}

/// The deltas of one choice, its role first and its end not included.
fn deltas(choice: &ChoiceScript) -> Vec<Value> {
    let mut deltas = vec![];
    let content = choice.text().map(|_| "");
    deltas.push(json!({"role": "assistant", "content": content, "refusal": null}));
    let mut slot = 0_usize;
    for part in &choice.parts {
        match part {
            Part::Text(pieces) => deltas.extend(pieces.iter().map(|text| json!({"content": text}))),
            Part::Refusal(pieces) => deltas.extend(pieces.iter().map(|text| json!({"refusal": text}))),
            Part::Thinking { pieces, .. } => {
                deltas.extend(pieces.iter().map(|text| json!({"reasoning_content": text})));
            }
            Part::Call { id, name, arguments } => {
                let mut pieces = arguments.iter();
                let first = pieces.next().map_or("", String::as_str);
                deltas.push(json!({"tool_calls": [{
                    "index": slot, "id": id, "type": "function", "function": {"name": name, "arguments": first},
                }]}));
                deltas.extend(
                    pieces.map(
                        |piece| json!({"tool_calls": [{"index": slot, "function": {"arguments": piece}}]}),
                    ),
                );
                slot += 1;
            }
            Part::RedactedThinking(_) | Part::Block(_) => {}
        }
    }
    // A lone call shares its first chunk with the role, as recorded traffic shows.
    if let [role, call, ..] = deltas.as_mut_slice()
        && slot == 1
        && let Some(calls) = call.get("tool_calls").cloned()
        && let Some(role) = role.as_object_mut()
    {
        role.insert("tool_calls".to_owned(), calls);
        deltas.remove(1);
    }
    deltas
}

fn finish_of(choice: &ChoiceScript) -> &str {
    match &choice.finish {
        Some(Finish::Raw(word)) => word,
        Some(Finish::Length) => "length",
        Some(Finish::ToolCalls) => "tool_calls",
        Some(Finish::ContentFilter) => "content_filter",
        Some(Finish::Stop | Finish::Refusal | Finish::StopSequence(_) | Finish::Pause) => "stop",
        None if choice.has_calls() => "tool_calls",
        None => "stop",
    }
}

fn usage_of(usage: &ReplyUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
        "prompt_tokens_details": {
            "cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write, "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning, "audio_tokens": 0, "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
