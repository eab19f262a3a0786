//! JSON Schema for what models write: arguments of tools and structured answers.
//!
//! A [`Schema`] is compiled once and then used for every call. [`Schema::check`] says what is wrong with a value and
//! where. [`Schema::coerce`] first mends what is only written differently, such as `"5"` for 5, and then checks.
//! Nothing here does I/O, and nothing is ever fetched.
//!
//! ```
//! use attache_schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::new(&json!({
//!     "type": "object",
//!     "properties": {"pages": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
//!     "required": ["pages"],
//! }))?;
//! let mut value = json!({"pages": "3"});
//! assert_eq!(schema.check(&value)[0].to_string(), r#"`pages` must be an array, not "3""#);
//! assert_eq!(schema.coerce(&mut value), []);
//! assert_eq!(value, json!({"pages": [3]}));
//! # Ok::<(), attache_schema::SchemaError>(())
//! ```

mod branches;
mod check;
mod coerce;
mod compile;
mod keywords;
mod pattern;
mod rules;
mod strict;
mod values;
mod words;

#[cfg(test)]
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

pub use strict::{Refusal, Strict, Subset, Unsaid, strict};

use rules::{Id, Node, Rules};
use words::{place, problem};

/// A JSON Schema that values can be held against.
///
/// It knows the keywords of draft 2020-12 and, where they differ, those of the drafts before it. `format` and content
/// keywords are hints, as the standard has them; only the formats of integers, such as `uint32` and `int64`, are
/// ranges. References lead into the schema itself. Schemas and values may come from anybody: sizes, depths and steps
/// are limited, and patterns are matched in a time that is linear in the text.
pub struct Schema {
    nodes: Vec<Node>,
    /// Whether some keyword asks what the others have looked at.
    tracks: bool,
    unchecked: Vec<Unchecked>,
}

/// Why a schema is none that values can be held against.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaError {
    /// Where in the schema, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub problem: String,
}

/// A keyword that values are not held to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unchecked {
    /// The schema that has it, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: &'static str,
    /// Why.
    pub why: String,
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Where in the value, such as `lines[2].price`; empty for the value itself.
    pub path: String,
    /// What is wrong there and what was expected.
    pub problem: String,
}

impl Violation {
    /// A problem at a place of a value.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&problem(&self.path, &self.problem))
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", place(&self.pointer), self.problem)
    }
}

impl std::error::Error for SchemaError {}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`] for keywords of the wrong form, references that lead out of the schema or nowhere or back to
    /// themselves without end, and schemas beyond the limits (64 levels, 20,000 schemas).
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        compile::compile(schema)
    }

    /// What is wrong with `value`, at most ten things; nothing if it fits.
    pub fn check(&self, value: &Value) -> Vec<Violation> {
        check::check(self, value)
    }

    /// Mends what is only written differently, and says what is wrong with the value then, as [`check`](Self::check)
    /// does.
    ///
    /// Mended are `"5"` for 5, `"true"` for true, JSON inside a string, one value for an array of one, the reference
    /// object of a document for its id, and `null` for a property that may be left out. Whole numbers that are
    /// written as fractions, such as 5.0, become integers where the schema asks for integers; an integer that 64 bits
    /// cannot hold is a violation. Apart from that, a value that fits is left as it is.
    pub fn coerce(&self, value: &mut Value) -> Vec<Violation> {
        coerce::coerce(self, value)
    }

    /// What values are not held to: patterns that cannot be matched here.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// The keywords of one place.
    fn rules(&self, id: Id) -> Option<&Rules> {
        match self.nodes.get(id) {
            Some(Node::Rules(rules)) => Some(rules),
            _ => None,
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("nodes", &self.nodes.len())
            .field("unchecked", &self.unchecked)
            .finish()
    }
}
