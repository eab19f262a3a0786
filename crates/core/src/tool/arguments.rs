//! The arguments of a call, read by the schema of its tool.

use attache_schema::Violation;
use serde_json::{Map, Value};

use crate::message::Arguments;
use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

impl ToolDefinition {
    /// Fits the arguments of a call to the schema: mere differences in notation are corrected, such as `"5"` for 5, one
    /// value for an array of one, or a document's reference for its id; see
    /// [`Schema::coerce`](attache_schema::Schema::coerce).
    ///
    /// ```
    /// use attache_core::{Arguments, ToolDefinition};
    /// use serde_json::json;
    /// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    /// let double = ToolDefinition::new("double", "", schema);
    /// assert_eq!(double.coerce(&Arguments::new(r#"{"n": "5"}"#)).unwrap()["n"], 5);
    /// assert!(double.check(&Arguments::new(r#"{"n": "5"}"#)).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ToolErrorKind::InvalidArguments`] with the tool, each invalid path with the expected value, and the existing
    /// parameters.
    pub fn coerce(&self, arguments: &Arguments) -> Result<Map<String, Value>, ToolError> {
        self.read(arguments, |schema, value| schema.coerce(value))
    }

    /// Returns the arguments of a call unchanged, if they are valid.
    ///
    /// # Errors
    /// See [`coerce`](Self::coerce).
    pub fn check(&self, arguments: &Arguments) -> Result<Map<String, Value>, ToolError> {
        self.read(arguments, |schema, value| schema.check(value))
    }

    fn read(
        &self,
        arguments: &Arguments,
        judge: impl FnOnce(&attache_schema::Schema, &mut Value) -> Vec<Violation>,
    ) -> Result<Map<String, Value>, ToolError> {
        let invalid = |text: String| ToolError::new(text).with_kind(ToolErrorKind::InvalidArguments);
        let object = arguments
            .object()
            .map_err(|error| invalid(format!("{}: {error}; {}", self.name(), self.allowed())))?;
        let schema = self.schema().map_err(|error| {
            ToolError::new("this tool is not set up")
                .with_source(format!("the schema of {} cannot be read: {error}", self.name()))
        })?;
        let mut value = Value::Object(object);
        let violations = judge(schema, &mut value);
        match value {
            Value::Object(object) if violations.is_empty() => Ok(object),
            _ => Err(self.unfit(violations.iter().map(ToString::to_string))),
        }
    }

    /// The error that tells the model what does not fit.
    pub(crate) fn unfit(&self, problems: impl Iterator<Item = String>) -> ToolError {
        let problems: Vec<String> = problems.collect();
        let (name, problems) = (self.name(), problems.join("; "));
        ToolError::new(format!("the arguments of {name} do not fit: {problems}; {}", self.allowed()))
            .with_kind(ToolErrorKind::InvalidArguments)
    }

    fn allowed(&self) -> String {
        let properties = self.input_schema().get("properties").and_then(Value::as_object);
        match properties.filter(|properties| !properties.is_empty()) {
            Some(properties) => {
                let names: Vec<_> = properties.keys().map(String::as_str).collect();
                format!("allowed: {}", names.join(", "))
            }
            None => "it takes no arguments".to_owned(),
        }
    }
}
