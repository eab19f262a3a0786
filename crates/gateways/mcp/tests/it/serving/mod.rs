//! Our tools and agents as a server.
#![allow(clippy::needless_pass_by_value, reason = "values of tests are written where they are passed")]

mod agents;
mod hostile;
mod http;
mod offers;
mod tools;

use attache_mcp::{McpHttp, McpService};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// A client that writes what a test tells it.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: Option<WriteHalf<DuplexStream>>,
    task: JoinHandle<()>,
    number: u64,
    /// The messages that came while an answer was waited for.
    told: Vec<Value>,
    /// The version that each request says, in the newer era.
    era: Option<Value>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Client {
    fn raw(service: McpService) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(ours);
        let (their_read, their_write) = tokio::io::split(theirs);
        let task = tokio::spawn(async move {
            let _ = service.serve(their_read, their_write).await;
        });
        let lines = BufReader::new(read).lines();
        Self { lines, write: Some(write), task, number: 0, told: Vec::new(), era: None }
    }

    /// A client of the older era.
    async fn new(service: McpService, capabilities: Value) -> Self {
        let mut client = Self::raw(service);
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let said = client.ask("initialize", params).await;
        assert_eq!(said["result"]["protocolVersion"], "2025-11-25", "{said}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    /// A client of the newer era.
    fn stateless(service: McpService, capabilities: Value) -> Self {
        let mut client = Self::raw(service);
        client.era = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.write.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the server is there");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request, and says its number.
    async fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.number += 1;
        if let Some(era) = &self.era {
            let meta = params["_meta"].take();
            params["_meta"] = era.clone();
            for (key, value) in meta.as_object().into_iter().flatten() {
                params["_meta"][key] = value.clone();
            }
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})).await;
        self.number
    }

    /// The answer to a request.
    async fn answer(&mut self, number: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == number && message.get("method").is_none() {
                return message;
            }
            self.told.push(message);
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let number = self.begin(method, params).await;
        self.answer(number).await
    }

    /// Calls a tool, and answers what its user is asked meanwhile.
    async fn call_answering(&mut self, name: &str, arguments: Value, answer: Value) -> Value {
        let number = self.begin("tools/call", json!({"name": name, "arguments": arguments})).await;
        loop {
            let message = self.next().await;
            if message["method"] == "elicitation/create" {
                let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer});
                self.told.push(message);
                self.send(&reply).await;
            } else if message["id"] == number {
                return message["result"].clone();
            }
        }
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await["result"].clone()
    }
}

/// A server over HTTP.
struct Served {
    url: String,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn served(http: McpHttp) -> Served {
    let listener = http.bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.address());
    Served { url, task: tokio::spawn(listener.serve()) }
}

/// The text of a result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
