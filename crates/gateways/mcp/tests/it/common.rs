//! A server over HTTP that answers as a test tells it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use attache_core::tool::{DynToolHandler, ToolSpec};
use attache_core::{Arguments, ToolContext, ToolError, ToolOutput};
use attache_mcp::{McpEndpoint, McpEra, McpServer};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// The path, with the query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The method of the protocol.
    pub(crate) fn asks(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// The way that a request is answered.
pub(crate) enum Answer {
    /// With a result.
    Result(Value),
    /// With a JSON-RPC error.
    Error(i64, &'static str),
    /// With a status, headers and a body.
    Http(u16, Vec<(&'static str, String)>, BoxStream<'static, Bytes>),
    /// Not at all.
    Hang,
}

impl Answer {
    pub(crate) fn whole(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        Self::Http(status, vec![("content-type", content_type.to_owned())], stream::iter([body]).boxed())
    }

    pub(crate) fn events(body: BoxStream<'static, Bytes>) -> Self {
        Self::Http(200, vec![("content-type", "text/event-stream".to_owned())], body)
    }
}

type Script = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A server on this machine.
pub(crate) struct Scripted {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Scripted {
    /// A server of which `script` answers everything.
    pub(crate) async fn raw(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (seen, script): (_, Arc<Script>) = (Arc::clone(&asked), Arc::new(script));
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                connections.spawn(async move {
                    let service = hyper::service::service_fn(move |request| {
                        answer(request, Arc::clone(&seen), Arc::clone(&script))
                    });
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        Self { address, asked, task }
    }

    /// A server of the newer era that has `tools` and answers calls by `call`, which gets the parameters.
    pub(crate) async fn new(tools: Value, call: impl Fn(&Value) -> Answer + Send + Sync + 'static) -> Self {
        Self::raw(move |asked| match asked.asks() {
            "tools/list" => Answer::Result(complete(json!({"tools": tools}))),
            "tools/call" => call(&asked.body["params"]),
            other => greeting(other),
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn server(&self) -> McpServer {
        McpServer::http("test", McpEndpoint::new(self.url())).era(McpEra::Stateless)
    }
}

/// The answer of a server of the newer era to whatever else is asked.
pub(crate) fn greeting(asks: &str) -> Answer {
    match asks {
        "server/discover" => Answer::Result(complete(json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        }))),
        "" | "notifications/cancelled" => Answer::whole(202, "text/plain", ""),
        _ => Answer::Error(-32601, "no such method"),
    }
}

/// A result of the newer era.
pub(crate) fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["ttlMs"] = json!(0);
    result["cacheScope"] = json!("private");
    result
}

/// A tool without parameters.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}"), "inputSchema": {"type": "object"}})
}

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

async fn answer(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<Asked>>>,
    script: Arc<Script>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let form = || Value::from(String::from_utf8_lossy(&body).into_owned());
    let body: Value = serde_json::from_slice(&body).unwrap_or_else(|_| form());
    let id = body["id"].clone();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let asked = Asked { method: head.method, path, headers: head.headers, body };
    seen.lock().unwrap().push(asked.clone());
    let json =
        |value: Value| (200, vec![("content-type", "application/json".to_owned())], once(value.to_string()));
    let (status, headers, body) = match script(&asked) {
        Answer::Result(result) => json(json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Answer::Error(code, text) => {
            json(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}))
        }
        Answer::Http(status, headers, body) => (status, headers, body),
        Answer::Hang => std::future::pending().await,
    };
    let body = StreamBody::new(body.map(|bytes| Ok::<_, Infallible>(Frame::data(bytes))));
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    Ok(response.body(body.boxed_unsync()).unwrap())
}

fn once(text: String) -> BoxStream<'static, Bytes> {
    stream::iter([Bytes::from(text)]).boxed()
}

pub(crate) async fn tools(server: &McpServer) -> Result<Vec<ToolSpec>, ToolError> {
    DynToolHandler::tools(server).await
}

pub(crate) fn names(tools: &[ToolSpec]) -> Vec<&str> {
    tools.iter().map(|tool| tool.definition.name()).collect()
}

/// A call without arguments, as an agent makes it.
pub(crate) async fn call(server: &McpServer, tool: &str) -> Result<ToolOutput, ToolError> {
    call_with(server, tool, "{}").await
}

pub(crate) async fn call_with(
    server: &McpServer,
    tool: &str,
    arguments: &str,
) -> Result<ToolOutput, ToolError> {
    let arguments = Arguments::new(arguments);
    DynToolHandler::call(server, tool, &arguments, ToolContext::new()).await
}
