//! A compiled schema.

use std::fmt;

use crate::rules::{Id, Node, Rules};

/// A JSON Schema that values can be held against.
///
/// It knows the keywords of draft 2020-12 and, where they differ, those of the drafts before it. `format` and content
/// keywords are hints, as the standard has them; only the formats of integers, such as `uint32` and `int64`, are
/// ranges. References lead into the schema itself. Schemas and values may come from anybody: sizes, depths and steps
/// are limited, and patterns are matched in a time that is linear in the text.
pub struct Schema {
    pub(crate) nodes: Vec<Node>,
    /// True if some keyword asks what the others have looked at.
    pub(crate) tracks: bool,
    pub(crate) unchecked: Vec<Unchecked>,
}

/// A keyword that values are not held to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unchecked {
    /// The schema that has it, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: &'static str,
    /// The reason.
    pub why: String,
}

impl Schema {
    /// The keywords that values are not held to: patterns that cannot be matched here.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// The keywords of one place.
    pub(crate) fn rules(&self, id: Id) -> Option<&Rules> {
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
