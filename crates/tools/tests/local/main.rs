//! The tools that work on this machine: files, and what is computed.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod calculator;
mod document_search;
mod fetch;
mod files;
mod time;
mod writes;

use std::sync::Arc;

use attache_core::{Arguments, Tool, ToolContext, ToolOutput};
use serde_json::Value;

/// The output of a call of one of some tools, or the text that the model reads instead.
async fn call(tools: &[Arc<dyn Tool>], name: &str, arguments: Value) -> Result<ToolOutput, String> {
    let tool = tools.iter().find(|tool| tool.spec().definition.name() == name).unwrap();
    let called = tool.call(&Arguments::new(arguments.to_string()), ToolContext::new()).await;
    called.map_err(|error| error.for_model().to_owned())
}

/// The JSON of a call's output.
async fn json(tools: &[Arc<dyn Tool>], name: &str, arguments: Value) -> Value {
    let output = call(tools, name, arguments).await.unwrap();
    serde_json::from_str(output.tree.json()).unwrap()
}
