//! A tool that asks the user.

use attache_core::tool::{Deferred, ToolSpec};
use attache_core::{BoxFuture, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

/// The tool with which a model asks the user. The run ends with the status "input required" and the question, and
/// continues with the answer.
///
/// ```
/// use attache_core::Tool;
/// use attache_tools::AskUser;
/// assert_eq!(AskUser::new().spec().definition.name(), "ask_user");
/// ```
#[derive(Clone, Debug)]
pub struct AskUser {
    spec: ToolSpec,
}

impl Default for AskUser {
    fn default() -> Self {
        Self::new()
    }
}

impl AskUser {
    /// Creates the tool, with the name `ask_user`.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "The question, as the user reads it"},
                "choices": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The answers to choose from, if there are only a few",
                },
            },
            "required": ["question"],
            "additionalProperties": false,
        });
        let text = "Asks the user for something that only they know, and waits for their answer";
        let spec = ToolSpec::new(ToolDefinition::new("ask_user", text, schema));
        Self { spec: spec.with_effect(Effect::Read).with_origin("attache_tools::AskUser") }
    }
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default();
        let asked = match arguments
            .get("choices")
            .filter(|choices| choices.as_array().is_some_and(|list| !list.is_empty()))
        {
            Some(choices) => Deferred::ask(question).with_schema(json!({"type": "string", "enum": choices})),
            None => Deferred::ask(question).with_schema(json!({"type": "string"})),
        };
        Box::pin(std::future::ready(Ok(ToolOutput::deferred(asked))))
    }
}
