//! Replies on the wire (openai.md B.3, B.6).

use serde_json::{Value, json};

use crate::mock::record::RecordedRequest;
use crate::mock::wire::render;
use crate::{Finish, Reply, ReplyUsage, validate_responses};

fn request(body: &Value) -> RecordedRequest {
    let uri = "/v1/responses".parse().expect("a path");
    RecordedRequest::new(http::Method::POST, uri, http::HeaderMap::new(), body.to_string().into())
}

fn whole(reply: &Reply) -> Value {
    let rendered = render(reply, &request(&json!({"model": "m"}))).expect("a reply that fits");
    serde_json::from_slice(&rendered.events[0]).expect("JSON")
}

/// The events' payloads; each event's name is its payload's type, and their numbers count from zero.
fn stream_of(reply: &Reply, body: &Value) -> Vec<Value> {
    let rendered = render(reply, &request(body)).expect("a reply that fits");
    assert_eq!(rendered.content_type, "text/event-stream; charset=utf-8");
    let events = rendered.events.iter().enumerate().map(|(number, event)| {
        let text = std::str::from_utf8(event).expect("text");
        let (name, data) =
            text.strip_suffix("\n\n").and_then(|text| text.split_once('\n')).expect("two lines");
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        assert_eq!(data["sequence_number"], json!(number));
        data
    });
    events.collect()
}

fn stream(reply: &Reply) -> Vec<Value> {
    stream_of(reply, &json!({"model": "m", "stream": true}))
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().filter_map(|event| event["type"].as_str());
    kinds.map(|kind| kind.strip_prefix("response.").unwrap_or(kind)).collect()
}

fn usage() -> ReplyUsage {
    ReplyUsage::new(100, 9).with_cached(60).with_cache_write(30).with_reasoning(4)
}

#[test]
fn a_whole_answer_has_the_recorded_shape() {
    let reply = Reply::new()
        .signed_thinking("First.\n\nThen.", "blob")
        .text("Hi there")
        .call("call_1", "add", json!({"a": 1}))
        .usage(usage());
    let body = whole(&reply);
    assert_eq!(
        (&body["object"], &body["status"], &body["model"]),
        (&json!("response"), &json!("completed"), &json!("m"))
    );
    assert_eq!((&body["error"], &body["incomplete_details"]), (&Value::Null, &Value::Null));
    assert_eq!(
        body["output"],
        json!([
            {"id": "rs_mock_0_0", "type": "reasoning", "content": [], "encrypted_content": "blob", "summary": [
                {"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."},
            ]},
            {"id": "msg_mock_0_1_needs_rs_mock_0_0", "type": "message", "status": "completed", "role": "assistant",
             "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": "Hi there"}]},
            {"id": "fc_mock_0_2", "type": "function_call", "status": "completed", "arguments": "{\"a\":1}",
             "call_id": "call_1", "name": "add"},
        ])
    );
    assert_eq!(
        body["usage"],
        json!({
            "input_tokens": 100, "input_tokens_details": {"cache_write_tokens": 30, "cached_tokens": 60},
            "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 109,
        })
    );
}

#[test]
fn an_answer_can_be_sent_back() {
    let reply = Reply::new().signed_thinking("hm", "blob").text("so").call("call_1", "add", json!({}));
    let mut input = vec![json!({"role": "user", "content": "hi"})];
    input.extend(whole(&reply)["output"].as_array().expect("items").iter().cloned());
    input.push(json!({"type": "function_call_output", "call_id": "call_1", "output": "1"}));
    let mut body = json!({"model": "gpt-5", "store": false, "input": input});
    assert_eq!(validate_responses(&body), Ok(()));
    body["input"].as_array_mut().expect("items").remove(1);
    let violation = validate_responses(&body).expect_err("the reasoning is gone");
    assert!(violation.message.contains("without its required 'reasoning' item"), "{violation}");
}

#[test]
fn a_stream_has_every_event_in_order() {
    let reply = Reply::new()
        .signed_thinking("First now.\n\nThen.", "blob-blob")
        .text_pieces(["Hi ", "there"])
        .call_pieces("call_1", "add", ["", "{}"])
        .usage(usage());
    let events = stream(&reply);
    assert_eq!(
        kinds(&events),
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "completed",
        ]
    );
    // D 30: the blob is whole at the end alone.
    assert_eq!(events[2]["item"]["encrypted_content"], "blob");
    assert_eq!(events[12]["item"]["encrypted_content"], "blob-blob");
    assert_eq!((&events[4]["delta"], &events[8]["summary_index"]), (&json!("First "), &json!(1)));
    assert_eq!(
        (&events[15]["delta"], &events[15]["item_id"]),
        (&json!("Hi "), &json!("msg_mock_0_1_needs_rs_mock_0_0"))
    );
    assert_eq!(
        (&events[20]["item"]["arguments"], &events[20]["item"]["status"]),
        (&json!(""), &json!("in_progress"))
    );
    assert_eq!((&events[23]["arguments"], &events[23]["output_index"]), (&json!("{}"), &json!(2)));
    assert_eq!(events[0]["response"]["output"], json!([]));
    assert_eq!(events[25]["response"], whole(&reply));
    assert!(events[15]["obfuscation"].is_string());
    let plain = json!({"model": "m", "stream": true, "stream_options": {"include_obfuscation": false}});
    assert!(stream_of(&reply, &plain)[15].get("obfuscation").is_none());
}

#[test]
fn refusals_raw_reasoning_and_foreign_items_stream_too() {
    let item = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let reply = Reply::new().thinking("hm hm").block(item.clone()).refusal("no");
    let events = stream(&reply);
    assert_eq!(
        kinds(&events)[2..],
        [
            "output_item.added",
            "content_part.added",
            "reasoning_text.delta",
            "reasoning_text.delta",
            "reasoning_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "refusal.delta",
            "refusal.done",
            "content_part.done",
            "output_item.done",
            "completed",
        ]
    );
    assert_eq!((&events[9]["item"], &events[10]["item"]), (&item, &item));
    assert_eq!((&events[14]["refusal"], &events[15]["part"]["type"]), (&json!("no"), &json!("refusal")));
    assert_eq!(events[17]["response"], whole(&reply));
    let blob = whole(&Reply::new().redacted_thinking("blob"));
    assert_eq!(
        (&blob["output"][0]["summary"], &blob["output"][0]["encrypted_content"]),
        (&json!([]), &json!("blob"))
    );
}

#[test]
fn endings_have_their_status() {
    let end = |finish: Finish| {
        let reply = Reply::new().call_pieces("call_1", "add", ["{\"a"]).finish(finish);
        let events = stream(&reply);
        let body = whole(&reply);
        let last = events.last().expect("an event").clone();
        assert_eq!(last["response"], body);
        (
            last["type"].clone(),
            body["incomplete_details"]["reason"].clone(),
            body["output"][0]["status"].clone(),
        )
    };
    let ended =
        |kind: &str, reason: Value, item: &str| (json!(format!("response.{kind}")), reason, json!(item));
    assert_eq!(end(Finish::ToolCalls), ended("completed", Value::Null, "completed"));
    assert_eq!(end(Finish::Length), ended("incomplete", json!("max_output_tokens"), "incomplete"));
    assert_eq!(end(Finish::ContentFilter), ended("incomplete", json!("content_filter"), "incomplete"));
    assert_eq!(end("steered".into()), ended("incomplete", json!("steered"), "incomplete"));
    assert_eq!(end("cancelled".into()), ended("cancelled", Value::Null, "completed"));
}

#[test]
fn a_response_can_fail_and_a_stream_break() {
    let reply = Reply::new().text("Hi").failed("server_error", "it broke");
    let body = whole(&reply);
    assert_eq!(
        (&body["status"], &body["error"]),
        (&json!("failed"), &json!({"code": "server_error", "message": "it broke"}))
    );
    let events = stream(&reply);
    assert_eq!(
        events.last().map(|event| (&event["type"], &event["response"])),
        Some((&json!("response.failed"), &body))
    );

    let broken = stream(&Reply::new().text("Hi there").error_event(3, "rate_limit_exceeded", "slow down"));
    assert_eq!(
        broken[3],
        json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null, "sequence_number": 3})
    );
    assert_eq!(broken.len(), 4);
    let cut = stream(&Reply::new().text("Hi").without_terminator());
    assert_eq!(kinds(&cut).last(), Some(&"output_item.done"));
}

#[test]
fn a_reply_that_responses_cannot_say_is_refused() {
    for reply in [
        Reply::new().text("a").next_choice().text("b"),
        Reply::new().finish(Finish::Pause),
        Reply::new().text("a").part_signature("s"),
        Reply::new().prompt_blocked("SAFETY"),
    ] {
        assert!(render(&reply, &request(&json!({"model": "m"}))).is_err());
    }
}
