//! Which documents a handler shows: C11–C13, documents.md 8.2.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use attache_core::{
    Arguments, ContentTree, Document, DynToolHandler, ToolContext, ToolError, ToolHandler, ToolOutput,
    ToolSpec,
};
use attache_documents::walk_value;
use serde_json::{Value, json};

use crate::builder::{Chat, outcomes, pdf};

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
