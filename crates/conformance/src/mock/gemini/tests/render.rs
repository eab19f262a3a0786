//! Replies on the wire (gemini.md 7, 8, 9).

use serde_json::{Value, json};

use crate::mock::answer::Rendered;
use crate::mock::record::RecordedRequest;
use crate::mock::wire::render;
use crate::{Finish, Reply, ReplyUsage, validate_gemini};

fn request(method: &str) -> RecordedRequest {
    let uri = format!("/v1beta/models/gemini-3-flash:{method}").parse().expect("a path");
    RecordedRequest::new(http::Method::POST, uri, http::HeaderMap::new(), "{}".into())
}

fn rendered(reply: &Reply, method: &str) -> Rendered {
    render(reply, &request(method)).expect("a reply that fits")
}

fn whole(reply: &Reply) -> Value {
    serde_json::from_slice(&rendered(reply, "generateContent").events[0]).expect("JSON")
}

/// The chunks, which CRLF divides.
fn stream(reply: &Reply) -> Vec<Value> {
    let rendered = rendered(reply, "streamGenerateContent?alt=sse");
    assert_eq!(rendered.content_type, "text/event-stream; charset=utf-8");
    let chunks = rendered.events.iter().map(|event| {
        let text = std::str::from_utf8(event).expect("text");
        let data =
            text.strip_prefix("data: ").and_then(|text| text.strip_suffix("\r\n\r\n")).expect("one event");
        serde_json::from_str(data).expect("JSON")
    });
    chunks.collect()
}

fn parts(body: &Value) -> &Value {
    &body["candidates"][0]["content"]["parts"]
}

fn call(id: &str) -> Value {
    if id.is_empty() {
        json!({"functionCall": {"name": "add", "args": {"a": 1}}})
    } else {
        json!({"functionCall": {"id": id, "name": "add", "args": {"a": 1}}})
    }
}

#[test]
fn a_whole_answer_has_the_recorded_shape() {
    let reply = Reply::new()
        .thinking("hm")
        .text("Hi there")
        .call("c1", "add", json!({"a": 1}))
        .part_signature("c2ln")
        .call("", "add", json!({"a": 1}))
        .usage(ReplyUsage::new(100, 9).with_cached(60).with_reasoning(4));
    let body = whole(&reply);
    let mut first = call("c1");
    first["thoughtSignature"] = json!("c2ln");
    assert_eq!(
        body,
        json!({
            "candidates": [{
                "content": {
                    "parts": [{"text": "hm", "thought": true}, {"text": "Hi there"}, first, call("")],
                    "role": "model",
                },
                "finishReason": "STOP", "finishMessage": "Model generated function call(s).", "index": 0,
            }],
            "usageMetadata": {
                "promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 109,
                "cachedContentTokenCount": 60, "thoughtsTokenCount": 4,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
                "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 60}],
            },
            "modelVersion": "gemini-3-flash", "responseId": "mock0",
        })
    );
    assert!(whole(&Reply::new().without_usage()).get("usageMetadata").is_none());
}

#[test]
fn an_answer_can_be_sent_back() {
    let reply = Reply::new().text("so").call("c1", "add", json!({})).part_signature("c2ln");
    let answer = whole(&reply)["candidates"][0]["content"].clone();
    let body = json!({"contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        answer,
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "add", "response": {"output": 1}}}]},
    ]});
    assert_eq!(validate_gemini("gemini-3-flash", &body), Ok(()));
}

#[test]
fn a_stream_ends_with_an_empty_text_and_the_reason() {
    let reply = Reply::new()
        .thinking("so so")
        .text_pieces(["Hi ", "there"])
        .part_signature("c2ln")
        .call("c1", "add", json!({"a": 1}))
        .call("c2", "add", json!({"a": 1}))
        .usage(ReplyUsage::new(100, 9).with_reasoning(4));
    let chunks = stream(&reply);
    let seen: Vec<&Value> = chunks.iter().map(parts).collect();
    assert_eq!(
        seen,
        [
            &json!([{"text": "so ", "thought": true}]),
            &json!([{"text": "so", "thought": true}]),
            &json!([{"text": "Hi "}]),
            &json!([{"text": "there", "thoughtSignature": "c2ln"}]),
            &json!([call("c1"), call("c2")]),
            &json!([{"text": ""}]),
        ]
    );
    let reasons: Vec<bool> =
        chunks.iter().map(|chunk| chunk["candidates"][0].get("finishReason").is_some()).collect();
    assert_eq!(reasons, [false, false, false, false, false, true]);
    assert_eq!(chunks[0]["usageMetadata"]["totalTokenCount"], 101);
    assert_eq!(chunks[5]["usageMetadata"], whole(&reply)["usageMetadata"]);
    assert_eq!(
        (&chunks[0]["responseId"], &chunks[5]["modelVersion"]),
        (&json!("mock0"), &json!("gemini-3-flash"))
    );
    assert_eq!(stream(&reply.without_terminator()).len(), 5);
}

// gemini.md 4 4
#[test]
fn a_signed_empty_text_is_the_end() {
    let chunks = stream(&Reply::new().text("Hi").redacted_thinking("c2ln"));
    assert_eq!(chunks.len(), 2);
    assert_eq!(parts(&chunks[1]), &json!([{"text": "", "thoughtSignature": "c2ln"}]));
    assert_eq!(chunks[1]["candidates"][0]["finishReason"], "STOP");
    // A signed thought is no such end.
    let chunks = stream(&Reply::new().signed_thinking("hm", "c2ln"));
    assert_eq!(parts(&chunks[0]), &json!([{"text": "hm", "thought": true, "thoughtSignature": "c2ln"}]));
    assert_eq!(parts(&chunks[1]), &json!([{"text": ""}]));
}

#[test]
fn candidates_are_written_by_turns() {
    let reply = Reply::new().text("a b").next_choice().text("c").finish(Finish::Length);
    let body = whole(&reply);
    assert_eq!(body["candidates"][1]["index"], 1);
    assert_eq!(body["candidates"][1]["finishReason"], "MAX_TOKENS");
    let indexes: Vec<Value> =
        stream(&reply).iter().map(|chunk| chunk["candidates"][0]["index"].clone()).collect();
    assert_eq!(indexes, [json!(0), json!(1), json!(0), json!(0), json!(1)]);
}

// gemini.md 7, (a) 5, 6, 7, 19
#[test]
fn odd_ends_are_said() {
    let end = |reply: Reply| whole(&reply)["candidates"][0].clone();
    assert_eq!(end(Reply::new()), json!({"content": {"role": "model"}, "finishReason": "STOP", "index": 0}));
    assert_eq!(end(Reply::new().finish(Finish::ContentFilter))["finishReason"], "SAFETY");
    let malformed = end(Reply::new().finish("MALFORMED_FUNCTION_CALL").finish_message("print(add(1))"));
    assert_eq!(
        (&malformed["finishReason"], &malformed["finishMessage"]),
        (&json!("MALFORMED_FUNCTION_CALL"), &json!("print(add(1))"))
    );

    let blocked = Reply::new().prompt_blocked("SAFETY").usage(ReplyUsage::new(7, 5));
    let body = whole(&blocked);
    assert_eq!(body["promptFeedback"], json!({"blockReason": "SAFETY"}));
    assert!(body.get("candidates").is_none());
    assert_eq!(body["usageMetadata"]["totalTokenCount"], 7);
    assert_eq!(stream(&blocked), [body]);
}

#[test]
fn a_block_is_sent_as_it_is_and_bad_arguments_as_none() {
    let part = json!({"executableCode": {"language": "PYTHON", "code": "print(1)"}});
    assert_eq!(parts(&whole(&Reply::new().block(part.clone()))), &json!([part]));
    let cut = Reply::new().call_pieces("", "add", ["{\"a"]);
    assert_eq!(parts(&whole(&cut)), &json!([{"functionCall": {"name": "add", "args": {}}}]));
}

#[test]
fn without_events_a_stream_is_one_array() {
    let answer = rendered(&Reply::new().text("Hi there"), "streamGenerateContent");
    assert_eq!(answer.content_type, "application/json");
    assert_eq!(answer.events.len(), 4);
    let chunks: Vec<Value> = serde_json::from_slice(&answer.events.concat()).expect("an array");
    assert_eq!(chunks, stream(&Reply::new().text("Hi there")));
}

// gemini.md 9, (a) 22
#[test]
fn errors_have_googles_envelope() {
    let error = |reply: &Reply, method: &str| -> (u16, Value) {
        let rendered = rendered(reply, method);
        (rendered.status, serde_json::from_slice(&rendered.events[0]).expect("JSON"))
    };
    let retry = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]);
    let limited = Reply::error(429, "quota").error_details(retry.clone());
    let envelope =
        json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": retry}});
    assert_eq!(error(&limited, "generateContent"), (429, envelope.clone()));
    assert_eq!(error(&limited, "streamGenerateContent?alt=sse"), (429, json!([envelope])));
    let own = Reply::error(400, "no").error_kind("FAILED_PRECONDITION");
    assert_eq!(error(&own, "generateContent").1["error"]["status"], "FAILED_PRECONDITION");

    let chunks = stream(&Reply::new().text("Hi there").error_event(1, "UNAVAILABLE", "overloaded"));
    assert_eq!(chunks.len(), 2);
    assert_eq!(chunks[1], json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}));
}

#[test]
fn a_reply_that_gemini_cannot_say_is_refused() {
    for reply in [
        Reply::new().refusal("no"),
        Reply::new().finish(Finish::Pause),
        Reply::new().finish(Finish::Refusal),
        Reply::new().failed("a", "b"),
    ] {
        assert!(render(&reply, &request("generateContent")).is_err());
    }
}
