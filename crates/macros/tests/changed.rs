//! Tools that are offered otherwise than they were written.

use attache_core::tool::ToolSpec;
use attache_core::{
    Arguments, Document, Effect, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolReturn,
};
use attache_macros::tool;
use serde_json::{Value, json};

async fn call(tool: &dyn Tool, arguments: Value) -> Result<ToolOutput, ToolError> {
    tool.call(&Arguments::new(arguments.to_string()), ToolContext::new()).await
}

async fn text(tool: &dyn Tool, arguments: Value) -> String {
    match call(tool, arguments).await {
        Ok(output) => output.tree.model_text().into_owned(),
        Err(error) => error.for_model().to_owned(),
    }
}

/// Adds up.
#[tool(returns = "the sum", returns_example = 5, tags = "arithmetic, sum", always_visible)]
fn sum(a: i64, b: i64) -> i64 {
    a + b
}

// A06
#[test]
fn a_tool_says_what_it_returns() {
    let tool = sum_tool();
    let ToolSpec { definition, metadata, .. } = tool.spec();
    assert_eq!(definition.output_schema(), Some(&json!({"description": "the sum", "examples": [5]})));
    assert!(metadata.always_visible);
    assert_eq!(metadata.tags, ["arithmetic", "sum"]);
    assert_eq!(halve_tool().spec().definition.output_schema(), None);
}

// S10: the definition of any tool, and the tool itself stays as it was
#[tokio::test]
async fn the_definition_of_a_tool_can_be_changed() {
    let renamed = sum_tool().with_spec(|mut spec| {
        let definition = spec.definition.with_name("calculator.sum").with_description("Sums.");
        spec.definition = definition.with_examples([json!({"a": 1, "b": 2})]);
        spec.with_effect(Effect::Read)
    });
    let definition = &renamed.spec().definition;
    assert_eq!((definition.name(), definition.description()), ("calculator.sum", "Sums."));
    assert_eq!(definition.input_schema(), sum_tool().spec().definition.input_schema());
    assert_eq!(text(&renamed, json!({"a": "1", "b": 2})).await, "3");
    assert!(text(&renamed, json!({"a": 1})).await.starts_with("the arguments of calculator.sum do not fit"));
    assert_eq!(sum_tool().spec().definition.name(), "sum");
    // A call fits the new schema and that of the tool.
    let small = json!({"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}});
    let narrow = sum_tool().with_spec(|mut spec| {
        spec.definition = spec.definition.with_input_schema(small);
        spec
    });
    assert!(text(&narrow, json!({"a": 10, "b": 1})).await.contains("`a`"));
    assert!(text(&narrow, json!({"a": 1})).await.contains("`b` is missing"));
    assert_eq!(text(&narrow, json!({"a": 1, "b": 1})).await, "2");
}

/// Fails where `a` is odd.
#[tool]
fn halve(a: i64) -> Result<ToolReturn<Vec<Document>>, std::io::Error> {
    let document = Document::inline("half");
    if a % 2 == 0 { Ok(ToolReturn::new(vec![document])) } else { Err(std::io::Error::other("canary")) }
}

// S04, S23: of one tool
#[tokio::test]
async fn the_outcome_of_a_tool_can_be_changed() {
    let tool = halve_tool().with_outcome(|outcome| match outcome {
        Ok(output) => Ok(output.with_text("halved")),
        Err(error) => Err(ToolError::retry(format!("it is odd: {}", error.source().is_some()))),
    });
    let output = call(&tool, json!({"a": 4})).await.unwrap();
    assert_eq!((&*output.tree.model_text(), output.documents.len()), ("halved", 1));
    assert_eq!(output.tree.documents(), output.documents, "the documents stay");
    let error = call(&tool, json!({"a": 3})).await.unwrap_err();
    assert_eq!((error.for_model(), error.kind()), ("it is odd: true", ToolErrorKind::Retry));
}
