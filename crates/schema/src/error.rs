//! Schemas that cannot be compiled.

use std::fmt;

use crate::words::place;

/// Why a schema is none that values can be held against.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaError {
    /// Where in the schema, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", place(&self.pointer), self.problem)
    }
}

impl std::error::Error for SchemaError {}
