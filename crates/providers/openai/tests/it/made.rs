//! Images and sound that a model makes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_core::{ChatRequest, Message};
use serde_json::{Value, json};

use crate::common;
use crate::common::answers::{self, added, completed, done};
use crate::common::{delta, encode, openai, reply, sse, user, whole};

/// The beginnings of a PNG and of a WAV.
const PNG: &str = "iVBORw0KGgo=";
const WAV: &str = "UklGRiQAAABXQVZFZm10IA==";

fn kinds(message: &attache_core::AssistantMessage) -> Vec<String> {
    message.documents().map(|document| document.media_type().essence().to_owned()).collect()
}

fn second(body: &Value) -> Value {
    body["messages"][1].clone()
}

// openai.md B.2, C02, C30
#[test]
fn an_image_of_the_hosted_tool_is_a_document_and_goes_back_as_its_item() {
    let begun = json!({"type": "image_generation_call", "id": "ig_1", "status": "in_progress"});
    let item = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed", "output_format": "png", "result": PNG});
    let message =
        answers::reply(&[added(0, &begun), done(0, &item), completed(std::slice::from_ref(&item))]).message;
    assert_eq!(kinds(&message), ["image/png"]);
    let message = Message::Assistant(message);
    assert!(!serde_json::to_string(&message).unwrap().contains(PNG));
    let request = ChatRequest::new([user("Draw"), message.shared(), user("Bluer")]);
    let codec = attache_openai::ResponsesCodec::from("m");
    let body: Value =
        serde_json::from_slice(&common::items::encode(&codec, &request).parts.body.to_vec()).unwrap();
    assert_eq!(body["input"][1], item);
    // Chat Completions has no such item: a note stands there.
    let chat: Value = serde_json::from_slice(&encode(&openai(), &request).parts.body.to_vec()).unwrap();
    let note = "[You made a document of type image/png here. It cannot be shown in this place.]";
    assert_eq!(second(&chat), json!({"role": "assistant", "content": note}));
}

// openai.md C.9
#[test]
fn images_of_openrouters_tool_are_documents() {
    let item_of = |name: &str, value: Value| {
        let mut item = json!({"type": "openrouter:image_generation", "id": "ig_1", "status": "completed", "prompt": "a cat"});
        item[name] = value;
        item
    };
    let codec = attache_openai::ResponsesCodec::from("m");
    for (name, other) in [("result", None), ("imageB64", None), ("imageB64", Some(Value::Null))] {
        let mut item = item_of(name, json!(PNG));
        if let Some(other) = other {
            item["result"] = other;
        }
        let message = answers::reply(&[done(0, &item), completed(std::slice::from_ref(&item))]).message;
        assert_eq!(kinds(&message), ["image/png"], "{item}");
        let request = ChatRequest::new([user("Draw"), Message::Assistant(message).shared(), user("Bluer")]);
        let body = common::items::encode(&codec, &request).parts.body.to_vec();
        let sent = serde_json::from_slice::<Value>(&body).unwrap()["input"][1].clone();
        assert_eq!(sent, item_of("result", json!(PNG)), "as the one member that both may have");
    }
    let address = item_of("result", json!("https://host/x.png"));
    let reply = answers::reply(&[done(0, &address), completed(std::slice::from_ref(&address))]);
    assert_eq!(answers::parts(&reply), ["opaque openrouter:image_generation"]);
}

// openai.md B.2
#[test]
fn an_image_of_vectors_has_its_own_media_type() {
    let svg = attache_core::base64::encode(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    let item = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed", "output_format": "svg", "result": svg});
    let message = answers::reply(&[done(0, &item), completed(std::slice::from_ref(&item))]).message;
    assert_eq!(kinds(&message), ["image/svg+xml"]);
}

// openai.md B.2
#[test]
fn images_that_code_drew_are_documents_and_go_back_in_their_item() {
    let item = json!({"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "plot()",
        "container_id": "cntr_1", "outputs": [{"type": "logs", "logs": "done"},
            {"type": "image", "url": format!("data:image/png;base64,{PNG}")},
            {"type": "image", "url": "https://host/x.png"}]});
    let said = answers::message("msg_1", "See.");
    let message = answers::reply(&[done(0, &item), done(1, &said), completed(&[item.clone(), said])]).message;
    assert_eq!((kinds(&message), message.text()), (vec!["image/png".to_owned()], "See.".to_owned()));
    let request = ChatRequest::new([user("Draw"), Message::Assistant(message).shared(), user("Bluer")]);
    let codec = attache_openai::ResponsesCodec::from("m");
    let body: Value =
        serde_json::from_slice(&common::items::encode(&codec, &request).parts.body.to_vec()).unwrap();
    assert_eq!(body["input"][1], item);
    assert_eq!(
        (&body["input"][2]["role"], body["input"].as_array().unwrap().len()),
        (&json!("assistant"), 4)
    );
    let chat: Value = serde_json::from_slice(&encode(&openai(), &request).parts.body.to_vec()).unwrap();
    assert!(second(&chat)["content"].as_str().unwrap().contains("type image/png"), "{chat}");
}

// openai.md B.2, D 23: the items stay behind with the reasoning of another model, of their pictures a note is left
#[test]
fn a_note_tells_of_an_image_whose_item_does_not_go_back() {
    use common::items::{answer, at, gpt, input, says, thought};
    let url = format!("data:image/png;base64,{PNG}");
    let ran = json!({"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "plot()",
        "container_id": "cntr_1", "outputs": [{"type": "image", "url": url}]});
    let drew = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed", "output_format": "png", "result": PNG});
    let note = "[You made a document of type image/png here. It cannot be shown in this place.]";
    for item in [ran, drew] {
        let answer = answer(&gpt(), &[thought("rs_1", "gAAA1"), item.clone(), says("msg_1", "See.")]);
        let request = ChatRequest::new([user("Draw"), answer, user("Bluer")]);
        assert_eq!(input(&gpt(), &request)[2], item, "to its own model the item goes back");
        let other = input(&at("openai", "gpt-5.5"), &request);
        let said: Vec<&Value> = other.iter().map(|item| &item["content"]).collect();
        assert_eq!((said[1], said[2], said.len()), (&json!(note), &json!("See."), 4), "{}", item["type"]);
    }
}

// openai.md A.5, C.9
#[test]
fn images_and_sound_beside_the_content_are_documents() {
    let image = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}});
    let message = reply(&whole(json!({"content": "Here.", "images": [image]}), "stop")).message;
    assert_eq!((kinds(&message), message.text()), (vec!["image/png".to_owned()], "Here.".to_owned()));
    let audio = json!({"id": "audio_1", "data": WAV, "transcript": "Hello", "expires_at": 1});
    let message = reply(&whole(json!({"content": null, "audio": audio}), "stop")).message;
    assert_eq!((kinds(&message), message.text()), (vec!["audio/wav".to_owned()], "Hello".to_owned()));
    assert!(!serde_json::to_string(&Message::Assistant(message)).unwrap().contains(WAV));
    // Pieces are base64 each by itself.
    let streamed = sse(&[
        delta(json!({"audio": {"id": "audio_1", "transcript": "Hel"}}), None),
        delta(json!({"audio": {"data": "AAE="}}), None),
        delta(json!({"audio": {"data": "AgM=", "transcript": "lo"}}), None),
        delta(json!({}), Some("stop")),
    ]);
    let message = reply(&streamed).message;
    assert_eq!((kinds(&message), message.text()), (vec!["audio/pcm".to_owned()], "Hello".to_owned()));
    assert_eq!(message.documents().next().unwrap().bytes().unwrap(), &[0, 1, 2, 3][..]);
}

// openai.md C.7
#[test]
fn pictures_that_code_drew_at_groq_are_documents() {
    let begun = json!({"index": 0, "type": "python", "arguments": "{}"});
    let mut ended = begun.clone();
    ended["code_results"] =
        json!([{"text": "Figure"}, {"png": PNG, "chart": {"type": "line", "elements": []}}]);
    let message = reply(&whole(json!({"content": "See.", "executed_tools": [ended]}), "stop")).message;
    let streamed = reply(&sse(&[
        delta(json!({"executed_tools": [begun]}), None),
        delta(json!({"executed_tools": [ended]}), None),
        delta(json!({"content": "See.", "executed_tools": ended}), Some("stop")),
    ]));
    for message in [message, streamed.message] {
        assert_eq!((kinds(&message), message.text()), (vec!["image/png".to_owned()], "See.".to_owned()));
        let message = Message::Assistant(message);
        let json = serde_json::to_string(&message).unwrap();
        assert!(!json.contains(PNG) && json.contains("Figure"), "{json}");
        let request = ChatRequest::new([user("Draw"), message.shared(), user("Bluer")]);
        let chat: Value = serde_json::from_slice(&encode(&openai(), &request).parts.body.to_vec()).unwrap();
        assert!(second(&chat)["content"].as_str().unwrap().contains("type image/png"), "{chat}");
    }
}
