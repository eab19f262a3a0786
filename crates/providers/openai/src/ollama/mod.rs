//! Ollama's own API, without I/O (openai.md C.13).

mod api;
mod codec;
mod messages;
mod models;
mod options;
mod request;
mod stream;
mod wire;

pub use codec::{Ollama, OllamaCodec};
