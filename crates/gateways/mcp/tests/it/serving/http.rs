//! The server over HTTP: whose requests it answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use attache_agent::{Agent, MemorySessions, Sessions, Tools, tool_fn};
use attache_core::{Approval, Document, ToolContext, ToolError, UserMessage};
use attache_mcp::{McpAgent, McpHttp, McpPrompt, McpServeLimits, McpService, McpTemplate};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_service::Service;

fn who() -> McpService {
    let who = tool_fn("who", "Says who asks", |context: ToolContext| Ok(context.principal));
    McpService::tools(Tools::new().with(who)).unwrap()
}

fn bearers(service: McpService) -> McpHttp {
    service.http().with_bearer(|token| async move { token.strip_prefix("token of ").map(str::to_owned) })
}

/// A request to a mounted service.
async fn post(http: &McpHttp, headers: &[(&str, &str)], body: &Value) -> (StatusCode, HeaderMap, String) {
    post_text(http, headers, body.to_string()).await
}

async fn post_text(
    http: &McpHttp,
    headers: &[(&str, &str)],
    body: String,
) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    for (name, value) in headers {
        if *name == "host" {
            request.headers_mut().unwrap().remove("host");
        }
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let response: Response<_> = http.clone().call(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, head.headers, String::from_utf8(body.to_vec()).unwrap())
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }})
}

fn request(number: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
}

// DNS rebinding: a web page reaches this machine by a name of its own
#[tokio::test]
async fn requests_by_another_host_or_of_another_page_are_refused() {
    let http = who().http();
    for header in [("host", "evil.example"), ("origin", "http://evil.example"), ("origin", "null")] {
        let (status, ..) = post(&http, &[header], &initialize()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{header:?}");
    }
    let (status, ..) = post(&http, &[("origin", "http://localhost:6274")], &initialize()).await;
    assert_eq!(status, StatusCode::OK);
    let named = who().http().with_hosts(["books.example"]).with_origins(["https://app.example:443"]);
    let headers = [("host", "books.example"), ("origin", "https://app.example")];
    assert_eq!(post(&named, &headers, &initialize()).await.0, StatusCode::OK);
}

// A page that may ask nothing would hold room for bodies, and close the sessions of others.
#[tokio::test(start_paused = true)]
async fn requests_of_another_page_are_refused_before_anything_is_done_for_them() {
    let http = who().with_limits(McpServeLimits::new().with_sessions(1)).http();
    let session = begun(&http, "").await.1;
    for (name, value) in [("host", "evil.example"), ("origin", "http://evil.example"), ("origin", "null")] {
        let host = if name == "host" { value } else { "localhost" };
        let strange = Request::post("/mcp").header("host", host);
        let strange = if name == "host" { strange } else { strange.header(name, value) };
        let strange = strange.body(StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>()));
        let asked = tokio::time::Instant::now();
        let answered = http.clone().call(strange.unwrap()).await.unwrap();
        assert_eq!((answered.status(), asked.elapsed().as_millis()), (StatusCode::FORBIDDEN, 0), "{name}");
        let (status, ..) = post(&http, &[(name, value)], &initialize()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}");
    }
    let list = request(2, "tools/list", json!({}));
    assert_eq!(post(&http, &[("mcp-session-id", &session)], &list).await.0, StatusCode::OK, "it is there");
    let trace = Request::builder().method("TRACE").uri("/mcp").header("host", "localhost");
    let traced = http.clone().call(trace.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    assert_eq!(traced.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_bearer_says_on_whose_behalf_a_request_is_made() {
    let http = bearers(who());
    for headers in [&[][..], &[("authorization", "Bearer wrong")], &[("authorization", "Basic token of ann")]]
    {
        let (status, answered, _) = post(&http, headers, &initialize()).await;
        assert_eq!(
            (status, &answered["www-authenticate"]),
            (StatusCode::UNAUTHORIZED, &"Bearer".parse().unwrap())
        );
    }
    let ann = ("authorization", "Bearer token of ann");
    let (_, begun, _) = post(&http, &[ann], &initialize()).await;
    let session = begun["mcp-session-id"].to_str().unwrap();
    let call = request(2, "tools/call", json!({"name": "who", "arguments": {}}));
    let (status, _, said) = post(&http, &[ann, ("mcp-session-id", session)], &call).await;
    assert_eq!(status, StatusCode::OK);
    assert!(said.contains("\"ann\"") || said.contains("text\":\"ann"), "{said}");
    let bob = ("authorization", "Bearer token of bob");
    let (status, _, said) = post(&http, &[bob, ("mcp-session-id", session)], &call).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{said}");
    let (status, ..) = post(&http, &[ann, ("mcp-session-id", "another")], &call).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

// Many that are large and slow would fill the memory, each within its own size and time
#[tokio::test]
async fn bodies_are_bounded_in_all() {
    let http = narrow(who()).http();
    let large = " ".repeat(400 << 10) + &initialize().to_string();
    let read = Arc::new(Notify::new());
    // The rest of the first one does not come.
    let slow = {
        let (piece, read) = (Bytes::from(large.clone()), Arc::clone(&read));
        let rest = stream::poll_fn(move |_| {
            read.notify_one();
            Poll::Pending
        });
        let pieces = stream::iter([Ok::<_, Infallible>(Frame::data(piece))]).chain(rest);
        let request = Request::post("/mcp").header("host", "localhost");
        let request = request.body(StreamBody::new(pieces)).unwrap();
        let mut http = http.clone();
        tokio::spawn(async move { http.call(request).await.map(|response| response.status()) })
    };
    read.notified().await;
    let (status, head, said) = post_text(&http, &[], large.clone()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{said}");
    assert_eq!(head["retry-after"], "1");
    assert_eq!(post(&http, &[], &initialize()).await.0, StatusCode::OK, "small ones find room");
    slow.abort();
    assert!(slow.await.unwrap_err().is_cancelled());
    assert_eq!(post_text(&http, &[], large).await.0, StatusCode::OK);
}

/// A service with room for one large body.
fn narrow(service: McpService) -> McpService {
    let mut limits = McpServeLimits::new();
    (limits.bodies, limits.message_bytes) = (128 << 10, 512 << 10);
    service.with_limits(limits)
}

// A call of an agent takes minutes, and waits for people
#[tokio::test]
async fn a_body_takes_no_room_while_it_is_answered() {
    let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = tool_fn("slow", "Takes its time", {
        let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
        move || {
            let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
            async move {
                begun.notify_one();
                end.notified().await;
                Ok::<_, ToolError>("done at last")
            }
        }
    });
    let http = narrow(McpService::tools(Tools::new().with(slow)).unwrap()).http();
    let spaces = " ".repeat(400 << 10);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    });
    let call = request(1, "tools/call", json!({"name": "slow", "arguments": {}, "_meta": meta}));
    let called = {
        let (http, call) = (http.clone(), spaces.clone() + &call.to_string());
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "slow")];
        tokio::spawn(async move { post_text(&http, &headers, call).await })
    };
    begun.notified().await;
    let (status, _, said) = post_text(&http, &[], spaces + &initialize().to_string()).await;
    end.notify_one();
    assert_eq!(status, StatusCode::OK, "{said}");
    let (status, _, said) = called.await.unwrap();
    assert!(status == StatusCode::OK && said.contains("done at last"), "{status} {said}");
}

// A key that may begin runs and decide nothing: the call stays open for whoever may, and an answer that comes with such a
// key is none.
#[tokio::test]
async fn whoever_may_not_approve_is_not_asked_and_approves_nothing() {
    let paid = Arc::new(AtomicUsize::new(0));
    let pay = || {
        let paid = Arc::clone(&paid);
        tool_fn("pay", "Pays", move || Ok(paid.fetch_add(1, Ordering::SeqCst)))
            .with_approval(Approval::Always)
    };
    let model = ScriptedModel::new((0..2).map(|_| Turn::call("pay", json!({})))).unverified();
    let agent = Agent::builder(model).tool(pay()).build().unwrap();
    let sessions = Sessions::new(agent.clone(), Arc::new(MemorySessions::new()));
    let ask = McpAgent::new("ask", "Answers", agent).with_sessions(&sessions);
    let tools = Agent::without_model().tool(pay()).build().unwrap();
    let http = McpService::new("books").with_agent(ask).with_tools_of(tools).http();
    let http = http
        .with_principal(|_| Some("ann".to_owned()))
        .with_approvers(|head| head.headers.contains_key("x-approver"));
    let call = async |name: &str, more: Value, approver: bool| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        });
        let arguments = if name == "ask" { json!({"question": "Pay."}) } else { json!({}) };
        let mut params = json!({"name": name, "arguments": arguments, "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let mut headers =
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name)];
        headers.extend(approver.then_some(("x-approver", "1")));
        let (_, _, said) = post(&http, &headers, &request(1, "tools/call", params)).await;
        let line = said.lines().find_map(|line| line.strip_prefix("data: {")).map(|rest| format!("{{{rest}"));
        serde_json::from_str::<Value>(line.as_deref().unwrap_or(&said)).unwrap()["result"].clone()
    };
    for name in ["ask", "pay"] {
        let told = call(name, json!({}), false).await;
        assert!(told["inputRequests"].is_null() && told["isError"] == true, "{told}");
        // Another key of the same principal is asked, and this one answers.
        let asked = call(name, json!({}), true).await;
        let (key, _) =
            asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}")).iter().next().unwrap();
        let yes = json!({"action": "accept", "content": {"decision": "approve"}});
        let answer = json!({"requestState": asked["requestState"], "inputResponses": {key: yes}});
        let told = call(name, answer, false).await;
        assert!(told["isError"] == true, "{told}");
    }
    assert_eq!(paid.load(Ordering::SeqCst), 0);
    for session in sessions.list("ann").await.unwrap() {
        let last = sessions.get("ann", session.id.as_str()).await.unwrap().last().await.unwrap().unwrap();
        assert_eq!(last.approvals.len(), 1, "it is open for whoever may decide");
    }
}

#[tokio::test]
async fn each_session_has_a_conversation_of_its_own() {
    let model = ScriptedModel::new((0..3).map(|_| Turn::text("Yes."))).unverified();
    let agent = Agent::builder(model.clone()).build().unwrap();
    let http = McpService::agent("ask", "Answers", agent).http();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let (_, begun, _) = post(&http, &[], &initialize()).await;
        sessions.push(begun["mcp-session-id"].to_str().unwrap().to_owned());
    }
    for (session, messages) in [(0, 1), (1, 1), (0, 3)] {
        let ask = request(2, "tools/call", json!({"name": "ask", "arguments": {"question": "Well?"}}));
        let (_, _, said) = post(&http, &[("mcp-session-id", &sessions[session])], &ask).await;
        assert!(said.contains("Yes."), "{said}");
        assert_eq!(model.requests().pop().unwrap().messages.len(), messages);
    }
}

// Another client of the same server learns nothing of it, not even that it is there.
#[tokio::test]
async fn a_document_of_one_client_is_neither_read_nor_watched_by_another() {
    let scan = tool_fn("scan", "Scans", || {
        Ok::<_, ToolError>(Document::new(vec![7_u8; 10_000]).with_file_name("scan.bin"))
    });
    let limits = McpServeLimits::new().with_inline_bytes(100, 100);
    let http = bearers(McpService::tools(Tools::new().with(scan)).unwrap().with_limits(limits));
    let mut clients = Vec::new();
    for token in ["Bearer token of ann", "Bearer token of bob"] {
        let (_, begun, _) = post(&http, &[("authorization", token)], &initialize()).await;
        clients.push((token, begun["mcp-session-id"].to_str().unwrap().to_owned()));
    }
    let ask = async |client: usize, method: &str, params: Value| {
        let (token, session) = &clients[client];
        post(&http, &[("authorization", token), ("mcp-session-id", session)], &request(2, method, params))
            .await
            .2
    };
    let said = ask(0, "tools/call", json!({"name": "scan", "arguments": {}})).await;
    let uri = said.split("\"uri\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    for method in ["resources/read", "resources/subscribe"] {
        let own = ask(0, method, json!({"uri": uri})).await;
        assert!(own.contains("\"result\"") && !own.contains("\"error\""), "{method}: {own}");
        let theirs = ask(1, method, json!({"uri": uri})).await;
        let missing = ask(1, method, json!({"uri": "attache://documents/1/nothing"})).await;
        assert!(theirs.contains("-32002") && missing.contains("-32002"), "{method}: {theirs}");
        let error = |said: &str, uri: &str| {
            let line = said.lines().find(|line| line.contains("\"error\"")).unwrap();
            line.replace(uri, "")
        };
        assert_eq!(error(&theirs, &uri), error(&missing, "attache://documents/1/nothing"));
    }
    assert!(!ask(1, "resources/list", json!({})).await.contains(&uri));
}

#[tokio::test]
async fn bodies_and_sessions_are_bounded() {
    let limits = McpServeLimits::new().with_message_bytes(1_000).with_sessions(2);
    let http = holding().with_limits(limits).http();
    let large = request(1, "tools/call", json!({"name": "who", "arguments": {"x": "y".repeat(2_000)}}));
    assert_eq!(post(&http, &[], &large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    let _held = [hold(&http).await, hold(&http).await];
    assert_eq!(post(&http, &[], &initialize()).await.0, StatusCode::SERVICE_UNAVAILABLE);
    // However it is written; and a word in an argument is none.
    let escaped = initialize().to_string().replace("\"initialize\"", "\"\\u0069nitialize\"");
    assert_eq!(post_text(&http, &[], escaped).await.0, StatusCode::SERVICE_UNAVAILABLE);
    let word = request(1, "tools/call", json!({"name": "who", "arguments": {"x": "initialize"}}));
    assert_ne!(post(&http, &[], &word).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

/// A tool whose call begins and never ends.
fn holding() -> McpService {
    let hold = tool_fn("hold", "Holds", |context: ToolContext| async move {
        context.progress(attache_core::tool::Progress::new(1.0));
        std::future::pending::<()>().await;
        Ok::<_, ToolError>("held")
    });
    McpService::tools(Tools::new().with(hold)).unwrap()
}

/// The status of the answer to `initialize`, and the session.
async fn begun(http: &McpHttp, token: &str) -> (StatusCode, String) {
    let (status, headers, _) = post(http, &[("authorization", token)], &initialize()).await;
    let id = headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    (status, id.unwrap_or_default())
}

fn asked(session: &str, body: &Value) -> Request<Full<Bytes>> {
    Request::post("/mcp")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-session-id", session)
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap()
}

/// A session with a call that is under way.
async fn hold(http: &McpHttp) -> attache_mcp::McpBody {
    let (_, session) = begun(http, "").await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    http.clone().call(asked(&session, &initialized)).await.unwrap();
    let call =
        request(2, "tools/call", json!({"name": "hold", "arguments": {}, "_meta": {"progressToken": 1}}));
    let mut body = http.clone().call(asked(&session, &call)).await.unwrap().into_body();
    // The tool tells that it is at work.
    loop {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        if String::from_utf8_lossy(&frame).contains("notifications/progress") {
            return body;
        }
    }
}

// A client that leaves a session behind each question is answered for ever.
#[tokio::test]
async fn a_session_that_nobody_uses_makes_room() {
    let http = who().with_limits(McpServeLimits::new().with_sessions(2)).http();
    let list = request(2, "tools/list", json!({}));
    let is_there = async |session: &str| post(&http, &[("mcp-session-id", session)], &list).await.0;
    let (first, second) = (begun(&http, "").await.1, begun(&http, "").await.1);
    // The first one is used again, so the second one is unused for longer.
    assert_eq!(is_there(&first).await, StatusCode::OK);
    let (status, third) = begun(&http, "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(is_there(&second).await, StatusCode::NOT_FOUND);
    assert_eq!((is_there(&first).await, is_there(&third).await), (StatusCode::OK, StatusCode::OK));
    // One on which the client listens goes last.
    let listens = Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &first)
        .body(Full::<Bytes>::default())
        .unwrap();
    let listening = http.clone().call(listens).await.unwrap();
    assert_eq!((listening.status(), is_there(&third).await), (StatusCode::OK, StatusCode::OK));
    assert_eq!(begun(&http, "").await.0, StatusCode::OK);
    assert_eq!((is_there(&first).await, is_there(&third).await), (StatusCode::OK, StatusCode::NOT_FOUND));
}

// However short its time is.
#[tokio::test(start_paused = true)]
async fn a_session_on_which_a_client_listens_stays() {
    let limits = McpServeLimits::new().with_session_idle(std::time::Duration::ZERO);
    let http = who().with_limits(limits).http();
    let list = request(2, "tools/list", json!({}));
    let (left, listened) = (begun(&http, "").await.1, begun(&http, "").await.1);
    let listens = Request::get("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &listened)
        .body(Full::<Bytes>::default())
        .unwrap();
    let listening = http.clone().call(listens).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let is_there = async |session: &str| post(&http, &[("mcp-session-id", session)], &list).await.0;
    assert_eq!((is_there(&left).await, is_there(&listened).await), (StatusCode::NOT_FOUND, StatusCode::OK));
    drop(listening);
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(is_there(&listened).await, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_session_stays_while_its_requests_take_long() {
    let slow = async || tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let report = McpTemplate::new("report://{year}", "Reports", move |_| async move {
        slow().await;
        Ok(Some(Document::new("the report").with_file_name("report.txt")))
    });
    let prompt = McpPrompt::new("slow", "Slow", move |_| async move {
        slow().await;
        Ok(UserMessage::text("the prompt"))
    });
    let limits = McpServeLimits::new().with_session_idle(std::time::Duration::from_secs(1));
    let http = who().with_template(report.unwrap()).with_prompt(prompt).with_limits(limits).http();
    for (method, params, expected) in [
        ("resources/read", json!({"uri": "report://2031"}), "the report"),
        ("prompts/get", json!({"name": "slow"}), "the prompt"),
    ] {
        let (_, session) = begun(&http, "").await;
        let said = post(&http, &[("mcp-session-id", &session)], &request(2, method, params)).await.2;
        assert!(said.contains(expected), "{method}: {said}");
    }
}

#[tokio::test]
async fn one_principal_does_not_take_all_sessions() {
    let http = who().with_limits(McpServeLimits::new().with_sessions(4)).http();
    let http = http.with_bearer(|token| async move { Some(token) });
    let mut sessions = Vec::new();
    for (token, expected) in [
        ("Bearer ann", StatusCode::OK),
        ("Bearer ben", StatusCode::OK),
        ("Bearer ann", StatusCode::OK),
        ("Bearer ann", StatusCode::OK),
        ("Bearer ben", StatusCode::OK),
    ] {
        let (status, session) = begun(&http, token).await;
        assert_eq!(status, expected, "{token}");
        sessions.push(session);
    }
    // The third one of ann's closed her own first one, and nobody else's.
    let list = request(2, "tools/list", json!({}));
    let is_there = async |token: &str, session: &str| {
        post(&http, &[("authorization", token), ("mcp-session-id", session)], &list).await.0
    };
    assert_eq!(is_there("Bearer ann", &sessions[0]).await, StatusCode::NOT_FOUND);
    for (token, at) in [("Bearer ben", 1), ("Bearer ann", 2), ("Bearer ann", 3), ("Bearer ben", 4)] {
        assert_eq!(is_there(token, &sessions[at]).await, StatusCode::OK, "{at}");
    }
}
