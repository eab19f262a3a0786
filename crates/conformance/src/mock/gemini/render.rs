//! A reply as Gemini sends it, whole (gemini.md 7) or as chunks (gemini.md 8).

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::models;
use crate::mock::record::RecordedRequest;
use crate::mock::reply::{ChoiceScript, Finish, Part, Reply, ReplyUsage};

pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Value, String> {
    let mut candidates = Vec::with_capacity(reply.choices.len());
    for (index, choice) in reply.choices.iter().enumerate() {
        let parts: Vec<Value> = parts_of(choice)?.into_iter().map(Scripted::whole).collect();
        candidates.push(candidate(index, &parts, Some(choice))?);
    }
    Ok(Envelope::new(reply, request).body(candidates, reply.usage.as_ref()))
}

pub(crate) fn render_stream(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    Ok(chunks(reply, request, terminated)?.iter().map(data_event).collect())
}

/// An event as Google frames it, with CRLF.
pub(super) fn data_event(data: &Value) -> Bytes {
    format!("data: {data}\r\n\r\n").into()
}

/// The chunks as the items of one JSON array, which is what comes without `alt=sse`.
pub(crate) fn render_array(
    reply: &Reply,
    request: &RecordedRequest,
    terminated: bool,
) -> Result<Vec<Bytes>, String> {
    let chunks = chunks(reply, request, terminated)?;
    let mut pieces: Vec<Bytes> = chunks
        .iter()
        .enumerate()
        .map(|(index, chunk)| Bytes::from(format!("{}{chunk}", if index == 0 { "[" } else { ",\r\n" })))
        .collect();
    pieces.push(Bytes::from_static(b"]"));
    Ok(pieces)
}

fn chunks(reply: &Reply, request: &RecordedRequest, terminated: bool) -> Result<Vec<Value>, String> {
    let envelope = Envelope::new(reply, request);
    if reply.blocked.is_some() {
        return Ok(vec![envelope.body(Vec::new(), reply.usage.as_ref())]);
    }
    let mut streams = Vec::new();
    let mut ends = Vec::new();
    for choice in &reply.choices {
        let mut steps = steps(parts_of(choice)?);
        // Google ends with an empty text; a signed one at the end is that text.
        let signed_end = steps.pop_if(|step| {
            step.iter().all(|part| {
                part.get("text") == Some(&Value::from("")) && part.get("thoughtSignature").is_some()
            })
        });
        ends.push(signed_end.unwrap_or_else(|| vec![text("", false)]));
        streams.push(steps.into_iter());
    }
    let mut chunks = Vec::new();
    // The counts in the middle of a stream are lower than those at its end, and thinking is not told yet.
    let early = reply.usage.map(|usage| ReplyUsage::new(usage.input, 1).with_cached(usage.cached));
    // The candidates of one answer are written by turns.
    loop {
        let mut wrote = false;
        for (index, stream) in streams.iter_mut().enumerate() {
            if let Some(parts) = stream.next() {
                chunks.push(envelope.body(vec![candidate(index, &parts, None)?], early.as_ref()));
                wrote = true;
            }
        }
        if !wrote {
            break;
        }
    }
    if terminated {
        for (index, (choice, end)) in reply.choices.iter().zip(ends).enumerate() {
            chunks.push(envelope.body(vec![candidate(index, &end, Some(choice))?], reply.usage.as_ref()));
        }
    }
    Ok(chunks)
}

/// The members that every chunk and the whole answer share.
struct Envelope<'r> {
    id: String,
    model: String,
    blocked: Option<&'r str>,
}

impl<'r> Envelope<'r> {
    fn new(reply: &'r Reply, request: &RecordedRequest) -> Self {
        let asked = || models::id(models::resource(request.uri.path())).to_owned();
        Self {
            id: reply.id.clone().unwrap_or_else(|| format!("mock{}", request.index)),
            model: reply.model.clone().unwrap_or_else(asked),
            blocked: reply.blocked.as_deref(),
        }
    }

    fn body(&self, candidates: Vec<Value>, usage: Option<&ReplyUsage>) -> Value {
        let mut body = Map::new();
        match self.blocked {
            Some(reason) => _ = body.insert("promptFeedback".to_owned(), json!({"blockReason": reason})),
            None => _ = body.insert("candidates".to_owned(), Value::Array(candidates)),
        }
        if let Some(usage) = usage {
            body.insert("usageMetadata".to_owned(), usage_of(usage, self.blocked.is_some()));
        }
        body.insert("modelVersion".to_owned(), Value::from(self.model.as_str()));
        body.insert("responseId".to_owned(), Value::from(self.id.as_str()));
        Value::Object(body)
    }
}

/// A part with its signature.
struct Scripted {
    data: Data,
    signature: Option<String>,
}

enum Data {
    /// Text in the pieces in which it is streamed.
    Text { thought: bool, pieces: Vec<String> },
    /// A part that comes at once.
    Part(Value),
}

fn parts_of(choice: &ChoiceScript) -> Result<Vec<Scripted>, String> {
    let mut scripted = Vec::new();
    for (index, part) in choice.parts.iter().enumerate() {
        let mut signature = choice.signatures.get(&index).cloned();
        let data = match part {
            Part::Text(pieces) => Data::Text { thought: false, pieces: pieces.clone() },
            Part::Thinking { pieces, signature: own } => {
                signature = signature.or_else(|| own.clone());
                Data::Text { thought: true, pieces: pieces.clone() }
            }
            Part::RedactedThinking(blob) => {
                signature = Some(blob.clone());
                Data::Text { thought: false, pieces: Vec::new() }
            }
            Part::Call { id, name, arguments } => Data::Part(call(id, name, &arguments.concat())),
            Part::Block(part) => Data::Part(part.clone()),
            Part::Refusal(_) => return Err("Gemini has no refusal".to_owned()),
        };
        scripted.push(Scripted { data, signature });
    }
    Ok(scripted)
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    // Only an object can stand in an answer.
    let args = serde_json::from_str(arguments).ok().filter(Value::is_object).unwrap_or_else(|| json!({}));
    let mut call = Map::new();
    if !id.is_empty() {
        call.insert("id".to_owned(), Value::from(id));
    }
    call.insert("name".to_owned(), Value::from(name));
    call.insert("args".to_owned(), args);
    json!({"functionCall": call})
}

impl Scripted {
    /// The part as it stands in a whole answer.
    fn whole(self) -> Value {
        let part = match self.data {
            Data::Text { thought, pieces } => text(&pieces.concat(), thought),
            Data::Part(part) => part,
        };
        signed(part, self.signature)
    }
}

fn text(text: &str, thought: bool) -> Value {
    if thought { json!({"text": text, "thought": true}) } else { json!({"text": text}) }
}

fn signed(mut part: Value, signature: Option<String>) -> Value {
    if let (Some(part), Some(signature)) = (part.as_object_mut(), signature) {
        part.insert("thoughtSignature".to_owned(), Value::from(signature));
    }
    part
}

/// The parts of each chunk: texts piece by piece with the signature on the last, neighbouring calls together.
fn steps(scripted: Vec<Scripted>) -> Vec<Vec<Value>> {
    let is_call = |part: &Value| part.get("functionCall").is_some();
    let mut steps: Vec<Vec<Value>> = Vec::new();
    for Scripted { data, signature } in scripted {
        match data {
            Data::Text { thought, pieces } if pieces.len() > 1 => {
                steps.extend(pieces.iter().map(|piece| vec![text(piece, thought)]));
                if let Some(last) = steps.last_mut().and_then(|step| step.pop()) {
                    steps.pop();
                    steps.push(vec![signed(last, signature)]);
                }
            }
            data => {
                let part = Scripted { data, signature }.whole();
                match steps.last_mut() {
                    Some(step) if is_call(&part) && step.iter().all(is_call) => step.push(part),
                    _ => steps.push(vec![part]),
                }
            }
        }
    }
    steps
}

/// A candidate; its end only where the choice is given.
fn candidate(index: usize, parts: &[Value], ended: Option<&ChoiceScript>) -> Result<Value, String> {
    let mut content = Map::new();
    if !parts.is_empty() {
        content.insert("parts".to_owned(), Value::from(parts));
    }
    content.insert("role".to_owned(), Value::from("model"));
    let mut candidate = Map::new();
    candidate.insert("content".to_owned(), Value::Object(content));
    if let Some(choice) = ended {
        candidate.insert("finishReason".to_owned(), Value::from(finish_of(choice)?));
        let message = choice.finish_message.as_deref();
        let message = message.or_else(|| choice.has_calls().then_some("Model generated function call(s)."));
        if let Some(message) = message {
            candidate.insert("finishMessage".to_owned(), Value::from(message));
        }
    }
    candidate.insert("index".to_owned(), Value::from(index));
    Ok(Value::Object(candidate))
}

fn finish_of(choice: &ChoiceScript) -> Result<&str, String> {
    Ok(match &choice.finish {
        None | Some(Finish::Stop | Finish::ToolCalls | Finish::StopSequence(_)) => "STOP",
        Some(Finish::Length) => "MAX_TOKENS",
        Some(Finish::ContentFilter) => "SAFETY",
        Some(Finish::Raw(word)) => word,
        Some(Finish::Refusal) => return Err("Gemini has no refusal".to_owned()),
        Some(Finish::Pause) => return Err("Gemini does not pause".to_owned()),
    })
}

/// The counts; what is zero is left out, as protobuf JSON does. A blocked prompt has no candidates to count.
fn usage_of(usage: &ReplyUsage, blocked: bool) -> Value {
    let output = if blocked { 0 } else { usage.output };
    let mut counts = Map::new();
    for (key, count) in [
        ("promptTokenCount", usage.input),
        ("candidatesTokenCount", output.saturating_sub(usage.reasoning)),
        ("totalTokenCount", usage.input.saturating_add(output)),
        ("cachedContentTokenCount", usage.cached),
        ("thoughtsTokenCount", usage.reasoning.min(output)),
    ] {
        if count > 0 {
            counts.insert(key.to_owned(), Value::from(count));
        }
    }
    for (key, count) in [("promptTokensDetails", usage.input), ("cacheTokensDetails", usage.cached)] {
        if count > 0 {
            counts.insert(key.to_owned(), json!([{"modality": "TEXT", "tokenCount": count}]));
        }
    }
    Value::Object(counts)
}
