//! Those who look at a run: several, slow ones, ones that come again.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, tool_fn};
use attache_core::ErrorKind;
use attache_server::{Server, ServerLimits};
use attache_testkit::Turn;
use axum::body::Body;
use http::{Method, Request, StatusCode};
use serde_json::json;
use tokio::sync::Notify;

use crate::common::{Client, Long, Stage, data, server, sessions, text, trusting, until, value};

fn types(stream: &str) -> Vec<String> {
    data(stream).iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect()
}

fn said(stream: &str) -> String {
    let events = data(stream);
    let deltas = events.iter().filter(|event| event["type"] == "text");
    deltas.map(|event| event["delta"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn several_viewers_of_a_run_see_the_same() {
    let stage = Stage::new([Turn::text("Berlin is the capital.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let run = client.run("s", "What is the capital?").await;
    let path = format!("/v1/runs/{run}/events");
    let mut viewers = Vec::new();
    for _ in 0..3 {
        let viewer = client.get(&path).await;
        assert_eq!(viewer.headers()["content-type"], "text/event-stream; charset=utf-8");
        assert_eq!(viewer.headers()["cache-control"], "no-cache, no-transform");
        assert_eq!(viewer.headers()["x-accel-buffering"], "no");
        let mut body = viewer.into_body();
        viewers.push((until(&mut body, "snapshot").await, body));
    }
    stage.let_out(10);
    let mut seen = Vec::new();
    for (begin, mut body) in viewers {
        seen.push(begin + &until(&mut body, "finished").await);
    }
    assert!(seen[0].starts_with(&format!("id: {run}.")), "{}", seen[0]);
    assert_eq!(types(&seen[0])[0], "snapshot");
    assert_eq!(types(&seen[0]).last().unwrap(), "finished");
    assert_eq!(said(&seen[0]), "Berlin is the capital.");
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_never_reads_stalls_nobody_and_costs_bounded_memory() {
    const PIECES: usize = 50_000;
    let mut limits = ServerLimits::default();
    limits.ring_bytes = 64 << 10;
    let client = Client::new(server(Agent::builder(Long(PIECES))).limits(limits));
    let run = client.run("s", "Count.").await;
    let slow = client.get(&format!("/v1/runs/{run}/events")).await;
    let end = client.ended(&run).await;
    assert_eq!(end["snapshot"]["state"], "ended");
    // In the end it is told one view of the run, and not all that it missed.
    let seen = text(slow).await;
    let kinds = types(&seen);
    assert!(kinds.iter().filter(|kind| *kind == "snapshot").count() >= 1);
    assert!(kinds.len() < 1_000, "{} events", kinds.len());
    let whole: String = (0..PIECES).map(|at| format!("{at:07} ")).collect();
    let snapshot = data(&seen).into_iter().rfind(|event| event["type"] == "snapshot").unwrap();
    assert_eq!(snapshot["blocks"][0]["text"].as_str().unwrap().trim_end(), whole.trim_end());
    assert_eq!(snapshot["end"]["type"], "finished");
}

// A whole answer and a stream of chunks lose nothing either, where the ring is shorter than the answer.
#[tokio::test(start_paused = true)]
async fn a_client_that_falls_behind_is_told_all_of_the_answer() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 8;
    let client = Client::new(server(Agent::builder(Long(500))).limits(limits));
    let whole: String = (0..500).map(|at| format!("{at:07} ")).collect();
    for stream in [true, false] {
        let body =
            json!({"model": "papers", "stream": stream, "messages": [{"role": "user", "content": "Count."}]});
        let response = client.chat(body).await;
        // The run is at its end before anybody reads.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let told = text(response).await;
        let content: String = match stream {
            true => {
                let chunks = data(&told);
                let deltas =
                    chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
                deltas.collect()
            }
            false => {
                let answer: serde_json::Value = serde_json::from_str(&told).unwrap();
                answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
            }
        };
        assert_eq!(content, whole, "streamed: {stream}");
    }
}

// A36: nor does the typed stream: each tool that ran, each result, and the approval that somebody is asked for.
#[tokio::test(start_paused = true)]
async fn a_reader_of_the_typed_stream_that_falls_behind_is_told_of_tools_and_approvals() {
    let mut limits = ServerLimits::default();
    limits.ring_events = 8;
    let whole: String = (0..500).map(|at| format!("{at:07} ")).collect();
    let stage = Stage::new([
        Turn::text("I look.").and_thinking("Where?").and_call("look", json!({"at": "home"})),
        Turn::text(whole.trim_end()).and_thinking("And now?").and_call("pay", json!({})),
    ]);
    let look = attache_agent::tool_fn("look", "Looks", || Ok("seen"));
    let pay = attache_agent::tool_fn("pay", "Pays", || Ok("paid"));
    let agent = Agent::builder(stage).tool(look).tool(pay.with_approval(attache_core::Approval::Always));
    let client = Client::new(server(agent).thinking(true).limits(limits));
    let stream = client.post("/v1/chat/stream", json!({"message": "Go.", "sessionId": "s"})).await;
    // The run has stopped before anybody reads.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let told = data(&text(stream).await);
    let of = |kind: &str| told.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let said = |kind: &str| of(kind).iter().map(|line| line["content"].as_str().unwrap()).collect::<String>();
    assert_eq!(said("CONTENT"), format!("I look.{}", whole.trim_end()));
    assert_eq!(said("THINKING"), "Where?And now?");
    assert_eq!(said("ACTION_START"), "look", "{told:?}");
    assert_eq!((said("ACTION").as_str(), said("OBSERVATION").as_str()), (r#"{"at":"home"}"#, "seen"));
    let open = client.got("/v1/approvals").await;
    let [asked] = of("ASK")[..] else { panic!("{told:?}") };
    assert_eq!(asked["approvalId"], open["approvals"][0]["approval"]["approvalId"], "{told:?}");
    assert_eq!(told.last().unwrap(), "[DONE]");
}

#[tokio::test(start_paused = true)]
async fn a_client_goes_on_behind_the_last_event_that_it_saw() {
    let stage = Stage::new([Turn::text("Berlin is the capital.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let run = client.run("s", "What is the capital?").await;
    let path = format!("/v1/runs/{run}/events");
    let mut first = client.get(&path).await.into_body();
    stage.let_out(1);
    let before = until(&mut first, "\"type\":\"text\"").await;
    drop(first);
    stage.let_out(10);
    client.ended(&run).await;
    let last = before.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let again = Request::builder().uri(&path).header("last-event-id", last);
    let behind = text(client.send(again, Body::empty()).await).await;
    // A browser that has seen the end comes again no more.
    let end = behind.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
    assert_eq!(client.get(&format!("{path}?after={end}")).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(said(&before) + &said(&behind), "Berlin is the capital.");
    assert!(!types(&behind).contains(&"snapshot".to_owned()), "{behind}");
    // So does one that cannot set headers.
    assert_eq!(text(client.get(&format!("{path}?after={last}")).await).await, behind);
    // An id of another drive of the run says nothing about this one, nor does one that makes no sense.
    for strange in [format!("{run}.00000000.3"), "x".to_owned(), format!("{last}9999")] {
        let again = Request::builder().uri(&path).header("last-event-id", strange.as_str());
        let seen = text(client.send(again, Body::empty()).await).await;
        assert_eq!(types(&seen)[0], "snapshot", "{strange}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_of_long_ago_is_told_by_its_log() {
    let client = Client::of([Turn::text("Berlin.")]);
    let run = client.run("s", "What is the capital?").await;
    client.ended(&run).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    // The last event that a client has seen may be one of a drive whose process died before it told the end.
    for seen in [String::new(), format!("?after={run}.00000000.7"), format!("?after={run}.log.99")] {
        let response = client.get(&format!("/v1/runs/{run}/events{seen}")).await;
        assert_eq!(response.status(), StatusCode::OK, "{seen}");
        let told = data(&text(response).await);
        assert_eq!(told.len(), 1, "{seen}: {told:?}");
        assert_eq!(told[0]["type"], "snapshot");
        assert_eq!(told[0]["blocks"][0]["text"], "Berlin.");
        assert_eq!(
            (&told[0]["end"]["type"], &told[0]["end"]["text"]),
            (&json!("finished"), &json!("Berlin."))
        );
    }
    let told = client.got(&format!("/v1/runs/{run}")).await;
    assert_eq!((&told["outcome"]["text"], &told["outcome"]["reason"]), (&json!("Berlin."), &json!("answer")));
    assert_eq!(client.get("/v1/runs/s.nothing").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.get("/v1/runs/nothing").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_silent_run_is_heard_by_its_heartbeat() {
    let stage = Stage::new([Turn::text("At last.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let run = client.run("s", "Wait.").await;
    let mut body = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
    let began = tokio::time::Instant::now();
    let told = until(&mut body, ": heartbeat").await;
    assert!(began.elapsed() <= Duration::from_secs(16), "{:?}", began.elapsed());
    assert!(told.ends_with(": heartbeat\n\n"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_lets_runs_end_and_leaves_the_others_to_be_resumed() {
    let stage = Stage::new([Turn::text("One."), Turn::text("Two.").then_hang()]);
    let sessions = sessions(Agent::builder(stage.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut limits = ServerLimits::default();
    limits.drain = Duration::from_secs(2);
    let server = trusting(Server::new("papers", sessions.clone())).limits(limits);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(server.serve(listener, async move { drop(stopped.await) }));
    let body = json!({"message": "Go."}).to_string();
    let (head, _) = crate::sockets::request(address, "POST", "/v1/sessions/a/runs", &body).await;
    assert!(head.starts_with("HTTP/1.1 202"), "{head}");
    let (head, _) = crate::sockets::request(address, "POST", "/v1/sessions/b/runs", &body).await;
    assert!(head.starts_with("HTTP/1.1 202"), "{head}");
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    assert!(!stage.is_heard());
    let ended = sessions.get("ann", "a").await.unwrap().last().await.unwrap().unwrap();
    assert_eq!(ended.text, "One.");
    let open = sessions.list("ann").await.unwrap().into_iter().find(|info| info.id.as_str() == "b").unwrap();
    assert!(open.open_run.is_some(), "it can be resumed");
}

// A64, A36
#[tokio::test(start_paused = true)]
async fn a_failure_is_the_last_event() {
    let client = Client::of([Turn::text("Half").then_error(ErrorKind::InvalidRequest)]);
    let run = client.run("s", "Go.").await;
    let seen = text(client.get(&format!("/v1/runs/{run}/events")).await).await;
    let last = data(&seen).pop().unwrap();
    let end = if last["type"] == "snapshot" { &last["end"] } else { &last };
    assert_eq!((&end["type"], &end["error"]["code"]), (&json!("failed"), &json!("invalid_request")));
    let told = value(client.get(&format!("/v1/runs/{run}")).await).await;
    assert_eq!(told["snapshot"]["end"]["type"], "failed");
}

// C38: a program that mounts the routes takes runs over, too.
#[tokio::test]
async fn embedded_routes_go_on_with_the_run_of_a_process_that_is_gone() {
    use attache_agent::{RunInput, SessionStore, Sessions};
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn SessionStore> =
        Arc::new(attache_stores::SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    let sessions = |turns: Vec<Turn>| {
        let look = attache_agent::tool_fn("look", "", || Ok("seen"));
        let agent = Agent::builder(Stage::new(turns)).tool(look).build().unwrap();
        Sessions::new(agent, Arc::clone(&store)).with_lease(Duration::from_millis(600))
    };
    let gone = sessions(vec![Turn::call("look", json!({})), Turn::text("Never said.").then_hang()]);
    let gone = gone.with_name("papers");
    let session = gone.open("ann", Some("s")).await.unwrap();
    let mut run = session.run(RunInput::from("Look").with_run_id("s.0123456789ab"));
    while !matches!(run.next().await.unwrap().kind, attache_agent::EventKind::ToolFinished { .. }) {}
    // Its process is gone without a word.
    std::mem::forget(run);
    let client = Client::new(trusting(Server::new("papers", sessions(vec![Turn::text("Done.")]))));
    client.get("/v1/health").await;
    let told = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            let told = client.got("/v1/runs/s.0123456789ab").await.to_string();
            if told.contains("Done.") {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(told.await.is_ok(), "nobody went on");
}

/// Bytes that tell whether they are in memory.
struct Held(Arc<[u8]>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

// Documents that the store has leave memory with their run, also where it may be looked at for a while.
#[tokio::test]
async fn a_run_that_is_looked_at_holds_no_bytes_of_documents() {
    use attache_core::Document;
    let folder = tempfile::tempdir().unwrap();
    let bytes: Arc<[u8]> = b"%PDF-1.4 a lease".as_slice().into();
    let given = Arc::clone(&bytes);
    let lease = attache_agent::tool_fn("lease", "", move || {
        let held = bytes::Bytes::from_owner(Held(Arc::clone(&given)));
        Ok(Document::from_bytes(held, "application/pdf").with_file_name("lease.pdf"))
    });
    let stage = Stage::new([Turn::call("lease", json!({})), Turn::text("Read.")]);
    let documents = attache_stores::FileDocumentStore::open(folder.path()).unwrap();
    let client = Client::new(server(Agent::builder(stage).tool(lease).store(Arc::new(documents))));
    let run = client.run("s", "Read it.").await;
    let told = client.ended(&run).await;
    let document = &told["snapshot"]["blocks"][0]["result"]["documents"][0];
    assert_eq!((&document["fileName"], &document["size"]), (&json!("lease.pdf"), &json!(16)), "{told}");
    // The test has one, and the tool.
    let gone = async {
        while Arc::strong_count(&bytes) > 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the bytes are held");
    let told = client.got(&format!("/v1/runs/{run}")).await;
    assert!(told["snapshot"].is_object(), "it may still be looked at: {told}");
    let content = client.get(&format!("/v1/sessions/s/documents/{}", document["id"].as_str().unwrap())).await;
    assert_eq!(text(content).await, "%PDF-1.4 a lease");
}

// C36
#[tokio::test(start_paused = true)]
async fn words_to_a_run_under_way_are_told_apart_from_questions() {
    let gate = Arc::new(Notify::new());
    let held = Arc::clone(&gate);
    let wait = tool_fn("wait", "Waits", move || {
        let held = Arc::clone(&held);
        async move {
            held.notified().await;
            Ok("waited")
        }
    });
    let replies = [
        Turn::text("Hello."),
        Turn::call("wait", json!({})),
        Turn::text("900").then_hang(),
        Turn::text("Bye."),
    ];
    let client = Client::new(server(Agent::builder(Stage::new(replies)).tool(wait)));
    client.ended(&client.run("s", "Hello?").await).await;
    let run = client.run("s", "What is the rent?").await;
    let mut body = client.get(&format!("/v1/runs/{run}/events")).await.into_body();
    until(&mut body, "\"name\":\"wait\"").await;
    client.post(&format!("/v1/runs/{run}/messages"), json!({"message": "In euros.", "when": "next"})).await;
    gate.notify_one();
    until(&mut body, "900").await;
    let asides = async |session: &str| -> Vec<bool> {
        let told = client.got(&format!("/v1/sessions/{session}")).await;
        let said = told["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        said.map(|message| message["isAside"] == true).collect()
    };
    // While the run goes on, they are the last message.
    assert_eq!(asides("s").await, [false, false, true]);
    client.ask(Method::POST, &format!("/v1/runs/{run}/cancel"), None).await;
    client.ended(&run).await;
    let last = client.run("s", "Goodbye.").await;
    client.ended(&last).await;
    assert_eq!(asides("s").await, [false, false, true, false]);
    // A fork does not know the run.
    let fork = value(client.post("/v1/sessions/s/fork", json!({"at": last})).await).await;
    assert_eq!(asides(fork["id"].as_str().unwrap()).await, [false, false, true, false]);
}
