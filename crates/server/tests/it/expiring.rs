//! Sessions over time: those that nobody used expire, and one run of a session waits for another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use attache_agent::{Agent, Busy, EventKind, MemorySessions, RunInput, Sessions};
use attache_core::ErrorKind;
use attache_server::{Server, ServerLimits};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, sessions, text, trusting, value};

/// The time on the wall, in minutes.
#[derive(Clone, Default)]
struct Wall(Arc<AtomicU64>);

impl Wall {
    fn passes(&self, minutes: u64) {
        self.0.fetch_add(minutes, Ordering::Relaxed);
    }

    /// Sessions that live by this time.
    fn over(&self, stage: &Stage, store: &Arc<MemorySessions>) -> Sessions {
        let wall = self.clone();
        let agent = Agent::builder(stage.clone()).build().unwrap();
        Sessions::new(agent, store.clone()).with_clock(move || {
            UNIX_EPOCH + Duration::from_secs(1_800_000_000 + 60 * wall.0.load(Ordering::Relaxed))
        })
    }
}

// Words that belong to a conversation make no sense without it.
#[tokio::test(start_paused = true)]
async fn a_session_that_must_exist_is_not_begun_anew() {
    let stage = Stage::new(["Hello.", "And again.", "Once more."].map(Turn::text));
    let client = Client::new(trusting(Server::new("papers", sessions(Agent::builder(stage.clone())))));
    let turn = json!({"message": "?", "mustExist": true});
    let typed = json!({"message": "?", "mustExist": true, "sessionId": "s"});
    assert_eq!(client.post("/v1/sessions/s/runs", turn.clone()).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(client.post("/v1/chat/stream", typed.clone()).await.status(), StatusCode::NOT_FOUND);
    let nowhere = value(client.post("/v1/chat/stream", turn.clone()).await).await;
    assert_eq!(nowhere["error"]["param"], "sessionId", "{nowhere}");
    assert_eq!(client.got("/v1/sessions").await["total"], 0);
    let run = client.run("s", "Hello?").await;
    client.ended(&run).await;
    let again = value(client.post("/v1/sessions/s/runs", turn).await).await;
    client.ended(again["runId"].as_str().unwrap()).await;
    assert!(text(client.post("/v1/chat/stream", typed).await).await.contains("Once more."));
    assert_eq!(stage.requests()[2].messages.len(), 5);
}

// A43, A46: an hour after its last use a session is not there any more, unless sessions do not expire.
#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_used_for_an_hour_has_expired() {
    for expires in [true, false] {
        let (wall, stage) = (Wall::default(), Stage::new(["Hello, Ann.", "Ann?"].map(Turn::text)));
        let sessions = wall.over(&stage, &Arc::new(MemorySessions::new()));
        let sessions = if expires { sessions } else { sessions.with_expiry(None) };
        let client = Client::new(trusting(Server::new("papers", sessions)));
        let run = client.run("s", "I am Ann.").await;
        client.ended(&run).await;
        for _ in 0..3 {
            // Each look counts as use.
            wall.passes(50);
            assert_eq!(client.get("/v1/sessions/s").await.status(), StatusCode::OK);
        }
        wall.passes(61);
        let (gone, heard) = match expires {
            true => (StatusCode::NOT_FOUND, 1),
            false => (StatusCode::OK, 3),
        };
        assert_eq!(client.get("/v1/sessions/s").await.status(), gone);
        // The next question begins anew, or goes on.
        let again = client.run("s", "Who am I?").await;
        client.ended(&again).await;
        assert_eq!(stage.requests()[1].messages.len(), heard, "expires: {expires}");
    }
}

// A44: the server deletes them every ten minutes, and none in which a run is under way.
#[tokio::test(start_paused = true)]
async fn the_server_deletes_sessions_that_expired() {
    let (wall, stage) = (Wall::default(), Stage::new(["One.", "Two."].map(Turn::text)).held());
    let store = Arc::new(MemorySessions::new());
    let mut limits = ServerLimits::default();
    limits.run_time = None;
    let server = Server::new("papers", wall.over(&stage, &store)).limits(limits);
    let client = Client::new(trusting(server));
    let old = client.run("old", "One?").await;
    stage.let_out(10);
    client.ended(&old).await;
    stage.drain();
    let busy = client.run("busy", "Two?").await;
    stage.asked().await;
    wall.passes(61);
    // Somebody who keeps all sessions sees those that are there.
    let kept = wall.over(&stage, &store).with_expiry(None);
    let there = async || {
        let listed = kept.list("ann").await.unwrap();
        let mut ids: Vec<String> = listed.iter().map(|info| info.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(there().await, ["busy", "old"]);
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(there().await, ["busy"]);
    stage.let_out(10);
    let ended = client.ended(&busy).await;
    assert_eq!(ended["snapshot"]["end"]["text"], "Two.", "{ended}");
}

// A41: where runs of a session queue, the second one begins with what the first one said, and a third one is too many.
#[tokio::test(start_paused = true)]
async fn a_second_run_of_a_session_waits_for_the_first() {
    let stage = Stage::new(["One.", "Two."].map(Turn::text)).held();
    let sessions = sessions(Agent::builder(stage.clone())).with_busy(Busy::Queue { depth: 1 });
    let client = Client::new(trusting(Server::new("papers", sessions)));
    let first = client.run("s", "One?").await;
    stage.asked().await;
    let waiting = client.clone();
    let second = tokio::spawn(async move { waiting.run("s", "Two?").await });
    // Paused time passes once nobody has anything to do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!second.is_finished());
    let third = client.post("/v1/sessions/s/runs", json!({"message": "Three?"})).await;
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(third.headers().contains_key("retry-after"), "{}", value(third).await);
    assert_eq!(stage.heard(), 1, "the model is asked once at a time");
    stage.let_out(20);
    let second = second.await.unwrap();
    client.ended(&first).await;
    let ended = client.ended(&second).await;
    assert_eq!(ended["snapshot"]["end"]["text"], "Two.", "{ended}");
    let session = client.got("/v1/sessions/s").await;
    let said: Vec<&Value> =
        session["messages"].as_array().unwrap().iter().map(|message| &message["parts"][0]["text"]).collect();
    assert_eq!(said, ["One?", "One.", "Two?", "Two."]);
    assert_eq!(stage.requests()[1].messages.len(), 3);
}

/// The files in a folder, at any depth.
fn files(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

// A40, A43: an upload goes with the session that mentions it, and so does its name.
#[tokio::test]
async fn nothing_is_left_of_an_upload_whose_session_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let documents = Arc::new(attache_stores::FileDocumentStore::open(folder.path()).unwrap());
    let agent = Agent::builder(Stage::new([Turn::text("Read.")])).store(documents.clone()).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new())).with_documents(documents);
    let client = Client::new(trusting(Server::new("papers", sessions)));
    let upload = async || {
        let upload = http::Request::builder().method("POST").uri("/v1/documents?name=lease.txt");
        value(client.send(upload, "The rent is 900.").await).await["id"].as_str().unwrap().to_owned()
    };
    let deleted = upload().await;
    client.ask(http::Method::DELETE, &format!("/v1/documents/{deleted}"), None).await;
    let before = files(folder.path());
    let id = upload().await;
    let turn = json!({"message": "Read it.", "documents": [id]});
    let run = value(client.post("/v1/sessions/s/runs", turn).await).await["runId"].clone();
    client.ended(run.as_str().unwrap()).await;
    assert_eq!(files(folder.path()), before + 2);
    let gone = client.ask(http::Method::DELETE, "/v1/sessions/s", None).await;
    assert!(gone.status().is_success(), "{}", gone.status());
    assert_eq!(files(folder.path()), before, "something is left");
}

// A run whose process is gone goes on elsewhere, also where it failed before: only one that was let go has failed.
#[tokio::test(start_paused = true)]
async fn a_failed_run_whose_next_process_is_gone_is_not_told_to_have_failed() {
    let failing = Turn::empty().then_error(ErrorKind::Overloaded);
    let (wall, stage) = (Wall::default(), Stage::new([failing, Turn::text("Never said.").then_hang()]));
    let sessions = wall.over(&stage, &Arc::new(MemorySessions::new()));
    // This server takes nothing over.
    let mut limits = ServerLimits::default();
    limits.runs = 0;
    let client = Client::new(trusting(Server::new("papers", sessions.clone()).limits(limits)));
    let run = "s.0123456789ab";
    let session = sessions.open("ann", Some("s")).await.unwrap();
    session.run(RunInput::from("Go.").with_run_id(run)).outcome().await.unwrap_err();
    let (path, events) = (format!("/v1/runs/{run}"), format!("/v1/runs/{run}/events"));
    assert_eq!(client.got(&path).await["snapshot"]["end"]["type"], "failed");
    let mut resumed = session.resume();
    while !matches!(resumed.next().await.unwrap().kind, EventKind::Content(_)) {}
    std::mem::forget(resumed);
    wall.passes(5);
    assert_eq!(client.got(&path).await["snapshot"]["end"], serde_json::Value::Null);
    let events = text(client.get(&events).await).await;
    assert!(events.contains("abandoned") && !events.contains("overloaded"), "{events}");
}

// A response has one time, while its run is under way and once it is kept.
#[tokio::test(start_paused = true)]
async fn a_response_under_way_was_made_when_its_run_began() {
    let (wall, stage) = (Wall::default(), Stage::new([Turn::text("One.")]).held());
    let client = Client::new(trusting(Server::new("papers", wall.over(&stage, &Arc::default()))));
    let path = crate::kept::begun(&client).await;
    stage.asked().await;
    wall.passes(1);
    assert_eq!(client.got(&path).await["created_at"], 1_800_000_000);
    stage.let_out(10);
}
