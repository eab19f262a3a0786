//! Services that tell what they were sent.

use std::collections::BTreeMap;

use attache_core::tool::DynToolHandler;
use attache_core::{Arguments, ToolContext, ToolError, ToolOutput};
use attache_http_tools::{Endpoint, HttpTools, HttpToolsError};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The echo of a request: method, target, headers, body.
pub(crate) async fn echo(request: Request) -> axum::Json<Value> {
    let (head, body) = request.into_parts();
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &head.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let all = headers.entry(name.to_string()).or_default();
        all.push_str(&value);
    }
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    axum::Json(json!({
        "method": head.method.as_str(),
        "target": head.uri.path_and_query().map_or("", |target| target.as_str()),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    }))
}

pub(crate) fn echoing() -> Router {
    Router::new().fallback(echo)
}

/// Serves a router; its base URL.
pub(crate) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// Tools of a service on this machine.
pub(crate) fn tools(url: &str) -> HttpTools {
    HttpTools::new("test", url).unwrap().with_private_addresses(true)
}

/// Tools of a service in this process.
pub(crate) fn here(router: Router) -> HttpTools {
    HttpTools::new("test", "http://orders.internal/v1").unwrap().with_service(router)
}

pub(crate) fn refused(endpoint: Endpoint) -> String {
    let made: Result<HttpTools, HttpToolsError> = here(echoing()).with_endpoint(endpoint);
    made.unwrap_err().to_string()
}

pub(crate) async fn call_in(
    tools: &HttpTools,
    tool: &str,
    arguments: Value,
    context: ToolContext,
) -> Result<ToolOutput, ToolError> {
    DynToolHandler::call(tools, tool, &Arguments::new(arguments.to_string()), context).await
}

pub(crate) async fn call(tools: &HttpTools, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_in(tools, tool, arguments, ToolContext::new()).await
}

pub(crate) fn value(output: &ToolOutput) -> Value {
    serde_json::from_str(output.tree.json()).unwrap()
}

/// The echo of a call.
pub(crate) async fn echoed(tools: &HttpTools, tool: &str, arguments: Value) -> Value {
    value(&call(tools, tool, arguments).await.unwrap())
}

/// An answer of a service, whatever it is asked.
pub(crate) fn answering(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: impl Into<Bytes>,
) -> Router {
    let body: Bytes = body.into();
    Router::new().fallback(move || {
        let body = body.clone();
        async move {
            let mut response = axum::http::Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(*name, *value);
            }
            response.body(Body::from(body)).unwrap()
        }
    })
}
