//! Both eras of the protocol over HTTP, and what is sent with each request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_core::ToolErrorKind;
use attache_core::tool::DynToolHandler;
use attache_mcp::{McpEndpoint, McpEra, McpLimits, McpRequest, McpServer};
use futures_util::stream::{self, StreamExt};
use http::Method;
use serde_json::json;

use super::common::{Answer, Asked, Scripted, call, complete, greeting, names, tool, tools};

/// A server of the older era: it knows no discovery, and gives each handshake a session.
pub(crate) fn older(asked: &Asked, session: &str) -> Answer {
    let with_session = |result: serde_json::Value| {
        let id = &asked.body["id"];
        let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        let headers =
            vec![("content-type", "application/json".to_owned()), ("mcp-session-id", session.to_owned())];
        Answer::Http(200, headers, stream::iter([body.into()]).boxed())
    };
    if asked.method == Method::GET {
        return Answer::whole(405, "text/plain", "");
    }
    if asked.method == Method::DELETE {
        return Answer::whole(200, "text/plain", "");
    }
    match asked.asks() {
        "server/discover" => Answer::whole(400, "text/plain", "Bad Request: Server not initialized"),
        "initialize" => with_session(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "old", "version": "1"},
        })),
        _ if asked.header("mcp-session-id") != Some(session) => {
            Answer::whole(404, "text/plain", "no such session")
        }
        "tools/list" => Answer::Result(json!({"tools": [tool("a")]})),
        "tools/call" => Answer::Result(json!({"content": [{"type": "text", "text": session}]})),
        "" => Answer::whole(202, "text/plain", ""),
        other if other.starts_with("notifications/") => Answer::whole(202, "text/plain", ""),
        _ => Answer::Error(-32601, "no such method"),
    }
}

#[tokio::test]
async fn a_server_of_the_older_era_is_met_with_a_handshake_and_a_session() {
    let scripted = Scripted::raw(|asked| older(asked, "s-1")).await;
    let endpoint = McpEndpoint::new(scripted.url()).bearer("token-canary").header("x-team", "leases");
    let server = McpServer::http("test", endpoint);
    assert_eq!(names(&tools(&server).await.unwrap()), ["mcp_test___a"]);
    assert_eq!(call(&server, "mcp_test___a").await.unwrap().tree.model_text(), "s-1");
    assert_eq!(server.protocol_version().await.unwrap(), "2025-11-25");
    let asked = scripted.asked();
    assert!(asked.iter().all(|asked| asked.header("authorization") == Some("Bearer token-canary")));
    assert!(asked.iter().all(|asked| asked.header("x-team") == Some("leases")));
    let last = asked.iter().rfind(|asked| asked.asks() == "tools/call").unwrap();
    assert_eq!(last.header("mcp-session-id"), Some("s-1"));
    assert_eq!(last.header("mcp-protocol-version"), Some("2025-11-25"));
    assert!(!format!("{server:?}").contains("canary"));
}

#[tokio::test]
async fn a_server_of_the_newer_era_is_asked_without_a_session() {
    let scripted = Scripted::new(json!([tool("a")]), |_| {
        Answer::Result(complete(json!({"content": [{"type": "text", "text": "new"}]})))
    })
    .await;
    let server = McpServer::http("test", McpEndpoint::new(scripted.url()));
    tools(&server).await.unwrap();
    assert_eq!(call(&server, "mcp_test___a").await.unwrap().tree.model_text(), "new");
    assert_eq!(server.protocol_version().await.unwrap(), "2026-07-28");
    let asked = scripted.asked();
    assert!(asked.iter().all(|asked| asked.asks() != "initialize"));
    let called = asked.iter().find(|asked| asked.asks() == "tools/call").unwrap();
    assert_eq!((called.header("mcp-method"), called.header("mcp-name")), (Some("tools/call"), Some("a")));
    assert_eq!(called.header("mcp-protocol-version"), Some("2026-07-28"));
    let meta = &called.body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

/// The words in which servers say that they do not know a session: the specification's, and those of the SDK in TypeScript
/// and of the examples beside it, also behind a restart.
const FORGOTTEN: [(u16, &str); 3] = [
    (404, "Session not found"),
    (400, "Bad Request: No valid session ID provided"),
    (400, "Bad Request: Server not initialized"),
];

#[tokio::test]
async fn a_session_that_has_expired_is_begun_anew_once() {
    for (status, said) in FORGOTTEN {
        let handshakes = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&handshakes);
        let scripted = Scripted::raw(move |asked| {
            if asked.asks() == "initialize" {
                seen.fetch_add(1, Ordering::Relaxed);
            }
            // The first session is forgotten once its tools were listed.
            let first = seen.load(Ordering::Relaxed) == 1;
            if first && asked.asks() == "tools/call" {
                let error = json!({"code": -32000, "message": said});
                let body = json!({"jsonrpc": "2.0", "error": error, "id": null});
                return Answer::whole(status, "application/json", body.to_string());
            }
            older(asked, if first { "s-1" } else { "s-2" })
        })
        .await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&told);
        let server = scripted.server().era(McpEra::Sessions).hook(move |request: &McpRequest<'_>| {
            hears.lock().unwrap().push(request.session.map(str::to_owned));
            Vec::new()
        });
        tools(&server).await.unwrap();
        let version = DynToolHandler::version(&server);
        let called = call(&server, "mcp_test___a").await;
        assert_eq!(called.expect(said).tree.model_text(), "s-2");
        assert_eq!(handshakes.load(Ordering::Relaxed), 2);
        // Its tools may be those of another version of the server.
        assert_ne!(DynToolHandler::version(&server), version);
        let version = DynToolHandler::version(&server);
        call(&server, "mcp_test___a").await.unwrap();
        assert_eq!(DynToolHandler::version(&server), version);
        assert_eq!(told.lock().unwrap().last().unwrap().as_deref(), Some("s-2"));
    }
}

// Another error of a call is no word about the session.
#[tokio::test]
async fn a_call_that_is_refused_for_itself_begins_no_session_anew() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "tools/call" => {
            let error = json!({"code": -32602, "message": "the argument \"a\" is missing"});
            let body = json!({"jsonrpc": "2.0", "error": error, "id": asked.body["id"]});
            Answer::whole(400, "application/json", body.to_string())
        }
        _ => older(asked, "s-1"),
    })
    .await;
    let error = call(&scripted.server().era(McpEra::Sessions), "mcp_test___a").await.unwrap_err();
    assert!(error.for_model().contains("-32602"), "{error}");
    assert_eq!(scripted.asked().iter().filter(|asked| asked.asks() == "initialize").count(), 1);
}

#[tokio::test]
async fn answers_may_be_events_with_priming_ones_and_pings() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "tools/call" => {
            let answer = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": complete(json!({
                "content": [{"type": "text", "text": "streamed"}]
            }))});
            let said = format!(": ping\n\nid: 1\ndata:\n\nevent: message\ndata: {answer}\n\n");
            Answer::events(
                stream::iter(said.into_bytes().chunks(7).map(|c| c.to_vec().into()).collect::<Vec<_>>())
                    .boxed(),
            )
        }
        other => greeting(other),
    })
    .await;
    assert_eq!(call(&scripted.server(), "mcp_test___a").await.unwrap().tree.model_text(), "streamed");
}

// A stream whose events nobody has any more: its call ends, and does not wait for what cannot come.
#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_again_ends_its_call() {
    for status in [400, 404, 410] {
        let scripted = Scripted::raw(move |asked| match asked.asks() {
            "tools/call" => Answer::events(stream::iter(["id: 1\nretry: 1\ndata:\n\n".into()]).boxed()),
            _ if asked.header("last-event-id").is_some() => Answer::whole(status, "text/plain", "gone"),
            other => greeting(other),
        })
        .await;
        let server = scripted.server().limits(McpLimits::new().with_call(Duration::from_secs(5)));
        let error = call(&server, "mcp_test___a").await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::Unavailable, "{status}: {error}");
    }
    // A server that is busy, or that fails, is asked again.
    for status in [429, 503] {
        let again = AtomicUsize::new(0);
        let scripted = Scripted::raw(move |asked| match asked.asks() {
            "tools/call" => {
                let id = &asked.body["id"];
                Answer::events(stream::iter([format!("id: {id}\nretry: 1\ndata:\n\n").into()]).boxed())
            }
            _ => match asked.header("last-event-id") {
                Some(_) if again.fetch_add(1, Ordering::Relaxed) == 0 => {
                    Answer::whole(status, "text/plain", "later")
                }
                Some(id) => {
                    let id: u64 = id.parse().unwrap();
                    let result = complete(json!({"content": [{"type": "text", "text": "late"}]}));
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    Answer::events(stream::iter([format!("data: {answer}\n\n").into()]).boxed())
                }
                None => greeting(asked.asks()),
            },
        })
        .await;
        assert_eq!(call(&scripted.server(), "mcp_test___a").await.unwrap().tree.model_text(), "late");
    }
}

#[tokio::test]
async fn a_redirect_is_followed_on_its_own_origin_only() {
    let elsewhere = Scripted::new(json!([tool("stolen")]), |_| Answer::Hang).await;
    let target = elsewhere.url();
    for (location, works) in [("/there".to_owned(), true), (target, false)] {
        let sent = AtomicUsize::new(0);
        let scripted = Scripted::raw(move |asked| {
            if sent.fetch_add(1, Ordering::Relaxed) == 0 {
                return Answer::Http(307, vec![("location", location.clone())], stream::empty().boxed());
            }
            match asked.asks() {
                "tools/list" => Answer::Result(complete(json!({"tools": [tool("a")]}))),
                other => greeting(other),
            }
        })
        .await;
        let endpoint = McpEndpoint::new(scripted.url()).bearer("token-canary");
        let server = McpServer::http("test", endpoint).era(McpEra::Stateless);
        assert_eq!(tools(&server).await.is_ok(), works);
    }
    assert!(elsewhere.asked().is_empty(), "the token went elsewhere");
}

#[tokio::test]
async fn private_addresses_are_refused_where_only_public_ones_may_be_asked() {
    let scripted = Scripted::new(json!([tool("a")]), |_| Answer::Hang).await;
    let endpoint = McpEndpoint::new(scripted.url()).public_only();
    let server = McpServer::http("test", endpoint).era(McpEra::Stateless);
    assert!(tools(&server).await.is_err());
    assert!(scripted.asked().is_empty());
}

#[tokio::test]
async fn somebody_who_looks_on_is_told_of_calls_and_names_their_trace() {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let hook = move |request: &McpRequest<'_>| {
        let facts = [Some(request.method), request.protocol_version, request.session];
        seen.lock().unwrap().push(facts.map(|fact| fact.unwrap_or_default().to_owned()));
        let forged = ("io.modelcontextprotocol/protocolVersion".to_owned(), "forged".to_owned());
        vec![("traceparent".to_owned(), "00-1-2-01".to_owned()), forged]
    };
    let old = Scripted::raw(|asked| older(asked, "s-1")).await;
    let new = Scripted::new(json!([tool("a")]), |_| Answer::Result(complete(json!({"content": []})))).await;
    for (scripted, era) in [(&old, McpEra::Sessions), (&new, McpEra::Stateless)] {
        call(&scripted.server().era(era).hook(hook.clone()), "mcp_test___a").await.unwrap();
        let asked = scripted.asked();
        let meta = &asked.iter().find(|asked| asked.asks() == "tools/call").unwrap().body["params"]["_meta"];
        assert_eq!(meta["traceparent"], "00-1-2-01");
        assert_ne!(meta["io.modelcontextprotocol/protocolVersion"], "forged");
    }
    assert_eq!(
        *told.lock().unwrap(),
        [["tools/call", "2025-11-25", "s-1"], ["tools/call", "2026-07-28", ""]]
            .map(|facts| facts.map(str::to_owned))
    );
}

// Whoever asks is not as patient as a connection, and the next one must not hang as long again.
#[tokio::test]
async fn a_server_that_hangs_is_left_alone_for_a_moment_though_nobody_waited_to_the_end() {
    let scripted = Scripted::raw(|_| Answer::Hang).await;
    let limits = McpLimits::new().with_connect(Duration::from_secs(3));
    let server = scripted.server().limits(limits);
    assert!(tokio::time::timeout(Duration::from_millis(600), server.connect()).await.is_err());
    let error = server.connect().await.unwrap_err();
    assert!(error.for_model().contains("it is tried again in"), "{error}");
    let count = scripted.asked().len();
    assert!(count <= 1, "{count} requests");
}
