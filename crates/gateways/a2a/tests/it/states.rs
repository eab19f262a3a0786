//! The states of tasks: results, failures, questions, and calls that are deferred.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_a2a::{A2aPush, A2aPushError, A2aQuestions, A2aUpdate};
use attache_agent::{Agent, EndReason, Journal, MemoryDocumentStore, MemoryJournal, deliver};
use attache_core::{ResultStatus, ToolErrorKind, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use axum::body::Body;
use axum::response::Response;
use serde_json::{Value, json};

use crate::support::*;

// C35
#[tokio::test]
async fn a_task_that_fails_is_a_failed_result_with_what_there_is() {
    for state in ["FAILED", "REJECTED", "CANCELED"] {
        let mut task = task_saying(state, "no such lease");
        task["artifacts"] = json!([{"artifactId": "a", "parts": [{"raw": "JVBERi0xLjc="}]}]);
        let fake = Fake::v1(false, move |_, _| result(&json!({"task": task}))).await;
        let output = ask(&fake.agent()).await.unwrap();
        assert_eq!((output.status, output.documents.len()), (ResultStatus::Error, 1));
        let tree: Value = serde_json::from_str(output.tree.json()).unwrap();
        assert_eq!(tree["state"], state.to_ascii_lowercase());
        assert_eq!(tree["content"][1]["text"], "no such lease");
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_is_a_failed_call() {
    let fake = Fake::v1(false, |_, _| error(-32005, "only text is taken")).await;
    let error = ask(&fake.agent()).await.unwrap_err();
    assert_eq!(error.for_model(), "the agent \"leases\" answers with error -32005: only text is taken");
}

/// An agent that asks the same twice, and is told with the answers.
async fn asks_twice() -> Fake {
    Fake::v1(false, |asked, _| {
        let sent = &asked.params()["message"];
        match (asked.rpc(), sent["parts"][0]["text"].as_str()) {
            ("CancelTask", _) => result(&task("CANCELED")),
            (_, Some("the one in Berlin")) => {
                result(&json!({"task": task_saying("COMPLETED", "the bakery's lease ends in 2031")}))
            }
            _ => result(&json!({"task": task_saying("INPUT_REQUIRED", "Which bakery?")})),
        }
    })
    .await
}

fn asking(fake: &Fake, turns: impl IntoIterator<Item = Turn>) -> (Agent, ScriptedModel) {
    let model = ScriptedModel::new(turns);
    (Agent::builder(model.clone()).handler(fake.agent()).build().unwrap(), model)
}

// C35: the reply goes back to the same task and conversation, in another process
#[tokio::test]
async fn a_question_is_one_to_the_user_and_each_reply_goes_to_the_same_task() {
    let fake = asks_twice().await;
    let journal = Arc::new(MemoryJournal::new());
    let (ours, _) = asking(&fake, [Turn::call("a2a_leases___ask", json!({"message": "the bakery?"}))]);
    let mut outcome = ours.run_in(journal.clone(), "Until when?").outcome().await.unwrap();
    let mut model = None;
    for (answer, said) in [("the red one", None), ("the one in Berlin", Some("In 2031."))] {
        assert_eq!(outcome.reason, EndReason::InputRequired, "{answer}");
        let request = outcome.deferred[0].clone();
        assert_eq!(request.deferred.prompt.as_deref(), Some("Which bakery?"));
        // The handle of the question is one of its task too.
        let handle = request.deferred.handle.as_deref().unwrap();
        assert!(matches!(fake.agent().poll(handle).await.unwrap(), A2aUpdate::Asks(_)));
        let (ours, other) = asking(&fake, said.map(Turn::text));
        outcome = ours.resume(journal.clone()).reply(&request.call.id, answer).outcome().await.unwrap();
        model = Some(other);
    }
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "In 2031."));
    let shown = format!("{:?}", model.unwrap().requests()[0].messages);
    assert!(shown.contains("the bakery's lease ends in 2031"), "{shown}");
    let all = fake.asked();
    let sent: Vec<&Value> = all
        .iter()
        .filter(|asked| asked.rpc() == "SendMessage")
        .map(|asked| &asked.params()["message"])
        .collect();
    let said: Vec<&Value> = sent.iter().map(|sent| &sent["parts"][0]["text"]).collect();
    assert_eq!(said, ["the bakery?", "the red one", "the one in Berlin"]);
    for sent in &sent[1..] {
        assert_eq!((&sent["taskId"], &sent["contextId"]), (&json!("t-1"), &json!("c-1")));
    }
}

/// A stream that gives a file, asks with another one, and ends behind the answer. `forgets` says that the agent does not
/// know the task any more then.
async fn gives_files_and_asks(forgets: bool) -> Fake {
    let file = |name: &str| json!({"raw": "JVBERi0xLjc=", "filename": name});
    let lease =
        json!({"artifactId": "a", "parts": [file("lease.pdf"), {"text": "a,b", "filename": "rent.csv"}]});
    let question = json!({"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "As in this plan?"},
        {"url": "https://files.example/plan.png", "filename": "plan.png"}]});
    let status = |state: &str, message: Option<&Value>| json!({"state": format!("TASK_STATE_{state}"), "message": message});
    let update =
        |status: Value| json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": status}});
    let first = [
        json!({"task": task("WORKING")}),
        json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": lease}}),
        update(status("INPUT_REQUIRED", Some(&question))),
    ];
    let second = [update(status("COMPLETED", None))];
    let mut whole = task("COMPLETED");
    (whole["artifacts"], whole["history"]) = (json!([lease]), json!([question]));
    Fake::v1(true, move |asked, _| match (asked.rpc(), asked.params()["message"]["taskId"].as_str()) {
        ("SendStreamingMessage", None) => events(&first),
        ("SendStreamingMessage", Some(_)) => events(&second),
        ("GetTask", _) if !forgets => result(&whole),
        _ => error(-32001, "Task not found"),
    })
    .await
}

#[tokio::test]
async fn what_an_agent_gave_before_its_question_stands_in_the_result() {
    let names = |output: &attache_a2a::A2aOutput| -> Vec<_> {
        output.documents().map(|document| document.file_name().map(str::to_owned)).collect()
    };
    let prompt = "As in this plan?\nFiles so far: lease.pdf, rent.csv, plan.png";
    let lease_and_plan = ["lease.pdf", "rent.csv", "plan.png"].map(|name| Some(name.to_owned()));
    // In a run whose process is another one behind the question.
    let fake = gives_files_and_asks(false).await;
    let journal = Arc::new(MemoryJournal::new());
    let (ours, _) = asking(&fake, [Turn::call("a2a_leases___ask", json!({"message": "draw"}))]);
    let outcome = ours.run_in(journal.clone(), "A lease.").outcome().await.unwrap();
    let request = outcome.deferred[0].clone();
    assert_eq!(request.deferred.prompt.as_deref(), Some(prompt));
    let (ours, model) = asking(&fake, [Turn::text("Here.")]);
    ours.resume(journal).reply(&request.call.id, "yes").outcome().await.unwrap();
    let seen = format!("{:?}", model.requests()[0].messages);
    assert!(seen.contains("lease.pdf") && seen.contains("plan.png"), "{seen}");
    // Of a call that ended with the question.
    let agent = fake.agent();
    let deferred = ask(&agent).await.unwrap().deferred.unwrap();
    assert_eq!(deferred.prompt.as_deref(), Some(prompt));
    let A2aUpdate::Done(output) = agent.answer(&deferred.handle.unwrap(), "yes").await.unwrap() else {
        panic!()
    };
    assert_eq!(names(&output), lease_and_plan);
    // An agent that does not tell it again has it said that something may be missing.
    let agent = gives_files_and_asks(true).await;
    let deferred = ask(&agent.agent()).await.unwrap().deferred.unwrap();
    let answered = agent.agent().answer(&deferred.handle.unwrap(), "yes").await.unwrap();
    assert!(format!("{answered:?}").contains("earlier pieces may be missing"), "{answered:?}");
}

#[tokio::test]
async fn a_question_that_is_declined_cancels_its_task() {
    let fake = asks_twice().await;
    let journal = Arc::new(MemoryJournal::new());
    let (ours, _) = asking(&fake, [Turn::call("a2a_leases___ask", json!({"message": "the bakery?"}))]);
    let outcome = ours.run_in(journal.clone(), "Until when?").outcome().await.unwrap();
    let (ours, model) = asking(&fake, [Turn::text("Nobody knows.")]);
    deliver(&*journal, ToolResult::error(&outcome.deferred[0].call, "not now")).await.unwrap();
    assert_eq!(ours.resume(journal).outcome().await.unwrap().text, "Nobody knows.");
    let shown = format!("{:?}", model.requests()[0].messages);
    assert!(shown.contains("asks, and somebody declined to answer"), "{shown}");
    assert_eq!(fake.methods(), ["SendMessage", "CancelTask"]);
}

// A call without people behind it.
#[tokio::test]
async fn a_question_that_nobody_hears_is_a_deferred_call_that_the_program_answers() {
    let fake = asks_twice().await;
    let deferred = ask(&fake.agent()).await.unwrap().deferred.unwrap();
    assert_eq!(deferred.prompt.as_deref(), Some("Which bakery?"));
    let handle = deferred.handle.unwrap();
    assert_eq!(handle, "a2a://leases/t-1?context=c-1");
    let update = fake.agent().answer(&handle, "the one in Berlin").await.unwrap();
    assert!(matches!(update, A2aUpdate::Done(_)), "{update:?}");
}

#[tokio::test]
async fn leave_that_an_agent_needs_is_asked_for() {
    let fake =
        Fake::v1(false, |_, _| result(&json!({"task": task_saying("AUTH_REQUIRED", "log in at https://h")})))
            .await;
    let output = ask(&fake.agent()).await.unwrap();
    let deferred = output.deferred.unwrap();
    let prompt = deferred.prompt.unwrap();
    assert!(prompt.contains("needs authorisation: log in at https://h"), "{prompt}");
    let again = fake.agent().answer(&deferred.handle.unwrap(), "done").await.unwrap();
    assert!(matches!(again, A2aUpdate::Asks(question) if question.needs_auth));
}

#[tokio::test]
async fn a_question_to_the_model_shows_the_task_that_it_may_answer() {
    let fake = Fake::v1(false, |asked, _| match asked.params()["message"]["taskId"].as_str() {
        Some("t-1") => result(&json!({"task": task_saying("COMPLETED", "2031")})),
        _ => result(&json!({"task": task_saying("INPUT_REQUIRED", "Which bakery?")})),
    })
    .await;
    let agent = fake.agent().questions(A2aQuestions::Model);
    let output = ask(&agent).await.unwrap();
    let tree: Value = serde_json::from_str(output.tree.json()).unwrap();
    assert_eq!((&tree["state"], &tree["task"]), (&json!("input-required"), &json!("t-1")));
    assert!(output.deferred.is_none());
    let output =
        call(&agent, json!({"message": "Berlin", "task": "t-1", "conversation": "c-1"})).await.unwrap();
    assert_eq!(output.tree.model_text(), "2031");
}

/// An agent that asks, and does not answer what it is told then. `state` is that of its task behind that.
async fn silent_behind_an_answer(state: &'static str) -> Fake {
    Fake::v1(false, move |asked, _| match (asked.rpc(), asked.params()["message"]["taskId"].as_str()) {
        ("SendMessage", Some(_)) => {
            let mut never = result(&task("WORKING"));
            never.extensions_mut().insert(Late(Duration::from_secs(60)));
            never
        }
        ("SendMessage", None) => result(&json!({"task": task_saying("INPUT_REQUIRED", "Which bakery?")})),
        ("CancelTask", _) => result(&task("CANCELED")),
        _ => result(&task(state)),
    })
    .await
}

// It was an error that it is not known if the agent works on it.
#[tokio::test]
async fn the_task_of_an_answer_is_followed_though_the_agent_is_silent() {
    let (answer, handle) =
        (json!({"message": "Berlin", "task": "t-1", "conversation": "c-1"}), "a2a://leases/t-1?context=c-1");
    let fake = silent_behind_an_answer("WORKING").await;
    let agent = fake.agent().questions(A2aQuestions::Model).limits(impatient());
    ask(&agent).await.unwrap();
    let deferred = call(&agent, answer.clone()).await.unwrap().deferred.unwrap();
    assert_eq!(deferred.handle.as_deref(), Some(handle));
    assert!(matches!(agent.answer(handle, "Berlin").await.unwrap(), A2aUpdate::Working));
    assert!(!fake.methods().contains(&"CancelTask".to_owned()), "{:?}", fake.methods());
    // One that is dropped is cancelled.
    let agent = fake.agent().questions(A2aQuestions::Model);
    let before = fake.methods().len();
    let calling = tokio::spawn(async move { call(&agent, answer).await });
    while fake.methods().len() == before {
        tokio::task::yield_now().await;
    }
    calling.abort();
    fake.was_asked("CancelTask").await;
    assert_eq!(fake.asked().last().unwrap().params()["id"], "t-1");
}

#[tokio::test]
async fn an_answer_that_a_gateway_gave_up_on_is_looked_for() {
    let fake =
        Fake::v1(false, |asked, _| match (asked.rpc(), asked.params()["message"]["taskId"].as_str()) {
            ("SendMessage", Some("t-1")) => {
                Response::builder().status(504).body(Body::from("too late")).unwrap()
            }
            ("SendMessage", Some(_)) => error(-32001, "Task not found"),
            _ => result(&task_saying("COMPLETED", "2031")),
        })
        .await;
    let agent = fake.agent().questions(A2aQuestions::Model);
    let answer = |task: &str| json!({"message": "Berlin", "task": task, "conversation": "c-1"});
    assert_eq!(call(&agent, answer("t-1")).await.unwrap().tree.model_text(), "2031");
    // An answer that was not taken is neither looked for nor cancelled.
    assert!(call(&agent, answer("t-2")).await.unwrap_err().for_model().contains("-32001"));
    assert_eq!(fake.methods(), ["SendMessage", "GetTask", "SendMessage"]);
}

#[tokio::test]
async fn a_stream_behind_an_answer_that_says_nothing_is_that_of_its_task() {
    let fake = Fake::v1(true, |asked, _| match (asked.rpc(), asked.params()["message"]["taskId"].as_str()) {
        ("SendStreamingMessage", Some("t-1")) => silent_after(&[]),
        ("SendStreamingMessage", _) => {
            let refusal =
                json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32001, "message": "no such task"}});
            sse(Body::from(format!("data: {refusal}\n\n")))
        }
        _ => result(&task("WORKING")),
    })
    .await;
    let agent = fake.agent().questions(A2aQuestions::Model).limits(impatient());
    let answer = |task: &str| json!({"message": "Berlin", "task": task, "conversation": "c-1"});
    let deferred = call(&agent, answer("t-1")).await.unwrap().deferred.unwrap();
    assert_eq!(deferred.handle.as_deref(), Some("a2a://leases/t-1?context=c-1"));
    assert!(call(&agent, answer("t-2")).await.unwrap_err().for_model().contains("-32001"));
    // A word to the agent would come before these looks.
    for _ in 0..10 {
        assert!(matches!(agent.poll("a2a://leases/t-1").await.unwrap(), A2aUpdate::Working));
    }
    assert!(!fake.methods().contains(&"CancelTask".to_owned()), "{:?}", fake.methods());
}

// C35: a task that lasts longer than a call may wait is a deferred call that survives restarts
#[tokio::test]
async fn a_task_that_takes_long_becomes_a_deferred_call_that_is_delivered_later() {
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let fake = Fake::v1(true, move |asked, _| match asked.rpc() {
        "SendStreamingMessage" => silent_after(&[json!({"task": task("WORKING")})]),
        "GetTask" if done.load(Ordering::SeqCst) => {
            let mut task = task("COMPLETED");
            task["artifacts"] =
                json!([{"artifactId": "a", "parts": [{"raw": "JVBERi0xLjc=", "filename": "lease.pdf"}]}]);
            result(&task)
        }
        _ => result(&task("WORKING")),
    })
    .await;
    let agent = fake.agent().limits(impatient()).lifetime(Duration::from_secs(86_400));
    let store = Arc::new(MemoryDocumentStore::new("memory"));
    let model = ScriptedModel::new([
        Turn::call("a2a_leases___ask", json!({"message": "draw it up"})),
        Turn::text("Here."),
    ]);
    let ours = Agent::builder(model.clone()).handler(agent).store(store.clone()).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = ours.run_in(journal.clone(), "A lease, please.").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::PendingExternal);
    let request = outcome.deferred[0].clone();
    assert!(request.deferred.expires_at.is_some());
    let handle = request.deferred.handle.unwrap();
    assert_eq!(handle, "a2a://leases/t-1?context=c-1");

    let later = fake.agent();
    assert!(matches!(later.poll(&handle).await.unwrap(), A2aUpdate::Working));
    is_done.store(true, Ordering::SeqCst);
    let A2aUpdate::Done(output) = later.poll(&handle).await.unwrap() else { panic!() };
    let entries = journal.load().await.unwrap().len();
    deliver(&*journal, output.into_result(&request.call, &*store).await.unwrap()).await.unwrap();
    assert!(journal.load().await.unwrap().len() >= entries);
    let outcome = ours.resume(journal).outcome().await.unwrap();
    assert_eq!(outcome.text, "Here.");
    let requests = model.requests();
    let seen = attache_testkit::documents(requests.last().unwrap());
    assert_eq!(seen.iter().map(|document| document.file_name()).collect::<Vec<_>>(), [Some("lease.pdf")]);
    // Nobody cancelled what somebody waits for.
    assert!(!fake.methods().contains(&"CancelTask".to_owned()));
}

#[tokio::test]
async fn a_task_that_may_not_be_deferred_is_cancelled_when_its_time_is_up() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => silent_after(&[json!({"task": task("WORKING")})]),
        _ => result(&task("CANCELED")),
    })
    .await;
    let error = ask(&fake.agent().limits(impatient()).defers(false)).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
    fake.was_asked("CancelTask").await;
}

#[tokio::test]
async fn a_call_that_is_dropped_cancels_its_task() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => events(&[json!({"task": task("WORKING")})]),
        "SubscribeToTask" => silent_after(&[]),
        _ => result(&task("CANCELED")),
    })
    .await;
    let agent = fake.agent();
    let calling = tokio::spawn(async move { ask(&agent).await });
    // It knows the task then.
    fake.was_asked("SubscribeToTask").await;
    calling.abort();
    fake.was_asked("CancelTask").await;
    assert_eq!(fake.asked().last().unwrap().params()["id"], "t-1");
}

// The task is that of a deferred call, which somebody waits for.
#[tokio::test]
async fn an_answer_that_is_given_up_leaves_its_task_alone() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => events(&[json!({"task": task("WORKING")})]),
        "SubscribeToTask" => silent_after(&[]),
        _ => result(&task("WORKING")),
    })
    .await;
    let (agent, handle) = (fake.agent(), "a2a://leases/t-1?context=c-1");
    let answering = tokio::spawn(async move { agent.answer(handle, "the one in Berlin").await });
    // It knows the task then.
    fake.was_asked("SubscribeToTask").await;
    answering.abort();
    assert!(answering.await.unwrap_err().is_cancelled());
    // A word to the agent would come before these looks.
    for _ in 0..10 {
        assert!(matches!(fake.agent().poll(handle).await.unwrap(), A2aUpdate::Working));
    }
    assert!(!fake.methods().contains(&"CancelTask".to_owned()), "{:?}", fake.methods());
}

#[tokio::test]
async fn notifications_are_asked_for_and_believed_by_their_token_alone() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => silent_after(&[json!({"task": task("WORKING")})]),
        "CreateTaskPushNotificationConfig" => result(asked.params()),
        _ => result(&task("WORKING")),
    })
    .await;
    let push = A2aPush::new("https://ours.example/a2a", "a secret of thirty-two characters");
    let agent = fake.agent().limits(impatient()).push(push);
    let handle = ask(&agent).await.unwrap().deferred.unwrap().handle.unwrap();
    let set =
        fake.asked().into_iter().find(|asked| asked.rpc() == "CreateTaskPushNotificationConfig").unwrap();
    assert_eq!(
        (&set.params()["taskId"], &set.params()["url"]),
        (&json!("t-1"), &json!("https://ours.example/a2a"))
    );
    let token = set.params()["token"].as_str().unwrap();

    let mut headers = http::HeaderMap::new();
    headers.insert("x-a2a-notification-token", token.parse().unwrap());
    let told = |task: &str| {
        json!({"statusUpdate": {"taskId": task, "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}}).to_string()
    };
    assert_eq!(agent.notified(&headers, told("t-1").as_bytes()).unwrap().to_string(), handle);
    // Version 0.3 sends the task.
    let old = json!({"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": "completed"}})
        .to_string();
    assert_eq!(agent.notified(&headers, old.as_bytes()).unwrap().to_string(), handle);
    assert_eq!(agent.notified(&headers, told("t-2").as_bytes()), Err(A2aPushError::Forged));
    assert_eq!(agent.notified(&http::HeaderMap::new(), told("t-1").as_bytes()), Err(A2aPushError::Forged));
    assert_eq!(agent.notified(&headers, b"{}"), Err(A2aPushError::Malformed));
    assert_eq!(fake.agent().notified(&headers, told("t-1").as_bytes()), Err(A2aPushError::Unasked));
}

#[tokio::test]
async fn tasks_of_other_agents_are_not_known() {
    let fake = Fake::v1(false, |_, _| error(-32001, "Task not found")).await;
    let agent = fake.agent();
    for odd in ["", "t-1", "a2a://other/t-1", "a2a://leases/"] {
        assert!(agent.poll(odd).await.is_err(), "{odd}");
    }
    assert!(fake.asked().is_empty());
    assert!(agent.poll("a2a://leases/t-9").await.unwrap_err().for_model().contains("-32001"));
}
