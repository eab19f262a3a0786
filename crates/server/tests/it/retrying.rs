//! Failures that clients try again by themselves, and those that they must not: the official SDKs ask twice more after
//! 409, 429 and 5xx, unless `x-should-retry` says otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_agent::{Agent, tool_fn};
use attache_core::{Approval, ErrorKind, ToolError};
use attache_testkit::Turn;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use crate::common::{Client, Stage, server};

const PATHS: [&str; 3] = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];

/// Asks in a dialect by its path, in a session if one is named.
async fn ask(client: &Client, path: &str, session: Option<&str>, stream: bool) -> Response {
    let said = json!([{"role": "user", "content": "Send it."}]);
    let body = match path {
        "/v1/responses" => json!({"model": "papers", "input": said, "stream": stream, "store": false}),
        _ => json!({"model": "papers", "max_tokens": 100, "messages": said, "stream": stream}),
    };
    let request =
        http::Request::builder().method("POST").uri(path).header("content-type", "application/json");
    let request = match session {
        Some(session) => request.header("x-attache-session", session),
        None => request,
    };
    client.send(request, body.to_string()).await
}

fn may_be_tried_again(response: &Response) -> bool {
    match response.headers().get("x-should-retry") {
        None => true,
        Some(value) => value != "false",
    }
}

fn fails(kind: ErrorKind) -> Turn {
    Turn::empty().then_error(kind)
}

#[tokio::test]
async fn a_run_that_has_begun_a_tool_is_not_tried_again() {
    for path in PATHS {
        for stream in [false, true] {
            let sent = Arc::new(AtomicUsize::new(0));
            let counting = Arc::clone(&sent);
            let send = tool_fn("send", "Sends", move || {
                counting.fetch_add(1, Ordering::SeqCst);
                Ok("sent")
            });
            let stage = Stage::new([Turn::call("send", json!({})), fails(ErrorKind::Overloaded)]);
            let client = Client::new(server(Agent::builder(stage).tool(send)));
            let failed = ask(&client, path, None, stream).await;
            assert_eq!(sent.load(Ordering::SeqCst), 1);
            // A stream that has told something has no other status.
            if !stream {
                assert_eq!(failed.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
            }
            if !failed.status().is_success() {
                assert!(!may_be_tried_again(&failed), "{path}, streamed: {stream}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_that_ends_its_run_is_not_tried_again() {
    for path in PATHS {
        let send = tool_fn("send", "Sends", || Err::<&str, _>(ToolError::abort("no post office")));
        let stage = Stage::new([Turn::call("send", json!({}))]);
        let client = Client::new(server(Agent::builder(stage).tool(send)));
        let failed = ask(&client, path, None, false).await;
        assert_eq!(
            (failed.status(), may_be_tried_again(&failed)),
            (StatusCode::BAD_GATEWAY, false),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_run_that_has_done_nothing_is_tried_again() {
    for path in PATHS {
        for stream in [false, true] {
            let client = Client::of([fails(ErrorKind::RateLimited)]);
            let failed = ask(&client, path, None, stream).await;
            assert_eq!((failed.status(), may_be_tried_again(&failed)), (StatusCode::TOO_MANY_REQUESTS, true));
        }
    }
}

// A session keeps the question of a run that failed, and would hear it again.
#[tokio::test]
async fn a_run_of_a_session_is_not_tried_again() {
    for path in PATHS {
        for stream in [false, true] {
            let client = Client::of([fails(ErrorKind::RateLimited)]);
            let failed = ask(&client, path, Some("s"), stream).await;
            assert_eq!(
                (failed.status(), may_be_tried_again(&failed)),
                (StatusCode::TOO_MANY_REQUESTS, false)
            );
        }
    }
}

#[tokio::test]
async fn a_conflict_that_stays_is_not_tried_again() {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let stage = Stage::new([Turn::call("pay", json!({})), Turn::text("Wait.").then_hang()]);
    let client = Client::new(server(Agent::builder(stage.clone()).tool(pay)));
    let run = client.run("s", "Pay.").await;
    let asked: Value = client.ended(&run).await;
    let waits = ask(&client, PATHS[0], Some("s"), false).await;
    assert_eq!((waits.status(), may_be_tried_again(&waits)), (StatusCode::CONFLICT, false));
    // One that another run is in the way of passes.
    let id = asked["snapshot"]["approvals"][0]["approvalId"].as_str().unwrap();
    client.post(&format!("/v1/approvals/{id}"), json!({"decision": "deny"})).await;
    stage.asked().await;
    let busy = client.post("/v1/sessions/s/runs", json!({"message": "And?"})).await;
    assert_eq!((busy.status(), may_be_tried_again(&busy)), (StatusCode::CONFLICT, true));
}
