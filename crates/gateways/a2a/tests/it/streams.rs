//! Streams that are cut, end early, or are none.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_a2a::A2aLimits;
use attache_core::BoxFuture;
use attache_core::tool::{Asking, Deferred, Listening, People, Progress, Unanswered};
use attache_core::{ToolCallId, ToolContext};
use attache_testkit::Turn;
use attache_transport::{HttpClient, RequestParts, Timeouts};
use http::HeaderName;
use serde_json::{Value, json};

use crate::server::{Ours, hello};
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
async fn a_look_at_a_task_does_not_take_what_was_streamed() {
    let piece = |text: &str| json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": {"parts": [{"text": text}]}}});
    let working = |file: &str| {
        json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING",
            "message": {"messageId": file, "role": "ROLE_AGENT", "parts": [{"raw": file, "filename": "a.bin"}]}}}})
    };
    let first = [piece("one"), piece("two"), working("YQ=="), working("Yg=="), completed()];
    let fake = Fake::v1(true, move |asked, _| match asked.rpc() {
        "SendStreamingMessage" => cut_after(&first[..4]),
        "SubscribeToTask" => events(&first[4..]),
        // Of a store that is behind, and keeps no history.
        _ => result(&task("WORKING")),
    })
    .await;
    let output = ask(&fake.agent()).await.unwrap();
    let shown = output.tree.json();
    assert!(shown.contains("one") && shown.contains("two"), "each without an id is its own: {shown}");
    assert_eq!(output.documents.len(), 2, "{shown}");
}

// A question that was answered long ago is not the word of the end.
#[tokio::test]
async fn the_words_of_the_end_outlast_a_look_at_a_store_that_is_behind() {
    let said = json!({"messageId": "end", "role": "ROLE_AGENT", "parts": [{"text": "The lease is signed."}]});
    let end = json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1",
        "status": {"state": "TASK_STATE_COMPLETED", "message": said}}});
    let fake = Fake::v1(true, move |asked, _| match asked.rpc() {
        "SendStreamingMessage" => cut_after(&[json!({"task": task("WORKING")})]),
        "SubscribeToTask" => events(std::slice::from_ref(&end)),
        _ => result(&task_saying("INPUT_REQUIRED", "Which bakery?")),
    })
    .await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "The lease is signed.");
    assert_eq!(fake.methods(), ["SendStreamingMessage", "SubscribeToTask", "GetTask"]);
}

// Chunks without ids are those of the artifact that they begin.
#[tokio::test]
async fn what_was_streamed_without_an_id_is_not_told_again_beside_the_whole() {
    let piece = |text: &str, appends: bool| {
        json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "append": appends,
        "artifact": {"parts": [{"text": text}]}}})
    };
    let begun = [piece("The lease ", false), piece("ends ", true)];
    let fake = Fake::v1(true, move |asked, _| match asked.rpc() {
        "SendStreamingMessage" => cut_after(&begun),
        "SubscribeToTask" => events(&[completed()]),
        _ => result(&json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"parts": [{"text": "The lease "}, {"text": "ends in 2031."}]}]})),
    })
    .await;
    assert_eq!(ask(&fake.agent()).await.unwrap().tree.model_text(), "The lease ends in 2031.");
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

/// A context, and the progress that is heard of its call.
pub(crate) fn hearing() -> (ToolContext, Arc<Mutex<Vec<Progress>>>) {
    let heard: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let told = Arc::clone(&heard);
    let mut context = ToolContext::new();
    let hears = move |_: &ToolCallId, progress| told.lock().unwrap().push(progress);
    context.listening = Listening::of(Arc::new(hears), ToolCallId::new());
    (context, heard)
}

// The words of an agent while it works are the progress of the call: by its stream, and where it is looked at.
#[tokio::test]
async fn what_an_agent_says_while_it_works_is_the_progress_of_the_call() {
    let working = |id: &str, text: &str| {
        json!({"taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING",
            "message": {"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]}}})
    };
    let said = move |id: &str, text: &str| {
        let mut task = working(id, text);
        task["id"] = json!("t-1");
        task
    };
    for streams in [true, false] {
        let fake = Fake::v1(streams, move |asked, count| match (asked.rpc(), count) {
            ("SendStreamingMessage", _) => events(&[
                json!({"task": task("WORKING")}),
                json!({"statusUpdate": working("m-1", "I read.")}),
                json!({"statusUpdate": working("m-2", "I write.")}),
                json!({"task": whole()}),
            ]),
            ("SendMessage", _) => result(&json!({"task": said("m-1", "I read.")})),
            (_, ..3) => result(&said("m-1", "I read.")),
            (_, 3) => result(&said("m-2", "I write.")),
            _ => result(&whole()),
        })
        .await;
        let (context, heard) = hearing();
        let output = call_with(&fake.agent(), json!({"message": "go"}), context).await.unwrap();
        assert_eq!(output.tree.model_text(), "all of it");
        let told = |done: f64, text: &str| Progress::new(done).with_message(text);
        assert_eq!(*heard.lock().unwrap(), [told(1.0, "I read."), told(2.0, "I write.")], "{streams}");
    }
}

/// People who answer at once.
struct Answers;

impl People for Answers {
    fn ask(&self, _: Deferred) -> BoxFuture<'static, Result<Value, Unanswered>> {
        Box::pin(async { Ok(json!("the one in Berlin")) })
    }

    fn left_off(&self) -> Option<String> {
        None
    }
}

// The words of a call are counted on behind a question of its task.
#[tokio::test]
async fn progress_does_not_begin_anew_behind_a_question() {
    let said = |state: &str, id: &str, text: &str| {
        json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": format!("TASK_STATE_{state}"),
            "message": {"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]}}}})
    };
    let fake = Fake::v1(true, move |asked, _| match asked.params()["message"]["parts"][0]["text"].as_str() {
        Some("the one in Berlin") => events(&[
            json!({"task": task("WORKING")}),
            said("WORKING", "m-4", "I write."),
            json!({"task": whole()}),
        ]),
        _ => events(&[
            json!({"task": task("WORKING")}),
            said("WORKING", "m-1", "I look."),
            said("WORKING", "m-2", "I read."),
            said("INPUT_REQUIRED", "m-3", "Which bakery?"),
        ]),
    })
    .await;
    let (mut context, heard) = hearing();
    context.asking = Asking::of(&Answers);
    let output = call_with(&fake.agent(), json!({"message": "go"}), context).await.unwrap();
    assert_eq!(output.tree.model_text(), "all of it");
    let heard = heard.lock().unwrap();
    let told: Vec<_> = heard.iter().map(|come| (come.done, come.message.as_deref().unwrap())).collect();
    assert_eq!(told, [(1.0, "I look."), (2.0, "I read."), (3.0, "I write.")]);
}

// One that knows no tasks cannot answer before it is done, whatever the connections of the program bear.
#[tokio::test]
async fn a_message_has_as_long_as_a_call_waits_for_its_answer() {
    let fake = Fake::v1(false, |_, _| {
        let late = futures_util::stream::once(async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let said = json!({"jsonrpc": "2.0", "id": "1", "result": message(&json!([{"text": "2031"}]))});
            Ok::<_, std::convert::Infallible>(said.to_string())
        });
        let mut answer = axum::response::Response::new(axum::body::Body::from_stream(late));
        answer.extensions_mut().insert(Late(Duration::from_millis(500)));
        answer
    })
    .await;
    let limits =
        A2aLimits::new().with_request(Duration::from_millis(200)).with_patience(Duration::from_secs(20));
    let short = Duration::from_millis(200);
    let timeouts = Timeouts::new().with_first_byte(short).with_idle(short).with_total(short);
    let client = HttpClient::shared().with_timeouts(timeouts);
    // The card is a short request.
    let agent = fake.agent().limits(limits).client(client);
    assert_eq!(ask(&agent).await.unwrap().tree.model_text(), "2031");
}

// An agent behind a proxy that gives up may well work on what it was asked.
#[tokio::test]
async fn a_failure_of_the_server_does_not_say_that_nothing_was_begun() {
    for (status, is_known) in [(503, false), (504, false), (408, false), (429, true), (400, true)] {
        let fake = Fake::v1(false, move |_, _| {
            axum::response::Response::builder().status(status).body("".into()).unwrap()
        })
        .await;
        let error = ask(&fake.agent()).await.unwrap_err();
        let says = error.for_model().contains("it is not known if it works on it");
        assert_eq!(says, !is_known, "{status}: {error}");
    }
}

// A2A 1.0 section 3.2.4
#[tokio::test]
async fn a_stream_begins_with_as_much_of_the_conversation_as_is_asked_for() {
    for (method, role) in [("SendStreamingMessage", "ROLE_USER"), ("message/stream", "user")] {
        for (length, is_told) in [(json!(0), false), (Value::Null, true)] {
            let ours = Ours::new([Turn::text("In 2031.")]).await;
            let mut params = hello();
            params["message"]["role"] = role.into();
            params["configuration"] = json!({"historyLength": length});
            let body = json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": params});
            let parts = RequestParts::post_json(&ours.url, body.to_string());
            let parts = parts.with_header(HeaderName::from_static("x-user"), "ann");
            let reply = HttpClient::shared().answer(&parts).await.unwrap();
            let text = String::from_utf8(reply.bytes(1 << 20).await.unwrap().to_vec()).unwrap();
            let told = text.lines().next().unwrap();
            assert!(told.contains("contextId"), "{told}");
            assert_eq!(told.contains("\"history\""), is_told, "{method} {length}: {told}");
        }
    }
}
