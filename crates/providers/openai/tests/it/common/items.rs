//! Helpers of the tests of Responses requests.

use std::sync::Arc;

use attache_conformance::{Rules, validate_responses_with};
use attache_core::{AssistantMessage, AssistantPart, ChatRequest, ErrorKind, Message, ToolCall};
use attache_openai::{Profile, Profiles, ResponsesCodec};
use attache_transport::{Ask, Codec as _, EncodedRequest};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

pub(crate) fn profile(name: &str) -> Profile {
    let mut profile = (**Profiles::bundled().get(name).unwrap()).clone();
    if profile.base_url.is_empty() {
        profile.base_url = "https://r.example/openai/v1".to_owned();
    }
    profile
}

pub(crate) fn at(name: &str, model: &str) -> ResponsesCodec {
    ResponsesCodec::new(profile(name), model)
}

/// A model at OpenAI that reasons.
pub(crate) fn gpt() -> ResponsesCodec {
    at("openai", "gpt-5.6")
}

pub(crate) fn encode(codec: &ResponsesCodec, request: &ChatRequest) -> EncodedRequest {
    codec.encode(Ask::new(request, &request.settings, None)).unwrap()
}

/// The body, as the strict rules of OpenAI or those of an imitation let it pass.
pub(crate) fn body(codec: &ResponsesCodec, request: &ChatRequest) -> Value {
    let body: Value = serde_json::from_slice(&encode(codec, request).parts.body.to_vec()).unwrap();
    judged(codec, &body);
    body
}

pub(crate) fn judged(codec: &ResponsesCodec, body: &Value) {
    let own = matches!(codec.profile().family.as_str(), "openai-responses" | "bedrock-mantle");
    let verdict = validate_responses_with(body, &Rules::new().with_compatible_fields(!own));
    verdict.unwrap_or_else(|violation| panic!("{violation:?} in {body:#}"));
}

pub(crate) fn input(codec: &ResponsesCodec, request: &ChatRequest) -> Vec<Value> {
    body(codec, request)["input"].as_array().unwrap().clone()
}

/// The kind and the parameter of the error that a request ends in.
pub(crate) fn refused(codec: &ResponsesCodec, request: &ChatRequest) -> (ErrorKind, Option<String>) {
    let error = codec.encode(Ask::new(request, &request.settings, None)).unwrap_err();
    (error.kind(), error.param().map(str::to_owned))
}

/// The parts that an answer of these output items is kept as.
pub(crate) fn kept(codec: &ResponsesCodec, items: &[Value]) -> Vec<Option<AssistantPart>> {
    let body =
        json!({"id": "resp_1", "object": "response", "status": "completed", "output": items}).to_string();
    let reply = attache_transport::replay(codec, StatusCode::OK, &HeaderMap::new(), [body]);
    assert!(reply.error.is_none(), "{:?} in {items:?}", reply.error);
    reply.completion.message.parts.into_iter().map(Some).collect()
}

/// An answer of these output items.
pub(crate) fn answer(codec: &ResponsesCodec, items: &[Value]) -> Arc<Message> {
    Message::Assistant(AssistantMessage::new(kept(codec, items))).shared()
}

/// The calls of an answer.
pub(crate) fn calls(message: &Message) -> Vec<ToolCall> {
    let Message::Assistant(assistant) = message else { return Vec::new() };
    assistant.tool_calls().cloned().collect()
}

pub(crate) fn thought(id: &str, blob: &str) -> Value {
    json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": blob})
}

pub(crate) fn says(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
}

pub(crate) fn asks(id: &str, call_id: &str, name: &str) -> Value {
    json!({"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": "{}", "status": "completed"})
}
