//! The code that `#[tool]` expands to, at run time: a schema of the parameters, the binding of arguments, the call.

mod flat;

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;

use attache_schema::Violation;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::capture::Capture;
use crate::future::BoxFuture;
use crate::message::Arguments;
use crate::tool::reference::HINT;
use crate::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, ToolSpec};

/// The parameters of a tool, from which its definition is made.
#[derive(Debug)]
pub struct Parameters {
    generator: SchemaGenerator,
    properties: Vec<Property>,
    problem: Option<String>,
}

#[derive(Debug)]
struct Property {
    name: String,
    schema: Value,
    required: bool,
    example: Option<Value>,
}

#[expect(clippy::new_without_default, reason = "the expansion needs one way to make it")]
impl Parameters {
    /// No parameters.
    pub fn new() -> Self {
        let generator = SchemaSettings::draft2020_12().into_generator();
        Self { generator, properties: Vec::new(), problem: None }
    }

    /// Adds one parameter. It is required unless serde can make a `T` of nothing, as it can an `Option`.
    #[must_use]
    pub fn parameter<T: JsonSchema + DeserializeOwned>(mut self, name: &str) -> Self {
        let schema = self.generator.subschema_for::<T>().to_value();
        let required = T::deserialize(Missing).is_err();
        self.properties.push(Property { name: name.to_owned(), schema, required, example: None });
        self
    }

    /// Adds the fields of a struct as parameters of their own. A type without named fields makes the tool one that
    /// cannot be offered: what it takes would not be in the schema.
    #[must_use]
    pub fn fields_of<T: JsonSchema>(mut self) -> Self {
        let mut schema = T::json_schema(&mut self.generator).to_value();
        if !has_named_fields(&schema) {
            let name = std::any::type_name::<T>();
            self.problem =
                Some(format!("a flat argument is of the type {name}, which is no struct of named fields"));
            return self;
        }
        let required: Vec<String> = schema
            .get_mut("required")
            .map(|names| serde_json::from_value(names.take()).unwrap_or_default())
            .unwrap_or_default();
        let Some(Value::Object(fields)) = schema.get_mut("properties").map(Value::take) else { return self };
        self.properties.extend(fields.into_iter().map(|(name, schema)| {
            let required = required.contains(&name);
            Property { name, schema, required, example: None }
        }));
        self
    }

    /// Describes the parameter added last.
    #[must_use]
    pub fn described(self, text: &str) -> Self {
        let last = self.properties.last().and_then(|last| last.schema.get("description"));
        let text = match last.and_then(Value::as_str) {
            // Which document is meant is the author's to say; where its id comes from stays said.
            Some(HINT) => format!("{}. {HINT}", text.trim_end().trim_end_matches('.')),
            _ => text.to_owned(),
        };
        self.keyword("description", || text.into())
    }

    /// Gives the parameter added last an example.
    #[must_use]
    pub fn example<T: Serialize>(mut self, example: T) -> Self {
        let Ok(example) = serde_json::to_value(example) else { return self };
        if let Some(last) = self.properties.last_mut() {
            last.example = Some(example.clone());
        }
        self.keyword("examples", || json!([example]))
    }

    /// Says that the parameter added last may be left out.
    #[must_use]
    pub fn optional(mut self) -> Self {
        if let Some(last) = self.properties.last_mut() {
            last.required = false;
        }
        self
    }

    /// Says that the parameter added last must be given, even if its type has a value for nothing.
    #[must_use]
    pub fn required(mut self) -> Self {
        if let Some(last) = self.properties.last_mut() {
            last.required = true;
        }
        self
    }

    /// Shows the default of the parameter added last.
    #[must_use]
    pub fn with_default<T: Serialize>(self, value: T) -> Self {
        self.keyword("default", || serde_json::to_value(value).unwrap_or_default())
    }

    /// The definition of a tool with these parameters. If every required one has an example, so has the tool.
    pub fn into_definition(mut self, name: &str, description: &str) -> ToolDefinition {
        let mut schema = json!({"type": "object", "properties": {}});
        let (mut required, mut example) = (Vec::new(), Some(Map::new()));
        for property in self.properties {
            let of_it = property.example.or_else(|| first_example(&property.schema));
            match (of_it, &mut example) {
                (Some(value), Some(example)) => {
                    example.insert(property.name.clone(), value);
                }
                (None, _) if property.required => example = None,
                _ => {}
            }
            if property.required {
                required.push(Value::from(property.name.clone()));
            }
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                let name = property.name;
                if properties.insert(name.clone(), property.schema).is_some() {
                    let problem = "rename one by `#[arg(rename = \"…\")]`, or by `#[serde(rename = \"…\")]` on the \
                                   field of a flat struct";
                    self.problem = Some(format!("two of its arguments are named `{name}`: {problem}"));
                }
            }
        }
        let definitions = self.generator.take_definitions(true);
        if let Value::Object(root) = &mut schema {
            if !required.is_empty() {
                root.insert("required".to_owned(), Value::Array(required));
            }
            if !definitions.is_empty() {
                root.insert("$defs".to_owned(), Value::Object(definitions));
            }
        }
        let example = example.filter(|example| !example.is_empty()).map(Value::Object);
        ToolDefinition::new(name, description, schema).with_examples(example).with_problem(self.problem)
    }

    fn keyword(mut self, name: &str, value: impl FnOnce() -> Value) -> Self {
        if let Some(last) = self.properties.last_mut() {
            match &mut last.schema {
                Value::Object(schema) => {
                    schema.insert(name.to_owned(), value());
                }
                // A schema of `true` takes anything.
                schema => *schema = json!({ name: value() }),
            }
        }
        self
    }
}

/// The description that a tool gives of its return value.
#[derive(Debug, Default)]
pub struct Returns(Map<String, Value>);

impl Returns {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Describes it.
    #[must_use]
    pub fn described(mut self, text: &str) -> Self {
        self.0.insert("description".to_owned(), text.into());
        self
    }

    /// Adds an example.
    #[must_use]
    pub fn example<T: Serialize>(mut self, example: T) -> Self {
        if let Ok(example) = serde_json::to_value(example) {
            self.0.insert("examples".to_owned(), json!([example]));
        }
        self
    }

    /// The schema of it.
    pub fn into_schema(self) -> Value {
        Value::Object(self.0)
    }
}

/// True if a schema is that of a struct: an object whose members all have names, and no choice between several.
fn has_named_fields(schema: &Value) -> bool {
    let keyword = |name: &str| schema.get(name);
    let has_fields =
        keyword("properties").and_then(Value::as_object).is_some_and(|fields| !fields.is_empty());
    let is_map = || keyword("additionalProperties").is_some_and(|further| *further != Value::Bool(false));
    keyword("type").and_then(Value::as_str) == Some("object")
        && ["oneOf", "anyOf", "allOf"].iter().all(|choice| keyword(choice).is_none())
        && (has_fields || !is_map())
}

fn first_example(schema: &Value) -> Option<Value> {
    schema.get("examples")?.get(0).cloned()
}

/// The arguments of one call, which fit the tool's schema, from which parameters are taken.
#[derive(Debug)]
pub struct Bound<'s> {
    definition: &'s ToolDefinition,
    object: Map<String, Value>,
    problems: Vec<Violation>,
}

impl<'s> Bound<'s> {
    /// Arguments as [`ToolDefinition::coerce`] yields them.
    pub fn new(definition: &'s ToolDefinition, object: Map<String, Value>) -> Self {
        Self { definition, object, problems: Vec::new() }
    }

    /// The argument of that name, or what serde makes of nothing. `None` if neither is a `T`;
    /// [`into_error`](Self::into_error) then says why.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let taken = match self.object.remove(name) {
            Some(value) => serde_json::from_value(value).map_err(|error| error.to_string()),
            None => T::deserialize(Missing).map_err(|error| error.to_string()),
        };
        self.kept(name, taken)
    }

    /// The argument of that name, or `default` if there is none.
    pub fn take_or<T: DeserializeOwned>(&mut self, name: &str, default: impl FnOnce() -> T) -> Option<T> {
        if self.object.contains_key(name) { self.take(name) } else { Some(default()) }
    }

    /// A struct whose fields are parameters of their own.
    pub fn take_flat<T: DeserializeOwned>(&mut self) -> Option<T> {
        let taken = T::deserialize(flat::Fields(&self.object));
        self.kept("", taken.map_err(|error| error.to_string()))
    }

    fn kept<T>(&mut self, name: &str, taken: Result<T, String>) -> Option<T> {
        let not_valid =
            |problem| self.problems.push(Violation::new(name, format!("is not valid: {problem}")));
        taken.map_err(not_valid).ok()
    }

    /// The error that tells the model what does not fit.
    pub fn into_error(self) -> ToolError {
        self.definition.unfit(self.problems.iter().map(ToString::to_string))
    }
}

/// A deserializer of nothing: only an optional value can be made of it.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom("it is missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The return value of a tool's function, which [`settled`](Self::settled) tells apart by its type, so that an alias of
/// `Result` is a `Result`.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// The value, or the tool's error.
    ///
    /// # Errors
    /// The function's.
    pub fn settled(self) -> Result<T, ToolError>
    where
        E: Into<ToolError>,
    {
        self.0.map_err(Into::into)
    }
}

/// The return value of a function that cannot fail. A method of the type itself comes first, so that this one serves
/// all but `Result`.
pub trait Settled {
    /// The type of the return value.
    type Value;

    /// The value.
    ///
    /// # Errors
    /// Never.
    fn settled(self) -> Result<Self::Value, ToolError>;
}

impl<T> Settled for Returned<T> {
    type Value = T;

    fn settled(self) -> Result<T, ToolError> {
        Ok(self.0)
    }
}

/// Runs the body of a tool with capture active and captures its output.
///
/// # Errors
/// The body's error, or that its output cannot be captured.
pub async fn run<T: Serialize + 'static>(
    store_id: Option<String>,
    body: impl Future<Output = Result<T, ToolError>>,
) -> Result<ToolOutput, ToolError> {
    let mut capture = Capture::new();
    if let Some(store) = store_id {
        capture = capture.with_store_id(store);
    }
    let output = match capture.run(body).await {
        Ok(output) => output,
        Err(error) => return Err(capture.fail(error)),
    };
    Ok(ToolOutput::captured(capture, &output)?)
}

/// A tool made of a function: its spec, made once, and what a call does.
pub struct Function<C> {
    spec: &'static OnceLock<ToolSpec>,
    make: fn() -> ToolSpec,
    strict: bool,
    call: C,
}

impl<C, F> Function<C>
where
    C: Fn(Bound<'static>, ToolContext) -> F + Send + Sync,
    F: Future<Output = Result<ToolOutput, ToolError>> + Send,
{
    /// A tool whose spec `make` makes at first use. A strict one takes arguments as they are, and asks APIs to hold the
    /// model to its schema.
    pub fn new(spec: &'static OnceLock<ToolSpec>, make: fn() -> ToolSpec, strict: bool, call: C) -> Self {
        Self { spec, make, strict, call }
    }
}

impl<C> Function<C> {
    fn ready_spec(&self) -> &'static ToolSpec {
        self.spec.get_or_init(|| {
            let ToolSpec { definition, metadata } = (self.make)();
            let strict = self.strict || definition.is_strict();
            ToolSpec { definition: definition.with_strict(strict), metadata }
        })
    }
}

impl<C, F> Tool for Function<C>
where
    C: Fn(Bound<'static>, ToolContext) -> F + Send + Sync,
    F: Future<Output = Result<ToolOutput, ToolError>> + Send,
{
    fn spec(&self) -> &ToolSpec {
        self.ready_spec()
    }

    fn arguments(&self, written: &Arguments) -> Result<Map<String, Value>, ToolError> {
        let definition = &self.ready_spec().definition;
        if self.strict { definition.check(written) } else { definition.coerce(written) }
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let bound = Bound::new(&self.ready_spec().definition, arguments);
            (self.call)(bound, context).await
        })
    }
}

impl<C> fmt::Debug for Function<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&self.ready_spec().definition.name()).finish()
    }
}

#[cfg(test)]
mod tests;
