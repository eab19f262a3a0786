//! JSON Schema: whether a value is what a schema asks for, and what is wrong where it is not.

mod check;
mod compile;
mod pattern;
mod rules;
mod words;

#[cfg(test)]
mod peer;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use rules::Node;
use words::{problem, shown};

/// A JSON Schema that values can be held against.
///
/// It knows the keywords of draft 2020-12 and, where they differ, those of the drafts before it. `format` and content
/// keywords are hints, as the standard has them. References lead into the schema itself; nothing is ever fetched.
/// Schemas and values may come from anybody: sizes, depths and steps are limited, and patterns are matched in a time
/// that is linear in the text.
pub(crate) struct Schema {
    nodes: Vec<Node>,
    /// Whether some keyword asks what the others have looked at.
    tracks: bool,
    unchecked: Vec<Unchecked>,
}

/// Why a schema is none that values can be held against.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", place(pointer))]
pub(crate) struct SchemaError {
    /// Where in the schema, as a JSON pointer.
    pub(crate) pointer: String,
    /// What is wrong there.
    pub(crate) problem: String,
}

/// A keyword that values are not held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unchecked {
    /// The schema that has it, as a JSON pointer.
    pub(crate) pointer: String,
    pub(crate) keyword: &'static str,
    pub(crate) why: String,
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where in the value, such as `lines[2].price`; empty for the value itself.
    pub(crate) path: String,
    /// What is wrong there and what was expected.
    pub(crate) problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&problem(&self.path, &self.problem))
    }
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// [`SchemaError`] for keywords of the wrong form, references that lead out of the schema or nowhere or back to
    /// themselves without end, and schemas beyond the limits (64 levels, 20,000 schemas).
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        compile::compile(schema)
    }

    /// What is wrong with `value`, at most ten things; nothing if it fits.
    pub(crate) fn violations(&self, value: &Value) -> Vec<Violation> {
        check::violations(self, value)
    }

    /// What values are not held to: patterns that cannot be matched here.
    pub(crate) fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
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

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the root" } else { pointer }
}
