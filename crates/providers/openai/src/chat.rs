//! Chat Completions, without I/O (openai.md A).

mod api;
mod codec;
mod request;
mod response;
mod stream;

pub use codec::{ChatCodec, OpenAiChat};
pub(crate) use request::ids::legal;
pub(crate) use request::messages::{NOT_HERE, result_content, text_of};
pub(crate) use request::reasoning::Reasons;
pub(crate) use request::{add_system, before_messages};
