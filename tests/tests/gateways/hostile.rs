//! Every harm through every gateway: the run stays alive and bounded, and tells no secret.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use attache::{Agent, EndReason};
use attache_core::{Message, ResultStatus, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

use crate::Gateway;
use crate::served::{HARMS, Served};

/// The most memory that this process may take while it is done harm.
const MEMORY: u64 = 300_000_000;

// A84, invariants 7, 9 and 11
async fn a_run_survives(gateway: Gateway) {
    let hostile = Served::new(&HARMS).await;
    let kind = Served::new(&["look"]).await;
    // First a schema that no check can walk through, and at last what is left after the list of tools has changed.
    let bomb = (gateway == Gateway::Mcp).then_some("bomb");
    let done: Vec<&str> = bomb.into_iter().chain(HARMS).chain(["tells", "look"]).collect();
    let turns = done.iter().map(|harm| match *harm {
        "bomb" => Turn::call(&gateway.call("evil", "bomb").0, json!({"a": {"a": {}, "b": {}}})),
        "look" => gateway.turn("kind", "look"),
        harm => gateway.turn("evil", harm),
    });
    let turns = turns.chain([Turn::text("done")]);
    let model = ScriptedModel::new(turns);
    let builder = gateway.attached("evil", &hostile, Agent::builder(model.clone()).max_steps(40)).await;
    let agent = gateway.attached("kind", &kind, builder).await.build().unwrap();
    let began = Instant::now();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(outcome.reason, EndReason::Answer, "{:?}", outcome.messages.last());

    let results: Vec<&ToolResult> = outcome
        .messages
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResults(results) => results.results.first(),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), done.len());
    for (at, (harm, result)) in done.iter().zip(&results).enumerate() {
        let json = result.tree.json();
        assert!(json.len() < 2_000, "{harm}: {} bytes", json.len());
        assert!(!json.contains("canary"), "{harm}: {json}");
        assert!(result.documents.is_empty(), "{harm}: {:?}", result.documents);
        let is_ok = result.status == ResultStatus::Ok;
        match *harm {
            "forges" | "changes" | "look" => assert!(is_ok, "{harm}: {json}"),
            "tells" if at < HARMS.len() => assert!(is_ok, "{harm}: {json}"),
            // JSON that is none is a text of an endpoint, and a tool may be gone after a change.
            "malformed" | "nested" | "tells" | "bomb" => {}
            _ => assert!(!is_ok, "{harm}: {json}"),
        }
    }
    assert_eq!(results.last().unwrap().tree.model_text(), "kind");
    assert_eq!(hostile.elsewhere.load(Ordering::Relaxed), 0, "another origin was asked");
    for request in model.requests() {
        assert!(!format!("{:?}", request.messages).contains("canary"));
        let shown: Vec<&str> = request.tools.iter().map(|(_, tool)| tool.name()).collect();
        let kinds =
            shown.iter().filter(|name| name.ends_with("kind___look") && !name.contains("evil")).count();
        assert!(kinds <= 1, "{shown:?}");
    }
    assert!(peak() < MEMORY, "{} bytes", peak());
}

/// The most memory that the process has held, where the system tells.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

#[tokio::test]
async fn a_hostile_mcp_server_costs_its_own_calls() {
    a_run_survives(Gateway::Mcp).await;
}

#[tokio::test]
async fn a_hostile_endpoint_costs_its_own_calls() {
    a_run_survives(Gateway::Http).await;
}

#[tokio::test]
async fn a_hostile_a2a_agent_costs_its_own_calls() {
    a_run_survives(Gateway::A2a).await;
}
