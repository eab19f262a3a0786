//! Decisions that a page of the AI SDK has in a message behind which something stands.

use attache_agent::{Agent, tool_fn};
use attache_core::{Approval, Message};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text};

fn user(id: &str, said: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": said}]})
}

/// A chat in which a call waits for approval: its client, and the message of the run with the decision.
async fn responded(stage: &Stage, approved: bool) -> (Client, Value) {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(pay)));
    let asked = json!({"id": "chat", "messages": [user("m1", "Pay.")], "trigger": "submit-message"});
    let told = data(&text(client.post("/v1/ui", asked).await).await);
    let start = told.iter().find(|part| part["type"] == "start").unwrap();
    let asked = told.iter().find(|part| part["type"] == "tool-approval-request").unwrap();
    let part = json!({"type": "dynamic-tool", "toolName": "pay", "toolCallId": asked["toolCallId"], "state": "approval-responded",
        "input": {}, "providerExecuted": true, "approval": {"id": asked["approvalId"], "approved": approved}});
    let text = json!({"type": "text", "text": "I pay."});
    let parts = json!([{"type": "step-start"}, text, part]);
    (client, json!({"id": start["messageId"], "role": "assistant", "parts": parts}))
}

fn turns() -> [Turn; 3] {
    [Turn::text("I pay.").and_call("pay", json!({})), Turn::text("Paid."), Turn::text("Bye.")]
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

/// The text of an answer.
fn said(events: &[Value]) -> String {
    events.iter().filter_map(|event| event["delta"].as_str()).collect()
}

/// The times that the model was told something in its last request.
fn heard(stage: &Stage, said: &str) -> usize {
    let requests = stage.requests();
    let users = requests.last().unwrap().messages.iter().filter(|said| matches!(&***said, Message::User(_)));
    users.map(|user| format!("{user:?}").matches(said).count()).sum()
}

// The user writes something behind the decision: the AI SDK sends both, and names the message of the run where it goes on
// with it.
#[tokio::test]
async fn a_decision_counts_that_stands_before_what_the_user_says() {
    for named in [true, false] {
        let stage = Stage::new(turns());
        let (client, reply) = responded(&stage, true).await;
        let mut messages = vec![user("m1", "Pay."), reply.clone(), user("m3", "When?")];
        let id = if named { reply["id"].clone() } else { Value::Null };
        let ask = |messages: &[Value], id: Value| json!({"id": "chat", "messages": messages, "trigger": "submit-message", "messageId": id});
        let answer = client.post("/v1/ui", ask(&messages, id)).await;
        let status = answer.status();
        let answer = text(answer).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let told = data(&answer);
        assert_eq!(told[0]["messageId"], reply["id"]);
        let kinds = kinds(&told);
        assert_eq!(kinds.iter().filter(|kind| **kind == "tool-output-available").count(), 1, "{kinds:?}");
        // A page that goes on with the message has its call; one that begins it anew is told all of it.
        assert_eq!(kinds.contains(&"tool-input-available"), !named, "named: {named}, {kinds:?}");
        assert_eq!(said(&told), if named { "Paid." } else { "I pay.Paid." }, "named: {named}");
        assert_eq!(heard(&stage, "When?"), 1);

        // The part may stay as it is in the page: it decides nothing more.
        messages.push(user("m4", "Bye."));
        let answer = client.post("/v1/ui", ask(&messages, Value::Null)).await;
        let status = answer.status();
        let answer = text(answer).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert_eq!(said(&data(&answer)), "Bye.");
    }
}

#[tokio::test]
async fn a_denial_counts_that_stands_before_what_the_user_says() {
    let stage = Stage::new(turns());
    let (client, reply) = responded(&stage, false).await;
    let body = json!({"id": "chat", "messages": [user("m1", "Pay."), reply, user("m3", "Not now.")], "messageId": reply["id"]});
    let told = data(&text(client.post("/v1/ui", body).await).await);
    assert!(kinds(&told).contains(&"tool-output-denied"), "{told:?}");
    assert_eq!(heard(&stage, "Not now."), 1);
}
