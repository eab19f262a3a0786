//! Decides in which form each document is shown to a model, with pure functions.
//!
//! Tools return documents; models differ in the types they can read, and where. This crate decides for every document
//! of a conversation in which form it is shown: natively inside its tool result, in a labelled *synthetic* user message
//! right after it, as its own text, as text extracted by a converter, or at least as a note that says what cannot be
//! shown and why. Nothing is dropped silently: each decision is in the [`RoutingReport`].
//!
//! Each step of an agent calls these functions with the window of messages that it is about to send:
//!
//! 1. [`plan`] determines which documents must be loaded, brought into another form or converted to text for this
//!    model; the caller does that and puts the results into [`Materials`], or lets [`gather`] do it with a store, a
//!    fetcher and converters;
//! 2. [`route`] returns the messages as this model should see them, and the report.
//!
//! This crate does no I/O of its own, needs no runtime, reads no clock and uses no random numbers. Routing is a
//! projection: it reads original messages and writes only `routed` content and synthetic messages, so it can be
//! repeated at any time, for any model.
//!
//! The same messages for an API whose tool results can contain only text, and for one whose tool results can contain
//! PDFs:
//!
//! ```
//! use attache_core::{Arguments, AssistantMessage, Capture, UserPart, Document, DocumentId, Message};
//! use attache_core::capability::Matrix;
//! use attache_core::{ProviderCallId, ResultStatus, ToolCall, ToolResult, ToolResultsMessage, ToolSet};
//! use attache_documents::{Materials, DocumentOutcome, RouteOptions, route};
//!
//! // A tool returned `{"lease": …}`.
//! let lease = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf")
//!     .with_id(DocumentId::parse("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34").unwrap())
//!     .with_file_name("lease.pdf");
//! let tree = Capture::new().finish(&std::collections::BTreeMap::from([("lease", &lease)]))?;
//! let call = ToolCall::new("find_contract", Arguments::new("{}")).with_provider_id(ProviderCallId::parse("call_7"));
//! let result = ToolResult::new(&call, ResultStatus::Ok, tree);
//! let messages = [
//!     Message::user("Who is the tenant?").shared(),
//!     Message::Assistant(AssistantMessage::new([call.into()])).shared(),
//!     Message::ToolResults(ToolResultsMessage::new([result])).shared(),
//! ];
//!
//! let (tools, materials, options) = (ToolSet::default(), Materials::new(), RouteOptions::new());
//! let routed = |family, model| {
//!     let capabilities = Matrix::bundled().resolve(family, model);
//!     route(&messages, &capabilities, &tools, &materials, &options)
//! };
//!
//! // Chat Completions: a synthetic user message follows the results.
//! let chat = routed("openai-chat", "gpt-4o")?;
//! assert_eq!(chat.report.decisions[0].outcome, DocumentOutcome::Synthetic);
//! let Message::User(synthetic) = &*chat.messages[3] else { unreachable!() };
//! let [UserPart::Text(preamble), UserPart::Text(label), UserPart::Document(document)] = synthetic.shown() else { unreachable!() };
//! assert_eq!(preamble.text(), "Documents extracted from tool call results:");
//! assert_eq!(
//!     label.text(),
//!     r#"<document tool-name="find_contract" tool-call-id="call_7" document-short-id="7d41c0b2" filename="lease.pdf" />"#
//! );
//! assert_eq!(document, &lease);
//!
//! // Messages: the PDF stands inside the tool result.
//! let claude = routed("anthropic", "claude-opus-4-8")?;
//! assert_eq!(claude.report.decisions[0].outcome, DocumentOutcome::Native);
//! assert_eq!(claude.messages.len(), 3);
//! let Message::ToolResults(results) = &*claude.messages[2] else { unreachable!() };
//! assert_eq!(results.results[0].attached(), [UserPart::Document(lease)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod content;
mod decide;
mod estimate;
mod find;
mod label;
mod materials;
mod options;
mod render;
mod report;
mod router;
mod text;

/// The text that a converter extracted from a document, for [`Materials`].
#[doc(no_inline)]
pub use attache_core::converter::ConvertedText;
pub use estimate::estimated_tokens;
pub use find::needs_routing;
pub use find::walk::{walk, walk_value};
pub use label::{Label, LabelProfile, ReadLabel};
pub use materials::gather::{gather, load};
pub use materials::material::Material;
pub use materials::plan::{Plan, plan};
pub use materials::{Materials, PageRequest};
pub use options::{BackReferences, DocumentBudget, ExternalDocuments, RouteOptions};
pub use render::{Routing, explain, route, unresolved};
pub use report::{
    DocumentDecision, DocumentOutcome, Extraction, Reason, ReasonKind, RoutingReport, UnresolvedReference,
};
pub use router::Router;
pub use text::fence::unfence;
pub use text::{decode_text, fence_text, tame};
