//! The provider over HTTP: keys, signatures that an independent verifier accepts, streams, retries.

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
use attache_bedrock::{Bedrock, ConverseCodec, CredentialSource, Credentials, SigV4};
use attache_conformance::{MockProvider, Reply, ReplyUsage, Rules};
use attache_core::{
    BoxFuture, ChatRequest, ErrorKind, FinishReason, LlmProvider, Message, ModelHandle, ProviderError,
    StreamChunk, ToolChoice,
};
use attache_transport::{Ask, Auth, Codec as _, Environment, RetryPolicy};
use futures_util::StreamExt;
use serde_json::json;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn at(url: &str, auth: impl Into<Auth>) -> Bedrock {
    let retry = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2));
    Bedrock::new(codec().with_base_url(url), auth).unwrap().with_retry(retry)
}

async fn hello(model: &Bedrock) -> Result<String, ProviderError> {
    let done = ModelHandle::collect(model.stream(request([Message::user("Hi")]))).await?;
    Ok(done.message.text())
}

fn streamed(body: Vec<u8>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "application/vnd.amazon.eventstream")
}

fn failed(status: u16, kind: &str) -> ResponseTemplate {
    let body = ResponseTemplate::new(status).set_body_json(json!({"message": "m"}));
    body.insert_header("x-amzn-errortype", kind).insert_header("x-amzn-requestid", "req-1")
}

fn greeting() -> Vec<u8> {
    reply(&[delta(0, &json!({"text": "Hel"})), delta(0, &json!({"text": "lo"})), stop(0)], "end_turn")
}

// P06, P07
#[tokio::test]
async fn streams_with_an_api_key() {
    let mock = MockProvider::start().await.unwrap();
    mock.enqueue(Reply::new().text_pieces(["Hel", "lo"]).usage(ReplyUsage::new(9, 5)));
    let model = ModelHandle::new(at(mock.url(), "canary-key"));
    assert_eq!(model.id(), format!("bedrock/{MODEL}"));
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
    let sent = &mock.requests()[0];
    assert_eq!(sent.header("authorization"), "Bearer canary-key");
    assert_eq!(sent.uri.path(), format!("/model/{MODEL}/converse-stream"));
}

// Invariant 6
#[tokio::test]
async fn answers_whole_alike() {
    let mock = MockProvider::start().await.unwrap();
    for _ in 0..2 {
        mock.enqueue(Reply::new().text("Hello").call("tooluse_1", "files_read", json!({"path": "a"})));
    }
    let model = at(mock.url(), "canary-key");
    let ask = || with_tools([Message::user("Hi")]);
    let streamed = ModelHandle::collect(model.stream(ask())).await.unwrap();
    let whole = ModelHandle::collect(model.stream(ask().streaming(false))).await.unwrap();
    assert_eq!(mock.requests()[1].uri.path(), format!("/model/{MODEL}/converse"));
    assert_eq!((streamed.message.text(), &streamed.usage), (whole.message.text(), &whole.usage));
    let names = |message: &attache_core::AssistantMessage| {
        message.tool_calls().map(|call| (call.name.clone(), call.arguments.clone())).collect::<Vec<_>>()
    };
    assert_eq!(names(&streamed.message), names(&whole.message));
    assert_eq!(names(&whole.message)[0].0, "files.read");
}

// bedrock.md (a) 17, 18: signatures hold over the bytes and the path as they arrive
#[tokio::test]
async fn signatures_are_accepted() {
    let rules = Rules::new()
        .with_aws_credentials("AKIDEXAMPLE", "canary-secret")
        .with_aws_session_token("canary-token");
    let mock = MockProvider::start_with(Some(rules)).await.unwrap();
    mock.respond_with(|_| Reply::new().text("Hello"));
    let keys = || Credentials::new("AKIDEXAMPLE", "canary-secret").with_session_token("canary-token");
    for model in [
        "us.amazon.nova-lite-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
    ] {
        for url in [mock.url().to_owned(), format!("{}/prefix/", mock.url())] {
            let signer = SigV4::new("us-east-1", keys());
            let model = Bedrock::new(of(model).with_base_url(url), signer).unwrap();
            assert!(!format!("{model:?}").contains("canary"));
            let big = "Grüße 🌍 ".repeat(20_000);
            let ask = |text: &str| request([Message::system("s"), Message::user(text)]);
            for text in ["Hi", &big] {
                let done = ModelHandle::collect(model.stream(ask(text))).await.unwrap();
                assert_eq!(done.message.text(), "Hello");
            }
        }
    }
    assert!(mock.violations().is_empty());
    let wrong =
        SigV4::new("us-east-1", Credentials::new("AKIDEXAMPLE", "other").with_session_token("canary-token"));
    let error = hello(&at(mock.url(), wrong)).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Authentication, Some("InvalidSignatureException")));
    assert!(!format!("{error:?} {error}").contains("canary"));
}

/// Yields a key that has expired, then one that has not.
#[derive(Debug, Default)]
struct Renewed(Arc<AtomicUsize>);

impl CredentialSource for Renewed {
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials, ProviderError>> {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(Credentials::new(format!("AKID{number}"), "secret")) })
    }
}

#[tokio::test]
async fn expired_credentials_are_fetched_once_more() {
    let server = MockServer::start().await;
    let expired = || failed(403, "ExpiredTokenException:http://internal.amazon.com/");
    Mock::given(method("POST")).respond_with(expired()).up_to_n_times(1).mount(&server).await;
    Mock::given(method("POST")).respond_with(streamed(greeting())).mount(&server).await;
    let source = Renewed::default();
    let fetched = Arc::clone(&source.0);
    let model = at(&server.uri(), SigV4::new("us-east-1", source));
    assert_eq!(hello(&model).await.unwrap(), "Hello");
    assert_eq!(hello(&model).await.unwrap(), "Hello");
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
    let sent = server.received_requests().await.unwrap();
    let key = |at: usize| sent[at].headers["authorization"].to_str().unwrap().contains("AKID0/");
    assert_eq!([key(0), key(1), key(2)], [true, false, false]);

    // It is tried once, not until it works.
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(expired()).mount(&server).await;
    let error = hello(&at(&server.uri(), SigV4::new("us-east-1", Renewed::default()))).await.unwrap_err();
    assert_eq!((error.kind(), error.request_id()), (ErrorKind::Authentication, Some("req-1")));
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

// P26, bedrock.md 8
#[tokio::test]
async fn asks_again_while_it_may_help() {
    for trouble in [
        failed(429, "ThrottlingException"),
        failed(503, "ServiceUnavailableException"),
        failed(424, "ModelErrorException"),
        streamed(exception("throttlingException", &json!({"message": "m"}))),
        streamed(greeting()[..40].to_vec()),
        streamed(reply(&[], "malformed_tool_use")),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(trouble).up_to_n_times(2).mount(&server).await;
        Mock::given(method("POST")).respond_with(streamed(greeting())).mount(&server).await;
        assert_eq!(hello(&at(&server.uri(), "canary-key")).await.unwrap(), "Hello");
        assert_eq!(server.received_requests().await.unwrap().len(), 3);
    }
    for (trouble, kind) in [
        (failed(400, "ValidationException"), ErrorKind::InvalidRequest),
        (failed(403, "AccessDeniedException"), ErrorKind::Permission),
        (failed(400, "ServiceQuotaExceededException"), ErrorKind::QuotaExceeded),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(trouble).mount(&server).await;
        let model = at(&server.uri(), "canary-key");
        let error = hello(&model).await.unwrap_err();
        assert_eq!((error.kind(), model.state().failures), (kind, 1));
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}

// P26: never after output
#[tokio::test]
async fn does_not_repeat_what_was_handed_out() {
    let trouble = exception("serviceUnavailableException", &json!({"message": "m"}));
    for (rest, kind) in [(trouble, ErrorKind::Overloaded), (Vec::new(), ErrorKind::StreamCut)] {
        let (address, go_on, count) =
            two_parts("application/vnd.amazon.eventstream", delta(0, &json!({"text": "Hel"})), rest).await;
        let model = at(&address, "canary-key");
        let mut stream = model.stream(request([Message::user("Hi")]));
        assert_eq!(stream.next().await.unwrap().unwrap(), StreamChunk::Content("Hel".into()));
        go_on.notify_one();
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.is_retryable(), error.is_after_output()), (kind, false, true));
        assert!(stream.next().await.is_none());
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

// P02
#[test]
fn keys_names_and_regions() {
    for (model, key) in [(MODEL, ""), (MODEL, " \n"), (" ", "canary-key")] {
        let error = Bedrock::new(of(model), key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
    }
    let error = Bedrock::new(MODEL, "canary-key").unwrap_err();
    assert!(error.message().contains("AWS_REGION"), "{error}");
    assert!(Bedrock::new("arn:aws:bedrock:eu-west-1:1:inference-profile/x", "canary-key").is_ok());
    assert!(Bedrock::new(ConverseCodec::new(MODEL).with_base_url("http://localhost"), Auth::None).is_ok());
    let model = Bedrock::new(codec(), "canary-key").unwrap();
    assert!(!format!("{model:?}").contains("canary"));
    let private = codec().with_base_url("https://ann:canary@example.com");
    assert!(!format!("{private:?}").contains("canary"));
}

fn configured(
    model: &str,
    variables: &[(&'static str, &'static str)],
) -> Result<(String, Auth), ProviderError> {
    let variables = variables.to_vec();
    let environment = Environment::new(move |name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    });
    let mut codec = ConverseCodec::new(model);
    let auth = codec.configure(&environment)?;
    let encoded = codec.encode(Ask::new(
        &ChatRequest::new([Message::user("a").shared()]),
        &Default::default(),
        None,
    ))?;
    Ok((encoded.parts.url, auth))
}

// bedrock.md 1
#[test]
fn the_environment_says_where_and_who() {
    let key = ("AWS_BEARER_TOKEN_BEDROCK", "canary-key");
    let id = "amazon.nova-lite-v1:0";
    let url = |model: &str, variables: &[(&'static str, &'static str)]| {
        let variables: Vec<_> = variables.iter().copied().chain([key]).collect();
        configured(model, &variables)
            .map(|(url, _)| url.split("/model/").next().unwrap_or_default().to_owned())
    };
    let host = |region: &str| format!("https://bedrock-runtime.{region}.amazonaws.com");
    assert_eq!(url(id, &[("AWS_DEFAULT_REGION", "eu-west-1")]).unwrap(), host("eu-west-1"));
    let both = [("AWS_DEFAULT_REGION", "eu-west-1"), ("AWS_REGION", "eu-west-2")];
    assert_eq!(url(id, &both).unwrap(), host("eu-west-2"));
    let arn = "arn:aws:bedrock:eu-west-3:1:inference-profile/x";
    assert_eq!(url(arn, &both).unwrap(), host("eu-west-3"), "an ARN stands in its region");
    let fips = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://bedrock-runtime-fips.us-east-1.amazonaws.com");
    assert_eq!(url(id, &[("AWS_REGION", "us-east-1"), fips]).unwrap(), fips.1);
    assert!(url(id, &[]).unwrap_err().message().contains("AWS_REGION"));
    assert!(url(id, &[("AWS_REGION", "evil.example/")]).is_err());

    let region = ("AWS_REGION", "us-east-1");
    let (_, auth) = configured(id, &[region, key]).unwrap();
    assert!(auth.key().is_some());
    let pair = [region, ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "canary-secret")];
    let (_, auth) = configured(id, &pair).unwrap();
    assert!(auth.signer().is_some() && !format!("{auth:?}").contains("canary"));
}

// Nothing is sent that cannot be right.
#[tokio::test]
async fn a_wrong_request_is_not_sent() {
    let mock = MockProvider::start().await.unwrap();
    let request = request([Message::user("Hi")]).with_tool_choice(ToolChoice::Required);
    let error = ModelHandle::collect(at(mock.url(), "canary-key").stream(request)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(mock.requests().is_empty());
    let server = MockServer::start().await;
    let own = header("authorization", "Bearer canary-own");
    Mock::given(own).respond_with(streamed(greeting())).expect(1).mount(&server).await;
    let options = attache_core::ModelSettings::new().with_extra_header("Authorization", "Bearer canary-own");
    let ask = self::request([Message::user("Hi")]).with_settings(options);
    ModelHandle::collect(at(&server.uri(), "canary-key").stream(ask)).await.unwrap();
}

// bedrock.md 9
#[test]
fn tokens_are_counted_for_claude_alone() {
    use attache_transport::Codec as _;
    let options = attache_core::ModelSettings::new().with_max_tokens(9);
    let request = attache_core::ChatRequest::new([attache_core::Message::user("Hi").shared()]);
    let count = |model: &str| {
        let codec = attache_bedrock::ConverseCodec::new(model).with_region("us-east-1");
        codec.count(Ask::new(&request, &options, None)).map(Result::unwrap)
    };
    let claude = count("us.anthropic.claude-sonnet-4-5-20250929-v1:0").unwrap();
    assert!(claude.parts.url.ends_with("/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens"));
    let body: serde_json::Value = serde_json::from_slice(&claude.parts.body.to_vec()).unwrap();
    let members: Vec<&String> = body["input"]["converse"].as_object().unwrap().keys().collect();
    assert_eq!(members, ["messages"]);
    assert!(count("amazon.nova-lite-v1:0").is_none());
}
