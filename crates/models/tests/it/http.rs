//! Models of a registry reach their servers as configured.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_conformance::{MockProvider, Reply};
use attache_core::{ChatRequest, ErrorKind, Message};
use attache_models::{
    Auth, EndedExchange, Hook, HttpClient, HttpSettings, Registry, RetryPolicy, Timeouts, Unresolved,
};
use attache_transport::Environment;

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("hi").shared()])
}

/// A registry of one server, with a key in its environment.
fn registry(mock: &MockProvider) -> Registry {
    let environment =
        Environment::new(|name| (name == "OPENAI_API_KEY").then(|| "from-environment".to_owned()));
    Registry::bundled().with_environment(environment).with_base_url(format!("{}/v1", mock.url()))
}

fn key_of(mock: &MockProvider, request: usize) -> String {
    mock.requests()[request].headers["authorization"].to_str().unwrap().to_owned()
}

#[derive(Clone, Debug, Default)]
struct Counts(Arc<AtomicUsize>);

impl Hook for Counts {
    fn ended(&self, _: &EndedExchange<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn client_retries_and_key_are_those_of_the_registry() {
    let mock = MockProvider::start().await.unwrap();
    let counts = Counts::default();
    let all = HttpSettings::new()
        .with_client(HttpClient::shared().with_hook(counts.clone()))
        .with_retry(RetryPolicy::never())
        .with_auth("of-all");
    let registry = registry(&mock).with_http(all);
    mock.enqueue(Reply::error(503, "busy"));
    let error = registry.model("openai-chat/gpt-4o").unwrap().complete(ask()).await.unwrap_err();
    assert_eq!((error.kind(), mock.requests().len()), (ErrorKind::Overloaded, 1), "no retry");
    assert_eq!(counts.0.load(Ordering::Relaxed), 1);
    assert_eq!(key_of(&mock, 0), "Bearer of-all");
}

#[tokio::test]
async fn a_provider_of_its_own_settings_has_the_others_of_all() {
    let mock = MockProvider::start().await.unwrap();
    let again = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
    let registry = registry(&mock)
        .with_http(HttpSettings::new().with_retry(RetryPolicy::never()).with_auth(Auth::from("of-all")))
        .with_http_of("openai-chat", HttpSettings::new().with_retry(again));
    mock.enqueue(Reply::error(503, "busy"));
    mock.enqueue(Reply::new().text("At last."));
    let completion = registry.model("openai-chat/gpt-4o").unwrap().complete(ask()).await.unwrap();
    assert_eq!(completion.message.text(), "At last.");
    assert_eq!((mock.requests().len(), key_of(&mock, 1)), (2, "Bearer of-all".to_owned()));
    mock.enqueue(Reply::error(503, "busy"));
    assert!(registry.model("openai/gpt-5.1").unwrap().complete(ask()).await.is_err());
    assert_eq!(mock.requests().len(), 3, "another provider does not ask again");
}

#[tokio::test]
async fn time_limits_are_those_of_the_registry() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("Too late.").delay_first(Duration::from_secs(3_600)));
    let short = Timeouts::new().with_total(Duration::from_millis(10));
    let registry = registry(&mock).with_http(HttpSettings::new().with_timeouts(short));
    let error = registry.model("openai-chat/gpt-4o").unwrap().complete(ask()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn without_settings_the_key_is_that_of_the_environment() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text("Hello."));
    let registry = registry(&mock);
    registry.model("openai-chat/gpt-4o").unwrap().complete(ask()).await.unwrap();
    assert_eq!(key_of(&mock, 0), "Bearer from-environment");
    let missing = registry.model("anthropic/claude-opus-5").unwrap_err();
    assert!(matches!(missing.reason, Unresolved::Setup(_)));
    let given = registry.with_http_of("anthropic", HttpSettings::new().with_auth("mine"));
    assert!(given.model("anthropic/claude-opus-5").is_ok());
    assert!(!format!("{given:?}").contains("mine"));
}

#[test]
fn an_address_that_is_given_needs_no_region() {
    let registry = Registry::bundled()
        .with_environment(Environment::new(|_| None))
        .with_http(HttpSettings::new().with_auth("key"));
    let model = "bedrock/amazon.nova-lite-v1:0";
    assert!(registry.model(model).is_err());
    assert!(registry.with_base_url("https://llm.example").model(model).is_ok());
}
