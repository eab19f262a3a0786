//! Each rule with a body that keeps it and one that breaks it (cohere.md 1 to 5), and replies on the wire (cohere.md 6).

mod render;

use serde_json::{Value, json};

use super::validate_cohere;
use crate::testing::{base64, png, spoiled};

/// The smallest valid body.
fn body() -> Value {
    json!({"model": "command-a-03-2025", "messages": [{"role": "user", "content": "hi"}]})
}

/// Expects the smallest body to be valid after the change.
#[track_caller]
fn keeps(change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    assert_eq!(validate_cohere(&body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule at `path` after the change.
#[track_caller]
fn breaks(path: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body();
    change(&mut body);
    let violation = validate_cohere(&body).expect_err("a broken rule");
    assert_eq!((violation.status, violation.path.as_str()), (400, path), "{violation}");
}

/// Sets the messages behind a first one of the user.
fn after_user(messages: Vec<Value>) -> impl FnOnce(&mut Value) {
    move |body| body["messages"].as_array_mut().expect("an array").extend(messages)
}

fn tool() -> Value {
    json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "3"})
}

fn image() -> Value {
    let url = format!("data:image/png;base64,{}", base64(png(1, 1)));
    json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}})
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let body = json!({
        "model": "command-a-plus-05-2026", "stream": true, "strict_tools": true, "logprobs": true, "tool_choice": "REQUIRED",
        "safety_mode": "STRICT", "max_tokens": 9, "stop_sequences": ["x"], "temperature": 1.5, "seed": 1, "k": 500,
        "p": 0.99, "frequency_penalty": 1, "presence_penalty": 0, "priority": 1,
        "thinking": {"type": "enabled", "token_budget": 1},
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "x"}]},
            {"role": "user", "content": [{"type": "text", "text": "x"}, image()]},
            {"role": "assistant", "tool_plan": "p", "content": [{"type": "thinking", "thinking": "t"}], "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": [
                {"type": "text", "text": "x"}, {"type": "document", "document": {"id": "d", "data": {"text": "x"}}},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "x"}], "citations": []},
        ],
    });
    assert_eq!(validate_cohere(&body), Ok(()));
    let free = ["/tools/0/function/parameters", "/messages/3/content/1/document/data"];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 50, "{}", spoiled.len());
    for (place, body) in spoiled {
        assert!(validate_cohere(&body).is_err(), "{place}");
    }
}

#[test]
fn numbers_lists_and_choices_have_bounds() {
    breaks("p", |body| body["p"] = json!(1.0));
    breaks("k", |body| body["k"] = json!(501));
    breaks("presence_penalty", |body| body["presence_penalty"] = json!(-0.5));
    breaks("token_budget", |body| {
        body["thinking"] = json!({"type": "enabled", "token_budget": 0});
    });
    breaks("stop_sequences", |body| body["stop_sequences"] = json!(["a", "b", "c", "d", "e", "f"]));
    keeps(|body| body["priority"] = json!(1000));
    keeps(|body| body["tool_choice"] = json!("NONE"));
    breaks("tool_choice", |body| body["tool_choice"] = json!("REQUIRED"));
    breaks("messages", |body| body["messages"] = json!([]));
    let format = json!({"type": "json_object", "json_schema": {"type": "object"}});
    keeps(|body| body["response_format"] = format.clone());
    breaks("response_format", |body| {
        body["response_format"] = format.clone();
        body["tools"] = json!([tool()]);
    });
    keeps(|body| {
        body["tools"] = json!([{"type": "function", "function": {"name": "a.b", "parameters": {}}}]);
    });
    breaks("tools[0].function.parameters", |body| {
        body["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    });
}

#[test]
fn roles_have_their_places_and_blocks() {
    breaks("messages[1].role", after_user(vec![json!({"role": "system", "content": "x"})]));
    breaks("messages[1].role", after_user(vec![json!({"role": "developer", "content": "x"})]));
    for empty in [json!(""), json!([])] {
        breaks("messages[1].content", after_user(vec![json!({"role": "assistant", "content": empty})]));
    }
    breaks("messages[1].content[0].text", |body| {
        let blank = json!({"role": "user", "content": [{"type": "text", "text": ""}]});
        after_user(vec![blank])(body);
    });
    breaks(
        "messages[1].content[0].type",
        after_user(vec![json!({"role": "assistant", "content": [image()]})]),
    );
    let images = |count: usize| json!({"role": "user", "content": vec![image(); count]});
    keeps(after_user(vec![images(10), images(10)]));
    breaks("messages", after_user(vec![images(10), images(11)]));
    let large = |size: usize| {
        let mut bytes = png(1, 1);
        bytes.resize(size, 0);
        let url = format!("data:image/png;base64,{}", base64(bytes));
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
    };
    keeps(after_user(vec![large(10_000_000), large(10_000_000)]));
    breaks("messages", after_user(vec![large(10_000_000), large(10_000_001)]));
}

#[test]
fn results_answer_calls_before_them() {
    let calls = |calls: &[Value]| json!({"role": "assistant", "tool_calls": calls});
    keeps(after_user(vec![calls(&[call("a"), call("b")]), result("b"), result("a")]));
    keeps(after_user(vec![calls(&[call("a"), call("b")]), result("a")]));
    breaks("messages[1].tool_call_id", after_user(vec![result("a")]));
    breaks("messages[3].tool_call_id", after_user(vec![calls(&[call("a")]), result("a"), result("b")]));
    breaks("messages[1].tool_calls[1].id", after_user(vec![calls(&[call("a"), call("a")])]));
    let torn = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{"}});
    breaks("messages[1].tool_calls[0].function.arguments", after_user(vec![calls(&[torn])]));
}
