//! The treatment of each request before its route.

use std::time::Duration;

use attache_agent::{Agent, tool_fn};
use attache_core::Effect;
use attache_server::{ApiKey, ApiKeys, Principal, Scope, Server, ServerLimits};
use attache_testkit::Turn;
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use serde_json::json;

use crate::common::{Client, Stage, server, sessions, text, trusting, value};

const ROUTES: [(&str, &str); 23] = [
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/chat/stream"),
    ("POST", "/v1/chat/tool-result"),
    ("DELETE", "/v1/chat/stream/x"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/x"),
    ("GET", "/v1/tools"),
    ("GET", "/v1/tools/x"),
    ("GET", "/v1/sessions"),
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions/x"),
    ("DELETE", "/v1/sessions/x"),
    ("POST", "/v1/sessions/x/runs"),
    ("GET", "/v1/sessions/x/documents/y"),
    ("GET", "/v1/runs/x"),
    ("GET", "/v1/runs/x/events"),
    ("POST", "/v1/runs/x/cancel"),
    ("GET", "/v1/approvals"),
    ("POST", "/v1/approvals/x"),
    ("POST", "/v1/documents"),
    ("GET", "/v1/documents/x"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
];

#[tokio::test]
async fn every_route_but_health_asks_for_a_key() {
    let (key, secret) = ApiKey::fresh("ann");
    let keys = ApiKeys::new().with_key(key);
    let client = Client::new(Server::new("papers", sessions(Agent::builder(Stage::new([])))).keys(keys));
    for (method, path) in ROUTES {
        for authorization in [None, Some("Bearer atk_wrong"), Some("Basic x"), Some("")] {
            let mut request = Request::builder().method(method).uri(path);
            if let Some(authorization) = authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let response = client.send(request, Body::empty()).await;
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{method} {path} {authorization:?}");
            let error = value(response).await["error"].take();
            assert_eq!(error["code"], "invalid_api_key");
            let is_wrong = error["message"].as_str().unwrap().starts_with("the API key is not valid");
            assert_eq!(is_wrong, authorization == Some("Bearer atk_wrong"), "{authorization:?}: {error}");
        }
    }
    for path in ["/v1/health", "/v1/health/ready"] {
        assert_eq!(client.get(path).await.status(), StatusCode::OK);
    }
    let bearer = format!("bearer {}", secret.expose());
    let request = Request::builder().uri("/v1/models").header(header::AUTHORIZATION, bearer);
    assert_eq!(client.send(request, Body::empty()).await.status(), StatusCode::OK);
    let request = Request::builder().uri("/v1/models").header("x-api-key", secret.expose());
    assert_eq!(client.send(request, Body::empty()).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_key_does_what_its_scopes_say() {
    let keys = ApiKeys::new()
        .with_key(ApiKey::of("ann", "reads").with_scopes([Scope::Read]))
        .with_key(ApiKey::of("ann", "approves").with_scopes([Scope::Approve]));
    let client = Client::new(Server::new("papers", sessions(Agent::builder(Stage::new([])))).keys(keys));
    let ask = |key: &'static str, method: &'static str, path: &'static str| {
        let request = Request::builder().method(method).uri(path).header("x-api-key", key);
        let client = client.clone();
        async move { client.send(request, "{}").await.status() }
    };
    assert_eq!(ask("reads", "GET", "/v1/sessions").await, StatusCode::OK);
    assert_eq!(ask("reads", "POST", "/v1/chat/completions").await, StatusCode::FORBIDDEN);
    assert_eq!(ask("reads", "POST", "/v1/approvals/x").await, StatusCode::FORBIDDEN);
    assert_eq!(ask("approves", "GET", "/v1/sessions").await, StatusCode::FORBIDDEN);
    assert_eq!(ask("approves", "POST", "/v1/approvals/x").await, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn without_keys_nobody_is_answered_whose_address_is_unknown() {
    let client = Client::new(Server::new("papers", sessions(Agent::builder(Stage::new([])))));
    let request = Request::builder().uri("/v1/models").header(header::HOST, "localhost");
    assert_eq!(client.send(request, Body::empty()).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn answers_have_ids_and_the_headers_that_browsers_act_on() {
    let client = Client::of([]);
    let response = client.get("/v1/models").await;
    let headers = response.headers();
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["content-security-policy"], "default-src 'none'; frame-ancestors 'none'");
    assert_eq!(headers["cache-control"], "no-store");
    assert_eq!(headers["x-request-id"].len(), 36);
    assert!(!headers.contains_key("access-control-allow-origin"));
    let given = Request::builder().uri("/v1/nothing").header("x-request-id", "my-id");
    let response = client.send(given, Body::empty()).await;
    assert_eq!(
        (response.status(), &response.headers()["x-request-id"]),
        (StatusCode::NOT_FOUND, &"my-id".parse().unwrap())
    );
    let strange = Request::builder().uri("/v1/nothing").header("x-request-id", "a b");
    assert_ne!(client.send(strange, Body::empty()).await.headers()["x-request-id"], "a b");
    let method = client.ask(Method::PUT, "/v1/models", None).await;
    assert_eq!(method.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert!(value(method).await["error"]["message"].is_string());
}

#[tokio::test]
async fn pages_of_allowed_origins_alone_may_ask() {
    let client = Client::new(server(Agent::builder(Stage::new([]))).allow_origin("https://app.example"));
    for (origin, allowed) in [("https://app.example", true), ("https://evil.example", false)] {
        let preflight = Request::builder()
            .method("OPTIONS")
            .uri("/v1/chat/stream")
            .header("origin", origin)
            .header("access-control-request-method", "POST");
        let response = client.send(preflight, Body::empty()).await;
        assert_eq!(response.headers().contains_key("access-control-allow-origin"), allowed, "{origin}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_send_the_headers_that_are_named() {
    let allowed = |server: Server| async {
        let preflight = Request::builder()
            .method("OPTIONS")
            .uri("/v1/chat/stream")
            .header("origin", "https://app.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,x-tenant");
        let server = server.allow_origin("https://app.example");
        let response = Client::new(server).send(preflight, Body::empty()).await;
        let headers = response.headers()["access-control-allow-headers"].to_str().unwrap().to_owned();
        headers.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let server = || server(Agent::builder(Stage::new([])));
    let own = allowed(server()).await;
    assert!(own.contains(&"authorization".to_owned()) && !own.contains(&"x-tenant".to_owned()), "{own:?}");
    let more = allowed(server().allow_header("X-Tenant").allow_header("no name")).await;
    assert_eq!(more, [own, vec!["x-tenant".to_owned()]].concat());
}

// The SDKs of OpenAI and Anthropic for JavaScript and clients of MCP send these, and their pages read those.
#[tokio::test]
async fn pages_of_other_origins_may_use_the_official_sdks() {
    let server = server(Agent::builder(Stage::new([]))).allow_origin("*").allow_origin("https://app.example");
    let client = Client::new(server);
    let asked = |method: &str| {
        Request::builder().method(method).uri("/v1/models").header("origin", "https://app.example")
    };
    let preflight = asked("OPTIONS").header("access-control-request-method", "POST");
    let taken = client.send(preflight, Body::empty()).await;
    let taken = taken.headers()["access-control-allow-headers"].to_str().unwrap().to_owned();
    for name in [
        "x-stainless-lang",
        "x-stainless-retry-count",
        "anthropic-dangerous-direct-browser-access",
        "mcp-session-id",
        "mcp-protocol-version",
    ] {
        assert!(taken.split(',').any(|known| known == name), "{name}: {taken}");
    }
    let given = client.send(asked("GET"), Body::empty()).await;
    let given = given.headers()["access-control-expose-headers"].to_str().unwrap().to_owned();
    for (name, is_given) in
        [("retry-after", true), ("content-range", true), ("mcp-session-id", true), ("x-api-key", false)]
    {
        assert_eq!(given.split(',').any(|known| known == name), is_given, "{name}: {given}");
    }
}

// A form is no document, and a program that sends one is told so.
#[tokio::test]
async fn a_form_is_not_kept_as_a_document() {
    let client = Client::new(server(Agent::builder(Stage::new([]))));
    let form = Request::builder()
        .method("POST")
        .uri("/v1/documents")
        .header("content-type", "multipart/form-data; boundary=x");
    let response = client.send(form, "--x\r\n\r\nhi\r\n--x--\r\n").await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(text(response).await.contains("the body is the document itself"));
}

// https://fetch.spec.whatwg.org/#cors-protocol-and-credentials: a browser keeps an answer to a request with cookies from the
// page without this header.
#[tokio::test]
async fn pages_of_allowed_origins_send_cookies_where_the_program_may_go_by_them() {
    let hooked = server(Agent::builder(Stage::new([])));
    let (key, _) = ApiKey::fresh("ann");
    let keys = Server::new("papers", sessions(Agent::builder(Stage::new([]))));
    let keys = keys.keys(ApiKeys::new().with_key(key));
    for (server, may) in [(hooked, true), (keys, false)] {
        let client = Client::new(server.allow_origin("https://app.example"));
        for method in ["GET", "OPTIONS"] {
            let request = Request::builder().method(method).uri("/v1/models");
            let request = request.header("origin", "https://app.example");
            let request = request.header("access-control-request-method", "GET");
            let response = client.send(request, Body::empty()).await;
            let told = response.headers().get("access-control-allow-credentials");
            assert_eq!(told.is_some_and(|told| told == "true"), may, "{method}");
        }
    }
}

// runtime.md 24: browsers add cookies, and names with passwords, to what pages of strangers ask.
#[tokio::test]
async fn a_page_of_a_stranger_changes_nothing_in_the_name_of_its_user() {
    let server = Server::new("papers", sessions(Agent::builder(Stage::new([]))));
    let server = server.allow_origin("https://app.example").authenticate(|headers| async move {
        let names = ["cookie", "authorization", "x-api-key", "x-forwarded-user"];
        let given = names.map(|name| headers.get(name).is_some());
        given.contains(&true).then(|| Principal::new("ann"))
    });
    let client = Client::new(server);
    let ask = async |method: &str, fields: &[(&str, &str)]| {
        let mut request =
            Request::builder().method(method).uri("/v1/sessions").header(header::HOST, "papers.example");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        client.send(request, Body::empty()).await.status()
    };
    let (cookie, evil) = (("cookie", "login=ann"), ("origin", "https://evil.example"));
    // The proxy knows its user by a cookie, which it keeps.
    let proxied = ("x-forwarded-user", "ann");
    for fields in [
        vec![cookie],
        vec![cookie, ("origin", "https://papers.example")],
        vec![cookie, ("sec-fetch-site", "none")],
        // The proxy before the server asks for another name.
        vec![cookie, ("origin", "https://public.example"), ("sec-fetch-site", "same-origin")],
        vec![cookie, ("origin", "https://app.example"), ("sec-fetch-site", "cross-site")],
        // No page of a stranger can send a key.
        vec![cookie, evil, ("x-api-key", "k")],
        vec![evil, ("authorization", "Bearer k")],
        vec![proxied],
    ] {
        assert_eq!(ask("POST", &fields).await, StatusCode::CREATED, "{fields:?}");
        assert!(ask("DELETE", &fields).await.is_success(), "{fields:?}");
    }
    for fields in [
        vec![cookie, evil],
        vec![cookie, ("origin", "null")],
        vec![cookie, ("sec-fetch-site", "cross-site")],
        vec![cookie, ("origin", "https://other.papers.example"), ("sec-fetch-site", "same-site")],
        vec![("authorization", "Basic YTpi"), evil],
        vec![proxied, evil],
    ] {
        for method in ["POST", "DELETE"] {
            assert_eq!(ask(method, &fields).await, StatusCode::FORBIDDEN, "{method} {fields:?}");
        }
        // It does not see what it reads.
        assert_eq!(ask("GET", &fields).await, StatusCode::OK, "{fields:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_bounded_in_bytes_and_time() {
    let mut limits = ServerLimits::default();
    limits.body = 1_000;
    limits.body_time = Duration::from_secs(5);
    let client = Client::new(server(Agent::builder(Stage::new([]))).limits(limits));
    let large = json!({"model": "papers", "messages": [{"role": "user", "content": "x".repeat(2_000)}]});
    let response = client.chat(large).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(value(response).await["error"]["code"], "too_large");
    let never = futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
    let request = Request::builder().method("POST").uri("/v1/chat/completions");
    let response = client.send(request, Body::from_stream(never)).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_principal_has_so_many_runs_at_once() {
    let mut limits = ServerLimits::default();
    limits.runs = 2;
    let stage = Stage::new((0..4).map(|_| Turn::text("x"))).held();
    let client = Client::new(server(Agent::builder(stage.clone())).limits(limits));
    let first = client.run("a", "?").await;
    client.run("b", "?").await;
    let third = client.post("/v1/sessions/c/runs", json!({"message": "?"})).await;
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(third.headers().contains_key("retry-after"));
    assert_eq!(
        client.named("bob").post("/v1/sessions/d/runs", json!({"message": "?"})).await.status(),
        StatusCode::ACCEPTED
    );
    stage.let_out(100);
    client.ended(&first).await;
    client.run("c", "?").await;
}

// A70
#[tokio::test]
async fn all_routes_move_under_a_base_path() {
    let client = Client::new(server(Agent::builder(Stage::new([]))).base_path("/agents/").web(true));
    for path in ["/agents", "/agents/"] {
        let page = client.get(path).await;
        assert_eq!(page.status(), StatusCode::OK, "{path}");
        assert!(text(page).await.contains("/agents/attache-chat.js"), "{path}");
    }
    for path in ["/v1/health", "/v1/models", "/v1/tools", "/v1/sessions"] {
        assert_eq!(client.get(&format!("/agents{path}")).await.status(), StatusCode::OK, "{path}");
        assert_eq!(client.get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
    // Each route of the description is there alone: `every_route_is_described_and_every_description_is_a_route`.
    let description = client.got("/agents/openapi.json").await;
    let paths: Vec<&String> = description["paths"].as_object().unwrap().keys().collect();
    assert!(paths.len() > 25, "{paths:?}");
    for path in paths {
        let path = path.replace(['{', '}'], "");
        for (path, there) in [(path.clone(), false), (format!("/agents{path}"), true)] {
            let request = Request::builder().method("STRANGE").uri(&path);
            let status = client.send(request, Body::empty()).await.status();
            let expected = if there { StatusCode::METHOD_NOT_ALLOWED } else { StatusCode::NOT_FOUND };
            assert_eq!(status, expected, "{path}");
        }
    }
}

// A69
#[tokio::test]
async fn health_tells_life_and_readiness() {
    let client = Client::of([]);
    assert_eq!(text(client.get("/v1/health").await).await, r#"{"status":"ok"}"#);
    assert_eq!(text(client.get("/v1/health/ready").await).await, r#"{"status":"ready"}"#);
}

// A69: a server whose sessions cannot be read lives, and is not ready.
#[tokio::test]
async fn a_server_whose_sessions_cannot_be_read_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let store = attache_stores::SqliteStore::open(folder.path().join("sessions.db")).await.unwrap();
    let store = std::sync::Arc::new(store);
    let agent = Agent::builder(Stage::new([])).build().unwrap();
    let sessions = attache_agent::Sessions::new(agent, store.clone());
    let client = Client::new(trusting(Server::new("papers", sessions)));
    assert_eq!(client.get("/v1/health/ready").await.status(), StatusCode::OK);
    store.close().await;
    let ready = client.get("/v1/health/ready").await;
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    let told = r#"{"status":"unavailable","reason":"sessions cannot be read"}"#;
    assert_eq!(text(ready).await, told);
    assert_eq!(text(client.get("/v1/health").await).await, r#"{"status":"ok"}"#);
}

// A68: two principals, one of whom the program gives a tool more
#[tokio::test]
async fn tools_that_the_program_gives_one_caller_are_listed_for_that_one_alone() {
    let tool = |name: &'static str| tool_fn(name, "", || Ok(())).with_effect(Effect::Read);
    let stage = Stage::new([Turn::call("refund", json!({})), Turn::text("Done."), Turn::text("No.")]);
    let server =
        server(Agent::builder(stage.clone()).tool(tool("look"))).context(
            move |headers, options| match headers.get("x-user").is_some_and(|user| user == "boss") {
                true => options.with_tool(tool("refund")),
                false => options,
            },
        );
    let ann = Client::new(server);
    let boss = ann.named("boss");
    for (client, tools, refund) in
        [(&ann, vec!["look"], StatusCode::NOT_FOUND), (&boss, vec!["look", "refund"], StatusCode::OK)]
    {
        let list = client.got("/v1/tools").await;
        let listed: Vec<_> = list["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(listed, tools);
        assert_eq!(client.get("/v1/tools/refund").await.status(), refund);
    }
    // It is what their runs are offered.
    for (client, session) in [(&boss, "hers"), (&ann, "mine")] {
        client.ended(&client.run(session, "Refund it.").await).await;
    }
    let offered: Vec<usize> = stage.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(offered, [2, 2, 1]);
}
