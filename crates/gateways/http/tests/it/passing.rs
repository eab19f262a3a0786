//! The caller's headers and cookies: to whom they go, and to whom never.

use std::sync::Arc;

use attache_core::ToolContext;
use attache_http_tools::{CallerHeaders, Endpoint, HttpTools, Parameter, Redirects};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::support::{call_in, echoing, serve, tools, value};

/// The headers that a browser and a proxy sent to the program that runs the agent.
fn caller(token: &str) -> ToolContext {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", format!("Bearer {token}")),
        ("x-tenant-id", format!("tenant-of-{token}")),
        ("cookie", format!("session={token}-cookie; theme=dark")),
        ("host", "evil.example".to_owned()),
        ("x-forwarded-host", "evil.example".to_owned()),
        ("x-forwarded-for", "10.0.0.1".to_owned()),
        ("content-length", "999".to_owned()),
        ("transfer-encoding", "chunked".to_owned()),
        ("connection", "close, authorization".to_owned()),
        ("accept-encoding", "gzip".to_owned()),
        ("x-internal", "canary-internal".to_owned()),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::try_from(value).unwrap());
    }
    ToolContext::new().with(CallerHeaders::of(&headers))
}

fn look() -> Endpoint {
    Endpoint::get("look", "/look")
}

/// Answers with what it was sent in the order of letters, spelled backwards, so that no secret is masked on its way.
async fn tell(request: Request) -> axum::Json<Value> {
    let told = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.to_string(), Value::String(value.to_str().unwrap().chars().rev().collect()))
    };
    axum::Json(Value::Object(request.headers().iter().map(told).collect()))
}

fn telling() -> Router {
    Router::new().fallback(tell)
}

/// The header that a service was sent.
fn told(output: &Value, name: &str) -> Option<String> {
    Some(output.get(name)?.as_str()?.chars().rev().collect())
}

async fn looked(tools: &HttpTools, context: ToolContext) -> Value {
    value(&call_in(tools, "look", json!({}), context).await.unwrap())
}

// A21
#[tokio::test]
async fn allowed_headers_and_cookies_arrive_and_no_others() {
    let url = serve(telling()).await;
    let tools = tools(&url)
        .with_forwarded_headers(["authorization", "X-Tenant-Id"])
        .unwrap()
        .with_forwarded_cookies(["session"])
        .unwrap()
        .with_endpoint(look())
        .unwrap();
    let sent = looked(&tools, caller("canary")).await;
    assert_eq!(told(&sent, "authorization").as_deref(), Some("Bearer canary"));
    assert_eq!(told(&sent, "x-tenant-id").as_deref(), Some("tenant-of-canary"));
    assert_eq!(told(&sent, "cookie").as_deref(), Some("session=canary-cookie"));
    // A22
    assert_eq!(told(&sent, "host").as_deref(), url.strip_prefix("http://"));
    assert_eq!(told(&sent, "accept-encoding").as_deref(), Some("identity"));
    for never in [
        "x-forwarded-host",
        "x-forwarded-for",
        "content-length",
        "transfer-encoding",
        "connection",
        "x-internal",
    ] {
        assert_eq!(told(&sent, never), None, "{never}");
    }
}

// A21: nothing is passed on by default
#[tokio::test]
async fn nothing_is_passed_on_that_no_tool_names() {
    let tools = tools(&serve(telling()).await).with_endpoint(look()).unwrap();
    let sent = looked(&tools, caller("canary")).await;
    for never in ["authorization", "x-tenant-id", "cookie", "x-internal"] {
        assert_eq!(told(&sent, never), None, "{never}");
    }
}

// A21: 401 without
#[tokio::test]
async fn a_service_that_asks_who_it_is_is_told() {
    async fn guard(request: Request, next: Next) -> Response {
        match request.headers().get(header::AUTHORIZATION).is_some_and(|value| value == "Bearer canary") {
            true => next.run(request).await,
            false => StatusCode::UNAUTHORIZED.into_response(),
        }
    }
    let url = serve(echoing().layer(middleware::from_fn(guard))).await;
    let with = tools(&url).with_forwarded_headers(["authorization"]).unwrap().with_endpoint(look()).unwrap();
    let without = tools(&url).with_endpoint(look()).unwrap();
    assert_eq!(looked(&with, caller("canary")).await["method"], "GET");
    for (tools, context) in
        [(&without, caller("canary")), (&with, caller("other")), (&with, ToolContext::new())]
    {
        let output = call_in(tools, "look", json!({}), context).await.unwrap();
        assert_ne!(output.status, attache_core::ResultStatus::Ok);
        assert_eq!(value(&output), json!({"error": {"status": 401, "reason": "Unauthorized"}}));
    }
}

/// A service that leads to another URL.
fn leading(to: String, status: u16) -> Router {
    Router::new().fallback(move || {
        let to = to.clone();
        async move { (StatusCode::from_u16(status).unwrap(), [(header::LOCATION, to)]) }
    })
}

// A22
#[tokio::test]
async fn another_origin_is_never_told() {
    let other = serve(telling()).await;
    let first = serve(leading(format!("{other}/look"), 302)).await;
    let tools = |redirects| {
        tools(&first)
            .with_redirects(redirects)
            .with_forwarded_headers(["authorization", "x-tenant-id"])
            .unwrap()
            .with_forwarded_cookies(["session"])
            .unwrap()
            .with_secret_header("x-api-key", "", "canary-key")
            .unwrap()
            .with_endpoint(look())
            .unwrap()
    };
    for redirects in [Redirects::Off, Redirects::SameOrigin] {
        let output = call_in(&tools(redirects), "look", json!({}), caller("canary")).await.unwrap();
        let told = value(&output);
        assert_eq!(told["error"]["status"], 302);
        assert!(!told.to_string().contains(&other), "where it leads is not for the model: {told}");
    }
    let sent = looked(&tools(Redirects::Stripped), caller("canary")).await;
    assert_eq!(told(&sent, "host").as_deref(), other.strip_prefix("http://"), "it was followed");
    for never in ["authorization", "x-tenant-id", "cookie", "x-api-key"] {
        assert_eq!(told(&sent, never), None, "{never}");
    }
}

// A22: there and back again is another origin too
#[tokio::test]
async fn what_was_dropped_on_the_way_does_not_come_back() {
    let last = serve(Router::new().route("/end", axum::routing::get(tell))).await;
    let between = serve(leading(format!("{last}/end"), 307)).await;
    let back = Router::new().route(
        "/look",
        axum::routing::get({
            let to = format!("{between}/x");
            move || async move { (StatusCode::FOUND, [(header::LOCATION, to)]) }
        }),
    );
    let first = serve(back).await;
    let tools = tools(&first)
        .with_redirects(Redirects::Stripped)
        .with_forwarded_headers(["authorization"])
        .unwrap()
        .with_endpoint(look())
        .unwrap();
    assert_eq!(told(&looked(&tools, caller("canary")).await, "authorization"), None);
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_the_caller_and_a_body_is_not_sent_elsewhere() {
    let other = serve(echoing()).await;
    let away = format!("{other}/away");
    let router = echoing()
        .route(
            "/there",
            axum::routing::any(|| async {
                (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/here?x=1")])
            }),
        )
        .route("/see", axum::routing::any(|| async { (StatusCode::SEE_OTHER, [(header::LOCATION, "here")]) }))
        .route("/loop", axum::routing::any(|| async { (StatusCode::FOUND, [(header::LOCATION, "/loop")]) }))
        .route(
            "/away",
            axum::routing::any(move || async move {
                (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, away)])
            }),
        );
    let mut tools = tools(&serve(router).await)
        .with_redirects(Redirects::Stripped)
        .with_forwarded_headers(["x-tenant-id"])
        .unwrap();
    for name in ["there", "see", "loop", "away"] {
        let endpoint = Endpoint::post(name, format!("/{name}"))
            .with_parameter(Parameter::body("a", json!({"type": "integer"})));
        tools = tools.with_endpoint(endpoint).unwrap();
    }
    let context = || {
        ToolContext::new()
            .with(CallerHeaders::new().with_header(HeaderName::from_static("x-tenant-id"), "t1"))
    };
    let at = async |name| value(&call_in(&tools, name, json!({"a": 1}), context()).await.unwrap());
    let there = at("there").await;
    assert_eq!(
        (&there["method"], &there["target"], &there["body"]),
        (&json!("POST"), &json!("/here?x=1"), &json!("{\"a\":1}"))
    );
    assert_eq!(there["headers"]["x-tenant-id"], "t1");
    let see = at("see").await;
    assert_eq!((&see["method"], &see["target"], &see["body"]), (&json!("GET"), &json!("/here"), &json!("")));
    assert_eq!(see["headers"].get("content-type"), None);
    assert_eq!(at("loop").await["error"]["status"], 302);
    assert_eq!(at("away").await["error"]["status"], 307, "a body goes to its own origin alone");
}

// A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tenants_at_once_never_see_each_other() {
    const CALLS: usize = 40;
    // Every call is held until all of them are under way, so that they are at once indeed.
    let barrier = Arc::new(Barrier::new(CALLS));
    let router = Router::new().fallback(move |request: Request| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            tell(request).await
        }
    });
    let tools = tools(&serve(router).await)
        .with_forwarded_headers(["authorization", "x-tenant-id"])
        .unwrap()
        .with_forwarded_cookies(["session"])
        .unwrap()
        .with_endpoint(look())
        .unwrap();
    let tools = Arc::new(tools);
    let calls: Vec<_> = (0..CALLS)
        .map(|n| {
            let tools = Arc::clone(&tools);
            tokio::spawn(async move { (n, looked(&tools, caller(&format!("canary-{n}"))).await) })
        })
        .collect();
    for call in calls {
        let (n, sent) = call.await.unwrap();
        assert_eq!(told(&sent, "authorization"), Some(format!("Bearer canary-{n}")));
        assert_eq!(told(&sent, "x-tenant-id"), Some(format!("tenant-of-canary-{n}")));
        assert_eq!(told(&sent, "cookie"), Some(format!("session=canary-{n}-cookie")));
    }
}

// A84, invariant 11: a service that repeats what it was sent
#[tokio::test]
async fn an_answer_does_not_show_the_model_what_was_passed_on() {
    async fn repeat(request: Request) -> Response {
        let said = |name| {
            request
                .headers()
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
                .unwrap_or_default()
                .to_owned()
        };
        let (authorization, cookie) = (said("authorization"), said("cookie"));
        let token = authorization.trim_start_matches("Bearer ").to_owned();
        let escaped = token.replace('/', "\\/");
        match request.uri().path() {
            "/json" => (
                [(header::CONTENT_TYPE, "application/json")],
                format!(r#"{{"a":["{escaped}"],"{token}":"x {cookie}"}}"#),
            )
                .into_response(),
            "/text" => format!("{authorization} and {cookie}").into_response(),
            "/file" => (
                [(
                    header::CONTENT_DISPOSITION,
                    format!("attachment; filename=\"{}.csv\"", cookie.trim_start_matches("session=")),
                )],
                format!("a,{token}\n"),
            )
                .into_response(),
            "/cut" => {
                (StatusCode::BAD_REQUEST, format!(r#"{{"m":"{escaped}{}"#, "x".repeat(5000))).into_response()
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, format!("failed for {authorization} {cookie}"))
                .into_response(),
        }
    }
    let mut tools = tools(&serve(Router::new().fallback(repeat)).await)
        .with_forwarded_headers(["authorization"])
        .unwrap()
        .with_forwarded_cookies(["session"])
        .unwrap();
    for name in ["json", "text", "file", "cut", "fail"] {
        tools = tools.with_endpoint(Endpoint::post(name, format!("/{name}"))).unwrap();
    }
    for name in ["json", "text", "file", "cut", "fail"] {
        let context = ToolContext::new().with(
            CallerHeaders::new()
                .with_header(header::AUTHORIZATION, "Bearer canary/token")
                .with_cookie("session", "canary-session"),
        );
        let output = call_in(&tools, name, json!({}), context).await.unwrap();
        assert!(!output.tree.json().contains("canary"), "{name}: {}", output.tree.json());
        for document in &output.documents {
            assert!(!String::from_utf8_lossy(&document.bytes().unwrap()).contains("canary"), "{name}");
        }
        assert!(name == "file" || output.tree.json().contains("***"), "{name}: {}", output.tree.json());
    }
}

#[tokio::test]
async fn a_value_that_would_be_another_header_is_not_sent() {
    let tools = tools(&serve(telling()).await)
        .with_forwarded_headers(["x-tenant-id"])
        .unwrap()
        .with_forwarded_cookies(["session"])
        .unwrap()
        .with_endpoint(look())
        .unwrap();
    let bad = ToolContext::new()
        .with(CallerHeaders::new().with_header(HeaderName::from_static("x-tenant-id"), "a\r\nx-admin: 1"));
    let error = call_in(&tools, "look", json!({}), bad).await.unwrap_err();
    assert_eq!(error.for_model(), "this tool is not set up");
    let bad = ToolContext::new().with(CallerHeaders::new().with_cookie("session", "a; admin=1"));
    assert_eq!(told(&looked(&tools, bad).await, "cookie"), None);
}

#[tokio::test]
async fn ordinary_values_that_are_passed_on_do_not_blot_answers() {
    async fn me() -> axum::Json<Value> {
        axum::Json(
            json!({"mail": "ann@example.org", "about": "an international group", "token": "canary-of-context"}),
        )
    }
    let tools = tools(&serve(Router::new().fallback(me)).await)
        .with_forwarded_headers(["x-tenant"])
        .unwrap()
        .with_endpoint(
            look()
                .with_context_header("x-user", |_| Some("ann@example.org".to_owned()))
                .with_secret_context_header("x-token", |_| Some("canary-of-context".to_owned())),
        )
        .unwrap();
    let caller = CallerHeaders::new().with_header(HeaderName::from_static("x-tenant"), "acme international");
    let shown = looked(&tools, ToolContext::new().with(caller)).await;
    assert_eq!(shown, json!({"mail": "ann@example.org", "about": "an international group", "token": "***"}));
}
