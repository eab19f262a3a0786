//! Agents that wait for people themselves: their callers are told of each question meanwhile, and answer it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_a2a::{A2aServer, A2aTargets};
use attache_agent::{Agent, Look, Marks, Memory, MemorySessions, Past, Sessions, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{Approval, ToolError};
use attache_testkit::{ScriptedModel, Turn};
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::notifying::Place;
use crate::server::{Ours, hello};

/// Far longer than a test takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Far shorter than that.
const SOON: Duration = Duration::from_secs(10);

/// An agent that pays and asks, by itself and through another one.
fn agent(model: &ScriptedModel, patience: Duration) -> Agent {
    let pay = || tool_fn("pay", "Pays", || Ok::<_, ToolError>("paid")).with_approval(Approval::Always);
    let which = tool_fn("which", "Asks which", || Ok::<_, ToolError>(Deferred::ask("Which bakery?")));
    let inside = ScriptedModel::new([Turn::call("pay", json!({})), Turn::text("the office has paid")]);
    let office = Agent::builder(inside).tool(pay()).build().unwrap();
    Agent::builder(model.clone())
        .tool(pay())
        .tool(which)
        .tool(office.as_tool("office", "Pays for others"))
        .patience(patience)
        .build()
        .unwrap()
}

async fn serve(agent: Agent, change: impl FnOnce(A2aServer) -> A2aServer) -> Ours {
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::default()));
    Ours::serving(sessions, |server| change(server.caller_approves(true))).await
}

/// An answer of the agent to a message that is waited for.
async fn said(served: &Ours, task: Option<&Value>, text: &str) -> Value {
    told(served, task, json!([{"text": text}])).await
}

async fn told(served: &Ours, task: Option<&Value>, parts: Value) -> Value {
    let mut params = hello();
    params["message"]["parts"] = parts;
    if let Some(task) = task {
        params["message"]["taskId"] = task["id"].clone();
    }
    let sent = timeout(SOON, served.rpc("ann", "SendMessage", params)).await.expect("nobody answers");
    sent.unwrap()["task"].clone()
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_caller_of_a_patient_agent_is_asked_and_answers_while_it_waits() {
    for patience in [PATIENCE, Duration::ZERO] {
        for (call, asked, answer, result) in [
            ("pay", "May \"pay\" be called?", "yes", "paid"),
            ("pay", "May \"pay\" be called?", "no", "not executed: the caller says no"),
            ("which", "Which bakery?", "Berlin", "Berlin"),
            ("office", "May \"pay\" be called?", "yes", "the office has paid"),
        ] {
            let model = ScriptedModel::new([Turn::call(call, json!({"task": "pay"})), Turn::text("Done.")]);
            let served = serve(agent(&model, patience), |server| server).await;
            let task = said(&served, None, "hello").await;
            assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED", "{call} {patience:?}");
            assert_eq!(task["status"]["message"]["parts"][0]["text"], asked);
            let seen = timeout(SOON, served.rpc("ann", "GetTask", json!({"id": task["id"]}))).await.unwrap();
            assert_eq!(state(&seen.unwrap()), "TASK_STATE_INPUT_REQUIRED");
            let done = said(&served, Some(&task), answer).await;
            assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{call} {answer} {patience:?}: {done}");
            let read = format!("{:?}", model.requests()[1].messages);
            assert!(read.contains(result), "{call} {answer}: {read}");
        }
    }
}

// The question that was answered is no reason to stop waiting for the next one.
#[tokio::test]
async fn each_question_of_a_patient_agent_is_asked_once() {
    let turns = ["pay", "which", "pay"].map(|call| Turn::call(call, json!({})));
    let model = ScriptedModel::new(turns.into_iter().chain([Turn::text("Done.")]));
    let served = serve(agent(&model, PATIENCE), |server| server).await;
    let mut task = said(&served, None, "hello").await;
    for (answer, step) in [("yes", 1), ("Berlin", 2)] {
        assert_eq!((state(&task), model.requests().len()), ("TASK_STATE_INPUT_REQUIRED", step));
        task = said(&served, Some(&task), answer).await;
    }
    // Words beside a decision reach the model, too.
    let no = json!([{"text": "too much"}, {"data": {"approved": false, "most": 5}}]);
    task = told(&served, Some(&task), no).await;
    let read = format!("{:?}", model.requests()[3].messages);
    assert!(read.contains("the caller says no") && read.contains("too much"), "{read}");
    assert_eq!((state(&task), model.requests().len()), ("TASK_STATE_COMPLETED", 4));
}

#[tokio::test]
async fn a_stream_and_a_notification_tell_the_question_of_a_patient_agent() {
    for call in ["pay", "which", "office"] {
        let turns = [Turn::call(call, json!({"task": "pay"})), Turn::text("Done.")];
        let served = serve(agent(&ScriptedModel::new(turns), PATIENCE), |server| server).await;
        let body = hello().to_string();
        let streamed = served.request(Method::POST, "ann", "/message:stream", &body, "1.0");
        assert_eq!(timeout(SOON, streamed).await.expect("the stream does not end").0, 200, "{call}");
        let listed = served.rpc("ann", "ListTasks", json!({})).await.unwrap();
        assert_eq!(state(&listed["tasks"][0]), "TASK_STATE_INPUT_REQUIRED", "{call}");
    }
    let turns = [Turn::call("pay", json!({})), Turn::call("which", json!({})), Turn::text("Done.")];
    let notifies = |server: A2aServer| server.notifies_to(A2aTargets::Any);
    let served = serve(agent(&ScriptedModel::new(turns), PATIENCE), notifies).await;
    let mut place = Place::refusing(0).await;
    let mut params = hello();
    params["configuration"] =
        json!({"returnImmediately": true, "taskPushNotificationConfig": {"url": place.url}});
    let task = served.rpc("ann", "SendMessage", params).await.unwrap()["task"].clone();
    for (asked, answer) in [("May \"pay\" be called?", "yes"), ("Which bakery?", "Berlin")] {
        let (_, told) = place.next().await;
        assert_eq!(told["task"]["status"]["message"]["parts"][0]["text"], asked);
        said(&served, Some(&task), answer).await;
    }
    assert_eq!(state(&place.next().await.1["task"]), "TASK_STATE_COMPLETED");
}

/// A memory that panics once, when the run is under way.
struct Panics(AtomicUsize);

impl Memory for Panics {
    fn look(&self, past: &Past<'_>, _: &mut Marks) -> Look {
        assert_ne!(self.0.fetch_add(1, Ordering::SeqCst), 0, "the memory panics");
        Look::Show { messages: past.history.to_vec(), evicted: 0 }
    }
}

#[tokio::test]
async fn a_task_whose_driver_panicked_goes_on_when_somebody_asks_for_it() {
    let model = ScriptedModel::new([Turn::text("Done.")]);
    let agent = Agent::builder(model).memory(Panics(AtomicUsize::new(0))).build().unwrap();
    let served = serve(agent, |server| server).await;
    let mut task = said(&served, None, "hello").await;
    let goes_on = async {
        while state(&task) != "TASK_STATE_COMPLETED" {
            tokio::time::sleep(Duration::from_millis(20)).await;
            task = served.rpc("ann", "GetTask", json!({"id": task["id"]})).await.unwrap();
        }
    };
    timeout(SOON, goes_on).await.expect("nobody drives it");
}
