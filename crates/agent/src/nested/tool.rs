//! An agent as a tool of another one.

use std::sync::Arc;

use attache_core::message::UserOrigin;
use attache_core::schemars::{self, JsonSchema, schema_for};
use attache_core::tool::ToolSpec;
use attache_core::{
    BoxFuture, Capture, Document, DocumentRef, DocumentSource, Effect, ErrorKind, Message, Tool, ToolContext,
    ToolDefinition, ToolError, ToolErrorKind, ToolOutput, ToolResult, UserMessage, UserPart,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::event::EventKind;
use crate::input::RunInput;
use crate::journal::Scope;
use crate::log::NestedAgent;
use crate::options::RunOptions;
use crate::outcome::{EndReason, Outcome, RunError};
use crate::run::Waiting;

/// The arguments of an agent as a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct AgentTask {
    /// The task, with all that the agent must know: it reads nothing else of this conversation.
    pub task: String,
    /// The documents of this conversation that the agent needs.
    #[serde(default)]
    pub documents: Vec<DocumentRef>,
}

/// An agent as a tool of another one; see [`Agent::as_tool`].
#[derive(Clone)]
pub struct AgentTool {
    spec: ToolSpec,
    agent: Agent,
    input: Input,
    shows_documents: bool,
}

/// Makes the input of a run of the arguments of a call.
type Input = Arc<dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<RunInput, ToolError>> + Send + Sync>;

impl Agent {
    /// This agent as a tool of another one, which gives it a task and documents, and reads its answer.
    ///
    /// The run inside is one of its own: it sees the task, not the conversation around it. It works on behalf
    /// of the same principal, finds the same values for tools, and ends with the run around it. Its spending
    /// counts against the limits of that run and stands in its [`Outcome`], once; its log is a part of that
    /// run's, so that both are resumed together; its events come as [`EventKind::Nested`]. It has no time
    /// limit of its own, unless [one is set](Tool::with_metadata). Where its log is kept it also reads the store of the run
    /// around it. A document that its model does not take is shown as one of a tool is: as text, or as a note.
    ///
    /// ```
    /// use attache_agent::Agent;
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # use serde_json::json;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let quick = ScriptedModel::new([Turn::text("It was founded in 1237.")]);
    /// # let turn = Turn::call("research", json!({"task": "When was Berlin founded?"}));
    /// # let thorough = ScriptedModel::new([turn, Turn::text("In 1237.")]);
    /// let research = Agent::builder(quick).system("You look things up.").build()?;
    /// let writer = Agent::builder(thorough).tool(research.as_tool("research", "Looks things up")).build()?;
    /// let outcome = writer.run("How old is Berlin?").outcome().await?;
    /// assert_eq!(outcome.text, "In 1237.");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> AgentTool {
        let definition = ToolDefinition::new(name, description, schema_for!(AgentTask).to_value());
        let input: Input = Arc::new(|arguments, context| {
            Box::pin(async move {
                let AgentTask { task, documents } = read(arguments)?;
                let mut messages = vec![Message::user(task).shared()];
                let mut parts = Vec::with_capacity(documents.len());
                for reference in &documents {
                    parts.push(Some(UserPart::Document(context.load(reference).await?)));
                }
                if !parts.is_empty() {
                    // Nobody chose them for this model: one that it does not take fails no run, as that of a tool.
                    let mut given = UserMessage::new(parts);
                    given.origin = UserOrigin::Event;
                    messages.push(Message::User(given).shared());
                }
                Ok(RunInput::new(messages))
            })
        });
        let mut spec = ToolSpec::new(definition).with_effect(Effect::Idempotent);
        spec.metadata.nests = true;
        AgentTool { spec, agent: self.clone(), input, shows_documents: true }
    }
}

fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, ToolError> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolError::new(format!("the arguments do not fit: {error}"))
            .with_kind(ToolErrorKind::InvalidArguments)
    })
}

impl AgentTool {
    /// Takes arguments of another form, and makes the agent's input of them.
    ///
    /// ```
    /// use attache_agent::Agent;
    /// use attache_core::schemars::{self, JsonSchema};
    ///
    /// #[derive(serde::Deserialize, JsonSchema)]
    /// struct City {
    ///     /// The name of the city.
    ///     name: String,
    /// }
    ///
    /// # fn tool(agent: Agent) -> attache_agent::AgentTool {
    /// agent.as_tool("history", "Tells how old a city is").with_input(|City { name }| format!("How old is {name}?"))
    /// # }
    /// ```
    #[must_use]
    pub fn with_input<A, I>(mut self, input: impl Fn(A) -> I + Send + Sync + 'static) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        I: Into<RunInput>,
    {
        let definition = &self.spec.definition;
        let schema = schema_for!(A).to_value();
        self.spec.definition = ToolDefinition::new(definition.name(), definition.description(), schema);
        self.input = Arc::new(move |arguments, _| {
            let input = read(arguments).map(|arguments| input(arguments).into());
            Box::pin(std::future::ready(input))
        });
        self
    }

    /// Says whether the documents that the agent's tools returned, and those that its model made, are shown to the model
    /// around it, as they are by default.
    #[must_use]
    pub fn with_documents(mut self, shown: bool) -> Self {
        self.shows_documents = shown;
        self
    }

    /// The end of the agent's run; its events are told meanwhile.
    async fn drive(
        &self,
        mut input: RunInput,
        context: ToolContext,
    ) -> Result<Result<Outcome, RunError>, ToolError> {
        let call = context.call_id.clone();
        if let (Some(run), Some(call)) = (&context.run_id, &call) {
            // A call that is made again finds the run that it began.
            input.run_id.get_or_insert_with(|| format!("{run}.{call}"));
        }
        let mut options = RunOptions { extensions: context.extensions, ..RunOptions::new() };
        options.extensions.extend(&input.options.extensions);
        options.principal = context.principal.or(input.options.principal.take());
        input.options =
            RunOptions { extensions: options.extensions, principal: options.principal, ..input.options };
        let mut run = self.agent.run(input);
        let around = Scope::current().map(|scope| Arc::clone(scope.shared()));
        let _known = around.as_ref().map(|around| around.control.with_inside(run.control()));
        let agent = call.map(|call| NestedAgent::new(self.spec.definition.name(), call));
        let path: Arc<[NestedAgent]> = agent.into_iter().collect();
        let mut end = None;
        while let Some(event) = run.next().await {
            if let EventKind::Finished(result) = &event.kind {
                end = Some(result.clone());
            }
            if let Some(around) = &around {
                around.tell(Box::new(EventKind::nested(&path, event))).await;
            }
        }
        end.map(|end| end.map(|outcome| *outcome)).ok_or_else(|| ToolError::new("the agent came to no end"))
    }

    /// The documents that the agent's tools returned and its model made in the run, with their bytes.
    async fn documents(&self, outcome: &Outcome) -> Vec<Document> {
        let all = self.agent.documents_of(&outcome.messages);
        // The input may have brought a conversation with documents of its own.
        let is_own = |result: &&ToolResult| outcome.calls.iter().any(|call| call.id == result.call_id);
        let of_tools = outcome.messages.iter().filter_map(|message| match &**message {
            Message::ToolResults(results) => Some(&results.results),
            _ => None,
        });
        let returned = of_tools.flatten().filter(is_own).flat_map(|result| &result.documents);
        let mut documents: Vec<Document> = Vec::new();
        for document in returned.chain(outcome.documents()) {
            if !documents.iter().any(|known| known.id() == document.id()) {
                documents.push(document.clone());
            }
        }
        for document in &mut documents {
            if matches!(document.source(), DocumentSource::Stored)
                && let Ok(loaded) = all.load(&DocumentRef::from(document.id())).await
            {
                *document = loaded;
            }
        }
        documents
    }
}

/// The answer as the model around reads it.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Text(String),
    WithDocuments { answer: String, documents: Vec<Document> },
}

/// The text of an end, or the failure that it is.
fn answer(name: &str, end: Result<Outcome, RunError>) -> Result<(String, Outcome), ToolError> {
    let (outcome, failed) = match end {
        Ok(outcome) => (outcome, None),
        Err(error) => (error.partial().clone(), Some(error)),
    };
    let said = outcome.text.trim();
    let is_whole =
        matches!(outcome.reason, EndReason::Answer | EndReason::ReturnDirect | EndReason::FinishTool);
    let is_lost = failed.is_some() || matches!(outcome.reason, EndReason::Refusal | EndReason::Cancelled);
    if is_whole && !is_lost {
        return Ok((outcome.text.clone(), outcome));
    }
    let mut stopped = format!("the agent {name} stopped before its work was done: {}", outcome.reason);
    let unsupported = failed.as_ref().and_then(RunError::provider_error);
    if let Some(error) = unsupported.filter(|error| error.kind() == ErrorKind::Unsupported) {
        stopped.push_str(&format!(": {error}"));
    }
    if is_lost || said.is_empty() {
        let text = match said {
            "" => stopped,
            said => format!("{stopped}. It had said: {said}"),
        };
        let error = ToolError::new(text);
        return Err(match failed {
            Some(failed) => error.with_source(failed),
            None => error,
        });
    }
    Ok((format!("{said}\n\n[{stopped}]"), outcome))
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let store_id = context.store_id.clone();
            let input = (self.input)(Value::Object(arguments), context.clone()).await?;
            let end = self.drive(input, context).await?;
            let waits = |reason: &EndReason| {
                matches!(
                    reason,
                    EndReason::PendingExternal | EndReason::PendingApproval | EndReason::InputRequired
                )
            };
            if let (Ok(outcome), Some(scope)) = (&end, Scope::current())
                && waits(&outcome.reason)
            {
                scope.pause(Waiting {
                    reason: outcome.reason.clone(),
                    calls: outcome.pending.clone(),
                    approvals: outcome.approvals.clone(),
                    deferred: outcome.deferred.clone(),
                });
            }
            let (text, outcome) = answer(self.spec.definition.name(), end)?;
            let mut capture = Capture::new();
            if let Some(store) = store_id {
                capture = capture.with_store_id(store);
            }
            let documents = match self.shows_documents {
                true => capture.run(self.documents(&outcome)).await,
                false => Vec::new(),
            };
            let answer = match documents.is_empty() {
                true => Answer::Text(text),
                false => Answer::WithDocuments { answer: text, documents },
            };
            Ok(ToolOutput::new(capture.finish(&answer)?))
        })
    }
}

impl std::fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgentTool").field(&self.spec.definition.name()).finish()
    }
}
