//! Images and sound that a model makes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_core::message::MadeDocument;
use attache_core::{
    AssistantMessage, AssistantPart, ChatRequest, Document, FinishReason, Message, ModelSettings, StreamChunk,
};
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

// gemini.md 8
#[test]
fn sound_that_comes_in_pieces_is_one_document() {
    let chunk = |data: &str, rate: u32, signature: Option<&str>| {
        let mut part =
            json!({"inlineData": {"mimeType": format!("audio/L16;codec=pcm;rate={rate}"), "data": data}});
        part.as_object_mut().unwrap().extend(signature.map(|it| ("thoughtSignature".to_owned(), json!(it))));
        format!("data: {}\n\n", json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]}))
    };
    let end = "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n".to_owned();
    let read = |chunks: &[String]| -> Vec<Vec<u8>> {
        let codec = GenerateCodec::new("gemini-2.5-flash-preview-tts");
        let replay = replay(&codec, StatusCode::OK, &HeaderMap::new(), [chunks.concat()]);
        assert!(replay.error.is_none(), "{:?}", replay.error);
        let samples = |made: &attache_core::Document| {
            let bytes = made.bytes().unwrap().to_vec();
            if made.media_type().essence() == "audio/wav" { bytes[44..].to_vec() } else { bytes }
        };
        replay.completion.message.documents().map(samples).collect()
    };
    let (one, two) = (chunk("AAE=", 24_000, None), chunk("AgM=", 24_000, None));
    assert_eq!(read(&[one.clone(), two, end.clone()]), [[0, 1, 2, 3]]);
    let faster = chunk("AgM=", 48_000, None);
    assert_eq!(read(&[one.clone(), faster, end.clone()]), [[0, 1], [2, 3]], "another kind of samples");
    let signed = chunk("AgM=", 24_000, Some("sig"));
    assert_eq!(read(&[one.clone(), signed, end.clone()]), [[0, 1], [2, 3]], "what is signed stays as it is");
    let many = vec![one; 20_000];
    assert_eq!(read(&[many.concat(), end])[0].len(), 40_000);
}

// gemini.md 7
#[test]
fn the_words_of_sound_are_the_text_where_there_is_none() {
    let sound = |words: Option<&str>| {
        let mut part = json!({"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "AAE="}});
        part["audioTranscription"] = json!(words.map(|text| json!({"text": text, "finished": false})));
        part
    };
    let read = |parts: &[Value]| {
        let mut events: Vec<Value> = parts
            .iter()
            .map(|part| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]}))
            .collect();
        events.push(json!({"candidates": [{"finishReason": "STOP"}]}));
        let streamed: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let whole = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": parts}}]});
        let codec = GenerateCodec::new("gemini-2.5-flash-preview-tts");
        let [streamed, whole] = [streamed, whole.to_string()].map(|body| {
            let replay = replay(&codec, StatusCode::OK, &HeaderMap::new(), [body]);
            assert!(replay.error.is_none(), "{:?}", replay.error);
            let told: String = replay
                .chunks
                .iter()
                .filter_map(|chunk| match chunk {
                    StreamChunk::Content(piece) => Some(piece.as_str()),
                    _ => None,
                })
                .collect();
            let message = replay.completion.message;
            assert_eq!(told, message.text());
            let sizes: Vec<_> = message.documents().map(|made| made.bytes().unwrap().len() - 44).collect();
            (told, sizes)
        });
        assert_eq!(streamed, whole);
        whole
    };
    let spoken = [sound(None), sound(Some("Good")), sound(Some(" morning.")), sound(None)];
    assert_eq!(read(&spoken), ("Good morning.".to_owned(), vec![8]), "one document with its words");
    let apart = [sound(None), json!({"audioTranscription": {"text": "Good."}}), sound(None)];
    assert_eq!(read(&apart), ("Good.".to_owned(), vec![4]));
    let word = |text: &str| json!({"audioTranscription": {"text": text}});
    let thought = json!({"text": "hm", "thought": true});
    let between = [word("Good"), thought, word(" morning"), word(", Ann."), sound(None)];
    assert_eq!(read(&between), ("Good morning, Ann.".to_owned(), vec![2]));
    let blank = [sound(Some(" ")), json!({"text": "Hi."}), sound(Some("Hi."))];
    assert_eq!(read(&blank).0, " Hi.");
    let own = [json!({"text": "Hi."}), sound(Some("Hi."))];
    assert_eq!(read(&own), ("Hi.".to_owned(), vec![2]));
    let behind = [sound(Some("One")), json!({"text": " two"}), sound(Some(" three"))];
    assert_eq!(read(&behind), ("One two".to_owned(), vec![2, 2]));
}

// gemini.md 8; the head is that of https://www.mmsp.ece.mcgill.ca/Documents/AudioFormats/WAVE/WAVE.html
#[test]
fn sound_of_a_known_rate_is_a_file_that_can_be_played() {
    let made = |media_type: &str| {
        let part = json!({"inlineData": {"mimeType": media_type, "data": "AAECAw=="}});
        let body = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": part}}]});
        let codec = GenerateCodec::new("gemini-2.5-flash-preview-tts");
        let replay = replay(&codec, StatusCode::OK, &HeaderMap::new(), [body.to_string()]);
        let documents: Vec<_> = replay.completion.message.documents().cloned().collect();
        (documents[0].media_type().essence().to_owned(), documents[0].bytes().unwrap().to_vec())
    };
    let wav = [
        &b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0"[..],
        &[0xC0, 0x5D, 0, 0, 0x80, 0xBB, 0, 0, 2, 0, 16, 0],
        b"data\x04\0\0\0\0\x01\x02\x03",
    ];
    assert_eq!(made("audio/L16;codec=pcm;rate=24000"), ("audio/wav".to_owned(), wav.concat()));
    assert_eq!(made("audio/pcm; Rate=24000"), ("audio/wav".to_owned(), wav.concat()));
    for unknown in ["audio/L16", "audio/L16;rate=0", "audio/L16;rate=x"] {
        assert_eq!(made(unknown), ("audio/l16".to_owned(), vec![0, 1, 2, 3]), "{unknown}");
    }
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

// gemini.md 4: Gemini 3's image models refuse what they are told that they said and drew, unless it is signed.
#[test]
fn image_models_get_a_signature_on_the_first_part_and_on_each_image() {
    const STAND_IN: &str = "skip_thought_signature_validator";
    let image = |signature: Option<&str>| {
        let mut part = json!({"inlineData": {"mimeType": "image/png", "data": PNG}});
        part.as_object_mut().unwrap().extend(signature.map(|it| ("thoughtSignature".to_owned(), json!(it))));
        part
    };
    let here = |signature: Option<&str>| {
        let mut part = json!({"text": "Here."});
        part.as_object_mut().unwrap().extend(signature.map(|it| ("thoughtSignature".to_owned(), json!(it))));
        part
    };
    // An image that another model drew.
    let foreign = || Message::Assistant(answered());
    for model in ["gemini-3-pro-image-preview", "gemini-3.1-flash-image"] {
        let codec = GenerateCodec::new(model);
        let parts = json!([here(Some(STAND_IN)), image(Some(STAND_IN))]);
        assert_eq!(sent(&codec, foreign()), parts, "{model}");
        let said = sent(&codec, Message::assistant("Here."));
        assert_eq!(said, json!([here(Some(STAND_IN))]), "{model}");
        let vertex = GenerateCodec::vertex(model).with_project("p", "global");
        assert_eq!(sent(&vertex, foreign()), json!([here(None), image(None)]), "{model}");
    }
    // Its own signatures go back, and texts behind the first part need none.
    let model = "gemini-3-pro-image-preview";
    let body = json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"text": "Hm.", "thought": true}, image(Some("one")), {"text": "And"}, {"text": " another", "thoughtSignature": "two"},
        image(None)]}}]});
    let codec = GenerateCodec::new(model);
    let reply = replay(&codec, StatusCode::OK, &HeaderMap::new(), [body.to_string()]);
    let parts = sent(&codec, Message::Assistant(reply.completion.message));
    let expected = json!([image(Some("one")), {"text": "And"}, {"text": " another", "thoughtSignature": "two"},
        image(Some(STAND_IN))]);
    assert_eq!(parts, expected);
    // A note in the place of the first image is signed, too.
    let drawn =
        AssistantMessage::new([MadeDocument::new(Document::from_bytes(&b"RIFF"[..], "audio/wav")).into()]);
    let note = sent(&codec, Message::Assistant(drawn));
    assert_eq!((note[0]["thoughtSignature"].as_str(), note[0].get("text").is_some()), (Some(STAND_IN), true));
}
