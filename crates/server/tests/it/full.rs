//! Servers that drive as many runs of somebody as they may.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{Agent, EventKind, RunInput, SessionStore, Sessions, tool_fn};
use attache_server::{Server, ServerLimits};
use attache_stores::SqliteStore;
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::json;

use crate::common::{Client, Stage, trusting};

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
        Sessions::new(agent, Arc::clone(&store)).with_lease(Duration::from_millis(600))
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
