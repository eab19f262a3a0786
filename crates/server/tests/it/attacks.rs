//! The list of somebody who means harm, over real connections.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_agent::{Agent, tool_fn};
use attache_core::Approval;
use attache_server::{Principal, Server, ServerLimits};
use attache_testkit::Turn;
use axum::body::Body;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::common::{Client, Stage, data, server, sessions, text, trusting, value};
use crate::sockets::request;

async fn listening(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

fn papers() -> Server {
    trusting(Server::new("papers", sessions(Agent::builder(Stage::new([])))))
}

/// Sends bytes, and yields all that comes until the connection is closed.
async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that has heard enough closes while bytes are still on their way.
    let _ = stream.write_all(bytes).await;
    let mut read = Vec::new();
    let ended = timeout(Duration::from_secs(20), stream.read_to_end(&mut read)).await;
    assert!(ended.is_ok(), "the connection stays open: {}", String::from_utf8_lossy(&read));
    String::from_utf8_lossy(&read).into_owned()
}

fn statuses(answer: &str) -> Vec<u16> {
    let lines = answer.split("HTTP/1.1 ").skip(1);
    lines.map(|line| line.get(..3).unwrap().parse().unwrap()).collect()
}

// RFC 9112, 6.1 and 6.3: a request whose length two readers see differently is refused, and what stands behind it is no
// request.
#[tokio::test]
async fn a_request_of_two_lengths_smuggles_none_behind_it() {
    let address = listening(papers()).await;
    let behind = "GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for head in [
        "Content-Length: 4\r\nContent-Length: 8",
        "Content-Length: 4, 8",
        "Content-Length: +4",
        "Content-Length: -4",
        "Content-Length: 0x4",
        "Content-Length: 99999999999999999999999",
        "Content-Length : 4",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity",
        "Transfer-Encoding\r\n : chunked",
        " Transfer-Encoding: chunked",
        "Host: other.example",
    ] {
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n{{}}\r\n{behind}"
        );
        let answer = raw(address, request.as_bytes()).await;
        let told = statuses(&answer);
        assert!(told.first().is_none_or(|status| *status == 400), "{head}: {answer}");
        if head != "Host: other.example" {
            assert!(told.len() <= 1, "{head}: {answer}");
        }
    }
    // With both, the chunks alone count, and the connection ends: what another reader takes for a body is no request here.
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{behind}"
    );
    let answer = raw(address, request.as_bytes()).await;
    assert_eq!(statuses(&answer), [400], "{answer}");
    // A chunk that is none.
    for chunk in ["z\r\n", "ffffffffffffffffff\r\n", "-1\r\n", "2\r\n{}x\r\n0\r\n\r\n", "2 ;\n{}\n0\n\n"] {
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{behind}"
        );
        let answer = raw(address, request.as_bytes()).await;
        assert!(statuses(&answer).iter().all(|status| *status == 400), "{chunk:?}: {answer}");
    }
}

#[tokio::test]
async fn heads_are_bounded_in_bytes_count_and_time() {
    let mut limits = ServerLimits::default();
    limits.head_time = Duration::from_millis(300);
    let address = listening(papers().limits(limits)).await;
    let large =
        format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Much: {}\r\n\r\n", "x".repeat(2 << 20));
    assert!(matches!(statuses(&raw(address, large.as_bytes()).await)[..], [] | [431]));
    let many: String = (0..5_000).map(|at| format!("X-{at}: y\r\n")).collect();
    let many = format!("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    assert!(matches!(statuses(&raw(address, many.as_bytes()).await)[..], [] | [431]));
    let long = format!("GET /v1/models/{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(1 << 20));
    assert!(matches!(statuses(&raw(address, long.as_bytes()).await)[..], [] | [414 | 431]));
    for bytes in ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n"] {
        let told = statuses(&raw(address, bytes.as_bytes()).await);
        assert!(told.iter().all(|status| (400..500).contains(status)), "{bytes:?}: {told:?}");
    }
    // One that gives a byte now and then is let go as well.
    let mut slow = TcpStream::connect(address).await.unwrap();
    let dripping = async {
        for byte in b"GET /v1/models HTTP/1.1\r\n".iter().cycle() {
            if slow.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(Duration::from_secs(20), dripping).await.is_ok(), "it is listened to for ever");
    let (head, _) = request(address, "GET", "/v1/health", "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "the others are answered");
}

#[tokio::test]
async fn a_body_that_drips_ends_in_time_and_holds_up_nobody() {
    let mut limits = ServerLimits::default();
    limits.body_time = Duration::from_millis(400);
    limits.connections = 64;
    let address = listening(papers().limits(limits)).await;
    let mut slow = Vec::new();
    for path in
        ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/documents", "/v1/ag-ui", "/v1/ui"]
    {
        for _ in 0..5 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{{"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            slow.push((path, stream));
        }
    }
    let (head, _) = request(address, "GET", "/v1/models", "").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    for (path, mut stream) in slow {
        let mut read = String::new();
        let ended = timeout(Duration::from_secs(20), stream.read_to_string(&mut read)).await;
        assert!(ended.is_ok() && read.starts_with("HTTP/1.1 408"), "{path}: {read}");
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_server() {
    let address = listening(papers().web(true)).await;
    for place in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/..%5c..%5c..%5cetc%5cpasswd",
        "/words/..%2f..%2fCargo.toml",
        "/words/%2e%2e/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/attache-chat.js/../../Cargo.toml",
        "/attache-chat.js%00.png",
        "/v1/documents/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/documents/%2e%2e",
        "/v1/documents/%2Fetc%2Fpasswd",
        "/v1/documents/%00",
        "/v1/documents/%ff%fe",
        "/v1/sessions/..%2f..%2fetc/documents/passwd",
        "/v1/sessions/%00",
        "/v1/sessions/%ff",
        "/v1/sessions/a%0d%0aX-Evil:%201/export",
        "/v1/runs/%2e%2e%2f%2e%2e",
        "/v1/runs/a.%00",
        "/v1/models/%0d%0aSet-Cookie:%20a=b",
        "/v1/tools/%e2%80%ae",
        "/v1/ui/%2e%2e%2f%00/stream",
        "/v1/responses/resp_%00.~1",
    ] {
        let (head, body) = request(address, "GET", place, "").await;
        let status = statuses(&head)[0];
        assert!((200..500).contains(&status), "{place}: {head}\n{body}");
        assert!(status != 200 || place.contains("/v1/ui/"), "{place}: {head}\n{body}");
        let told = format!("{head}\n{body}");
        for leak in ["root:", "[package]", "[workspace]", "\nX-Evil", "\nSet-Cookie", "\nset-cookie"] {
            assert!(!told.contains(leak), "{place}: {told}");
        }
    }
}

#[tokio::test]
async fn json_that_nests_without_end_is_refused_everywhere() {
    let client = Client::new(papers());
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    let bodies = [
        deep("[", "]"),
        deep("{\"a\":", "}").replace(":}", ":1}"),
        format!("{{\"model\":\"papers\",\"messages\":{}}}", deep("[", "]")),
        format!("{{\"message\":\"?\",\"context\":{}}}", deep("[", "]")),
        "\"".to_owned(),
        "{\"model\":\"papers\",\"messages\":[{\"role\":\"user\",\"content\":\"\\ud800\"}]}".to_owned(),
        "{\"model\":1e999}".to_owned(),
        String::new(),
    ];
    for path in [
        "/v1/chat/completions",
        "/v1/chat/stream",
        "/v1/chat/tool-result",
        "/v1/responses",
        "/v1/messages",
        "/v1/ag-ui",
        "/v1/ui",
        "/v1/sessions/s/runs",
        "/v1/approvals/a",
        "/v1/runs/r/messages",
    ] {
        for body in &bodies {
            let asked =
                Request::builder().method("POST").uri(path).header("content-type", "application/json");
            let response = client.send(asked, body.clone()).await;
            let shown: String = body.chars().take(60).collect();
            assert!(response.status().is_client_error(), "{path} {shown}: {}", response.status());
            assert!(value(response).await["error"]["message"].is_string(), "{path} {shown}");
        }
    }
}

#[tokio::test]
async fn a_handler_that_panics_is_a_failure_in_the_words_of_its_dialect() {
    let server = Server::new("papers", sessions(Agent::builder(Stage::new([]))));
    let server = server.authenticate(|headers| async move {
        let user = headers.get("x-user")?.to_str().ok()?.to_owned();
        assert!(user != "panic", "a program's own mistake");
        (user == "ann").then(|| Principal::new("ann"))
    });
    let address = listening(server).await;
    let ask = async |path: &str, user: &str| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nX-User: {user}\r\nAuthorization: Bearer none\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        raw(address, head.as_bytes()).await
    };
    let body =
        |answer: &str| -> Value { serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap() };
    let told = ask("/v1/chat/completions", "panic").await;
    assert!(told.starts_with("HTTP/1.1 500") && told.contains("x-request-id"), "{told}");
    assert_eq!(body(&told)["error"]["code"], "internal");
    assert!(!told.contains("mistake"));
    let told = ask("/v1/messages", "panic").await;
    assert!(told.starts_with("HTTP/1.1 500"), "{told}");
    assert_eq!((&body(&told)["type"], &body(&told)["error"]["type"]), (&json!("error"), &json!("api_error")));
    assert!(ask("/v1/chat/completions", "ann").await.starts_with("HTTP/1.1 400"), "the server lives");
    // There are no keys of which one could be wrong.
    let told = ask("/v1/chat/completions", "bob").await;
    assert!(
        told.starts_with("HTTP/1.1 401") && told.contains("not accepted") && !told.contains("API key"),
        "{told}"
    );
}

/// A canary of each principal, in everything that it may have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_principals_at_once_see_nothing_of_each_other() {
    const PRINCIPALS: usize = 100;
    let canary = |at: usize| format!("canary{at:03}x");
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    // The model repeats what it is told in its call, so that runs and approvals hold the canary of whoever asks.
    let model = attache_testkit::FunctionModel::new(|request: &attache_core::ChatRequest, _| {
        let told = format!("{:?}", request.messages);
        let at = told.rfind("canary").map_or(0, |at| at);
        let canary = told.get(at..at + 10).unwrap_or_default().to_owned();
        Turn::text(&canary).and_call("pay", json!({"note": canary}))
    });
    let server = trusting(Server::new("papers", sessions(Agent::builder(model).tool(pay))));
    let client = Client::new(server);
    let names: Vec<&'static str> =
        (0..PRINCIPALS).map(|at| &*Box::leak(format!("principal{at:03}").into_boxed_str())).collect();
    let tasks: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let (own, canary) = (client.named(name), canary(at));
            tokio::spawn(async move {
                let session = format!("s-{canary}");
                let run = own.run(&session, &format!("Pay {canary}")).await;
                own.ended(&run).await;
                let asked = Request::builder().method("POST").uri(format!("/v1/documents?name={canary}.txt"));
                let document = own.send(asked.header("content-type", "text/plain"), canary.clone()).await;
                let document = value(document).await["id"].as_str().unwrap().to_owned();
                let approvals = own.got("/v1/approvals").await;
                let approval =
                    approvals["approvals"][0]["approval"]["approvalId"].as_str().unwrap().to_owned();
                (session, run, document, approval)
            })
        })
        .collect();
    let mut owned = Vec::new();
    for task in tasks {
        owned.push(task.await.unwrap());
    }
    for (at, name) in names.iter().enumerate() {
        let own = client.named(name);
        let (session, run, document, _) = &owned[at];
        for path in [
            "/v1/sessions".to_owned(),
            "/v1/approvals".to_owned(),
            format!("/v1/sessions/{session}"),
            format!("/v1/sessions/{session}/export"),
            format!("/v1/runs/{run}"),
            format!("/v1/documents/{document}"),
            "/v1/sessions?search=canary".to_owned(),
        ] {
            let told = text(own.get(&path).await).await;
            assert!(told.contains(&canary(at)) || path.contains("search"), "{path}: {told}");
            for (place, _) in told.match_indices("canary").filter(|_| !path.contains("search=")) {
                assert!(told[place..].starts_with(&canary(at)), "{name} {path}: {told}");
            }
        }
        // Those of the next one are as unknown as those of nobody.
        let (session, run, document, approval) = &owned[(at + 1) % PRINCIPALS];
        let response = format!("resp_{run}");
        let nobodys = ["s-none", "s-none.0123456789ab", "doc-none", "none", "resp_s-none.0123456789ab"];
        let theirs = [session.as_str(), run, document, approval, &response];
        let routes: [(usize, Method, &str, Option<Value>); 17] = [
            (0, Method::GET, "/v1/sessions/{}", None),
            (0, Method::DELETE, "/v1/sessions/{}", None),
            (0, Method::PATCH, "/v1/sessions/{}", Some(json!({"title": "x"}))),
            (0, Method::GET, "/v1/sessions/{}/export", None),
            (0, Method::POST, "/v1/sessions/{}/fork", Some(json!({}))),
            (0, Method::GET, "/v1/ui/{}/stream", None),
            (1, Method::GET, "/v1/runs/{}", None),
            (1, Method::GET, "/v1/runs/{}/events", None),
            (1, Method::POST, "/v1/runs/{}/cancel", Some(json!({}))),
            (1, Method::POST, "/v1/runs/{}/resume", Some(json!({}))),
            (1, Method::POST, "/v1/runs/{}/messages", Some(json!({"message": "x"}))),
            (1, Method::DELETE, "/v1/chat/stream/{}", None),
            (2, Method::GET, "/v1/documents/{}", None),
            (2, Method::DELETE, "/v1/documents/{}", None),
            (3, Method::POST, "/v1/approvals/{}", Some(json!({"decision": "approve"}))),
            (4, Method::GET, "/v1/responses/{}", None),
            (4, Method::POST, "/v1/responses/{}/cancel", Some(json!({}))),
        ];
        for (kind, method, route, body) in routes {
            let ask = async |id: &str| {
                let response = own.ask(method.clone(), &route.replace("{}", id), body.clone()).await;
                (response.status(), text(response).await.replace(id, "ID"))
            };
            let (known, unknown) = (ask(theirs[kind]).await, ask(nobodys[kind]).await);
            assert_eq!(known, unknown, "{name} {method} {route}");
            if route != "/v1/ui/{}/stream" {
                assert_eq!(known.0, StatusCode::NOT_FOUND, "{name} {method} {route}");
            }
        }
    }
    // Nothing was lost by the attempts.
    for (at, name) in names.iter().enumerate() {
        let told = text(client.named(name).get(&format!("/v1/sessions/{}", owned[at].0)).await).await;
        assert!(told.contains(&canary(at)), "{told}");
    }
}

#[tokio::test]
async fn pages_of_origins_that_look_alike_may_not_ask() {
    let client = Client::new(server(Agent::builder(Stage::new([]))).allow_origin("https://app.example"));
    for origin in [
        "null",
        "https://app.example.evil",
        "https://evil-app.example",
        "https://app.example:444",
        "http://app.example",
        "https://APP.example.",
        "https://app.example/",
        "https://app.example, https://evil.example",
        "*",
        "",
    ] {
        let asked = Request::builder().uri("/v1/models").header("origin", origin);
        let response = client.send(asked, Body::empty()).await;
        assert!(!response.headers().contains_key("access-control-allow-origin"), "{origin}");
        assert!(!response.headers().contains_key("access-control-allow-credentials"), "{origin}");
    }
    let asked =
        Request::builder().method("OPTIONS").uri("/v1/messages").header("origin", "https://app.example");
    let asked = asked
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "anthropic-version,x-api-key,content-type");
    let response = client.send(asked, Body::empty()).await;
    let allowed = response.headers()["access-control-allow-headers"].to_str().unwrap().to_owned();
    for header in ["anthropic-version", "x-api-key", "content-type", "authorization", "last-event-id"] {
        assert!(allowed.contains(header), "{header}: {allowed}");
    }
    assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example");
}

// A page of a stranger can send simple requests to this machine without asking, and its name may come to mean this machine.
#[tokio::test]
async fn without_keys_no_page_of_a_stranger_starts_anything() {
    let stage = Stage::new([]);
    let address = listening(Server::new("papers", sessions(Agent::builder(stage.clone())))).await;
    let body = json!({"model": "papers", "messages": [{"role": "user", "content": "?"}]}).to_string();
    for (target, head) in [
        ("/v1/chat/completions", "Host: localhost\r\nOrigin: http://evil.example"),
        ("/v1/chat/completions", "Host: localhost\r\nOrigin: null"),
        ("/v1/chat/completions", "Host: localhost\r\nOrigin: http://localhost.evil.example"),
        ("/v1/chat/completions", "Host: localhost\r\nSec-Fetch-Site: cross-site"),
        ("/v1/chat/completions", "Host: localhost\r\nSec-Fetch-Site: same-site"),
        ("/v1/chat/completions", "Host: evil.example"),
        ("/v1/chat/completions", "Host: evil.example:8080\r\nOrigin: http://evil.example:8080"),
        ("/v1/chat/completions", "Host: 127.0.0.1.evil.example"),
        ("/v1/chat/completions", "Host: evil.example@127.0.0.1"),
        ("/v1/chat/completions", "Host: 0.0.0.0"),
        ("/v1/chat/completions", "Host: 2130706433"),
        ("/v1/chat/completions", "Host: "),
        ("http://evil.example/v1/chat/completions", "Host: localhost"),
        ("http://localhost/v1/chat/completions", "Host: evil.example"),
    ] {
        for kind in ["text/plain", "application/json"] {
            let request = format!(
                "POST {target} HTTP/1.1\r\n{head}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let answer = raw(address, request.as_bytes()).await;
            assert!(matches!(statuses(&answer)[..], [400 | 403]), "{head}: {answer}");
            assert!(!answer.contains("access-control-allow-origin"), "{answer}");
        }
    }
    assert!(stage.requests().is_empty());
}

const FORGED: &str = "x\n\ndata: {\"forged\":true}\n\nevent: forged\r\ndata: forged\r\rid: forged\u{2028}\0";

// WHATWG HTML, 9.2.6: a line ends with LF, CR or both; each line of ours is a field that we wrote.
#[tokio::test]
async fn no_text_of_a_model_a_tool_or_a_client_becomes_a_line_of_a_stream() {
    let look = || tool_fn("look", "Looks", || Ok(FORGED));
    let turns = || {
        [
            Turn::text(FORGED).and_call("look", json!({ FORGED: FORGED })),
            Turn::text(FORGED).and_call(FORGED, json!({"a": FORGED})),
            Turn::text(FORGED).and_call("page", json!({ FORGED: FORGED })),
        ]
    };
    let page = json!({"name": "page", "description": FORGED, "parameters": {"type": "object"}});
    let chat = json!([{"role": "user", "content": FORGED}]);
    let function = json!([{"type": "function", "function": page}]);
    let mut flat = page.clone();
    flat["type"] = "function".into();
    let anthropic = json!([{"name": "page", "description": FORGED, "input_schema": {"type": "object"}}]);
    for (path, body) in [
        (
            "/v1/chat/completions",
            json!({"model": "papers", "stream": true, "messages": chat, "tools": function, "attache": {"events": true}}),
        ),
        ("/v1/responses", json!({"model": "papers", "stream": true, "input": FORGED, "tools": [flat]})),
        (
            "/v1/messages",
            json!({"model": "papers", "max_tokens": 9, "stream": true, "messages": chat, "tools": anthropic}),
        ),
        (
            "/v1/ag-ui",
            json!({"threadId": "t", "runId": FORGED, "messages": [{"id": FORGED, "role": "user", "content": FORGED}], "tools": [page], "context": [], "state": {}, "forwardedProps": {}}),
        ),
        (
            "/v1/ui",
            json!({"id": "u", "messages": [{"id": FORGED, "role": "user", "parts": [{"type": "text", "text": FORGED}]}], "tools": [page]}),
        ),
        ("/v1/chat/stream", json!({"message": FORGED, "sessionId": "c", "onDisconnect": "detach"})),
    ] {
        let client = Client::new(server(Agent::builder(Stage::new(turns())).tool(look()).max_steps(4)));
        let response = client.post(path, body).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let told = text(response).await;
        assert!(told.len() > 200, "{path}: {told}");
        for line in told.split(['\n', '\r']) {
            let is_field =
                ["", "data: ", "event: ", "id: ", ":", "retry: "].iter().any(|field| match *field {
                    "" => line.is_empty(),
                    field => line.starts_with(field),
                });
            assert!(is_field, "{path}: {line:?}");
            assert!(
                !line.starts_with("data: {\"forged") && !line.contains(": forged")
                    || line.starts_with("data: "),
                "{line}"
            );
            assert!(line != "data: forged" && line != "event: forged" && line != "id: forged", "{path}");
        }
        for event in data(&told) {
            assert!(event.is_object() || event == "[DONE]" || path == "/v1/chat/stream", "{path}: {event}");
        }
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn nothing_that_somebody_sends_becomes_a_line_of_the_log() {
    use tracing_subscriber::fmt;
    let lines = Lines::default();
    let kept = lines.clone();
    let log = fmt().with_writer(move || kept.clone()).with_ansi(false).without_time();
    // While there is just one, a line that another thread comes to first is taken for one that nobody wants to read.
    let _second = tracing::Dispatch::new(fmt().with_writer(std::io::sink).finish());
    let _log = tracing::subscriber::set_default(log.with_max_level(tracing::Level::TRACE).finish());
    let forged = "x\nERROR forged: a line\u{1b}[31m";
    let pay = tool_fn("pay", "Pays", || Ok("paid"));
    let turns = [
        Turn::call(forged, json!({"a": forged})),
        Turn::call("pay", json!({"a": forged})),
        Turn::text(forged),
    ];
    let server = Server::new("papers", sessions(Agent::builder(Stage::new(turns)).tool(pay)));
    let client =
        Client::new(server.audit_content(true).authenticate(move |headers| async move {
            headers.get("x-user").map(|_| Principal::new(forged))
        }));
    let asked = Request::builder().method("POST").uri("/v1/chat/completions?key=canary-query");
    let asked = asked.header("authorization", "Bearer canary-bearer").header("cookie", "a=canary-cookie");
    let body = json!({"model": "papers", "user": forged, "messages": [{"role": "user", "content": forged}]});
    let response = client.send(asked.header("x-api-key", "canary-key"), body.to_string()).await;
    assert_eq!(response.status(), StatusCode::OK);
    client.get("/v1/sessions/x%0aERROR%20forged").await;
    client.post("/v1/chat/completions", json!({"model": forged, "messages": []})).await;
    client.post("/v1/chat/tool-result", json!({"sessionId": forged, "callId": forged, "result": 1})).await;
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("attache::audit"), "{log}");
    for line in log.lines() {
        assert!(!line.starts_with("ERROR forged"), "{log}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }
    for secret in ["canary-bearer", "canary-cookie", "canary-key", "canary-query"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}
