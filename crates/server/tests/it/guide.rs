//! The events of the guide are those that the server tells.

use std::collections::BTreeMap;

use attache_agent::{Agent, tool_fn};
use attache_core::tool::Progress;
use attache_core::{Approval, Document, ToolContext, ToolError};
use attache_testkit::Turn;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, named, server, until};

/// The lines of the guide that are events.
fn examples() -> Vec<String> {
    let page = include_str!("../../../../docs/guide/server.md");
    let blocks = page.split("```json events\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.flat_map(|(block, _)| block.lines()).map(str::to_owned).collect()
}

// A36
#[tokio::test(start_paused = true)]
async fn the_events_of_the_guide_are_those_that_are_told() {
    let lease = tool_fn("lease", "The lease", |context: ToolContext| async move {
        context.progress(Progress::new(1.0).with_total(2.0).with_message("page 1"));
        tokio::task::yield_now().await;
        Ok::<_, ToolError>(Document::inline("The rent is 900.").with_file_name("lease.txt"))
    });
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let stage = Stage::new([
        Turn::empty().and_thinking("Where is it?").and_call("lease", json!({})),
        Turn::call("notify", json!({"text": "found"})),
        Turn::call("pay", json!({})),
        Turn::text("The rent is 900.").making(Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png")),
    ])
    .held();
    let agent = Agent::builder(stage.clone()).tool(lease).tool(pay);
    let client = Client::new(server(agent).thinking(true));
    let turn = json!({
        "message": "Pay the rent.",
        "frontendTools": [{"name": "notify", "description": "Shows a note", "parameters": {"type": "object"}}],
    });
    let started = client.post("/v1/sessions/s/runs", turn).await;
    let run = crate::common::value(started).await["runId"].as_str().unwrap().to_owned();
    let mut body = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
    let mut told = until(&mut body, "snapshot").await;
    // The three replies up to the call that waits for approval.
    stage.let_out(7);
    told += &until(&mut body, "\"frontend_call\"").await;
    let call = data(&told).into_iter().rfind(|event| event["type"] == "frontend_call").unwrap();
    let snapshot = text_of_snapshot(&client, &run).await;
    let answer = json!({"sessionId": "s", "callId": call["callId"], "result": "shown"});
    assert!(client.post("/v1/chat/tool-result", answer).await.status().is_success());
    told += &until(&mut body, "\"finished\"").await;
    let approval = data(&told).into_iter().rfind(|event| event["type"] == "approval_requested").unwrap();
    let path = format!("/v1/approvals/{}", approval["approvalId"].as_str().unwrap());
    assert!(client.post(&path, json!({"decision": "approve"})).await.status().is_success());
    let mut after = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
    told += &until(&mut after, "snapshot").await;
    stage.let_out(10);
    told += &until(&mut after, "\"finished\"").await;
    let lines = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines.map(str::to_owned).chain([snapshot]) {
        let event: Value = serde_json::from_str(&line).unwrap();
        known.entry(event["type"].as_str().unwrap().to_owned()).or_default().push(named(&line));
    }
    let examples = examples();
    assert!(examples.len() > 10, "the guide has lost its events");
    for example in &examples {
        let event: Value = serde_json::from_str(example).unwrap();
        let told = known.get(event["type"].as_str().unwrap()).cloned().unwrap_or_default();
        assert!(told.contains(example), "the guide has\n{example}\nand these are told\n{}", told.join("\n"));
    }
    let shown: Vec<String> = examples
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    let missing: Vec<&String> = known.keys().filter(|kind| !shown.contains(kind)).collect();
    assert!(missing.is_empty(), "the guide has no example of {missing:?}: {known:#?}");
}

/// The run so far, as it is told to whoever comes late.
async fn text_of_snapshot(client: &Client, run: &str) -> String {
    let mut body = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
    let told = until(&mut body, "\n\n").await;
    told.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned()
}
