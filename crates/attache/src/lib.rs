//! Rust framework for LLM agents whose tools return documents.
//!
//! A model thinks, calls tools, reads what they return, answers. Tools return PDFs, images, spreadsheets; attache
//! sees to it that the model can read them, whichever provider answers, and says so where it cannot.
//!
//! ```
//! use attache::{Agent, Document, ToolError, tool};
//! # use attache::offline::OfflineModel;
//!
//! /// Fetches an invoice by its number.
//! #[tool(effect = "read")]
//! async fn fetch_invoice(
//!     /// The invoice's number.
//!     number: String,
//! ) -> Result<Document, ToolError> {
//!     let text = format!("Invoice {number}\nTotal due: EUR 4,812.36\n");
//!     Ok(Document::from_bytes(text.into_bytes(), "text/plain").with_file_name("invoice.txt"))
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! // Any provider serves: this one needs no key.
//! let model = OfflineModel::new();
//! let agent = Agent::builder(model).tool(fetch_invoice_tool()).build()?;
//! let outcome = agent.run("What is the total of invoice 2026-0417?").outcome().await?;
//! assert!(outcome.text.contains("EUR 4,812.36"));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate defines nothing: it gathers the crates of the workspace under short names, each behind a feature.
//! A team that wants less depends on those crates directly.
//!
//! | feature | name here | what it is |
//! | --- | --- | --- |
//! | always | [`core`] | messages, documents, tools, the provider trait |
//! | `agent` (default) | `agent`, `documents` | the loop, tools, memory, sessions; which document reaches which model how |
//! | `citations` | `citations` | answers held against what the model was shown |
//! | `stores` | `stores` | journals and documents in files, so that a run outlives its process |
//! | `sqlite` | `stores` | sessions and facts in SQLite, which is compiled in |
//! | `postgres` | `stores` | sessions and facts in PostgreSQL |
//! | `object` | `stores` | documents in object storage, once for each content |
//! | `s3` | `stores` | documents in S3 and what speaks its protocol |
//! | `tools` (default) | `tools` | tools ready-made: reading more of a document |
//! | `http-tools` | `http_tools` | HTTP endpoints as tools, declared in code or by an OpenAPI document |
//! | `yaml` | `http_tools` | OpenAPI documents in YAML |
//! | `mcp` | `mcp` | MCP servers as tools, over stdio and HTTP, with their documents |
//! | `a2a` | `a2a` | A2A agents as tools, with their documents |
//! | `a2a-server` | `a2a` | agents served over A2A, as a router of axum |
//! | `config` | `config` | `attache.toml`: models, servers, tools, approvals and limits, of the features that are on |
//! | `mcp-server` | `mcp` | tools and agents as an MCP server, over stdio and HTTP |
//! | `server` | `server` | agents over HTTP |
//! | `previews` | `server` | documents of a server as text by pages, and pages of PDFs as images |
//! | `jwt` | `server` | tokens of an OpenID Connect provider at a server |
//! | `otel` | `otel` | spans, metrics and events by the conventions of OpenTelemetry |
//! | `command` | `tools` | a tool that runs allowed commands, on Unix |
//! | `sandbox` | `tools` | a sandbox around these commands, on Linux |
//! | `files` | `tools` | tools that list, read, search and change files under given folders |
//! | `calculator` | `tools` | a tool that calculates exactly |
//! | `time` | `tools` | tools that tell the time in any zone |
//! | `macros` (default) | `tool`, `toolbox` | functions and methods as tools |
//! | `discovery` | `Discovery` | the tools of all crates that a program links, without a list |
//! | `openai` | `openai` | OpenAI Chat Completions and Responses, and compatible servers |
//! | `anthropic` | `anthropic` | the Anthropic Messages API |
//! | `gemini` | `gemini` | the Gemini API and Vertex AI |
//! | `bedrock` | `bedrock` | Amazon Bedrock Converse |
//! | any of these four, `a2a`, `http-tools`, `mcp` or `models` | `transport` | time limits, retries and connections of providers; `GuardedFetcher` for documents at addresses |
//! | `offline` | `offline` | a deterministic model without key, network and weights |
//! | `models` | `models` | models by name, of the providers that are enabled, and wrappers around models |
//! | `reqwest` | `transport` | a `reqwest::Client` of the program's own as the connections of models |
//! | `convert` | `convert` | documents to text for models that cannot read them |
//! | `render` | `convert` | pages of PDFs as images, for models that take images and no PDF |

#[doc(inline)]
pub use attache_core as core;
#[doc(inline)]
pub use attache_core::{
    ChatRequest, Conversation, Document, DocumentRef, Effect, LlmProvider, Message, ModelHandle,
    ModelSettings, ProviderError, StreamChunk, Tool, ToolContext, ToolError, ToolHandler, ToolReturn,
    UserMessage, UserPart, schemars,
};

#[cfg(feature = "a2a")]
#[doc(inline)]
pub use attache_a2a as a2a;
#[cfg(feature = "agent")]
#[doc(inline)]
pub use attache_agent::{
    self as agent, Agent, AgentRun, EndReason, EventKind, Outcome, RunError, chat_loop, tool_fn,
};
#[cfg(feature = "agent")]
#[doc(inline)]
pub use attache_documents as documents;

#[cfg(feature = "macros")]
#[doc(inline)]
pub use attache_macros::{facade_tool as tool, facade_toolbox as toolbox};

#[cfg(feature = "discovery")]
#[doc(inline)]
pub use attache_core::Discovery;

#[cfg(feature = "anthropic")]
#[doc(inline)]
pub use attache_anthropic as anthropic;
#[cfg(feature = "bedrock")]
#[doc(inline)]
pub use attache_bedrock as bedrock;
#[cfg(feature = "citations")]
#[doc(inline)]
pub use attache_citations as citations;
#[cfg(feature = "config")]
#[doc(inline)]
pub use attache_config as config;
#[cfg(feature = "convert")]
#[doc(inline)]
pub use attache_convert as convert;
#[cfg(feature = "gemini")]
#[doc(inline)]
pub use attache_gemini as gemini;
#[cfg(feature = "http-tools")]
#[doc(inline)]
pub use attache_http_tools as http_tools;
#[cfg(feature = "mcp")]
#[doc(inline)]
pub use attache_mcp as mcp;
#[cfg(feature = "models")]
#[doc(inline)]
pub use attache_models as models;
#[cfg(feature = "offline")]
#[doc(inline)]
pub use attache_offline as offline;
#[cfg(feature = "openai")]
#[doc(inline)]
pub use attache_openai as openai;
#[cfg(feature = "otel")]
#[doc(inline)]
pub use attache_otel as otel;
#[cfg(feature = "server")]
#[doc(inline)]
pub use attache_server as server;
#[cfg(feature = "stores")]
#[doc(inline)]
pub use attache_stores as stores;
#[cfg(feature = "tools")]
#[doc(inline)]
pub use attache_tools as tools;
#[cfg(any(
    feature = "a2a",
    feature = "anthropic",
    feature = "bedrock",
    feature = "gemini",
    feature = "http-tools",
    feature = "jwt",
    feature = "mcp",
    feature = "models",
    feature = "openai"
))]
#[doc(inline)]
pub use attache_transport::{self as transport, GuardedFetcher};
