//! The provider over HTTP, and in a registry that does not know it.

use std::time::Duration;

use attache_cohere::{Cohere, CohereCodec};
use attache_core::{ChatRequest, ErrorKind, FinishReason, LlmProvider, ModelHandle, StreamChunk};
use attache_models::{Registry, Unresolved};
use attache_transport::{Environment, RetryPolicy};
use futures_util::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::common::{MODEL, end, piece, sse, user};

fn stream() -> String {
    let text = |text: &str| piece("content-delta", 0, &json!({"content": {"text": text}}));
    sse(&[json!({"type": "message-start", "id": "r1"}), text("Hel"), text("lo"), end("COMPLETE")])
}

fn streamed() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(stream(), "text/event-stream")
}

fn model(server: &MockServer) -> Cohere {
    let quick = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2));
    Cohere::new(MODEL, "canary-0123456789").unwrap().with_base_url(server.uri()).with_retry(quick)
}

fn hello() -> ChatRequest {
    ChatRequest::new([user("Hi")])
}

// invariant 6
#[tokio::test]
async fn streamed_or_whole_it_is_the_same_reply() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v2/chat"))
        .and(header("authorization", "Bearer canary-0123456789"))
        .and(body_partial_json(json!({"model": MODEL, "stream": true})))
        .respond_with(streamed())
        .expect(1)
        .mount(&server)
        .await;
    let streaming = model(&server);
    let chunks: Vec<_> = streaming.stream(hello()).map(Result::unwrap).collect().await;
    assert_eq!(chunks[..2], [StreamChunk::Content("Hel".to_owned()), StreamChunk::Content("lo".to_owned())]);
    let [.., StreamChunk::Done(streamed)] = &chunks[..] else { panic!("no end") };
    server.verify().await;
    server.reset().await;

    let whole = json!({"id": "r1", "finish_reason": "COMPLETE", "message": {"content": [{"type": "text", "text": "Hello"}]},
        "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}}});
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_json(whole))
        .mount(&server)
        .await;
    let answered = ModelHandle::new(model(&server)).complete(hello().streaming(false)).await.unwrap();
    let request: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert!(request.get("stream").is_none());
    assert_eq!(answered.message.text(), streamed.message.text());
    assert_eq!(
        (&answered.finish_reason, &answered.response_id),
        (&FinishReason::Stop, &streamed.response_id)
    );
    assert_eq!(answered.usage, streamed.usage);
    assert_eq!(streaming.state().usage.input_tokens, Some(3));
}

// P26
#[tokio::test]
async fn retryable_errors_are_retried() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(503).set_body_json(json!({"message": "service unavailable"}));
    Mock::given(method("POST")).respond_with(busy).up_to_n_times(1).expect(1).mount(&server).await;
    let failed = sse(&[json!({"type": "message-end", "delta": {"finish_reason": "ERROR"}})]);
    let failed = ResponseTemplate::new(200).set_body_raw(failed, "text/event-stream");
    Mock::given(method("POST")).respond_with(failed).up_to_n_times(1).expect(1).mount(&server).await;
    Mock::given(method("POST")).respond_with(streamed()).expect(1).mount(&server).await;
    let reply = ModelHandle::new(model(&server)).complete(hello()).await.unwrap();
    assert_eq!(reply.message.text(), "Hello");
}

// P25, invariant 11
#[tokio::test]
async fn errors_carry_what_the_provider_said() {
    let server = MockServer::start().await;
    let refused = ResponseTemplate::new(401)
        .set_body_json(json!({"id": "e1", "message": "invalid api token canary-0123456789"}));
    Mock::given(method("POST")).respond_with(refused).expect(1).mount(&server).await;
    let model = model(&server);
    let error = ModelHandle::new(model.clone()).complete(hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.request_id()), (ErrorKind::Authentication, Some("e1")));
    assert!(!format!("{error} {error:?} {:?} {model:?}", error.response_body()).contains("canary"));
}

// P02
#[test]
fn keys_and_addresses() {
    assert_eq!(Cohere::new(" ", "k").unwrap_err().message(), "the model has no name");
    assert_eq!(Cohere::new(MODEL, " ").unwrap_err().kind(), ErrorKind::Configuration);
    let from = |variables: &'static [(&'static str, &'static str)]| {
        let environment = Environment::new(move |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        Cohere::from_environment(MODEL, &environment)
    };
    let key = |model: &Cohere| model.network().auth().key().unwrap().expose().to_owned();
    assert_eq!(key(&from(&[("COHERE_API_KEY", "b")]).unwrap()), "b");
    assert_eq!(key(&from(&[("COHERE_API_KEY", "b"), ("CO_API_KEY", "a")]).unwrap()), "a");
    let moved = from(&[("CO_API_KEY", "a"), ("CO_API_URL", "https://gateway.example")]).unwrap();
    assert!(format!("{moved:?}").contains("https://gateway.example"));
    assert_eq!(from(&[]).unwrap_err().message(), "no key for cohere: set CO_API_KEY");
}

// An author adds a crate without touching ours: no registry of attache's knows this one.
#[tokio::test]
async fn a_registry_learns_of_it_in_one_line() {
    let keys = |name: &str| (name == "CO_API_KEY").then(|| "canary-key".to_owned());
    let unknown = Registry::bundled().model("cohere/command-a-03-2025").unwrap_err();
    assert!(matches!(unknown.reason, Unresolved::NoProvider(_)));

    let registry = Registry::bundled()
        .with_codec("cohere", "cohere", CohereCodec::new)
        .with_environment(Environment::new(keys))
        .with_config(
            "[models]\nfast = 'cohere/command-r7b-12-2024'\n\
             [capabilities.cohere.models.'command-a-reasoning*']\nuser.media = ['+image/png']",
        )
        .unwrap();
    assert_eq!(registry.model("fast").unwrap().id(), "cohere/command-r7b-12-2024");
    assert_eq!(registry.codec("fast").unwrap().model_id(), "cohere/command-r7b-12-2024");
    // The crate's knowledge lies under the configuration.
    let known = registry.capabilities("cohere/command-a-reasoning-08-2025").unwrap();
    assert_eq!((known.user.media.len(), known.context_window), (2, Some(256_000)));

    let server = MockServer::start().await;
    Mock::given(path("/v2/chat")).respond_with(streamed()).expect(1).mount(&server).await;
    let model = registry.with_base_url(server.uri()).model("cohere/command-a-03-2025").unwrap();
    assert_eq!(model.complete(hello()).await.unwrap().message.text(), "Hello");
}
