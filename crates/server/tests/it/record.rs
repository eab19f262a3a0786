//! The record of what the server does: numbers, an audit log, and the pace of requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use attache_agent::{Agent, Decision, Sessions, tool_fn};
use attache_core::{Approval, FinishReason, Usage};
use attache_server::{ApiKey, ApiKeys, AuditEntry, Audited, Principal, Scope, Server, ServerLimits};
use attache_testkit::Turn;
use axum::body::Body;
use axum::routing::get;
use axum::{Extension, Router};
use http::{HeaderMap, Request, StatusCode, header};
use serde_json::json;

use crate::common::{Client, Stage, server, sessions, text, trusting, value};

/// The samples by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// A server on which `ann` has the scope of the numbers.
fn watched(agent: attache_agent::AgentBuilder) -> Client {
    Client::new(watching(agent))
}

fn watching(agent: attache_agent::AgentBuilder) -> Server {
    let server = Server::new("papers", sessions(agent));
    server.authenticate(|headers| async move {
        let user = headers.get("x-user").map_or("ann", |user| user.to_str().unwrap());
        let all = [Scope::Run, Scope::Read, Scope::Approve, Scope::Metrics];
        match user {
            "ann" => Some(Principal::new(user).with_scopes(all)),
            "nobody" => None,
            user => Some(Principal::new(user)),
        }
    })
}

#[tokio::test(start_paused = true)]
async fn numbers_tell_what_the_server_does_and_nothing_of_whom() {
    let stage = Stage::new([
        Turn::call("pay", json!({"to": "canary-argument"})),
        Turn::text("Paid."),
        Turn::text("A secret-answer."),
    ])
    .held();
    let pay = tool_fn("pay", "Pays", || Ok("paid"));
    let client = watched(Agent::builder(stage.clone()).tool(pay));
    let run = client.run("canary-session", "?").await;
    let told = samples(&text(client.get("/metrics").await).await);
    assert_eq!(told["attache_runs"], 1.0);
    assert_eq!(told["attache_viewers"], 0.0);
    stage.let_out(100);
    client.ended(&run).await;
    client.get("/v1/sessions/canary-other").await;
    client.get("/canary-path").await;
    client.named("nobody").get("/v1/models").await;
    let made_up = Request::builder().method("CANARY").uri("/v1/models");
    client.send(made_up, Body::empty()).await;
    let text = text(client.get("/metrics").await).await;
    let told = samples(&text);
    let of = |name: &str| told.get(name).copied().unwrap_or_else(|| panic!("{name} is not told:\n{text}"));
    assert_eq!(of("attache_runs"), 0.0);
    assert_eq!(of(r#"attache_runs_ended_total{reason="answer"}"#), 1.0);
    assert_eq!(of(r#"attache_tool_calls_total{outcome="ok"}"#), 1.0);
    // Each turn of the script says that it read 10 and wrote 5.
    assert_eq!(of(r#"attache_tokens_total{kind="input"}"#), 20.0);
    assert_eq!(of(r#"attache_tokens_total{kind="output"}"#), 10.0);
    assert_eq!(of(r#"attache_auth_failures_total{reason="invalid_api_key"}"#), 1.0);
    let requests = |route: &str, method: &str, status: u16| {
        of(&format!(
            "attache_http_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}}"
        ))
    };
    assert_eq!(requests("/v1/sessions/{id}/runs", "POST", 202), 1.0);
    assert_eq!(requests("/v1/sessions/{id}", "GET", 404), 1.0);
    assert_eq!(requests("none", "GET", 404), 1.0);
    assert_eq!(requests("/v1/models", "GET", 401), 1.0);
    assert_eq!(requests("/v1/models", "other", 405), 1.0);
    assert_eq!(of(r#"attache_http_request_seconds_bucket{route="/v1/models",le="+Inf"}"#), 2.0);
    assert_eq!(of(r#"attache_http_request_seconds_count{route="/v1/models"}"#), 2.0);
    assert!(of("attache_ring_bytes") > 0.0 && of("attache_start_time_seconds") > 0.0);
    for private in ["canary", "CANARY", "ann", "secret-answer", &run] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

#[tokio::test]
async fn routes_of_others_are_counted_by_their_names() {
    let yes = || get(async || "yes");
    let who = Router::new().route("/", yes()).route("/of/{id}", yes());
    let all = Router::new().fallback(async || "all");
    let server = Server::new("papers", sessions(Agent::builder(Stage::new([]))));
    let admitted =
        |_: HeaderMap| async { Some(Principal::new("ann").with_scopes([Scope::Run, Scope::Metrics])) };
    let client = Client::new(server.authenticate(admitted).mount("/who", who).mount("/all", all));
    for path in ["/who", "/who/", "/who/of/canary", "/who/nothing", "/all", "/all/", "/all/canary"] {
        client.get(path).await;
    }
    let text = text(client.get("/metrics").await).await;
    let told = samples(&text);
    for (route, status, times) in
        [("/who", 200, 2.0), ("/who/of/{id}", 200, 1.0), ("/who", 404, 1.0), ("/all", 200, 3.0)]
    {
        let name =
            format!("attache_http_requests_total{{route=\"{route}\",method=\"GET\",status=\"{status}\"}}");
        assert_eq!(told.get(&*name), Some(&times), "{name}:\n{text}");
    }
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn numbers_are_for_whoever_has_their_scope() {
    let (plain, plain_key) = ApiKey::fresh("ann");
    let (scraper, scraper_key) = ApiKey::fresh("prometheus");
    let keys = ApiKeys::new().with_key(plain).with_key(scraper.with_scopes([Scope::Metrics]));
    let client = Client::new(Server::new("papers", sessions(Agent::builder(Stage::new([])))).keys(keys));
    let ask = async |path: &str, key: &str| {
        let request = Request::builder().uri(path).header(header::AUTHORIZATION, format!("Bearer {key}"));
        client.send(request, Body::empty()).await.status()
    };
    assert_eq!(ask("/metrics", scraper_key.expose()).await, StatusCode::OK);
    assert_eq!(ask("/metrics", plain_key.expose()).await, StatusCode::FORBIDDEN);
    assert_eq!(ask("/metrics", "wrong").await, StatusCode::UNAUTHORIZED);
    assert_eq!(ask("/v1/sessions", scraper_key.expose()).await, StatusCode::FORBIDDEN);
}

#[tokio::test(start_paused = true)]
async fn a_principal_asks_so_often_in_a_minute() {
    let mut limits = ServerLimits::default();
    limits.requests_per_minute = Some(6);
    let client = Client::new(server(Agent::builder(Stage::new([]))).limits(limits));
    for _ in 0..6 {
        assert_eq!(client.get("/v1/models").await.status(), StatusCode::OK);
    }
    let refused = client.get("/v1/models").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "10");
    let told = value(refused).await;
    assert_eq!(
        (&told["error"]["type"], &told["error"]["code"]),
        (&json!("rate_limit_error"), &json!("rate_limit_exceeded"))
    );
    // Clients of each vendor read it in the shape that they know.
    for (path, of_anthropic) in
        [("/v1/messages", true), ("/v1/responses", false), ("/v1/chat/completions", false)]
    {
        let refused = client.post(path, json!({})).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert_eq!(refused.headers()[header::RETRY_AFTER], "10", "{path}");
        let told = value(refused).await;
        assert_eq!(told["type"] == "error", of_anthropic, "{path}: {told}");
        assert_eq!(told["error"]["type"], "rate_limit_error", "{path}");
    }
    assert_eq!(client.named("bob").get("/v1/models").await.status(), StatusCode::OK);
    assert_eq!(client.get("/v1/health").await.status(), StatusCode::OK, "health is nobody's");
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    assert_eq!(client.get("/v1/models").await.status(), StatusCode::OK);
}

type Entries = Arc<Mutex<Vec<AuditEntry>>>;

fn audited(server: Server) -> (Server, Entries) {
    let entries = Entries::default();
    let kept = Arc::clone(&entries);
    let keep = move |entry: &AuditEntry| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
    };
    (server.audit(keep), entries)
}

async fn paid(server: Server, decision: serde_json::Value) -> Client {
    let client = Client::new(server);
    let start = Request::builder().method("POST").uri("/v1/sessions/s/runs").header("x-request-id", "began");
    let started = client.send(start, json!({"message": "?"}).to_string()).await;
    let run = value(started).await["runId"].as_str().unwrap().to_owned();
    client.ended(&run).await;
    let open = client.got("/v1/approvals").await;
    let id = open["approvals"][0]["approval"]["id"]
        .as_str()
        .or(open["approvals"][0]["approval"]["approvalId"].as_str());
    let path = format!("/v1/approvals/{}", id.unwrap_or_else(|| panic!("{open}")));
    let decide = Request::builder().method("POST").uri(path).header("x-request-id", "decided");
    assert!(client.send(decide, decision.to_string()).await.status().is_success());
    loop {
        let told = client.got(&format!("/v1/runs/{run}")).await;
        if told.to_string().contains("Done.") {
            return client;
        }
        tokio::task::yield_now().await;
    }
}

/// The entries, a line each.
fn lines(entries: &[AuditEntry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| {
            let request = entry.request.as_deref().unwrap_or_default();
            let what = match &entry.what {
                Audited::ApprovalRequested { tool, .. } => format!("asked {tool}"),
                Audited::ApprovalDecided { by, decision, .. } => {
                    format!("{decision} {}", by.as_deref().unwrap())
                }
                Audited::CallBegun { tool, .. } => format!("begun {tool}"),
                Audited::CallEnded { tool, outcome, .. } => {
                    format!("ended {} {outcome}", tool.as_deref().unwrap())
                }
                other => format!("{other:?}"),
            };
            format!("{} {} {request}: {what}", entry.principal, entry.session.as_deref().unwrap())
        })
        .collect()
}

fn paying() -> Server {
    trusting(Server::new("papers", paid_sessions()))
}

fn paid_sessions() -> Sessions {
    let pay = tool_fn("pay", "Pays", |_: serde_json::Value| Ok("paid")).with_approval(Approval::Always);
    let stage = Stage::new([Turn::call("pay", json!({"to": "canary"})), Turn::text("Done.")]);
    sessions(Agent::builder(stage).tool(pay))
}

// A page sends what people decided with each request.
#[tokio::test(start_paused = true)]
async fn a_decision_that_is_sent_again_is_audited_once() {
    let (server, entries) = audited(paying());
    let client = Client::new(server);
    let ask = |resume: serde_json::Value| {
        json!({"threadId": "t", "runId": "r", "messages": [{"id": "q", "role": "user", "content": "Pay."}],
            "tools": [], "context": [], "state": {}, "resume": resume})
    };
    let told = crate::common::data(&text(client.post("/v1/ag-ui", ask(json!(null))).await).await);
    let id = &told.last().unwrap()["outcome"]["interrupts"][0]["id"];
    let approve = json!([{"interruptId": id, "status": "resolved", "payload": {"approved": true}}]);
    for _ in 0..2 {
        text(client.post("/v1/ag-ui", ask(approve.clone())).await).await;
    }
    let entries = entries.lock().unwrap();
    let decided = entries.iter().filter(|entry| matches!(entry.what, Audited::ApprovalDecided { .. }));
    assert_eq!(decided.count(), 1, "{entries:?}");
}

// Somebody who lost the answer says the same again.
#[tokio::test(start_paused = true)]
async fn a_decision_of_its_own_that_is_sent_again_is_audited_once() {
    let (server, entries) = audited(paying());
    let client = paid(server, json!({"decision": "approve"})).await;
    let id = entries.lock().unwrap().iter().find_map(|entry| match &entry.what {
        Audited::ApprovalDecided { approval, .. } => Some(approval.clone()),
        _ => None,
    });
    let path = format!("/v1/approvals/{}", id.unwrap());
    let again = client.post(&path, json!({"decision": "approve"})).await;
    assert_eq!(again.status(), StatusCode::OK);
    let entries = entries.lock().unwrap();
    let decided = entries.iter().filter(|entry| matches!(entry.what, Audited::ApprovalDecided { .. }));
    assert_eq!(decided.count(), 1, "{entries:?}");
}

#[tokio::test(start_paused = true)]
async fn decisions_and_calls_are_in_the_audit_log() {
    let (server, entries) = audited(paying());
    paid(server, json!({"decision": "approve"})).await;
    let entries = entries.lock().unwrap().clone();
    assert_eq!(
        lines(&entries),
        [
            "ann s began: asked pay",
            "ann s decided: approve ann",
            "ann s decided: begun pay",
            "ann s decided: ended pay ok",
        ]
    );
    let digests: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match &entry.what {
            Audited::ApprovalRequested { sha256, .. } | Audited::CallBegun { sha256, .. } => Some(&**sha256),
            _ => None,
        })
        .collect();
    // printf '%s' '{"to":"canary"}' | sha256sum
    assert_eq!(digests, ["2783acee77c748fbf70d0a7979f6be75ecf2b2b3f52ecd61d11a5fc585f20b7c"; 2]);
    assert!(!format!("{entries:?}").contains("canary"), "arguments are no part of it");
}

// Another protocol drives its runs itself. Its agent stands in a tool of the one that is asked, so that what happens inside is
// seen by both.
#[tokio::test(start_paused = true)]
async fn runs_that_another_protocol_drives_are_in_the_record() {
    let pay = tool_fn("pay", "Pays", |_: serde_json::Value| Ok("paid")).with_approval(Approval::Always);
    let clerk = Stage::new([Turn::call("pay", json!({"to": "bob"})), Turn::text("Paid.")]);
    let clerk = Agent::builder(clerk).tool(pay).build().unwrap();
    let asked = Stage::new([
        Turn::call("clerk", json!({"task": "Pay."})),
        Turn::text("Done.").costing(Usage::new(40, 7)),
    ]);
    let asked = Agent::builder(asked).tool(clerk.as_tool("clerk", "Knows payments"));
    let (server, entries) = audited(watching(Agent::builder(Stage::new([]))));
    let others = server.recorded("papers", &sessions(asked));
    let drive = get(move |Extension(who): Extension<Principal>| async move {
        let session = others.open(who.name(), Some("s")).await.unwrap();
        let waits = session.run("Pay.").outcome().await.unwrap();
        let journal = session.journal_of(&waits.run_id);
        attache_agent::decide(&*journal, &waits.approvals[0].id, who.name(), Decision::Approve)
            .await
            .unwrap();
        session.resume().outcome().await.unwrap().text
    });
    let client = Client::new(server.mount("/other", Router::new().route("/", drive)));
    assert_eq!(text(client.get("/other").await).await, "Done.");
    let told = lines(&entries.lock().unwrap());
    let of = |what: &str| told.iter().filter(|line| line.ends_with(what)).count();
    for what in ["asked pay", "approve ann", "begun pay", "ended pay ok", "ended clerk ok"] {
        assert_eq!(of(what), 1, "{what}: {told:?}");
    }
    assert_eq!(of("begun clerk"), 2, "it goes on once somebody has decided: {told:?}");
    assert!(told.iter().all(|line| line.starts_with("ann s ")), "{told:?}");
    let told = samples(&text(client.get("/metrics").await).await);
    assert_eq!(told["attache_tool_calls_total{outcome=\"ok\"}"], 2.0, "{told:?}");
    assert_eq!(told["attache_approvals_total{decision=\"approve\"}"], 1.0, "{told:?}");
    // Three turns of ten tokens, and the last one, of which the inner run is told once.
    assert_eq!(told["attache_tokens_total{kind=\"input\"}"], 70.0, "{told:?}");
    let ended = |reason: &str| told[&format!("attache_runs_ended_total{{reason=\"{reason}\"}}")];
    assert_eq!((ended("pending_approval"), ended("answer")), (1.0, 1.0), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_has_arguments_where_the_server_says_so() {
    let (server, entries) = audited(paying());
    paid(server.audit_content(true), json!({"decision": "edit", "arguments": {"to": "bob"}})).await;
    let entries = entries.lock().unwrap().clone();
    let edited = entries.iter().find_map(|entry| match &entry.what {
        Audited::ApprovalDecided { decision: "edit", arguments, .. } => arguments.clone(),
        _ => None,
    });
    assert_eq!(edited.as_deref(), Some(r#"{"to":"bob"}"#));
    let asked = entries.iter().find_map(|entry| match &entry.what {
        Audited::ApprovalRequested { arguments, .. } => arguments.clone(),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some(r#"{"to":"canary"}"#));
}

// A reply that its provider ends with an error was paid for: in the numbers, and in the run.
#[tokio::test]
async fn tokens_of_a_reply_that_ends_as_an_error_count() {
    let cut = Turn::text("so far").finishing(FinishReason::Error).costing(Usage::new(40, 7));
    let client = watched(Agent::builder(Stage::new([cut])));
    let run = client.run("s", "Go.").await;
    let told = client.ended(&run).await;
    let end = &told["snapshot"]["end"];
    assert_eq!((&end["type"], &end["usage"]["input_tokens"]), (&json!("failed"), &json!(40)), "{told}");
    assert_eq!(told["snapshot"]["usage"]["output_tokens"], 7, "{told}");
    let told = samples(&text(client.get("/metrics").await).await);
    let of = |kind: &str| told.get(&format!("attache_tokens_total{{kind=\"{kind}\"}}")).copied();
    assert_eq!((of("input"), of("output")), (Some(40.0), Some(7.0)));
}
