//! Spans and metrics of the command as a collector takes them, read with the protobuf types of OpenTelemetry.

use std::process::Stdio;
use std::time::{Duration, Instant};

use attache_conformance::{MockProvider, Reply};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Served, attache, curl};

const SECRET: &str = "canary-secret";
const QUESTION: &str = "What is the canary rent?";

async fn collector(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    server
}

fn serving(collector: &MockServer, more: &[(&str, &str)]) -> Served {
    let (uri, headers) = (collector.uri(), format!("authorization=Bearer%20{SECRET}"));
    let own =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", uri.as_str()), ("OTEL_EXPORTER_OTLP_HEADERS", headers.as_str())];
    Served::start_with(tempfile::tempdir().unwrap(), &["-m", "offline/extractive"], &[&own, more].concat())
}

fn ask(served: &Served) {
    let body = json!({"model": "attache", "messages": [{"role": "user", "content": QUESTION}]}).to_string();
    let url = format!("{}/v1/chat/completions", served.address);
    let (status, told) = curl(&url, &["-H", "Content-Type: application/json", "-d", &body]);
    assert_eq!(status, 200, "{told}");
}

fn of(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text.clone()),
        other => Some(format!("{other:?}")),
    }
}

/// The bodies that came at a path.
async fn bodies(collector: &MockServer, path: &str) -> Vec<Vec<u8>> {
    let requests = collector.received_requests().await.unwrap();
    requests.into_iter().filter(|request| request.url.path() == path).map(|request| request.body).collect()
}

/// The spans that came, each with the name of its service.
async fn spans(collector: &MockServer) -> Vec<(String, Span)> {
    let mut spans = Vec::new();
    for body in bodies(collector, "/v1/traces").await {
        for of_resource in ExportTraceServiceRequest::decode(body.as_slice()).unwrap().resource_spans {
            let service = of(&of_resource.resource.unwrap().attributes, "service.name").unwrap();
            let all = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            spans.extend(all.map(|span| (service.clone(), span)));
        }
    }
    spans
}

// S24
#[tokio::test(flavor = "multi_thread")]
async fn a_served_run_is_spans_and_metrics_at_the_collector_without_content_or_secrets() {
    let collector = collector(ResponseTemplate::new(200)).await;
    let mut served = serving(&collector, &[("OTEL_SERVICE_NAME", "papers")]);
    ask(&served);
    served.terminate();
    let (status, log) = served.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains(SECRET) && !log.contains("not exported"), "{log}");
    let spans = spans(&collector).await;
    assert!(spans.iter().all(|(service, _)| service == "papers"));
    let (_, run) = spans.iter().find(|(_, span)| span.name == "invoke_agent attache").unwrap();
    let below: Vec<&Span> =
        spans.iter().map(|(_, span)| span).filter(|span| span.parent_span_id == run.span_id).collect();
    assert_eq!(below.len() + 1, spans.len(), "{spans:#?}");
    let count = |start: &str| below.iter().filter(|span| span.name.starts_with(start)).count();
    assert_eq!(count("chat extractive"), count("chat "), "{below:#?}");
    assert!(count("chat ") >= 2 && count("execute_tool ") >= 1, "{below:#?}");
    assert_eq!(count("chat ") + count("execute_tool "), below.len(), "{below:#?}");
    assert!(below.iter().all(|span| span.trace_id == run.trace_id));
    assert_eq!(of(&run.attributes, "attache.run.end_reason").as_deref(), Some("answer"));

    let mut named = Vec::new();
    for body in bodies(&collector, "/v1/metrics").await {
        for resource in ExportMetricsServiceRequest::decode(body.as_slice()).unwrap().resource_metrics {
            let metrics = resource.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
            named.extend(metrics.map(|metric| (metric.name, metric.unit)));
        }
    }
    for name in
        ["gen_ai.client.operation.duration", "gen_ai.invoke_agent.duration", "gen_ai.execute_tool.duration"]
    {
        assert!(named.contains(&(name.to_owned(), "s".to_owned())), "{named:?}");
    }
    for request in collector.received_requests().await.unwrap() {
        let header = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header("authorization"), Some(format!("Bearer {SECRET}")));
        assert_eq!(header("content-type").as_deref(), Some("application/x-protobuf"));
        assert!(!String::from_utf8_lossy(&request.body).contains("canary"), "no content");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn content_is_exported_where_the_variable_says_so_and_nothing_where_it_is_switched_off() {
    let told = collector(ResponseTemplate::new(200)).await;
    let mut served = serving(&told, &[("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")]);
    ask(&served);
    served.terminate();
    served.ended();
    let spans = spans(&told).await;
    let asked = spans.iter().filter_map(|(_, span)| of(&span.attributes, "gen_ai.input.messages"));
    assert!(asked.into_iter().any(|messages| messages.contains(QUESTION)), "{spans:#?}");
    assert!(spans.iter().all(|(service, _)| service == "attache"));

    let cases = [
        (("OTEL_SDK_DISABLED", "true"), None),
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), Some("http/protobuf alone")),
        (("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"), Some("OTLP_COMPRESSION")),
        (("OTEL_EXPORTER_OTLP_HEADERS", "authorization=canary-secret%C3%A4"), Some("OTLP_HEADERS")),
        (("OTEL_EXPORTER_OTLP_HEADERS", "a=b,canary-secret"), Some("OTLP_HEADERS")),
        (("OTEL_EXPORTER_OTLP_ENDPOINT", "http://ann:canary-secret@no host"), Some("check the address")),
    ];
    for (variable, problem) in cases {
        let untold = collector(ResponseTemplate::new(200)).await;
        let mut served = serving(&untold, &[variable]);
        ask(&served);
        served.terminate();
        let (_, log) = served.ended();
        assert_eq!(untold.received_requests().await.unwrap().len(), 0, "{variable:?}");
        assert_eq!(log.contains("not exported"), problem.is_some(), "{log}");
        assert!(log.contains(problem.unwrap_or_default()) && !log.contains(SECRET), "{log}");
    }
}

// Zero sets no limit, as the specification has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_of_zero_or_of_no_number_fails_no_export() {
    for (time, is_told) in [("0", false), ("soon", true)] {
        let collector = collector(ResponseTemplate::new(200).set_delay(Duration::from_millis(50))).await;
        let mut served = serving(&collector, &[("OTEL_EXPORTER_OTLP_TIMEOUT", time)]);
        ask(&served);
        served.terminate();
        let (_, log) = served.ended();
        assert!(!spans(&collector).await.is_empty() && !log.contains("not exported"), "{time}: {log}");
        assert_eq!(log.contains("OTLP_TIMEOUT is no number"), is_told, "{time}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_refuses_is_told_of_once_and_runs_go_on() {
    let collector = collector(ResponseTemplate::new(401).set_body_string(SECRET)).await;
    let mut served = serving(&collector, &[("OTEL_BSP_SCHEDULE_DELAY", "50")]);
    let begun = Instant::now();
    for times in 1..=3 {
        ask(&served);
        while bodies(&collector, "/v1/traces").await.len() < times {
            assert!(begun.elapsed() < Duration::from_secs(30), "{}", served.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    served.terminate();
    let (status, log) = served.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("traces are not exported")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("401") && told[0].contains("WARN"), "{told:?}");
    assert!(!log.contains(SECRET), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_does_not_answer_holds_the_end_for_a_limit() {
    let collector = collector(ResponseTemplate::new(200).set_delay(Duration::from_secs(300))).await;
    let mut served = serving(&collector, &[]);
    ask(&served);
    let begun = Instant::now();
    served.terminate();
    let (status, log) = served.ended();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(log.contains("for the last telemetry"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_the_command_is_exported_with_each_attempt_of_its_model() {
    let collector = collector(ResponseTemplate::new(200)).await;
    let model = MockProvider::start().await.unwrap();
    model.enqueue(Reply::error(503, "busy"));
    model.enqueue(Reply::new().text("900."));
    let (home, url) = (tempfile::tempdir().unwrap(), format!("{}/v1", model.url()));
    let mut command = attache(home.path());
    command.args([
        "ask",
        "-q",
        "-m",
        "openai-chat/gpt-4o",
        "--base-url",
        &url,
        QUESTION,
        "docs/examples/inbox",
    ]);
    command.env("OPENAI_API_KEY", "sk-test").env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.uri());
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let spans = spans(&collector).await;
    let mut told: Vec<(&str, Option<String>)> =
        spans.iter().map(|(_, span)| (span.name.as_str(), of(&span.attributes, "error.type"))).collect();
    told.sort();
    let failed = ("chat gpt-4o", Some("503".to_owned()));
    assert_eq!(told, [("chat gpt-4o", None), failed, ("invoke_agent attache", None)]);
}
