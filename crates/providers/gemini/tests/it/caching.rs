//! Prefixes that are kept at the provider (P29): made, used, prolonged, made anew, given up.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_imports,
    reason = "helpers of tests are not recognised as tests"
)]

use std::time::Duration;

use crate::common::*;
use attache_conformance::{MockProvider, Reply, Rules};
use attache_core::settings::{CachePolicy, Unsupported};
use attache_core::{
    ChatRequest, Completion, Document, ErrorKind, LlmProvider, Message, ModelHandle, ModelSettings,
    ProviderError, ToolChoice, ToolResult, Transcript, UserMessage, UserPart,
};
use attache_gemini::{Gemini, GenerateCodec};
use attache_transport::RetryPolicy;
use serde_json::{Value, json};

/// Instructions of about 5,000 tokens.
fn manual() -> String {
    "Read the manual before you answer. ".repeat(600)
}

fn caching() -> ModelSettings {
    ModelSettings::new().with_cache(CachePolicy::Short)
}

async fn mock() -> MockProvider {
    let mock = MockProvider::start().await.unwrap();
    mock.respond_with(|_| Reply::new().text("Yes."));
    mock
}

fn model(mock: &MockProvider) -> Gemini {
    model_of(GenerateCodec::new(MODEL), mock)
}

fn model_of(codec: GenerateCodec, mock: &MockProvider) -> Gemini {
    let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2));
    Gemini::new(codec, "AIza-canary").unwrap().with_base_url(mock.url()).with_retry(retry)
}

fn question(text: &str) -> ChatRequest {
    request([Message::system(manual()), Message::user(text)]).with_tools(tools()).with_settings(caching())
}

async fn ask(model: &Gemini, request: ChatRequest) -> Result<Completion, ProviderError> {
    ModelHandle::collect(model.stream(request)).await
}

/// The requests to the mock, as `METHOD last-segments`.
fn asked(mock: &MockProvider) -> Vec<String> {
    assert_eq!(
        mock.violations().iter().map(|(_, violation)| &violation.message).collect::<Vec<_>>(),
        [""; 0]
    );
    paths(mock)
}

fn paths(mock: &MockProvider) -> Vec<String> {
    let short = |path: &str| {
        let path = path.split_once("/v1beta").map_or(path, |(_, path)| path.trim_start_matches('1'));
        path.trim_start_matches("/models/gemini-3-flash-preview").to_owned()
    };
    mock.requests()
        .iter()
        .map(|request| format!("{} {}", request.method, short(request.uri.path())))
        .collect()
}

fn bodies(mock: &MockProvider) -> Vec<Value> {
    mock.requests().iter().map(|request| request.json().clone()).collect()
}

// gemini.md (a) 10
#[tokio::test]
async fn a_prefix_is_made_once_and_used_by_all_clones() {
    let mock = mock().await;
    let model = model(&mock);
    ask(&model, question("one?")).await.unwrap();
    ask(&model.clone(), question("two?")).await.unwrap();
    ask(&model_of(model.codec().clone(), &mock), question("three?")).await.unwrap();
    let stream = "POST :streamGenerateContent";
    assert_eq!(asked(&mock), ["POST /cachedContents", stream, stream, stream]);
    let bodies = bodies(&mock);
    let made = &bodies[0];
    assert_eq!(made["model"], "models/gemini-3-flash-preview");
    assert_eq!(made["ttl"], "300s");
    assert_eq!(made["systemInstruction"]["parts"][0]["text"], manual());
    assert_eq!(made["tools"][0]["functionDeclarations"].as_array().unwrap().len(), 2);
    assert_eq!(made.get("contents"), None);
    for (body, text) in bodies[1..].iter().zip(["one?", "two?", "three?"]) {
        assert_eq!(body["cachedContent"], mock.cached_contents()[0]);
        assert_eq!(body["contents"], json!([{"role": "user", "parts": [{"text": text}]}]));
        assert_eq!((body.get("systemInstruction"), body.get("tools")), (None, None));
    }
}

// Storage is billed, so nothing is kept unless asked for.
#[tokio::test]
async fn nothing_is_kept_unless_asked_for() {
    let mock = mock().await;
    let model = model(&mock);
    ask(&model, question("one?").with_settings(ModelSettings::new())).await.unwrap();
    ask(&model, question("two?").with_settings(ModelSettings::new().with_cache(CachePolicy::Off)))
        .await
        .unwrap();
    ask(&model, request([Message::user("three?")]).with_settings(caching())).await.unwrap();
    let landing = question("four?").with_tool_choice(ToolChoice::None);
    assert!(ask(&model, landing).await.unwrap().degradations.is_empty());
    assert_eq!(asked(&mock), ["POST :streamGenerateContent"; 4]);
    assert!(bodies(&mock).iter().all(|body| body.get("cachedContent").is_none()));
}

#[tokio::test]
async fn an_expired_cache_is_made_anew_within_the_call() {
    let mock = mock().await;
    let model = model(&mock);
    ask(&model, question("one?")).await.unwrap();
    mock.expire_cached_contents();
    let done = ask(&model, question("two?")).await.unwrap();
    assert_eq!((done.message.text(), done.degradations.len()), ("Yes.".to_owned(), 0));
    let old = "GET /cachedContents/";
    let paths = paths(&mock);
    assert_eq!(paths.len(), 6, "{paths:?}");
    assert!(paths[3].starts_with(old), "whether it is really gone is asked: {paths:?}");
    assert_eq!(paths[4], "POST /cachedContents");
    assert_eq!(bodies(&mock)[5]["cachedContent"], mock.cached_contents()[0]);
    assert_eq!(model.state().failures, 0);
}

#[tokio::test]
async fn a_prefix_that_cannot_be_cached_is_sent_whole() {
    let rules = Rules::new().with_cached_content_minimum(1_000_000);
    let mock = MockProvider::start_with(Some(rules)).await.unwrap();
    mock.respond_with(|_| Reply::new().text("Yes."));
    let model = model(&mock);
    for text in ["one?", "two?"] {
        let done = ask(&model, question(text)).await.unwrap();
        assert_eq!(done.degradations.len(), 1);
        assert_eq!(done.degradations[0].option, "cache");
        assert!(done.degradations[0].note.contains("too small"), "{:?}", done.degradations);
    }
    assert_eq!(
        paths(&mock),
        ["POST /cachedContents", "POST :streamGenerateContent", "POST :streamGenerateContent"],
        "it is not tried again"
    );
    assert_eq!(bodies(&mock)[2]["systemInstruction"]["parts"][0]["text"], manual());
}

#[tokio::test]
async fn credentials_do_not_share_and_all_is_deleted_on_request() {
    let mock = mock().await;
    let model = model(&mock);
    let other = Gemini::new(model.codec().clone(), "AIza-other").unwrap();
    ask(&model, question("one?")).await.unwrap();
    ask(&other, question("one?")).await.unwrap();
    assert_eq!(mock.cached_contents().len(), 2);
    assert_eq!(model.codec().delete_caches(model.network()).await.unwrap(), 2);
    assert!(mock.cached_contents().is_empty());
    assert_eq!(model.codec().delete_caches(model.network()).await.unwrap(), 0);
    ask(&model, question("two?")).await.unwrap();
    assert_eq!(mock.cached_contents().len(), 1, "and made anew when it is wanted again");
}

#[tokio::test]
async fn documents_in_front_of_a_question_are_kept() {
    // The mock counts 258 tokens for media of any length.
    let rules = Rules::new().with_cached_content_minimum(100);
    let mock = MockProvider::start_with(Some(rules)).await.unwrap();
    mock.respond_with(|_| Reply::new().text("Yes."));
    let model = model(&mock);
    let mut bytes = b"%PDF-1.7 ".to_vec();
    bytes.resize(1 << 20, b'x');
    let document = Document::from_bytes(bytes, "application/pdf");
    let ask_about = |text: &str| {
        let message = UserMessage::new([document.clone().into(), UserPart::text(text)]);
        request([Message::User(message)]).with_settings(caching())
    };
    ask(&model, ask_about("one?")).await.unwrap();
    ask(&model, ask_about("two?")).await.unwrap();
    assert_eq!(asked(&mock)[0], "POST /cachedContents");
    let bodies = bodies(&mock);
    assert_eq!(bodies.len(), 3, "another message with the same document finds it");
    assert_eq!(bodies[0]["contents"][0]["parts"][0]["inlineData"]["mimeType"], "application/pdf");
    assert_eq!(bodies[2]["contents"], json!([{"role": "user", "parts": [{"text": "two?"}]}]));
}

// A conversation that grows is kept anew when it has doubled, and what was sent stays a prefix.
#[tokio::test]
async fn conversations_that_grow() {
    let mock = mock().await;
    let model = model(&mock);
    let transcript = Transcript::new();
    let tools = std::sync::Arc::new(tools());
    let mut messages = vec![Message::system("You are a clerk.").shared()];
    for turn in 0..12 {
        messages.push(Message::user(format!("turn {turn}")).shared());
        let options = caching().with_unsupported(Unsupported::Error);
        let request = ChatRequest::new(messages.clone()).with_tools(std::sync::Arc::clone(&tools));
        ask(&model, request.with_settings(options).with_transcript(transcript.clone())).await.unwrap();
        let made = signed(turn, "files.read", "{}", "c2ln");
        messages.push(assistant([made.clone().into()]).shared());
        messages.push(results([ToolResult::ok(&made, &"x".repeat(8_000))]).shared());
        messages.push(Message::assistant("Well.").shared());
    }
    let asked = asked(&mock);
    let made = asked.iter().filter(|path| *path == "POST /cachedContents").count();
    assert_eq!(made, 3, "{asked:?}");
    // The cache and the request are together the conversation.
    let bodies = bodies(&mock);
    let last = bodies.last().unwrap();
    let kept = bodies.iter().rev().find(|body| body.get("ttl").is_some()).unwrap();
    let parts = |body: &Value| body["contents"].as_array().unwrap().clone();
    let together: Vec<Value> = parts(kept).into_iter().chain(parts(last)).collect();
    let plain = ChatRequest::new(messages[..messages.len() - 3].to_vec()).with_tools(tools);
    assert_eq!(Value::from(together), contents(&plain));
    let rest = parts(last);
    assert!(rest.len() < 24 && rest[0]["role"] == "user", "{}", rest.len());
}

#[tokio::test]
async fn vertex_keeps_below_the_project() {
    let mock = mock().await;
    let model = model_of(GenerateCodec::vertex(MODEL).with_project("p", "europe-west4"), &mock);
    ask(&model, question("one?")).await.unwrap();
    let requests = mock.requests();
    assert_eq!(requests[0].uri.path(), "/v1beta1/projects/p/locations/europe-west4/cachedContents");
    let name = requests[1].json()["cachedContent"].as_str().unwrap().to_owned();
    assert!(name.starts_with("projects/p/locations/europe-west4/cachedContents/"), "{name}");
    assert!(requests[0].json()["model"].as_str().unwrap().starts_with("projects/p/locations/"));
    assert_eq!(model.codec().delete_caches(model.network()).await.unwrap(), 1);
    assert!(mock.violations().is_empty());
}

// P30
#[tokio::test]
async fn models_without_a_cache_say_so() {
    let asked = question("one?");
    let codec = GenerateCodec::new("gemma-4-31b-it");
    let error = encode_for(&asked, &codec).unwrap_err();
    assert_eq!((error.kind(), error.param()), (ErrorKind::Unsupported, Some("cache")));
    let lenient = asked.with_settings(caching().with_unsupported(Unsupported::Degrade));
    assert_eq!(encode_for(&lenient, &codec).unwrap().degradations.len(), 1);
}
