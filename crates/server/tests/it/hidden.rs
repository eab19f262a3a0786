//! `tool_details(false)`: arguments, results and documents of tools, and what agents inside say, are for nobody.

use attache_agent::{Agent, tool_fn};
use attache_core::{Approval, Document, Tool};
use attache_testkit::Turn;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text};

fn safe() -> impl Tool + 'static {
    tool_fn("safe", "Opens the safe", || Ok("the result is inside-secret"))
}

// An agent inside is a tool: what it says is the tool's result.
#[tokio::test]
async fn nothing_of_what_tools_return_is_told() {
    let clerk = Stage::new([
        Turn::text("inside-secret text")
            .and_thinking("inside-secret thought")
            .and_call("safe", json!({"code": "inside-secret"})),
        Turn::text("the answer is inside-secret"),
    ]);
    let clerk = Agent::builder(clerk).tool(safe()).build().unwrap();
    let stage = Stage::new([
        Turn::call("clerk", json!({"task": "inside-secret task"})).and_call("lease", json!({})),
        Turn::text("Done."),
    ])
    .seeing();
    let lease = || Ok(Document::inline("Rent: 900.").with_file_name("inside-secret.txt"));
    let agent = Agent::builder(stage).tool(clerk.as_tool("clerk", "Asks the clerk")).tool(tool_fn(
        "lease",
        "The lease",
        lease,
    ));
    let client = Client::new(server(agent).tool_details(false).thinking(true));
    let file =
        json!({"type": "file", "file": {"filename": "mine.txt", "file_data": "data:text/plain;base64,SGk="}});
    let content = json!([{"type": "text", "text": "Go."}, file]);
    let body = json!({
        "model": "papers", "stream": true, "messages": [{"role": "user", "content": content}],
        "attache": {"events": true, "session": "s"},
    });
    let told = text(client.chat(body).await).await;
    assert!(!told.contains("inside-secret"), "{told}");
    let events = data(&told);
    let is_routing = |event: &&Value| event["attache"]["type"] == "routing";
    let routed: Vec<&Value> = events.iter().filter(is_routing).collect();
    assert!(!routed.is_empty(), "{told}");
    for event in &routed {
        let decisions = event["attache"]["decisions"].as_array().unwrap();
        let names: Vec<_> = decisions.iter().map(|decision| decision["file_name"].as_str()).collect();
        assert_eq!(names, [Some("mine.txt")], "the client's own documents are told alone: {event}");
    }
    let runs = client.got("/v1/sessions/s").await["runs"].clone();
    let run = runs[0]["id"].as_str().unwrap();
    for path in [format!("/v1/runs/{run}"), format!("/v1/runs/{run}/events"), "/v1/sessions/s".to_owned()] {
        let told = text(client.get(&path).await).await;
        assert!(!told.contains("inside-secret"), "{path}: {told}");
    }
}

// People decide about calls inside, and answer questions there, whatever else is shown.
#[tokio::test]
async fn approvals_of_agents_inside_are_told() {
    let safe = tool_fn("safe", "Opens the safe", || Ok("opened")).with_approval(Approval::Always);
    let clerk = Stage::new([Turn::text("inside-secret").and_call("safe", json!({}))]);
    let clerk = Agent::builder(clerk).tool(safe).build().unwrap();
    let stage = Stage::new([Turn::call("clerk", json!({"task": "Open it"}))]);
    let agent = Agent::builder(stage).tool(clerk.as_tool("clerk", "Asks the clerk"));
    let client = Client::new(server(agent).tool_details(false));
    let body = json!({
        "model": "papers", "stream": true, "messages": [{"role": "user", "content": "Open it."}],
        "attache": {"events": true, "session": "s"},
    });
    let told = text(client.chat(body).await).await;
    assert!(!told.contains("inside-secret"), "{told}");
    let events = data(&told);
    let is_asked = |event: &&Value| event["attache"]["event"]["type"] == "approval_requested";
    let asked = events.iter().find(is_asked).unwrap_or_else(|| panic!("{told}"));
    assert_eq!(asked["attache"]["event"]["name"], "safe");
    assert_eq!(asked["attache"]["path"][0]["name"], "clerk");
}
