//! What the tests of Responses requests share.

use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ErrorKind, Message, OpaquePart, ProviderCallId,
    ReasoningPart, ReplayData, TextPart, ToolCall,
};
use attache_openai::{Profile, Profiles, ResponsesCodec};
use attache_testkit::{Rules, validate_responses_with};
use attache_transport::{Codec as _, EncodedRequest};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::sync::Arc;

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
    codec.encode(request, &request.options, None).unwrap()
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
    let error = codec.encode(request, &request.options, None).unwrap_err();
    (error.kind(), error.param().map(str::to_owned))
}

fn replay(codec: &ResponsesCodec, item: &Value) -> ReplayData {
    ReplayData::new(codec.profile().name.as_str(), codec.model(), to_raw_value(item).unwrap())
}

/// The parts that an answer of these output items is kept as.
pub(crate) fn kept(codec: &ResponsesCodec, items: &[Value]) -> Vec<Option<AssistantPart>> {
    let parts = items.iter().flat_map(|item| match item["type"].as_str().unwrap() {
        "reasoning" => {
            let text = item["summary"][0]["text"].as_str().map(str::to_owned);
            let part = text.map_or_else(ReasoningPart::redacted, ReasoningPart::new);
            vec![Some(AssistantPart::Reasoning(part.with_replay(replay(codec, item))))]
        }
        "message" => {
            let mut envelope = item.clone();
            envelope.as_object_mut().unwrap().remove("content");
            let parts = item["content"].as_array().unwrap().iter().map(|part| {
                let text = |member: &str| TextPart::new(part[member].as_str().unwrap());
                let part = match part["type"].as_str().unwrap() {
                    "refusal" => text("refusal").map(TextPart::as_refusal),
                    _ => text("text"),
                };
                part.map(|part| AssistantPart::Text(part.with_replay(replay(codec, &envelope))))
            });
            parts.collect()
        }
        "function_call" => {
            let text = |member: &str| item[member].as_str().unwrap();
            let call = ToolCall::new(text("name"), Arguments::new(text("arguments")));
            let call = call.with_provider_id(ProviderCallId::parse(text("call_id")));
            vec![call.with_replay(replay(codec, item)).into()]
        }
        kind => vec![Some(AssistantPart::Opaque(OpaquePart::new(kind, replay(codec, item))))],
    });
    parts.collect()
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
