//! A reply as Messages sends it, whole (anthropic.md 5) or as events (anthropic.md 9).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::blocks::is_server_call;
use crate::mock::answer::named_event;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    let choice = only_choice(reply)?;
    let ending = Ending::of(choice);
    let content = choice.parts.iter().filter_map(whole_block).collect::<Vec<_>>();
    let mut message = envelope(reply, request, &content);
    if let Some(message) = message.as_object_mut() {
        ending.write(message);
        if let Some(usage) = &reply.usage {
            let mut counts = input_counts(usage);
            counts.extend(output_counts(usage));
            message.insert("usage".to_owned(), Value::Object(counts));
        }
    }
    Ok(message)
}

pub(crate) fn render_stream(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    let choice = only_choice(reply)?;
    let mut start = envelope(reply, request, &[]);
    if let (Some(usage), Some(message)) = (&reply.usage, start.as_object_mut()) {
        let mut counts = input_counts(usage);
        // The first count of a stream covers hardly more than its start.
        counts.insert("output_tokens".to_owned(), Value::from(usage.output.min(1)));
        message.insert("usage".to_owned(), Value::Object(counts));
    }
    let mut events = vec![named_event("message_start", &json!({"type": "message_start", "message": start}))];
    let parts = choice.parts.iter().filter(|part| !matches!(part, Part::Refusal(_)));
    for (index, part) in parts.enumerate() {
        let (block, deltas) = streamed_block(part);
        events.push(named_event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        ));
        if index == 0 {
            events.push(named_event("ping", &json!({"type": "ping"})));
        }
        for delta in deltas {
            events.push(named_event(
                "content_block_delta",
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events
            .push(named_event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
    }
    let mut delta = Map::new();
    Ending::of(choice).write(&mut delta);
    let mut end = json!({"type": "message_delta", "delta": delta});
    if let (Some(usage), Some(end)) = (&reply.usage, end.as_object_mut()) {
        let mut counts = input_counts(usage);
        counts.remove("cache_creation");
        counts.extend(output_counts(usage));
        end.insert("usage".to_owned(), Value::Object(counts));
    }
    events.push(named_event("message_delta", &end));
    if terminated {
        events.push(named_event("message_stop", &json!({"type": "message_stop"})));
    }
    Ok(events)
}

fn only_choice(reply: &Reply) -> Result<&ChoiceScript, String> {
    match reply.choices.as_slice() {
        [choice] => Ok(choice),
        _ => Err("Messages has no choices".to_owned()),
    }
}

fn envelope(reply: &Reply, request: &RecordedRequest, content: &[Value]) -> Value {
    let model = reply.model.clone().map(Value::String);
    json!({
        "id": reply.id.clone().unwrap_or_else(|| format!("msg_mock_{}", request.index)),
        "type": "message",
        "role": "assistant",
        "model": model.or_else(|| request.json().get("model").cloned()),
        "content": content,
        "stop_reason": null,
        "stop_sequence": null,
        "stop_details": null,
    })
}

fn whole_block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(pieces) => json!({"type": "text", "text": pieces.concat()}),
        Part::Thinking { pieces, signature } => {
            json!({"type": "thinking", "thinking": pieces.concat(), "signature": signature.as_deref().unwrap_or("")})
        }
        Part::RedactedThinking(data) => json!({"type": "redacted_thinking", "data": data}),
        Part::Call { id, name, arguments } => {
            // Only JSON can stand in a whole answer.
            let input = serde_json::from_str(&arguments.concat()).unwrap_or_else(|_| json!({}));
            tool_use(id, name, &input)
        }
        Part::Block(block) => block.clone(),
        // A refusal is a stop reason.
        Part::Refusal(_) => return None,
    })
}

fn tool_use(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input, "caller": {"type": "direct"}})
}

/// The block as its start event shows it, and its deltas.
fn streamed_block(part: &Part) -> (Value, Vec<Value>) {
    let input = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    match part {
        Part::Text(pieces) => {
            let deltas = pieces.iter().map(|text| json!({"type": "text_delta", "text": text}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Part::Thinking { pieces, signature } => {
            let mut deltas: Vec<Value> =
                pieces.iter().map(|text| json!({"type": "thinking_delta", "thinking": text})).collect();
            if let Some(signature) = signature {
                deltas.push(json!({"type": "signature_delta", "signature": signature}));
            }
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Part::Call { id, name, arguments } => {
            (tool_use(id, name, &json!({})), arguments.iter().map(|piece| input(piece)).collect())
        }
        Part::Block(block) => {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
            match block.get("input").filter(|_| is_server_call(kind)) {
                Some(arguments) => {
                    let mut start = block.clone();
                    if let Some(start) = start.as_object_mut() {
                        start.insert("input".to_owned(), json!({}));
                    }
                    (start, vec![input(""), input(&arguments.to_string())])
                }
                None => (block.clone(), Vec::new()),
            }
        }
        Part::RedactedThinking(data) => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
        Part::Refusal(_) => (Value::Null, Vec::new()),
    }
}

/// The three fields that say why an answer ends.
struct Ending {
    reason: String,
    sequence: Option<String>,
    details: Value,
}

impl Ending {
    fn of(choice: &ChoiceScript) -> Self {
        let refusal = choice.parts.iter().find_map(|part| match part {
            Part::Refusal(pieces) => Some(pieces.concat()),
            _ => None,
        });
        let mut sequence = None;
        let reason = match &choice.finish {
            Some(Finish::Raw(word)) => word,
            Some(Finish::Stop) => "end_turn",
            Some(Finish::Length) => "max_tokens",
            Some(Finish::ToolCalls) => "tool_use",
            Some(Finish::ContentFilter | Finish::Refusal) => "refusal",
            Some(Finish::Pause) => "pause_turn",
            Some(Finish::StopSequence(text)) => {
                sequence = Some(text.clone());
                "stop_sequence"
            }
            None if refusal.is_some() => "refusal",
            None if choice.has_calls() => "tool_use",
            None => "end_turn",
        };
        let details = if reason == "refusal" {
            json!({"type": "refusal", "category": null, "explanation": refusal})
        } else {
            Value::Null
        };
        Self { reason: reason.to_owned(), sequence, details }
    }

    fn write(self, into: &mut Map<String, Value>) {
        into.insert("stop_reason".to_owned(), Value::from(self.reason));
        into.insert("stop_sequence".to_owned(), Value::from(self.sequence));
        into.insert("stop_details".to_owned(), self.details);
    }
}

/// The input side: what was read from a cache or written to one is not in `input_tokens`.
fn input_counts(usage: &ReplyUsage) -> Map<String, Value> {
    let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
    let counts = json!({
        "input_tokens": fresh,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
    });
    counts.as_object().cloned().unwrap_or_default()
}

fn output_counts(usage: &ReplyUsage) -> Map<String, Value> {
    let mut counts = Map::new();
    counts.insert("output_tokens".to_owned(), Value::from(usage.output));
    if usage.reasoning > 0 {
        let details = json!({"thinking_tokens": usage.reasoning});
        counts.insert("output_tokens_details".to_owned(), details);
    }
    counts
}
