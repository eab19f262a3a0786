//! Requests as they are served, judged and recorded.

use std::time::Duration;

use serde_json::json;

use super::{chat_body, chat_stream_body, messages_body, start};
use crate::testing::Request;
use crate::{Api, MockProvider, Reply, ResponseState, Rules};

#[tokio::test]
async fn the_same_reply_serves_both_apis_whole_and_streamed() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new().text("Hi there"));

    let whole = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert_eq!(whole.status, 200);
    assert_eq!(whole.header("content-type"), "application/json");
    assert_eq!(whole.header("x-request-id"), "req_mock_0");
    assert_eq!(whole.json()["choices"][0]["message"]["content"], "Hi there");
    assert_eq!(whole.json()["model"], "gpt-4o");

    let stream = Request::chat(mock.url(), &chat_stream_body()).send().await.expect("an answer");
    assert_eq!(stream.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(stream.events().last(), Some(&json!("[DONE]")));

    let message = Request::messages(mock.url(), &messages_body()).send().await.expect("an answer");
    assert_eq!(message.header("request-id"), "req_mock_2");
    assert_eq!(message.json()["content"][0]["text"], "Hi there");
}

#[tokio::test]
async fn requests_are_recorded() {
    let mock = start().await;
    mock.enqueue(Reply::new());
    Request::chat(mock.url(), &chat_body()).header("x-trace", "7").send().await.expect("an answer");
    let requests = mock.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((request.index, request.api), (0, Some(Api::ChatCompletions)));
    assert_eq!(request.method, http::Method::POST);
    assert_eq!(request.uri, "/v1/chat/completions");
    assert_eq!(request.header("x-trace"), "7");
    assert_eq!(request.header("authorization"), "Bearer sk-test");
    assert_eq!(request.json(), &chat_body());
    assert_eq!(request.body, chat_body().to_string());
    assert_eq!(request.response, ResponseState::Sent);
    assert_eq!(request.violation, None);
    assert!(request.arrived.elapsed() < Duration::from_secs(60));
    let shown = format!("{request:?}");
    assert!(shown.contains("/v1/chat/completions") && !shown.contains("sk-test"), "{shown}");
}

#[tokio::test]
async fn a_broken_rule_is_answered_by_the_api_and_leaves_the_script_alone() {
    let mock = start().await;
    mock.enqueue(Reply::new().text("later"));
    let mut body = chat_body();
    body["messages"][0]["content"] = json!([]);
    let answer = Request::chat(mock.url(), &body).send().await.expect("an answer");
    assert_eq!(answer.status, 400);
    let error = &answer.json()["error"];
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!((&error["param"], &error["code"]), (&json!("messages[0].content"), &json!("empty_array")));

    let mut body = messages_body();
    body["messages"][0]["content"] = json!("");
    let answer = Request::messages(mock.url(), &body).send().await.expect("an answer");
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["type"], "error");
    assert_eq!(answer.json()["request_id"], "req_mock_1");
    assert_eq!(
        answer.json()["error"]["message"],
        "messages.0.content: text content blocks must be non-empty"
    );

    assert_eq!(mock.pending_replies(), 1);
    let violations = mock.violations();
    assert_eq!(violations.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(violations[1].1.path, "messages.0.content");
}

#[tokio::test]
async fn keys_are_demanded_as_each_api_does() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new());
    let chat = || Request::chat(mock.url(), &chat_body());
    let messages = || Request::messages(mock.url(), &messages_body());
    for (request, status) in [
        (chat(), 200),
        (chat().without_header("authorization").header("api-key", "k"), 200),
        (chat().without_header("authorization"), 401),
        (chat().without_header("authorization").header("authorization", "Basic eDp5"), 401),
        (messages(), 200),
        (messages().without_header("x-api-key").header("authorization", "Bearer t"), 200),
        (messages().without_header("x-api-key"), 401),
        (messages().header("authorization", "Bearer t"), 401),
        (messages().without_header("anthropic-version"), 400),
        (messages().without_header("anthropic-version").header("anthropic-version", "2024-01-01"), 400),
    ] {
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let open =
        MockProvider::start_with(Some(Rules::new().with_authentication(false))).await.expect("a free port");
    open.enqueue(Reply::new());
    let answer = Request::chat(open.url(), &chat_body()).without_header("authorization").send().await;
    assert_eq!(answer.expect("an answer").status, 200);
}

#[tokio::test]
async fn version_and_betas_come_from_the_headers() {
    let mock = start().await;
    mock.respond_with(|_| Reply::new());
    let mut body = messages_body();
    body["context_management"] = json!({});
    let answer = Request::messages(mock.url(), &body).send().await.expect("an answer");
    assert_eq!(answer.status, 400);
    let beta =
        Request::messages(mock.url(), &body).header("anthropic-beta", "a, context-management-2025-06-27");
    assert_eq!(beta.send().await.expect("an answer").status, 200);
}

#[tokio::test]
async fn bodies_content_types_methods_and_paths_are_checked() {
    let mock = start().await;
    let wrong_type = Request::chat(mock.url(), &chat_body())
        .without_header("content-type")
        .header("content-type", "text/plain");
    assert_eq!(wrong_type.send().await.expect("an answer").status, 400);
    let no_json = Request::post(mock.url(), "/v1/messages", "{")
        .header("x-api-key", "k")
        .header("anthropic-version", "2023-06-01")
        .header("content-type", "application/json; charset=utf-8");
    let answer = no_json.send().await.expect("an answer");
    assert!(answer.text().contains("not valid JSON"), "{}", answer.text());
    let elsewhere = Request::post(mock.url(), "/v1/models", "").send().await.expect("an answer");
    assert_eq!(elsewhere.status, 404);
    let get = Request::get(mock.url(), "/v1/messages").send().await.expect("an answer");
    assert_eq!(get.status, 405);
}

#[tokio::test]
async fn a_messages_request_has_at_most_32_megabytes() {
    let mock = start().await;
    let mut body = messages_body();
    body["messages"][0]["content"] = json!("x".repeat(32_000_000));
    let answer = Request::messages(mock.url(), &body).send().await.expect("an answer");
    assert_eq!(answer.status, 413);
    assert_eq!(answer.json()["error"]["type"], "request_too_large");
}

#[tokio::test]
async fn without_a_fitting_reply_the_answer_says_so() {
    let mock = start().await;
    let answer = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert_eq!(answer.status, 418);
    assert!(answer.text().contains("no reply is scripted"));
    mock.enqueue(Reply::new().redacted_thinking("x"));
    let answer = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert!(answer.text().contains("Chat Completions has no redacted thinking"), "{}", answer.text());
}

#[tokio::test]
async fn the_queue_is_served_before_the_handler() {
    let mock = start().await;
    mock.respond_with(|request| Reply::new().text(format!("number {}", request.index)));
    mock.enqueue(Reply::new().text("queued"));
    for expected in ["queued", "number 1", "number 2"] {
        let answer = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
        assert_eq!(answer.json()["choices"][0]["message"]["content"], expected);
    }
    assert!(mock.wait_for_requests(3, Duration::ZERO).await);
    assert!(!mock.wait_for_requests(4, Duration::from_millis(20)).await);
}

#[tokio::test]
async fn errors_have_each_apis_envelope_and_words() {
    let mock = start().await;
    mock.respond_with(|_| Reply::error(429, "slow down").retry_after(2));
    let chat = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert_eq!((chat.status.as_u16(), chat.header("retry-after")), (429, "2"));
    assert_eq!(
        chat.json(),
        json!({"error": {"message": "slow down", "type": "requests", "param": null, "code": "rate_limit_exceeded"}})
    );
    let messages = Request::messages(mock.url(), &messages_body()).send().await.expect("an answer");
    assert_eq!(messages.json()["error"], json!({"type": "rate_limit_error", "message": "slow down"}));

    mock.enqueue(Reply::error(529, "Overloaded"));
    let overloaded = Request::messages(mock.url(), &messages_body()).send().await.expect("an answer");
    assert_eq!(
        (overloaded.status.as_u16(), &overloaded.json()["error"]["type"]),
        (529, &json!("overloaded_error"))
    );

    mock.enqueue(
        Reply::error(429, "no money").error_kind("insufficient_quota").error_code("insufficient_quota"),
    );
    let quota = Request::chat(mock.url(), &chat_body()).send().await.expect("an answer");
    assert_eq!(quota.json()["error"]["code"], "insufficient_quota");
}

#[tokio::test]
async fn a_mock_without_rules_takes_anything() {
    let mock = MockProvider::start_with(None).await.expect("a free port");
    mock.enqueue(Reply::json(201, &json!({"ok": true})));
    let answer = Request::post(mock.url(), "/anywhere?x=1", "not json").send().await.expect("an answer");
    assert_eq!((answer.status.as_u16(), answer.json()), (201, json!({"ok": true})));
    let requests = mock.requests();
    assert_eq!(requests[0].uri, "/anywhere?x=1");
    assert_eq!((requests[0].api, requests[0].json.clone()), (None, None));
}
