//! A compiled schema.

use std::fmt;

use crate::rules::{Id, Node, Rules};

/// A compiled JSON Schema for validating values.
///
/// It supports the keywords of draft 2020-12 and, where they differ, those of earlier drafts. `format` and content
/// keywords are annotations, as in the standard; only integer formats, such as `uint32` and `int64`, are checked as
/// ranges. References must lead into the schema itself. Schemas and values may be untrusted: sizes, depths and steps
/// are limited, and patterns are matched in linear time.
pub struct Schema {
    pub(crate) nodes: Vec<Node>,
    /// True if some keyword asks what the others have looked at.
    pub(crate) tracks: bool,
    pub(crate) unchecked: Vec<Unchecked>,
}

/// A keyword that is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unchecked {
    /// The schema with the keyword, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: &'static str,
    /// The reason.
    pub why: String,
}

impl Schema {
    /// The keywords that are not checked: unsupported patterns.
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
