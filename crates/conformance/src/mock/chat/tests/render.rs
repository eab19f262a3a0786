//! Replies on the wire (openai.md A.5, A.7).

use serde_json::{Value, json};

use crate::mock::answer::Rendered;
use crate::mock::record::RecordedRequest;
use crate::mock::wire::render;
use crate::{Finish, Reply, ReplyUsage};

fn request(body: &Value) -> RecordedRequest {
    let uri = "/v1/chat/completions".parse().expect("a path");
    RecordedRequest::new(http::Method::POST, uri, http::HeaderMap::new(), body.to_string().into())
}

fn answer(reply: &Reply, body: &Value) -> Rendered {
    render(reply, &request(body)).expect("a reply that fits")
}

fn whole(reply: &Reply) -> Value {
    let rendered = answer(reply, &json!({"model": "m"}));
    serde_json::from_slice(&rendered.events[0]).expect("JSON")
}

/// The chunks without their envelopes; `[DONE]` is a string.
fn stream(reply: &Reply, options: &Value) -> Vec<Value> {
    let rendered = answer(reply, &json!({"model": "m", "stream": true, "stream_options": options}));
    assert_eq!(rendered.content_type, "text/event-stream; charset=utf-8");
    let events = rendered.events.iter().map(|event| {
        let text = std::str::from_utf8(event).expect("text");
        let data = text.strip_prefix("data: ").and_then(|text| text.strip_suffix("\n\n")).expect("one event");
        serde_json::from_str(data).unwrap_or_else(|_| data.into())
    });
    events.collect()
}

fn deltas(chunks: &[Value]) -> Vec<&Value> {
    chunks.iter().filter_map(|chunk| chunk.get("choices")?.get(0)?.get("delta")).collect()
}

#[test]
fn a_whole_answer_has_the_recorded_shape() {
    let reply = Reply::new()
        .text("Hi there")
        .call("call_1", "add", json!({"a": 1}))
        .usage(ReplyUsage::new(10, 4).with_cached(8).with_reasoning(2));
    let body = whole(&reply);
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "m");
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(
        choice["message"],
        json!({"role": "assistant", "content": "Hi there", "refusal": null, "annotations": [], "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":1}"}},
        ]})
    );
    assert_eq!(body["usage"]["total_tokens"], 14);
    assert_eq!(body["usage"]["prompt_tokens_details"]["cached_tokens"], 8);
    assert_eq!(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 2);
}

#[test]
fn a_call_without_text_has_null_content_and_an_empty_answer_has_empty_content() {
    assert_eq!(
        whole(&Reply::new().call("c", "f", json!({})))["choices"][0]["message"]["content"],
        Value::Null
    );
    assert_eq!(whole(&Reply::new())["choices"][0]["message"]["content"], "");
    let refusal = whole(&Reply::new().refusal("I can't"));
    assert_eq!(refusal["choices"][0]["message"]["refusal"], "I can't");
    assert_eq!(refusal["choices"][0]["finish_reason"], "stop");
}

#[test]
fn a_stream_ends_with_finish_usage_and_done() {
    let chunks = stream(&Reply::new().text("Hi there"), &json!({"include_usage": true}));
    let [role, first, second, finish, usage, done] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!(role["choices"][0]["delta"], json!({"role": "assistant", "content": "", "refusal": null}));
    assert_eq!(role["usage"], Value::Null);
    assert_eq!(first["choices"][0]["delta"], json!({"content": "Hi "}));
    assert_eq!(second["choices"][0]["delta"], json!({"content": "there"}));
    assert_eq!(finish["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["prompt_tokens"], 10);
    assert_eq!(done, "[DONE]");
}

#[test]
fn a_stream_reports_usage_only_when_asked_and_padding_unless_declined() {
    let chunks = stream(&Reply::new().text("x"), &json!({"include_obfuscation": false}));
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none() && chunk.get("obfuscation").is_none()));
    let chunks = stream(&Reply::new().text("x"), &Value::Null);
    assert!(chunks[0]["obfuscation"].is_string());
}

#[test]
fn call_deltas_name_the_call_once() {
    let reply = Reply::new().call_pieces("a", "f", ["", "{\"x\":", "1}"]).call_pieces("b", "g", ["{}"]);
    let chunks = stream(&reply, &Value::Null);
    assert_eq!(
        deltas(&chunks),
        [
            &json!({"role": "assistant", "content": null, "refusal": null}),
            &json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]}),
            &json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":"}}]}),
            &json!({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
            &json!({"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}),
            &json!({}),
        ]
    );
    assert_eq!(chunks[5]["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn a_lone_call_shares_the_role_chunk() {
    let chunks = stream(&Reply::new().call("a", "f", json!({})), &Value::Null);
    let first = &chunks[0]["choices"][0]["delta"];
    assert_eq!(first["role"], "assistant");
    assert_eq!(first["tool_calls"][0]["id"], "a");
    let after_text = stream(&Reply::new().text("x").call("a", "f", json!({})), &Value::Null);
    assert!(after_text[0]["choices"][0]["delta"].get("tool_calls").is_none());
}

#[test]
fn choices_take_turns() {
    let reply = Reply::new().text_pieces(["a", "b"]).next_choice().text_pieces(["c"]).finish(Finish::Length);
    let chunks = stream(&reply, &Value::Null);
    let order: Vec<(u64, &Value)> = chunks
        .iter()
        .filter_map(|chunk| {
            Some((chunk["choices"][0]["index"].as_u64()?, &chunk["choices"][0]["finish_reason"]))
        })
        .collect();
    let (none, stop, length) = (&Value::Null, &json!("stop"), &json!("length"));
    assert_eq!(order, [(0, none), (1, none), (0, none), (1, none), (0, none), (0, stop), (1, length)]);
    assert_eq!(whole(&reply)["choices"].as_array().map(Vec::len), Some(2));
}

#[test]
fn thinking_is_streamed_as_compatible_servers_do() {
    let chunks = stream(&Reply::new().thinking("I see").text("x"), &Value::Null);
    assert_eq!(deltas(&chunks)[1], &json!({"reasoning_content": "I "}));
    assert_eq!(whole(&Reply::new().thinking("I see"))["choices"][0]["message"]["reasoning_content"], "I see");
}

#[test]
fn finish_words_are_the_apis_own() {
    for (finish, word) in [
        (Finish::Stop, "stop"),
        (Finish::Length, "length"),
        (Finish::ToolCalls, "tool_calls"),
        (Finish::ContentFilter, "content_filter"),
        (Finish::Refusal, "stop"),
        (Finish::StopSequence("x".to_owned()), "stop"),
        (Finish::from("eos"), "eos"),
    ] {
        assert_eq!(whole(&Reply::new().finish(finish))["choices"][0]["finish_reason"], word);
    }
}

#[test]
fn a_reply_that_chat_completions_cannot_say_is_refused() {
    for reply in [
        Reply::new().redacted_thinking("x"),
        Reply::new().signed_thinking("x", "s"),
        Reply::new().block(json!({})),
        Reply::new().finish(Finish::Pause),
    ] {
        assert!(render(&reply, &request(&json!({}))).is_err());
    }
}
