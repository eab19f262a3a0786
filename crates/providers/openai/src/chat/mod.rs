//! Chat Completions, without I/O (openai.md A).

mod ask;
mod assistant;
mod beside;
mod codec;
mod content;
mod endings;
mod ids;
mod messages;
mod options;
mod reasoning;
mod reasons;
mod request;
mod response;
mod stream;
mod think;
mod turns;
mod wire;

pub use codec::{ChatCodec, OpenAiChat};
pub(crate) use endings::finish_reason;
pub(crate) use ids::legal;
pub(crate) use messages::{NOT_HERE, result_content, text_of};
pub(crate) use reasons::Reasons;
pub(crate) use request::{add_system, before_messages};
