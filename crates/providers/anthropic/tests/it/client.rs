//! The provider over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::*;
use attache_anthropic::{Anthropic, MessagesCodec};
use attache_core::{
    ChatRequest, ErrorKind, FinishReason, LlmProvider, Message, ModelHandle, ModelSettings, StreamChunk,
    ToolChoice,
};
use attache_transport::{Auth, Environment, RetryPolicy};
use futures_util::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn model(server: &MockServer) -> Anthropic {
    let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2));
    Anthropic::new(MODEL, "sk-ant-canary").unwrap().with_base_url(server.uri()).with_retry(retry)
}

fn hello() -> Vec<u8> {
    let text = |text: &str| delta(0, &json!({"type": "text_delta", "text": text}));
    reply(&[start(0, &json!({"type": "text", "text": ""})), text("Hel"), text("lo"), stop(0)], "end_turn")
}

fn streamed(body: Vec<u8>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream; charset=utf-8")
}

fn failed(status: u16, kind: &str) -> ResponseTemplate {
    let body = json!({"type": "error", "error": {"type": kind, "message": "m"}, "request_id": "req_1"});
    ResponseTemplate::new(status).set_body_json(body)
}

// P06, P07
// Each test has a server of its own: one of the pool may still hear from a request that another test dropped.
#[tokio::test]
async fn streams() {
    let server = MockServer::builder().start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("x-api-key", "sk-ant-canary"))
        .and(header("anthropic-version", "2023-06-01"))
        .respond_with(streamed(hello()))
        .expect(1)
        .mount(&server)
        .await;
    let model = ModelHandle::new(model(&server));
    assert_eq!(model.id(), "anthropic/claude-opus-4-6");
    let chunks: Vec<StreamChunk> = model.chat("Hi").map(Result::unwrap).collect().await;
    let [StreamChunk::Content(a), StreamChunk::Content(b), StreamChunk::Done(done)] = chunks.as_slice()
    else {
        panic!("{chunks:?}")
    };
    assert_eq!((a.as_str(), b.as_str(), done.message.text().as_str()), ("Hel", "lo", "Hello"));
    assert_eq!(done.finish_reason, FinishReason::Stop);
    let state = model.state();
    assert_eq!((state.requests, state.turns, state.failures), (1, 1, 0));
    assert_eq!((state.usage.input_tokens, state.usage.output_tokens), (Some(9), Some(5)));
    let sent: Value = serde_json::from_slice(&server.received_requests().await.unwrap()[0].body).unwrap();
    assert_eq!(sent["stream"], json!(true));
}

// Invariant 6
#[tokio::test]
async fn answers_whole_alike() {
    let server = MockServer::builder().start().await;
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 5}});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_json(message))
        .mount(&server)
        .await;
    let request = ChatRequest::new([Message::user("Hi").shared()]).streaming(false);
    let whole = ModelHandle::new(model(&server)).complete(request).await.unwrap();
    let mut streamed = completion(&hello());
    streamed.message.id = whole.message.id.clone();
    // The codec alone sees no head of an answer.
    streamed.response = whole.response.clone();
    assert_eq!(whole, streamed);
}

// P26
#[tokio::test]
async fn asks_again_while_it_may_help() {
    for trouble in [
        failed(529, "overloaded_error"),
        failed(500, "api_error"),
        streamed(sse(&[
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ])),
    ] {
        let server = MockServer::builder().start().await;
        Mock::given(method("POST")).respond_with(trouble).up_to_n_times(2).mount(&server).await;
        Mock::given(method("POST")).respond_with(streamed(hello())).mount(&server).await;
        let model = model(&server);
        let done = ModelHandle::collect(model.stream(request([Message::user("Hi")]))).await.unwrap();
        assert_eq!(done.message.text(), "Hello");
        assert_eq!(server.received_requests().await.unwrap().len(), 3);
    }
}

#[tokio::test]
async fn gives_up_when_it_does_not_help() {
    for (template, kind, requests) in [
        (failed(529, "overloaded_error"), ErrorKind::Overloaded, 3),
        (failed(401, "authentication_error"), ErrorKind::Authentication, 1),
        (failed(429, "rate_limit_error").insert_header("x-should-retry", "false"), ErrorKind::RateLimited, 1),
        (
            failed(400, "invalid_request_error").insert_header("request-id", "req_2"),
            ErrorKind::InvalidRequest,
            1,
        ),
    ] {
        let server = MockServer::builder().start().await;
        Mock::given(method("POST")).respond_with(template).mount(&server).await;
        let model = model(&server);
        let error = ModelHandle::collect(model.stream(request([Message::user("Hi")]))).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.request_id().is_some_and(|id| id.starts_with("req_")));
        assert_eq!(server.received_requests().await.unwrap().len(), requests);
        assert_eq!(model.state().failures, 1);
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}

// P26: never after output
#[tokio::test]
async fn does_not_repeat_what_was_handed_out() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for (rest, kind) in [(sse(&[error]), ErrorKind::Overloaded), (Vec::new(), ErrorKind::StreamCut)] {
        let text = sse(&[start(0, &json!({"type": "text", "text": "Hel"}))]);
        let (address, go_on, count) = two_parts("text/event-stream", text, rest).await;
        let model = Anthropic::new(MODEL, "sk-ant-canary").unwrap().with_base_url(address);
        let mut stream = model.stream(request([Message::user("Hi")]));
        let first = stream.next().await.unwrap().unwrap();
        assert_eq!(first, StreamChunk::Content("Hel".into()));
        go_on.notify_one();
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.is_retryable(), error.is_after_output()), (kind, false, true));
        assert!(stream.next().await.is_none());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

// P04
#[tokio::test]
async fn requests_win_over_the_defaults() {
    let server = MockServer::builder().start().await;
    Mock::given(method("POST")).respond_with(streamed(hello())).mount(&server).await;
    let model =
        model(&server).with_settings(ModelSettings::new().with_max_tokens(7).with_system("Be brief."));
    let request = request([Message::user("Hi")]).with_settings(ModelSettings::new().with_max_tokens(9));
    ModelHandle::collect(model.stream(request)).await.unwrap();
    let sent: Value = serde_json::from_slice(&server.received_requests().await.unwrap()[0].body).unwrap();
    assert_eq!((&sent["max_tokens"], &sent["system"][0]["text"]), (&json!(9), &json!("Be brief.")));
}

// P02
#[test]
fn keys_and_names() {
    for (model, key) in [("claude-opus-5", ""), ("claude-opus-5", " \n"), (" ", "sk-ant-canary")] {
        assert_eq!(Anthropic::new(model, key).unwrap_err().kind(), ErrorKind::Configuration);
    }
    let model = Anthropic::new("claude-opus-5", "sk-ant-canary").unwrap();
    assert!(!format!("{model:?}").contains("canary"));
    // Gateways may want no key, or their own header.
    assert!(Anthropic::new(MessagesCodec::new("local"), Auth::None).is_ok());
    let options = ModelSettings::new().with_extra_header("Authorization", "Bearer canary");
    let own = encode(&request([Message::user("a")]).with_settings(options)).unwrap();
    let names: Vec<&str> = own.parts.shown_headers().map(|(name, _)| name).collect();
    assert!(names.contains(&"authorization") && !names.contains(&"x-api-key"), "{names:?}");
    let private = MessagesCodec::new("local").with_base_url("https://ann:canary@example.com");
    assert!(!format!("{private:?}").contains("canary"));
}

#[test]
fn the_environment_is_named() {
    let error = Anthropic::from_environment("claude-opus-5", &Environment::new(|_| None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.message().contains("ANTHROPIC_API_KEY"), "{error}");
}

// Nothing is sent that cannot be right.
#[tokio::test]
async fn a_wrong_request_is_not_sent() {
    let server = MockServer::builder().start().await;
    let request = request([Message::user("Hi")]).with_tool_choice(ToolChoice::Required);
    let error = ModelHandle::collect(model(&server).stream(request)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(server.received_requests().await.unwrap().is_empty());
}
