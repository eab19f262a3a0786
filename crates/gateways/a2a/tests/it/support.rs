//! A made-up agent: it answers as a test says, and remembers what it was asked.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_a2a::{A2aAgent, A2aLimits};
use attache_core::tool::DynToolHandler;
use attache_core::{Arguments, ToolContext, ToolError, ToolOutput};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

/// A request that the agent was sent.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

impl Asked {
    /// The method of JSON-RPC.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn params(&self) -> &Value {
        &self.body["params"]
    }
}

pub(crate) type Answer = Response;

type Script = Arc<dyn Fn(&Asked, usize) -> Answer + Send + Sync>;

#[derive(Clone)]
struct Shared {
    script: Script,
    asked: Arc<Mutex<Vec<Asked>>>,
    told: Arc<tokio::sync::Notify>,
}

/// A made-up agent on this machine.
pub(crate) struct Fake {
    pub(crate) url: String,
    shared: Shared,
}

impl Fake {
    /// An agent with a card of that version, and answers to everything else: by the request, and how many of them came.
    pub(crate) async fn new(
        card: impl Fn(&str) -> Value + Send + Sync + 'static,
        script: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let base = url.clone();
        let script: Script = Arc::new(move |asked, count| match &*asked.path {
            "/.well-known/agent-card.json" => json_answer(&card(&base)),
            _ => script(asked, count),
        });
        let shared = Shared { script, asked: Arc::default(), told: Arc::default() };
        let router = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared }
    }

    /// An agent of version 1.0 that streams or not.
    pub(crate) async fn v1(
        streaming: bool,
        script: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |url| card_v1(url, streaming), script).await
    }

    /// An agent of version 0.3 that streams or not.
    pub(crate) async fn v0_3(
        streaming: bool,
        script: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |url| card_v0_3(url, streaming), script).await
    }

    pub(crate) fn agent(&self) -> A2aAgent {
        A2aAgent::at("leases", &self.url)
    }

    /// The requests, without those for the card.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = self.shared.asked.lock().unwrap();
        asked.iter().filter(|asked| !asked.path.contains(".well-known")).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The methods of JSON-RPC that it was asked for, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked.rpc().to_owned()).collect()
    }

    /// Waits until it was asked for that method.
    pub(crate) async fn was_asked(&self, method: &str) {
        loop {
            let told = self.shared.told.notified();
            if self.methods().iter().any(|known| known == method) {
                return;
            }
            tokio::time::timeout(Duration::from_secs(20), told).await.expect(method);
        }
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let asked = Asked {
        method: head.method.to_string(),
        path: head.uri.path_and_query().unwrap().to_string(),
        headers: head.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let count = {
        let mut all = shared.asked.lock().unwrap();
        all.push(asked.clone());
        all.iter().filter(|asked| !asked.path.contains(".well-known")).count()
    };
    shared.told.notify_waiters();
    let answer = (shared.script)(&asked, count);
    if let Some(Late(time)) = answer.extensions().get() {
        tokio::time::sleep(*time).await;
    }
    answer
}

/// An answer that begins only after this time.
#[derive(Clone, Copy)]
pub(crate) struct Late(pub(crate) Duration);

pub(crate) fn card_v1(url: &str, streaming: bool) -> Value {
    json!({
        "name": "Leases", "description": "Knows all leases.", "version": "1.0.0",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": streaming, "pushNotifications": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "find", "name": "Find", "description": "Finds leases", "tags": ["leases"], "examples": ["The bakery?"]},
            {"id": "draw.up", "name": "Draw up", "description": "Draws leases up", "tags": ["leases"]}],
    })
}

pub(crate) fn card_v0_3(url: &str, streaming: bool) -> Value {
    json!({
        "name": "Leases", "description": "Knows all leases.", "version": "1.0.0", "protocolVersion": "0.3.0",
        "url": url, "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "find", "name": "Find", "description": "Finds leases", "tags": ["leases"]}],
    })
}

pub(crate) fn json_answer(value: &Value) -> Answer {
    Response::builder()
        .header("content-type", "application/json")
        .body(Body::from(value.to_string()))
        .unwrap()
}

/// A result of JSON-RPC.
pub(crate) fn result(value: &Value) -> Answer {
    json_answer(&json!({"jsonrpc": "2.0", "id": "1", "result": value}))
}

/// An error of JSON-RPC.
pub(crate) fn error(code: i64, message: &str) -> Answer {
    json_answer(&json!({"jsonrpc": "2.0", "id": "1", "error": {"code": code, "message": message}}))
}

/// A stream of results that ends.
pub(crate) fn events(values: &[Value]) -> Answer {
    let lines = values.iter().map(line).collect::<String>();
    sse(Body::from(format!(": hello\n\n{lines}")))
}

/// A stream that says these, and then nothing more.
pub(crate) fn silent_after(values: &[Value]) -> Answer {
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from(values.iter().map(line).collect::<String>()))]);
    sse(Body::from_stream(first.chain(stream::pending())))
}

/// A stream that says these, and breaks.
pub(crate) fn cut_after(values: &[Value]) -> Answer {
    let said = Bytes::from(values.iter().map(line).collect::<String>());
    let pieces = stream::iter([Ok(said), Err(std::io::Error::other("cut"))]).then(|piece| async {
        // The part before the cut is sent by itself.
        tokio::task::yield_now().await;
        piece
    });
    sse(Body::from_stream(pieces))
}

pub(crate) fn line(value: &Value) -> String {
    format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": "1", "result": value}))
}

pub(crate) fn sse(body: Body) -> Answer {
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

/// A task of version 1.0.
pub(crate) fn task(state: &str) -> Value {
    json!({"id": "t-1", "contextId": "c-1", "status": {"state": format!("TASK_STATE_{state}")}})
}

/// The same with words of the agent.
pub(crate) fn task_saying(state: &str, text: &str) -> Value {
    let message = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": text}]});
    json!({"id": "t-1", "contextId": "c-1", "status": {"state": format!("TASK_STATE_{state}"), "message": message}})
}

pub(crate) fn message(parts: &Value) -> Value {
    json!({"message": {"messageId": "m-1", "contextId": "c-1", "role": "ROLE_AGENT", "parts": parts}})
}

/// Limits with which a call waits for a task as briefly as it can.
pub(crate) fn impatient() -> A2aLimits {
    A2aLimits::new().with_patience(Duration::from_millis(300))
}

pub(crate) async fn call(agent: &A2aAgent, arguments: Value) -> Result<ToolOutput, ToolError> {
    call_with(agent, arguments, ToolContext::new()).await
}

pub(crate) async fn call_with(
    agent: &A2aAgent,
    arguments: Value,
    context: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let name = format!("a2a_{}___ask", agent.alias());
    DynToolHandler::call(agent, &name, &Arguments::new(arguments.to_string()), context).await
}

pub(crate) async fn ask(agent: &A2aAgent) -> Result<ToolOutput, ToolError> {
    call(agent, json!({"message": "go"})).await
}
