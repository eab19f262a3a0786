//! Clients of other vendors against our server: streams, tools of the client, documents, errors, and a client that leaves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken expectation is a failed test"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{Agent, MemorySessions, Sessions, tool_fn};
use attache_core::citation::{AnswerSpan, How, Place, Source, Span};
use attache_core::tool::Progress;
use attache_core::{
    Approval, ChatRequest, Citation, Document, DocumentId, ErrorKind, Message, ToolContext, ToolError,
    UserPart,
};
use attache_server::Server;
use attache_testkit::{FunctionModel, Turn};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A folder that `cargo xtask counterparts` fills with what a file of `tests/real` names.
fn environment(language: &str, name: &str, packages: &str) -> PathBuf {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(language);
    let wanted = std::fs::read_to_string(script(packages)).unwrap();
    // Written last: an environment without it is a torn one.
    let ready = std::fs::read_to_string(base.join(format!("{name}.ready")));
    let is_ready = ready.is_ok_and(|ready| ready == wanted);
    assert!(is_ready, "the packages of tests/real/{packages} are not installed: cargo xtask counterparts");
    base.join(name)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real").join(name)
}

/// The beginning of an image.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Tells when it is dropped.
struct Told(UnboundedSender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A model that does as it is told.
fn reply(request: &ChatRequest) -> Turn {
    let last = request.messages.last().unwrap();
    let said = match &**last {
        Message::ToolResults(message) => {
            let said: Vec<_> = message.results.iter().map(|result| result.tree.model_text()).collect();
            return match said.join(", ") {
                // A client that asks again by itself would be answered.
                said if said == "sent 1" => Turn::empty().then_error(ErrorKind::Overloaded),
                said => Turn::text(&format!("It is {said}.")),
            };
        }
        Message::User(message) => message
            .parts
            .iter()
            .filter_map(|part| match part {
                UserPart::Text(text) => Some(text.text()),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join("\n"),
        other => panic!("{other:?}"),
    };
    match said.lines().next().unwrap_or_default() {
        "The weather?" => Turn::call("weather", json!({"city": "Berlin"})),
        "The document?" if format!("{:?}", request.messages).contains("day,rain") => Turn::text("I read it."),
        "pay" => Turn::call("pay", json!({})),
        "send" => Turn::call("send", json!({})),
        "fail" => Turn::empty().then_error(ErrorKind::InvalidRequest),
        "draw" => Turn::text("Here.").making(Document::from_bytes(PNG, "image/png")),
        // The image came back with the history.
        "The picture?" if request.messages.iter().any(|message| !message.documents().is_empty()) => {
            Turn::text("I see it.")
        }
        "cite" => {
            let lease = Source::Document { id: DocumentId::new(), name: Some("lease.pdf".to_owned()) };
            let page =
                Source::Url { url: "https://example.org/".to_owned(), title: Some("Rents".to_owned()) };
            let span = Span::new(0, 17).map(AnswerSpan::Claim);
            let lease =
                Citation::new(lease, How::Native).with_place(Place::Pages(2, 2)).with_quote(Some("EUR 900"));
            Turn::text("The rent is 900. It is usual.")
                .citing(lease.with_answer_span(span))
                .citing(Citation::new(page, How::Native))
        }
        "index" => Turn::call("index", json!({})),
        "long" => Turn::text("One moment.").and_call("wait", json!({})),
        "What is the rent?" => Turn::text("The rent is 900 euros."),
        other => panic!("{other:?}"),
    }
}

/// A server on a port of its own; its tool `wait` tells when it is left.
async fn server() -> (String, UnboundedReceiver<()>) {
    let (sender, left) = unbounded_channel();
    let wait = tool_fn("wait", "Waits", move |_: serde_json::Value| {
        let told = Told(sender.clone());
        async move {
            let _told = told;
            std::future::pending::<()>().await;
            Ok("never")
        }
    });
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let index = tool_fn("index", "Indexes", |context: ToolContext| async move {
        context.progress(Progress::new(1.0).with_total(2.0).with_message("page 1"));
        // It is told while the tool is at work.
        tokio::task::yield_now().await;
        Ok::<_, ToolError>("indexed")
    });
    let sent = AtomicUsize::new(0);
    let send =
        tool_fn("send", "Sends", move || Ok(format!("sent {}", sent.fetch_add(1, Ordering::SeqCst) + 1)));
    let model = FunctionModel::new(|request, _| reply(request)).unverified();
    let agent = Agent::builder(model).tool(wait).tool(pay).tool(index).tool(send);
    let agent = agent.citations(true).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(Server::new("papers", sessions).serve(listener, std::future::pending()));
    (address, left)
}

/// Runs a client to its end. It leaves as many runs of the server in the middle as `leaves` says.
async fn client(program: impl FnOnce(&str) -> Command, leaves: usize) {
    let (address, mut left) = server().await;
    let mut command = tokio::process::Command::from(program(&address));
    // Wherever a proxy of the environment leads, the server is on this machine.
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(100), command.output());
    let output = output.await.expect("the client comes to its end").unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    for _ in 0..leaves {
        let told = tokio::time::timeout(Duration::from_secs(5), left.recv()).await;
        told.expect("the run ends when its client leaves").unwrap();
    }
}

async fn python(environment: &str, name: &str, leaves: usize) {
    let folder = self::environment("python", environment, &format!("{environment}.txt"));
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let program = |address: &str| {
        let mut command = Command::new(python);
        command.arg(script("clients/clients.py")).args([name, address]).env("PYTHONDONTWRITEBYTECODE", "1");
        // Nothing of it may ask the network.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LANGSMITH_TRACING", "false");
        command
    };
    client(program, leaves).await;
}

async fn node(name: &str, leaves: usize) {
    let folder = environment("node", "clients", "clients/package-lock.json");
    let node = if cfg!(windows) { "node/bin/node.exe" } else { "node/bin/node" };
    let program = |address: &str| {
        let mut command = Command::new(folder.join("node_modules").join(node));
        command.arg(script("clients/clients.mjs")).args([name, address]).arg(&folder);
        command
    };
    client(program, leaves).await;
}

// A36
#[tokio::test]
async fn openai_in_python() {
    python("clients", "openai", 1).await;
}

// A36
#[tokio::test]
async fn anthropic_in_python() {
    python("clients", "anthropic", 1).await;
}

// A36, A64
#[tokio::test]
async fn pydantic_ai() {
    python("clients", "pydantic", 2).await;
}

// A64
#[tokio::test]
async fn litellm() {
    python("litellm", "litellm", 1).await;
}

// A64
#[tokio::test]
async fn langchain_openai() {
    python("litellm", "langchain", 1).await;
}

// A36, A64
#[tokio::test]
async fn openai_in_javascript() {
    node("openai", 1).await;
}

// A36
#[tokio::test]
async fn vercel_ai() {
    node("ai", 1).await;
}

// A36
#[tokio::test]
async fn ag_ui() {
    node("agui", 1).await;
}

// A64
#[tokio::test]
async fn curl() {
    let program = |address: &str| {
        let mut command = Command::new("curl");
        let body = json!({"model": "papers", "stream": true, "messages": [{"role": "user", "content": "What is the rent?"}]});
        command.args(["--no-buffer", "--fail-with-body", "--silent", "--show-error", "--header"]);
        command.args(["Content-Type: application/json", "--data", &body.to_string()]);
        command.arg(format!("{address}/v1/chat/completions"));
        command
    };
    client(program, 0).await;
}
