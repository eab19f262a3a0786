//! The limits up to which tools are shown whole.

use attache_core::ToolDefinition;

use crate::memory::text_tokens::tokens_of_length;

/// The limits beyond which an agent's tools are shown in layers; see
/// [`AgentBuilder::disclosure`](crate::AgentBuilder::disclosure).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disclosure {
    /// Up to this many tools are shown whole. 20 by default.
    pub max_tools: usize,
    /// If their definitions have no more than this many tokens, by a guess. 8,000 by default.
    pub max_tokens: usize,
}

impl Default for Disclosure {
    fn default() -> Self {
        Self { max_tools: 20, max_tokens: 8_000 }
    }
}

impl Disclosure {
    /// Shows up to this many tools whole.
    #[must_use]
    pub fn with_max_tools(mut self, tools: usize) -> Self {
        self.max_tools = tools;
        self
    }

    /// Shows tools whole whose definitions have no more than this many tokens.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = tokens;
        self
    }

    /// True if these tools are too many to be shown whole.
    pub(crate) fn is_passed(&self, tools: &[ToolDefinition]) -> bool {
        let tokens = || tools.iter().map(tokens).sum::<u64>();
        tools.len() > self.max_tools || tokens() > self.max_tokens as u64
    }
}

/// The tokens of a definition, by a guess.
fn tokens(definition: &ToolDefinition) -> u64 {
    let schema = definition.input_schema().to_string().len();
    tokens_of_length(definition.name().len() + definition.description().len() + schema)
}
