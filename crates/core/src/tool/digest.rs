//! Digests of what a person decides about: a call's arguments, and the tool that it calls.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::hash::hex;
use crate::message::Arguments;
use crate::tool::ToolSpec;

impl Arguments {
    /// The SHA-256 of the object in hexadecimal digits. White space and the order of members make no difference;
    /// arguments that are no object count as `{}`.
    ///
    /// ```
    /// use attache_core::Arguments;
    /// let (one, other) = (Arguments::new(r#"{"a":1,"b":2}"#), Arguments::new(r#"{ "b": 2, "a": 1 }"#));
    /// assert_eq!(one.digest(), other.digest());
    /// assert_ne!(one.digest(), Arguments::new(r#"{"a":1,"b":3}"#).digest());
    /// ```
    pub fn digest(&self) -> String {
        digest(&Value::Object(self.object().unwrap_or_default()))
    }
}

impl ToolSpec {
    /// The SHA-256, in hexadecimal digits, of what a call of this tool means: its definition, its effect and its origin.
    pub fn digest(&self) -> String {
        let definition = &self.definition;
        digest(&serde_json::json!({
            "name": definition.name(),
            "description": definition.description(),
            "inputSchema": definition.input_schema(),
            "effect": self.metadata.effect,
            "origin": self.metadata.origin,
        }))
    }
}

fn digest(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    hex(&Sha256::digest(text.as_bytes()))
}

/// Writes JSON with the members of objects in the order of their names.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (name, value) in members {
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::{Effect, ToolDefinition};

    #[test]
    fn a_digest_is_of_the_meaning_and_not_of_the_writing() {
        let digest = |text: &str| Arguments::new(text).digest();
        assert_eq!(digest(r#"{"a":{"x":[1,2],"y":"z"}}"#), digest(r#" {"a" : {"y":"z","x":[1, 2]}}"#));
        assert_ne!(digest(r#"{"a":[1,2]}"#), digest(r#"{"a":[2,1]}"#));
        assert_ne!(digest(r#"{"a":1}"#), digest(r#"{"a":"1"}"#));
        assert_eq!(digest("").len(), 64);
    }

    #[test]
    fn a_tool_that_does_something_else_has_another_digest() {
        let spec = |text: &str| ToolSpec::new(ToolDefinition::new("pay", text, json!({"type": "object"})));
        assert_eq!(spec("Pays").digest(), spec("Pays").digest());
        assert_ne!(spec("Pays").digest(), spec("Pays twice").digest());
        assert_ne!(spec("Pays").digest(), spec("Pays").with_effect(Effect::Read).digest());
    }
}
