//! Each rule with a body that keeps it and one that breaks it.

mod fields;
mod items;
mod parts;
mod render;
mod tools;

use serde_json::{Value, json};

use super::{validate_responses, validate_responses_with};
use crate::mock::Rules;
use crate::testing::{PDF, base64, png, spoiled};

/// The smallest valid body.
fn body() -> Value {
    json!({"model": "gpt-5", "input": [{"role": "user", "content": "hi"}]})
}

/// Expects the smallest body to be valid after the change.
#[track_caller]
fn keeps(change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    assert_eq!(validate_responses(&body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule after the change: at `path`, with `words` in the message.
#[track_caller]
fn breaks(path: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    let violation = validate_responses(&body).expect_err("a broken rule");
    assert_eq!((violation.status, violation.kind), (400, "invalid_request_error"));
    assert_eq!(violation.path, path, "{violation}");
    assert!(violation.message.contains(words), "{violation}");
}

fn set(key: &'static str, value: Value) -> impl FnOnce(&mut Value) {
    move |body| body[key] = value
}

/// Puts these items behind the first message.
fn then(items: Value) -> impl FnOnce(&mut Value) {
    move |body| {
        let Value::Array(items) = items else { panic!("a list of items") };
        body["input"].as_array_mut().expect("a list").extend(items);
    }
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "add", "arguments": "{\"a\":1}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "3"})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"})
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let image = format!("data:image/png;base64,{}", base64(png(1, 1)));
    let pdf = format!("data:application/pdf;base64,{}", base64(PDF));
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let body = json!({
        "model": "gpt-5.6", "instructions": "x", "stream": true, "stream_options": {"include_obfuscation": false},
        "store": false, "include": ["reasoning.encrypted_content"], "truncation": "auto", "user": "u",
        "reasoning": {"effort": "low", "summary": "auto", "context": "all_turns", "mode": "standard"},
        "text": {"verbosity": "low", "format": {
            "type": "json_schema", "name": "Out", "description": "d", "strict": true, "schema": schema,
        }},
        "prompt_cache_key": "k", "prompt_cache_options": {"mode": "explicit", "ttl": "12h"},
        "prompt_cache_retention": "24h", "service_tier": "flex", "safety_identifier": "s", "metadata": {"k": "v"},
        "tools": [
            {"type": "function", "name": "add", "description": "d", "parameters": schema, "strict": true},
            {"type": "custom", "name": "free", "description": "d", "format": {}},
        ],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "add"}]},
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "x"}]},
            {"role": "user", "content": [
                {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
                {"type": "input_image", "image_url": image, "detail": "low"},
                {"type": "input_file", "filename": "a.pdf", "file_data": pdf, "detail": "high"},
                {"type": "input_file", "file_url": "https://host/a.pdf"},
            ]},
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "g", "summary": [
                {"type": "summary_text", "text": "x"},
            ]},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "phase": "commentary",
             "content": [{"type": "output_text", "text": "x"}, {"type": "refusal", "refusal": "x"}]},
            {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "add", "arguments": "{}", "status": "completed"},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "free", "input": "x"},
            {"type": "function_call_output", "id": "fco_1", "call_id": "a", "status": "completed", "output": [
                {"type": "input_text", "text": "x"}, {"type": "input_image", "file_id": "file-1"},
            ]},
            {"type": "custom_tool_call_output", "call_id": "b", "output": "x"},
            {"type": "item_reference", "id": "msg_0"},
        ],
    });
    assert_eq!(validate_responses(&body), Ok(()));
    let free = ["/tools/0/parameters", "/tools/1/format", "/text/format/schema"];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 80);
    for (place, body) in spoiled {
        assert!(validate_responses(&body).is_err(), "{place}");
    }
}

// openai.md C.1, C.8
#[test]
fn compatible_servers_take_what_openai_refuses() {
    let body = json!({"model": "deepseek-v4-flash", "thinking": {"type": "enabled"}, "input": [
        {"type": "reasoning", "id": "fa6f3a83", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
        {"type": "reasoning", "id": "rs-b", "summary": []},
        {"type": "function_call", "id": "x", "call_id": "a", "name": "f", "arguments": "{}", "more": 1},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
    ]});
    assert!(validate_responses(&body).is_err());
    assert_eq!(validate_responses_with(&body, &Rules::new().with_compatible_fields(true)), Ok(()));
}

#[test]
fn alternation_is_demanded_on_request() {
    let mut body = body();
    then(json!([{"role": "user", "content": "again"}]))(&mut body);
    assert_eq!(validate_responses(&body), Ok(()));
    let violation =
        validate_responses_with(&body, &Rules::new().with_alternation(true)).expect_err("two in a row");
    assert_eq!(violation.path, "input[1]");
    let mut body = self::body();
    then(json!([call("a"), output("a"), {"role": "user", "content": "again"}]))(&mut body);
    assert_eq!(validate_responses_with(&body, &Rules::new().with_alternation(true)), Ok(()));
}
