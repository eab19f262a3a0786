//! The failures of an agent's tools before they are called.

use attache_core::tool::{SchemaRefusal, ToolSetError};

/// Why the tools of an agent cannot be offered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// Two tools have one name.
    #[error("two tools are named {name:?}: one of {first}, one of {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// The origin of the first.
        first: String,
        /// The origin of the second.
        second: String,
    },
    /// A tool has parameters that no schema can say.
    #[error("the tool {name:?} of {origin} cannot be offered: {problem}")]
    Unusable {
        /// The name.
        name: String,
        /// Its origin.
        origin: String,
        /// The problem with it.
        problem: String,
    },
    /// A catalog has no tool of that name.
    #[error("there is no tool named {name:?}{}", did_you_mean(near))]
    Missing {
        /// The name.
        name: String,
        /// Names that are near it.
        near: Vec<String>,
    },
    /// The tools do not go together.
    #[error(transparent)]
    Set(#[from] ToolSetError),
    /// The model cannot be offered the tools.
    #[error("{model} cannot be offered the tools: {}", refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused {
        /// The model, `provider/model`.
        model: String,
        /// The tools that are refused, and why.
        refused: Vec<SchemaRefusal>,
    },
    /// A family could not list its tools.
    #[error("the tools of {family} cannot be listed: {problem}")]
    Listing {
        /// The family.
        family: String,
        /// Its words.
        problem: String,
    },
}

/// `; did you mean a or b?`, or nothing.
pub(crate) fn did_you_mean(near: &[impl AsRef<str>]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let near: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    format!("; did you mean {}?", near.join(" or "))
}
