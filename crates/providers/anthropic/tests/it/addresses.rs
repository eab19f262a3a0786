//! Where models are reached, and with which credentials.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use attache_anthropic::{Anthropic, MessagesCodec};
use attache_core::{ChatRequest, ErrorKind, Message, ModelHandle, ModelSettings, Secret};
use attache_transport::{Ask, Codec as _, Environment, RequestParts};
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn environment(pairs: &[(&str, &str)]) -> Environment {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Environment::new(move |name| {
        pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    })
}

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hi").shared()])
}

fn encoded(codec: &MessagesCodec, request: &ChatRequest) -> (RequestParts, Value) {
    let parts =
        codec.encode(Ask::new(request, &request.settings, Some(&Secret::new("canary")))).unwrap().parts;
    let body = serde_json::from_slice(&parts.body.to_vec()).unwrap();
    (parts, body)
}

// anthropic.md 13
#[test]
fn vertex_names_the_model_in_the_address_and_the_version_in_the_body() {
    let codec = MessagesCodec::vertex("claude-sonnet-4-5@20250929").with_project("p", "europe-west1");
    let (parts, body) = encoded(&codec, &ask());
    assert_eq!(
        parts.url,
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"
    );
    assert_eq!(
        body,
        json!({"max_tokens": 32000, "stream": true, "anthropic_version": "vertex-2023-10-16",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]})
    );
    let headers: Vec<_> = parts.shown_headers().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(headers, ["content-type", "authorization"]);
    for (location, host, place) in [
        ("", "aiplatform.googleapis.com", "global"),
        ("global", "aiplatform.googleapis.com", "global"),
        ("eu", "aiplatform.eu.rep.googleapis.com", "eu"),
    ] {
        let codec = MessagesCodec::vertex("anthropic/claude-opus-5").with_project("p", location);
        let (parts, body) = encoded(&codec, &ask().streaming(false));
        let address = format!(
            "https://{host}/v1/projects/p/locations/{place}/publishers/anthropic/models/claude-opus-5:rawPredict"
        );
        assert_eq!((parts.url, body.get("stream")), (address, None));
    }
    assert!(
        MessagesCodec::vertex("claude?x")
            .with_project("p", "")
            .encode(Ask::new(&ask(), &ModelSettings::new(), None))
            .is_err()
    );
}

#[test]
fn vertex_keeps_no_files_and_fetches_none() {
    let (own, vertex) = (MessagesCodec::new("claude-opus-5"), MessagesCodec::vertex("claude-opus-5"));
    assert!(own.files().is_some() && own.capabilities().files.urls == Some(true));
    let there = vertex.capabilities();
    assert!(vertex.files().is_none() && there.files.upload.is_none() && there.files.urls.is_none());
    assert!(there.user.references.is_empty() && there.tool_result.references.is_empty());
    assert_eq!(
        (&there.user.media, &there.reasoning),
        (&own.capabilities().user.media, &own.capabilities().reasoning)
    );
}

#[tokio::test]
async fn vertex_is_asked_with_a_token_of_google() {
    let server = MockServer::start().await;
    let answer = json!({"type": "message", "id": "m", "model": "claude", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Hello"}], "usage": {"input_tokens": 1, "output_tokens": 1}});
    Mock::given(method("POST"))
        .and(path("/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-5:rawPredict"))
        .and(header("authorization", "Bearer canary"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .expect(1)
        .mount(&server)
        .await;
    let set = environment(&[("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_ACCESS_TOKEN", "canary")]);
    let model = Anthropic::from_environment(MessagesCodec::vertex("claude-opus-5"), &set).unwrap();
    let model = ModelHandle::new(model.with_base_url(server.uri()));
    assert_eq!(model.id(), "vertex/claude-opus-5");
    assert_eq!(model.complete(ask().streaming(false)).await.unwrap().message.text(), "Hello");
    let error =
        Anthropic::from_environment(MessagesCodec::vertex("claude-opus-5"), &environment(&[])).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Configuration, "no project for vertex: set GOOGLE_CLOUD_PROJECT")
    );
}

// anthropic.md 1
#[tokio::test]
async fn a_token_takes_the_place_of_a_key() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .and(header("authorization", "Bearer canary"))
        .respond_with(ResponseTemplate::new(418))
        .expect(1)
        .mount(&server)
        .await;
    let set = environment(&[("ANTHROPIC_AUTH_TOKEN", "canary"), ("ANTHROPIC_BASE_URL", &server.uri())]);
    let model = Anthropic::from_environment("claude-opus-5", &set).unwrap();
    let error = ModelHandle::new(model).complete(ask()).await.unwrap_err();
    assert_eq!(error.status(), Some(418));
    let asked = server.received_requests().await.unwrap();
    assert!(!asked[0].headers.contains_key("x-api-key"));
    // A key wins, as everywhere.
    let both = environment(&[("ANTHROPIC_AUTH_TOKEN", "canary"), ("ANTHROPIC_API_KEY", "key")]);
    let auth = MessagesCodec::new("claude-opus-5").configure(&both).unwrap();
    assert_eq!(auth.key().map(Secret::expose), Some("key"));
}

// anthropic.md 10 and 13
#[tokio::test]
async fn tokens_are_counted_without_options_and_hosted_tools() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages/count_tokens"))
        .and(header("x-api-key", "canary"))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"input_tokens": 2095})))
        .expect(1)
        .mount(&server)
        .await;
    let model = Anthropic::new("claude-opus-5", "canary").unwrap().with_base_url(server.uri());
    let hosted = json!([{"type": "web_search_20260318", "name": "web_search"}]);
    let request =
        ask().with_settings(ModelSettings::new().with_system("Be brief.").with_extra_body("tools", hosted));
    assert_eq!(model.count_tokens(&request).await.unwrap(), Some(2095));
    let asked = server.received_requests().await.unwrap();
    let body: Value = serde_json::from_slice(&asked[0].body).unwrap();
    assert_eq!(
        body,
        json!({"model": "claude-opus-5", "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]})
    );
    let vertex = MessagesCodec::vertex("claude-opus-5").with_project("p", "eu");
    let count = vertex.count(Ask::new(&ask(), &ModelSettings::new(), None)).unwrap().unwrap();
    assert!(count.parts.url.ends_with("/models/count-tokens:rawPredict"), "{}", count.parts.url);
    let body: Value = serde_json::from_slice(&count.parts.body.to_vec()).unwrap();
    assert_eq!(body["model"], "claude-opus-5");
}
