//! Each rule with a body that keeps it and one that breaks it.

mod fields;
mod history;
mod parts;
mod render;
mod tools;

use serde_json::{Value, json};

use super::{validate_gemini, validate_gemini_with};
use crate::mock::Rules;
use crate::testing::{PDF, base64, png, spoiled};

const OLD: &str = "models/gemini-2.5-flash";
const NEW: &str = "models/gemini-3-flash-preview";
const VERTEX: &str = "projects/p/locations/global/publishers/google/models/gemini-3-flash-preview";
/// A model of which nothing is known.
const ANY: &str = "models/mock-model";

/// The smallest valid body.
fn body() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
}

/// Expects the smallest body to be valid for the model after the change.
#[track_caller]
fn keeps(model: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    assert_eq!(validate_gemini(model, &body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule after the change: at `path`, with `words` in the message.
#[track_caller]
fn breaks(model: &str, path: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    let violation = validate_gemini(model, &body).expect_err("a broken rule");
    assert_eq!((violation.status, violation.kind), (400, "INVALID_ARGUMENT"));
    assert_eq!(violation.path, path, "{violation}");
    assert!(violation.message.contains(words), "{violation}");
}

fn set(key: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |body| body[key] = value
}

/// Puts these contents behind the first one.
fn then(contents: Value) -> impl FnOnce(&mut Value) {
    move |body| {
        let Value::Array(contents) = contents else { panic!("a list of contents") };
        body["contents"].as_array_mut().expect("a list").extend(contents);
    }
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let schema = json!({"type": "OBJECT", "properties": {
        "a": {"type": "STRING", "enum": ["x"], "description": "d", "nullable": true},
        "b": {"type": "ARRAY", "items": {"type": "INTEGER", "format": "int32"}, "minItems": "1"},
    }, "required": ["a"]});
    let body = json!({
        "systemInstruction": {"role": "user", "parts": [{"text": "x"}]},
        "contents": [
            {"role": "user", "parts": [
                {"text": "x"},
                {"inlineData": {"mimeType": "image/png", "data": base64(png(1, 1)), "displayName": "a.png"}},
                {"inline_data": {"mime_type": "application/pdf", "data": base64(PDF)}},
                {"fileData": {"mimeType": "video/mp4", "fileUri": "https://host/v"}, "videoMetadata": {
                    "startOffset": "1s", "endOffset": "2s", "fps": 2.0,
                }},
            ]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true},
                {"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
            ]},
            {"role": "user", "parts": [{"functionResponse": {"id": "1", "name": "f", "response": {"output": 1}, "parts": [
                {"inlineData": {"mimeType": "image/png", "data": base64(png(1, 1))}},
            ]}}]},
        ],
        "tools": [{"functionDeclarations": [
            {"name": "f", "description": "d", "parameters": schema},
            {"name": "g", "parametersJsonSchema": {"type": "object"}, "responseJsonSchema": {}},
        ]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}],
        "generationConfig": {
            "temperature": 1.0, "topP": 0.9, "topK": 40, "maxOutputTokens": 10, "stopSequences": ["END"], "seed": 7,
            "candidateCount": 1, "presencePenalty": 0, "frequencyPenalty": 0, "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"}, "responseModalities": ["TEXT"],
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"},
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
        },
        "labels": {"team": "a"}, "serviceTier": "flex", "store": false,
    });
    assert_eq!(validate_gemini(NEW, &body), Ok(()));
    let free = [
        "/contents/1/parts/1/functionCall/args",
        "/contents/2/parts/0/functionResponse/response",
        "/tools/0/functionDeclarations/1/parametersJsonSchema",
        "/tools/0/functionDeclarations/1/responseJsonSchema",
        "/generationConfig/responseJsonSchema",
        "/tools/0/functionDeclarations/0/parameters/properties",
        "/labels",
    ];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 50);
    for (place, body) in spoiled {
        assert!(validate_gemini(NEW, &body).is_err(), "{place}");
    }
}

#[test]
fn alternation_is_demanded_on_request() {
    let mut body = body();
    then(json!([{"role": "user", "parts": [{"text": "again"}]}]))(&mut body);
    assert_eq!(validate_gemini(ANY, &body), Ok(()));
    let rules = Rules::new().with_alternation(true);
    let violation = validate_gemini_with(ANY, &body, &rules).expect_err("two in a row");
    assert_eq!(violation.path, "contents[1]");
}
