//! The contract of attache: messages, documents in tool results, tools and the provider trait.
//!
//! This crate contains data and traits only. It does not use the network and needs no runtime; only [`Document::read`]
//! reads a file, on its own thread. Every other crate of the workspace depends on it. To run an agent, start with the
//! `attache` crate; depend on this one to write a provider, a tool or a store that keeps compiling while the other
//! crates change.
//!
//! | concept | type |
//! | --- | --- |
//! | one message of a conversation, with ordered parts | [`Message`] |
//! | a handle on a PDF, an image, a spreadsheet, wherever its bytes are | [`Document`] |
//! | what a tool returned: JSON text and the documents in it | [`ContentTree`] |
//! | a tool, and a family of tools behind one door | [`Tool`], [`ToolHandler`] |
//! | one model at one provider, and its cloneable handle | [`LlmProvider`], [`ModelHandle`] |
//! | what a model accepts in which place | [`ModelCapabilities`], [`Matrix`](capability::Matrix) |
//!
//! A tool returns anything that serde can serialise, with documents anywhere in it:
//!
//! ```
//! use attache_core::{Capture, Document};
//!
//! #[derive(serde::Serialize)]
//! struct Report { summary: String, pdf: Document }
//!
//! let report = Report {
//!     summary: "3 pages".into(),
//!     pdf: Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("q3.pdf"),
//! };
//! let tree = Capture::new().finish(&report)?;
//! assert_eq!(tree.documents().len(), 1);
//! assert!(tree.json().starts_with(r#"{"summary":"3 pages","pdf":{"attache.document":"stored","documentId":"#));
//! # Ok::<(), attache_core::tree::TreeError>(())
//! ```

pub mod assembler;
pub mod base64;
pub mod blocking;
pub mod calendar;
pub mod capability;
mod capture;
pub mod charset;
mod chunk;
pub mod citation;
pub mod conversation;
pub mod converter;
#[cfg(feature = "discovery")]
mod discovery;
mod document;
mod error;
pub mod facts;
pub mod fetcher;
pub mod files;
pub mod fresh;
mod future;
pub mod hash;
mod id;
pub mod identity;
pub mod json;
pub mod line;
mod media;
pub mod message;
pub mod near;
mod persist;
pub mod provider;
mod register;
pub mod repair;
pub mod response;
mod secret;
pub mod settings;
mod store;
pub mod structured;
pub mod tool;
mod transcript;
pub mod tree;
mod usage;
pub mod words;

pub use capability::ModelCapabilities;
pub use capture::Capture;
pub use chunk::{Completion, Degradation, FinishReason, StreamChunk};
pub use citation::Citation;
pub use conversation::Conversation;
pub use converter::Converter;
#[cfg(feature = "discovery")]
pub use discovery::Discovery;
pub use document::{Document, DocumentSource};
pub use error::{ErrorKind, ProviderError};
pub use future::BoxFuture;
pub use id::{DocumentId, MessageId, ProviderCallId, ToolCallId};
pub use media::{MediaKind, MediaType};
pub use message::{
    Arguments, AssistantMessage, AssistantPart, Message, ReasoningPart, ResultStatus, Role, SystemMessage,
    TextPart, ToolCall, ToolResult, ToolResultsMessage, UserMessage, UserPart,
};
pub use provider::{ChatRequest, ChunkStream, LlmProvider, ModelHandle};
pub use secret::Secret;
pub use settings::{Effort, ModelSettings, Reasoning, ResponseFormat, ToolChoice};
pub use store::{DocumentStore, StoreError, StoreErrorKind};
pub use tool::{
    Approval, DocumentRef, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolHandler,
    ToolOutput, ToolReturn, ToolSet,
};
pub use transcript::Transcript;
pub use tree::ContentTree;
pub use usage::{ModelUsage, RawUsage, Usage};

/// The JSON Schema validator that checks tool arguments.
#[doc(no_inline)]
pub use attache_schema as schema;

/// The JSON Schema crate; tool arguments derive its [`schemars::JsonSchema`].
#[doc(no_inline)]
pub use schemars;

/// The functions that the expansion of `#[tool]` calls. Not part of the public API: they may change in any version.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "discovery")]
    pub use crate::discovery::{MadeWithDefault, NotMade, Registration, inventory};
    pub use crate::tool::bind::{Bound, Function, Parameters, Returned, Returns, Settled, run};
}
