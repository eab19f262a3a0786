//! The provider over HTTP.

#![cfg(test)]

use std::time::Duration;

use attache_conformance::{MockProvider, Reply, ReplyUsage};
use attache_core::settings::Unsupported;
use attache_core::{
    ChatRequest, ErrorKind, FinishReason, LlmProvider, Message, ModelHandle, ModelSettings, Reasoning,
    Secret, StreamChunk,
};
use attache_openai::{ChatCodec, OpenAiChat, Profile};
use attache_transport::{Auth, RetryPolicy};
use futures_util::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const STREAM: &str = "data: {\"id\":\"c1\",\"model\":\"gpt-4o-2024\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n\
    data: [DONE]\n\n";

fn model(server: &MockServer) -> OpenAiChat {
    let quick = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(2));
    OpenAiChat::new("gpt-4o", "sk-canary-0123456789")
        .unwrap()
        .with_base_url(format!("{}/v1/", server.uri()))
        .with_retry(quick)
}

fn hello() -> ChatRequest {
    ChatRequest::new([Message::user("Hi").shared()])
}

fn streamed() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(STREAM, "text/event-stream")
}

fn whole() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"id": "c1", "model": "gpt-4o-2024",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}}))
}

// invariant 6
#[tokio::test]
async fn streamed_or_whole_it_is_the_same_reply() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", "Bearer sk-canary-0123456789"))
        .and(body_partial_json(json!({"stream": true, "stream_options": {"include_usage": true}})))
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

    Mock::given(method("POST")).respond_with(whole()).expect(1).mount(&server).await;
    let answered = ModelHandle::new(model(&server)).complete(hello().streaming(false)).await.unwrap();
    let request: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert!(request.get("stream").is_none());
    assert_eq!(answered.message.text(), streamed.message.text());
    assert_eq!(
        (&answered.finish_reason, &answered.model, &answered.response_id),
        (&FinishReason::Stop, &streamed.model, &streamed.response_id)
    );
    assert_eq!(answered.usage, streamed.usage);
    let state = streaming.state();
    assert_eq!((state.requests, state.turns, state.failures, state.usage.input_tokens), (1, 1, 0, Some(3)));
}

// P26
#[tokio::test]
async fn retryable_errors_are_retried() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(503).set_body_json(
        json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
    );
    Mock::given(method("POST")).respond_with(busy).up_to_n_times(1).expect(1).mount(&server).await;
    let in_stream = ResponseTemplate::new(200).set_body_raw(
        "data: {\"error\":{\"message\":\"m\",\"code\":502},\"choices\":[]}\n\n",
        "text/event-stream",
    );
    Mock::given(method("POST")).respond_with(in_stream).up_to_n_times(1).expect(1).mount(&server).await;
    Mock::given(method("POST")).respond_with(streamed()).expect(1).mount(&server).await;
    let reply = ModelHandle::new(model(&server)).complete(hello()).await.unwrap();
    assert_eq!(reply.message.text(), "Hello");
}

#[tokio::test]
async fn after_the_first_chunk_nothing_is_repeated() {
    let server = MockServer::start().await;
    let torn = STREAM.split_inclusive("\n\n").next().unwrap();
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(torn, "text/event-stream"))
        .expect(1)
        .mount(&server)
        .await;
    let chunks: Vec<_> = model(&server).stream(hello()).collect().await;
    assert_eq!(chunks.len(), 2);
    let error = chunks[1].as_ref().unwrap_err();
    assert_eq!(
        (error.kind(), error.is_after_output(), error.is_retryable()),
        (ErrorKind::StreamCut, true, false)
    );
}

// openai.md D 42: the connection owes nothing to an answer that has finished
#[tokio::test]
async fn an_answer_that_has_finished_outlives_its_connection() {
    let mock = MockProvider::start().await.unwrap();
    let model = OpenAiChat::new("gpt-4o", "k").unwrap().with_base_url(format!("{}/v1", mock.url()));
    let model = ModelHandle::new(model.with_retry(RetryPolicy::never()));
    let said = || Reply::new().text_pieces(["Hel", "lo"]).usage(ReplyUsage::new(3, 2));
    for (request, reply) in [
        (hello(), said().without_terminator().cut_after(usize::MAX)),
        (hello(), said().without_terminator()),
        (hello().streaming(false), said().cut_after(usize::MAX)),
    ] {
        mock.enqueue(reply);
        let answer = model.complete(request).await.unwrap();
        assert_eq!((answer.message.text().as_str(), answer.usage.output_tokens), ("Hello", Some(2)));
    }
    mock.enqueue(said().cut_after(300));
    assert_eq!(model.complete(hello()).await.unwrap_err().kind(), ErrorKind::StreamCut);
}

// P25
#[tokio::test]
async fn errors_carry_what_the_provider_said() {
    let server = MockServer::start().await;
    let refused = ResponseTemplate::new(429)
        .insert_header("x-request-id", "req_1")
        .insert_header("retry-after", "7")
        .set_body_json(json!({"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "param": null, "code": "insufficient_quota"}}));
    Mock::given(method("POST")).respond_with(refused).expect(1).mount(&server).await;
    let model = model(&server);
    let error = ModelHandle::new(model.clone()).complete(hello()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.is_retryable(), error.status()),
        (ErrorKind::QuotaExceeded, false, Some(429))
    );
    assert_eq!((error.request_id(), error.code()), (Some("req_1"), Some("insufficient_quota")));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(model.state().failures, 1);
    assert!(!format!("{error:?} {model:?}").contains("canary"));
}

#[tokio::test]
async fn options_of_the_request_win_and_degradations_are_reported() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(body_partial_json(json!({"temperature": 0.5, "top_p": 0.1})))
        .respond_with(streamed())
        .expect(1)
        .mount(&server)
        .await;
    let model = model(&server).with_settings(ModelSettings::new().with_temperature(0.1).with_top_p(0.1));
    let options = ModelSettings::new()
        .with_temperature(0.5)
        .with_reasoning(Reasoning::Budget(5))
        .with_unsupported(Unsupported::Degrade);
    let reply = ModelHandle::new(model.clone()).complete(hello().with_settings(options)).await.unwrap();
    assert_eq!(reply.degradations[0].option, "reasoning");
    assert_eq!(model.settings().temperature, Some(0.1));
}

#[tokio::test]
async fn an_unsendable_request_fails_before_anything_is_sent() {
    let server = MockServer::start().await;
    let model = model(&server);
    let request = hello().with_settings(ModelSettings::new().with_top_k(3));
    let chunks: Vec<_> = model.stream(request).collect().await;
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].as_ref().unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[test]
fn keys_are_demanded_where_they_are_needed() {
    let blank = OpenAiChat::new("gpt-4o", " \n").unwrap_err();
    assert_eq!(blank.kind(), ErrorKind::Configuration);
    assert_eq!(blank.message(), "the key for openai-chat/gpt-4o is blank");
    assert_eq!(OpenAiChat::new(" ", "k").unwrap_err().kind(), ErrorKind::Configuration);
    let mut profile = Profile::compatible("mine", "http://localhost:1/v1");
    assert_eq!(
        OpenAiChat::new(ChatCodec::new(profile.clone(), "m"), Auth::None).unwrap().model_id(),
        "mine/m"
    );
    profile.key.required = true;
    profile.key.variables = vec!["ATTACHE_TEST_NO_SUCH_VARIABLE".to_owned()];
    let missing = OpenAiChat::from_env(ChatCodec::new(profile.clone(), "m")).unwrap_err();
    assert_eq!(missing.message(), "no key for mine: set ATTACHE_TEST_NO_SUCH_VARIABLE");
    assert!(OpenAiChat::new(ChatCodec::new(profile, "m"), Secret::new("k")).is_ok());
}

// Cargo sets these variables for tests.
#[test]
fn keys_and_urls_come_from_the_variables_of_the_profile() {
    let mut profile = Profile::compatible("mine", "http://localhost:1/v1");
    profile.key.required = true;
    profile.key.variables = ["ATTACHE_TEST_NO_SUCH_VARIABLE", "CARGO_PKG_NAME"].map(str::to_owned).to_vec();
    profile.base_url_variable = "CARGO_PKG_VERSION".to_owned();
    let model = OpenAiChat::from_env(ChatCodec::new(profile.clone(), "m")).unwrap();
    assert_eq!(model.codec().profile().base_url, env!("CARGO_PKG_VERSION"));
    profile.base_url_variable = "ATTACHE_TEST_NO_SUCH_VARIABLE".to_owned();
    let model = OpenAiChat::from_env(ChatCodec::new(profile, "m")).unwrap();
    assert_eq!(model.codec().profile().base_url, "http://localhost:1/v1");
}

// openai.md D 67
#[tokio::test]
async fn d67_no_encoding_is_advertised_that_cannot_be_read() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(whole()).mount(&server).await;
    ModelHandle::new(model(&server)).complete(hello()).await.unwrap();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests[0].headers["accept-encoding"], "identity");
}

// openai.md 0.1
#[test]
fn organisation_and_project_are_headers_at_openai_alone() {
    let set = attache_transport::Environment::new(|name| match name {
        "OPENAI_API_KEY" | "AZURE_OPENAI_API_KEY" => Some("key".to_owned()),
        "OPENAI_ORG_ID" => Some("org-1".to_owned()),
        "OPENAI_PROJECT_ID" => Some("proj-1".to_owned()),
        "AZURE_OPENAI_BASE_URL" => Some("https://r.example/openai/v1".to_owned()),
        _ => None,
    });
    let request = ChatRequest::new([Message::user("Hi").shared()]);
    let headers = |name: &str| {
        let mut codec =
            ChatCodec::new(attache_openai::Profiles::bundled().get(name).unwrap().clone(), "gpt-4o");
        attache_transport::Codec::configure(&mut codec, &set).unwrap();
        let encoded = attache_transport::Codec::encode(
            &codec,
            attache_transport::Ask::new(&request, &request.settings, None),
        )
        .unwrap();
        let headers = encoded.parts.shown_headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
        headers.filter(|(name, _)| name.starts_with("openai-")).collect::<Vec<_>>()
    };
    let hidden = |name: &str| (name.to_owned(), "***".to_owned());
    let both = [hidden("openai-organization"), hidden("openai-project")];
    assert_eq!(headers("openai-chat"), both);
    assert!(headers("azure").is_empty() && headers("groq").is_empty());
}
