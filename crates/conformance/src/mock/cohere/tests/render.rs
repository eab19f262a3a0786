//! Replies, errors and keys over sockets.

use serde_json::{Value, json};

use super::body;
use crate::testing::Request;
use crate::{Finish, MockProvider, Reply, ReplyUsage};

fn streamed() -> Value {
    let mut body = body();
    body["stream"] = json!(true);
    body
}

#[tokio::test]
async fn a_whole_answer_has_the_recorded_shape() {
    let mock = MockProvider::start().await.expect("a free port");
    let usage = ReplyUsage::new(10, 4).with_cached(8);
    mock.enqueue(Reply::new().thinking("hm").text("Hi there").call("c", "f", json!({"a": 1})).usage(usage));
    let answer = Request::cohere(mock.url(), &body()).send().await.expect("an answer");
    assert_eq!(
        answer.json(),
        json!({
            "id": "mock-0", "finish_reason": "TOOL_CALL",
            "message": {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi there"}],
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}],
            },
            "usage": {
                "billed_units": {"input_tokens": 2.0, "output_tokens": 4.0},
                "tokens": {"input_tokens": 10.0, "output_tokens": 4.0}, "cached_tokens": 8.0,
            },
        })
    );
}

#[tokio::test]
async fn a_stream_numbers_blocks_and_calls_each_by_themselves() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.enqueue(Reply::new().thinking("hm").text("Hi there").call_pieces("c", "f", ["{", "}"]));
    let answer = Request::cohere(mock.url(), &streamed()).send().await.expect("an answer");
    let events = answer.events();
    let told: Vec<String> = events
        .iter()
        .map(|event| match event.as_str() {
            Some(done) => done.to_owned(),
            None => format!("{} {}", event["type"].as_str().unwrap_or_default(), event["index"]),
        })
        .collect();
    let wanted = [
        "message-start null",
        "content-start 0",
        "content-delta 0",
        "content-end 0",
        "content-start 1",
        "content-delta 1",
        "content-delta 1",
        "content-end 1",
        "tool-call-start 0",
        "tool-call-delta 0",
        "tool-call-delta 0",
        "tool-call-end 0",
        "message-end null",
        "[DONE]",
    ];
    assert_eq!(told, wanted);
    assert_eq!(events[2]["delta"]["message"]["content"], json!({"thinking": "hm"}));
    assert_eq!(
        events[8]["delta"]["message"]["tool_calls"]["function"],
        json!({"name": "f", "arguments": ""})
    );
    assert_eq!(events[12]["delta"]["finish_reason"], "TOOL_CALL");
}

#[tokio::test]
async fn errors_have_an_id_and_a_message_and_a_key_is_wanted() {
    let mock = MockProvider::start().await.expect("a free port");
    mock.enqueue(Reply::error(429, "slow down"));
    let answer = Request::cohere(mock.url(), &body()).send().await.expect("an answer");
    assert_eq!((answer.status.as_u16(), answer.json()["message"].as_str()), (429, Some("slow down")));

    mock.enqueue(Reply::new().text("Hi").error_event(3, "ERROR", "broke off"));
    let events = Request::cohere(mock.url(), &streamed()).send().await.expect("an answer").events();
    assert_eq!(events[3]["delta"], json!({"finish_reason": "ERROR", "error": "broke off"}));
    assert_eq!(events.len(), 4);

    let bare = Request::cohere(mock.url(), &body()).without_header("authorization");
    let answer = bare.send().await.expect("an answer");
    assert_eq!(answer.json(), json!({"id": "req_mock_2", "message": "no api key supplied"}));
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn what_cohere_cannot_say_is_refused() {
    let mock = MockProvider::start().await.expect("a free port");
    for reply in [
        Reply::new().signed_thinking("x", "s"),
        Reply::new().refusal("no"),
        Reply::new().text("a").next_choice().text("b"),
        Reply::new().finish(Finish::ContentFilter),
    ] {
        mock.enqueue(reply);
        let answer = Request::cohere(mock.url(), &body()).send().await.expect("an answer");
        assert_eq!(answer.status, 418);
    }
}
