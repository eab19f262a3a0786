//! Responses and Gemini over sockets.

use serde_json::{Value, json};

use super::start;
use crate::testing::Request;
use crate::{Api, Reply};

fn responses_body(stream: bool) -> Value {
    json!({"model": "gpt-5", "stream": stream, "input": "hi"})
}

fn gemini_body() -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
}

#[tokio::test]
async fn the_same_reply_serves_both_whole_and_streamed() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new().text("Hi there"));

    let whole = Request::responses(mock.url(), &responses_body(false)).send().await.expect("an answer");
    assert_eq!((whole.status.as_u16(), whole.header("x-request-id")), (200, "req_mock_0"));
    assert_eq!(whole.json()["output"][0]["content"][0]["text"], "Hi there");
    let stream = Request::responses(mock.url(), &responses_body(true)).send().await.expect("an answer");
    assert_eq!(stream.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(stream.events().last().map(|event| event["type"].clone()), Some(json!("response.completed")));

    let whole =
        Request::gemini(mock.url(), "gemini-3-flash", false, &gemini_body()).send().await.expect("an answer");
    assert_eq!(whole.header("content-type"), "application/json");
    assert_eq!(whole.json()["candidates"][0]["content"]["parts"][0]["text"], "Hi there");
    let stream =
        Request::gemini(mock.url(), "gemini-3-flash", true, &gemini_body()).send().await.expect("an answer");
    assert_eq!(stream.chunks.len(), 3);
    assert!(stream.text().ends_with("\r\n\r\n"));
    assert_eq!(stream.events()[0]["candidates"][0]["content"]["parts"][0]["text"], "Hi ");

    let requests = mock.requests();
    let apis: Vec<_> = requests.iter().map(|request| (request.api, request.wants_stream())).collect();
    assert_eq!(
        apis,
        [
            (Some(Api::Responses), false),
            (Some(Api::Responses), true),
            (Some(Api::Gemini), false),
            (Some(Api::Gemini), true),
        ]
    );
    assert!(!format!("{:?}", requests[2]).contains("key-test"));
}

#[tokio::test]
async fn a_broken_rule_is_answered_in_the_apis_envelope() {
    let mock = start().await;
    let mut body = responses_body(false);
    body["seed"] = json!(1);
    let answer = Request::responses(mock.url(), &body).send().await.expect("an answer");
    assert_eq!(
        answer.json(),
        json!({"error": {
            "message": "Unknown parameter: 'seed'.", "type": "invalid_request_error", "param": "seed",
            "code": "unknown_parameter",
        }})
    );

    let mut body = gemini_body();
    body["seed"] = json!(1);
    let answer = Request::gemini(mock.url(), "gemini-3-flash", false, &body).send().await.expect("an answer");
    assert_eq!(answer.status, 400);
    let message = "Invalid JSON payload received. Unknown name \"seed\": Cannot find field.";
    let error = json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": [{
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": "seed", "description": message}],
    }]}});
    assert_eq!(answer.json(), error);
    let stream = Request::gemini(mock.url(), "gemini-3-flash", true, &body).send().await.expect("an answer");
    assert_eq!(stream.json(), json!([error]));
    // A rule that all APIs share, in Google's words for the status.
    let plain = Request::gemini(mock.url(), "gemini-3-flash", false, &gemini_body())
        .without_header("content-type")
        .header("content-type", "text/plain");
    let answer = plain.send().await.expect("an answer");
    assert_eq!(answer.json()["error"]["status"], "INVALID_ARGUMENT");
    assert_eq!(mock.violations().len(), 4);
}

#[tokio::test]
async fn keys_are_demanded_as_each_api_does() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new());
    let responses = || Request::responses(mock.url(), &responses_body(false));
    let gemini = || Request::gemini(mock.url(), "gemini-3-flash", false, &gemini_body());
    let post = |path: &str| {
        Request::post(mock.url(), path, gemini_body().to_string()).header("content-type", "application/json")
    };
    let vertex = "/v1/projects/p/locations/l/publishers/google/models/gemini-3-flash:generateContent";
    for (request, status) in [
        (responses(), 200),
        (responses().without_header("authorization").header("api-key", "k"), 200),
        (responses().without_header("authorization"), 401),
        (gemini(), 200),
        (gemini().without_header("x-goog-api-key"), 403),
        (post("/v1beta/models/gemini-3-flash:generateContent?key=k"), 200),
        (post("/v1beta/models/gemini-3-flash:generateContent?key="), 403),
        (post(vertex), 401),
        (post(vertex).header("authorization", "Bearer t"), 200),
        (post("/v1beta/models/gemini-3-flash:countTokens?key=k"), 404),
    ] {
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
}
