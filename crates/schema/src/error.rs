//! Schemas that cannot be compiled.

use std::fmt;

use crate::words::place;

/// The reason why a schema is invalid or unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaError {
    /// The place in the schema, as a JSON pointer.
    pub pointer: String,
    /// The problem there.
    pub problem: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", place(&self.pointer), self.problem)
    }
}

impl std::error::Error for SchemaError {}
