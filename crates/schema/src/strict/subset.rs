//! The subsets of JSON Schema that APIs enforce, and their limits.

use std::fmt;

use crate::words::place;

/// A subset of JSON Schema that an API enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Subset {
    /// OpenAI's: each property is required; optional properties may be `null`.
    OpenAi,
    /// Azure's: like OpenAI's, but strings, numbers and lists have no bounds, formats or patterns. (Azure OpenAI,
    /// "Structured outputs")
    Azure,
    /// Anthropic's: properties may be optional; numbers and lengths have no bounds, and schemas are not recursive.
    Anthropic,
}

impl Subset {
    /// True if each property must be required, so that `null` stands for the absence of one.
    pub(super) fn requires_all(self) -> bool {
        self != Self::Anthropic
    }
}

/// The reason why a schema cannot be expressed in the strict subset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The place in the schema, as a JSON pointer.
    pub pointer: String,
    /// The problem there.
    pub problem: String,
}

impl Refusal {
    pub(crate) fn new(pointer: &str, problem: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), problem: problem.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", place(&self.pointer), self.problem)
    }
}

impl std::error::Error for Refusal {}

/// A keyword that the strict schema cannot express. It is added to the description, cut if it is long; the reply is
/// still validated against it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsaid {
    /// The schema with the keyword, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
}

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.keyword, place(&self.pointer))
    }
}
