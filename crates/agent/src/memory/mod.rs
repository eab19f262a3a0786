//! The part that the model is shown of a conversation that grows too long.

mod compaction;
pub(crate) mod cut;
mod ledger;
pub(crate) mod look;
pub(crate) mod mark;
pub(crate) mod marks;
pub(crate) mod message_tokens;
mod message_window;
pub(crate) mod past;
pub(crate) mod summary;
pub(crate) mod text_tokens;
mod token_window;
pub(crate) mod turns;

pub use compaction::{Compaction, SummaryPlacement};
pub use look::{Look, Memory};
pub use mark::{Mark, PINNED};
pub use marks::Marks;
pub use message_window::MessageWindow;
pub use past::Past;
pub use summary::Summarise;
pub use text_tokens::{EstimatedTokens, TokenCounter};
pub use token_window::TokenWindow;

#[cfg(test)]
mod tests;
