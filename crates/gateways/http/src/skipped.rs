//! Operations that became no tools.

use std::fmt;

/// An operation that became no tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Its id, or method and path; the path alone where none of its operations can be read.
    pub operation: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.why)
    }
}
