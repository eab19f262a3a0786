//! A conversation, as a memory looks at it.

use std::sync::Arc;

use attache_core::{Message, ModelCapabilities, ToolSet};

/// A conversation, as a memory looks at it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Past<'a> {
    /// All messages, marks of memories included. It only grows.
    pub history: &'a [Arc<Message>],
    /// The place where the newest input begins.
    pub task: usize,
    /// The tools that are offered.
    pub tools: &'a Arc<ToolSet>,
    /// The model's abilities.
    pub capabilities: &'a ModelCapabilities,
    /// The maximum number of characters of a result that the model reads.
    pub result_chars: usize,
    /// The tool with which the model reads documents, if it has one.
    pub reader: Option<&'a str>,
    /// The tokens that the provider counted in the request of the last reply of this run.
    pub read_tokens: Option<u64>,
    /// The tokens that the model's API counted before the first reply of this run, if it did, and the number of messages
    /// that the history had then.
    pub counted: Option<(usize, u64)>,
    /// The tokens of the request at which a summary failed, if none was made since.
    pub failed_at: Option<u64>,
    /// True if the provider has refused the request as too long.
    pub is_full: bool,
}
