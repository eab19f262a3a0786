//! Helpers of the tests of this crate.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use attache_anthropic::MessagesCodec;
use attache_conformance::{Rules, conversation, validate_messages_with};
use attache_core::{
    AssistantPart, ChatRequest, Completion, ProviderError, ReasoningPart, Secret, StreamChunk, ToolCall,
};
use attache_transport::{Ask, ChunkSink, Codec as _, EncodedRequest, Replay};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

pub(crate) use attache_conformance::conversation::{
    PNG, assistant, pdf, placed, png, replay_data, request, results, routed, sample, shown, tool_turn, tools,
    two_parts,
};

/// The model of most tests: it takes budgets, efforts, sampling and no prefill.
pub(crate) const MODEL: &str = "claude-opus-4-6";

pub(crate) fn call(number: u32, name: &str, arguments: &str) -> ToolCall {
    conversation::call("toolu", number, name, arguments)
}

/// Thinking that `MODEL` signed.
pub(crate) fn thinking(text: &str, signature: &str) -> Option<AssistantPart> {
    let replay = replay_data("anthropic", MODEL, &json!({"signature": signature}));
    Some(AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(replay)))
}

pub(crate) fn codec() -> MessagesCodec {
    MessagesCodec::new(MODEL)
}

/// The request under its own options, with a key that must not be seen.
pub(crate) fn encode_for(
    request: &ChatRequest,
    codec: &MessagesCodec,
) -> Result<EncodedRequest, ProviderError> {
    codec.encode(Ask::new(request, &request.settings, Some(&Secret::new("sk-ant-canary"))))
}

pub(crate) fn encode(request: &ChatRequest) -> Result<EncodedRequest, ProviderError> {
    encode_for(request, &codec())
}

/// The body of a request, which the strict rules of the API accept.
pub(crate) fn body(request: &ChatRequest) -> Value {
    body_for(request, &codec())
}

pub(crate) fn body_for(request: &ChatRequest, codec: &MessagesCodec) -> Value {
    let encoded = encode_for(request, codec).unwrap();
    let body: Value = serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap();
    let flags = encoded.parts.shown_headers().filter(|(name, _)| *name == "anthropic-beta");
    let flags = flags.flat_map(|(_, flags)| flags.split(','));
    if let Err(violation) = validate_messages_with(&body, &Rules::new().with_anthropic_betas(flags)) {
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
    conversation::completion(decode(body).unwrap())
}
