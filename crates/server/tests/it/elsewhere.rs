//! Two servers over one store: runs of the one, asked at the other.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, MemoryDocumentStore, MemorySessions, RunInput, SessionId, SessionStore as _, Sessions, Take,
    tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Approval, ChatRequest, Document, ErrorKind, Message, ToolError};
use attache_server::Server;
use attache_stores::SqliteStore;
use attache_testkit::Turn;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, sessions, text, trusting, until, value};

/// Two servers of the same agent.
fn nodes(stage: &Stage) -> [Client; 2] {
    let store = Arc::new(MemorySessions::new());
    [(), ()].map(|()| {
        let agent = Agent::builder(stage.clone()).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    })
}

fn tools() -> Value {
    json!([{
        "type": "function", "name": "weather", "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }])
}

fn texts(response: &Value) -> String {
    let items = response["output"].as_array().unwrap().iter();
    items.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_run_under_way_elsewhere_is_no_cancelled_one() {
    let stage = Stage::new([Turn::text("Berlin is the capital.")]).held();
    let [one, other] = nodes(&stage);
    let run = one.run("s", "What is the capital?").await;
    stage.asked().await;
    let told = other.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(told["outcome"], Value::Null, "{told}");
    assert_eq!((&told["snapshot"]["state"], &told["snapshot"]["end"]), (&json!("running"), &Value::Null));
    assert_eq!((&told["sessionId"], &told["model"]), (&json!("s"), &json!("papers")));
    let resumed = other.post(&format!("/v1/runs/{run}/resume"), json!({})).await;
    assert_eq!(resumed.status(), StatusCode::ACCEPTED, "whoever drives it goes on");
    stage.let_out(10);
    one.ended(&run).await;
    let told = other.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(told["outcome"]["reason"], "answer", "{told}");
}

// C30: a run that is gone from this process tells the documents of the model as one that is here does.
#[tokio::test(start_paused = true)]
async fn a_run_by_its_log_has_the_documents_that_the_model_made() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let [one, other] = nodes(&Stage::new([Turn::text("Here.").making(picture)]));
    let run = one.run("s", "Draw.").await;
    let here = one.ended(&run).await["snapshot"]["end"]["documents"].clone();
    assert_eq!(here[0]["mediaType"], "image/png", "{here}");
    let told = other.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(told["outcome"]["documents"], here, "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_seen_the_end_is_told_that_there_is_nothing() {
    let [one, other] = nodes(&Stage::new([Turn::text("Berlin.")]));
    let run = one.run("s", "What is the capital?").await;
    one.ended(&run).await;
    for client in [&one, &other] {
        let path = format!("/v1/runs/{run}/events");
        let told = text(client.get(&path).await).await;
        assert_eq!(data(&told)[0]["end"]["reason"], "answer", "{told}");
        let last = told.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
        let again = Request::builder().uri(&path).header("last-event-id", last);
        let again = client.send(again, Body::empty()).await;
        assert_eq!(again.status(), StatusCode::NO_CONTENT);
        // One that has not is told it.
        let (epoch, number) = last.rsplit_once('.').unwrap();
        let before = format!("{epoch}.{}", number.parse::<u64>().unwrap() - 1);
        let behind =
            client.send(Request::builder().uri(&path).header("last-event-id", before), Body::empty());
        assert_eq!(data(&text(behind.await).await).last().unwrap()["type"], "finished");
    }
}

// A36: each answer of a run that asks its client in between, under way at one node, is told as a stream by the other: its
// own pieces, and the end at which the client is asked, or the run has ended.
#[tokio::test(start_paused = true)]
async fn an_answer_of_a_run_elsewhere_is_streamed_from_its_beginning_to_its_end() {
    let stage = Stage::new([
        Turn::text("Let me see.").and_call("weather", json!({"city": "Berlin"})),
        Turn::text("And there.").and_call("weather", json!({"city": "Rome"})),
        Turn::text("Sunny in both."),
    ])
    .held();
    let [one, other] = nodes(&stage);
    let mut said = Vec::new();
    let mut asked = json!({"model": "papers", "input": "Where is sun?", "stream": true, "tools": tools()});
    for _ in 0..3 {
        let mut here = one.post("/v1/responses", asked.clone()).await.into_body();
        let begin = until(&mut here, "response.created").await;
        let id = data(&begin)[0]["response"]["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/responses/{id}");
        let there = other.get(&format!("{path}?stream=true")).await;
        assert_eq!(there.status(), StatusCode::OK, "{id}");
        let told = other.got(&path).await;
        assert_eq!(told["status"], "in_progress", "{told}");
        stage.let_out(20);
        let here = begin + &until(&mut here, "response.completed").await;
        let there = tokio::time::timeout(Duration::from_secs(60), text(there)).await.expect("it ends");
        let whole = |stream: &str| data(stream).pop().unwrap()["response"].clone();
        let (here, there, kept) = (whole(&here), whole(&there), other.got(&path).await);
        for told in [&there, &kept] {
            assert_eq!(told["status"], "completed", "{told}");
            assert_eq!((told["id"].as_str(), &told["output"]), (Some(&*id), &here["output"]));
        }
        said.push(texts(&there));
        let call = here["output"][1]["call_id"].clone();
        let output = json!([{"type": "function_call_output", "call_id": call, "output": "sun"}]);
        asked = json!({"model": "papers", "input": output, "previous_response_id": id, "stream": true, "tools": tools()});
        stage.drain();
    }
    assert_eq!(said, ["Let me see.", "And there.", "Sunny in both."]);
    let unknown = other.get("/v1/responses/resp_s.nothing~1?stream=true").await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND, "{}", value(unknown).await);
}

// C30: images have their content there, which the log of a database has not.
#[tokio::test]
async fn an_answer_of_a_run_elsewhere_is_streamed_with_its_images() {
    let picture = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
    let stage = Stage::new([Turn::text("Here.").making(picture)]).held();
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let documents = Arc::new(MemoryDocumentStore::new("pictures"));
    let [one, other] = [(), ()].map(|()| {
        let agent = Agent::builder(stage.clone()).store(documents.clone()).build().unwrap();
        let sessions = Sessions::new(agent, store.clone()).with_documents(documents.clone());
        Client::new(trusting(Server::new("papers", sessions)))
    });
    // An answer has its head with the first word.
    stage.let_out(1);
    let asked = json!({"model": "papers", "input": "Draw.", "stream": true});
    let mut here = one.post("/v1/responses", asked).await.into_body();
    let begin = until(&mut here, "response.created").await;
    let id = data(&begin)[0]["response"]["id"].as_str().unwrap().to_owned();
    let there = other.get(&format!("/v1/responses/{id}?stream=true")).await;
    stage.let_out(20);
    let here = begin + &until(&mut here, "response.completed").await;
    let there = tokio::time::timeout(Duration::from_secs(60), text(there)).await.expect("it ends");
    for told in [here, there] {
        let output = &data(&told).pop().unwrap()["response"]["output"];
        assert_eq!(output[1]["result"], "iVBORw0KGgo=", "{told}");
    }
}

// A38: the settings and tools of a request hold for its run, also where another process goes on with it.
#[tokio::test(start_paused = true)]
async fn a_run_that_goes_on_elsewhere_has_the_settings_of_its_request() {
    let stage = Stage::new([Turn::call("pay", json!({})), Turn::text("{}")]);
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let pay = attache_agent::tool_fn("pay", "Pays", || Ok("paid"))
            .with_approval(attache_core::Approval::Always);
        let agent = Agent::builder(stage.clone()).tool(pay).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    let asked = json!({
        "model": "papers", "input": "Pay", "instructions": "Be brief.", "tools": tools(), "temperature": 0.25, "top_p": 0.5,
        "max_output_tokens": 77, "parallel_tool_calls": false, "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "n", "strict": true, "schema": {"type": "object"}}},
    });
    let first = value(one.post("/v1/responses", asked).await).await;
    let open = other.got("/v1/approvals").await;
    let id = open["approvals"][0]["approval"]["approvalId"].as_str().unwrap();
    let decided = other.post(&format!("/v1/approvals/{id}"), json!({"decision": "approve"})).await;
    assert_eq!(decided.status(), StatusCode::OK);
    let told = other.ended(first["id"].as_str().unwrap().strip_prefix("resp_").unwrap()).await.to_string();
    assert!(!told.contains("options_differ"), "{told}");
    let [before, after] = &stage.requests()[..] else { panic!("two steps") };
    assert_eq!(before.settings.max_tokens, Some(77));
    assert_eq!(before.settings, after.settings);
    assert_eq!(before.tools.iter().count(), after.tools.iter().count());
    let instructions = |request: &ChatRequest| match &*request.messages[0] {
        Message::System(system) => system.parts.iter().map(|part| part.text().to_owned()).collect::<String>(),
        other => panic!("{other:?}"),
    };
    assert_eq!([instructions(before), instructions(after)], ["Be brief."; 2]);
}

// Whoever drives a run may have looked for decisions for the last time when one comes, and stops then.
#[tokio::test(start_paused = true)]
async fn a_decision_in_the_last_moment_of_a_drive_lets_the_run_go_on() {
    let stage = Stage::new([Turn::call("pay", json!({})), Turn::text("Paid.")]);
    let store = Arc::new(MemorySessions::new());
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let agent = Agent::builder(stage.clone()).tool(pay).build().unwrap();
    let node = Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))));
    let run = node.run("s", "Pay.").await;
    node.ended(&run).await;
    let open = node.got("/v1/approvals").await;
    let id = open["approvals"][0]["approval"]["approvalId"].as_str().unwrap();
    // Another process is still at it.
    let (session, now) = (SessionId::parse("s").unwrap(), 1 << 50);
    let until = now << 1;
    let take = Take { session: &session, principal: "ann", run: None, holder: "another", now, until };
    let fence = store.take(take).await.unwrap().fence;
    let decided = node.post(&format!("/v1/approvals/{id}"), json!({"decision": "approve"})).await;
    assert_eq!(decided.status(), StatusCode::OK);
    assert_eq!(stage.requests().len(), 1);
    store.release(&session, fence, None).await.unwrap();
    let answered = async {
        while node.got(&format!("/v1/runs/{run}")).await["snapshot"]["end"]["reason"] != "answer" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), answered).await.expect("it goes on");
}

// R31: the approval for which an agent inside a tool waits is known, and settled, at another node.
#[tokio::test(start_paused = true)]
async fn an_approval_inside_an_agent_is_known_elsewhere() {
    let stage = Stage::new([
        Turn::call("clerk", json!({"task": "Pay the bill"})),
        Turn::call("pay", json!({})),
        Turn::text("Paid."),
        Turn::text("Done."),
    ]);
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
        let clerk = Agent::builder(stage.clone()).tool(pay).build().unwrap();
        let agent = Agent::builder(stage.clone()).tool(clerk.as_tool("clerk", "Pays bills")).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    let run = one.run("s", "Pay the bill.").await;
    one.ended(&run).await;
    let open = one.got("/v1/approvals").await["approvals"].clone();
    assert_eq!(open.as_array().map(Vec::len), Some(1), "{open}");
    assert_eq!(other.got("/v1/approvals").await["approvals"], open);
    let there = other.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(there["outcome"]["reason"], "pending_approval", "{there}");
    assert_eq!(there["outcome"]["approvals"][0], open[0]["approval"]);
    assert_eq!(other.got("/v1/sessions/s").await["approvals"].as_array().map(Vec::len), Some(1));
    let id = open[0]["approval"]["approvalId"].as_str().unwrap();
    let decided = other.post(&format!("/v1/approvals/{id}"), json!({"decision": "approve"})).await;
    assert_eq!(decided.status(), StatusCode::OK);
    other.ended(&run).await;
    let told = one.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(told["outcome"]["reason"], "answer", "{told}");
    assert_eq!(one.got("/v1/approvals").await["approvals"], json!([]));
}

// An approval and a question of agents inside two calls that are under way at once name the call around them, wherever the
// run is told.
#[tokio::test(start_paused = true)]
async fn what_an_agent_inside_asks_names_the_call_around_it() {
    let stage = Stage::new([
        Turn::call("clerk", json!({"task": "Pay the bill"}))
            .and_call("archivist", json!({"task": "Find it"})),
        Turn::text("Done."),
    ]);
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
        let year = tool_fn("year", "Asks", || Ok::<_, ToolError>(Deferred::ask("Which year?")));
        let clerk = Agent::builder(Stage::new([Turn::call("pay", json!({}))])).tool(pay).build().unwrap();
        let archivist =
            Agent::builder(Stage::new([Turn::call("year", json!({}))])).tool(year).build().unwrap();
        let agent = Agent::builder(stage.clone())
            .tool(clerk.as_tool("clerk", "Pays bills"))
            .tool(archivist.as_tool("archivist", "Finds papers"))
            .build()
            .unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    let run = one.run("s", "Pay the bill of that year.").await;
    one.ended(&run).await;
    for node in [&one, &other] {
        // A run that waits has no end at the node that did not drive it.
        let mut events = node.get(&format!("/v1/runs/{run}/events")).await.into_body();
        let snapshot = data(&until(&mut events, "snapshot").await).swap_remove(0);
        let around = |name: &str| {
            let mut blocks = snapshot["blocks"].as_array().unwrap().iter();
            let call = blocks.find(|block| block["name"] == name).unwrap_or_else(|| panic!("{snapshot}"));
            assert_eq!(call["path"], Value::Null, "it is the run's own: {snapshot}");
            json!([{"name": name, "callId": call["callId"]}])
        };
        let whole = node.got(&format!("/v1/runs/{run}")).await;
        let whole = if whole["outcome"].is_null() { &whole["snapshot"] } else { &whole["outcome"] };
        let session = node.got("/v1/sessions/s").await;
        let told = [&snapshot, &snapshot["end"], whole, &session];
        for told in told.into_iter().filter(|told| !told.is_null()) {
            assert_eq!(told["approvals"][0]["name"], "pay", "{told}");
            assert_eq!(told["approvals"][0]["path"], around("clerk"), "{told}");
            assert_eq!(told["deferred"][0]["name"], "year", "{told}");
            assert_eq!(told["deferred"][0]["path"], around("archivist"), "{told}");
        }
        let open = node.got("/v1/approvals").await;
        assert_eq!(open["approvals"][0]["approval"]["path"], around("clerk"), "{open}");
    }
}

// A run whose process died, and that nobody takes over: its clients are told so, and can go on with it.
#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_goes_on_with_is_told_to_be_so_and_can_be_resumed() {
    let stage = Stage::new([Turn::text("Berlin.")]).held();
    let began = tokio::time::Instant::now();
    let agent = Agent::builder(stage.clone()).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()))
        .with_clock(move || SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30) + began.elapsed());
    // Nothing polls what a dead process has begun.
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let mut dead = session.run(RunInput::from("What is the capital?").with_run_id("s.dead"));
    tokio::select! {
        () = async { while dead.next().await.is_some() {} } => panic!("it ended"),
        () = stage.asked() => {}
    }
    let client = Client::new(trusting(Server::new("papers", sessions)));
    let path = "/v1/runs/s.dead/events";
    let mut looking = client.get(path).await.into_body();
    let first = data(&until(&mut looking, "snapshot").await).swap_remove(0);
    assert_eq!((&first["state"], &first["end"]), (&json!("running"), &Value::Null), "its lease holds");
    let told = data(&until(&mut looking, "interrupted").await).pop().unwrap();
    assert_eq!(told, json!({"type": "interrupted", "reason": "abandoned"}));
    // The lease lasts for 30 s, and other processes have some more.
    let after = began.elapsed().as_secs();
    assert!((40..60).contains(&after), "{after} s");
    assert!(looking.frame().await.is_none(), "nothing comes behind it");
    // Whoever comes later is told at once; so is whoever comes back behind the last event.
    let later = data(&until(&mut client.get(path).await.into_body(), "snapshot").await).swap_remove(0);
    assert_eq!((&later["state"], &later["end"]["reason"]), (&json!("interrupted"), &json!("abandoned")));
    let again = Request::builder().uri(path).header("last-event-id", "s.dead.log.1");
    let again = text(client.send(again, Body::empty()).await).await;
    assert_eq!(data(&again).last().unwrap()["reason"], "abandoned", "{again}");
    let resumed = client.post("/v1/runs/s.dead/resume", json!({})).await;
    assert_eq!(resumed.status(), StatusCode::ACCEPTED);
    stage.let_out(10);
    assert_eq!(client.ended("s.dead").await["snapshot"]["end"]["text"], "Berlin.");
    drop(dead);
}

// The report of each step is there after the run, at any node, and says what those who looked on were told.
#[tokio::test(start_paused = true)]
async fn the_routing_of_each_step_is_known_after_the_run() {
    let stage = Stage::new([
        Turn::call("page", json!({})),
        Turn::text("One more.").and_call("page", json!({})),
        Turn::text("Read."),
    ])
    .held();
    let store = Arc::new(MemorySessions::new());
    let [one, other] = [(), ()].map(|()| {
        let page = tool_fn("page", "A page", || Ok(Document::inline("The rent is 900.")));
        let agent = Agent::builder(stage.clone()).tool(page).build().unwrap();
        Client::new(trusting(Server::new("papers", Sessions::new(agent, store.clone()))))
    });
    let run = one.run("s", "Read both.").await;
    let events = one.get(&format!("/v1/runs/{run}/events")).await;
    stage.let_out(20);
    let events = data(&text(events).await);
    let report = |told: &Value| json!([told["step"], told["decisions"], told["tokens"]]);
    let seen: Vec<Value> = events.iter().filter(|event| event["type"] == "routing").map(report).collect();
    // The first request has no document, the second one has one, and the third one has both.
    assert_eq!(seen.iter().map(|told| told[1].as_array().unwrap().len()).collect::<Vec<_>>(), [1, 2]);
    let session = other.got("/v1/sessions/s").await;
    let replies = session["messages"].as_array().unwrap().iter();
    let replies: Vec<&Value> =
        replies.filter(|message| message["role"] == "assistant").map(|message| &message["id"]).collect();
    for node in [&one, &other] {
        let told = node.got(&format!("/v1/runs/{run}")).await;
        let routing = told["routing"].as_array().unwrap();
        assert_eq!(routing.iter().map(report).collect::<Vec<_>>(), seen, "{told}");
        assert_eq!(routing.iter().map(|step| &step["messageId"]).collect::<Vec<_>>(), replies[1..]);
    }
}

// A36: a page of Vercel's chat that comes back to another node is told the message from its beginning to its end.
#[tokio::test(start_paused = true)]
async fn a_page_that_comes_back_elsewhere_is_told_the_message() {
    let stage = Stage::new([Turn::text("One two three.")]).held();
    let [one, other] = nodes(&stage);
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Count."}]});
    let body = json!({"id": "chat", "messages": [user], "onDisconnect": "detach"});
    stage.let_out(1);
    drop(one.post("/v1/ui", body).await);
    let back = other.get("/v1/ui/chat/stream").await;
    assert_eq!(back.status(), StatusCode::OK);
    assert_eq!(other.named("bob").get("/v1/ui/chat/stream").await.status(), StatusCode::NO_CONTENT);
    stage.let_out(100);
    let events = data(&text(back).await);
    let said: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!((said.as_str(), &events[0]["type"]), ("One two three.", &json!("start")));
    assert_eq!(events.last().unwrap(), "[DONE]");
    assert_eq!(other.get("/v1/ui/chat/stream").await.status(), StatusCode::NO_CONTENT, "it has ended");
}

// Pages that come back to a run which failed at another node are told so at once, each in the words of its dialect.
#[tokio::test(start_paused = true)]
async fn a_page_that_comes_back_elsewhere_after_a_failure_waits_for_nothing() {
    let failing = || Turn::text("One").then_error(ErrorKind::Overloaded);
    let [one, other] = nodes(&Stage::new([failing(), failing()]));
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Count."}]});
    let failed = one.post("/v1/ui", json!({"id": "chat", "messages": [user]})).await;
    assert_eq!(failed.status(), StatusCode::SERVICE_UNAVAILABLE);
    let began = tokio::time::Instant::now();
    assert_eq!(other.get("/v1/ui/chat/stream").await.status(), StatusCode::NO_CONTENT);
    let user = json!({"id": "m1", "role": "user", "content": "Count."});
    let body = |messages: Value| json!({"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": [], "state": {}});
    let failed = value(one.post("/v1/ag-ui", body(json!([user]))).await).await["error"].clone();
    let back = text(other.post("/v1/ag-ui", body(json!([]))).await).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let error = data(&back).into_iter().find(|event| event["type"] == "RUN_ERROR").unwrap();
    assert_eq!((&error["code"], &error["message"]), (&failed["code"], &failed["message"]), "{back}");
}

// The process in which a run failed knows that for a while, and tells it no more once another one goes on with the run.
#[tokio::test(start_paused = true)]
async fn a_run_that_failed_here_and_goes_on_elsewhere_is_under_way() {
    let failing = Turn::text("One").then_error(ErrorKind::Overloaded);
    let [one, other] = nodes(&Stage::new([failing, Turn::text("Two").then_hang()]));
    let run = one.run("s", "Count.").await;
    let path = format!("/v1/runs/{run}");
    assert_eq!(one.ended(&run).await["snapshot"]["end"]["type"], "failed");
    let resumed = other.post(&format!("{path}/resume"), json!({})).await;
    assert_eq!(resumed.status(), StatusCode::ACCEPTED);
    for node in [&one, &other] {
        let told = node.got(&path).await;
        let snapshot = &told["snapshot"];
        assert_eq!((&snapshot["state"], &snapshot["end"]), (&json!("running"), &Value::Null), "{told}");
    }
}

// Runs of `attache chat`, of MCP and of programs with the same store, also of versions whose runs had ids of their own.
#[tokio::test]
async fn a_run_that_no_server_began_is_found_by_its_id() {
    let stage = Stage::new([Turn::text("Berlin."), Turn::call("pay", json!({}))]);
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let sessions = sessions(Agent::builder(stage).tool(pay));
    let client = Client::new(trusting(Server::new("papers", sessions.clone())));
    let session = sessions.open("ann", Some("s")).await.unwrap();
    session.run("What is the capital?").outcome().await.unwrap();
    let run = session.runs().await.unwrap().remove(0).id;
    let told = client.got(&format!("/v1/runs/{run}")).await;
    assert_eq!(told["outcome"]["reason"], "answer", "{told}");
    let old = "0b0f6f0e-6f6c-4a3e-9a34-3c1c62f2a6d1";
    session.run(RunInput::from("Pay.").with_run_id(old)).outcome().await.unwrap();
    let told = client.got(&format!("/v1/runs/{old}")).await;
    assert_eq!(told["outcome"]["reason"], "pending_approval", "{told}");
    let bob = client.named("bob").get(&format!("/v1/runs/{old}")).await;
    assert_eq!(bob.status(), StatusCode::NOT_FOUND);
}
