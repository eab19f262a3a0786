//! Helpers of the tests of this crate.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod answers;
pub(crate) mod items;

use std::sync::Arc;

use attache_conformance::{Rules, validate_chat, validate_chat_with};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, Completion, Message, ProviderCallId,
    ProviderError, StreamChunk, ToolCall, ToolCallId, ToolDefinition, ToolResult, ToolResultsMessage,
    ToolSet,
};
use attache_openai::{ChatCodec, Profile};
use attache_transport::{Ask, Codec as _, EncodedRequest, Replay};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

pub(crate) fn compatible() -> Profile {
    Profile::compatible("compatible", "http://localhost:8080/v1")
}

/// The body of a stream of these chunks, ended by `[DONE]`.
pub(crate) fn sse(chunks: &[Value]) -> String {
    let mut body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    body
}

/// A stream chunk with one choice of this delta and finish reason.
pub(crate) fn delta(delta: impl Into<Value>, finish: Option<&str>) -> Value {
    let delta: Value = delta.into();
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// A whole answer of one message.
pub(crate) fn whole(message: impl Into<Value>, finish: &str) -> String {
    let message: Value = message.into();
    json!({"id": "c1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
        .to_string()
}

pub(crate) fn replay_with(profile: Profile, body: &str) -> Replay {
    attache_transport::replay(&ChatCodec::new(profile, "m"), StatusCode::OK, &HeaderMap::new(), [body])
}

pub(crate) fn replay(body: &str) -> Replay {
    replay_with(compatible(), body)
}

/// The reply of a body that must be understood.
pub(crate) fn reply(body: &str) -> Completion {
    let replay = replay(body);
    assert!(replay.error.is_none(), "{:?} in {body}", replay.error);
    deltas_agree(&replay.chunks, &replay.completion);
    replay.completion
}

/// The error of a body that must fail.
pub(crate) fn failure(body: &str) -> ProviderError {
    replay(body).error.unwrap_or_else(|| panic!("no error in {body}"))
}

/// An error response.
pub(crate) fn refused(status: u16, body: &Value) -> ProviderError {
    let status = StatusCode::from_u16(status).unwrap();
    let body = body.to_string();
    attache_transport::replay(&ChatCodec::new(compatible(), "m"), status, &HeaderMap::new(), [body])
        .error
        .unwrap()
}

/// The deltas add up to the message (P07, P09).
pub(crate) fn deltas_agree(chunks: &[StreamChunk], completion: &Completion) {
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut calls: Vec<(String, Option<String>, String)> = Vec::new();
    for chunk in chunks {
        match chunk {
            StreamChunk::Content(piece) => text.push_str(piece),
            StreamChunk::Thinking(piece) => thinking.push_str(piece),
            StreamChunk::ToolCallDelta { slot, id, name, arguments_delta, .. } => {
                if *slot == calls.len() {
                    calls.push((id.to_string(), None, String::new()));
                }
                let call = &mut calls[*slot];
                assert_eq!(call.0, id.as_str(), "the id is on every delta");
                assert!(name.is_none() || call.1.is_none(), "the name comes once");
                call.1 = call.1.take().or_else(|| name.clone());
                call.2.push_str(arguments_delta);
            }
            StreamChunk::Done(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(text, completion.message.text());
    assert_eq!(thinking, completion.message.thinking());
    let made: Vec<_> = completion.message.tool_calls().collect();
    assert_eq!(calls.len(), made.len());
    for ((id, _, arguments), call) in calls.iter().zip(made) {
        assert_eq!((id.as_str(), arguments.as_str()), (call.id.as_str(), call.arguments.raw()));
    }
}

/// Name, provider's id and arguments of each call.
pub(crate) fn calls(completion: &Completion) -> Vec<(String, Option<String>, String)> {
    let calls = completion.message.tool_calls().map(|call| {
        let id = call.provider_id.as_ref().map(ToString::to_string);
        (call.name.clone(), id, call.arguments.raw().to_owned())
    });
    calls.collect()
}

pub(crate) fn openai() -> ChatCodec {
    ChatCodec::new(Profile::openai_chat(), "gpt-4o")
}

pub(crate) fn encode(codec: &ChatCodec, request: &ChatRequest) -> EncodedRequest {
    codec.encode(Ask::new(request, &request.settings, None)).unwrap()
}

pub(crate) fn body(codec: &ChatCodec, request: &ChatRequest) -> Value {
    let body: Value = serde_json::from_slice(&encode(codec, request).parts.body.to_vec()).unwrap();
    let strict = codec.profile().family == "openai-chat";
    let verdict = if strict {
        validate_chat(&body)
    } else {
        validate_chat_with(&body, &Rules::new().with_compatible_fields(true))
    };
    verdict.unwrap_or_else(|violation| panic!("{violation:?} in {body:#}"));
    body
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
