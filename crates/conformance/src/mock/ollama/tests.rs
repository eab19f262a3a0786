//! Each rule with a body that keeps it and one that breaks it, and replies on the wire (openai.md C.13).

use serde_json::{Value, json};

use super::validate_ollama;
use crate::testing::{Request, base64, png, spoiled};
use crate::{MockProvider, Reply, ReplyUsage};

fn body(stream: bool) -> Value {
    json!({"model": "qwen3:4b", "stream": stream, "messages": [{"role": "user", "content": "hi"}]})
}

/// Expects the smallest body to be valid after the change.
#[track_caller]
fn keeps(change: impl FnOnce(&mut Value)) {
    let mut body = body(false);
    change(&mut body);
    assert_eq!(validate_ollama(&body), Ok(()), "{body}");
}

/// Expects the smallest body to break a rule at `path` after the change.
#[track_caller]
fn breaks(path: &str, change: impl FnOnce(&mut Value)) {
    let mut body = body(false);
    assert_eq!(validate_ollama(&body), Ok(()));
    change(&mut body);
    let violation = validate_ollama(&body).expect_err("a broken rule");
    assert_eq!((violation.status, violation.path.as_str()), (400, path), "{violation}");
}

fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "function": {"name": name, "arguments": {}}})
}

fn result(id: &str, name: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "tool_name": name, "content": "3"})
}

/// Sets the messages behind a first one of the user.
fn after_user(messages: Vec<Value>) -> impl FnOnce(&mut Value) {
    move |body| body["messages"].as_array_mut().expect("an array").extend(messages)
}

#[test]
fn every_member_is_known_and_of_its_type() {
    let body = json!({
        "model": "qwen3-vl:4b", "stream": true, "format": {"type": "object"}, "think": "high",
        "options": {"temperature": 0.5, "num_ctx": 4096, "stop": ["x"], "top_p": 1, "seed": -1},
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "x"},
            {"role": "user", "content": "x", "images": [base64(png(1, 1))]},
            {"role": "assistant", "content": "", "thinking": "t", "tool_calls": [
                {"id": "a", "type": "function", "function": {"index": 0, "name": "f", "arguments": {"x": 1}}},
            ]},
            {"role": "tool", "tool_name": "f", "tool_call_id": "a", "content": "x"},
        ],
    });
    assert_eq!(validate_ollama(&body), Ok(()));
    let free = ["/format", "/tools/0/function/parameters", "/messages/2/tool_calls/0/function/arguments"];
    let spoiled = spoiled(&body, &free);
    assert!(spoiled.len() > 25, "{}", spoiled.len());
    for (place, body) in spoiled {
        assert!(validate_ollama(&body).is_err(), "{place}");
    }
}

#[test]
fn fields_have_their_forms() {
    breaks("stream", |body| _ = body.as_object_mut().expect("an object").remove("stream"));
    keeps(|body| body["format"] = json!(""));
    breaks("format", |body| body["format"] = json!("yaml"));
    breaks("think", |body| body["think"] = json!(1));
    breaks("options.num_ctx", |body| body["options"] = json!({"num_ctx": 1.5}));
    keeps(|body| {
        body["options"] =
            json!({"num_gpu": 1, "mirostat": 2, "mirostat_tau": 5.0, "tfs_z": 1, "use_mmap": true});
    });
    breaks("options.penalize_newline", |body| body["options"] = json!({"penalize_newline": 1}));
    breaks("options.max_tokens", |body| body["options"] = json!({"max_tokens": 1}));
    keeps(|body| {
        body["tools"] = json!([{"type": "function", "function": {"name": "a.b", "parameters": {}}}]);
    });
    breaks("tools[0].function.parameters", |body| {
        body["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    });
    breaks("messages[1].content", after_user(vec![json!({"role": "user", "content": []})]));
    let images = |image: &str| json!({"role": "user", "content": "", "images": [image]});
    breaks("messages[1].images[0]", after_user(vec![images("data:image/png;base64,AAAA")]));
    breaks("messages[1].images[0]", after_user(vec![images(&base64("%PDF-1.7"))]));
}

#[test]
fn results_go_by_ids_and_names() {
    let calls = |calls: &[Value]| json!({"role": "assistant", "tool_calls": calls});
    let both = || calls(&[call("a", "f"), call("b", "g")]);
    keeps(after_user(vec![both(), result("b", "g"), result("a", "f")]));
    keeps(after_user(vec![both(), result("a", "f")]));
    breaks("messages[2]", after_user(vec![both(), result("b", "f")]));
    breaks("messages[3]", after_user(vec![both(), result("a", "f"), result("a", "f")]));
    let by_id = json!({"role": "tool", "tool_call_id": "b", "content": "3"});
    keeps(after_user(vec![both(), by_id]));
    let old = calls(&[json!({"function": {"name": "f", "arguments": {}}})]);
    let by_name = |name: &str| json!({"role": "tool", "tool_name": name, "content": "3"});
    keeps(after_user(vec![old.clone(), by_name("f")]));
    breaks("messages[2]", after_user(vec![old, by_name("g")]));
    let text = json!({"function": {"name": "f", "arguments": "{}"}});
    breaks("messages[1].tool_calls[0].function.arguments", after_user(vec![calls(&[text])]));
}

#[tokio::test]
async fn answers_come_whole_or_line_by_line() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.respond_with(|_| {
        Reply::new()
            .thinking("hm")
            .text("Hi there")
            .call("c", "f", json!({"a": 1}))
            .usage(ReplyUsage::new(7, 4).with_cached(3))
    });
    let whole = Request::ollama(mock.url(), &body(false)).send().await.expect("an answer").json();
    let call = json!({"id": "c", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}});
    assert_eq!(
        whole["message"],
        json!({"role": "assistant", "content": "Hi there", "thinking": "hm", "tool_calls": [call]})
    );
    assert_eq!((&whole["done"], &whole["done_reason"]), (&json!(true), &json!("stop")));
    let counts =
        ["prompt_eval_count", "prompt_eval_cached_count", "eval_count"].map(|name| whole[name].clone());
    assert_eq!(counts, [7, 3, 4]);

    let stream = Request::ollama(mock.url(), &body(true)).send().await.expect("an answer");
    assert_eq!(stream.header("content-type"), "application/x-ndjson");
    let text = stream.text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [thinking, _, there, called, last] = lines.as_slice() else { panic!("{text}") };
    assert_eq!(thinking["message"], json!({"role": "assistant", "content": "", "thinking": "hm"}));
    assert_eq!(there["message"], json!({"role": "assistant", "content": "there"}));
    assert_eq!(called["message"]["tool_calls"], whole["message"]["tool_calls"]);
    assert_eq!((&there["done"], &last["done"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn an_error_is_a_text_and_ends_a_stream_as_a_line() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.enqueue(Reply::error(404, "model 'x' not found"));
    let answer = Request::ollama(mock.url(), &body(false)).send().await.expect("an answer");
    assert_eq!((answer.status.as_u16(), answer.json()), (404, json!({"error": "model 'x' not found"})));
    mock.enqueue(Reply::new().text("Hi there").error_event(1, "", "broke off"));
    let answer = Request::ollama(mock.url(), &body(true)).send().await.expect("an answer");
    assert_eq!(answer.text().lines().last(), Some(r#"{"error":"broke off"}"#));
    mock.enqueue(Reply::new().call_pieces("c", "f", ["{"]));
    assert_eq!(Request::ollama(mock.url(), &body(false)).send().await.expect("an answer").status, 418);
}
