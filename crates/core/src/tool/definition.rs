//! The part of a tool that the model sees, and how the loop treats it.

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
    compiled: Compiled,
}

impl ToolDefinition {
    /// A definition. `name` is the internal name and may hold dots; `input_schema` is a JSON Schema whose root is
    /// an object. A schema without `type` or `properties` gets them, since some servers insist.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self(Arc::new(Inner {
            name: name.into(),
            description: description.into(),
            input_schema: normalised(input_schema),
            output_schema: None,
            examples: Vec::new(),
            problem: None,
            strict: false,
            compiled: Compiled::default(),
        }))
    }

    /// Adds examples of arguments.
    #[must_use]
    pub fn with_examples(mut self, examples: impl IntoIterator<Item = Value>) -> Self {
        Arc::make_mut(&mut self.0).examples = examples.into_iter().collect();
        self
    }

    /// Gives it another internal name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).name = name.into();
        self
    }

    /// Describes it otherwise.
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

    /// Says what a call returns: a JSON Schema, with a description and examples where there are some. No API is told;
    /// the model reads it where it asks for the details of a tool.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        Arc::make_mut(&mut self.0).output_schema = Some(schema);
        self
    }

    /// Asks APIs to hold the model to the schema while it writes calls, where they can. The schema goes out in the
    /// subset that they enforce, and the arguments come back as this schema has them. An API that cannot, or a schema
    /// that no subset can say, is treated as constraints are that an API does not enforce; see
    /// [`ToolSet::with_validation`](crate::ToolSet::with_validation).
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        Arc::make_mut(&mut self.0).strict = strict;
        self
    }

    /// True if APIs are asked to hold the model to the schema.
    pub fn is_strict(&self) -> bool {
        self.0.strict
    }

    /// Says why no model can be offered this tool.
    #[must_use]
    pub(crate) fn with_problem(mut self, problem: Option<String>) -> Self {
        Arc::make_mut(&mut self.0).problem = problem;
        self
    }

    /// Why no model can be offered this tool, where its parameters are none that a schema can say. A
    /// [`ToolSet`](crate::ToolSet) refuses it.
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

    /// The JSON Schema of what a call returns, as far as it says.
    pub fn output_schema(&self) -> Option<&Value> {
        self.0.output_schema.as_ref()
    }

    /// The input schema as values are held against it. It is compiled once, at first use, for all clones.
    ///
    /// # Errors
    /// [`SchemaError`] says where the schema is none.
    pub fn schema(&self) -> Result<&Schema, &SchemaError> {
        self.0.compiled.schema(self.input_schema())
    }

    /// The input schema in a subset that an API enforces, made once for all clones.
    ///
    /// # Errors
    /// [`Refusal`] says what the subset cannot say.
    pub fn strict_schema(&self, subset: Subset) -> Result<&Strict, &Refusal> {
        self.0.compiled.strict(self.input_schema(), subset)
    }

    /// Examples of arguments.
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

/// The effect of a call on the world; it decides what may be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// No change. The call may be repeated and run beside others.
    Read,
    /// A change that happens once, however often the call is repeated with the same idempotency key.
    Idempotent,
    /// A change that may happen again with each call: it is never repeated unless somebody decides so.
    #[default]
    #[serde(rename = "effect")]
    SideEffect,
}

/// Says whether somebody must approve a call before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// Nobody is asked, unless the agent's policy says so.
    #[default]
    Never,
    /// Each call waits until somebody approves it.
    Always,
}

/// How the loop treats a tool. The model never sees it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolMetadata {
    /// The change that a call makes; [`Effect::SideEffect`] by default.
    pub effect: Effect,
    /// Says whether somebody must approve a call; [`Approval::Never`] by default.
    pub approval: Approval,
    /// True if its output is the answer, without another model call.
    pub return_direct: bool,
    /// How long a call may take; the agent's default applies where none is set.
    pub timeout: Option<Duration>,
    /// True if it blocks its thread, so that it must not run on the async workers.
    pub blocking: bool,
    /// True if no other call of the same reply may run beside it.
    pub sequential: bool,
    /// True if the model is offered it.
    pub enabled: bool,
    /// The most calls of it in one run; the run's limit applies where none is set.
    pub max_calls: Option<u32>,
    /// The most times in a row that the model may correct a call of it; the run's limit applies where none is set.
    pub max_retries: Option<u32>,
    /// True if asking again and again is its purpose, so that equal results are no lack of progress.
    pub poll: bool,
    /// True if a call that succeeds ends the run with its output as the answer. It stays available when the run is at a
    /// limit and other tools are off.
    pub finish: bool,
    /// True if it runs agents: they work in the name of the run, within its limits, and their events are among its.
    pub nests: bool,
    /// True if it may ask people while it works, by [`ToolContext::ask`](crate::ToolContext::ask).
    pub asks: bool,
    /// True if the model reads more of a document with it: notes about what is not shown name it.
    pub reads_documents: bool,
    /// The media types of the documents that it returns, as far as it declares them: whole ones, or `type/*`.
    pub produces: Vec<String>,
    /// True if the model reads all of it from the start, however many tools there are.
    pub always_visible: bool,
    /// Words by which it is found among many, beside those of its name and description.
    pub tags: Vec<String>,
    /// Where it comes from, for messages about name clashes: a module path, `mcp:alias`.
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
    /// How the loop treats it.
    pub metadata: ToolMetadata,
}

impl ToolSpec {
    /// A definition with default metadata.
    pub fn new(definition: ToolDefinition) -> Self {
        Self { definition, metadata: ToolMetadata::default() }
    }

    /// Says what a call changes.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.metadata.effect = effect;
        self
    }

    /// Says whether somebody must approve a call before it runs.
    #[must_use]
    pub fn with_approval(mut self, approval: Approval) -> Self {
        self.metadata.approval = approval;
        self
    }

    /// Makes its output the answer.
    #[must_use]
    pub fn with_return_direct(mut self, return_direct: bool) -> Self {
        self.metadata.return_direct = return_direct;
        self
    }

    /// Limits how long a call may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.metadata.timeout = Some(timeout);
        self
    }

    /// Says that it blocks its thread.
    #[must_use]
    pub fn with_blocking(mut self, blocking: bool) -> Self {
        self.metadata.blocking = blocking;
        self
    }

    /// Lets no other call of the same reply run beside it.
    #[must_use]
    pub fn with_sequential(mut self, sequential: bool) -> Self {
        self.metadata.sequential = sequential;
        self
    }

    /// Limits how often a run may call it.
    #[must_use]
    pub fn with_max_calls(mut self, calls: u32) -> Self {
        self.metadata.max_calls = Some(calls);
        self
    }

    /// Limits how often in a row the model may correct a call of it.
    #[must_use]
    pub fn with_max_retries(mut self, retries: u32) -> Self {
        self.metadata.max_retries = Some(retries);
        self
    }

    /// Says that it is there to be asked again and again.
    #[must_use]
    pub fn with_poll(mut self, poll: bool) -> Self {
        self.metadata.poll = poll;
        self
    }

    /// Lets its success end the run.
    #[must_use]
    pub fn with_finish(mut self, finish: bool) -> Self {
        self.metadata.finish = finish;
        self
    }

    /// Offers or hides it.
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Self {
        self.metadata.enabled = enabled;
        self
    }

    /// Declares the media types of the documents that it returns, such as `application/pdf` or `image/*`. Before it
    /// is offered they are held against what the model takes.
    #[must_use]
    pub fn with_produces(mut self, media: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.produces = media.into_iter().map(Into::into).collect();
        self
    }

    /// Lets the model read all of it from the start, however many tools there are.
    #[must_use]
    pub fn with_always_visible(mut self, always_visible: bool) -> Self {
        self.metadata.always_visible = always_visible;
        self
    }

    /// Adds words by which it is found among many, beside those of its name and description.
    #[must_use]
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.metadata.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Says where it comes from.
    #[must_use]
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.metadata.origin = origin.into();
        self
    }
}
