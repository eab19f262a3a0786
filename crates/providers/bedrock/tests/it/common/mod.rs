//! Helpers of the tests of this crate.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use attache_bedrock::ConverseCodec;
use attache_conformance::{conversation, event_frame, validate_converse};
use attache_core::{
    AssistantPart, ChatRequest, Completion, Message, ProviderError, ReasoningPart, Secret, StreamChunk,
    ToolCall,
};
use attache_transport::{Ask, Codec as _, EncodedRequest, Replay, replay as replay_response};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

pub(crate) use attache_conformance::conversation::{
    assistant, pdf, png, replay_data, request, results, routed, shown, tool_turn, tools, two_parts,
};

/// The model of most tests: it takes budgets, efforts, sampling, schemas and no prefill.
pub(crate) const MODEL: &str = "us.anthropic.claude-opus-4-6-v1";

/// Models with rules of their own.
pub(crate) const NOVA: &str = "us.amazon.nova-pro-v1:0";
pub(crate) const NOVA_2: &str = "us.amazon.nova-2-lite-v1:0";
pub(crate) const LLAMA: &str = "us.meta.llama4-maverick-17b-instruct-v1:0";
pub(crate) const MISTRAL: &str = "mistral.mistral-large-2407-v1:0";
pub(crate) const GPT_OSS: &str = "openai.gpt-oss-120b-1:0";
pub(crate) const GPT_5_6: &str = "us.openai.gpt-5.6-sol";
pub(crate) const QWEN: &str = "qwen.qwen3-32b-v1:0";
pub(crate) const WRITER: &str = "us.writer.palmyra-x5-v1:0";

/// One model of each family.
pub(crate) const MODELS: [&str; 13] = [
    MODEL,
    "us.anthropic.claude-3-7-sonnet-20250219-v1:0",
    NOVA,
    NOVA_2,
    LLAMA,
    MISTRAL,
    GPT_OSS,
    GPT_5_6,
    QWEN,
    WRITER,
    "moonshot.kimi-k2-thinking",
    "cohere.command-r-plus-v1:0",
    "ai21.jamba-1-5-large-v1:0",
];

pub(crate) fn call(number: u32, name: &str, arguments: &str) -> ToolCall {
    conversation::call("tooluse", number, name, arguments)
}

/// Reasoning that `MODEL` signed.
pub(crate) fn thinking(text: &str, signature: &str) -> Option<AssistantPart> {
    let replay = replay_data("bedrock-converse", MODEL, &json!({"signature": signature}));
    Some(AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(replay)))
}

pub(crate) fn of(model: &str) -> ConverseCodec {
    ConverseCodec::new(model).with_region("us-east-1")
}

pub(crate) fn codec() -> ConverseCodec {
    of(MODEL)
}

/// The request under its own options, with a key that must not be seen.
pub(crate) fn encode_for(
    request: &ChatRequest,
    codec: &ConverseCodec,
) -> Result<EncodedRequest, ProviderError> {
    codec.encode(Ask::new(request, &request.settings, Some(&Secret::new("canary-key"))))
}

pub(crate) fn encode(request: &ChatRequest) -> Result<EncodedRequest, ProviderError> {
    encode_for(request, &codec())
}

/// The body of a request, which the strict rules of the API accept.
pub(crate) fn body(request: &ChatRequest) -> Value {
    body_for(request, &codec())
}

pub(crate) fn body_for(request: &ChatRequest, codec: &ConverseCodec) -> Value {
    let body = unchecked_body(request, codec).unwrap();
    if let Err(violation) = validate_converse(codec.model(), &body) {
        panic!("{violation:?}\n{body:#}");
    }
    body
}

pub(crate) fn unchecked_body(request: &ChatRequest, codec: &ConverseCodec) -> Result<Value, ProviderError> {
    let encoded = encode_for(request, codec)?;
    Ok(serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap())
}

/// A frame of an event.
pub(crate) fn event(kind: &str, payload: &Value) -> Vec<u8> {
    let headers = [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")];
    event_frame(&headers, payload.to_string().as_bytes()).to_vec()
}

pub(crate) fn exception(kind: &str, payload: &Value) -> Vec<u8> {
    let headers =
        [(":exception-type", kind), (":content-type", "application/json"), (":message-type", "exception")];
    event_frame(&headers, payload.to_string().as_bytes()).to_vec()
}

pub(crate) fn start(index: u64, start: &Value) -> Vec<u8> {
    event("contentBlockStart", &json!({"contentBlockIndex": index, "start": start, "p": "abc"}))
}

pub(crate) fn delta(index: u64, delta: &Value) -> Vec<u8> {
    event("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta, "p": "abcdef"}))
}

pub(crate) fn stop(index: u64) -> Vec<u8> {
    event("contentBlockStop", &json!({"contentBlockIndex": index, "p": "a"}))
}

pub(crate) fn message_stop(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({"stopReason": reason, "p": "ab"}))
}

pub(crate) fn metadata() -> Vec<u8> {
    let usage = json!({"inputTokens": 9, "outputTokens": 5, "totalTokens": 14, "serverToolUsage": {}});
    event("metadata", &json!({"usage": usage, "metrics": {"latencyMs": 7}, "p": ""}))
}

/// A stream of `blocks` between its usual start and end.
pub(crate) fn reply(blocks: &[Vec<u8>], stop_reason: &str) -> Vec<u8> {
    let first = event("messageStart", &json!({"role": "assistant", "p": "abc"}));
    [first, blocks.concat(), message_stop(stop_reason), metadata()].concat()
}

/// A whole reply of these blocks.
pub(crate) fn whole(blocks: &Value, stop_reason: &str) -> Vec<u8> {
    let reply = json!({"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": stop_reason,
        "usage": {"inputTokens": 9, "outputTokens": 5, "totalTokens": 14, "serverToolUsage": {}},
        "metrics": {"latencyMs": 7}});
    reply.to_string().into_bytes()
}

/// Decodes a body under status 200.
pub(crate) fn replay_pieces<B: AsRef<[u8]>>(pieces: impl IntoIterator<Item = B>) -> Replay {
    replay_of(&codec(), pieces)
}

pub(crate) fn replay_of<B: AsRef<[u8]>>(
    codec: &ConverseCodec,
    pieces: impl IntoIterator<Item = B>,
) -> Replay {
    replay_response(codec, StatusCode::OK, &HeaderMap::new(), pieces)
}

pub(crate) fn decode(body: &[u8]) -> Result<Vec<StreamChunk>, ProviderError> {
    let replay = replay_pieces([body]);
    replay.error.map_or(Ok(replay.chunks), Err)
}

pub(crate) fn completion(body: &[u8]) -> Completion {
    conversation::completion(decode(body).unwrap())
}

/// A request of `messages` with the tools of the tests.
pub(crate) fn with_tools(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    request(messages).with_tools(Arc::new(tools()))
}
