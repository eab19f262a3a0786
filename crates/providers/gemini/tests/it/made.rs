//! Images and sound that a model makes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_core::{AssistantPart, ChatRequest, FinishReason, Message, ModelSettings};
use attache_gemini::GenerateCodec;
use attache_transport::{Ask, Codec as _, replay};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// The beginning of a PNG.
const PNG: &str = "iVBORw0KGgo=";

fn answered() -> attache_core::AssistantMessage {
    let body = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "sig"}]}}]});
    let codec = GenerateCodec::new("gemini-2.5-flash-image");
    let replay = replay(&codec, StatusCode::OK, &HeaderMap::new(), [body.to_string()]);
    assert!(replay.error.is_none(), "{:?}", replay.error);
    assert_eq!(replay.completion.finish_reason, FinishReason::Stop);
    replay.completion.message
}

fn sent(codec: &GenerateCodec, message: Message) -> Value {
    let request =
        ChatRequest::new([Message::user("Draw").shared(), message.shared(), Message::user("Bluer").shared()]);
    let body = codec.encode(Ask::new(&request, &ModelSettings::new(), None)).unwrap().parts.body.to_vec();
    serde_json::from_slice::<Value>(&body).unwrap()["contents"][1]["parts"].clone()
}

// C02, C30
#[test]
fn an_image_is_a_document_and_its_bytes_stand_in_no_text() {
    let message = answered();
    let documents: Vec<_> = message.documents().collect();
    assert_eq!((documents.len(), documents[0].media_type().essence()), (1, "image/png"));
    assert_eq!(documents[0].bytes().unwrap(), &b"\x89PNG\r\n\x1a\n"[..]);
    let message = Message::Assistant(message);
    assert_eq!(message.documents().len(), 1, "stores find it");
    let json = serde_json::to_string(&message).unwrap();
    assert!(!json.contains(PNG) && json.contains("sig"), "{json}");
    let back: Message = serde_json::from_str(&json).unwrap();
    assert_eq!(back.documents()[0].id(), message.documents()[0].id());
}

#[test]
fn an_image_alone_is_an_answer() {
    let body = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"inlineData": {"mimeType": "image/png", "data": PNG}}]}}]});
    let codec = GenerateCodec::new("gemini-2.5-flash-image");
    let replay = replay(&codec, StatusCode::OK, &HeaderMap::new(), [body.to_string()]);
    assert_eq!(replay.completion.message.documents().count(), 1);
}

#[test]
fn an_image_goes_back_as_it_came_and_to_others_without_its_signature() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "sig"});
    let own = GenerateCodec::new("gemini-2.5-flash-image");
    assert_eq!(sent(&own, Message::Assistant(answered())), json!([{"text": "Here."}, image]));
    let other = sent(&GenerateCodec::new("gemini-2.5-pro"), Message::Assistant(answered()));
    assert_eq!(other[1], json!({"inlineData": {"mimeType": "image/png", "data": PNG}}));
    // Its bytes are not at hand.
    let json = serde_json::to_string(&Message::Assistant(answered())).unwrap();
    let stored = sent(&own, serde_json::from_str(&json).unwrap());
    assert!(stored[1]["text"].as_str().unwrap().contains("image/png"), "{stored}");
    assert!(matches!(answered().parts[1], AssistantPart::Document(_)));
}
