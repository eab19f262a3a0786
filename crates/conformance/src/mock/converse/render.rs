//! A reply as Converse sends it, whole (bedrock.md 4) or as frames (bedrock.md 7).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::frame;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

/// The protocol has one message: the blocks of several choices stand in it one after the other.
fn parts(reply: &Reply) -> impl Iterator<Item = &Part> {
    reply.choices.iter().flat_map(|choice| &choice.parts)
}

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    let content = parts(reply).map(whole_block).collect::<Vec<_>>();
    let mut answer = json!({
        "metrics": {"latencyMs": LATENCY},
        "output": {"message": {"content": content, "role": "assistant"}},
    });
    if let Some(answer) = answer.as_object_mut() {
        Ending::of(reply, request)?.write(answer);
        answer.extend(reply.usage.as_ref().map(|usage| ("usage".to_owned(), counts(usage))));
    }
    Ok(answer)
}

pub(crate) fn render_stream(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    let mut events = Events(vec![]);
    events.push("messageStart", json!({"role": "assistant"}));
    for (index, part) in parts(reply).enumerate() {
        let (start, deltas) = streamed_block(part)?;
        if let Some(start) = start {
            events.push("contentBlockStart", json!({"contentBlockIndex": index, "start": start}));
        }
        for delta in deltas {
            events.push("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}));
        }
        events.push("contentBlockStop", json!({"contentBlockIndex": index}));
    }
    if terminated {
        let mut stop = Map::new();
        Ending::of(reply, request)?.write(&mut stop);
        events.push("messageStop", Value::Object(stop));
        if let Some(usage) = &reply.usage {
            let metrics = json!({"latencyMs": LATENCY});
            events.push("metadata", json!({"metrics": metrics, "usage": counts(usage)}));
        }
    }
    Ok(events.0)
}

/// Any number: nothing depends on it.
const LATENCY: u64 = 42;

struct Events(Vec<Bytes>);

impl Events {
    fn push(&mut self, kind: &str, payload: Value) {
        self.0.push(frame::event(kind, payload, self.0.len()));
    }
}

fn whole_block(part: &Part) -> Value {
    match part {
        Part::Text(pieces) | Part::Refusal(pieces) => json!({"text": pieces.concat()}),
        Part::Thinking { pieces, signature } => {
            let mut text = json!({"text": pieces.concat()});
            if let (Some(signature), Some(text)) = (signature, text.as_object_mut()) {
                text.insert("signature".to_owned(), signature.as_str().into());
            }
            json!({"reasoningContent": {"reasoningText": text}})
        }
        Part::RedactedThinking(data) => json!({"reasoningContent": {"redactedContent": data}}),
        Part::Call { id, name, arguments } => {
            let text = arguments.concat();
            // Arguments that are no JSON come as a string, as some models send them.
            let input = serde_json::from_str(&text).unwrap_or(Value::String(text));
            json!({"toolUse": {"input": input, "name": name, "toolUseId": id, "type": "tool_use"}})
        }
        Part::Block(block) => block.clone(),
    }
}

/// The members of a block's start event, where it has one, and its deltas.
fn streamed_block(part: &Part) -> Result<(Option<Value>, Vec<Value>), String> {
    let text = |text: &str| json!({"text": text});
    Ok(match part {
        Part::Text(pieces) | Part::Refusal(pieces) if pieces.is_empty() => (None, vec![text("")]),
        Part::Text(pieces) | Part::Refusal(pieces) => {
            (None, pieces.iter().map(|piece| text(piece)).collect())
        }
        Part::Thinking { pieces, signature } => {
            let mut deltas: Vec<Value> =
                pieces.iter().map(|piece| json!({"reasoningContent": text(piece)})).collect();
            deltas.extend(
                signature.as_ref().map(|signature| json!({"reasoningContent": {"signature": signature}})),
            );
            (None, deltas)
        }
        Part::RedactedThinking(data) => (None, vec![json!({"reasoningContent": {"redactedContent": data}})]),
        Part::Call { id, name, arguments } => {
            let start = json!({"toolUse": {"name": name, "toolUseId": id, "type": "tool_use"}});
            let deltas = arguments.iter().map(|piece| json!({"toolUse": {"input": piece}}));
            (Some(start), deltas.collect())
        }
        Part::Block(block) => streamed_whole(block)?,
    })
}

/// A block that was scripted whole: a call or a result of a server tool, or an answer with citations.
fn streamed_whole(block: &Value) -> Result<(Option<Value>, Vec<Value>), String> {
    let kinds = ["toolUse", "toolResult", "citationsContent", "image"];
    let found = kinds.into_iter().find_map(|kind| Some((kind, block.get(kind)?)));
    let Some((kind, value)) = found else {
        return Err(format!("ConverseStream cannot stream this block: {block}"));
    };
    let list = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    // The head of a block is all of it but what its deltas bring.
    let start = |body: &str| {
        let mut head = value.clone();
        if let Some(head) = head.as_object_mut() {
            head.remove(body);
        }
        Some(json!({kind: head}))
    };
    let member = |key: &str| value.get(key).unwrap_or(&Value::Null);
    Ok(match kind {
        "toolUse" => (start("input"), vec![json!({"toolUse": {"input": member("input").to_string()}})]),
        "toolResult" => (start("content"), vec![json!({"toolResult": member("content")})]),
        "image" => (start("source"), vec![json!({"image": {"source": member("source")}})]),
        _ => {
            let mut deltas = list("content");
            deltas.extend(list("citations").into_iter().map(|citation| json!({"citation": citation})));
            (None, deltas)
        }
    })
}

/// The fields that say why an answer ends.
struct Ending {
    reason: String,
    sequence: Option<String>,
}

impl Ending {
    fn of(reply: &Reply, request: &RecordedRequest) -> Result<Self, String> {
        let mut sequence = None;
        let reason = match reply.choices.iter().rev().find_map(|choice| choice.finish.as_ref()) {
            Some(Finish::Raw(word)) => word,
            Some(Finish::Stop) => "end_turn",
            Some(Finish::Length) => "max_tokens",
            Some(Finish::ToolCalls) => "tool_use",
            Some(Finish::ContentFilter | Finish::Refusal) => "content_filtered",
            Some(Finish::Pause) => return Err("Converse has no paused turns".to_owned()),
            Some(Finish::StopSequence(text)) => {
                // The stop sequence itself is told on demand only.
                let paths = request.json().get("additionalModelResponseFieldPaths");
                let paths = paths.and_then(Value::as_array).into_iter().flatten();
                let asked = paths.into_iter().any(|path| path == "/stop_sequence");
                sequence = asked.then(|| text.clone());
                "stop_sequence"
            }
            None if parts(reply).any(|part| matches!(part, Part::Refusal(_))) => "content_filtered",
            None if reply.choices.iter().any(ChoiceScript::has_calls) => "tool_use",
            None => "end_turn",
        };
        Ok(Self { reason: reason.to_owned(), sequence })
    }

    fn write(self, into: &mut Map<String, Value>) {
        into.insert("stopReason".to_owned(), self.reason.into());
        if let Some(sequence) = self.sequence {
            let fields = json!({"stop_sequence": sequence});
            into.insert("additionalModelResponseFields".to_owned(), fields);
        }
    }
}

/// The counts: what was read from a cache or written to one is not in `inputTokens`.
fn counts(usage: &ReplyUsage) -> Value {
    let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
    let mut counts = json!({
        "inputTokens": fresh,
        "outputTokens": usage.output,
        "totalTokens": usage.input.saturating_add(usage.output),
        "serverToolUsage": {},
    });
    // Each is sent under two names, and not by models without a cache.
    if let (true, Some(counts)) = (usage.cached + usage.cache_write > 0, counts.as_object_mut()) {
        for (key, tokens) in [("cacheRead", usage.cached), ("cacheWrite", usage.cache_write)] {
            counts.insert(format!("{key}InputTokens"), tokens.into());
            counts.insert(format!("{key}InputTokenCount"), tokens.into());
        }
    }
    counts
}
