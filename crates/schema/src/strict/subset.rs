//! The subsets of JSON Schema that APIs enforce, and what they cannot say.

use std::fmt;

use crate::words::place;

/// A subset of JSON Schema that an API enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Subset {
    /// OpenAI's: each property is required, and those that may be left out may be `null`.
    OpenAi,
    /// Azure's: as OpenAI's, but texts, numbers and lists have no bounds, formats or patterns. (Azure OpenAI, "Structured outputs")
    Azure,
    /// Anthropic's: properties may be left out; numbers and lengths have no bounds, and nothing holds itself.
    Anthropic,
}

impl Subset {
    /// True if each property must be required, so that `null` stands for the absence of one.
    pub(super) fn requires_all(self) -> bool {
        self != Self::Anthropic
    }
}

/// The reason why a schema cannot be said in the strict subset.
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

/// A keyword that the strict schema does not say. The description says it, cut where it is long; the reply is held to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsaid {
    /// The schema that has it, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
}

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.keyword, place(&self.pointer))
    }
}
