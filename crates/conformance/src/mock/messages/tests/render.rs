//! Replies on the wire (anthropic.md 5, 9).

use serde_json::{Value, json};

use crate::mock::record::RecordedRequest;
use crate::mock::wire::render;
use crate::{Finish, Reply, ReplyUsage};

fn request(body: &Value) -> RecordedRequest {
    let uri = "/v1/messages".parse().expect("a path");
    RecordedRequest::new(http::Method::POST, uri, http::HeaderMap::new(), body.to_string().into())
}

fn whole(reply: &Reply) -> Value {
    let rendered = render(reply, &request(&json!({"model": "m"}))).expect("a reply that fits");
    serde_json::from_slice(&rendered.events[0]).expect("JSON")
}

/// The events' payloads; each event's name is its payload's type.
fn stream(reply: &Reply) -> Vec<Value> {
    let rendered =
        render(reply, &request(&json!({"model": "m", "stream": true}))).expect("a reply that fits");
    assert_eq!(rendered.content_type, "text/event-stream; charset=utf-8");
    let events = rendered.events.iter().map(|event| {
        let text = std::str::from_utf8(event).expect("text");
        let (name, data) =
            text.strip_suffix("\n\n").and_then(|text| text.split_once('\n')).expect("two lines");
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        data
    });
    events.collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[test]
fn a_whole_answer_has_the_recorded_shape() {
    let reply = Reply::new()
        .signed_thinking("hm", "sig")
        .redacted_thinking("blob")
        .text("Hi there")
        .call("toolu_1", "add", json!({"a": 1}))
        .usage(ReplyUsage::new(100, 9).with_cached(60).with_cache_write(30).with_reasoning(4));
    let body = whole(&reply);
    assert_eq!(body["type"], "message");
    assert_eq!(body["stop_reason"], "tool_use");
    assert_eq!(
        body["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "blob"},
            {"type": "text", "text": "Hi there"},
            {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}, "caller": {"type": "direct"}},
        ])
    );
    let usage = &body["usage"];
    assert_eq!(usage["input_tokens"], 10);
    assert_eq!(usage["cache_read_input_tokens"], 60);
    assert_eq!(usage["cache_creation_input_tokens"], 30);
    assert_eq!(usage["output_tokens"], 9);
    assert_eq!(usage["output_tokens_details"]["thinking_tokens"], 4);
}

#[test]
fn a_stream_has_the_recorded_order() {
    let events = stream(&Reply::new().text("Hi there").call_pieces("t", "add", ["", "{\"a\":", "1}"]));
    assert_eq!(
        kinds(&events),
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    let start = &events[0]["message"];
    assert_eq!((&start["content"], &start["stop_reason"]), (&json!([]), &Value::Null));
    assert_eq!(start["usage"]["output_tokens"], 1);
    assert_eq!(events[1]["content_block"], json!({"type": "text", "text": ""}));
    assert_eq!(events[3]["delta"], json!({"type": "text_delta", "text": "Hi "}));
    assert_eq!(events[6]["index"], 1);
    assert_eq!(events[6]["content_block"]["input"], json!({}));
    assert_eq!(events[8]["delta"], json!({"type": "input_json_delta", "partial_json": "{\"a\":"}));
    assert_eq!(events[11]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[11]["usage"]["output_tokens"], 5);
}

#[test]
fn thinking_is_signed_before_it_stops() {
    let events = stream(&Reply::new().signed_thinking("", "sig").redacted_thinking("blob"));
    assert_eq!(events[1]["content_block"], json!({"type": "thinking", "thinking": "", "signature": ""}));
    assert_eq!(events[3]["delta"], json!({"type": "signature_delta", "signature": "sig"}));
    assert_eq!(events[5]["content_block"], json!({"type": "redacted_thinking", "data": "blob"}));
    assert_eq!(events[6]["type"], "content_block_stop");
}

#[test]
fn server_blocks_come_complete_but_for_a_calls_input() {
    let call =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let reply = Reply::new().block(call.clone()).block(found.clone()).finish(Finish::Pause);
    assert_eq!(whole(&reply)["content"], json!([call, found]));
    assert_eq!(whole(&reply)["stop_reason"], "pause_turn");
    let events = stream(&reply);
    assert_eq!(events[1]["content_block"]["input"], json!({}));
    assert_eq!(events[4]["delta"]["partial_json"], "{\"q\":\"x\"}");
    assert_eq!(events[6]["content_block"], found);
}

#[test]
fn a_refusal_is_a_stop_reason_with_details() {
    for (reason, details) in [
        (whole(&Reply::new().text("Well").refusal("no")), "/stop_details"),
        (stream(&Reply::new().refusal("no"))[1].clone(), "/delta/stop_details"),
    ] {
        let expected = json!({"type": "refusal", "category": null, "explanation": "no"});
        assert_eq!(reason.pointer(details), Some(&expected));
    }
}

#[test]
fn finish_words_are_the_apis_own() {
    for (finish, word) in [
        (Finish::Stop, "end_turn"),
        (Finish::Length, "max_tokens"),
        (Finish::ToolCalls, "tool_use"),
        (Finish::ContentFilter, "refusal"),
        (Finish::Refusal, "refusal"),
        (Finish::Pause, "pause_turn"),
        (Finish::StopSequence("END".to_owned()), "stop_sequence"),
        (Finish::from("model_context_window_exceeded"), "model_context_window_exceeded"),
    ] {
        assert_eq!(whole(&Reply::new().finish(finish))["stop_reason"], word);
    }
    let stopped = whole(&Reply::new().finish(Finish::StopSequence("END".to_owned())));
    assert_eq!(stopped["stop_sequence"], "END");
}

#[test]
fn usage_and_terminator_can_be_left_out() {
    let reply = Reply::new().text("x").without_usage().without_terminator();
    assert!(whole(&reply).get("usage").is_none());
    let events = stream(&reply);
    assert_eq!(kinds(&events).last(), Some(&"message_delta"));
    assert!(events.iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn there_are_no_choices() {
    assert!(render(&Reply::new().next_choice(), &request(&json!({}))).is_err());
}
