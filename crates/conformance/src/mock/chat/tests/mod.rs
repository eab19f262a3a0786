//! Each rule with a body that keeps it and one that breaks it.

mod fields;
mod history;
mod parts;
mod render;
mod servers;
mod tools;

use serde_json::{Value, json};

use super::{validate_chat, validate_chat_with};
use crate::mock::Rules;
use crate::testing::{PDF, base64, png, spoiled};

/// The smallest valid body.
fn body() -> Value {
    json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]})
}

/// Expects the smallest body to be valid after the change.
#[track_caller]
fn keeps(change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    assert_eq!(validate_chat(&body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule after the change: at `path`, with `words` in the message.
#[track_caller]
fn breaks(path: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    let violation = validate_chat(&body).expect_err("a broken rule");
    assert_eq!((violation.status, violation.kind), (400, "invalid_request_error"));
    assert_eq!(violation.path, path, "{violation}");
    assert!(violation.message.contains(words), "{violation}");
}

#[test]
fn compatible_fields_are_accepted_on_demand() {
    let body = json!({
        "model": "deepseek-reasoner", "thinking": {"type": "enabled"},
        "tools": [{"function": {"name": "f", "parameters": {"type": "object"}}}], "tool_choice": "any",
        "messages": [
            {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://h/v.mp4"}}]},
            {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [
                {"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "", "content": "1", "name": "f"},
        ],
    });
    assert!(validate_chat(&body).is_err());
    assert_eq!(validate_chat_with(&body, &Rules::new().with_compatible_fields(true)), Ok(()));
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let image = format!("data:image/png;base64,{}", base64(png(1, 1)));
    let pdf = format!("data:application/pdf;base64,{}", base64(PDF));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let body = json!({
        "model": "gpt-4o-audio-preview", "stream": true, "stream_options": {"include_usage": true},
        "stop": "x", "prompt_cache_key": "k", "user": "u", "verbosity": "low", "safety_identifier": "s",
        "metadata": {"k": "v"},
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "Out", "description": "d", "strict": true, "schema": schema,
        }},
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema, "strict": true}},
            {"type": "custom", "custom": {"name": "g", "description": "d", "format": {}}},
        ],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
            {"type": "function", "function": {"name": "f"}},
        ]}},
        "messages": [
            {"role": "system", "name": "s", "content": [{"type": "text", "text": "x"}]},
            {"role": "user", "content": [
                {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "image_url", "image_url": {"url": image, "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": pdf}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ]},
            {"role": "assistant", "refusal": "no", "content": [{"type": "refusal", "refusal": "no"}], "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "b", "type": "custom", "custom": {"name": "g", "input": "x"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "2"}]},
        ],
    });
    assert_eq!(validate_chat(&body), Ok(()));
    let free =
        ["/tools/0/function/parameters", "/tools/1/custom/format", "/response_format/json_schema/schema"];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 70);
    for (place, body) in spoiled {
        assert!(validate_chat(&body).is_err(), "{place}");
    }
    // A choice by name has another shape.
    let named = |choice: Value| {
        let mut body = body.clone();
        body["tool_choice"] = choice;
        validate_chat(&body)
    };
    assert_eq!(named(json!({"type": "custom", "custom": {"name": "g"}})), Ok(()));
    assert!(named(json!({"type": "custom", "custom": {"name": "g"}, "foreign": 1})).is_err());
}
