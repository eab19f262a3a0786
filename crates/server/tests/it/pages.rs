//! The dialects of pages: AG-UI, and the UI message stream of Vercel's AI SDK.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, AgentBuilder, tool_fn};
use attache_core::tool::{Deferred, Progress};
use attache_core::{Approval, Document, ErrorKind, Message, ToolContext, ToolError};
use attache_server::Dialect;
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::common::{Client, Stage, data, named, server, text, until};

fn tools() -> Value {
    json!([{"name": "notify", "description": "Shows a note", "parameters": {"type": "object"}}])
}

/// An agent with a tool that brings a document, and one that waits for approval.
fn agent(stage: &Stage) -> AgentBuilder {
    let lease =
        tool_fn(
            "lease",
            "The lease",
            || Ok(Document::inline("The rent is 900.").with_file_name("lease.txt")),
        );
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    Agent::builder(stage.clone()).tool(lease).tool(pay)
}

fn turns() -> [Turn; 4] {
    [
        Turn::text("Let me see.").and_thinking("Where?").and_call("lease", json!({})),
        Turn::call("notify", json!({"text": "found"})),
        Turn::call("pay", json!({})),
        Turn::text("Paid 900."),
    ]
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

async fn told(client: &Client, path: &str, body: Value) -> String {
    let response = client.post(path, body).await;
    let status = response.status();
    let told = text(response).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    told
}

fn find<'e>(events: &'e [Value], kind: &str) -> &'e Value {
    events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("{kind}: {events:?}"))
}

// A36
#[tokio::test]
async fn the_ui_stream_with_tools_on_both_sides_and_an_approval() {
    let stage = Stage::new(turns());
    let client = Client::new(server(agent(&stage)).thinking(true));
    let user = json!({"id": "m1", "role": "user", "parts": [
        {"type": "text", "text": "Pay the rent."},
        {"type": "file", "mediaType": "text/csv", "filename": "a.csv", "url": "data:text/csv;base64,YSxiCjEsMgo="},
    ]});
    let ask = |messages: Value| json!({"id": "chat", "messages": messages, "trigger": "submit-message", "tools": tools()});
    let response = client.post("/v1/ui", ask(json!([user]))).await;
    assert_eq!(response.headers()["x-vercel-ai-ui-message-stream"], "v1");
    let first = text(response).await;
    insta::assert_snapshot!("ui_streamed", named(&first));
    let events = data(&first);
    let call = events
        .iter()
        .find(|event| event["type"] == "tool-input-available" && event["toolName"] == "notify")
        .unwrap();
    assert!(call["providerExecuted"].is_null(), "{call}");
    // The page answers, and the run goes on until somebody has to approve.
    let part = json!({"type": "tool-notify", "toolCallId": call["toolCallId"], "state": "output-available", "input": call["input"], "output": {"shown": true}});
    let reply = |parts: Value| json!({"id": "m2", "role": "assistant", "parts": parts});
    let second =
        told(&client, "/v1/ui", ask(json!([user, reply(json!([{"type": "step-start"}, part]))]))).await;
    insta::assert_snapshot!("ui_approval", named(&second));
    let events = data(&second);
    let asked = find(&events, "tool-approval-request");
    let pay = json!({"type": "dynamic-tool", "toolName": "pay", "toolCallId": asked["toolCallId"], "state": "approval-responded", "input": {}, "approval": {"id": asked["approvalId"], "approved": true}});
    let third = told(
        &client,
        "/v1/ui",
        ask(json!([user, reply(json!([{"type": "step-start"}, part, {"type": "step-start"}, pay]))])),
    )
    .await;
    insta::assert_snapshot!("ui_approved", named(&third));
    assert!(format!("{:?}", stage.requests()[0].messages).contains("a.csv"));
    // Nothing is told now.
    assert_eq!(client.get("/v1/ui/chat/stream").await.status(), StatusCode::NO_CONTENT);
}

// Nobody says anything more in a run that failed, although it could go on.
#[tokio::test]
async fn a_page_that_comes_back_after_a_failure_is_told_nothing() {
    let look = tool_fn("look", "Looks", || Ok("seen"));
    let stage = Stage::new([Turn::call("look", json!({})), Turn::empty().then_error(ErrorKind::RateLimited)]);
    let client = Client::new(server(Agent::builder(stage).tool(look)));
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Look."}]});
    let failed = text(client.post("/v1/ui", json!({"id": "chat", "messages": [user]})).await).await;
    assert!(failed.contains("the script says so"), "{failed}");
    assert_eq!(client.get("/v1/ui/chat/stream").await.status(), StatusCode::NO_CONTENT);
}

// A36
#[tokio::test]
async fn a_page_that_comes_back_is_told_the_message_from_its_beginning() {
    let stage = Stage::new([Turn::text("One two three.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Count."}]});
    let body = json!({"id": "chat", "messages": [user], "onDisconnect": "detach"});
    stage.let_out(1);
    let response = client.post("/v1/ui", body).await;
    drop(response);
    let back = client.get("/v1/ui/chat/stream").await;
    assert_eq!(back.status(), StatusCode::OK);
    assert_eq!(client.named("bob").get("/v1/ui/chat/stream").await.status(), StatusCode::NO_CONTENT);
    stage.let_out(100);
    let events = data(&text(back).await);
    let said: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(said, "One two three.");
    assert_eq!(events[0]["type"], "start");
    assert_eq!(events.last().unwrap(), "[DONE]");
}

// A36
#[tokio::test]
async fn ag_ui_with_tools_on_both_sides_and_an_interrupt() {
    let stage = Stage::new(turns());
    let client = Client::new(server(agent(&stage)).thinking(true));
    let user = json!({"id": "m1", "role": "user", "content": [
        {"type": "text", "text": "Pay the rent."},
        {"type": "document", "source": {"type": "data", "value": "YSxiCjEsMgo=", "mimeType": "text/csv"}, "metadata": {"filename": "a.csv"}},
    ]});
    let ask = |run: &str, messages: Value, resume: Value| {
        json!({"threadId": "t", "runId": run, "state": {}, "messages": messages, "tools": tools(),
            "context": [{"description": "page", "value": "rent.html"}], "forwardedProps": {}, "resume": resume})
    };
    let first = told(&client, "/v1/ag-ui", ask("r1", json!([user]), json!(null))).await;
    insta::assert_snapshot!("ag_ui_streamed", named(&first));
    let events = data(&first);
    let call = events.iter().rfind(|event| event["type"] == "TOOL_CALL_START").unwrap()["toolCallId"].clone();
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "TOOL_CALL_END").count(), 2);
    let tool = json!({"id": "m3", "role": "tool", "toolCallId": call, "content": "shown"});
    let assistant = json!({"id": "m2", "role": "assistant", "content": "Let me see.", "toolCalls": [{"id": call, "type": "function", "function": {"name": "notify", "arguments": "{}"}}]});
    let second = told(&client, "/v1/ag-ui", ask("r2", json!([user, assistant, tool]), json!(null))).await;
    insta::assert_snapshot!("ag_ui_interrupt", named(&second));
    let events = data(&second);
    let interrupt = &find(&events, "RUN_FINISHED")["outcome"]["interrupts"][0];
    let resume = json!([{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": false, "reason": "too much"}}]);
    let third = told(&client, "/v1/ag-ui", ask("r3", json!([user, assistant, tool]), resume)).await;
    insta::assert_snapshot!("ag_ui_resumed", named(&third));
    let requests = stage.requests();
    let seen = format!("{:?}", requests[0].messages);
    assert!(seen.contains("a.csv") && seen.contains("page: rent.html"), "{seen}");
    assert!(format!("{:?}", requests[3].messages).contains("too much"));
}

// A36
#[tokio::test]
async fn a_thread_that_was_begun_elsewhere_brings_its_history() {
    let stage = Stage::new([Turn::text("Yes."), Turn::text("Again.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let messages = json!([
        {"id": "1", "role": "user", "content": "Hi"},
        {"id": "2", "role": "assistant", "content": "Hello"},
        {"id": "3", "role": "user", "content": "Sure?"},
    ]);
    let body = |messages: Value| json!({"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": []});
    told(&client, "/v1/ag-ui", body(messages.clone())).await;
    let roles =
        |at: usize| stage.requests()[at].messages.iter().map(|message| message.role()).collect::<Vec<_>>();
    use attache_core::Role::{Assistant, User};
    assert_eq!(roles(0), [User, Assistant, User]);
    // From then on the session has it.
    told(&client, "/v1/ag-ui", body(json!([{"id": "4", "role": "user", "content": "Once more?"}]))).await;
    assert_eq!(roles(1), [User, Assistant, User, Assistant, User]);
    assert!(matches!(&*stage.requests()[1].messages[3], Message::Assistant(_)));
}

// A36, A43: a page that reloaded, or another one, is told the messages that it lacks; those that it has keep their ids.
#[tokio::test]
async fn ag_ui_tells_the_messages_that_a_client_lacks() {
    let look = tool_fn("look", "Looks", || Ok("seen"));
    let stage = Stage::new([
        Turn::text("I look.").and_call("look", json!({"at": "it"})),
        Turn::text("It is 900."),
        Turn::text("Yes."),
        Turn::text("Now."),
        Turn::text("Again."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(look)));
    let body = |run: &str, messages: Value| json!({"threadId": "t", "runId": run, "messages": messages, "tools": [], "context": []});
    let document = json!({"type": "document", "source": {"type": "data", "value": "YSxiCjEsMgo=", "mimeType": "text/csv"}, "metadata": {"filename": "a.csv"}});
    let question =
        json!({"id": "q1", "role": "user", "content": [{"type": "text", "text": "The rent?"}, document]});
    let first = data(&told(&client, "/v1/ag-ui", body("r1", json!([question]))).await);
    assert!(!kinds(&first).contains(&"MESSAGES_SNAPSHOT"), "the client has all of a new thread");
    let call = find(&first, "TOOL_CALL_START")["toolCallId"].clone();
    let answer =
        first.iter().rfind(|event| event["type"] == "TEXT_MESSAGE_START").unwrap()["messageId"].clone();
    let second = |id: &str, said: &str| json!({"id": id, "role": "user", "content": said, "name": "Ann"});
    // All of it, as a client keeps it: pieces of the answer in messages of their own.
    let known = json!([
        question,
        {"id": "a1", "role": "assistant", "content": "I look."},
        {"id": "a2", "role": "assistant", "toolCalls": [{"id": call, "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"id": "t1", "role": "tool", "toolCallId": call, "content": "seen"},
        {"id": "think", "role": "reasoning", "content": "hm"},
        {"id": answer, "role": "assistant", "content": "It is 900."},
        second("q2", "Sure?"),
    ]);
    let told_second = data(&told(&client, "/v1/ag-ui", body("r2", known)).await);
    assert!(!kinds(&told_second).contains(&"MESSAGES_SNAPSHOT"), "{told_second:?}");
    // A page that has lost the middle.
    let some = json!([question, {"id": answer, "role": "assistant", "content": "It is 900."}, second("q3", "And now?")]);
    let third = data(&told(&client, "/v1/ag-ui", body("r3", some)).await);
    // The first one lets the client forget its order.
    assert_eq!(kinds(&third)[..3], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "MESSAGES_SNAPSHOT"]);
    let snapshot = &third[2]["messages"];
    let words: Vec<String> = snapshot
        .as_array()
        .unwrap()
        .iter()
        .map(|message| format!("{} {}", message["role"].as_str().unwrap(), message["content"]))
        .collect();
    let question_said = format!("user {}", question["content"]);
    assert_eq!(
        words,
        [
            &*question_said,
            "assistant \"I look.\"",
            "tool \"seen\"",
            "assistant \"It is 900.\"",
            "user \"Sure?\"",
            "assistant \"Yes.\"",
            "user \"And now?\""
        ]
    );
    let ids: Vec<&str> =
        snapshot.as_array().unwrap().iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[3], ids[6]), ("q1", answer.as_str().unwrap(), "q3"), "{ids:?}");
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 7, "{ids:?}");
    assert_eq!(snapshot[1]["toolCalls"][0]["id"], call);
    assert_eq!((&snapshot[2]["toolCallId"], &snapshot[6]["name"]), (&call, &json!("Ann")));
    // One that has nothing.
    let back = data(&told(&client, "/v1/ag-ui", body("r4", json!([]))).await);
    assert_eq!(kinds(&back), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    let snapshot = find(&back, "MESSAGES_SNAPSHOT")["messages"].clone();
    assert_eq!(snapshot.as_array().unwrap().len(), 8);
    assert_eq!(snapshot[0]["content"][1]["source"]["provider"], "attache");
    // It can send back what it was told, with its next question.
    let mut all = snapshot;
    all.as_array_mut().unwrap().push(second("q4", "Again?"));
    let client_lost = body("r5", all);
    let stage_before = stage.requests().len();
    let fifth = client.post("/v1/ag-ui", client_lost).await;
    assert_eq!(fifth.status(), StatusCode::OK);
    let fifth = data(&text(fifth).await);
    assert!(!kinds(&fifth).contains(&"MESSAGES_SNAPSHOT"), "{fifth:?}");
    assert_eq!(stage.requests().len(), stage_before + 1);
    let bob = client.named("bob");
    assert_eq!(bob.post("/v1/ag-ui", body("r6", json!([]))).await.status(), StatusCode::BAD_REQUEST);
}

// A43, A86: a page that comes back while the run says something hears all of it.
#[tokio::test]
async fn ag_ui_goes_on_telling_a_page_that_comes_back() {
    let stage = Stage::new([Turn::text("One two three.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let body = |run: &str, messages: Value| json!({"threadId": "t", "runId": run, "messages": messages, "tools": [], "context": [], "forwardedProps": {"onDisconnect": "detach"}});
    stage.let_out(1);
    let question = json!([{"id": "q", "role": "user", "content": "Count."}]);
    drop(client.post("/v1/ag-ui", body("r1", question)).await);
    let back = client.post("/v1/ag-ui", body("r2", json!([]))).await;
    assert_eq!(back.status(), StatusCode::OK);
    stage.let_out(100);
    let events = data(&text(back).await);
    let snapshot = find(&events, "MESSAGES_SNAPSHOT")["messages"].clone();
    assert_eq!((snapshot.as_array().unwrap().len(), &snapshot[0]["content"]), (1, &json!("Count.")));
    let said: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!((said.as_str(), *kinds(&events).last().unwrap()), ("One two three.", "RUN_FINISHED"));
}

// A36
#[tokio::test]
async fn failures_and_hidden_details() {
    let failing = || Stage::new([Turn::text("Half of").then_error(ErrorKind::InvalidRequest)]).held();
    let mut lines = Vec::new();
    let user = json!({"id": "m1", "role": "user", "content": "x", "parts": [{"type": "text", "text": "x"}]});
    let ui = json!({"id": "chat", "messages": [user]});
    let ag_ui = json!({"threadId": "t", "runId": "r", "messages": [user], "tools": [], "context": []});
    for (path, body) in [("/v1/ui", &ui), ("/v1/ag-ui", &ag_ui)] {
        let stage = failing();
        let client = Client::new(server(Agent::builder(stage.clone())));
        stage.let_out(1);
        let response = client.post(path, body.clone()).await;
        stage.let_out(10);
        lines.push(named(&text(response).await));
        let response = client.post(path, json!({"messages": 3})).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        let dialect = if path == "/v1/ui" { Dialect::UiMessages } else { Dialect::AgUi };
        let off = Client::new(server(Agent::builder(failing())).dialect(dialect, false));
        assert_eq!(off.post(path, body.clone()).await.status(), StatusCode::NOT_FOUND);
        let stage = Stage::new([Turn::call("lease", json!({"secret": 1})), Turn::text("Done.")]);
        let client = Client::new(server(agent(&stage)).tool_details(false));
        let hidden = told(&client, path, body.clone()).await;
        assert!(!hidden.contains("secret") && !hidden.contains("rent is"), "{hidden}");
        lines.push(named(&hidden));
    }
    insta::assert_snapshot!("pages_failures", lines.join("\n"));
}

// A36: facts about a page hold for their turn: those of ten turns before do not pile up.
#[tokio::test]
async fn the_context_of_ag_ui_is_that_of_the_turn_alone() {
    let stage = Stage::new([Turn::text("One."), Turn::text("Two.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let body = |run: &str, said: &str, page: &str| {
        json!({"threadId": "t", "runId": run, "messages": [{"id": run, "role": "user", "content": said}],
            "tools": [], "context": [{"description": "page", "value": page}]})
    };
    told(&client, "/v1/ag-ui", body("1", "First?", "one.html")).await;
    told(&client, "/v1/ag-ui", body("2", "Second?", "two.html")).await;
    let requests = stage.requests();
    let seen = format!("{:?}", requests[1].messages);
    assert!(seen.contains("First?") && seen.contains("One.") && seen.contains("page: two.html"), "{seen}");
    assert!(!seen.contains("one.html"), "{seen}");
    let listed = client.got("/v1/sessions/t").await["messages"].to_string();
    assert!(listed.contains("Second?") && !listed.contains("two.html"), "{listed}");
}

/// An agent whose tool says how far it has come, and waits until it is let go.
fn indexing(stage: &Stage, gate: &Arc<Semaphore>) -> AgentBuilder {
    let gate = Arc::clone(gate);
    let index = tool_fn("index", "Indexes", move |context: ToolContext| {
        let gate = Arc::clone(&gate);
        async move {
            context.progress(Progress::new(1.0).with_total(2.0).with_message("page 1"));
            gate.acquire().await.unwrap().forget();
            Ok::<_, ToolError>("indexed")
        }
    });
    Agent::builder(stage.clone()).tool(index)
}

// A36: how far a call has come is told where a dialect has a place for it.
#[tokio::test]
async fn pages_hear_how_far_a_call_has_come() {
    let user = json!({"id": "m1", "role": "user", "content": "x", "parts": [{"type": "text", "text": "x"}]});
    let ui = json!({"id": "chat", "messages": [user], "onDisconnect": "detach"});
    let ag_ui = json!({"threadId": "chat", "runId": "r", "messages": [user], "tools": [], "context": [],
        "forwardedProps": {"onDisconnect": "detach"}});
    for (path, body, kind, sought) in
        [("/v1/ui", &ui, "data-tool-progress", "data"), ("/v1/ag-ui", &ag_ui, "ACTIVITY_SNAPSHOT", "content")]
    {
        for details in [true, false] {
            let gate = Arc::new(Semaphore::new(0));
            let stage = Stage::new([Turn::call("index", json!({})), Turn::text("Done.")]);
            let client = Client::new(server(indexing(&stage, &gate)).tool_details(details));
            let mut response = client.post(path, body.clone()).await;
            let begun = until(response.body_mut(), kind).await;
            // Another page comes back while the tool is at work.
            let mut again = match path {
                "/v1/ui" => client.get("/v1/ui/chat/stream").await,
                _ => {
                    let mut body = body.clone();
                    body["messages"] = json!([]);
                    client.post(path, body).await
                }
            };
            let late = until(again.body_mut(), kind).await;
            gate.add_permits(1);
            for (begun, response) in [(begun, response), (late, again)] {
                let told = data(&(begun + &text(response).await));
                if path == "/v1/ag-ui" {
                    assert_eq!(shown_running(&told), [] as [&str; 0], "{told:?}");
                }
                let told: Vec<&Value> = told.iter().filter(|event| event["type"] == kind).collect();
                assert_eq!(told.len(), 1, "{told:?}");
                let progress = &told[0][sought];
                assert_eq!((&progress["done"], &progress["total"]), (&json!(1.0), &json!(2.0)));
                assert_eq!(progress["message"], if details { json!("page 1") } else { Value::Null });
                assert!(progress["toolCallId"].is_string());
            }
        }
    }
}

/// The activities that a page shows as under way behind these events.
fn shown_running(events: &[Value]) -> Vec<&str> {
    let mut running = Vec::new();
    for event in events {
        let id = event["messageId"].as_str().unwrap_or_default();
        match event["type"].as_str() {
            Some("ACTIVITY_SNAPSHOT") => {
                running.retain(|known| *known != id);
                running.extend(Some(id).filter(|_| event["content"]["isFinished"] == false));
            }
            Some("ACTIVITY_DELTA") => {
                let change = &event["patch"][0];
                assert_eq!((&change["path"], &change["value"]), (&json!("/isFinished"), &json!(true)));
                running.retain(|known| *known != id);
            }
            _ => {}
        }
    }
    running
}

fn of_ag_ui(run: &str, messages: &Value) -> Value {
    json!({"threadId": "chat", "runId": run, "messages": messages, "tools": [], "context": [],
        "forwardedProps": {"onDisconnect": "detach"}})
}

// A36: a page that hung up after it heard of progress, and comes back behind the result, hears the end of it.
#[tokio::test]
async fn progress_that_a_page_shows_ends_with_the_next_run() {
    let gate = Arc::new(Semaphore::new(0));
    let stage = Stage::new([Turn::call("index", json!({})), Turn::text("Done."), Turn::text("Again.")]);
    let client = Client::new(server(indexing(&stage, &gate)));
    let user = |id: &str| json!({"id": id, "role": "user", "content": "x"});
    let mut response = client.post("/v1/ag-ui", of_ag_ui("r1", &json!([user("m1")]))).await;
    let begun = data(&until(response.body_mut(), "ACTIVITY_SNAPSHOT").await);
    let activity = find(&begun, "ACTIVITY_SNAPSHOT").clone();
    drop(response);
    gate.add_permits(1);
    let rest = text(client.post("/v1/ag-ui", of_ag_ui("r2", &json!([]))).await).await;
    assert!(rest.contains("Done."), "{rest}");
    let shown = |id: &Value, content: Value| json!({"id": id, "role": "activity", "activityType": "attache.tool_progress", "content": content});
    let messages = json!([
        user("m1"),
        shown(&activity["messageId"], activity["content"].clone()),
        shown(&json!("over.progress"), json!({"isFinished": true})),
        shown(&json!("other"), json!({"isFinished": false})),
        user("m2"),
    ]);
    let told = data(&text(client.post("/v1/ag-ui", of_ag_ui("r3", &messages)).await).await);
    let ended: Vec<&Value> = told.iter().filter(|event| event["type"] == "ACTIVITY_DELTA").collect();
    assert_eq!(ended.len(), 1, "{told:?}");
    assert_eq!(ended[0]["messageId"], activity["messageId"]);
    assert_eq!(told.last().unwrap()["type"], "RUN_FINISHED");
}

// A36: nothing is shown as under way behind the end of a run, whichever end it has.
#[tokio::test]
async fn progress_ends_with_the_run() {
    for ends in ["deferred", "cancelled"] {
        let index = tool_fn("index", "Indexes", move |context: ToolContext| async move {
            context.progress(Progress::new(1.0).with_total(2.0));
            if ends == "cancelled" {
                std::future::pending::<()>().await;
            }
            // It is told while the tool is at work.
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok::<_, ToolError>(Deferred::ask("Which?"))
        });
        let stage = Stage::new([Turn::call("index", json!({}))]);
        let client = Client::new(server(Agent::builder(stage).tool(index)));
        let user = json!([{"id": "m1", "role": "user", "content": "x"}]);
        let mut response = client.post("/v1/ag-ui", of_ag_ui("r1", &user)).await;
        let mut told = until(response.body_mut(), "ACTIVITY_SNAPSHOT").await;
        if ends == "cancelled" {
            let session = client.got("/v1/sessions/chat").await;
            let run = session["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
            client.post(&format!("/v1/runs/{run}/cancel"), json!({})).await;
        }
        told += &text(response).await;
        let told = data(&told);
        assert_eq!(told.last().unwrap()["type"], "RUN_FINISHED", "{told:?}");
        assert_eq!(shown_running(&told), [] as [&str; 0], "{ends}: {told:?}");
    }
}
