//! Clients that leave before the end.

use std::time::Duration;

use attache_agent::Agent;
use attache_server::{OnDisconnect, ServerLimits};
use attache_testkit::Turn;
use futures_util::FutureExt as _;
use serde_json::json;

use crate::common::{Client, Stage, server, text, until};

fn asked(stream: bool) -> serde_json::Value {
    json!({"model": "papers", "stream": stream, "messages": [{"role": "user", "content": "Go."}]})
}

// A62
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_in_mid_stream_hangs_up_the_model_within_a_second() {
    let stage = Stage::new([Turn::text("A long answer.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let asking = client.chat(asked(true));
    stage.let_out(1);
    let mut body = asking.await.into_body();
    until(&mut body, "A long").await;
    drop(body);
    stage.hangs_up().await;
}

// A62
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_before_the_first_delta_hangs_up_the_model() {
    for stream in [true, false] {
        let stage = Stage::new([Turn::text("A long answer.")]).held();
        let client = Client::new(server(Agent::builder(stage.clone())));
        let body = asked(stream);
        let mut asking = Box::pin(client.chat(body));
        assert!(asking.as_mut().now_or_never().is_none());
        stage.asked().await;
        drop(asking);
        stage.hangs_up().await;
    }
}

// A62
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_while_a_whole_answer_is_made_hangs_up_the_model() {
    let stage = Stage::new([Turn::text("A long answer.").then_hang()]);
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut asking = Box::pin(client.chat(asked(false)));
    assert!(asking.as_mut().now_or_never().is_none());
    stage.asked().await;
    drop(asking);
    stage.hangs_up().await;
}

#[tokio::test(start_paused = true)]
async fn with_grace_a_run_goes_on_for_who_comes_back_in_time() {
    let grace = OnDisconnect::Grace(Duration::from_secs(30));
    for (away, goes_on) in [(20, true), (40, false)] {
        let stage = Stage::new([Turn::text("A long answer.")]).held();
        let client = Client::new(server(Agent::builder(stage.clone())).disconnect(grace));
        let mut body =
            client.post("/v1/chat/stream", json!({"message": "Go.", "sessionId": "s"})).await.into_body();
        let told = until(&mut body, "TASK_INFO").await;
        let run = crate::common::data(&told)[0]["taskId"].as_str().unwrap().to_owned();
        stage.asked().await;
        drop(body);
        tokio::time::sleep(Duration::from_secs(away)).await;
        assert_eq!(stage.is_heard(), goes_on, "after {away} s");
        if goes_on {
            let back = client.get(&format!("/v1/runs/{run}/events")).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            stage.let_out(10);
            assert!(text(back).await.contains("A long answer."));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_detached_goes_on_to_its_end() {
    let stage = Stage::new([Turn::text("A long answer.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let turn = json!({"message": "Go.", "sessionId": "s", "onDisconnect": "detach"});
    let mut body = client.post("/v1/chat/stream", turn).await.into_body();
    let told = until(&mut body, "TASK_INFO").await;
    let run = crate::common::data(&told)[0]["taskId"].as_str().unwrap().to_owned();
    drop(body);
    tokio::time::sleep(Duration::from_secs(300)).await;
    stage.let_out(10);
    let end = client.ended(&run).await;
    assert_eq!(end["snapshot"]["end"]["text"], "A long answer.");
}

// The one that stays keeps the run.
#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_when_its_last_viewer_leaves_and_not_before() {
    let stage = Stage::new([Turn::text("A long answer.")]).held();
    let client = Client::new(server(Agent::builder(stage.clone())));
    let mut first =
        client.post("/v1/chat/stream", json!({"message": "Go.", "sessionId": "s"})).await.into_body();
    let told = until(&mut first, "TASK_INFO").await;
    let run = crate::common::data(&told)[0]["taskId"].as_str().unwrap().to_owned();
    let second = client.get(&format!("/v1/runs/{run}/events")).await;
    stage.asked().await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(stage.is_heard());
    drop(second);
    stage.hangs_up().await;
}

// A63
#[tokio::test(start_paused = true)]
async fn a_run_ends_when_its_time_is_up() {
    let stage = Stage::new([Turn::text("A long answer.").then_hang()]);
    let mut limits = ServerLimits::default();
    limits.run_time = Some(Duration::from_secs(30));
    let client = Client::new(server(Agent::builder(stage.clone())).limits(limits));
    let began = tokio::time::Instant::now();
    let told = text(client.chat(asked(true)).await).await;
    assert!(told.contains("\"code\":\"cancelled\"") && told.contains("the time of the run is up"), "{told}");
    assert!(!told.contains("[DONE]"), "{told}");
    assert!(began.elapsed() < Duration::from_secs(32), "{:?}", began.elapsed());
    stage.hangs_up().await;
}
