//! Streams that are cut, end early, or are none.

use serde_json::{Value, json};

use crate::support::*;

fn artifact(text: &str) -> Value {
    json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1",
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

fn whole() -> Value {
    json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "all of it"}]}]})
}

fn completed() -> Value {
    json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}})
}

#[tokio::test]
async fn a_stream_that_is_cut_is_taken_up_again() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => cut_after(&[json!({"task": task("WORKING")}), artifact("half of")]),
        "SubscribeToTask" => events(&[json!({"task": task("WORKING")}), completed()]),
        _ => result(&whole()),
    })
    .await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "all of it");
    assert_eq!(fake.methods(), ["SendStreamingMessage", "SubscribeToTask", "GetTask"]);
    assert_eq!(fake.asked()[1].params()["id"], "t-1");
}

#[tokio::test]
async fn a_task_is_looked_at_where_its_stream_cannot_be_taken_up() {
    let fake = Fake::v1(true, |asked, count| match asked.rpc() {
        "SendStreamingMessage" => events(&[json!({"task": task("WORKING")})]),
        "SubscribeToTask" => error(-32004, "not supported"),
        _ if count < 6 => result(&task("WORKING")),
        _ => result(&whole()),
    })
    .await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "all of it");
}

#[tokio::test]
async fn an_agent_that_streams_nothing_is_asked_for_one_answer() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => error(-32004, "no streaming"),
        _ => result(&json!({"task": whole()})),
    })
    .await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "all of it");
    // One that answers with JSON where a stream was asked for.
    let fake = Fake::v1(true, |_, _| result(&json!({"task": whole()}))).await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "all of it");
}

#[tokio::test]
async fn a_task_without_a_stream_is_looked_at_until_it_ends() {
    let fake = Fake::v1(false, |asked, count| match asked.rpc() {
        "SendMessage" => result(&json!({"task": task("SUBMITTED")})),
        _ if count < 4 => result(&task("WORKING")),
        _ => result(&whole()),
    })
    .await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "all of it");
    assert_eq!(fake.methods(), ["SendMessage", "GetTask", "GetTask", "GetTask"]);
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_task_is_known_fails_the_call() {
    let fake = Fake::v1(true, |_, _| cut_after(&[])).await;
    let error = ask(&fake.agent()).await.unwrap_err();
    assert!(error.for_model().contains("it is not known if it works on it"), "{error}");
    let fake = Fake::v1(true, |_, _| events(&[])).await;
    assert!(ask(&fake.agent()).await.is_err());
}
