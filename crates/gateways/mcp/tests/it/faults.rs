//! Servers that hang, break off, say too much, or tell secrets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use attache_core::tool::DynToolHandler;
use attache_core::{Arguments, ToolContext, ToolErrorKind};
use attache_mcp::{McpEndpoint, McpEra, McpLimits, McpServer};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde_json::json;

use super::common::{Answer, Scripted, call, complete, greeting, tool, tools};

const SOON: Duration = Duration::from_millis(200);

/// Waits until something holds, for as long as a slow machine may need.
async fn until(holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it does not come to hold");
}

#[tokio::test]
async fn a_call_that_hangs_is_a_timeout() {
    let scripted = Scripted::new(json!([tool("a")]), |_| Answer::Hang).await;
    let server = scripted.server().limits(McpLimits::new().with_call(SOON));
    let error = call(&server, "mcp_test___a").await.unwrap_err();
    assert_eq!((error.kind(), error.for_model()), {
        (ToolErrorKind::Timeout, "the server \"test\" did not answer in time")
    });
    // The deadline of the call wins where it is sooner.
    let server = scripted.server();
    let mut context = ToolContext::new();
    context.deadline = Some(Instant::now() + SOON);
    let arguments = Arguments::new("{}");
    let error = DynToolHandler::call(&server, "mcp_test___a", &arguments, context).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
}

#[tokio::test]
async fn many_calls_that_hang_hold_up_no_other() {
    let hanging = 40;
    let scripted = Scripted::new(json!([tool("a")]), |_| Answer::Hang).await;
    let server = scripted.server();
    tools(&server).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..hanging {
        let server = server.clone();
        calls.spawn(async move { call(&server, "mcp_test___a").await });
    }
    until(|| scripted.asked().iter().filter(|asked| asked.asks() == "tools/call").count() == hanging).await;
    // Nor a list.
    tools(&server).await.unwrap();
}

#[tokio::test]
async fn a_server_that_hangs_or_is_dead_is_not_available() {
    let silent = Scripted::raw(|_| Answer::Hang).await;
    let limits = McpLimits::new().with_connect(SOON);
    let error = tools(&silent.server().limits(limits)).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    assert!(error.for_model().contains("did not answer within 0.2 s"), "{error}");

    let gone = Scripted::raw(|_| Answer::Hang).await;
    let server = gone.server();
    drop(gone);
    let error = tools(&server).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    // It is left alone for a while.
    let error = tools(&server).await.unwrap_err();
    assert!(error.for_model().contains("it is tried again in"), "{error}");

    let lists = Scripted::raw(|asked| match asked.asks() {
        "tools/list" => Answer::Hang,
        other => greeting(other),
    })
    .await;
    let error = tools(&lists.server().limits(McpLimits::new().with_list(SOON))).await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout);
    // The message names the list.
    let lists = Scripted::raw(|asked| match asked.asks() {
        "resources/list" | "prompts/list" => Answer::Hang,
        other => greeting(other),
    })
    .await;
    let server = lists.server().resources().prompts().limits(McpLimits::new().with_list(SOON));
    for kind in ["resources", "prompts"] {
        let error = call(&server, &format!("mcp_test___{kind}/list")).await.unwrap_err();
        assert_eq!(error.for_model(), format!("the server \"test\" did not list its {kind} in time"));
    }
}

// Invariant 8: whoever stops waiting hangs up, which cancels a request of the newer era
#[tokio::test]
async fn a_call_that_is_dropped_is_hung_up_on() {
    let dropped = Arc::new(AtomicBool::new(false));
    struct Tell(Arc<AtomicBool>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let told = Arc::clone(&dropped);
    let scripted = Scripted::new(json!([tool("a")]), move |_| {
        let guard = Tell(Arc::clone(&told));
        let endless = stream::unfold(guard, |guard| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Bytes::from_static(b": at work\n\n"), guard))
        });
        Answer::events(endless.boxed())
    })
    .await;
    let server = scripted.server();
    tools(&server).await.unwrap();
    let waiting = tokio::time::timeout(SOON, call(&server, "mcp_test___a")).await;
    assert!(waiting.is_err() && !dropped.load(Ordering::Relaxed));
    until(|| dropped.load(Ordering::Relaxed)).await;
}

#[tokio::test]
async fn endless_and_huge_answers_are_bounded() {
    let small = McpLimits::new().with_message_bytes(64 << 10).with_call(Duration::from_secs(20));
    let event = Scripted::new(json!([tool("a")]), |_| {
        let piece = Bytes::from(vec![b'x'; 4 << 10]);
        let start = stream::iter([Bytes::from_static(b"data: ")]);
        Answer::events(start.chain(stream::repeat(piece)).boxed())
    })
    .await;
    let error = call(&event.server().limits(small), "mcp_test___a").await.unwrap_err();
    assert_ne!(error.kind(), ToolErrorKind::Timeout, "{error:?}");
    let body = Scripted::new(json!([tool("a")]), |_| {
        let pieces = stream::repeat(Bytes::from(vec![b' '; 4 << 10]));
        Answer::Http(200, vec![("content-type", "application/json".to_owned())], pieces.boxed())
    })
    .await;
    let error = call(&body.server().limits(small), "mcp_test___a").await.unwrap_err();
    assert_ne!(error.kind(), ToolErrorKind::Timeout, "{error:?}");
}

#[tokio::test]
async fn malformed_answers_are_typed_failures() {
    let answers: [fn() -> Answer; 7] = [
        || Answer::whole(200, "application/json", "{"),
        || Answer::whole(200, "application/json", "[]"),
        || Answer::whole(200, "text/html", "<html>canary</html>"),
        || Answer::whole(500, "text/html", "canary"),
        || Answer::whole(429, "text/plain", "canary"),
        || Answer::Result(json!({"resultType": "input_required", "inputRequests": {}, "requestState": "x"})),
        || Answer::Result(json!([1, 2])),
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        let scripted = Scripted::new(json!([tool("a")]), move |_| answer()).await;
        let server = scripted.server().limits(McpLimits::new().with_call(Duration::from_secs(20)));
        let error = call(&server, "mcp_test___a").await.unwrap_err();
        assert_ne!(error.kind(), ToolErrorKind::Timeout, "{at}: {error:?}");
        assert!(!error.for_model().contains("canary"), "{at}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_of_credentials_is_said_as_one() {
    for status in [401, 403] {
        let scripted = Scripted::raw(move |_| Answer::whole(status, "text/plain", "no")).await;
        let endpoint = McpEndpoint::new(scripted.url()).bearer("token-canary");
        for era in [McpEra::Auto, McpEra::Sessions, McpEra::Stateless] {
            let error = tools(&McpServer::http("test", endpoint.clone()).era(era)).await.unwrap_err();
            let text = error.for_model();
            assert!(!text.contains("canary"), "{text}");
            if status == 401 {
                assert!(text.contains("credentials"), "{era:?}: {text}");
            }
        }
    }
}

// A84, invariant 11: what a server was given it does not tell a model
#[tokio::test]
async fn secrets_that_a_server_repeats_are_masked() {
    let said = "token-canary-1234";
    // Texts that are not UTF-8 come so, from servers of ours too.
    let blob = attache_core::base64::encode([b"caf\xe9 ", said.as_bytes()].concat());
    let scripted = Scripted::new(
        json!([{"name": "a", "description": said, "inputSchema": {}}]),
        move |params| match params["arguments"]["fail"].as_bool() {
            Some(true) => Answer::Error(-32000, "token-canary-1234 is wrong"),
            _ => Answer::Result(complete(json!({
                "content": [
                    {"type": "text", "text": said},
                    {"type": "resource_link", "uri": format!("https://host/?key={said}"), "name": said},
                    {"type": "odd", "key": said},
                    {"type": "resource", "resource": {"uri": "f://a", "mimeType": "text/csv", "blob": blob}},
                ],
                "structuredContent": {"key": [said]},
            }))),
        },
    )
    .await;
    let server =
        McpServer::http("test", McpEndpoint::new(scripted.url()).bearer(said)).era(McpEra::Stateless);
    let offered = tools(&server).await.unwrap();
    assert!(!offered[0].definition.description().contains("canary"));
    let output = call(&server, "mcp_test___a").await.unwrap();
    assert!(!output.tree.json().contains("canary"), "{}", output.tree.json());
    assert!(!output.documents[0].file_name().unwrap_or_default().contains("canary"));
    assert_eq!(output.documents[1].bytes().unwrap()[..], b"caf\xe9 ***"[..]);
    let error = super::common::call_with(&server, "mcp_test___a", r#"{"fail":true}"#).await.unwrap_err();
    assert!(!format!("{error:?}").contains("canary") && error.for_model().contains("-32000"), "{error:?}");
}
