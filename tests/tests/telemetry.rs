//! Telemetry as a real collector takes it, which is not ours (Rotel), and as the protobuf types of OpenTelemetry read it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use attache::models::{HttpSettings, Registry, RetryPolicy};
use attache::otel::Telemetry;
use attache::transport::{Environment, HttpClient};
use attache::{Agent, ModelHandle, ToolContext, ToolError, tool};
use attache_conformance::{MockProvider, Reply, ReplyUsage};
use attache_tests::real::{Listening, Python};
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{FutureExt as _, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use serde_json::{Value, json};

const IGNORED: &str = "needs the packages of tests/real/otel.txt: cargo xtask counterparts";

/// The collector and what is behind it.
struct Collector(Listening);

impl Collector {
    fn start() -> Self {
        let python = Python::installed("otel", Path::new(env!("CARGO_TARGET_TMPDIR"))).expect(IGNORED);
        Self(Listening::start(python.command("otel_collector.py")).unwrap())
    }

    fn get(&self, path: &str) -> String {
        let url = self.0.url("");
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The store, once it is all there.
    fn stored(&self, spans: usize, points: usize) -> Value {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let stored: Value = serde_json::from_str(&self.get("/stored")).unwrap();
            let count = |kind: &str| stored[kind].as_array().unwrap().len();
            if count("spans") >= spans && count("points") >= points {
                return stored;
            }
            assert!(
                Instant::now() < until,
                "only {} spans and {} points came",
                count("spans"),
                count("points")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Looks a room up.
#[tool(effect = "read")]
async fn room(
    /// The number of the room.
    number: u32,
    context: ToolContext,
) -> Result<String, ToolError> {
    let span = context.require::<SdkTracer>()?.start(format!("query {number}"));
    let inside = opentelemetry::Context::current_with_span(span);
    // The later call ends first.
    let pause = Duration::from_millis(u64::from(400_u32.saturating_sub(number)));
    tokio::time::sleep(pause).with_context(inside).await;
    Ok(format!("Room {number} has a canary."))
}

fn model(mock: &MockProvider, telemetry: &Telemetry) -> ModelHandle {
    let again = RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(1));
    let client = HttpClient::shared().with_hook(telemetry.http_hook());
    let http = HttpSettings::new().with_client(client).with_retry(again).with_auth("canary key");
    let registry = Registry::bundled().with_environment(Environment::new(|_| None));
    registry.with_base_url(format!("{}/v1", mock.url())).with_http(http).model("openai-chat/gpt-4o").unwrap()
}

/// The names below a span as a tree, two spaces for each level, in the order in which they began.
fn grow(spans: &[Value], parent: &str, level: usize, lines: &mut Vec<String>) {
    let mut below: Vec<&Value> = spans.iter().filter(|span| span["parent"] == parent).collect();
    below.sort_by_key(|span| (span["begins"].as_u64().unwrap(), span["name"].as_str().unwrap()));
    for span in below {
        let failed = if span["status"] == "STATUS_CODE_ERROR" { " !" } else { "" };
        let message = span["message"].as_str().unwrap();
        lines.push(format!("{}{}{failed}{message}", "  ".repeat(level), span["name"].as_str().unwrap()));
        if let Some(around) = spans.iter().find(|around| around["id"] == parent) {
            let moment = |span: &Value, name: &str| span[name].as_u64().unwrap();
            assert!(moment(span, "begins") >= moment(around, "begins"), "{span} in {around}");
            assert!(moment(span, "ends") <= moment(around, "ends"), "{span} in {around}");
        }
        grow(spans, span["id"].as_str().unwrap(), level + 1, lines);
    }
}

// S24
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the packages of tests/real/otel.txt: cargo xtask counterparts"]
async fn a_collector_stores_the_spans_and_metrics_of_streams_parallel_tools_and_nested_agents() {
    let collector = Collector::start();
    let endpoint = collector.get("/collector");
    // The exporter's client asks the process for the cryptography of TLS.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let resource = Resource::builder_empty().with_attribute(KeyValue::new("service.name", "hotel")).build();
    let to = |path: &str| format!("{endpoint}{path}");
    // The collector is on this machine, wherever a proxy of the environment leads.
    let client = || reqwest::blocking::Client::builder().no_proxy().build();
    let client = tokio::task::spawn_blocking(client).await.unwrap().unwrap();
    let spans = SpanExporter::builder()
        .with_http()
        .with_http_client(client.clone())
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(to("/v1/traces"))
        .build()
        .unwrap();
    let metrics = MetricExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(to("/v1/metrics"))
        .build()
        .unwrap();
    let tracers =
        SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
    let meters = SdkMeterProvider::builder().with_resource(resource).with_periodic_exporter(metrics).build();
    let telemetry = Telemetry::new().with_tracer_provider(&tracers).with_meter(&meters.meter("attache"));

    let (lead, inner) = (MockProvider::start().await.unwrap(), MockProvider::start().await.unwrap());
    lead.enqueue(Reply::error(503, "busy"));
    let calls = Reply::new()
        .call("c1", "room", json!({"number": 101}))
        .call("c2", "room", json!({"number": 301}))
        .call("c3", "research", json!({"task": "What is a room?"}));
    lead.enqueue(calls.usage(ReplyUsage::new(100, 20)));
    lead.enqueue(Reply::new().text_pieces(["It is ", "a room."]).usage(ReplyUsage::new(200, 10)));
    inner.enqueue(Reply::new().call("d1", "room", json!({"number": 7})).usage(ReplyUsage::new(30, 5)));
    inner.enqueue(Reply::new().text("Four walls.").usage(ReplyUsage::new(40, 3)));
    let tracer = tracers.tracer("users");
    let build = |mock: &MockProvider, name: &str| {
        Agent::builder(model(mock, &telemetry))
            .observer(telemetry.agent(name))
            .tool(room_tool())
            .context(tracer.clone())
    };
    let research = build(&inner, "research").build().unwrap();
    let agent = build(&lead, "reception").tool(research.as_tool("research", "Finds out.")).build().unwrap();
    let outcome = agent.run("What is a room?").outcome().await.unwrap();
    assert_eq!(outcome.text, "It is a room.");
    tokio::task::spawn_blocking(move || {
        tracers.shutdown().unwrap();
        meters.shutdown().unwrap();
    })
    .await
    .unwrap();

    let stored = collector.stored(14, 1);
    let spans = stored["spans"].as_array().unwrap();
    assert!(spans.iter().all(|span| span["broken"].is_null()), "{stored}");
    assert!(spans.iter().all(|span| span["trace"] == spans[0]["trace"]), "one trace");
    assert!(spans.iter().all(|span| span["resource"] == json!({"service.name": "hotel"})));
    let mut lines = Vec::new();
    grow(spans, "", 0, &mut lines);
    assert_eq!(lines.len(), spans.len(), "each span has its place: {lines:#?}");
    // Calls run side by side: which began first is open.
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for line in lines {
        match (line.starts_with("    "), blocks.last_mut()) {
            (true, Some(block)) => block.push(line),
            _ => blocks.push(vec![line]),
        }
    }
    blocks[3..6].sort();
    let expected = ["invoke_agent reception", "  chat gpt-4o !503", "  chat gpt-4o"];
    let told: Vec<&str> = blocks.iter().flatten().map(String::as_str).collect();
    assert_eq!(told[..3], expected);
    assert_eq!(
        told[3..],
        [
            "  execute_tool research",
            "    invoke_agent research",
            "      chat gpt-4o",
            "      execute_tool room",
            "        query 7",
            "      chat gpt-4o",
            "  execute_tool room",
            "    query 101",
            "  execute_tool room",
            "    query 301",
            "  chat gpt-4o",
        ]
    );
    let first = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
    let (run, chat) = (first("invoke_agent reception"), first("chat gpt-4o"));
    assert_eq!((&run["kind"], &chat["kind"]), (&json!("SPAN_KIND_INTERNAL"), &json!("SPAN_KIND_CLIENT")));
    // Those of the agent inside are its own, too.
    assert_eq!(run["attributes"]["gen_ai.usage.input_tokens"], 370);
    assert_eq!(run["attributes"]["attache.run.end_reason"], "answer");
    assert_eq!(chat["attributes"]["gen_ai.operation.name"], "chat");
    assert_eq!(chat["attributes"]["server.address"], "127.0.0.1");
    // Streamed replies have a first piece.
    let streamed: Vec<&Value> = spans
        .iter()
        .filter(|span| span["name"] == "chat gpt-4o" && span["status"] != "STATUS_CODE_ERROR")
        .collect();
    assert_eq!(streamed.len(), 4);
    for chat in streamed {
        assert_eq!(chat["attributes"]["gen_ai.request.stream"], true);
        assert!(chat["attributes"]["gen_ai.response.time_to_first_chunk"].is_f64(), "{chat}");
    }
    let points = stored["points"].as_array().unwrap();
    let of = |name: &str, attribute: &str, value: &str| -> Vec<&Value> {
        let is = |point: &&Value| point["name"] == name && point["attributes"][attribute] == value;
        points.iter().filter(is).collect()
    };
    let sum = |points: &[&Value], member: &str| -> f64 {
        points.iter().map(|point| point[member].as_f64().unwrap()).sum()
    };
    for (kind, tokens) in [("input", 370.0), ("output", 38.0)] {
        let found = of("gen_ai.client.token.usage", "gen_ai.token.type", kind);
        assert_eq!((sum(&found, "sum"), sum(&found, "count")), (tokens, 4.0), "{found:?}");
        assert!(found.iter().all(|point| point["unit"] == "{token}" && point["kind"] == "histogram"));
    }
    for (name, count) in [
        ("gen_ai.client.operation.duration", 5.0),
        ("gen_ai.execute_tool.duration", 4.0),
        ("gen_ai.invoke_agent.duration", 2.0),
    ] {
        let found: Vec<&Value> = points.iter().filter(|point| point["name"] == name).collect();
        assert_eq!(sum(&found, "count"), count, "{found:?}");
        assert!(found.iter().all(|point| point["unit"] == "s"));
    }
    assert!(!stored.to_string().contains("canary"), "no content, and no key");
}
