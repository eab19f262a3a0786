//! Helpers of the tests of this crate.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use attache_conformance::{conversation, validate_gemini};
use attache_core::message::ReplayData;
use attache_core::{
    AssistantPart, ChatRequest, Completion, ProviderError, ReasoningPart, Secret, StreamChunk, TextPart,
    ToolCall,
};
use attache_gemini::GenerateCodec;
use attache_transport::{Ask, ChunkSink, Codec as _, EncodedRequest, Replay, replay};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

pub(crate) use attache_conformance::conversation::{
    assistant, pdf, placed, png, replay_data, request, results, routed, sample, shown, tool_turn, tools,
};

/// The model of most tests: it demands signatures, takes efforts, and media in results.
pub(crate) const MODEL: &str = "gemini-3-flash-preview";
/// The generation before.
pub(crate) const OLD: &str = "gemini-2.5-flash";

/// A call as another provider made it.
pub(crate) fn call(number: u32, name: &str, arguments: &str) -> ToolCall {
    conversation::call("id", number, name, arguments)
}

/// A call that `MODEL` signed.
pub(crate) fn signed(number: u32, name: &str, arguments: &str, signature: &str) -> ToolCall {
    call(number, name, arguments).with_replay(replay_of(MODEL, signature))
}

pub(crate) fn replay_of(model: &str, signature: &str) -> ReplayData {
    replay_data("gemini", model, &json!({"thoughtSignature": signature}))
}

/// A text that `MODEL` signed.
pub(crate) fn signed_text(text: &str, signature: &str) -> Option<AssistantPart> {
    TextPart::new(text).map(|part| AssistantPart::Text(part.with_replay(replay_of(MODEL, signature))))
}

/// Thinking, signed by `MODEL` if there is a signature.
pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Option<AssistantPart> {
    let replay = signature.map(|signature| replay_of(MODEL, signature));
    Some(AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(replay)))
}

pub(crate) fn codec() -> GenerateCodec {
    GenerateCodec::new(MODEL)
}

/// The request under its own options, with a key that must not be seen.
pub(crate) fn encode_for(
    request: &ChatRequest,
    codec: &GenerateCodec,
) -> Result<EncodedRequest, ProviderError> {
    codec.encode(Ask::new(request, &request.settings, Some(&Secret::new("AIza-canary"))))
}

pub(crate) fn encode(request: &ChatRequest) -> Result<EncodedRequest, ProviderError> {
    encode_for(request, &codec())
}

/// The body of a request, which the strict rules of the API accept.
pub(crate) fn body(request: &ChatRequest) -> Value {
    body_for(request, &codec())
}

pub(crate) fn body_for(request: &ChatRequest, codec: &GenerateCodec) -> Value {
    let body = unchecked_body(request, codec).unwrap();
    let model = match codec.model_id().split_once('/') {
        Some(("vertex", model)) => format!("projects/p/locations/l/publishers/google/models/{model}"),
        _ => format!("models/{}", codec.model()),
    };
    if let Err(violation) = validate_gemini(&model, &body) {
        panic!("{violation:?}\n{body:#}");
    }
    body
}

pub(crate) fn unchecked_body(request: &ChatRequest, codec: &GenerateCodec) -> Result<Value, ProviderError> {
    let encoded = encode_for(request, codec)?;
    Ok(serde_json::from_slice(&encoded.parts.body.to_vec()).unwrap())
}

/// The contents of a request.
pub(crate) fn contents(request: &ChatRequest) -> Value {
    body(request)["contents"].clone()
}

/// An event stream as the API frames it.
pub(crate) fn sse(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| format!("data: {chunk}\r\n\r\n").into_bytes()).collect()
}

/// A chunk of the first candidate.
pub(crate) fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    candidates(&[json!({"content": {"parts": parts, "role": "model"}, "finishReason": finish, "index": 0})])
}

pub(crate) fn candidates(candidates: &[Value]) -> Value {
    json!({"candidates": candidates, "modelVersion": MODEL, "responseId": "r_1",
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}})
}

/// Decodes a body under status 200.
pub(crate) fn replay_pieces<B: AsRef<[u8]>>(pieces: impl IntoIterator<Item = B>) -> Replay {
    replay(&codec(), StatusCode::OK, &HeaderMap::new(), pieces)
}

/// Decodes a body under status 200, given whole, as the reply to a request with `tools()`.
pub(crate) fn decode(body: &[u8]) -> Result<Vec<StreamChunk>, ProviderError> {
    let mut decoder = codec().decoder(Arc::new(tools()), Vec::new());
    let mut sink = ChunkSink::new();
    decoder.push(body, &mut sink)?;
    if !sink.is_done() {
        decoder.finish(&mut sink)?;
    }
    Ok(std::iter::from_fn(|| sink.pop()).collect())
}

pub(crate) fn completion(body: &[u8]) -> Completion {
    conversation::completion(decode(body).unwrap())
}

/// The completion of one whole reply.
pub(crate) fn whole(reply: &Value) -> Completion {
    completion(reply.to_string().as_bytes())
}

pub(crate) fn failure(body: &[u8]) -> ProviderError {
    match decode(body) {
        Err(error) => error,
        Ok(chunks) => panic!("no error but {chunks:?}"),
    }
}

/// Parts by kind and text, for comparing.
pub(crate) fn shape(completion: &Completion) -> Vec<String> {
    let parts = completion.message.parts.iter().map(|part| match part {
        AssistantPart::Text(part) => format!("text {:?}{}", part.text(), mark(part.replay())),
        AssistantPart::Reasoning(part) => format!("thought {:?}{}", part.text(), mark(part.replay())),
        AssistantPart::ToolCall(call) => {
            let arguments = call.arguments.json().unwrap_or("none");
            format!("call {} {arguments}{}", call.name, mark(call.replay.as_deref()))
        }
        AssistantPart::Opaque(part) => format!("{} {}", part.kind, part.replay.json()),
        _ => "something else".to_owned(),
    });
    parts.collect()
}

fn mark(replay: Option<&ReplayData>) -> String {
    replay.map(|replay| format!(" {}", replay.json())).unwrap_or_default()
}
