//! Ollama's own API, without I/O (openai.md C.13).

mod api;
mod codec;
mod error;
mod models;
mod request;
mod response;
mod stream;

pub use codec::{Ollama, OllamaCodec};
