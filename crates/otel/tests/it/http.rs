//! Requests over HTTP: attempts at models, and those of tools.

use std::time::Duration;

use attache_agent::{Agent, tool_fn};
use attache_conformance::{MockProvider, Reply};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{ChatRequest, ChunkStream, ErrorKind, Message, ModelHandle, ToolError};
use attache_models::{HttpClient, HttpSettings, Layer, Registry, RetryPolicy, layered};
use attache_testkit::{ScriptedModel, Turn};
use attache_transport::{Environment, RequestParts};
use futures_util::StreamExt;
use opentelemetry::trace::SpanKind;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use serde_json::json;

use crate::kit::{Recorder, text};

fn model(recorder: &Recorder, mock: &MockProvider, client: &HttpClient) -> ModelHandle {
    let again = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
    let client = client.with_hook(recorder.telemetry.http_hook());
    let http = HttpSettings::new().with_client(client).with_retry(again).with_auth("canary key");
    let registry = Registry::bundled().with_environment(Environment::new(|_| None));
    registry.with_base_url(format!("{}/v1", mock.url())).with_http(http).model("openai-chat/gpt-4o").unwrap()
}

// S24
#[tokio::test]
async fn each_attempt_of_the_transport_is_a_span_that_knows_the_server() {
    let mock = MockProvider::start().await.unwrap();
    let recorder = Recorder::new();
    let model = model(&recorder, &mock, &HttpClient::shared());
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).build().unwrap();
    mock.enqueue(Reply::error(503, "busy"));
    mock.enqueue(Reply::new().text("At last."));
    agent.run("go").outcome().await.unwrap();
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat gpt-4o !503", "  chat gpt-4o"]);
    for span in &recorder.spans()[1..] {
        assert_eq!(text(span, "gen_ai.provider.name"), "openai");
        assert_eq!(text(span, "server.address"), "127.0.0.1");
        assert!(mock.url().ends_with(&text(span, "server.port")));
        // The key is in no attribute.
        assert!(!format!("{span:?}").contains("canary"));
    }
    let last = &recorder.spans()[2];
    assert_eq!(text(last, "gen_ai.response.finish_reasons"), r#"["stop"]"#);
    // Where no attempt is left, the request has the kind of the failure.
    let recorder = Recorder::new();
    let model = self::model(&recorder, &mock, &HttpClient::shared());
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).build().unwrap();
    mock.enqueue(Reply::error(401, "who are you?"));
    let error = agent.run("go").outcome().await.unwrap_err();
    assert_eq!(error.provider_error().unwrap().kind(), ErrorKind::Authentication);
    assert_eq!(recorder.tree(), ["invoke_agent !authentication", "  chat gpt-4o !authentication"]);
}

#[derive(serde::Deserialize, JsonSchema)]
struct Nothing {}

// S24
#[tokio::test]
async fn requests_of_tools_are_spans_below_them_and_servers_learn_of_the_trace_if_they_shall() {
    opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
    let mock = MockProvider::start().await.unwrap();
    let recorder = Recorder::new();
    let url = mock.url().to_owned();
    let hook = recorder.telemetry.http_hook().with_propagation(true);
    let client = HttpClient::shared().with_hook(hook);
    let asks = tool_fn("asks", "", move |_: Nothing| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            let request = RequestParts::get(format!("{url}/nowhere?secret=canary"));
            match client.answer(&request).await {
                Ok(reply) => Ok(reply.status().as_u16()),
                Err(error) => Err(ToolError::new("away").with_source(error)),
            }
        }
    });
    let model = ScriptedModel::new([Turn::call("asks", json!({})), Turn::text("there")]).unverified();
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).tool(asks).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    assert_eq!(
        recorder.tree(),
        ["invoke_agent", "  chat model", "  execute_tool asks", "    GET !404", "  chat model"]
    );
    let span = recorder.span("GET");
    assert_eq!(span.span_kind, SpanKind::Client);
    assert_eq!(text(&span, "http.response.status_code"), "404");
    assert!(!format!("{span:?}").contains("canary"));
    let traceparent = mock.requests()[0].headers["traceparent"].to_str().unwrap().to_owned();
    assert!(traceparent.contains(&span.span_context.span_id().to_string()), "{traceparent}");
    // Nobody is told by default.
    let recorder = Recorder::new();
    let model = self::model(&recorder, &mock, &HttpClient::shared());
    mock.enqueue(Reply::new().text("Yes."));
    model.complete(ChatRequest::new([Message::user("hi").shared()])).await.unwrap();
    assert!(!mock.requests()[1].headers.contains_key("traceparent"));
}

/// Fetches something beside each request, as an upload or a token would be.
#[derive(Debug)]
struct Beside(HttpClient, String);

impl Layer for Beside {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (client, url, inner) = (self.0.clone(), self.1.clone(), inner.clone());
        let first = async move {
            assert_eq!(client.answer(&RequestParts::get(url)).await.unwrap().status(), 404);
            inner.stream(request)
        };
        Box::pin(futures_util::stream::once(first).flatten())
    }
}

// S24
#[tokio::test]
async fn a_request_beside_that_to_the_model_is_no_attempt_at_it() {
    let mock = MockProvider::start().await.unwrap();
    let recorder = Recorder::new();
    let client = HttpClient::shared().with_hook(recorder.telemetry.http_hook());
    let beside = Beside(client, format!("{}/nowhere", mock.url()));
    let model = layered(model(&recorder, &mock, &HttpClient::shared()), beside);
    let agent = Agent::builder(model).observer(recorder.telemetry.clone()).build().unwrap();
    mock.enqueue(Reply::new().text("There."));
    agent.run("go").outcome().await.unwrap();
    assert_eq!(recorder.tree(), ["invoke_agent", "  chat gpt-4o", "    GET !404"]);
}
