//! Which documents a handler shows: C11–C13, documents.md 8.2.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use attache_core::tool::{DynToolHandler, ToolSpec};
use attache_core::{Arguments, ContentTree, Document, ToolContext, ToolError, ToolHandler, ToolOutput};
use attache_documents::walk_value;
use serde::Serialize;
use serde_json::{Value, json};

use crate::builder::{Chat, outcomes, pdf, png, shown};

/// A handler that overrides nothing.
struct Plain;

impl ToolHandler for Plain {
    type Output = Value;

    fn name(&self) -> &str {
        "plain"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }

    async fn call(&self, _: &str, _: &Arguments, _: ToolContext) -> Result<Value, ToolError> {
        Ok(json!({"chart": pdf("chart.pdf"), "raw": [pdf("raw.pdf")]}))
    }
}

/// A handler that shows what is under `chart`, with the public walker.
#[derive(Default)]
struct Choosy {
    asked: AtomicUsize,
}

impl ToolHandler for Choosy {
    type Output = Value;

    fn name(&self) -> &str {
        "choosy"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        ToolHandler::call(&Plain, tool, arguments, context).await
    }

    fn extract_documents(&self, output: &Value, tree: &ContentTree) -> Vec<Document> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let chart = walk_value(&output["chart"], tree.documents());
        chart.iter().chain(&chart).cloned().collect()
    }
}

fn call(handler: &dyn DynToolHandler) -> ToolOutput {
    let arguments = Arguments::new("{}");
    let mut future = pin!(handler.call("t", &arguments, ToolContext::new()));
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output.unwrap(),
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn routed(output: &ToolOutput) -> Vec<&'static str> {
    let chat = Chat::new().user("?").calls_with(&[("t", output.tree.clone())], |_, result| {
        result.documents.clone_from(&output.documents);
        result.withheld.clone_from(&output.withheld);
    });
    outcomes(&chat.route("anthropic"))
}

// #14, #22, C12: what nobody chooses from is shown whole
#[test]
fn the_default_shows_everything() {
    let output = call(&Plain);
    assert_eq!(output.documents.len(), 2);
    assert_eq!(routed(&output), ["native", "native"]);
}

// #15, #20, #23, C11: the handler's word alone counts, each document once
#[test]
fn a_handler_chooses_and_the_rest_is_withheld() {
    let handler = Choosy::default();
    let output = call(&handler);
    assert_eq!(handler.asked.load(Ordering::Relaxed), 1);
    assert_eq!(output.documents, [pdf("chart.pdf")]);
    assert_eq!(routed(&output), ["native", "withheld"]);
}

/// The answer of another agent: its artifacts, its message about its state, and the messages before.
#[derive(Serialize)]
struct Task {
    artifacts: Vec<Vec<Part>>,
    status: Status,
    history: Vec<Vec<Part>>,
}

#[derive(Serialize)]
struct Status {
    state: &'static str,
    message: Vec<Part>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Part {
    Text { text: &'static str },
    File { file: Document },
    Data { data: Value },
}

/// A family whose answers are tasks of other agents.
struct Agents;

impl ToolHandler for Agents {
    type Output = Task;

    fn name(&self) -> &str {
        "agents"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }

    async fn call(&self, _: &str, _: &Arguments, _: ToolContext) -> Result<Task, ToolError> {
        let data = json!({"charts": {"first": [pdf("chart.pdf")]}});
        Ok(Task {
            artifacts: vec![vec![Part::File { file: pdf("artifact.pdf") }, Part::Data { data }]],
            status: Status { state: "completed", message: vec![Part::File { file: png("status.png") }] },
            history: vec![vec![Part::Text { text: "Working on it" }]],
        })
    }
}

// D13: file parts, the message of the status and objects inside data parts are all looked at
#[test]
fn files_of_another_agent_are_found_wherever_they_stand() {
    let names = |documents: &[Document]| -> Vec<String> {
        documents.iter().map(|document| document.file_name().unwrap().to_owned()).collect()
    };
    let output = call(&Agents);
    // The document of a data part was serialised when the part was made, and stands where its reference stands.
    assert_eq!(names(&output.documents), ["artifact.pdf", "chart.pdf", "status.png"]);
    assert_eq!(routed(&output), ["native"; 3]);
    assert!(output.tree.json().contains("Working on it") && output.tree.json().contains("completed"));
}

/// The answer of a tool server: content of several kinds, structured content beside it, and whether it failed.
#[derive(Serialize)]
struct Answer {
    content: Vec<Block>,
    #[serde(rename = "structuredContent")]
    structured: Value,
    #[serde(skip)]
    failed: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text { text: &'static str },
    Image { image: Document },
    Resource { resource: Document },
    ResourceLink { link: Document },
}

struct Server {
    failed: bool,
}

impl ToolHandler for Server {
    type Output = Answer;

    fn name(&self) -> &str {
        "server"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(Vec::new())
    }

    async fn call(&self, _: &str, _: &Arguments, _: ToolContext) -> Result<Answer, ToolError> {
        let link = Document::external("https://files.example/reports/q3.pdf?sig=canary");
        Ok(Answer {
            content: vec![
                Block::Text { text: " " },
                Block::Image { image: png("image.png") },
                Block::Resource { resource: pdf("resource.pdf") },
                Block::ResourceLink { link: link.with_file_name("q3.pdf") },
            ],
            structured: json!({"sum": 12}),
            failed: self.failed,
        })
    }

    fn is_error(&self, output: &Answer) -> bool {
        output.failed
    }
}

// D14: structured content hides no image, a stored blob keeps its name, a link is a document, a blank text is no error,
// and what the server calls a failure stays one
#[test]
fn nothing_of_a_servers_answer_is_lost() {
    let output = call(&Server { failed: false });
    assert_eq!(output.status, attache_core::ResultStatus::Ok);
    assert_eq!(output.documents.len(), 3);
    assert_eq!(routed(&output), ["native", "native", "note"], "the link is not fetched, and says so");
    let chat = Chat::new().user("?").calls(&[("t", output.tree.clone())]);
    let content = shown(&chat.route("anthropic").messages[2]);
    assert!(content.contains(&"(application/pdf resource.pdf)".to_owned()), "{content:?}");
    assert!(content.iter().any(|text| text.contains("filename=\"q3.pdf\"") && text.contains("not loaded")));
    assert!(output.tree.json().contains(r#""sum":12"#));
    assert!(!output.tree.json().contains("canary"));
    let failed = call(&Server { failed: true });
    assert_eq!(failed.status, attache_core::ResultStatus::Error);
    assert_eq!(failed.documents.len(), 3, "a failure keeps its documents");
}
