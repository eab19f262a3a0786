//! Servers that cannot go on with a run now: they drive as many as they may, or the model does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{Agent, EventKind, RunInput, SessionStore, Sessions, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{ErrorKind, Message, ToolError};
use attache_server::{Server, ServerLimits};
use attache_stores::SqliteStore;
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::json;

use crate::common::{Client, Stage, server, trusting, value};

fn one_run() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.runs = 1;
    limits
}

// C38: runs of a process that is gone are taken over where their user has no room for new ones, and none is given up.
#[tokio::test]
async fn runs_of_a_process_that_is_gone_are_taken_over_by_a_full_one() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn SessionStore> =
        Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let sessions = |stage: &Stage| {
        let look = tool_fn("look", "", || Ok("seen"));
        let agent = Agent::builder(stage.clone()).tool(look).build().unwrap();
        Sessions::new(agent, Arc::clone(&store)).with_lease(Duration::from_secs(3))
    };
    let stage = Stage::new((0..4).map(|_| Turn::text("Done."))).held();
    let client = Client::new(trusting(Server::new("papers", sessions(&stage))).limits(one_run()));
    let own = client.run("own", "Go.").await;
    stage.asked().await;
    let mut runs = vec![own];
    for session in ["a", "b", "c"] {
        let id = format!("{session}.0123456789ab");
        let gone = Stage::new([Turn::call("look", json!({})), Turn::text("Never said.").then_hang()]);
        let gone = sessions(&gone)
            .with_name("papers")
            .with_clock(|| SystemTime::now().checked_sub(Duration::from_secs(600)).unwrap());
        let opened = gone.open("ann", Some(session)).await.unwrap();
        let mut run = opened.run(RunInput::from("Go.").with_run_id(&id));
        while !matches!(run.next().await.unwrap().kind, EventKind::ToolFinished { .. }) {}
        // Its process is gone without a word.
        std::mem::forget(run);
        runs.push(id);
    }
    let taken_over = async {
        while stage.heard() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), taken_over).await.expect("nobody goes on");
    let refused = client.post("/v1/sessions/new/runs", json!({"message": "Go."})).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    stage.let_out(100);
    for run in runs {
        let answered = async {
            while !client.got(&format!("/v1/runs/{run}")).await.to_string().contains("Done.") {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), answered).await.expect(&run);
    }
}

// A64: a run without a session that waits for its client is still there where its answer found no room.
#[tokio::test]
async fn a_run_without_a_session_goes_on_once_there_is_room() {
    let booked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&booked);
    let book = tool_fn("book", "Books a table", move || {
        Ok(format!("table {}", counter.fetch_add(1, Ordering::SeqCst) + 1))
    });
    let stage = Stage::new([
        Turn::call("book", json!({})).and_call("weather", json!({})),
        Turn::text("Wait.").then_hang(),
        Turn::text("Table 1, and sun."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(book)).limits(one_run()));
    let tools =
        json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
    let asked =
        |messages: serde_json::Value| json!({"model": "papers", "tools": tools, "messages": messages});
    let question = json!({"role": "user", "content": "Book."});
    let first = value(client.chat(asked(json!([question]))).await).await;
    let message = first["choices"][0]["message"].clone();
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"});
    let more = asked(json!([question, message, result]));
    let other = occupy(&client).await;
    assert_eq!(client.chat(more.clone()).await.status(), StatusCode::TOO_MANY_REQUESTS);
    client.post(&format!("/v1/runs/{other}/cancel"), json!({})).await;
    let answer = patiently(&client, "/v1/chat/completions", &more).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Table 1, and sun.", "{answer}");
    assert_eq!(booked.load(Ordering::SeqCst), 1);
    // The client knows nothing of the table.
    let last = stage.requests().pop().unwrap();
    let Message::ToolResults(results) = &**last.messages.last().unwrap() else { panic!("{last:?}") };
    let read: Vec<_> = results.results.iter().map(|result| result.tree.model_text().into_owned()).collect();
    assert_eq!(read, ["table 1", "sun"]);
}

/// Has the server drive a run, so that there is no room for another one.
async fn occupy(client: &Client) -> String {
    let began = async {
        loop {
            let began = client.post("/v1/sessions/other/runs", json!({"message": "Wait."})).await;
            if began.status() == StatusCode::ACCEPTED {
                return value(began).await["runId"].as_str().unwrap().to_owned();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, began).await.expect("there is no room")
}

const PATIENCE: Duration = Duration::from_secs(20);

/// Asks again until there is room.
async fn patiently(client: &Client, path: &str, body: &serde_json::Value) -> serde_json::Value {
    let answered = async {
        loop {
            let answer = client.post(path, body.clone()).await;
            if answer.status() != StatusCode::TOO_MANY_REQUESTS {
                assert_eq!(answer.status(), StatusCode::OK);
                return value(answer).await;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.expect("there is no room")
}

const FILE: &str = "data:text/plain;base64,dGhlIG1pbnV0ZXM=";

// A56, A64: a result that was delivered where there was no room goes on with its run once it comes again. A file in it is
// another document each time.
#[tokio::test]
async fn a_result_that_comes_again_goes_on_with_the_run_that_nobody_drives() {
    let ask = tool_fn("ask", "Asks", || async { Ok::<_, ToolError>(Deferred::ask("Which minutes?")) });
    let stage = Stage::new([
        Turn::call("ask", json!({})),
        Turn::text("Wait.").then_hang(),
        Turn::text("Read."),
        Turn::call("minutes", json!({})),
        Turn::text("Wait.").then_hang(),
        Turn::text("Read, too."),
    ]);
    let client = Client::new(server(Agent::builder(stage).tool(ask)).limits(one_run()));
    let run = client.run("s", "Read the minutes.").await;
    client.ended(&run).await;
    let other = occupy(&client).await;
    let call = client.got("/v1/sessions/s").await["deferred"][0]["callId"].clone();
    let answer = json!({"sessionId": "s", "callId": call, "result": FILE});
    let path = "/v1/chat/tool-result";
    assert_eq!(client.post(path, answer.clone()).await.status(), StatusCode::TOO_MANY_REQUESTS);
    client.post(&format!("/v1/runs/{other}/cancel"), json!({})).await;
    patiently(&client, path, &answer).await;
    let told = async {
        while !client.got(&format!("/v1/runs/{run}")).await.to_string().contains("Read.") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("nobody goes on");
    assert_eq!(client.post(path, answer).await.status(), StatusCode::CONFLICT, "it was answered");

    let tools =
        json!([{"type": "function", "function": {"name": "minutes", "parameters": {"type": "object"}}}]);
    let asked = |messages: serde_json::Value| json!({"model": "papers", "tools": tools, "messages": messages, "attache": {"session": "t"}});
    let question = json!({"role": "user", "content": "Read them, too."});
    let path = "/v1/chat/completions";
    let message = patiently(&client, path, &asked(json!([question]))).await["choices"][0]["message"].clone();
    let other = occupy(&client).await;
    let file = json!([{"type": "file", "file": {"filename": "minutes.txt", "file_data": FILE}}]);
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": file});
    let more = asked(json!([question, message, result]));
    assert_eq!(client.post(path, more.clone()).await.status(), StatusCode::TOO_MANY_REQUESTS);
    client.post(&format!("/v1/runs/{other}/cancel"), json!({})).await;
    let answer = patiently(&client, path, &more).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Read, too.", "{answer}");
}

// Bodies that are read at a time are bounded in all and for each principal, and small ones always find room.
#[tokio::test]
async fn bodies_that_are_read_at_a_time_are_bounded() {
    use futures_util::StreamExt as _;
    use futures_util::stream::{iter, once};
    use tokio::sync::oneshot::channel;
    let mut limits = ServerLimits::default();
    (limits.body, limits.upload, limits.bodies) = (1 << 10, (2 << 20) + 7, (2 << 20) + (1 << 19));
    let client = Client::new(server(Agent::builder(Stage::new([]))).limits(limits));
    let other = client.named("bob");
    let upload = async |client: &Client, body: axum::body::Body| {
        let request = http::Request::builder().method("POST").uri("/v1/documents");
        client.send(request, body).await.status()
    };
    let ((was_read, is_read), (goes_on, waits)) = (channel(), channel());
    let rest = once(async move {
        was_read.send(()).unwrap();
        waits.await.unwrap();
        "the end".into()
    });
    let pieces = iter([bytes::Bytes::from("a".repeat(2 << 20))]).chain(rest).map(Ok::<_, std::io::Error>);
    let slow = upload(&client, axum::body::Body::from_stream(pieces));
    let others = async {
        is_read.await.unwrap();
        let large = |kib: usize| "b".repeat(kib << 10).into();
        assert_eq!(upload(&client, large(256)).await, StatusCode::SERVICE_UNAVAILABLE, "the share of one");
        assert_eq!(upload(&other, large(256)).await, StatusCode::CREATED, "others are heard meanwhile");
        assert_eq!(upload(&other, large(1024)).await, StatusCode::SERVICE_UNAVAILABLE, "the room of all");
        assert_eq!(upload(&client, "small".into()).await, StatusCode::CREATED);
        goes_on.send(()).unwrap();
    };
    let (slow, ()) = tokio::join!(slow, others);
    assert_eq!(slow, StatusCode::CREATED);
    assert_eq!(
        upload(&client, "b".repeat(256 << 10).into()).await,
        StatusCode::CREATED,
        "there is room again"
    );
}

// A64: nor is it lost where the model does not answer once the client has.
#[tokio::test]
async fn a_run_without_a_session_goes_on_once_the_model_answers() {
    let book = tool_fn("book", "Books a table", || Ok("table 1"));
    let stage = Stage::new([
        Turn::call("book", json!({})).and_call("weather", json!({})),
        Turn::empty().then_error(ErrorKind::RateLimited),
        Turn::text("Table 1, and sun."),
    ]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(book)));
    let tools =
        json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
    let asked =
        |messages: serde_json::Value| json!({"model": "papers", "tools": tools, "messages": messages});
    let question = json!({"role": "user", "content": "Book."});
    let first = value(client.chat(asked(json!([question]))).await).await;
    let message = first["choices"][0]["message"].clone();
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"});
    let more = asked(json!([question, message, result]));
    assert_eq!(client.chat(more.clone()).await.status(), StatusCode::TOO_MANY_REQUESTS);
    let answer = value(client.chat(more).await).await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Table 1, and sun.", "{answer}");
    let last = stage.requests().pop().unwrap();
    let Message::ToolResults(results) = &**last.messages.last().unwrap() else { panic!("{last:?}") };
    let read: Vec<_> = results.results.iter().map(|result| result.tree.model_text().into_owned()).collect();
    assert_eq!(read, ["table 1", "sun"]);
}

// A64: words of the user beside a result are said once, also where the request comes again since the model did not answer.
#[tokio::test]
async fn words_beside_a_result_that_comes_again_are_said_once() {
    for session in [None, Some("s")] {
        let stage = Stage::new([
            Turn::call("book", json!({})).and_call("weather", json!({})),
            Turn::empty().then_error(ErrorKind::RateLimited),
            Turn::text("Table 1, and sun."),
        ]);
        let book = tool_fn("book", "Books a table", || Ok("table 1"));
        let client = Client::new(server(Agent::builder(stage.clone()).tool(book)));
        let tools =
            json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
        let asked = |messages: serde_json::Value| json!({"model": "papers", "tools": tools, "messages": messages, "attache": {"session": session}});
        let question = json!({"role": "user", "content": "Book."});
        let first = value(client.chat(asked(json!([question]))).await).await;
        let message = first["choices"][0]["message"].clone();
        let result =
            json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"});
        let more = asked(json!([question, message, result, {"role": "user", "content": "By the window."}]));
        assert_eq!(client.chat(more.clone()).await.status(), StatusCode::TOO_MANY_REQUESTS);
        let answer = value(client.chat(more).await).await;
        assert_eq!(answer["choices"][0]["message"]["content"], "Table 1, and sun.", "{answer}");
        let last = stage.requests().pop().unwrap();
        let said = serde_json::to_string(&last.messages).unwrap();
        assert_eq!(said.matches("By the window.").count(), 1, "{said}");
    }
}
