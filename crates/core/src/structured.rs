//! Schemas that are compiled once, at first use, and the schema of answers.

use std::fmt;
use std::sync::{Arc, OnceLock};

use attache_schema::{Refusal, Schema, SchemaError, Strict, Subset, Violation};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The forms of a schema that follow from it, made at first use for all clones that are made later. It has no part in comparisons.
#[derive(Clone, Default)]
pub(crate) struct Compiled {
    schema: OnceLock<Arc<Result<Schema, SchemaError>>>,
    openai: OnceLock<Arc<Result<Strict, Refusal>>>,
    azure: OnceLock<Arc<Result<Strict, Refusal>>>,
    anthropic: OnceLock<Arc<Result<Strict, Refusal>>>,
}

impl Compiled {
    pub(crate) fn schema(&self, given: &Value) -> Result<&Schema, &SchemaError> {
        (**self.schema.get_or_init(|| Arc::new(Schema::new(given)))).as_ref()
    }

    pub(crate) fn strict(&self, given: &Value, subset: Subset) -> Result<&Strict, &Refusal> {
        let cell = match subset {
            Subset::Anthropic => &self.anthropic,
            Subset::Azure => &self.azure,
            _ => &self.openai,
        };
        (**cell.get_or_init(|| Arc::new(attache_schema::strict(given, subset)))).as_ref()
    }
}

impl PartialEq for Compiled {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.schema.get().is_some() { "compiled" } else { "not compiled" })
    }
}

/// The JSON Schema that answers must conform to. It is compiled once, at first use; cloning copies a pointer.
///
/// ```
/// use attache_core::structured::{OutputSchema, StructuredError};
/// use serde_json::json;
///
/// let schema = OutputSchema::from(json!({"type": "object", "properties": {"total": {"type": "number"}},
///     "required": ["total"]}));
/// assert_eq!(schema.read(r#"{"total": 1.5}"#).unwrap(), json!({"total": 1.5}));
/// assert!(matches!(schema.read("{}"), Err(StructuredError::Unfit(_))));
/// assert!(matches!(schema.read("none"), Err(StructuredError::NotJson(_))));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSchema(Arc<(Value, Compiled)>);

impl From<Value> for OutputSchema {
    fn from(schema: Value) -> Self {
        Self(Arc::new((schema, Compiled::default())))
    }
}

impl Serialize for OutputSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OutputSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl From<schemars::Schema> for OutputSchema {
    fn from(schema: schemars::Schema) -> Self {
        Self::from(schema.to_value())
    }
}

impl fmt::Display for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl OutputSchema {
    /// The schema as given.
    pub fn value(&self) -> &Value {
        &self.0.0
    }

    /// The compiled schema for validation.
    ///
    /// # Errors
    /// [`SchemaError`] with the place where the schema is invalid.
    pub fn schema(&self) -> Result<&Schema, &SchemaError> {
        self.0.1.schema(self.value())
    }

    /// The schema in a subset that an API enforces.
    ///
    /// # Errors
    /// [`Refusal`] with the part of the schema that the subset cannot express.
    pub fn strict(&self, subset: Subset) -> Result<&Strict, &Refusal> {
        self.0.1.strict(self.value(), subset)
    }

    /// Reads the value from an answer's text and validates it against the schema. Mere differences in notation are
    /// corrected; see [`Schema::coerce`].
    ///
    /// # Errors
    /// See [`StructuredError`].
    pub fn read(&self, text: &str) -> Result<Value, StructuredError> {
        let value = serde_json::from_str(text.trim());
        self.fitted(value.map_err(|error| StructuredError::NotJson(error.to_string()))?)
    }

    /// Validates a value against the schema, as [`read`](Self::read) does for a text.
    ///
    /// # Errors
    /// See [`StructuredError`].
    pub fn fitted(&self, mut value: Value) -> Result<Value, StructuredError> {
        let schema = self.schema().map_err(|error| StructuredError::NoSchema(error.clone()))?;
        let violations = schema.coerce(&mut value);
        if violations.is_empty() { Ok(value) } else { Err(StructuredError::Unfit(violations)) }
    }
}

/// The reason why an answer is not a value of its schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredError {
    /// The answer is not JSON.
    #[error("the answer is not valid JSON: {0}")]
    NotJson(String),
    /// The answer does not conform to the schema.
    #[error("the answer does not fit its schema: {}", joined(.0))]
    Unfit(Vec<Violation>),
    /// The schema itself is invalid.
    #[error("the schema of the answer cannot be read: {0}")]
    NoSchema(SchemaError),
}

fn joined(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
