//! A model behind the Responses API, over HTTP.

#![cfg(test)]

use std::time::Duration;

use attache_core::{
    AssistantPart, ChatRequest, ErrorKind, FinishReason, LlmProvider, Message, ModelHandle, StreamChunk,
    ToolResult,
};
use attache_openai::OpenAi;
use attache_transport::{Environment, RetryPolicy};
use futures_util::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::answers::{
    added, begun, call, completed, done, events, message, reasoning, response, text,
};
use crate::common::{answers, user};

fn model(server: &MockServer) -> OpenAi {
    let quick = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2));
    OpenAi::new("gpt-5.6", "sk-canary-0123456789")
        .unwrap()
        .with_base_url(format!("{}/v1/", server.uri()))
        .with_retry(quick)
}

fn hello() -> ChatRequest {
    ChatRequest::new([user("Hi")])
}

fn stream(list: &[Value]) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(events(list), "text/event-stream; charset=utf-8")
}

fn says_hello() -> Vec<Value> {
    let item = message("msg_1", "Hello");
    vec![
        added(0, &begun("msg_1")),
        text(0, "msg_1", "Hel"),
        text(0, "msg_1", "lo"),
        done(0, &item),
        completed(&[item]),
    ]
}

// invariant 6
#[tokio::test]
async fn streamed_or_whole_it_is_the_same_reply() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/responses"))
        .and(header("authorization", "Bearer sk-canary-0123456789"))
        .and(body_partial_json(json!({"stream": true, "store": false, "model": "gpt-5.6"})))
        .respond_with(stream(&says_hello()))
        .expect(1)
        .mount(&server)
        .await;
    let streaming = model(&server);
    let chunks: Vec<_> = streaming.stream(hello()).map(Result::unwrap).collect().await;
    assert_eq!(chunks[..2], [StreamChunk::Content("Hel".to_owned()), StreamChunk::Content("lo".to_owned())]);
    let [.., StreamChunk::Done(streamed)] = &chunks[..] else { panic!("no end") };
    server.verify().await;
    server.reset().await;

    let whole = ResponseTemplate::new(200).set_body_json(response("completed", &[message("msg_1", "Hello")]));
    Mock::given(method("POST")).respond_with(whole).expect(1).mount(&server).await;
    let answered = ModelHandle::new(model(&server)).complete(hello().streaming(false)).await.unwrap();
    let request: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert!(request.get("stream").is_none());
    // The ids of messages are ours and drawn anew.
    assert_eq!(answered.message.parts, streamed.message.parts);
    assert_eq!((&answered.finish_reason, &answered.usage), (&FinishReason::Stop, &streamed.usage));
    assert_eq!((&answered.model, &answered.response_id), (&streamed.model, &streamed.response_id));
    let state = streaming.state();
    assert_eq!((state.requests, state.turns, state.failures, state.usage.input_tokens), (1, 1, 0, Some(3)));
}

// P26, openai.md D 29
#[tokio::test]
async fn retryable_errors_are_retried() {
    let server = MockServer::start().await;
    let mut failed = response("failed", &[]);
    failed["error"] = json!({"code": "server_error", "message": "m"});
    let created = json!({"type": "response.created", "response": response("in_progress", &[])});
    let attempts = [
        ResponseTemplate::new(503).set_body_json(json!({"error": {"message": "m", "type": "server_error"}})),
        stream(&[created.clone(), json!({"type": "response.failed", "response": failed})]),
    ];
    for attempt in attempts {
        Mock::given(method("POST")).respond_with(attempt).up_to_n_times(1).expect(1).mount(&server).await;
    }
    Mock::given(method("POST")).respond_with(stream(&says_hello())).expect(1).mount(&server).await;
    let reply = ModelHandle::new(model(&server)).complete(hello()).await.unwrap();
    assert_eq!(reply.message.text(), "Hello");
}

#[tokio::test]
async fn after_the_first_chunk_nothing_is_repeated() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(stream(&says_hello()[..2])).expect(1).mount(&server).await;
    let chunks: Vec<_> = model(&server).stream(hello()).collect().await;
    assert_eq!(chunks.len(), 2);
    let error = chunks[1].as_ref().unwrap_err();
    let found = (error.kind(), error.is_after_output(), error.is_retryable());
    assert_eq!(found, (ErrorKind::StreamCut, true, false));
}

// P25
#[tokio::test]
async fn errors_carry_what_the_provider_said() {
    let server = MockServer::start().await;
    let body = json!({"error": {"message": "The requested model 'm' does not exist.",
        "type": "invalid_request_error", "param": "model", "code": "model_not_found"}});
    let refused = ResponseTemplate::new(400).insert_header("x-request-id", "req_1").set_body_json(body);
    Mock::given(method("POST")).respond_with(refused).expect(1).mount(&server).await;
    let error = ModelHandle::new(model(&server)).complete(hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(400)));
    assert_eq!((error.code(), error.param()), (Some("model_not_found"), Some("model")));
    assert_eq!(error.request_id(), Some("req_1"));
    assert!(!format!("{error:?}").contains("canary"));
}

// openai.md B.7: what came goes back, encrypted reasoning next to what it led to
#[tokio::test]
async fn a_turn_goes_on_without_anything_stored() {
    let server = MockServer::start().await;
    let items = [reasoning("rs_1", &["hm"]), call("fc_1", "call_1", "clock", "{}")];
    let asks: Vec<_> = [done(0, &items[0]), done(1, &items[1]), completed(&items)].into();
    let first = Mock::given(method("POST")).respond_with(stream(&asks)).up_to_n_times(1);
    first.expect(1).mount(&server).await;
    Mock::given(method("POST")).respond_with(stream(&says_hello())).expect(1).mount(&server).await;
    let model = ModelHandle::new(model(&server));
    let asked = model.complete(hello()).await.unwrap();
    assert!(matches!(asked.message.parts[0], AssistantPart::Reasoning(_)));
    let asking = asked.message.tool_calls().next().unwrap().clone();
    let result = answers([ToolResult::ok(&asking, "noon")]);
    let next = ChatRequest::new([user("Hi"), Message::Assistant(asked.message).shared(), result]);
    model.complete(next).await.unwrap();
    let sent: Vec<Value> = server
        .received_requests()
        .await
        .unwrap()
        .iter()
        .map(|request| request.body_json().unwrap())
        .collect();
    let input = sent[1]["input"].as_array().unwrap();
    assert_eq!(input[..1], sent[0]["input"].as_array().unwrap()[..], "what was sent stays");
    assert_eq!(input[1], items[0]);
    assert_eq!((&input[2]["id"], &input[2]["call_id"]), (&json!("fc_1"), &json!("call_1")));
    assert_eq!(input[3], json!({"type": "function_call_output", "call_id": "call_1", "output": "noon"}));
}

// P03
#[test]
fn keys_and_urls_come_from_the_variables() {
    let environment = Environment::new(|name| match name {
        "OPENAI_API_KEY" => Some("sk-canary".to_owned()),
        "OPENAI_BASE_URL" => Some("http://localhost:1/v1".to_owned()),
        _ => None,
    });
    let model = OpenAi::from_environment("gpt-5.6", &environment).unwrap();
    assert_eq!(
        (model.model_id(), model.codec().profile().base_url.as_str()),
        ("openai/gpt-5.6", "http://localhost:1/v1")
    );
    let missing = OpenAi::from_environment("gpt-5.6", &Environment::new(|_| None)).unwrap_err();
    assert!(
        missing.kind() == ErrorKind::Configuration && missing.message().contains("OPENAI_API_KEY"),
        "{missing}"
    );
    assert_eq!(OpenAi::new(" ", "sk-canary").unwrap_err().kind(), ErrorKind::Configuration);
}
