//! OpenAI's Responses and Chat Completions, and the servers that imitate them, as attache providers.
//!
//! [`OpenAi`] is a model that answers through Responses, `openai/<model>`, [`OpenAiChat`] one that answers through Chat
//! Completions, `openai-chat/<model>`, and either one behind any [`Profile`]. They are [`ResponsesCodec`] and
//! [`ChatCodec`] with a connection; a codec turns requests into HTTP requests and answers into chunks without doing
//! I/O.
//!
//! The quirks of a server are data: a [`Profile`] names each quirk, and no code asks for a server's name.
//! Answers are read leniently whatever the profile says, since every server leaves out, nulls or renames something.
//!
//! [`Ollama`] speaks Ollama's own API, which is none of OpenAI's: `ollama/<model>`.
//!
//! # What Chat Completions cannot say
//! - A tool message takes only text. Documents of tool results stand in the synthetic user message that routing
//!   makes; one that is attached to a result is an error.
//! - A failed result has no flag: its text is the JSON object `{"error": …}`.
//! - OpenAI takes no reasoning back. Servers that do get theirs in the member that it came in.

mod address;
mod api;
mod chat;
mod codec;
mod error;
mod files;
mod models;
mod ollama;
mod profile;
mod request;
mod response;
mod responses;
mod server;

pub use chat::{ChatCodec, OpenAiChat};
pub use ollama::{Ollama, OllamaCodec};
pub use profile::{
    Api, AudioForm, CallIds, EmptyContent, FileForm, ItemIds, JsonObject, KeyRules, MaxTokens, NamedTool,
    Profile, ProfileError, Profiles, ReasoningItems, Replayed, ResponsesRules, SystemPlace, SystemRole,
    ThinkTags, Thinking, ToolSchemas, ToolsOff,
};
pub use responses::{OpenAi, ResponsesCodec};

#[doc(inline)]
pub use attache_transport::{UploadedFile, Uploads};
