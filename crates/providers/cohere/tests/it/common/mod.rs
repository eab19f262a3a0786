//! The helpers that the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use attache_cohere::CohereCodec;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Completion, Message, ProviderCallId,
    ProviderError, StreamChunk, ToolCall, ToolCallId, ToolDefinition, ToolResult, ToolResultsMessage,
    ToolSet,
};
use attache_transport::{Ask, Codec as _, EncodedRequest, Replay, replay};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// A model that reasons and calls tools.
pub(crate) const MODEL: &str = "command-a-reasoning-08-2025";

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

pub(crate) fn codec() -> CohereCodec {
    CohereCodec::new(MODEL)
}

/// An event stream of these events and its end mark.
pub(crate) fn sse(events: &[Value]) -> String {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    let mut body: String = events.iter().map(event).collect();
    body.push_str("data: [DONE]\n\n");
    body
}

/// An event that brings a piece of the message.
pub(crate) fn piece(kind: &str, index: u64, message: &Value) -> Value {
    json!({"type": kind, "index": index, "delta": {"message": message}})
}

pub(crate) fn end(reason: &str) -> Value {
    json!({"type": "message-end", "delta": {"finish_reason": reason, "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}}}})
}

pub(crate) fn decode(body: &str) -> Replay {
    replay(&codec(), StatusCode::OK, &HeaderMap::new(), [body])
}

/// The reply of a body that must be understood.
pub(crate) fn reply(body: &str) -> Completion {
    let replay = decode(body);
    assert!(replay.error.is_none(), "{:?} in {body}", replay.error);
    deltas_agree(&replay.chunks, &replay.completion);
    replay.completion
}

/// The error of a body that must fail.
pub(crate) fn failure(body: &str) -> ProviderError {
    decode(body).error.unwrap_or_else(|| panic!("no error in {body}"))
}

/// The deltas add up to the message (P07, P09).
pub(crate) fn deltas_agree(chunks: &[StreamChunk], completion: &Completion) {
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut calls: Vec<(String, String)> = Vec::new();
    for chunk in chunks {
        match chunk {
            StreamChunk::Content(piece) => text.push_str(piece),
            StreamChunk::Thinking(piece) => thinking.push_str(piece),
            StreamChunk::ToolCallDelta { slot, id, arguments_delta, .. } => {
                if *slot == calls.len() {
                    calls.push((id.to_string(), String::new()));
                }
                assert_eq!(calls[*slot].0, id.as_str(), "the id is on every delta");
                calls[*slot].1.push_str(arguments_delta);
            }
            StreamChunk::Done(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!((text, thinking), (completion.message.text(), completion.message.thinking()));
    let made: Vec<_> = completion
        .message
        .tool_calls()
        .map(|call| (call.id.to_string(), call.arguments.raw().to_owned()))
        .collect();
    assert_eq!(calls, made);
}

/// The kinds of the parts that only the provider understands, with their JSON.
pub(crate) fn opaque(message: &AssistantMessage) -> Vec<(&str, &str)> {
    let parts = message.parts.iter().filter_map(|part| match part {
        AssistantPart::Opaque(part) => Some((part.kind.as_str(), part.replay.json())),
        _ => None,
    });
    parts.collect()
}

pub(crate) fn encode(codec: &CohereCodec, request: &ChatRequest) -> EncodedRequest {
    codec.encode(Ask::new(request, &request.settings, None)).unwrap()
}

pub(crate) fn body(codec: &CohereCodec, request: &ChatRequest) -> Value {
    serde_json::from_slice(&encode(codec, request).parts.body.to_vec()).unwrap()
}

pub(crate) fn shown(body: &Value) -> String {
    serde_json::to_string_pretty(body).unwrap()
}

pub(crate) fn user(text: &str) -> Arc<Message> {
    Message::user(text).shared()
}

pub(crate) fn tools() -> ToolSet {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolSet::new([
        ToolDefinition::new("weather.now", "The weather in a city.", schema)
            .with_examples([json!({"city": "Rome"})]),
        ToolDefinition::new("clock", "", json!({})),
    ])
    .unwrap()
}

pub(crate) fn call(name: &str, id: &str, arguments: &str) -> ToolCall {
    let ours = ToolCallId::parse(format!("call_ours_{id}")).unwrap();
    ToolCall::new(name, Arguments::new(arguments)).with_id(ours).with_provider_id(ProviderCallId::parse(id))
}

pub(crate) fn asks(text: &str, calls: &[&ToolCall]) -> Arc<Message> {
    let calls = calls.iter().map(|call| (*call).clone().into());
    Message::Assistant(AssistantMessage::new([AssistantPart::text(text)].into_iter().chain(calls))).shared()
}

pub(crate) fn answers(results: impl IntoIterator<Item = ToolResult>) -> Arc<Message> {
    Message::ToolResults(ToolResultsMessage::new(results)).shared()
}
