//! The tools that a client answers itself.

use std::sync::Arc;

use attache_agent::{Agent, Tools};
use attache_core::{Message, ToolDefinition, UserMessage};
use serde::{Deserialize, Serialize};
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
#[derive(Clone, Debug, Deserialize, Serialize)]
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

/// The tools of a request, as a run takes them.
#[derive(Default)]
pub(crate) struct Offered {
    pub(crate) tools: Tools,
    /// The same for the log of the run, if there are some.
    kept: Option<Value>,
}

/// The metadata of a message with the tools that came with it: whoever goes on with the run offers them again.
const KEPT: &str = "clientTools";

impl Offered {
    /// The tools that came with a run, by the messages that it began with.
    pub(crate) fn of_messages<'m>(messages: impl Iterator<Item = &'m Arc<Message>>) -> Self {
        let mut offered = Self::default();
        for message in messages {
            let Message::User(user) = &**message else { continue };
            let Some(kept) = user.metadata.get(KEPT) else { continue };
            let Ok(tools) = serde_json::from_value::<Vec<ClientTool>>(kept.clone()) else { continue };
            for tool in tools {
                offered.tools = offered.tools.with_external(tool.definition());
            }
        }
        offered
    }

    /// Keeps them with what the user says.
    pub(crate) fn keep_in(&self, message: UserMessage) -> UserMessage {
        match &self.kept {
            None => message,
            Some(kept) => {
                let metadata = message.metadata.clone().with(KEPT, kept.clone());
                message.with_metadata(metadata)
            }
        }
    }

    /// Keeps them with the last thing that the user says among messages.
    pub(crate) fn keep_among(&self, messages: &mut [Arc<Message>]) {
        if self.kept.is_none() {
            return;
        }
        for message in messages.iter_mut().rev() {
            if let Message::User(user) = &**message {
                *message = Message::User(self.keep_in(user.clone())).shared();
                return;
            }
        }
    }
}

impl ClientTool {
    fn definition(&self) -> ToolDefinition {
        let description = self.description.clone().unwrap_or_default();
        ToolDefinition::new(self.name.clone(), description, self.parameters.clone().unwrap_or(Value::Null))
    }
}

/// The tools as a run takes them. None may have the name of one of the agent's.
pub(crate) async fn tools(agent: &Agent, tools: Vec<ClientTool>) -> Result<Offered, Fault> {
    let mut all = Tools::new();
    if tools.is_empty() {
        return Ok(Offered::default());
    }
    let kept = serde_json::to_value(&tools).ok();
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
        let definition = tool.definition();
        if let Some(problem) = definition.problem() {
            return Err(wrong(problem));
        }
        if let Err(error) = definition.schema() {
            return Err(wrong(&error.to_string()));
        }
        all = all.with_external(definition);
    }
    Ok(Offered { tools: all, kept })
}
