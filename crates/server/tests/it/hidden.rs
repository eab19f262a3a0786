//! `tool_details(false)`: arguments, results and documents of tools, and what agents inside say, are for nobody.

use std::sync::Arc;

use attache_agent::{Agent, MemorySessions, Sessions, tool_fn};
use attache_core::citation::{Citation, How, Place, Source};
use attache_core::{Approval, Document, Tool, ToolReturn};
use attache_server::Server;
use attache_testkit::Turn;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, trusting};

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

// Results of tools are for nobody, also not as passages that the answer rests on; documents of people are theirs.
#[tokio::test]
async fn citations_quote_nothing_of_tools() {
    let lease = Document::inline("Rent: 900. inside-secret").with_file_name("inside-secret.txt");
    let source = Source::Document { id: lease.id().clone(), name: Some("inside-secret.txt".to_owned()) };
    let search =
        Source::Url { url: "https://example.org".to_owned(), title: Some("inside-secret rents".to_owned()) };
    let mine = "The meeting takes place on Tuesday at nine in room four";
    let answer = format!("It is 900. Your note says: \"{mine}.\"");
    let turns = || {
        let cited = |source: &Source| {
            Citation::new(source.clone(), How::Native)
                .with_quote(Some("inside-secret"))
                .with_place(Place::Block(7))
        };
        [
            Turn::call("lease", json!({})),
            Turn::text(&answer)
                .citing(cited(&source))
                .citing(cited(&search))
                .citing(Citation::new(source.clone(), How::Native)),
        ]
    };
    let stage = Stage::new(std::iter::repeat_with(turns).take(8).flatten()).seeing();
    let store = Arc::new(MemorySessions::new());
    let [client, other, open] = [false, false, true].map(|details| {
        let lease = lease.clone();
        let lease = tool_fn("lease", "The lease", move || Ok(lease.clone()));
        let agent = Agent::builder(stage.clone()).tool(lease).citations(true).build().unwrap();
        let server = Server::new("papers", Sessions::new(agent, store.clone()));
        Client::new(trusting(server).tool_details(details))
    });
    let data = format!(
        "data:text/plain;base64,{}",
        "VGhlIG1lZXRpbmcgdGFrZXMgcGxhY2Ugb24gVHVlc2RheSBhdCBuaW5lIGluIHJvb20gZm91ci4="
    );
    let file = json!({"type": "file", "file": {"filename": "mine.txt", "file_data": data}});
    let said = json!([{"role": "user", "content": [{"type": "text", "text": "Go."}, file]}]);
    let chat = |stream: bool| json!({"model": "papers", "stream": stream, "messages": said, "attache": {"events": true, "session": "s"}});
    let input = json!([{"role": "user", "content": [
        {"type": "input_text", "text": "Go."}, {"type": "input_file", "filename": "mine.txt", "file_data": data}]}]);
    let parts = json!([{"type": "text", "text": "Go."}, {"type": "file", "mediaType": "text/plain", "filename": "mine.txt", "url": data}]);
    let mut told = Vec::new();
    for (path, body) in [
        ("/v1/chat/completions", chat(false)),
        ("/v1/chat/completions", chat(true)),
        ("/v1/responses", json!({"model": "papers", "input": input})),
        ("/v1/ui", json!({"id": "u", "messages": [{"role": "user", "parts": parts}]})),
    ] {
        told.push((path.to_owned(), text(client.post(path, body).await).await));
    }
    let kept: Value = serde_json::from_str(&told[2].1).unwrap();
    let runs = client.got("/v1/sessions/s").await["runs"].clone();
    let run = runs[0]["id"].as_str().unwrap();
    let kept = format!("/v1/responses/{}", kept["id"].as_str().unwrap());
    for path in
        [format!("/v1/runs/{run}"), format!("/v1/runs/{run}/events"), "/v1/sessions/s".to_owned(), kept]
    {
        told.push((path.clone(), text(client.get(&path).await).await));
        told.push((format!("{path} elsewhere"), text(other.get(&path).await).await));
    }
    for (path, told) in &told {
        assert!(!told.contains("inside-secret"), "{path}: {told}");
        assert!(!told.contains(lease.id().as_str()), "whoever has its id can fetch it: {path}: {told}");
        assert!(!told.contains("\"callId\":\"call_0\""), "the id of the call is ours: {path}: {told}");
        // The call, the passage of the note, and the page of the web without what stands there. Messages of a session have
        // the provider's citations alone.
        for shown in ["\"tool\":\"lease\"", &format!("\"quote\":\"{mine}"), "example.org"] {
            let is_told = told.contains(shown) || shown.starts_with("\"quote") && path.contains("/sessions/");
            assert!(is_told, "{path}: {shown}: {told}");
        }
    }
    // Neither is what tools returned had by other ways.
    let document = format!("/v1/sessions/s/documents/{}", lease.id());
    for (path, refused) in
        [(document.as_str(), StatusCode::NOT_FOUND), ("/v1/sessions/s/export", StatusCode::FORBIDDEN)]
    {
        assert_eq!(open.get(path).await.status(), StatusCode::OK, "{path}");
        assert_eq!(client.get(path).await.status(), refused, "{path}");
    }
}

// Reasoning, the words of the agent's author, and documents that a tool withholds are told by no other route either.
#[tokio::test]
async fn an_export_tells_no_more_than_the_other_routes() {
    let export = async |thinking: bool| {
        let lease = || {
            let [rent, raw] = ["The rent is 900.", "the raw numbers"].map(Document::inline);
            Ok(ToolReturn::new([rent, raw.clone()]).withhold(&raw))
        };
        let turns = [
            Turn::call("lease", json!({})).and_thinking("a long thought"),
            Turn::text("900.").and_thinking("a long thought"),
        ];
        let agent = Agent::builder(Stage::new(turns)).system("the instructions");
        let server = server(agent.tool(tool_fn("lease", "The lease", lease))).thinking(thinking);
        let client = Client::new(server);
        let run = client.run("s", "What is the rent?").await;
        client.ended(&run).await;
        text(client.get("/v1/sessions/s/export").await).await
    };
    let hidden = export(false).await;
    let conversation = attache_core::Conversation::from_json(&hidden).unwrap();
    let documents = conversation.messages.iter().flat_map(|message| message.documents());
    let read: Vec<_> = documents.map(|document| document.bytes().unwrap()).collect();
    assert_eq!((read, conversation.messages.len()), (vec![Bytes::from("The rent is 900.")], 4), "{hidden}");
    assert!(!hidden.contains("a long thought") && !hidden.contains("the instructions"), "{hidden}");
    assert!(export(true).await.contains("a long thought"));
}
