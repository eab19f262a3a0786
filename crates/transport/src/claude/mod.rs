//! The common parts of the APIs of Claude: Anthropic's Messages (also at Vertex AI), and Converse of Bedrock.

mod blocks;
mod cache;
mod conversation;
mod history;
mod options;
mod passages;
mod reply;
mod tools;

use attache_core::ModelCapabilities;

use crate::options::knows;

pub use blocks::{CallBlock, TextBlock, ThinkingBlock, finish_reason, read_block};
pub use cache::{CachePlaces, cache_policy, keeps_an_hour};
pub use conversation::Conversation;
pub use history::{CallIds, loop_began_with_thinking};
pub use options::{Sampling, Thinking, answer_schema, cites, refuse_unknown, sampling, stops, thinking};
pub use passages::{CITED, UNCITED, passages};
pub use reply::{Block, Blocks, Ending, OwnBlock, Piece};
pub use tools::{Compiled, WrittenTool, WrittenTools, check_claude_tools, force_refused, strict_forms};

/// True if the model shows its thinking only when asked to. Models that know nothing but adaptive thinking do.
pub fn hides_thinking(capabilities: &ModelCapabilities) -> bool {
    knows(capabilities, "adaptive") && !knows(capabilities, "budget")
}
