//! The part of a tool that the model sees, and its settings for the loop.

use std::sync::Arc;
use std::time::Duration;

use attache_schema::{Refusal, Schema, SchemaError, Strict, Subset};
use serde_json::{Value, json};

use crate::structured::Compiled;

/// The part of a tool that the model sees. Cloning copies a pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition(Arc<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    name: String,
    description: String,
    input_schema: Value,
    output_schema: Option<Value>,
    examples: Vec<Value>,
    problem: Option<String>,
    strict: bool,
    takes_answer: bool,
    compiled: Compiled,
}

impl ToolDefinition {
    /// Creates a definition. `name` is the internal name and may contain dots; `input_schema` is a JSON Schema whose
    /// root is an object. `type` and `properties` are added if they are missing, since some servers require them.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            description: description.into(),
            input_schema: normalised(input_schema),
            output_schema: None,
            examples: Vec::new(),
            problem: None,
            strict: false,
            takes_answer: false,
            compiled: Compiled::default(),
        }))
    }

    /// Adds example arguments.
    #[must_use]
    pub fn with_examples(mut self, examples: impl IntoIterator<Item = Value>) -> Self {
        Arc::make_mut(&mut self.0).examples = examples.into_iter().collect();
        self
    }

    /// Replaces the internal name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).name = name.into();
        self
    }

    /// Replaces the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).description = description.into();
        self
    }

    /// Replaces the schema of the arguments; see [`new`](Self::new).
    #[must_use]
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        (inner.input_schema, inner.compiled) = (normalised(schema), Compiled::default());
        self
    }

    /// Sets the JSON Schema of the return value, with a description and examples if there are any. It is not sent to
    /// any API; the model reads it when it asks for the details of a tool.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        Arc::make_mut(&mut self.0).output_schema = Some(schema);
        self
    }

    /// Asks APIs to enforce the schema while the model writes calls, if they can. The schema is sent in the subset that
    /// the API enforces, and the arguments are converted back to this schema. If the API cannot do this, or the subset
    /// cannot express the schema, it is treated like a constraint that the API does not enforce; see
    /// [`ToolSet::with_validation`](crate::ToolSet::with_validation).
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        Arc::make_mut(&mut self.0).strict = strict;
        self
    }

    /// True if APIs are asked to enforce the schema.
    pub fn is_strict(&self) -> bool {
        self.0.strict
    }

    /// Marks the tool as the one that takes the final answer: a call of it ends the run, and other calls in the same
    /// reply are not executed. It is not sent to any API.
    #[must_use]
    pub fn with_takes_answer(mut self, takes_answer: bool) -> Self {
        Arc::make_mut(&mut self.0).takes_answer = takes_answer;
        self
    }

    /// True if the tool takes the final answer.
    pub fn takes_answer(&self) -> bool {
        self.0.takes_answer
    }

    /// Says why no model can be offered this tool.
    #[must_use]
    pub(crate) fn with_problem(mut self, problem: Option<String>) -> Self {
        Arc::make_mut(&mut self.0).problem = problem;
        self
    }

    /// The reason why this tool cannot be offered to a model, if a schema cannot express its parameters. A
    /// [`ToolSet`](crate::ToolSet) rejects it.
    pub fn problem(&self) -> Option<&str> {
        self.0.problem.as_deref()
    }

    /// The internal name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The description, possibly empty.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// The JSON Schema of the arguments.
    pub fn input_schema(&self) -> &Value {
        &self.0.input_schema
    }

    /// The JSON Schema of the return value, if it is set.
    pub fn output_schema(&self) -> Option<&Value> {
        self.0.output_schema.as_ref()
    }

    /// The compiled input schema for validation. It is compiled once, at first use, for all clones.
    ///
    /// # Errors
    /// [`SchemaError`] with the place where the schema is invalid.
    pub fn schema(&self) -> Result<&Schema, &SchemaError> {
        self.0.compiled.schema(self.input_schema())
    }

    /// The input schema in a subset that an API enforces, computed once for all clones.
    ///
    /// # Errors
    /// [`Refusal`] with the part of the schema that the subset cannot express.
    pub fn strict_schema(&self, subset: Subset) -> Result<&Strict, &Refusal> {
        self.0.compiled.strict(self.input_schema(), subset)
    }

    /// The example arguments.
    pub fn examples(&self) -> &[Value] {
        &self.0.examples
    }
}

/// The schema of arguments as servers want it.
fn normalised(schema: Value) -> Value {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    schema.remove("$schema");
    schema.remove("title");
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Value::Object(schema)
}

/// The side effects of a call, which decide if it may be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// No change. The call may be repeated and run in parallel with others.
    Read,
    /// A change that happens only once, even if the call is repeated with the same idempotency key.
    Idempotent,
    /// A change that may happen again with each call: the call is never repeated unless somebody decides to.
    #[default]
    #[serde(rename = "effect")]
    SideEffect,
}

/// Defines if a call requires approval before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// No approval, unless the agent's policy requires it.
    #[default]
    Never,
    /// Each call waits for approval.
    Always,
}

/// Settings that control how the loop treats a tool. The model never sees them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolMetadata {
    /// The side effects of a call; [`Effect::SideEffect`] by default.
    pub effect: Effect,
    /// Defines if a call requires approval; [`Approval::Never`] by default.
    pub approval: Approval,
    /// True if its output is the final answer, without another model call.
    pub return_direct: bool,
    /// The timeout of a call; if none is set, the agent's default applies.
    pub timeout: Option<Duration>,
    /// True if it blocks its thread and so must not run on the async workers.
    pub blocking: bool,
    /// True if no other call of the same reply may run in parallel with it.
    pub sequential: bool,
    /// True if it is offered to the model.
    pub enabled: bool,
    /// The maximum number of calls in one run; if none is set, the run's limit applies.
    pub max_calls: Option<u32>,
    /// The maximum number of consecutive times that the model may correct a call; if none is set, the run's limit
    /// applies.
    pub max_retries: Option<u32>,
    /// True if the tool is meant for polling, so that equal results do not count as a lack of progress.
    pub poll: bool,
    /// True if a successful call ends the run with its output as the answer. It stays available when the run has
    /// reached a limit and other tools are disabled.
    pub finish: bool,
    /// True if it runs agents: they work on behalf of the run and within its limits, and their events are part of the
    /// run's events.
    pub nests: bool,
    /// True if it may ask people while it works, with [`ToolContext::ask`](crate::ToolContext::ask).
    pub asks: bool,
    /// True if the model can read more of a document with it: notes about omitted content mention it.
    pub reads_documents: bool,
    /// The declared media types of the documents that it returns: full types, or `type/*`.
    pub produces: Vec<String>,
    /// True if the model sees the full definition from the start, regardless of the number of tools.
    pub always_visible: bool,
    /// Search words for finding it among many tools, in addition to its name and description.
    pub tags: Vec<String>,
    /// The origin of the tool, for messages about name clashes: a module path, `mcp:alias`.
    pub origin: String,
}

impl Default for ToolMetadata {
    fn default() -> Self {
        Self {
            effect: Effect::default(),
            approval: Approval::default(),
            return_direct: false,
            timeout: None,
            blocking: false,
            sequential: false,
            enabled: true,
            max_calls: None,
            max_retries: None,
            poll: false,
            finish: false,
            nests: false,
            asks: false,
            reads_documents: false,
            produces: Vec::new(),
            always_visible: false,
            tags: Vec::new(),
            origin: String::new(),
        }
    }
}

/// A tool's definition with its metadata.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The part that the model sees.
    pub definition: ToolDefinition,
    /// The settings for the loop.
    pub metadata: ToolMetadata,
}

impl ToolSpec {
    /// Creates a spec with default metadata.
    pub fn new(definition: ToolDefinition) -> Self {
        Self { definition, metadata: ToolMetadata::default() }
    }

    /// Sets the side effects of a call.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.metadata.effect = effect;
        self
    }

    /// Defines if a call requires approval before it runs.
    #[must_use]
    pub fn with_approval(mut self, approval: Approval) -> Self {
        self.metadata.approval = approval;
        self
    }

    /// Makes its output the final answer.
    #[must_use]
    pub fn with_return_direct(mut self, return_direct: bool) -> Self {
        self.metadata.return_direct = return_direct;
        self
    }

    /// Sets the timeout of a call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.metadata.timeout = Some(timeout);
        self
    }

    /// Declares that it blocks its thread.
    #[must_use]
    pub fn with_blocking(mut self, blocking: bool) -> Self {
        self.metadata.blocking = blocking;
        self
    }

    /// Prevents other calls of the same reply from running in parallel with it.
    #[must_use]
    pub fn with_sequential(mut self, sequential: bool) -> Self {
        self.metadata.sequential = sequential;
        self
    }

    /// Sets the maximum number of calls in one run.
    #[must_use]
    pub fn with_max_calls(mut self, calls: u32) -> Self {
        self.metadata.max_calls = Some(calls);
        self
    }

    /// Sets the maximum number of consecutive times that the model may correct a call.
    #[must_use]
    pub fn with_max_retries(mut self, retries: u32) -> Self {
        self.metadata.max_retries = Some(retries);
        self
    }

    /// Declares that the tool is meant for polling.
    #[must_use]
    pub fn with_poll(mut self, poll: bool) -> Self {
        self.metadata.poll = poll;
        self
    }

    /// Makes a successful call end the run.
    #[must_use]
    pub fn with_finish(mut self, finish: bool) -> Self {
        self.metadata.finish = finish;
        self
    }

    /// Enables or disables the tool.
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Self {
        self.metadata.enabled = enabled;
        self
    }

    /// Declares the media types of the documents that it returns, such as `application/pdf` or `image/*`. They are
    /// checked against the media types that the model accepts before the tool is offered.
    #[must_use]
    pub fn with_produces(mut self, media: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.produces = media.into_iter().map(Into::into).collect();
        self
    }

    /// Shows the model the full definition from the start, regardless of the number of tools.
    #[must_use]
    pub fn with_always_visible(mut self, always_visible: bool) -> Self {
        self.metadata.always_visible = always_visible;
        self
    }

    /// Adds search words for finding it among many tools, in addition to its name and description.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the origin of the tool.
    #[must_use]
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.metadata.origin = origin.into();
        self
    }
}
