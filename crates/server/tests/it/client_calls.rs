//! Calls that clients answer: with files, behind a decision, in an agent inside, and at another node.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{
    Agent, AgentBuilder, MemoryDocumentStore, MemorySessions, Sessions, SubmitError, Tools, deliver_with,
    tool_fn,
};
use attache_core::{
    Approval, BoxFuture, Document, DocumentId, DocumentStore, Message, StoreError, StoreErrorKind,
    ToolDefinition, ToolError, ToolResult, UserPart,
};
use attache_server::{Server, ServerLimits};
use attache_stores::SqliteStore;
use attache_testkit::Turn;
use axum::response::Response;
use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::common::{Client, Stage, server, text, trusting, until, value};

const DIALECTS: [&str; 5] = ["/v1/responses", "/v1/chat/completions", "/v1/messages", "/v1/ui", "/v1/ag-ui"];

/// A picture of eight bytes, as clients send it.
pub(crate) const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";
pub(crate) const BYTES: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The request of a client of that dialect: its question, and the answer to the call of that name.
pub(crate) fn body(path: &str, answered: Option<(&Value, &str)>) -> Value {
    let tool = json!({"name": "notify", "description": "Shows a note", "parameters": {"type": "object"}});
    let function = json!({"type": "function", "function": tool});
    let question =
        json!({"id": "m1", "role": "user", "content": "Go.", "parts": [{"type": "text", "text": "Go."}]});
    let called = |(call, name): (&Value, &str)| json!({"id": call, "type": "function", "function": {"name": name, "arguments": "{}"}});
    match path {
        "/v1/responses" => {
            let input = answered.map_or(
                json!("Go."),
                |(call, _)| json!([{"type": "function_call_output", "call_id": call, "output": "shown"}]),
            );
            let mut tool = tool;
            tool["type"] = json!("function");
            json!({"model": "papers", "input": input, "tools": [tool]})
        }
        "/v1/chat/completions" => {
            let mut messages = vec![json!({"role": "user", "content": "Go."})];
            if let Some(answered) = answered {
                messages
                    .push(json!({"role": "assistant", "content": null, "tool_calls": [called(answered)]}));
                messages.push(json!({"role": "tool", "tool_call_id": answered.0, "content": "shown"}));
            }
            json!({"model": "papers", "messages": messages, "tools": [function]})
        }
        "/v1/messages" => {
            let mut messages = vec![json!({"role": "user", "content": "Go."})];
            if let Some((call, name)) = answered {
                let used = json!({"type": "tool_use", "id": call, "name": name, "input": {}});
                let result = json!({"type": "tool_result", "tool_use_id": call, "content": "shown"});
                messages.push(json!({"role": "assistant", "content": [used]}));
                messages.push(json!({"role": "user", "content": [result]}));
            }
            let tool = json!({"name": "notify", "description": "", "input_schema": {"type": "object"}});
            json!({"model": "papers", "max_tokens": 9, "messages": messages, "tools": [tool]})
        }
        "/v1/ui" => {
            let mut messages = vec![question];
            if let Some((call, name)) = answered {
                let part = json!({"type": "dynamic-tool", "toolName": name, "toolCallId": call,
                    "state": "output-available", "input": {}, "output": "shown"});
                messages.push(json!({"id": "m2", "role": "assistant", "parts": [part]}));
            }
            json!({"id": "chat", "messages": messages, "tools": [tool]})
        }
        _ => {
            let mut messages = vec![question];
            if let Some(answered) = answered {
                messages.push(json!({"id": "m2", "role": "assistant", "toolCalls": [called(answered)]}));
                messages
                    .push(json!({"id": "m3", "role": "tool", "toolCallId": answered.0, "content": "shown"}));
            }
            json!({"threadId": "chat", "runId": "r", "messages": messages, "tools": [tool], "context": []})
        }
    }
}

/// Sends a request in the session `chat`, and reads the answer to its end, which comes.
pub(crate) async fn asked(client: &Client, path: &str, body: &Value) -> String {
    let request = Request::builder().method("POST").uri(path).header("content-type", "application/json");
    let asking = client.send(request.header("x-attache-session", "chat"), body.to_string());
    let answer = async { read(asking.await).await };
    let ends = tokio::time::timeout(Duration::from_secs(60), answer).await;
    let (status, told) = ends.unwrap_or_else(|_| panic!("{path}: the answer has no end"));
    assert_eq!(status, StatusCode::OK, "{path}: {told}");
    told
}

async fn read(response: Response) -> (StatusCode, String) {
    (response.status(), text(response).await)
}

/// The id of the call of that name for which the run of the chat has stopped.
pub(crate) async fn waiting_call(client: &Client, name: &str) -> Value {
    let mut last = Value::Null;
    let waits = async {
        loop {
            let session = client.got("/v1/sessions/chat").await;
            let run = session["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
            last = client.got(&format!("/v1/runs/{run}")).await;
            let told = &last["snapshot"];
            let blocks = told["blocks"].as_array().cloned().unwrap_or_default();
            let is_it = |block: &&Value| block["name"] == name && block["state"] == "frontend";
            if let (false, Some(call)) = (told["end"].is_null(), blocks.iter().find(is_it)) {
                return call["callId"].clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waits = tokio::time::timeout(Duration::from_secs(60), waits).await;
    waits.unwrap_or_else(|_| panic!("nobody is asked to answer {name}: {last}"))
}

async fn approve(client: &Client) {
    let open = client.got("/v1/approvals").await;
    let id = open["approvals"][0]["approval"]["approvalId"].as_str().unwrap_or_else(|| panic!("{open}"));
    let decided = client.post(&format!("/v1/approvals/{id}"), json!({"decision": "approve"})).await;
    assert_eq!(decided.status(), StatusCode::OK);
}

/// The results of calls that the model was told last.
fn results(stage: &Stage) -> Vec<ToolResult> {
    let requests = stage.requests();
    let results = requests.last().unwrap().messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(message) => Some(message.results.clone()),
        _ => None,
    });
    results.flatten().collect()
}

fn texts(stage: &Stage) -> Vec<String> {
    results(stage).iter().map(|result| result.tree.model_text().into_owned()).collect()
}

/// The contents of documents that stand beside results.
fn files(stage: &Stage) -> Vec<Vec<u8>> {
    let results = results(stage);
    let parts = results.iter().flat_map(ToolResult::attached).filter_map(|part| match part {
        UserPart::Document(document) => document.bytes().map(|bytes| bytes.to_vec()),
        _ => None,
    });
    parts.collect()
}

/// Two servers over one database, and a store for documents.
pub(crate) async fn database_nodes(stage: &Stage, folder: &tempfile::TempDir) -> [Client; 2] {
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let documents = Arc::new(MemoryDocumentStore::new("pictures"));
    [(), ()].map(|()| {
        let agent = Agent::builder(stage.clone()).store(documents.clone()).build().unwrap();
        let sessions = Sessions::new(agent, store.clone()).with_documents(documents.clone());
        Client::new(trusting(Server::new("papers", sessions)))
    })
}

// C01, C33: files in the result that a client gives reach the model although a database has their log.
#[tokio::test]
async fn files_in_the_result_of_a_client_are_kept_before_it_is_recorded() {
    let stage = Stage::new([Turn::call("notify", json!({})), Turn::text("Seen.")]).seeing();
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = database_nodes(&stage, &folder).await;
    asked(&one, "/v1/responses", &body("/v1/responses", None)).await;
    let call = waiting_call(&one, "notify").await;
    let mut answer = body("/v1/responses", Some((&call, "notify")));
    answer["input"][0]["output"] = json!([{"type": "input_image", "image_url": PICTURE}]);
    let told = asked(&other, "/v1/responses", &answer).await;
    assert!(told.contains("Seen."), "{told}");
    assert_eq!(files(&stage), [BYTES], "{:?}", texts(&stage));
}

// C01, C33
#[tokio::test]
async fn files_in_the_answer_of_a_page_at_another_node_are_kept_before_it_is_recorded() {
    let stage = Stage::new([Turn::call("notify", json!({})), Turn::text("Seen.")]).seeing();
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = database_nodes(&stage, &folder).await;
    let tools = json!([{"name": "notify", "description": "", "parameters": {"type": "object"}}]);
    let turn = json!({"message": "Go.", "sessionId": "chat", "frontend_tools": tools});
    let mut stream = one.post("/v1/chat/stream", turn).await.into_body();
    let told = until(&mut stream, "FRONTEND_TOOL_CALL").await;
    let call = told.split("\"callId\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let answer = json!({"sessionId": "chat", "callId": call, "result": {"file": PICTURE}});
    let answered = other.post("/v1/chat/tool-result", answer).await;
    assert_eq!(answered.status(), StatusCode::OK, "{}", value(answered).await);
    let told = until(&mut stream, "[DONE]").await;
    assert!(told.contains("Seen."), "{told}");
    assert_eq!(files(&stage), [BYTES], "{:?}", texts(&stage));
}

/// A store that keeps nothing.
struct Away;

impl DocumentStore for Away {
    fn id(&self) -> &str {
        "away"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "nobody is there")) })
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "nobody is there")) })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

// C01: a result whose files cannot be kept is not taken, and may be sent again.
#[tokio::test(start_paused = true)]
async fn a_result_whose_files_cannot_be_kept_may_be_sent_again() {
    let stage = Stage::new([Turn::call("notify", json!({})), Turn::text("Seen.")]).seeing();
    let agent = Agent::builder(stage.clone()).store(Arc::new(Away)).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    let client = Client::new(trusting(Server::new("papers", sessions.clone())));
    asked(&client, "/v1/responses", &body("/v1/responses", None)).await;
    let call = waiting_call(&client, "notify").await;
    let mut answer = body("/v1/responses", Some((&call, "notify")));
    answer["input"][0]["output"] = json!([{"type": "input_image", "image_url": PICTURE}]);
    let request = Request::builder().method("POST").uri("/v1/responses");
    let request = request.header("content-type", "application/json").header("x-attache-session", "chat");
    let refused = client.send(request, answer.to_string()).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{}", value(refused).await);
    // A program that delivers it with a store that is there has it taken.
    let session = sessions.get("ann", "chat").await.unwrap();
    let last = session.last().await.unwrap().unwrap();
    let result = ToolResult::of(&last.pending[0], &Document::from_bytes(BYTES, "image/png")).unwrap();
    let journal = session.journal_of(&last.run_id);
    let refused = deliver_with(&*journal, &Away, result.clone()).await;
    assert!(matches!(refused, Err(SubmitError::Store(_))), "{refused:?}");
    let store = MemoryDocumentStore::new("pictures");
    deliver_with(&*journal, &store, result.clone()).await.unwrap();
    assert_eq!(store.get(result.documents[0].id()).await.unwrap(), BYTES);
}

/// An agent that pays once somebody has approved it, and the number of times that it did.
fn paying(stage: &Stage) -> (AgentBuilder, Arc<AtomicUsize>) {
    let paid = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&paid);
    let pay =
        tool_fn("pay", "Pays", move || Ok(format!("paid {}", counter.fetch_add(1, Ordering::SeqCst) + 1)));
    (Agent::builder(stage.clone()).tool(pay.with_approval(Approval::Always)), paid)
}

// A56, A64: whoever lets a run go on by another route, it waits for its client as its dialect does.
#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_by_a_decision_waits_for_its_client_in_each_dialect() {
    for path in DIALECTS {
        let stage =
            Stage::new([Turn::call("pay", json!({})), Turn::call("notify", json!({})), Turn::text("Done.")]);
        let client = Client::new(server(paying(&stage).0));
        asked(&client, path, &body(path, None)).await;
        approve(&client).await;
        let call = waiting_call(&client, "notify").await;
        // Longer than a page has that stays connected.
        tokio::time::sleep(Duration::from_secs(60)).await;
        asked(&client, path, &body(path, Some((&call, "notify")))).await;
        assert_eq!(texts(&stage), ["paid 1", "shown"], "{path}");
    }
}

// A64: so does one that waits for both, and the decision is acted upon before the client answers.
#[tokio::test(start_paused = true)]
async fn a_decision_beside_a_call_of_the_client_is_acted_upon_at_once() {
    for path in DIALECTS {
        let both = Turn::call("notify", json!({})).and_call("pay", json!({}));
        let stage = Stage::new([both, Turn::text("Done.")]);
        let (agent, paid) = paying(&stage);
        let client = Client::new(server(agent));
        asked(&client, path, &body(path, None)).await;
        waiting_call(&client, "notify").await;
        approve(&client).await;
        let acted = async {
            while paid.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), acted).await.expect("nobody pays");
        let call = waiting_call(&client, "notify").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        asked(&client, path, &body(path, Some((&call, "notify")))).await;
        assert_eq!(texts(&stage), ["shown", "paid 1"], "{path}");
    }
}

// A64: and one that another node takes over.
#[tokio::test]
async fn a_run_that_another_node_takes_over_waits_for_its_client() {
    let stage =
        Stage::new([Turn::call("look", json!({})), Turn::call("notify", json!({})), Turn::text("Done.")]);
    let (gate, folder) = (Arc::new(Semaphore::new(0)), tempfile::tempdir().unwrap());
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let node = || {
        let gate = Arc::clone(&gate);
        let look = tool_fn("look", "Looks", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok::<_, ToolError>("seen")
            }
        });
        let agent = Agent::builder(stage.clone()).tool(look).build().unwrap();
        let sessions = Sessions::new(agent, store.clone()).with_lease(Duration::from_secs(3));
        trusting(Server::new("papers", sessions))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut limits = ServerLimits::default();
    limits.drain = Duration::from_secs(1);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(node().limits(limits).serve(listener, async move { drop(stopped.await) }));
    let begun = body("/v1/ui", None).to_string();
    tokio::spawn(async move { crate::sockets::request(address, "POST", "/v1/ui", &begun).await });
    let other = Client::new(node());
    while stage.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    // The call that was left may still take one.
    gate.add_permits(8);
    // A run that waited for a page would have its end without the client.
    let call = waiting_call(&other, "notify").await;
    asked(&other, "/v1/ui", &body("/v1/ui", Some((&call, "notify")))).await;
    assert_eq!(texts(&stage).last().unwrap(), "shown");
}

/// An agent whose clerk asks a person, whom the client knows, and looks something up behind the gate.
pub(crate) fn with_clerk(stage: &Stage, gate: &Arc<Semaphore>) -> AgentBuilder {
    let person = Tools::new().with_external(ToolDefinition::new("person", "", json!({"type": "object"})));
    let gate = Arc::clone(gate);
    let look = tool_fn("look", "Looks", move || {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok::<_, ToolError>("seen")
        }
    });
    let clerk = Agent::builder(stage.clone()).tool_set(person).tool(look).build().unwrap();
    Agent::builder(stage.clone()).tool(clerk.as_tool("clerk", "Knows people"))
}

pub(crate) fn asks_inside(inside: Turn) -> Stage {
    let clerk = Turn::call("clerk", json!({"task": "Ask somebody"}));
    Stage::new([clerk, inside, Turn::text("They said yes."), Turn::text("Done.")])
}

// A56: a call that an agent inside made is answered through another node.
#[tokio::test(start_paused = true)]
async fn a_call_inside_an_agent_is_answered_at_another_node() {
    let (stage, gate) = (asks_inside(Turn::call("person", json!({}))), Arc::new(Semaphore::new(0)));
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let agent = with_clerk(&stage, &gate).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    let turn = json!({"message": "Go.", "sessionId": "chat"});
    let mut stream = one.post("/v1/chat/stream", turn).await.into_body();
    let told = until(&mut stream, "FRONTEND_TOOL_CALL").await;
    let call =
        told.split("FRONTEND_TOOL_CALL\",\"callId\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let answer = json!({"sessionId": "chat", "callId": call.unwrap(), "result": "yes"});
    let strange = other.named("bob").post("/v1/chat/tool-result", answer.clone()).await;
    assert_eq!(strange.status(), StatusCode::NOT_FOUND);
    let answered = other.post("/v1/chat/tool-result", answer).await;
    assert_eq!(answered.status(), StatusCode::OK, "{}", value(answered).await);
    let told = until(&mut stream, "[DONE]").await;
    assert!(told.contains("Done."), "{told}");
    assert!(stage.requests().iter().any(|request| format!("{:?}", request.messages).contains("yes")));
}

// A59: the answer of each dialect ends where a call inside an agent is the client's, and the next request answers it.
#[tokio::test(start_paused = true)]
async fn a_call_inside_an_agent_is_the_turn_of_the_client_in_each_dialect() {
    for path in DIALECTS {
        let stage = asks_inside(Turn::call("person", json!({})));
        let client = Client::new(server(with_clerk(&stage, &Arc::new(Semaphore::new(0)))));
        asked(&client, path, &body(path, None)).await;
        let call = waiting_call(&client, "person").await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        asked(&client, path, &body(path, Some((&call, "person")))).await;
        assert_eq!(texts(&stage), ["They said yes."], "{path}");
    }
}

// Nothing that an agent inside does beside it is broken off.
#[tokio::test(start_paused = true)]
async fn a_run_is_not_let_go_while_an_agent_inside_works() {
    let stage = asks_inside(Turn::call("person", json!({})).and_call("look", json!({})));
    let gate = Arc::new(Semaphore::new(0));
    let client = Client::new(server(with_clerk(&stage, &gate)));
    let asking = client.clone();
    let begun = tokio::spawn(async move { asked(&asking, "/v1/ui", &body("/v1/ui", None)).await });
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(!begun.is_finished(), "it looks something up");
    gate.add_permits(1);
    begun.await.unwrap();
    let call = waiting_call(&client, "person").await;
    asked(&client, "/v1/ui", &body("/v1/ui", Some((&call, "person")))).await;
    let requests = stage.requests();
    let inside = format!("{:?}", requests[2].messages);
    assert!(inside.contains("shown") && inside.contains("seen"), "{inside}");
}
