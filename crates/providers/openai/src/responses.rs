//! The Responses API, without I/O (openai.md B).

mod api;
mod codec;
mod request;
mod response;
mod stream;

pub use codec::{OpenAi, ResponsesCodec};
