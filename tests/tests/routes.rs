//! The server's routes, asked by programs of others: its numbers as a monitor reads them, other protocols beside them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use attache::Agent;
use attache::a2a::{A2aProfile, A2aServer};
use attache::agent::{MemorySessions, Sessions};
use attache::mcp::{McpAgent, McpService};
use attache::server::{ApiKey, ApiKeys, Principal, Scope, Server};
use attache::transport::{HttpClient, RequestParts};
use attache_testkit::{ScriptedModel, Turn};
use attache_tests::real::Python;
use http::HeaderName;
use http::header::{ACCEPT, AUTHORIZATION};
use serde_json::{Value, json};
use tokio::net::TcpListener;

fn python() -> Python {
    Python::installed("routes", Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// A server at a port of this machine, and its address.
async fn served(server: Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server.serve(listener, std::future::pending()));
    format!("http://{address}")
}

/// Waits for a program, with what it wrote.
async fn run(mut command: Command) -> (bool, String) {
    // Wherever a proxy of the environment leads, the server is on this machine.
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    let mut command = tokio::process::Command::from(command);
    let output = tokio::time::timeout(Duration::from_secs(300), command.kill_on_drop(true).output());
    let output = output.await.expect("the program comes to its end").unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

async fn numbers(address: &str) -> Value {
    let mut command = python().command("routes_metrics.py");
    command.arg(format!("{address}/metrics"));
    let (good, said) = run(command).await;
    assert!(good, "{said}");
    serde_json::from_str(&said).unwrap()
}

/// The sum of the samples of a family.
fn sum(numbers: &Value, family: &str) -> f64 {
    let samples = numbers[family]["samples"].as_array().unwrap_or_else(|| panic!("{family}: {numbers}"));
    samples.iter().map(|sample| sample[2].as_f64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_reads_the_numbers() {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("Hello.")]).unverified()).build().unwrap();
    let address = served(Server::new("papers", Sessions::new(agent, Arc::new(MemorySessions::new())))).await;
    let body = json!({"model": "papers", "messages": [{"role": "user", "content": "?"}]});
    let (status, _) = ask(&address, "/v1/chat/completions", None, &body).await;
    assert_eq!(status, 200);
    let numbers = numbers(&address).await;
    for (family, kind) in [
        ("attache_http_requests", "counter"),
        ("attache_http_request_seconds", "histogram"),
        ("attache_runs", "gauge"),
        ("attache_tokens", "counter"),
    ] {
        assert_eq!(numbers[family]["type"], kind, "{family}: {numbers}");
    }
    assert_eq!(sum(&numbers, "attache_runs_ended"), 1.0);
    let times = numbers["attache_http_request_seconds"]["samples"].as_array().unwrap();
    let last = |name: &str| times.iter().rfind(|sample| sample[0] == name).unwrap()[2].as_f64();
    assert_eq!(last("attache_http_request_seconds_bucket"), last("attache_http_request_seconds_count"));
}

/// Posts JSON with a key.
async fn ask(address: &str, path: &str, key: Option<&str>, body: &Value) -> (u16, String) {
    let accept = "application/json, text/event-stream";
    let mut request = RequestParts::post_json(format!("{address}{path}"), body.to_string())
        .with_header(ACCEPT, accept)
        .with_header(HeaderName::from_static("mcp-protocol-version"), "2025-11-25");
    if let Some(key) = key {
        request = request.with_header(AUTHORIZATION, format!("Bearer {key}"));
    }
    told(&request).await
}

async fn told(request: &RequestParts) -> (u16, String) {
    let mut reply = HttpClient::shared().answer(request).await.unwrap();
    let status = reply.status().as_u16();
    let mut body = Vec::new();
    while let Some(piece) = reply.chunk().await.unwrap() {
        body.extend_from_slice(&piece);
    }
    (status, String::from_utf8(body).unwrap())
}

async fn get(address: &str, path: &str, key: &str) -> (u16, String) {
    let request = RequestParts::get(format!("{address}{path}"));
    told(&request.with_header(AUTHORIZATION, format!("Bearer {key}"))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcp_and_a2a_stand_beside_the_routes_with_the_same_principals() {
    let turns = (0..4).map(|_| Turn::text("The rent is 900."));
    let agent = Agent::builder(ScriptedModel::new(turns).unverified()).build().unwrap();
    let sessions = Sessions::new(agent.clone(), Arc::new(MemorySessions::new()));
    let named = |head: &http::request::Parts| Some(head.extensions.get::<Principal>()?.name().to_owned());
    let profile = A2aProfile::new("Leases", "Knows all leases.", "http://127.0.0.1/a2a");
    let a2a = A2aServer::new(profile, sessions.clone()).principal(named).router();
    let mcp = McpService::new("papers").with_agent(McpAgent::new("ask", "Answers.", agent));
    let mcp = mcp.http().with_principal(named);
    let (ann, ann_key) = ApiKey::fresh("ann");
    let (bob, bob_key) = ApiKey::fresh("bob");
    let (reader, reader_key) = ApiKey::fresh("reader");
    let keys = ApiKeys::new().with_key(ann).with_key(bob).with_key(reader.with_scopes([Scope::Read]));
    let server = Server::new("papers", sessions)
        .keys(keys)
        .mount("/a2a", a2a)
        .mount("/mcp", axum::Router::new().fallback_service(mcp));
    let address = served(server).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
        {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "What is the rent?"}]}}});
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    for (path, body) in [("/a2a", &message), ("/mcp", &begin)] {
        assert_eq!(ask(&address, path, None, body).await.0, 401, "{path}");
        assert_eq!(ask(&address, path, Some("atk_wrong"), body).await.0, 401, "{path}");
        assert_eq!(ask(&address, path, Some(reader_key.expose()), body).await.0, 403, "{path}");
    }
    let (status, answer) = ask(&address, "/a2a", Some(ann_key.expose()), &message).await;
    assert!(status == 200 && answer.contains("The rent is 900."), "{status} {answer}");
    // The task is a run of a session of ann's, and of nobody else's.
    let total = async |key: &str| {
        let listed: Value = serde_json::from_str(&get(&address, "/v1/sessions", key).await.1).unwrap();
        listed["total"].as_u64().unwrap()
    };
    assert_eq!((total(ann_key.expose()).await, total(bob_key.expose()).await), (1, 0));
    let (status, answer) = ask(&address, "/mcp", Some(bob_key.expose()), &begin).await;
    assert!(status == 200 && answer.contains("papers"), "{status} {answer}");
    let (status, card) = get(&address, "/a2a/.well-known/agent-card.json", ann_key.expose()).await;
    assert!(status == 200 && card.contains("Knows all leases."), "{status} {card}");
    assert_eq!(get(&address, "/v1/models", ann_key.expose()).await.0, 200);
}
