//! The way to a call inside a tool.

use attache_core::ToolCallId;

/// An agent that works inside a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NestedAgent {
    /// The name of its tool.
    pub name: String,
    /// The call that it answers.
    pub call: ToolCallId,
}

impl NestedAgent {
    pub(crate) fn new(name: &str, call: ToolCallId) -> Self {
        Self { name: name.to_owned(), call }
    }
}
