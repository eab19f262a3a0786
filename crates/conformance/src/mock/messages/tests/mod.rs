//! Each rule with a body that keeps it and one that breaks it.

mod blocks;
mod cache;
mod fields;
mod history;
mod render;
mod thinking;
mod tools;

use serde_json::{Value, json};

use super::{validate_messages, validate_messages_with};
use crate::mock::{Rules, Violation};
use crate::testing::{PDF, base64, png, spoiled};

/// The smallest valid body.
fn body() -> Value {
    json!({"model": "mock-model", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]})
}

/// Expects the smallest body to be valid after the change.
#[track_caller]
fn keeps(change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    assert_eq!(validate_messages(&body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule after the change: at `path`, with `words` in the message.
#[track_caller]
fn breaks(path: &str, words: &str, change: impl FnOnce(&mut Value)) {
    breaks_with(&Rules::new(), path, words, change);
}

#[track_caller]
fn breaks_with(rules: &Rules, path: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let violation = judged(rules, change).expect_err("a broken rule");
    assert_eq!((violation.status, violation.kind), (400, "invalid_request_error"));
    assert_eq!(violation.path, path, "{violation}");
    assert!(violation.message.contains(words), "{violation}");
}

fn judged(rules: &Rules, change: impl FnOnce(&mut Value)) -> Result<(), Violation> {
    let mut body = body();
    change(&mut body);
    validate_messages_with(&body, rules)
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "add", "input": {"a": 1}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "3"})
}

fn user(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn assistant(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Sets the messages behind a first one of the user.
fn after_user(messages: Vec<Value>) -> impl FnOnce(&mut Value) {
    move |body| body["messages"].as_array_mut().expect("an array").extend(messages)
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let marker = json!({"type": "ephemeral", "ttl": "5m"});
    let image = json!({"type": "base64", "media_type": "image/png", "data": base64(png(1, 1))});
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": base64(PDF)});
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let body = json!({
        "model": "mock-model", "max_tokens": 100, "stop_sequences": ["x"], "metadata": {"user_id": "u"},
        "service_tier": "auto", "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": schema}},
        "system": [{"type": "text", "text": "x", "cache_control": marker}],
        "tools": [{
            "type": "custom", "name": "f", "description": "d", "input_schema": schema, "cache_control": marker,
        }],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "x"},
                {"type": "image", "source": image},
                {"type": "image", "source": {"type": "url", "url": "https://host/a.png"}},
                {"type": "document", "title": "t", "context": "c", "source": pdf, "citations": {"enabled": false}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "a"}]},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "is_error": false, "content": [{"type": "text", "text": "3"}]},
            ]},
        ],
    });
    assert_eq!(validate_messages(&body), Ok(()));
    let free = [
        "/tools/0/input_schema",
        "/output_config/format/schema",
        "/messages/1/content/2/input",
        "/metadata/user_id",
    ];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 70);
    for (place, body) in spoiled {
        assert!(validate_messages(&body).is_err(), "{place}");
    }
    for (place, wrong) in [
        ("/tools/0/defer_loading", json!("yes")),
        ("/tool_choice/disable_parallel_tool_use", json!("yes")),
        ("/messages/0/content/3/citations/enabled", json!("yes")),
        ("/messages/2/content/0/is_error", json!("yes")),
        ("/messages/1/content/2/name", json!("a b")),
    ] {
        let (holder, key) = place.rsplit_once('/').expect("a pointer");
        let mut body = body.clone();
        body.pointer_mut(holder).expect("a holder")[key] = wrong;
        assert!(validate_messages(&body).is_err(), "{place}");
    }
}
