//! A provider's report about tools before they are offered.

use std::fmt;

/// A provider's handling of tool schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaReport {
    /// The keywords that are not sent to it or that it does not enforce.
    pub loosened: Vec<SchemaLoosening>,
    /// The tools that cannot be offered to it.
    pub refused: Vec<SchemaRefusal>,
}

impl SchemaReport {
    /// Creates an empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a report that none of the tools can be offered.
    pub fn refusing(why: impl Into<String>) -> Self {
        Self { refused: vec![SchemaRefusal::new(None, why)], ..Self::default() }
    }

    /// Adds the entries of another report, without duplicates.
    pub fn extend(&mut self, other: Self) {
        for loosened in other.loosened {
            if !self.loosened.contains(&loosened) {
                self.loosened.push(loosened);
            }
        }
        for refused in other.refused {
            if !self.refused.contains(&refused) {
                self.refused.push(refused);
            }
        }
    }
}

/// A keyword of a tool's schema that is not sent to a provider or that the provider does not enforce.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaLoosening {
    /// The tool's internal name.
    pub tool: String,
    /// The schema with the keyword, as a JSON pointer into the tool's schema.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// The handling of the keyword, and the reason.
    pub why: String,
}

impl SchemaLoosening {
    /// Creates an entry for a keyword at a place in the schema of `tool`.
    pub fn new(
        tool: impl Into<String>,
        pointer: impl Into<String>,
        keyword: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self { tool: tool.into(), pointer: pointer.into(), keyword: keyword.into(), why: why.into() }
    }
}

impl fmt::Display for SchemaLoosening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "tool `{}`: {} at {place}: {}", self.tool, self.keyword, self.why)
    }
}

/// Tools that cannot be offered to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaRefusal {
    /// The tool's internal name; `None` if it is about all of them.
    pub tool: Option<String>,
    /// The reason.
    pub why: String,
}

impl SchemaRefusal {
    /// Creates an entry for a tool, or for all of them.
    pub fn new(tool: impl Into<Option<String>>, why: impl Into<String>) -> Self {
        Self { tool: tool.into(), why: why.into() }
    }
}

impl fmt::Display for SchemaRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "tool `{tool}`: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}
