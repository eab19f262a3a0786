//! Helpers of the tests of this crate.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use attache_anthropic::MessagesCodec;
use attache_conformance::validate_messages;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Completion, Document, DocumentId, Message,
    ProviderCallId, ProviderError, ReasoningPart, ReplayData, Routed, Secret, StreamChunk, ToolCall,
    ToolCallId, ToolDefinition, ToolResult, ToolResultsMessage, ToolSet, UserPart,
};
use attache_transport::{ChunkSink, Codec as _, EncodedRequest, Replay};
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The model of most tests: it takes budgets, efforts, sampling and no prefill.
pub(crate) const MODEL: &str = "claude-opus-4-6";

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

pub(crate) fn pdf(name: &str) -> Document {
    let id = DocumentId::parse(format!("{name}-id")).unwrap();
    Document::from_bytes(&b"%PDF-1.7 three pages"[..], "application/pdf").with_id(id).with_file_name(name)
}

pub(crate) fn png(name: &str) -> Document {
    let id = DocumentId::parse(format!("{name}-id")).unwrap();
    Document::from_bytes(PNG, "image/png").with_id(id).with_file_name(name)
}

pub(crate) fn tools() -> ToolSet {
    let schema =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    ToolSet::new([
        ToolDefinition::new("files.list", "Lists the files of a folder.", schema("folder")),
        ToolDefinition::new("files.read", "Reads a file.", schema("path"))
            .with_examples([json!({"path": "inbox/invoice.pdf"})]),
    ])
    .unwrap()
}

pub(crate) fn call(number: u32, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(name, Arguments::new(arguments))
        .with_id(ToolCallId::parse(format!("call_{number}")).unwrap())
        .with_provider_id(ProviderCallId::parse(format!("toolu_{number}")))
}

pub(crate) fn assistant(parts: impl IntoIterator<Item = Option<AssistantPart>>) -> Message {
    Message::Assistant(AssistantMessage::new(parts))
}

pub(crate) fn results(results: impl IntoIterator<Item = ToolResult>) -> Message {
    Message::ToolResults(ToolResultsMessage::new(results))
}

/// A result as routing leaves it, with `content` behind its text.
pub(crate) fn routed(
    mut result: ToolResult,
    content: impl IntoIterator<Item = Option<UserPart>>,
) -> ToolResult {
    result.routed = Some(Routed::new(content.into_iter().flatten().collect(), 1));
    result
}

pub(crate) fn replay(family: &str, model: &str, data: &Value) -> ReplayData {
    ReplayData::new(family, model, RawValue::from_string(data.to_string()).unwrap())
}

/// Thinking that `MODEL` signed.
pub(crate) fn thinking(text: &str, signature: &str) -> Option<AssistantPart> {
    let replay = replay("anthropic", MODEL, &json!({"signature": signature}));
    Some(AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(replay)))
}

pub(crate) fn request(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    ChatRequest::new(messages.into_iter().map(Message::shared))
}

pub(crate) fn codec() -> MessagesCodec {
    MessagesCodec::new(MODEL)
}

/// The request under its own options, with a key that must not be seen.
pub(crate) fn encode_for(
    request: &ChatRequest,
    codec: &MessagesCodec,
) -> Result<EncodedRequest, ProviderError> {
    codec.encode(request, &request.settings, Some(&Secret::new("sk-ant-canary")))
}

pub(crate) fn encode(request: &ChatRequest) -> Result<EncodedRequest, ProviderError> {
    encode_for(request, &codec())
}

/// The body of a request, which the strict rules of the API accept.
pub(crate) fn body(request: &ChatRequest) -> Value {
    body_for(request, &codec())
}

pub(crate) fn body_for(request: &ChatRequest, codec: &MessagesCodec) -> Value {
    let body = unchecked_body(request, codec).unwrap();
    if let Err(violation) = validate_messages(&body) {
        panic!("{violation:?}\n{body:#}");
    }
    body
}

pub(crate) fn unchecked_body(request: &ChatRequest, codec: &MessagesCodec) -> Result<Value, ProviderError> {
    let encoded = encode_for(request, codec)?;
    Ok(serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap())
}

/// An event stream.
pub(crate) fn sse(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| {
        let name = event.get("type").and_then(Value::as_str).unwrap_or("other");
        format!("event: {name}\ndata: {event}\n\n").into_bytes()
    };
    events.iter().flat_map(event).collect()
}

/// A stream of `blocks` events between its usual start and end.
pub(crate) fn reply(blocks: &[Value], stop_reason: &str) -> Vec<u8> {
    let start = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": MODEL, "content": [], "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": 5}});
    let mut events = vec![start];
    events.extend(blocks.iter().cloned());
    events.extend([delta, json!({"type": "message_stop"})]);
    sse(&events)
}

pub(crate) fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub(crate) fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub(crate) fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

/// Decodes a body under status 200.
pub(crate) fn replay_pieces<B: AsRef<[u8]>>(pieces: impl IntoIterator<Item = B>) -> Replay {
    attache_transport::replay(&codec(), StatusCode::OK, &HeaderMap::new(), pieces)
}

/// Decodes a body under status 200, given whole, as the reply to a request with `tools()`.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<StreamChunk>, ProviderError> {
    let replay = replay_pieces([body]);
    if let Some(error) = replay.error {
        return Err(error);
    }
    let mut decoder = codec().decoder(Arc::new(tools()), Vec::new());
    let mut sink = ChunkSink::new();
    decoder.push(body, &mut sink)?;
    decoder.finish(&mut sink)?;
    Ok(std::iter::from_fn(|| sink.pop()).collect())
}

pub(crate) fn completion(body: &[u8]) -> Completion {
    match decode(body).unwrap().pop() {
        Some(StreamChunk::Done(completion)) => *completion,
        other => panic!("the last chunk is {other:?}"),
    }
}
