//! Roles, tool calls and their results (openai.md A.2).

use serde_json::{Value, json};

use super::{breaks, keeps};
use crate::mock::Rules;
use crate::validate_chat_with;

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "3"})
}

fn calls(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// Sets the messages behind a first one of the user.
fn after_user(messages: Vec<Value>) -> impl FnOnce(&mut Value) {
    move |body| body["messages"].as_array_mut().expect("an array").extend(messages)
}

#[test]
fn results_follow_their_calls_in_any_order() {
    keeps(after_user(vec![calls(&[call("a"), call("b")]), result("b"), result("a")]));
    keeps(after_user(vec![calls(&[call("a")]), result("a"), json!({"role": "user", "content": "go"})]));
    let unanswered = "must be followed by tool messages";
    breaks("messages[3].role", unanswered, after_user(vec![calls(&[call("a"), call("b")]), result("a")]));
    breaks(
        "messages[2].role",
        unanswered,
        after_user(vec![calls(&[call("a")]), json!({"role": "user", "content": "go"}), result("a")]),
    );
    breaks("messages[2].role", "b", after_user(vec![calls(&[call("b")])]));
}

#[test]
fn results_answer_a_call_and_only_once() {
    breaks("messages[1].role", "must be a response", after_user(vec![result("a")]));
    breaks("messages[2].tool_call_id", "not found", after_user(vec![calls(&[call("a")]), result("x")]));
    breaks(
        "messages[3].tool_call_id",
        "answered",
        after_user(vec![calls(&[call("a"), call("b")]), result("a"), result("a")]),
    );
    breaks(
        "messages[3].tool_call_id",
        "answered",
        after_user(vec![calls(&[call("a")]), result("a"), result("a")]),
    );
    breaks(
        "messages[2].tool_call_id",
        "Missing",
        after_user(vec![calls(&[call("a")]), json!({"role": "tool", "content": "3"})]),
    );
}

#[test]
fn an_empty_list_of_calls_is_invalid() {
    breaks(
        "messages[1].tool_calls",
        "empty array",
        after_user(vec![json!(
            {"role": "assistant", "content": "x", "tool_calls": []}
        )]),
    );
}

// openai.md D 19
#[test]
fn call_ids_have_a_length_and_a_charset() {
    let with = |id: String| after_user(vec![calls(&[call(&id)]), result(&id)]);
    keeps(with("x".repeat(64)));
    breaks("messages[1].tool_calls[0].id", "string too long", with("x".repeat(65)));
    breaks("messages[1].tool_calls[0].id", "match pattern", with("functions.x:0".to_owned()));
    breaks("messages[1].tool_calls[0].id", "match pattern", with(String::new()));
    let twice = after_user(vec![calls(&[call("a"), call("a")]), result("a")]);
    breaks("messages[1].tool_calls[1].id", "duplicate", twice);
}

// openai.md D 32, D 34
#[test]
fn arguments_are_a_string_that_holds_an_object() {
    let with = |arguments: Value| {
        let call =
            json!({"id": "a", "type": "function", "function": {"name": "add", "arguments": arguments}});
        after_user(vec![calls(&[call]), result("a")])
    };
    let path = "messages[1].tool_calls[0].function.arguments";
    keeps(with(json!("{}")));
    breaks(path, "JSON object", with(json!("")));
    breaks(path, "JSON object", with(json!("{\"a\":")));
    breaks(path, "JSON object", with(json!("[1]")));
    breaks(path, "expected a string, but got an object", with(json!({})));
}

#[test]
fn calls_have_a_known_type_and_a_legal_name() {
    let with = |call: Value| after_user(vec![calls(&[call]), result("a")]);
    keeps(with(json!({"id": "a", "type": "custom", "custom": {"name": "x", "input": "free"}})));
    breaks(
        "messages[1].tool_calls[0].function.name",
        "match pattern",
        with(json!({"id": "a", "type": "function", "function": {"name": "a.b", "arguments": "{}"}})),
    );
    breaks("messages[1].tool_calls[0].type", "Missing", with(json!({"id": "a"})));
}

#[test]
fn content_may_only_be_absent_beside_calls_or_a_refusal() {
    keeps(after_user(vec![json!({"role": "assistant", "tool_calls": [call("a")]}), result("a")]));
    keeps(after_user(vec![json!({"role": "assistant", "content": null, "refusal": "no"})]));
    breaks(
        "messages[1].content",
        "got null",
        after_user(vec![json!({"role": "assistant", "content": null})]),
    );
    breaks("messages[1].content", "Missing", after_user(vec![json!({"role": "assistant"})]));
    breaks("messages[0].content", "got null", |body| body["messages"][0]["content"] = Value::Null);
    breaks("messages[0].content", "empty array", |body| body["messages"][0]["content"] = json!([]));
}

#[test]
fn roles_are_known() {
    for role in ["system", "developer", "user"] {
        keeps(|body| body["messages"][0]["role"] = json!(role));
    }
    breaks("messages[0].role", "Invalid value: 'function'", |body| {
        body["messages"][0]["role"] = json!("function")
    });
    breaks("messages[0].role", "Missing", |body| body["messages"][0] = json!({"content": "x"}));
}

// openai.md D 52
#[test]
fn alternation_is_demanded_on_demand() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "a"}, {"role": "user", "content": "b"},
    ]});
    assert_eq!(validate_chat_with(&body, &Rules::new()), Ok(()));
    let violation =
        validate_chat_with(&body, &Rules::new().with_alternation(true)).expect_err("two in a row");
    assert_eq!(violation.path, "messages[1]");
}
