//! The value that a run is asked for, and the way in which the model is asked.

use attache_core::capability::{ReasoningExcludes, StructuredOutput};
use attache_core::schemars::{JsonSchema, SchemaGenerator};
use attache_core::structured::OutputSchema;
use attache_core::{ModelHandle, ModelSettings, Reasoning, ResponseFormat, ToolDefinition, ToolSet};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The name of the answer, and of the tool that takes it.
const NAME: &str = "final_answer";

/// The number of times that a model may mend an answer.
const RETRIES: u32 = 2;

/// The value that a run is asked for. The run's log keeps it, so that whoever resumes the run asks the same way.
///
/// ```
/// use attache_agent::{Agent, OutputMode, OutputSpec};
/// # use attache_testkit::{ScriptedModel, Turn};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let model = ScriptedModel::new([Turn::call("final_answer", json!({"total": 12.5}))]);
/// let agent = Agent::builder(model).build()?;
/// let schema = json!({"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]});
/// let spec = OutputSpec::new(schema).with_mode(OutputMode::Tool);
/// let outcome = agent.run("What is the total?").with_output(spec).outcome().await?;
/// assert_eq!(outcome.structured.as_deref(), Some(&Ok(json!({"total": 12.5}))));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputSpec {
    /// The name of the answer, and of the tool that takes it: letters, digits, `_` and `-`. `final_answer` by default.
    pub name: String,
    /// The schema that the value fits.
    pub schema: OutputSchema,
    /// The way in which the model is asked.
    pub mode: OutputMode,
    /// The maximum number of times that the model may mend an answer that does not fit. 2 by default; retries of tools
    /// do not count.
    pub retries: u32,
}

/// The way in which a model is asked for a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputMode {
    /// The first of those below that the model can be asked in. The log holds that one.
    #[default]
    Auto,
    /// The provider holds the answer to the schema, while it is written.
    Native,
    /// A tool takes the value: the run ends when the model calls it.
    Tool,
    /// The schema stands in the instructions, and the value is looked for in the answer's text.
    Prompted,
}

impl OutputSpec {
    /// A value of this schema.
    pub fn new(schema: impl Into<OutputSchema>) -> Self {
        Self { name: NAME.to_owned(), schema: schema.into(), mode: OutputMode::Auto, retries: RETRIES }
    }

    /// A value that the type reads.
    pub fn of<T: JsonSchema>() -> Self {
        Self::new(SchemaGenerator::default().into_root_schema_for::<T>())
    }

    /// Sets the name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the way in which the model is asked.
    #[must_use]
    pub fn with_mode(mut self, mode: OutputMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets how often the model may mend its answer.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The same with a mode that the model can be asked in.
    pub(crate) fn settled(mut self, model: &ModelHandle, settings: &ModelSettings, has_tools: bool) -> Self {
        if self.mode == OutputMode::Auto {
            self.mode = self.mode_for(model, settings, has_tools);
        }
        self
    }

    /// The same for a model that goes on in the place of another: the mode stays where that model can be asked so.
    pub(crate) fn resettled(self, model: &ModelHandle, settings: &ModelSettings, has_tools: bool) -> Self {
        let mode = match self.mode {
            OutputMode::Tool if model.capabilities().tools => OutputMode::Tool,
            OutputMode::Prompted => OutputMode::Prompted,
            _ => OutputMode::Auto,
        };
        self.with_mode(mode).settled(model, settings, has_tools)
    }

    fn mode_for(&self, model: &ModelHandle, settings: &ModelSettings, has_tools: bool) -> OutputMode {
        let capabilities = model.capabilities();
        let reasons = reasons(model, settings);
        let excludes = |what| reasons && capabilities.reasoning_excludes(what);
        let takes_schema = match capabilities.structured_output {
            StructuredOutput::JsonSchema => !has_tools || capabilities.json_beside_tools,
            StructuredOutput::JsonSchemaAlone => !has_tools,
            _ => false,
        };
        if takes_schema && !excludes(ReasoningExcludes::Json) && self.is_enforced(model, settings) {
            OutputMode::Native
        } else if capabilities.tools && !excludes(ReasoningExcludes::Tools) {
            OutputMode::Tool
        } else {
            OutputMode::Prompted
        }
    }

    /// True unless the API is known to have no strict form of the schema, as one of a type that holds itself.
    fn is_enforced(&self, model: &ModelHandle, settings: &ModelSettings) -> bool {
        let capabilities = model.capabilities();
        if !capabilities.tools || !capabilities.strict_tools {
            return true;
        }
        let asked = ToolSet::new([self.tool()]);
        asked.is_ok_and(|tools| model.check_tools(&tools, settings).refused.is_empty())
    }

    /// The form of answers to ask the provider for.
    pub(crate) fn format(&self) -> ResponseFormat {
        ResponseFormat::JsonSchema { name: self.name.clone(), schema: self.schema.clone(), strict: true }
    }

    /// The instructions that hold the schema.
    pub(crate) fn instructions(&self) -> String {
        format!(
            "Give your final answer as one JSON value that follows this JSON Schema, and nothing else beside it:\n{}",
            self.schema
        )
    }

    /// The tool that takes the value.
    pub(crate) fn tool(&self) -> ToolDefinition {
        let schema = match self.is_wrapped() {
            true => wrapped(self.schema.value()),
            false => self.schema.value().clone(),
        };
        let description = "Takes your final answer and ends the task. Call it once, when you are done.";
        ToolDefinition::new(self.name.as_str(), description, schema).with_strict(true).with_takes_answer(true)
    }

    /// True if the arguments of the tool hold the value as a member, because it need not be an object.
    pub(crate) fn is_wrapped(&self) -> bool {
        let schema = self.schema.value();
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        !is_object || ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|word| schema.get(word).is_some())
    }
}

/// True if the model reasons with these settings.
pub(crate) fn reasons(model: &ModelHandle, settings: &ModelSettings) -> bool {
    let own = model.settings();
    match settings.reasoning.as_ref().or(own.reasoning.as_ref()) {
        Some(Reasoning::Off) => false,
        Some(_) => true,
        None => model.capabilities().reasons_unasked,
    }
}

/// The schema of an object with the value as its only member.
fn wrapped(schema: &Value) -> Value {
    let mut inner = schema.clone();
    let mut outer = Map::new();
    if let Value::Object(members) = &mut inner {
        members.remove("$schema");
        for definitions in ["$defs", "definitions"] {
            outer.extend(members.remove(definitions).map(|defined| (definitions.to_owned(), defined)));
        }
    }
    let mut inner = vec![inner];
    inner.iter_mut().for_each(point_inside);
    outer.values_mut().for_each(point_inside);
    outer.insert("type".to_owned(), json!("object"));
    outer.insert("properties".to_owned(), json!({VALUE: inner.pop()}));
    outer.insert("required".to_owned(), json!([VALUE]));
    outer.insert("additionalProperties".to_owned(), json!(false));
    Value::Object(outer)
}

/// The member that holds a value which is no object.
pub(super) const VALUE: &str = "value";

/// Lets references to the root point to the member.
fn point_inside(schema: &mut Value) {
    let mut open = vec![schema];
    while let Some(at) = open.pop() {
        match at {
            Value::Object(members) => {
                for (name, member) in members {
                    if name == "$ref" && member == "#" {
                        *member = json!(format!("#/properties/{VALUE}"));
                    }
                    open.push(member);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}
