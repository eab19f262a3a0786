//! The tools with which a model remembers, recalls and forgets facts.

use std::sync::Arc;

use attache_core::facts::LongTermMemory;
use attache_core::tool::ToolSpec;
use attache_core::{
    BoxFuture, ContentTree, Effect, StoreError, StoreErrorKind, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolOutput,
};
use serde_json::{Map, Value, json};

use super::listed;

/// Facts that one search yields.
const FOUND: usize = 10;

/// Creates the tools `remember`, `recall` and `forget` for a long-term memory. Each principal has its own facts, and
/// without a principal (see `AgentBuilder::principal`) the tools fail.
///
/// ```
/// use std::sync::Arc;
/// use attache_agent::Agent;
/// use attache_tools::{MemoryFacts, fact_tools};
///
/// # let model = attache_testkit::ScriptedModel::new([]);
/// let memory = Arc::new(MemoryFacts::new());
/// let agent = Agent::builder(model).tools(fact_tools(memory)).principal("ann@example.org").build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fact_tools(memory: Arc<impl LongTermMemory + 'static>) -> Vec<Arc<dyn Tool>> {
    let memory: Arc<dyn LongTermMemory> = memory;
    let tool = |does, name, description: &str, argument: &str, about: &str, required: bool, effect| {
        let schema = json!({
            "type": "object",
            "properties": { argument: { "type": "string", "description": about } },
            "required": if required { vec![argument] } else { Vec::new() },
        });
        let definition = ToolDefinition::new(name, description, schema);
        let spec = ToolSpec::new(definition).with_effect(effect).with_origin("attache");
        let tool: Arc<dyn Tool> = Arc::new(FactTool { spec, does, memory: Arc::clone(&memory) });
        tool
    };
    vec![
        tool(
            Does::Remember,
            "remember",
            "Remembers a fact for later conversations with this user, such as a preference or a decision. Not for \
             secrets, and not for what matters in this conversation alone.",
            "fact",
            "One fact as a sentence that can be understood by itself",
            true,
            Effect::Idempotent,
        ),
        tool(
            Does::Recall,
            "recall",
            "Finds facts that were remembered in earlier conversations with this user.",
            "query",
            "Words to look for; without any, the newest facts",
            false,
            Effect::Read,
        ),
        tool(
            Does::Forget,
            "forget",
            "Forgets a fact that is wrong or that the user wants forgotten.",
            "id",
            "The id of the fact, as recall shows it",
            true,
            Effect::Idempotent,
        ),
    ]
}

#[derive(Clone, Copy)]
enum Does {
    Remember,
    Recall,
    Forget,
}

struct FactTool {
    spec: ToolSpec,
    does: Does,
    memory: Arc<dyn LongTermMemory>,
}

impl FactTool {
    async fn answer(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let Some(principal) = context.principal.as_deref() else {
            let why = "facts belong to a principal, and the run has none";
            return Err(ToolError::new("this tool is not set up")
                .with_kind(ToolErrorKind::MissingContext)
                .with_source(why));
        };
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().trim();
        match self.does {
            Does::Remember => {
                let text = argument("fact");
                if text.is_empty() {
                    return Err(ToolError::new("`fact` is empty").with_kind(ToolErrorKind::InvalidArguments));
                }
                let fact = self.memory.remember(principal, text).await.map_err(failed)?;
                Ok(format!("Remembered as {}.", fact.id))
            }
            Does::Recall => {
                let facts = self.memory.search(principal, argument("query"), FOUND).await.map_err(failed)?;
                Ok(match facts.is_empty() {
                    true => "Nothing like that is remembered.".to_owned(),
                    false => listed(&facts),
                })
            }
            Does::Forget => {
                let id = argument("id");
                match self.memory.forget(principal, id).await.map_err(failed)? {
                    true => Ok("Forgotten.".to_owned()),
                    false => Ok("There is no fact of that id.".to_owned()),
                }
            }
        }
    }
}

fn failed(error: StoreError) -> ToolError {
    let (text, kind) = match error.kind() {
        StoreErrorKind::TooLarge => (format!("it is not remembered: {error}"), ToolErrorKind::Failed),
        StoreErrorKind::Unavailable => ("the memory does not answer".to_owned(), ToolErrorKind::Unavailable),
        _ => ("the memory failed".to_owned(), ToolErrorKind::Failed),
    };
    ToolError::new(text).with_kind(kind).with_source(error)
}

impl Tool for FactTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let answer = self.answer(&arguments, &context).await?;
            Ok(ToolOutput::new(ContentTree::text(&answer)))
        })
    }
}
