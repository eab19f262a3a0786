//! Pages that come back to a run which has gone on with an answer of its client, or with a decision.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Agent, HookContext, HookError, MemorySessions, Proposal, ReplyVerdict, RunHook, Sessions, Verdict,
    tool_fn,
};
use attache_core::citation::{How, Source};
use attache_core::{Approval, AssistantMessage, BoxFuture, Citation, FinishReason, ToolError};
use attache_server::{Server, ServerLimits};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::common::{Client, Stage, data, server, text, trusting, until};

fn tools() -> Value {
    json!([{"name": "notify", "description": "Shows a note", "parameters": {"type": "object"}}])
}

fn user() -> Value {
    json!({"id": "m1", "role": "user", "content": "Go.", "parts": [{"type": "text", "text": "Go."}]})
}

/// The body that a page of Vercel's chat sends, with these parts of the message that answers.
fn ui(parts: Option<Value>) -> Value {
    let mut messages = vec![user()];
    messages.extend(parts.map(|parts| json!({"id": "m2", "role": "assistant", "parts": parts})));
    json!({"id": "chat", "messages": messages, "tools": tools(), "onDisconnect": "detach"})
}

fn ag_ui(run: &str, messages: &Value) -> Value {
    json!({"threadId": "chat", "runId": run, "messages": messages, "tools": tools(), "context": [],
        "forwardedProps": {"onDisconnect": "detach"}})
}

/// The result of the call, as a page of Vercel's chat sends it.
fn shown(call: &Value) -> Value {
    json!([{"type": "tool-notify", "toolCallId": call, "state": "output-available", "input": {}, "output": {"shown": true}}])
}

fn find<'e>(events: &'e [Value], kind: &str, name: &str) -> &'e Value {
    let is_it = |event: &&Value| event["type"] == kind && event["toolName"] == name;
    events.iter().find(is_it).unwrap_or_else(|| panic!("{kind} {name}: {events:?}"))
}

fn deltas(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

/// The places at which events of that kind stand.
fn places(events: &[Value], kind: &str) -> Vec<usize> {
    events.iter().enumerate().filter(|(_, event)| event["type"] == kind).map(|(at, _)| at).collect()
}

async fn told(client: &Client, path: &str, body: Value) -> Vec<Value> {
    let response = client.post(path, body).await;
    let status = response.status();
    let told = text(response).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    data(&told)
}

/// The run of the chat so far.
async fn so_far(client: &Client) -> Value {
    let session = client.got("/v1/sessions/chat").await;
    let run = session["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
    client.got(&format!("/v1/runs/{run}")).await["snapshot"].clone()
}

fn halves() -> [Turn; 2] {
    [Turn::text("Before.").and_call("notify", json!({"text": "x"})), Turn::text("After it.")]
}

// A36: a page that answered a call, and reloads while the model speaks, is told the message from its beginning; so is
// whoever asks for the run.
#[tokio::test]
async fn a_page_that_comes_back_behind_its_answer_is_told_what_came_before_it() {
    let stage = Stage::new(halves()).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    stage.let_out(20);
    let first = told(&client, "/v1/ui", ui(None)).await;
    let call = find(&first, "tool-input-available", "notify")["toolCallId"].clone();
    stage.drain();
    drop(client.post("/v1/ui", ui(Some(shown(&call)))).await);
    let back = client.get("/v1/ui/chat/stream").await;
    assert_eq!(back.status(), StatusCode::OK);
    let run = so_far(&client).await;
    assert_eq!((&run["state"], &run["blocks"][0]["text"]), (&json!("running"), &json!("Before.")), "{run}");
    assert_eq!((&run["blocks"][1]["name"], &run["blocks"][1]["callId"]), (&json!("notify"), &call), "{run}");
    stage.let_out(100);
    let events = data(&text(back).await);
    assert_eq!(deltas(&events), "Before.After it.", "{events:?}");
    // It is a tool of the page's own, and the page has lost what it said.
    let input = find(&events, "tool-input-available", "notify");
    assert_eq!((&input["dynamic"], &input["providerExecuted"]), (&Value::Null, &Value::Null), "{events:?}");
    let [output] = places(&events, "tool-output-available")[..] else { panic!("{events:?}") };
    let output = &events[output];
    assert_eq!((&output["toolCallId"], &output["output"]), (&call, &json!({"shown": true})));
    assert_eq!((&output["dynamic"], &output["providerExecuted"]), (&Value::Null, &Value::Null), "{output}");
    assert_eq!(events[events.len() - 2]["finishReason"], "stop");
}

// A36: a call that was denied is told before that is: pages know no denial of a call that they have not.
#[tokio::test]
async fn a_page_that_comes_back_behind_its_decision_is_told_the_call() {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let stage =
        Stage::new([Turn::text("Before.").and_call("pay", json!({})), Turn::text("After it.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone()).tool(pay)));
    stage.let_out(20);
    let first = told(&client, "/v1/ui", ui(None)).await;
    let asked = &first[places(&first, "tool-approval-request")[0]];
    let part = json!([{"type": "dynamic-tool", "toolName": "pay", "toolCallId": asked["toolCallId"], "state": "approval-responded",
        "input": {}, "approval": {"id": asked["approvalId"], "approved": false}}]);
    stage.drain();
    drop(client.post("/v1/ui", ui(Some(part))).await);
    stage.asked().await;
    let back = client.get("/v1/ui/chat/stream").await;
    stage.let_out(100);
    let events = data(&text(back).await);
    assert_eq!(deltas(&events), "Before.After it.", "{events:?}");
    let input = places(&events, "tool-input-available");
    let denied = places(&events, "tool-output-denied");
    assert!(input.len() == 1 && denied.len() == 1 && input[0] < denied[0], "{events:?}");
}

// A36, A43
#[tokio::test]
async fn ag_ui_tells_a_page_that_comes_back_behind_its_answer_what_came_before_it() {
    let stage = Stage::new(halves()).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    stage.let_out(20);
    let first = told(&client, "/v1/ag-ui", ag_ui("r1", &json!([user()]))).await;
    let call = first[places(&first, "TOOL_CALL_START")[0]]["toolCallId"].clone();
    let answered = json!([
        user(),
        {"id": "m2", "role": "assistant", "content": "Before.", "toolCalls": [{"id": call, "type": "function", "function": {"name": "notify", "arguments": "{}"}}]},
        {"id": "m3", "role": "tool", "toolCallId": call, "content": "seen"},
    ]);
    stage.drain();
    drop(client.post("/v1/ag-ui", ag_ui("r2", &answered)).await);
    let back = client.post("/v1/ag-ui", ag_ui("r3", &json!([]))).await;
    stage.let_out(100);
    let events = data(&text(back).await);
    let said: String = events
        .iter()
        .filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT")
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(said, "Before.After it.", "{events:?}");
    let begun = &events[places(&events, "TOOL_CALL_START")[0]];
    assert_eq!((&begun["toolCallId"], &begun["toolCallName"]), (&call, &json!("notify")), "{events:?}");
    let result = &events[places(&events, "TOOL_CALL_RESULT")[0]];
    assert_eq!((&result["toolCallId"], &result["content"]), (&call, &json!("seen")), "{events:?}");
}

// The client that answers is told what comes behind its answer, and no more, also where it reads slowly.
#[tokio::test(start_paused = true)]
async fn a_client_that_answers_and_falls_behind_is_told_what_comes_behind_its_answer() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 8;
    let whole: String = (0..500).map(|at| format!("{at:07} ")).collect();
    let stage = Stage::new([
        Turn::text("Before.").and_call("notify", json!({"text": "x"})),
        Turn::text(whole.as_str()),
    ]);
    let client = Client::new(server(Agent::builder(stage)).limits(limits));
    let function = json!([{"type": "function", "function": tools()[0]}]);
    let ask = |messages: Value| json!({"model": "papers", "stream": true, "messages": messages, "tools": function, "attache": {"session": "chat"}});
    let question = json!({"role": "user", "content": "Go."});
    let first = told(&client, "/v1/chat/completions", ask(json!([question]))).await;
    let mut ids = first.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0]["id"]);
    let id = ids.find(|id| id.is_string()).unwrap();
    let call = json!({"id": id, "type": "function", "function": {"name": "notify", "arguments": "{}"}});
    let messages = json!([
        question,
        {"role": "assistant", "content": "Before.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": "seen"},
    ]);
    let second = client.post("/v1/chat/completions", ask(messages)).await;
    // The run is at its end before the client reads.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let chunks = data(&text(second).await);
    let said: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said.trim_end(), whole.trim_end());
    let calls = chunks.iter().filter(|chunk| !chunk["choices"][0]["delta"]["tool_calls"].is_null()).count();
    assert_eq!(calls, 0, "{chunks:?}");
}

/// Two servers of an agent whose tool waits at the gate.
fn nodes(stage: &Stage, gate: &Arc<Semaphore>) -> [Client; 2] {
    let store = Arc::new(MemorySessions::new());
    [(), ()].map(|()| {
        let gate = Arc::clone(gate);
        let look = tool_fn("look", "Looks", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok::<_, ToolError>("seen")
            }
        });
        let agent = Agent::builder(stage.clone()).tool(look).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    })
}

fn three() -> [Turn; 3] {
    [
        Turn::text("Before.").and_call("look", json!({})),
        Turn::text("Then.").and_call("notify", json!({"text": "x"})),
        Turn::text("After it."),
    ]
}

/// Waits until the run of the chat waits for its client.
async fn paused(client: &Client) -> Value {
    loop {
        let run = so_far(client).await;
        if !run["end"].is_null() {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

// A page that came back at another node, where the run goes on with the answer, is told all of the message.
#[tokio::test(start_paused = true)]
async fn a_page_whose_run_moves_to_its_node_is_told_all_of_the_message() {
    let (stage, gate) = (Stage::new(three()).held(), Arc::new(Semaphore::new(0)));
    let [one, other] = nodes(&stage, &gate);
    stage.let_out(100);
    drop(one.post("/v1/ui", ui(None)).await);
    let mut back = other.get("/v1/ui/chat/stream").await;
    let begun = until(back.body_mut(), "Before.").await;
    gate.add_permits(1);
    let run = paused(&one).await;
    let call = run["blocks"].as_array().unwrap().iter().find(|block| block["name"] == "notify").unwrap();
    stage.drain();
    drop(other.post("/v1/ui", ui(Some(shown(&call["callId"])))).await);
    let rest = tokio::spawn(text(back));
    tokio::time::sleep(Duration::from_secs(2)).await;
    stage.let_out(100);
    let events = data(&(begun + &rest.await.unwrap()));
    assert_eq!(deltas(&events), "Before.Then.After it.", "{events:?}");
    assert_eq!(places(&events, "tool-input-available").len(), 2, "{events:?}");
}

// A page that comes back at another node is told that it is its turn.
#[tokio::test(start_paused = true)]
async fn a_page_that_comes_back_elsewhere_is_told_that_it_is_its_turn() {
    for path in ["/v1/ui", "/v1/ag-ui"] {
        let (stage, gate) = (Stage::new(three()), Arc::new(Semaphore::new(0)));
        let [one, other] = nodes(&stage, &gate);
        let body = |messages: Value| if path == "/v1/ui" { ui(None) } else { ag_ui("r", &messages) };
        drop(one.post(path, body(json!([user()]))).await);
        let back = match path {
            "/v1/ui" => other.get("/v1/ui/chat/stream").await,
            _ => other.post(path, body(json!([]))).await,
        };
        assert_eq!(back.status(), StatusCode::OK);
        gate.add_permits(1);
        let back = tokio::time::timeout(Duration::from_secs(60), text(back)).await.expect("it ends");
        let events = data(&back);
        assert!(back.contains("Before.") && back.contains("Then."), "{back}");
        if path == "/v1/ui" {
            let call = find(&events, "tool-input-available", "notify");
            assert_eq!(call["dynamic"], Value::Null, "it is the page's own: {back}");
            assert_eq!(events[events.len() - 2]["finishReason"], "tool-calls", "{back}");
        } else {
            assert!(back.contains("notify"), "{back}");
            assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED", "{back}");
        }
    }
}

// So is one whose run waits for a decision.
#[tokio::test(start_paused = true)]
async fn a_page_that_comes_back_elsewhere_is_asked_for_the_approval() {
    let gate = Arc::new(Semaphore::new(0));
    let stage = Stage::new([Turn::call("look", json!({})), Turn::call("pay", json!({}))]);
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let gate = Arc::clone(&gate);
        let look = tool_fn("look", "Looks", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Ok::<_, ToolError>("seen")
            }
        });
        let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
        let agent = Agent::builder(stage.clone()).tool(look).tool(pay).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    drop(one.post("/v1/ui", ui(None)).await);
    let page = other.get("/v1/ui/chat/stream").await;
    let thread = other.post("/v1/ag-ui", ag_ui("r", &json!([]))).await;
    gate.add_permits(1);
    let page = tokio::time::timeout(Duration::from_secs(60), text(page)).await.expect("it ends");
    let page = data(&page);
    assert_eq!(places(&page, "tool-approval-request").len(), 1, "{page:?}");
    assert_eq!(page[page.len() - 2]["finishReason"], "tool-calls", "{page:?}");
    let thread = tokio::time::timeout(Duration::from_secs(60), text(thread)).await.expect("it ends");
    let thread = data(&thread);
    assert_eq!(thread.last().unwrap()["outcome"]["type"], "interrupt", "{thread:?}");
}

/// A hook that has nothing to say.
struct Silent;

impl RunHook for Silent {}

// So is one of an agent that looks at calls first: by a policy, or by a hook.
#[tokio::test(start_paused = true)]
async fn a_page_that_comes_back_elsewhere_is_told_a_call_that_was_looked_at() {
    for looks in ["policy", "hook"] {
        let gate = Arc::new(Semaphore::new(0));
        let turns =
            [Turn::call("look", json!({})), Turn::call("notify", json!({"text": "x"})), Turn::text("Done.")];
        let (stage, store) = (Stage::new(turns), Arc::new(MemorySessions::new()));
        let [one, other] = [(), ()].map(|()| {
            let gate = Arc::clone(&gate);
            let look = tool_fn("look", "Looks", move || {
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await.unwrap().forget();
                    Ok::<_, ToolError>("seen")
                }
            });
            let agent = Agent::builder(stage.clone()).tool(look);
            let agent = match looks {
                "policy" => agent.approval_policy(|_: &Proposal<'_>| Verdict::Run),
                _ => agent.hook(Silent),
            };
            let sessions = Sessions::new(agent.build().unwrap(), store.clone());
            Client::new(trusting(Server::new("papers", sessions)))
        });
        drop(one.post("/v1/ui", ui(None)).await);
        let back = other.get("/v1/ui/chat/stream").await;
        gate.add_permits(1);
        let back = tokio::time::timeout(Duration::from_secs(60), text(back)).await.expect("it ends");
        let events = data(&back);
        assert_eq!(events[events.len() - 2]["finishReason"], "tool-calls", "{looks}: {back}");
        let call = find(&events, "tool-input-available", "notify")["toolCallId"].clone();
        // It is answered there, and the run goes on.
        let events = self::told(&other, "/v1/ui", ui(Some(shown(&call)))).await;
        assert_eq!(deltas(&events), "Done.", "{looks}: {events:?}");
    }
}

/// Has each reply made again that says "no".
struct Again;

impl RunHook for Again {
    fn after_model<'a>(
        &'a self,
        reply: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        let verdict = match &*reply.text() {
            "no" => ReplyVerdict::Retry("Once more.".to_owned()),
            _ => ReplyVerdict::Keep,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

// Calls that nobody will run hold up no run that waits for its client.
#[tokio::test(start_paused = true)]
async fn a_run_waits_for_its_client_behind_calls_that_were_cut_or_do_not_count() {
    let calls = |turn: Turn| turn.and_call("notify", json!({"text": "x"}));
    for void in [calls(Turn::text("cut")).finishing(FinishReason::Length), calls(Turn::text("no"))] {
        let stage = Stage::new([void, calls(Turn::text("yes"))]);
        let client = Client::new(server(Agent::builder(stage).hook(Again)));
        let ends = tokio::time::timeout(Duration::from_secs(60), told(&client, "/v1/ui", ui(None)));
        let events = ends.await.expect("it is the turn of the client");
        assert_eq!(events[events.len() - 2]["finishReason"], "tool-calls", "{events:?}");
        let run = so_far(&client).await;
        let calls = run["blocks"].as_array().unwrap().iter().filter(|block| block["type"] == "call");
        let states: Vec<_> = calls.map(|block| block["state"].clone()).collect();
        assert_eq!(states, ["frontend"], "{run}");
    }
}

// Places in an answer are those of its reply, so the run so far has the citations of its last one.
#[tokio::test(start_paused = true)]
async fn a_run_so_far_has_the_citations_of_its_last_reply() {
    let page = |url: &str| Citation::new(Source::Url { url: url.to_owned(), title: None }, How::Native);
    let stage = Stage::new([
        Turn::text("One.").citing(page("https://example.org/one")).and_call("look", json!({})),
        Turn::text("Two.").citing(page("https://example.org/two")).and_call("notify", json!({"text": "x"})),
    ]);
    let look = tool_fn("look", "Looks", || Ok("seen"));
    let client = Client::new(server(Agent::builder(stage).tool(look).citations(true)));
    drop(told(&client, "/v1/ui", ui(None)).await);
    let run = so_far(&client).await;
    let cited = run["citations"].as_array().unwrap();
    assert_eq!(cited.len(), 1, "{run}");
    assert!(cited[0].to_string().contains("/two"), "{run}");
}
