//! Chat Completions, without I/O (openai.md A).

mod ask;
mod assistant;
mod beside;
mod codec;
mod content;
mod finish_reasons;
mod ids;
mod messages;
mod options;
mod reasoning;
mod reasoning_options;
mod request;
mod response;
mod stream;
mod think_tags;
mod turns;
mod wire;

pub use codec::{ChatCodec, OpenAiChat};
pub(crate) use finish_reasons::finish_reason;
pub(crate) use ids::legal;
pub(crate) use messages::{NOT_HERE, result_content, text_of};
pub(crate) use reasoning_options::Reasons;
pub(crate) use request::{add_system, before_messages};
