//! The documents of tools that fail, withhold, or show more than they return.

use attache_core::{Arguments, Document, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolReturn};
use attache_macros::tool;
use serde_json::{Value, json};

fn image(name: &str) -> Document {
    Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png").with_file_name(name)
}

fn names(documents: &[Document]) -> Vec<&str> {
    documents.iter().filter_map(Document::file_name).collect()
}

async fn called(tool: &dyn Tool) -> Result<ToolOutput, ToolError> {
    tool.call(&Arguments::new("{}"), ToolContext::new()).await
}

/// Opens a page.
#[tool]
async fn browse() -> Result<String, ToolError> {
    let _logged = json!({ "cookies": image("cookies.png") });
    Err(ToolError::new("the page did not load").with_document(image("page.png")))
}

/// Lists the staff.
#[tool]
fn staff() -> ToolReturn<Value> {
    let salaries = image("salaries.png");
    ToolReturn::new(json!({ "chart": image("chart.png"), "salaries": salaries }))
        .withhold(&salaries)
        .with_document(image("legend.png"))
}

type Boxed = Box<dyn std::error::Error + Send + Sync>;

/// Fails with whatever error.
#[tool]
fn boxed() -> Result<String, Boxed> {
    Err("canary")?
}

#[tokio::test]
async fn a_tool_fails_with_a_document() {
    let error = called(&browse_tool()).await.unwrap_err();
    let call = attache_core::ToolCall::new("browse", Arguments::new("{}"));
    let result = ToolResult::failed(&call, &error);
    assert_eq!(result.tree.model_text(), "the page did not load");
    assert_eq!(names(&result.documents), ["page.png"]);
    assert_eq!(names(result.tree.documents()), ["page.png", "cookies.png"]);
    assert_eq!(result.withheld.len(), 1);
}

#[tokio::test]
async fn a_tool_withholds_one_document_and_shows_another() {
    let output = called(&staff_tool()).await.unwrap();
    assert_eq!(names(&output.documents), ["chart.png", "legend.png"]);
    assert_eq!(output.withheld.len(), 1);
}

#[tokio::test]
async fn a_tool_fails_with_a_boxed_error() {
    let error = called(&boxed_tool()).await.unwrap_err();
    assert_eq!(error.for_model(), "the tool failed");
}
