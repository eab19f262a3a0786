//! The Responses API, without I/O (openai.md B).

mod ask;
mod assistant;
mod codec;
mod ids;
mod items;
mod messages;
mod options;
mod output;
mod request;
mod response;
mod stream;
mod wire;

pub use codec::{OpenAi, ResponsesCodec};
