//! The typed stream, and frontend tools.

use std::time::Duration;

use attache_agent::{Agent, tool_fn};
use attache_core::ToolError;
use attache_core::tool::Deferred;
use attache_server::ServerLimits;
use attache_testkit::Turn;
use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, named, server, text, until, value};

fn turn(message: &str) -> Value {
    json!({
        "message": message,
        "sessionId": "s",
        "frontend_tools": [{
            "name": "notify",
            "description": "Shows a note",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
        }],
    })
}

fn results(stage: &Stage) -> Vec<String> {
    let requests = stage.requests();
    let last = requests.last().unwrap();
    let results = last.messages.iter().filter_map(|message| match &**message {
        attache_core::Message::ToolResults(message) => Some(&message.results),
        _ => None,
    });
    results
        .flatten()
        .map(|result| {
            format!("{}{}", if result.is_error() { "failed: " } else { "" }, result.tree.model_text())
        })
        .collect()
}

async fn answer(client: &Client, call: &str, result: Value, is_error: bool) -> StatusCode {
    let body = json!({"sessionId": "s", "callId": call, "result": result, "isError": is_error});
    client.post("/v1/chat/tool-result", body).await.status()
}

fn frontend_calls(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: [Frontend Tool Call] "));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

// A36, A65
#[tokio::test]
async fn what_happens_is_told_in_order_by_type() {
    let add = tool_fn("add", "Adds", || Ok(3));
    let stage = Stage::new([
        Turn::text("I add.").and_thinking("1 + 2").and_call("add", json!({})),
        Turn::text("Three."),
    ]);
    let client = Client::new(server(Agent::builder(stage).tool(add)).thinking(true));
    let told =
        text(client.post("/v1/chat/stream", json!({"message": "1 + 2?", "sessionId": "s"})).await).await;
    insta::assert_snapshot!("typed", named(&told));
}

// A76
#[tokio::test]
async fn without_details_an_observation_is_success_or_failure() {
    let add = tool_fn("add", "Adds", || Ok("canary"));
    let stage = Stage::new([Turn::call("add", json!({"key": "canary"})), Turn::text("Three.")]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(add)).tool_details(false));
    let told = text(client.post("/v1/chat/stream", json!({"message": "?", "sessionId": "s"})).await).await;
    assert!(!told.contains("canary"), "{told}");
    assert!(told.contains(r#""type":"OBSERVATION","content":"success""#), "{told}");
    assert_eq!(results(&stage), ["canary"], "the model reads it all the same");
    for path in
        ["/v1/sessions/s".to_owned(), format!("/v1/runs/{}", data(&told)[0]["taskId"].as_str().unwrap())]
    {
        let shown = text(client.get(&path).await).await;
        assert!(!shown.contains("canary"), "{path}: {shown}");
    }
}

// A54, A55, A56
#[tokio::test(start_paused = true)]
async fn a_frontend_tool_is_called_and_answered_once() {
    let stage =
        Stage::new([Turn::call("notify", json!({"text": "hi"})), Turn::text("Done."), Turn::text("Again.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut body = client.post("/v1/chat/stream", turn("Notify me.")).await.into_body();
    let told = until(&mut body, "[Frontend Tool Call]").await;
    let call = frontend_calls(&told).remove(0);
    assert_eq!(call["type"], "FRONTEND_TOOL_CALL");
    assert_eq!(call["toolCall"]["name"], "notify");
    assert_eq!(call["toolCall"]["arguments"], json!({"text": "hi"}));
    let id = call["callId"].as_str().unwrap();
    // Neither another principal, nor another session, nor another call.
    assert_eq!(answer(&client.named("bob"), id, json!("x"), false).await, StatusCode::NOT_FOUND);
    assert_eq!(answer(&client, "call_other", json!("x"), false).await, StatusCode::NOT_FOUND);
    let elsewhere = json!({"sessionId": "t", "callId": id, "result": "x"});
    assert_eq!(client.post("/v1/chat/tool-result", elsewhere).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(answer(&client, id, json!({"shown": true}), false).await, StatusCode::OK);
    let rest = until(&mut body, "[DONE]").await;
    assert!(rest.contains("Done."), "{rest}");
    assert_eq!(results(&stage), [r#"{"shown":true}"#]);
    assert_eq!(answer(&client, id, json!("late"), false).await, StatusCode::CONFLICT);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(
        answer(&client, id, json!("later"), false).await,
        StatusCode::CONFLICT,
        "its log alone tells of it"
    );
    // The tools were those of that request alone.
    text(client.post("/v1/chat/stream", json!({"message": "And now?", "sessionId": "s"})).await).await;
    assert_eq!(stage.requests().last().unwrap().tools.len(), 0);
}

// A57
#[tokio::test(start_paused = true)]
async fn a_frontend_call_that_nobody_answers_times_out_after_30_seconds() {
    let stage = Stage::new([Turn::call("notify", json!({})), Turn::text("Nobody was there.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let began = tokio::time::Instant::now();
    let told = text(client.post("/v1/chat/stream", turn("Notify me.")).await).await;
    assert!((30..32).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert!(told.contains("Nobody was there."), "{told}");
    // Its page may have run it all the same.
    let words = "failed: Nobody answered the call in time; it is not known whether it was run.";
    assert_eq!(results(&stage), [words]);
    let session = client.got("/v1/sessions/s").await.to_string();
    assert!(session.contains(r#""disposition":"timed_out""#), "{session}");
    let call = frontend_calls(&told).remove(0);
    assert_eq!(
        answer(&client, call["callId"].as_str().unwrap(), json!("late"), false).await,
        StatusCode::CONFLICT
    );
}

// A58, A59
#[tokio::test(start_paused = true)]
async fn parallel_frontend_calls_are_answered_in_any_order_and_may_fail() {
    let calls = Turn::call("notify", json!({"text": "a"})).and_call("notify", json!({"text": "b"}));
    let stage = Stage::new([calls, Turn::text("Done.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut body = client.post("/v1/chat/stream", turn("Notify me.")).await.into_body();
    let mut told = String::new();
    while frontend_calls(&told).len() < 2 {
        told += &until(&mut body, "[Frontend Tool Call]").await;
    }
    let calls = frontend_calls(&told);
    let id = |at: usize| calls[at]["callId"].as_str().unwrap();
    assert_eq!(answer(&client, id(1), json!("the second"), false).await, StatusCode::OK);
    assert_eq!(answer(&client, id(0), json!("it is blocked"), true).await, StatusCode::OK);
    until(&mut body, "[DONE]").await;
    assert_eq!(results(&stage), ["failed: it is blocked", "the second"]);
}

// A58
#[tokio::test(start_paused = true)]
async fn a_frontend_tool_returns_files_that_the_model_is_shown() {
    let calls = Turn::call("notify", json!({"text": "a"})).and_call("notify", json!({"text": "b"}));
    let stage = Stage::new([calls, Turn::text("Done.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut body = client.post("/v1/chat/stream", turn("Show me.")).await.into_body();
    let mut told = String::new();
    while frontend_calls(&told).len() < 2 {
        told += &until(&mut body, "[Frontend Tool Call]").await;
    }
    let calls = frontend_calls(&told);
    let id = |at: usize| calls[at]["callId"].as_str().unwrap();
    // `printf 'the minutes' | base64`, and the same with a reference that nobody may make up.
    let minutes = "data:text/plain;base64,dGhlIG1pbnV0ZXM=";
    let inside = json!({"shown": [{"file": minutes}], "note": "data:text/plain,hi", "attache.document": "stored", "documentId": "x"});
    assert_eq!(answer(&client, id(0), json!(minutes), false).await, StatusCode::OK);
    assert_eq!(answer(&client, id(1), inside, false).await, StatusCode::OK);
    until(&mut body, "[DONE]").await;
    let requests = stage.requests();
    let results = requests.last().unwrap().messages.iter().filter_map(|message| match &**message {
        attache_core::Message::ToolResults(message) => Some(&message.results),
        _ => None,
    });
    let results: Vec<_> = results.flatten().collect();
    assert_eq!(results.len(), 2);
    for result in results {
        let documents = result.tree.documents();
        assert_eq!(documents.len(), 1, "{:?}", result.tree);
        assert_eq!(documents[0].media_type().essence(), "text/plain");
        assert_eq!(documents[0].bytes().unwrap(), "the minutes");
        assert!(!result.tree.model_text().contains("dGhlIG1pbnV0ZXM"), "{}", result.tree.model_text());
    }
}

// A56: a process that died in between, or another one, takes the answer all the same.
#[tokio::test(start_paused = true)]
async fn an_answer_that_finds_no_run_under_way_goes_on_with_it() {
    let stage = Stage::new([Turn::call("notify", json!({})), Turn::text("Done.")]);
    let sessions = crate::common::sessions(Agent::builder(stage.clone()));
    let first = Client::new(crate::common::trusting(attache_server::Server::new("papers", sessions.clone())));
    let mut body = first.post("/v1/chat/stream", turn("Notify me.")).await.into_body();
    let told = until(&mut body, "[Frontend Tool Call]").await;
    let call = frontend_calls(&told).remove(0);
    let run = data(&told)[0]["taskId"].as_str().unwrap().to_owned();
    let second = Client::new(crate::common::trusting(attache_server::Server::new("papers", sessions)));
    let answered = answer(&second, call["callId"].as_str().unwrap(), json!("shown"), false).await;
    assert_eq!(answered, StatusCode::OK);
    // The first process drives the run, and hears of it.
    let rest = until(&mut body, "[DONE]").await;
    assert!(rest.contains("Done."), "{rest}");
    let told = second.ended(&run).await;
    // It went on with the run meanwhile, or looks into its log.
    let end = if told["outcome"].is_null() { &told["snapshot"]["end"] } else { &told["outcome"] };
    assert_eq!(end["text"], "Done.", "{told}");
}

// A66
#[tokio::test(start_paused = true)]
async fn a_task_is_aborted_by_its_owner_and_again_without_effect() {
    let stage = Stage::new([Turn::text("A long answer.").then_hang()]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut body =
        client.post("/v1/chat/stream", json!({"message": "?", "sessionId": "s"})).await.into_body();
    let told = until(&mut body, "CONTENT").await;
    let path = format!("/v1/chat/stream/{}", data(&told)[0]["taskId"].as_str().unwrap());
    let strange = client.named("bob").ask(Method::DELETE, &path, None).await;
    assert_eq!(strange.status(), StatusCode::NOT_FOUND);
    let aborted = client.ask(Method::DELETE, &path, None).await;
    assert_eq!(value(aborted).await["cancelled"], true);
    let rest = until(&mut body, "[DONE]").await;
    assert!(rest.contains(r#""code":"cancelled""#), "{rest}");
    stage.hangs_up().await;
    let again = client.ask(Method::DELETE, &path, None).await;
    assert_eq!(value(again).await["cancelled"], false);
    let unknown = client.ask(Method::DELETE, "/v1/chat/stream/nothing", None).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
}

// A56, C38: whoever goes on with a run offers the tools of the page again, which no agent has.
#[tokio::test]
async fn a_run_that_goes_on_has_the_tools_of_its_page() {
    let stage =
        Stage::new([Turn::call("pay", json!({})), Turn::call("page", json!({})), Turn::text("Done.")]);
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(attache_core::Approval::Always);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(pay)));
    let tools = json!([{"name": "page", "description": "Opens", "parameters": {"type": "object"}}]);
    let body = json!({"message": "Pay", "frontendTools": tools});
    let run =
        value(client.post("/v1/sessions/s/runs", body).await).await["runId"].as_str().unwrap().to_owned();
    client.ended(&run).await;
    let open = client.got("/v1/approvals").await;
    let id = open["approvals"][0]["approval"]["approvalId"].as_str().unwrap();
    client.post(&format!("/v1/approvals/{id}"), json!({"decision": "approve"})).await;
    let waits = async {
        loop {
            let told = client.got(&format!("/v1/runs/{run}")).await;
            let blocks = told["snapshot"]["blocks"].as_array().cloned().unwrap_or_default();
            if let Some(call) =
                blocks.iter().find(|block| block["name"] == "page" && block["state"] == "frontend")
            {
                return call["callId"].as_str().unwrap().to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    let call =
        tokio::time::timeout(std::time::Duration::from_secs(20), waits).await.expect("nobody asks the page");
    let answer = json!({"sessionId": "s", "callId": call, "result": "opened"});
    assert_eq!(client.post("/v1/chat/tool-result", answer).await.status(), http::StatusCode::OK);
    let told = client.ended(&run).await.to_string();
    assert!(told.contains("Done.") && !told.contains("options_differ"), "{told}");
    assert_eq!(stage.requests()[1].tools.len(), stage.requests()[0].tools.len());
}

// A54: what a page answers is bounded as it was, and files in it by the requests alone.
#[tokio::test]
async fn an_answer_of_a_page_is_small_beside_its_files() {
    let stage = Stage::new([Turn::call("notify", json!({})), Turn::text("Done.")]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut body = client.post("/v1/chat/stream", turn("Notify me.")).await.into_body();
    let told = until(&mut body, "[Frontend Tool Call]").await;
    let id = frontend_calls(&told)[0]["callId"].as_str().unwrap().to_owned();
    let long = "x".repeat((1 << 20) + 1);
    let keys: serde_json::Map<String, Value> =
        (0..40_000).map(|at| (format!("a long key of {at:08}"), json!(at))).collect();
    let zeros = vec![0; 600_000];
    for large in [
        json!(long),
        json!({"a": [long]}),
        json!(keys),
        json!(zeros),
        json!(format!("data:image/png;base64,{long}%")),
    ] {
        assert_eq!(answer(&client, &id, large, false).await, StatusCode::PAYLOAD_TOO_LARGE);
    }
    let file = format!("data:image/png;base64,iVBORw0KGgo{}", "A".repeat((2 << 20) + 1));
    let answered = answer(&client, &id, json!({"file": file, "name": "a chart"}), false).await;
    assert_eq!(answered, StatusCode::OK);
    let rest = until(&mut body, "[DONE]").await;
    assert!(rest.contains("Done."), "{rest}");
    let results = results(&stage);
    assert!(results[0].len() < 1_000 && results[0].contains("a chart"), "{results:?}");
}

// A56: a question is answered while another call of the same reply is still at work, at the node that drives the run and
// at any other.
#[tokio::test]
async fn a_question_is_answered_while_another_tool_works() {
    for elsewhere in [false, true] {
        let work = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
        let done = std::sync::Arc::clone(&work);
        let slow = tool_fn("slow", "Takes its time", move || {
            let done = std::sync::Arc::clone(&done);
            async move {
                done.acquire().await.unwrap().forget();
                Ok::<_, ToolError>("worked")
            }
        });
        let ask = tool_fn("ask", "Asks", || async { Ok::<_, ToolError>(Deferred::ask("Which year?")) });
        let calls = Turn::call("ask", json!({})).and_call("slow", json!({}));
        let stage = Stage::new([calls, Turn::text("2026 it is.")]);
        let sessions = crate::common::sessions(Agent::builder(stage.clone()).tool(ask).tool(slow));
        let nodes = [sessions.clone(), sessions].map(|sessions| {
            Client::new(crate::common::trusting(attache_server::Server::new("papers", sessions)))
        });
        let [here, there] = &nodes;
        let run = here.run("s", "How much?").await;
        let question = async {
            loop {
                let told = here.got(&format!("/v1/runs/{run}")).await;
                let blocks = told["snapshot"]["blocks"].as_array().cloned().unwrap_or_default();
                let states: Vec<_> = blocks.iter().map(|block| block["state"].as_str().unwrap()).collect();
                if states == ["deferred", "running"] {
                    return blocks[0]["callId"].as_str().unwrap().to_owned();
                }
                tokio::task::yield_now().await;
            }
        };
        let call = tokio::time::timeout(Duration::from_secs(20), question).await.expect("nothing is asked");
        let by = if elsewhere { there } else { here };
        assert_eq!(answer(by, &call, json!("2026"), false).await, StatusCode::OK, "elsewhere: {elsewhere}");
        assert_eq!(answer(by, &call, json!("2025"), false).await, StatusCode::CONFLICT);
        work.add_permits(1);
        assert_eq!(here.ended(&run).await["snapshot"]["end"]["text"], "2026 it is.");
        assert_eq!(results(&stage), ["2026", "worked"]);
    }
}

type Posted = std::pin::Pin<Box<dyn Future<Output = StatusCode> + Send>>;
type Post = Box<dyn FnOnce(&attache_agent::Outcome) -> Posted + Send>;

/// Says something to a run in the moment in which it ends.
#[derive(Clone, Default)]
struct Meanwhile(std::sync::Arc<std::sync::Mutex<(Option<Post>, Option<Posted>)>>);

impl attache_agent::Observer for Meanwhile {
    fn run(&self, _: &attache_agent::ObservedRun<'_>) -> std::sync::Arc<dyn attache_agent::RunObserver> {
        std::sync::Arc::new(self.clone())
    }
}

impl attache_agent::RunObserver for Meanwhile {
    fn event(&self, event: &attache_agent::Event) {
        let attache_agent::EventKind::Finished(Ok(outcome)) = &event.kind else { return };
        let Some(post) = self.0.lock().unwrap().0.take() else { return };
        let mut posted = post(outcome);
        assert!(posted.as_mut().now_or_never().is_none(), "it is not known yet who goes on with the run");
        self.0.lock().unwrap().1 = Some(posted);
    }
}

// A56: an answer or a decision in the moment in which a run is let go, because nobody has said anything, is taken.
#[tokio::test]
async fn what_crosses_the_end_of_a_run_goes_on_with_it() {
    for name in ["ask", "pay"] {
        let ask = tool_fn("ask", "Asks", || async { Ok::<_, ToolError>(Deferred::ask("Which year?")) });
        let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(attache_core::Approval::Always);
        let stage = Stage::new([Turn::call(name, json!({})), Turn::text("Done.")]);
        let meanwhile = Meanwhile::default();
        let agent = Agent::builder(stage).tool(ask).tool(pay).observer(meanwhile.clone());
        let client = Client::new(server(agent));
        let asking = client.clone();
        meanwhile.0.lock().unwrap().0 = Some(Box::new(move |outcome| {
            let (path, body) = match outcome.approvals.first() {
                Some(asked) => (format!("/v1/approvals/{}", asked.id), json!({"decision": "approve"})),
                None => {
                    let call = outcome.deferred[0].call.id.to_string();
                    let body = json!({"sessionId": "s", "callId": call, "result": "2026"});
                    ("/v1/chat/tool-result".to_owned(), body)
                }
            };
            Box::pin(async move { asking.post(&path, body).await.status() })
        }));
        let run = client.run("s", "Go.").await;
        let over = async {
            let posted = loop {
                if let Some(posted) = meanwhile.0.lock().unwrap().1.take() {
                    break posted;
                }
                tokio::task::yield_now().await;
            };
            assert_eq!(posted.await, StatusCode::OK);
            while !client.got(&format!("/v1/runs/{run}")).await.to_string().contains("Done.") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), over).await.expect("nobody goes on");
    }
}

// A65: whoever reads slowly is told of the tools of an agent inside as others are.
#[tokio::test]
async fn a_viewer_that_is_slow_is_told_of_the_tools_of_an_agent_inside() {
    let mut told = Vec::new();
    for events in [4_096, 4] {
        let stage = Stage::new([
            Turn::text("I ask.").and_call("clerk", json!({"task": "Look"})),
            Turn::call("look", json!({"at": "a"})).and_call("nothing", json!({})),
            Turn::call("look", json!({"at": "b"})),
            Turn::text("Seen."),
            Turn::text("Done."),
        ]);
        let look = tool_fn("look", "Looks", || Ok("a lease"));
        let clerk = Agent::builder(stage.clone()).tool(look).build().unwrap().as_tool("clerk", "Looks");
        let mut limits = ServerLimits::default();
        limits.ring_events = events;
        let client = Client::new(server(Agent::builder(stage.clone()).tool(clerk)).limits(limits));
        let body = json!({"message": "Go.", "sessionId": "s"});
        let response = client.post("/v1/chat/stream", body).await;
        // Nobody reads it before the run has ended.
        let run = client.got("/v1/sessions/s").await["runs"][0]["id"].as_str().unwrap().to_owned();
        client.ended(&run).await;
        let lines = data(&text(response).await);
        let is_of_tool = |line: &&Value| {
            let kind = line["type"].as_str().unwrap_or_default();
            kind.starts_with("ACTION") || kind == "OBSERVATION"
        };
        let of_tools = lines.iter().filter(is_of_tool);
        told.push(of_tools.map(|line| format!("{} {}", line["type"], line["content"])).collect::<Vec<_>>());
        assert_eq!(lines.last().unwrap(), "[DONE]");
    }
    let [all, slow] = &told[..] else { panic!("{told:?}") };
    assert_eq!(all.iter().filter(|line| line.contains("OBSERVATION")).count(), 4, "{all:?}");
    assert_eq!(slow, all);
}
