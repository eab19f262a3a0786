//! Problems of values.

use std::fmt;

use crate::words::problem;

/// One problem of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The place in the value, such as `lines[2].price`; empty for the value itself.
    pub path: String,
    /// The problem there, and the expected value.
    pub problem: String,
}

impl Violation {
    /// Creates a violation for a place in a value.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&problem(&self.path, &self.problem))
    }
}
