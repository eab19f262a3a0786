//! The contract of attache: messages, documents in tool results, tools and the provider trait.
//!
//! This crate is data and traits. It reaches no network, no file and no runtime, and every other crate of the
//! workspace stands on it. If you want to run an agent, start at the `attache` crate; depend on this one to
//! write a provider, a tool or a store that keeps compiling while the rest moves.
//!
//! | concept | type |
//! | --- | --- |
//! | one message of a conversation, with ordered parts | [`Message`] |
//! | a handle on a PDF, an image, a spreadsheet, wherever its bytes are | [`Document`] |
//! | what a tool returned: JSON text and the documents in it | [`ContentTree`] |
//! | a tool, and a family of tools behind one door | [`Tool`], [`ToolHandler`] |
//! | one model at one provider, and its cloneable handle | [`LlmProvider`], [`ModelHandle`] |
//! | what a model accepts in which place | [`ModelCapabilities`], [`Matrix`] |
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
//! # Ok::<(), attache_core::TreeError>(())
//! ```

mod assembler;
mod blocking;
pub mod calendar;
mod capability;
mod capture;
mod chunk;
pub mod citation;
mod compiled;
mod conversation;
mod converter;
#[cfg(feature = "discovery")]
mod discovery;
mod document;
mod error;
mod facts;
mod fetcher;
mod files;
pub mod fresh;
mod future;
mod hash;
mod id;
mod identity;
mod json;
mod media;
mod message;
mod persist;
mod provider;
mod register;
mod repair;
mod response;
mod secret;
mod settings;
mod store;
mod tool;
mod transcript;
mod tree;
mod usage;
mod words;

pub use assembler::{AssembledCall, ToolCallAssembler, ToolCallFragment};
pub use blocking::on_thread;
pub use capability::{
    Caching, FileRules, Matrix, MatrixError, ModelCapabilities, Place, PlaceCapabilities, ReasoningExcludes,
    ReasoningReplay, StructuredOutput, Tokenizer,
};
pub use capture::Capture;
pub use chunk::{Completion, Degradation, FinishReason, StreamChunk};
pub use citation::Citation;
pub use compiled::{OutputSchema, StructuredError};
pub use conversation::{Conversation, ConversationError, SCHEMA_VERSION};
pub use converter::{ConvertedText, Converter, MediaLimits, PageImage, RenderedPages, Transcoded, Units};
#[cfg(feature = "discovery")]
pub use discovery::Discovery;
pub use document::{Document, DocumentSource};
pub use error::{ErrorKind, ProviderError};
pub use facts::{Fact, LongTermMemory};
pub use fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
pub use files::{FileKey, FileReferences};
pub use future::BoxFuture;
pub use hash::StableHash;
pub use id::{DocumentId, MessageId, ProviderCallId, ToolCallId};
pub use identity::Identities;
pub use json::{insert_member, merge_members, table_lines};
pub use media::{MediaKind, MediaType};
pub use message::{
    Arguments, ArgumentsError, AssistantMessage, AssistantPart, MadeDocument, Message, Metadata, OpaquePart,
    ReasoningPart, ReplayData, ResultStatus, Role, Routed, SystemMessage, TextPart, ToolCall, ToolResult,
    ToolResultsMessage, UserMessage, UserOrigin, UserPart,
};
pub use provider::{ChatRequest, ChunkStream, LlmProvider, ModelHandle, ProviderState, StateCell};
pub use repair::{Repair, RepairKind, Repaired, repair};
pub use response::{RateLimitStatus, ResponseInfo};
pub use secret::Secret;
pub use settings::{
    CachePolicy, Effort, ModelSettings, Reasoning, RequestHeaders, ResponseFormat, ToolChoice, Unsupported,
};
pub use store::{DocumentStore, StoreError, StoreErrorKind};
pub use tool::{
    Approval, Asking, ConversationDocuments, Deferred, DocumentRef, DocumentView, DynToolHandler, Effect,
    Extensions, People, RunValues, SchemaLoosening, SchemaRefusal, SchemaReport, Tool, ToolContext,
    ToolDefinition, ToolError, ToolErrorKind, ToolHandler, ToolMetadata, ToolOutput, ToolReturn, ToolSet,
    ToolSetError, ToolSpec, Unanswered, WithOutcome, WithSpec, wire_name,
};
pub use transcript::Transcript;
pub use tree::{ContentTree, NO_RESULT, TreeError, TreeErrorKind, TreeLimits, reference_ids};
pub use usage::{RawUsage, Usage};
pub use words::{WordQuery, words};

/// The JSON Schema checker that reads the arguments of tools.
#[doc(no_inline)]
pub use attache_schema as schema;

/// The JSON Schema crate whose [`schemars::JsonSchema`] tool arguments derive.
#[doc(no_inline)]
pub use schemars;

/// The functions that the expansion of `#[tool]` calls. No part of the interface: it may change in any version.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "discovery")]
    pub use crate::discovery::{MadeWithDefault, NotMade, Registration, inventory};
    pub use crate::tool::bind::{Bound, Function, Parameters, Returned, Returns, Settled, run};
}
