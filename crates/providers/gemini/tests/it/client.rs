//! The provider over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::*;
use attache_conformance::{MockProvider, Reply, ReplyUsage};
use attache_core::settings::CachePolicy;
use attache_core::{
    BoxFuture, ChatRequest, ErrorKind, FinishReason, LlmProvider, Message, ModelHandle, ModelSettings,
    ProviderError, Secret, StreamChunk, ToolChoice,
};
use attache_gemini::{Gemini, GenerateCodec};
use attache_transport::{Ask, Auth, Authorizer, Environment, RequestParts, RetryPolicy};
use futures_util::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn quick() -> RetryPolicy {
    RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2))
}

fn model(server: &MockServer) -> Gemini {
    Gemini::new(MODEL, "AIza-canary").unwrap().with_base_url(server.uri()).with_retry(quick())
}

fn hello() -> Vec<u8> {
    sse(&[
        chunk(&json!([{"text": "Hel"}]), None),
        chunk(&json!([{"text": "lo"}]), None),
        chunk(&json!([{"text": ""}]), Some("STOP")),
    ])
}

fn streamed(body: Vec<u8>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

fn failed(code: u16, status: &str) -> ResponseTemplate {
    let body = json!([{"error": {"code": code, "message": "m", "status": status}}]);
    ResponseTemplate::new(code).set_body_json(body)
}

// P06, P07, gemini.md 1 and 8
#[tokio::test]
async fn streams() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path(format!("/v1beta/models/{MODEL}:streamGenerateContent")))
        .and(query_param("alt", "sse"))
        .and(header("x-goog-api-key", "AIza-canary"))
        .respond_with(streamed(hello()))
        .expect(1)
        .mount(&server)
        .await;
    let model = ModelHandle::new(model(&server));
    assert_eq!(model.id(), "gemini/gemini-3-flash-preview");
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
}

// Invariant 6, by the strict mock
#[tokio::test]
async fn answers_whole_and_streamed_alike() {
    let mock = MockProvider::start().await.unwrap();
    let reply = || {
        Reply::new()
            .signed_thinking("hm", "czE=")
            .text("I look.")
            .call("id_1", "files_list", json!({"folder": "inbox"}))
            .part_signature("czI=")
            .call("id_2", "files_read", json!({"path": "a"}))
            .usage(ReplyUsage::new(20, 5).with_cached(8).with_reasoning(3))
            .id("r_1")
    };
    mock.enqueue(reply());
    mock.enqueue(reply());
    let model = Gemini::new(MODEL, "AIza-canary").unwrap().with_base_url(mock.url());
    let ask = || request([Message::user("Hi")]).with_tools(tools());
    let streamed = ModelHandle::collect(model.stream(ask())).await.unwrap();
    let whole = ModelHandle::collect(model.stream(ask().streaming(false))).await.unwrap();
    assert_eq!(shape(&whole), shape(&streamed));
    assert_eq!(whole.message.tool_calls().count(), 2);
    let mut usage = (whole.usage.clone(), streamed.usage.clone());
    (usage.0.raw, usage.1.raw) = (None, None);
    assert_eq!(usage.0, usage.1);
    assert_eq!((whole.finish_reason, whole.response_id), (streamed.finish_reason, streamed.response_id));
    assert_eq!(mock.violations(), []);
}

// P20, E02: calls, results, answer, against the strict mock
#[tokio::test]
async fn a_round_of_tools() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().call("id_1", "files_read", json!({"path": "a"})).part_signature("c2ln"));
    mock.enqueue(Reply::new().text("Twelve."));
    let model = Gemini::new(MODEL, "AIza-canary").unwrap().with_base_url(mock.url());
    let mut messages = vec![Message::user("How much?").shared()];
    let ask = |messages: &[Arc<Message>]| ChatRequest::new(messages.to_vec()).with_tools(tools());
    let asked = ModelHandle::collect(model.stream(ask(&messages))).await.unwrap();
    let answer = attache_core::ToolResult::ok(asked.message.tool_calls().next().unwrap(), "12");
    messages.push(Message::Assistant(asked.message).shared());
    messages.push(results([answer]).shared());
    let done = ModelHandle::collect(model.stream(ask(&messages))).await.unwrap();
    assert_eq!(done.message.text(), "Twelve.");
    assert_eq!(mock.violations(), []);
    assert_eq!(mock.requests()[1].json()["contents"][1]["parts"][0]["thoughtSignature"], "c2ln");
}

// P26, gemini.md (a) 5
#[tokio::test]
async fn asks_again_while_it_may_help() {
    for trouble in [
        failed(503, "UNAVAILABLE"),
        failed(500, "INTERNAL"),
        streamed(sse(&[json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}})])),
        streamed(sse(&[candidates(&[json!({"finishReason": "MALFORMED_FUNCTION_CALL"})])])),
        streamed(sse(&[candidates(&[json!({"finishReason": "OTHER"})])])),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(trouble).up_to_n_times(2).mount(&server).await;
        Mock::given(method("POST")).respond_with(streamed(hello())).mount(&server).await;
        let done = ModelHandle::collect(model(&server).stream(request([Message::user("Hi")]))).await.unwrap();
        assert_eq!(done.message.text(), "Hello");
        assert_eq!(server.received_requests().await.unwrap().len(), 3);
    }
}

#[tokio::test]
async fn gives_up_when_it_does_not_help() {
    let key = json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID"}]}});
    let malformed = streamed(sse(&[candidates(&[json!({"finishReason": "MALFORMED_FUNCTION_CALL"})])]));
    for (template, kind, requests) in [
        (failed(503, "UNAVAILABLE"), ErrorKind::Overloaded, 3),
        (malformed, ErrorKind::Malformed, 3),
        (failed(403, "PERMISSION_DENIED"), ErrorKind::Permission, 1),
        (ResponseTemplate::new(400).set_body_json(key), ErrorKind::Authentication, 1),
        (streamed(sse(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})])), ErrorKind::Refused, 1),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(template).mount(&server).await;
        let model = model(&server);
        let error = ModelHandle::collect(model.stream(request([Message::user("Hi")]))).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert_eq!(server.received_requests().await.unwrap().len(), requests);
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}

// A server that will not keep anything, whatever it says, is no reason to fail (P29).
#[tokio::test]
async fn trouble_with_cached_contents_is_no_trouble_of_the_call() {
    for trouble in [
        failed(503, "UNAVAILABLE"),
        failed(403, "PERMISSION_DENIED"),
        ResponseTemplate::new(200).set_body_string("{}"),
        ResponseTemplate::new(200).set_body_string("<html>"),
    ] {
        let server = MockServer::start().await;
        Mock::given(path("/v1beta/cachedContents")).respond_with(trouble).mount(&server).await;
        Mock::given(method("POST")).respond_with(streamed(hello())).mount(&server).await;
        let options = ModelSettings::new().with_cache(CachePolicy::Long).with_system("x".repeat(20_000));
        let asked = request([Message::user("Hi")]).with_settings(options);
        let done = ModelHandle::collect(model(&server).stream(asked)).await.unwrap();
        assert_eq!((done.message.text().as_str(), done.degradations.len()), ("Hello", 1));
    }
}

// gemini.md 10: what is kept and then refused with the request is given up, not the request
#[tokio::test]
async fn a_cached_content_that_does_not_fit_is_given_up() {
    let server = MockServer::start().await;
    let cache = json!({"name": "cachedContents/a"});
    Mock::given(method("POST"))
        .and(path("/v1beta/cachedContents"))
        .respond_with(ResponseTemplate::new(200).set_body_json(cache))
        .expect(1)
        .mount(&server)
        .await;
    Mock::given(method("DELETE"))
        .and(path("/v1beta/cachedContents/a"))
        .respond_with(ResponseTemplate::new(200).set_body_string("{}"))
        .expect(1)
        .mount(&server)
        .await;
    let refused = json!({"error": {"code": 400, "message": "CachedContent can not be used with this.", "status": "INVALID_ARGUMENT"}});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(400).set_body_json(refused))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(method("POST")).respond_with(streamed(hello())).mount(&server).await;
    let options = ModelSettings::new().with_cache(CachePolicy::Short).with_system("x".repeat(20_000));
    let model = model(&server);
    for _ in 0..2 {
        let asked = request([Message::user("Hi")]).with_settings(options.clone());
        let done = ModelHandle::collect(model.stream(asked)).await.unwrap();
        assert_eq!((done.message.text().as_str(), done.degradations.len()), ("Hello", 1));
    }
    let sent = server.received_requests().await.unwrap();
    let last: Value = serde_json::from_slice(&sent.last().unwrap().body).unwrap();
    assert_eq!((last.get("cachedContent"), last["systemInstruction"].is_object()), (None, true));
}

/// Tokens that grow old: the first one is refused.
#[derive(Debug, Default)]
struct Tokens(AtomicUsize);

impl Authorizer for Tokens {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        let token = Secret::new(format!("canary-{}", self.0.load(Ordering::SeqCst)));
        *request = request.clone().with_secret_header(http::header::AUTHORIZATION, "Bearer ", &token);
        Box::pin(async { Ok(()) })
    }

    fn refused(&self, _: &RequestParts, error: &ProviderError) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst);
        error.kind() == ErrorKind::Authentication
    }
}

// gemini.md 1: Vertex AI takes tokens from a source of the team's own
#[tokio::test]
async fn vertex_takes_tokens_from_a_source() {
    let server = MockServer::start().await;
    let endpoint = format!(
        "/v1beta1/projects/p/locations/global/publishers/google/models/{MODEL}:streamGenerateContent"
    );
    Mock::given(path(endpoint.clone()))
        .and(header("authorization", "Bearer canary-1"))
        .respond_with(streamed(hello()))
        .expect(1)
        .mount(&server)
        .await;
    Mock::given(path(endpoint)).respond_with(failed(401, "UNAUTHENTICATED")).mount(&server).await;
    let source: Arc<dyn Authorizer> = Arc::new(Tokens::default());
    let codec = GenerateCodec::vertex(MODEL).with_project("p", "").with_base_url(server.uri());
    let model = Gemini::new(codec, source).unwrap();
    assert_eq!(model.model_id(), format!("vertex/{MODEL}"));
    let done = ModelHandle::collect(model.stream(request([Message::user("Hi")]))).await.unwrap();
    assert_eq!(done.message.text(), "Hello");
}

// P02
#[test]
fn keys_and_names() {
    for (model, key) in [(MODEL, ""), (MODEL, " \n"), (" ", "AIza-canary"), ("a b", "AIza-canary")] {
        assert_eq!(Gemini::new(model, key).unwrap_err().kind(), ErrorKind::Configuration);
    }
    let model = Gemini::new(MODEL, "AIza-canary").unwrap();
    assert!(!format!("{model:?}").contains("canary"));
    assert!(Gemini::new(MODEL, Auth::None).is_ok(), "gateways may want no key");
    let private = GenerateCodec::new(MODEL).with_base_url("https://ann:canary@example.com");
    assert!(!format!("{private:?}").contains("canary"));
    let error = Gemini::from_environment(MODEL, &Environment::new(|_| None)).unwrap_err();
    assert!(error.message().contains("GOOGLE_API_KEY"), "{error}");
    let proxy = Environment::new(|name| match name {
        "GEMINI_API_KEY" => Some("canary".to_owned()),
        "GOOGLE_GEMINI_BASE_URL" => Some("https://proxy".to_owned()),
        _ => None,
    });
    let model = Gemini::from_environment(MODEL, &proxy).unwrap();
    let encoded = encode_for(&request([Message::user("a")]), model.codec()).unwrap();
    assert!(encoded.parts.url.starts_with("https://proxy/v1beta/models/"), "{}", encoded.parts.url);
}

// Nothing is sent that cannot be right.
#[tokio::test]
async fn a_wrong_request_is_not_sent() {
    let server = MockServer::start().await;
    let request = request([Message::user("Hi")]).with_tool_choice(ToolChoice::Required);
    let error = ModelHandle::collect(model(&server).stream(request)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(server.received_requests().await.unwrap().is_empty());
}

// gemini.md 11
#[test]
fn tokens_are_counted_of_the_whole_request() {
    use attache_transport::Codec as _;
    let options = attache_core::ModelSettings::new().with_system("Be brief.").with_max_tokens(9);
    let request = attache_core::ChatRequest::new([attache_core::Message::user("Hi").shared()]);
    let read = |codec: attache_gemini::GenerateCodec| {
        let count = codec.count(Ask::new(&request, &options, None)).unwrap().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&count.parts.body.to_vec()).unwrap();
        (count.parts.url, body)
    };
    let (url, body) = read(attache_gemini::GenerateCodec::new("gemini-2.5-flash"));
    assert!(url.ends_with("/v1beta/models/gemini-2.5-flash:countTokens"), "{url}");
    assert_eq!(body["generateContentRequest"]["model"], "models/gemini-2.5-flash");
    assert!(body["generateContentRequest"]["systemInstruction"].is_object());
    let (url, body) = read(attache_gemini::GenerateCodec::vertex("gemini-2.5-flash").with_project("p", ""));
    assert!(url.ends_with("/publishers/google/models/gemini-2.5-flash:countTokens"), "{url}");
    assert!(body["contents"].is_array() && body["systemInstruction"].is_object());
}
