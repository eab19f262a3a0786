//! The tools that a client answers itself.

use attache_agent::{Agent, Tools};
use attache_core::ToolDefinition;
use serde::Deserialize;
use serde_json::Value;

use crate::fault::Fault;

/// The most tools of one request.
const MOST: usize = 128;

/// A tool in the shape of Chat Completions.
#[derive(Debug, Deserialize)]
pub(crate) struct FunctionTool {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    function: Option<ClientTool>,
}

/// A tool in the shape of Responses: the function stands in the tool itself.
#[derive(Debug, Deserialize)]
pub(crate) struct FlatTool {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    name: Option<String>,
    description: Option<String>,
    #[serde(alias = "input_schema")]
    parameters: Option<Value>,
}

impl FlatTool {
    /// The function. `own` is the word for tools that the client answers.
    pub(crate) fn into_tool(self, own: &str) -> Result<ClientTool, Fault> {
        let Self { kind, name, description, parameters } = self;
        match (kind.as_deref().unwrap_or(own), name) {
            (kind, Some(name)) if kind == own => Ok(ClientTool { name, description, parameters }),
            (kind, _) => {
                Err(Fault::unsupported("tools", format!("a tool of the type {kind:?} is not known here")))
            }
        }
    }
}

/// A tool that the client answers.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ClientTool {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) parameters: Option<Value>,
}

impl FunctionTool {
    /// The function.
    pub(crate) fn into_tool(self) -> Result<ClientTool, Fault> {
        match (self.kind.as_deref().unwrap_or("function"), self.function) {
            ("function", Some(function)) => Ok(function),
            (kind, _) => {
                Err(Fault::unsupported("tools", format!("a tool of the type {kind:?} is not known here")))
            }
        }
    }
}

/// The tools as a run takes them. None may have the name of one of the agent's.
pub(crate) async fn tools(agent: &Agent, tools: Vec<ClientTool>) -> Result<Tools, Fault> {
    let mut all = Tools::new();
    if tools.is_empty() {
        return Ok(all);
    }
    if tools.len() > MOST {
        return Err(Fault::invalid(format!("there are more than {MOST} tools")).at("tools"));
    }
    let own = agent.tool_manager().await.map_err(|error| Fault::internal(&error))?.tools();
    let mut names = std::collections::HashSet::new();
    for tool in tools {
        let wrong =
            |problem: &str| Fault::invalid(format!("the tool {:?}: {problem}", tool.name)).at("tools");
        if own.get(&tool.name).is_some() {
            return Err(wrong("the agent has a tool of that name"));
        }
        if !names.insert(tool.name.clone()) {
            return Err(wrong("there are two of that name"));
        }
        let description = tool.description.clone().unwrap_or_default();
        let parameters = tool.parameters.clone().unwrap_or(Value::Null);
        let definition = ToolDefinition::new(tool.name.clone(), description, parameters);
        if let Some(problem) = definition.problem() {
            return Err(wrong(problem));
        }
        if let Err(error) = definition.schema() {
            return Err(wrong(&error.to_string()));
        }
        all = all.with_external(definition);
    }
    Ok(all)
}
