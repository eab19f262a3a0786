//! Agents that mean harm: calls come to an end, are bounded, and leak nothing.

use std::convert::Infallible;
use std::time::Duration;

use attache_a2a::{A2aLimits, A2aPush};
use attache_core::ToolErrorKind;
use attache_core::tool::DynToolHandler;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};

use crate::support::*;

fn small() -> A2aLimits {
    A2aLimits::new().with_message_bytes(64 << 10).with_patience(Duration::from_secs(5))
}

#[tokio::test]
async fn a_huge_answer_is_not_read() {
    let fake = Fake::v1(false, |_, _| result(&message(&json!([{"text": "x".repeat(1 << 20)}])))).await;
    let error = ask(&fake.agent().limits(small())).await.unwrap_err();
    assert!(error.for_model().contains("more than the 65536 bytes"), "{error}");
}

#[tokio::test]
async fn an_endless_stream_is_bounded_in_bytes_and_its_task_cancelled() {
    let fake = Fake::v1(true, |asked, _| match asked.rpc() {
        "SendStreamingMessage" => {
            let working = Bytes::from(line(&json!({"task": task("WORKING")})));
            sse(Body::from_stream(stream::repeat_with(move || Ok::<_, Infallible>(working.clone()))))
        }
        _ => result(&task("CANCELED")),
    })
    .await;
    let error = ask(&fake.agent().limits(small())).await.unwrap_err();
    assert!(error.for_model().contains("more than the 65536 bytes"), "{error}");
    fake.was_asked("CancelTask").await;
}

#[tokio::test]
async fn a_task_that_is_told_again_and_again_with_other_pieces_is_bounded_in_time_and_number() {
    let told = |event: usize| {
        let piece = |at: usize| json!({"parts": [{"text": format!("x{:06}", event * 3_000 + at)}]});
        let mut task = task(if event < 5 { "WORKING" } else { "COMPLETED" });
        task["artifacts"] = (0..3_000).map(piece).collect();
        json!({"task": task})
    };
    let fake = Fake::v1(true, move |_, _| events(&(0..6).map(told).collect::<Vec<_>>())).await;
    let begun = std::time::Instant::now();
    let output = ask(&fake.agent()).await.unwrap();
    assert!(begun.elapsed() < A2aLimits::new().patience, "{:?}", begun.elapsed());
    let shown = output.tree.json();
    assert!(shown.contains("x015000") && shown.contains("9000 more pieces are left out"), "{shown}");
    assert!(shown.contains("earlier pieces may be missing"), "{shown}");
}

#[tokio::test]
async fn an_event_without_an_end_is_bounded() {
    let fake = Fake::v1(true, |_, _| {
        let piece = Bytes::from_static(b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        sse(Body::from_stream(stream::repeat_with(move || Ok::<_, Infallible>(piece.clone()))))
    })
    .await;
    assert!(ask(&fake.agent().limits(small())).await.is_err());
}

#[tokio::test]
async fn a_silent_agent_is_given_up() {
    let fake =
        Fake::v1(true, |_, _| sse(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()))).await;
    let error = ask(&fake.agent().limits(impatient())).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
}

#[tokio::test]
async fn malformed_frames_fail_the_call_and_nothing_else() {
    for frame in ["data: {\n\n", "data: []\n\n", "data: \u{fffd}\n\n", "data: {\"jsonrpc\":\"2.0\"}\n\n"] {
        let fake = Fake::v1(true, move |_, _| sse(Body::from(frame))).await;
        let error = ask(&fake.agent().limits(small())).await.unwrap_err();
        assert!(error.for_model().starts_with("the agent \"leases\" answers with"), "{error}");
    }
    for body in ["", "null", "<html>", "{\"result\":{}}", "{\"result\":{\"task\":{\"id\":\"\"}}}"] {
        let fake = Fake::v1(false, move |_, _| Response::new(Body::from(body))).await;
        assert!(ask(&fake.agent().limits(small())).await.is_err(), "{body}");
    }
}

// C17, C18
#[tokio::test]
async fn a_history_that_nests_without_an_end_is_read_to_a_bound() {
    let mut inside = String::from("[]");
    for _ in 0..3_000 {
        inside = format!(
            "[{{\"id\":\"t\",\"history\":{inside},\"artifacts\":[{{\"artifactId\":\"a\",\"parts\":[{{\"raw\":\"JVBERi0xLjc=\"}}]}}]}}]"
        );
    }
    let body = format!(
        "{{\"result\":{{\"task\":{{\"id\":\"t\",\"status\":{{\"state\":\"TASK_STATE_COMPLETED\"}},\"history\":{inside}}}}}}}"
    );
    let fake = Fake::v1(false, move |_, _| Response::new(Body::from(body.clone()))).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(output.documents.len(), 1, "the same document three thousand times is one");
}

#[tokio::test]
async fn documents_without_number_are_cut_with_a_note() {
    let parts: Vec<Value> = (0..50).map(|at| json!({"url": format!("https://h/{at}.pdf")})).collect();
    let fake = Fake::v1(false, move |_, _| result(&message(&json!(parts)))).await;
    let output = ask(&fake.agent().limits(A2aLimits::new().with_documents(10))).await.unwrap();
    assert_eq!(output.documents.len(), 10);
    assert!(output.tree.json().contains("40 more pieces are left out"), "{}", output.tree.json());
}

#[tokio::test]
async fn files_are_what_their_bytes_are() {
    let parts = json!([
        {"raw": "JVBERi0xLjc=", "mediaType": "text/plain", "filename": "a\u{7}.txt"},
        {"raw": "bm8gcG5n", "mediaType": "image/png"},
        {"url": "file:///etc/passwd", "mediaType": "text/plain"}, {"url": "javascript:alert(1)"},
        {"raw": "%%%", "filename": "broken.bin"}]);
    let fake = Fake::v1(false, move |_, _| result(&message(&parts))).await;
    let output = ask(&fake.agent()).await.unwrap();
    assert_eq!(output.documents.len(), 2);
    assert_eq!(output.documents[0].media_type().essence(), "application/pdf");
    assert_eq!(output.documents[0].file_name(), Some("a.txt"));
    assert!(!output.tree.json().contains("passwd"));
    assert!(output.tree.json().contains("its bytes are no base64"), "{}", output.tree.json());
}

#[tokio::test]
async fn secrets_that_an_agent_repeats_are_masked() {
    let secret = "canary-0123456789";
    let text = attache_core::base64::encode(format!("key: {secret}").as_bytes());
    let parts = json!([
        {"text": format!("you sent {secret}")}, {"data": {secret: [secret]}},
        {"raw": text, "mediaType": "text/plain", "filename": format!("{secret}.txt")},
        {"raw": attache_core::base64::encode([b"caf\xe9: ", secret.as_bytes()].concat()), "mediaType": "text/csv"},
        // A text whose type is not known as one, and one without words.
        {"text": format!("const key = '{secret}'"), "mediaType": "application/typescript"},
        {"text": " \n", "filename": "blank.txt"},
        {"url": format!("https://h/x.pdf?token={secret}")}, {"odd": secret}]);
    let card = move |url: &str| {
        let mut card = card_v1(url, false);
        card["description"] = json!(format!("Knows {secret}"));
        card["skills"][0]["id"] = json!(secret);
        card
    };
    let fake =
        Fake::new(card, move |asked, _| match asked.params()["message"]["parts"][0]["text"].as_str() {
            Some("fail") => error(-32603, &format!("no {secret}")),
            Some("stop") => {
                result(&json!({"task": task_saying("INPUT_REQUIRED", &format!("is it {secret}?"))}))
            }
            _ => result(&message(&parts)),
        })
        .await;
    let push = A2aPush::new("https://ours.example", "canary-push-secret");
    let agent = fake.agent().header("x-api-key", format!("Token {secret}")).push(push);
    let output = ask(&agent).await.unwrap();
    let file = output.documents[0].bytes().unwrap();
    let shown = format!("{} {:?} {file:?} {agent:?}", output.tree.json(), output.documents);
    assert!(!shown.contains("canary"), "{shown}");
    assert_eq!(file, "key: ***");
    // Of another encoding than UTF-8.
    assert_eq!(output.documents[1].bytes().unwrap()[..], b"caf\xe9: ***"[..]);
    assert_eq!(output.documents[2].bytes().unwrap(), "const key = '***'");
    assert_eq!(output.documents[3].file_name(), Some("blank.txt"));
    let failed = call(&agent, json!({"message": "fail"})).await.unwrap_err();
    assert!(!format!("{failed:?}").contains("canary"), "{failed:?}");
    let asked = call(&agent, json!({"message": "stop"})).await.unwrap().deferred.unwrap();
    assert_eq!(asked.prompt.as_deref(), Some("is it ***?"));
    for agent in [agent.clone(), agent.per_skill()] {
        let tools = DynToolHandler::tools(&agent).await.unwrap();
        assert!(!format!("{tools:?}").contains("canary"), "{tools:?}");
    }
}

#[tokio::test]
async fn a_card_without_an_end_or_of_no_use_is_refused() {
    for card in [json!("x".repeat(1 << 20)), json!([]), json!({"name": "x"})] {
        let fake = Fake::new(move |_| card.clone(), |_, _| result(&json!({}))).await;
        assert!(fake.agent().limits(small()).card().await.is_err());
    }
}
