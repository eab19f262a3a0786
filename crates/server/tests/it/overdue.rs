//! Approvals and questions whose time is up: nobody is locked out of their session.

use std::time::Duration;

use attache_agent::{Agent, Ask, Proposal, Verdict, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{Message, ToolError};
use attache_testkit::Turn;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, data, server, text, value};

/// The time for a decision and for an answer.
const TIME: Duration = Duration::from_secs(1);

/// An agent that asks before it pays, and for a year, each for that time.
fn asking(turns: impl IntoIterator<Item = Turn>) -> (Stage, Client) {
    let stage = Stage::new(turns);
    let policy = |proposal: &Proposal<'_>| match proposal.call.name.as_str() {
        "pay" => Verdict::Ask(Ask::default().with_lifetime(TIME)),
        _ => Verdict::Run,
    };
    let year = || Ok::<_, ToolError>(Deferred::ask("Which year?").with_lifetime(TIME));
    let agent = Agent::builder(stage.clone()).approval_policy(policy);
    let agent = agent.tool(tool_fn("pay", "Pays", || Ok("paid"))).tool(tool_fn("year", "Asks", year));
    (stage, Client::new(server(agent)))
}

fn call(name: &str) -> Turn {
    Turn::call(name, json!({}))
}

/// The results that the model was told last.
fn told(stage: &Stage) -> String {
    let requests = stage.requests();
    let messages = requests.last().unwrap().messages.iter().rev();
    let results = messages.clone().find_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    results.unwrap().iter().map(|result| result.tree.model_text().into_owned()).collect()
}

/// Waits until the run has gone on by itself, and ended with its answer.
async fn answered(client: &Client, run: &str) {
    let answered = async {
        while !client.got(&format!("/v1/runs/{run}")).await.to_string().contains("Done.") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), answered).await.expect("the run does not go on");
}

fn of_ag_ui(messages: &Value, resume: &Value) -> Value {
    json!({"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": [], "state": {}, "resume": resume})
}

fn user(id: &str) -> Value {
    json!({"id": id, "role": "user", "content": "Go on."})
}

#[tokio::test]
async fn a_new_message_goes_on_behind_an_approval_whose_time_is_up() {
    let (stage, client) = asking([call("pay"), Turn::text("Done.")]);
    let run = client.run("s", "Pay.").await;
    client.ended(&run).await;
    let body = json!({"model": "papers", "messages": [{"role": "user", "content": "Well?"}], "attache": {"session": "s"}});
    assert_eq!(client.chat(body.clone()).await.status(), StatusCode::CONFLICT, "somebody may still decide");
    tokio::time::sleep(TIME).await;
    let answer = client.chat(body).await;
    let status = answer.status();
    let answer = text(answer).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(told(&stage), "not executed: nobody decided in time");
    let open = client.got("/v1/approvals").await;
    assert_eq!(open["approvals"], json!([]));
}

// A client of AG-UI sends nothing more before it has cancelled the interrupt.
#[tokio::test]
async fn an_interrupt_whose_time_is_up_can_be_cancelled() {
    for (name, words) in
        [("pay", "not executed: nobody decided in time"), ("year", "no result was delivered in time")]
    {
        let (stage, client) = asking([call(name), Turn::text("Done.")]);
        let asked =
            data(&text(client.post("/v1/ag-ui", of_ag_ui(&json!([user("m1")]), &Value::Null)).await).await);
        let id = &asked.last().unwrap()["outcome"]["interrupts"][0]["id"];
        tokio::time::sleep(TIME).await;
        let late = json!([{"interruptId": id, "status": "resolved", "payload": {"approved": true}}]);
        let late = client.post("/v1/ag-ui", of_ag_ui(&json!([user("m1")]), &late)).await;
        assert_eq!(late.status(), StatusCode::CONFLICT, "{name}: nothing runs that is approved too late");
        let cancelled = json!([{"interruptId": id, "status": "cancelled"}]);
        let call = asked.iter().find(|event| event["type"] == "TOOL_CALL_START").unwrap();
        let function = json!({"name": name, "arguments": "{}"});
        let calls = json!([{"id": call["toolCallId"], "type": "function", "function": function}]);
        let reply = json!({"id": "a1", "role": "assistant", "toolCalls": calls});
        let messages = json!([user("m1"), reply, user("m2")]);
        let told_last = client.post("/v1/ag-ui", of_ag_ui(&messages, &cancelled)).await;
        let told_last = text(told_last).await;
        assert!(told_last.contains("RUN_FINISHED"), "{name}: {told_last}");
        let last = data(&told_last).pop().unwrap();
        assert_eq!(
            (&last["outcome"]["type"], &last["result"]),
            (&json!("success"), &json!("Done.")),
            "{name}"
        );
        assert_eq!(told(&stage), words);
        let heard = format!("{:?}", stage.requests()[1].messages);
        assert_eq!(heard.matches("Go on.").count(), 2, "{name}: {heard}");
    }
}

// The card of a chat is gone once somebody has clicked on it too late.
#[tokio::test]
async fn a_decision_and_an_answer_that_come_too_late_let_the_run_go_on() {
    for name in ["pay", "year"] {
        let (stage, client) = asking([call(name), Turn::text("Done.")]);
        let run = client.run("s", "Go.").await;
        let asked = client.ended(&run).await["snapshot"].clone();
        let (path, body) = match asked["approvals"][0]["approvalId"].as_str() {
            Some(id) => (format!("/v1/approvals/{id}"), json!({"decision": "approve"})),
            None => {
                let call = &asked["deferred"][0]["callId"];
                assert!(call.is_string(), "{asked}");
                let body = json!({"sessionId": "s", "callId": call, "result": "2026"});
                ("/v1/chat/tool-result".to_owned(), body)
            }
        };
        tokio::time::sleep(TIME).await;
        let late = client.post(&path, body).await;
        assert_eq!(late.status(), StatusCode::CONFLICT, "{name}: {}", value(late).await);
        answered(&client, &run).await;
        assert!(told(&stage).ends_with("in time"), "{}", told(&stage));
    }
}

// A page of the AI SDK has the decision in its messages for good.
#[tokio::test]
async fn a_decision_of_a_page_that_comes_too_late_holds_up_nobody() {
    for (approved, says) in [(false, false), (false, true), (true, true)] {
        let (stage, client) = asking([call("pay"), Turn::text("Done.")]);
        let user = |id: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "Pay."}]});
        let ask = |messages: &[Value]| json!({"id": "chat", "messages": messages});
        let asked = data(&text(client.post("/v1/ui", ask(&[user("m1")])).await).await);
        let asked = asked.iter().find(|part| part["type"] == "tool-approval-request").unwrap();
        tokio::time::sleep(TIME).await;
        let part = json!({"type": "dynamic-tool", "toolName": "pay", "toolCallId": asked["toolCallId"],
            "state": "approval-responded", "input": {}, "approval": {"id": asked["approvalId"], "approved": approved}});
        let mut messages = vec![user("m1"), json!({"id": "m2", "role": "assistant", "parts": [part]})];
        messages.extend(says.then(|| user("m3")));
        let answer = client.post("/v1/ui", ask(&messages)).await;
        let status = answer.status();
        let answer = text(answer).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let parts = data(&answer);
        let said: String = parts.iter().filter_map(|part| part["delta"].as_str()).collect();
        assert_eq!(said, "Done.");
        assert!(says || parts.iter().any(|part| part["type"] == "tool-output-denied"), "{answer}");
        assert_eq!(told(&stage), "not executed: nobody decided in time");
    }
}
