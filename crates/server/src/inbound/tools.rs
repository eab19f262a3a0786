//! The tools that a client answers itself, and its settings.

use std::collections::HashSet;
use std::sync::Arc;

use attache_agent::{Agent, RunOptions, Tools};
use attache_core::{Message, ModelSettings, ToolDefinition, UserMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::settings;
use crate::fault::Fault;
use crate::request;

/// The maximum number of tools of one request.
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

/// The things that come with a request and hold for its run: tools, settings of the model, instructions.
#[derive(Default)]
pub(crate) struct Offered {
    tools: Tools,
    /// Boxed, since requests have room for them while they wait.
    settings: Option<Box<ModelSettings>>,
    instructions: Option<String>,
    /// The tools as the log of the run keeps them.
    kept: Vec<ClientTool>,
    /// True if the run is let go once it waits for its client, whose next request answers its calls.
    pub(crate) pauses: bool,
}

/// The metadata of a message with what came with it: whoever goes on with the run has it again.
const TOOLS: &str = "clientTools";
const SETTINGS: &str = "clientSettings";
const INSTRUCTIONS: &str = "clientInstructions";
const PAUSES: &str = "clientPauses";

impl Offered {
    pub(crate) fn with_settings(self, settings: Option<ModelSettings>) -> Self {
        Self { settings: settings.map(Box::new), ..self }
    }

    pub(crate) fn with_instructions(self, instructions: Option<String>) -> Self {
        Self { instructions, ..self }
    }

    pub(crate) fn that_pauses(self) -> Self {
        Self { pauses: true, ..self }
    }

    /// The things that came with a run, by the messages that it began with.
    pub(crate) fn of_messages<'m>(messages: impl Iterator<Item = &'m Arc<Message>>) -> Self {
        let mut offered = Self::default();
        for message in messages {
            let Message::User(user) = &**message else { continue };
            let kept = user.metadata.get(TOOLS).and_then(|kept| Vec::<ClientTool>::deserialize(kept).ok());
            for tool in kept.unwrap_or_default() {
                offered.tools = offered.tools.with_external(tool.definition());
                offered.kept.push(tool);
            }
            if let Some(settings) = user.metadata.get(SETTINGS).and_then(settings::of_kept) {
                offered.settings = Some(Box::new(settings));
            }
            if let Some(instructions) = user.metadata.get(INSTRUCTIONS).and_then(Value::as_str) {
                offered.instructions = Some(instructions.to_owned());
            }
            offered.pauses |= user.metadata.get(PAUSES).and_then(Value::as_bool).unwrap_or(false);
        }
        offered
    }

    /// The names of the tools.
    pub(crate) fn names(&self) -> HashSet<String> {
        self.kept.iter().map(|tool| tool.name.clone()).collect()
    }

    /// The options of the run, with that which the program around the server takes from the request.
    pub(crate) fn options(self, agent: &Agent) -> RunOptions {
        let options = RunOptions::new().with_tools(self.tools);
        let options = options.with_instructions(self.instructions.unwrap_or_default());
        let options = match self.settings {
            Some(settings) => options.with_settings(agent.settings().merged(&settings)),
            None => options,
        };
        request::in_context(options)
    }

    /// Keeps them with what the user says.
    pub(crate) fn keep_in(&self, message: UserMessage) -> UserMessage {
        let kept = [
            (TOOLS, (!self.kept.is_empty()).then(|| serde_json::to_value(&self.kept).ok()).flatten()),
            (SETTINGS, self.settings.as_deref().and_then(settings::kept)),
            (INSTRUCTIONS, self.instructions.as_deref().map(Value::from)),
            (PAUSES, self.pauses.then_some(Value::Bool(true))),
        ];
        let mut metadata = message.metadata.clone();
        for (name, kept) in kept {
            if let Some(kept) = kept {
                metadata = metadata.with(name, kept);
            }
        }
        message.with_metadata(metadata)
    }

    /// Keeps them with the last thing that the user says among messages.
    pub(crate) fn keep_among(&self, messages: &mut [Arc<Message>]) {
        for message in messages.iter_mut().rev() {
            if let Message::User(user) = &**message {
                *message = Message::User(self.keep_in(user.clone())).shared();
                return;
            }
        }
    }

    /// Refuses tools that have the name of one of the agent's.
    pub(crate) async fn fit(&self, agent: &Agent) -> Result<(), Fault> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let own = agent.tool_manager().await.map_err(|error| Fault::internal(&error))?.tools();
        match self.kept.iter().find(|tool| own.get(&tool.name).is_some()) {
            Some(tool) => Err(tool.wrong("the agent has a tool of that name")),
            None => Ok(()),
        }
    }
}

impl ClientTool {
    fn wrong(&self, problem: &str) -> Fault {
        Fault::invalid(format!("the tool {:?}: {problem}", self.name)).at("tools")
    }

    fn definition(&self) -> ToolDefinition {
        let description = self.description.clone().unwrap_or_default();
        ToolDefinition::new(self.name.clone(), description, self.parameters.clone().unwrap_or(Value::Null))
    }
}

/// The tools as a run takes them. None may have the name of one of the agent's.
pub(crate) async fn tools(agent: &Agent, tools: Vec<ClientTool>) -> Result<Offered, Fault> {
    let mut all = Tools::new();
    if tools.len() > MOST {
        return Err(Fault::invalid(format!("there are more than {MOST} tools")).at("tools"));
    }
    let mut names = HashSet::new();
    for tool in &tools {
        if !names.insert(&tool.name) {
            return Err(tool.wrong("there are two of that name"));
        }
        let definition = tool.definition();
        if let Some(problem) = definition.problem() {
            return Err(tool.wrong(problem));
        }
        if let Err(error) = definition.schema() {
            return Err(tool.wrong(&error.to_string()));
        }
        all = all.with_external(definition);
    }
    let offered = Offered { tools: all, kept: tools, ..Offered::default() };
    offered.fit(agent).await?;
    Ok(offered)
}
