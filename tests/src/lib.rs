//! The ground that the tests across crates share: one list of conversations, and the APIs that they are rendered for.

mod api;
mod build;
pub mod files;
mod party;
pub mod real;
pub mod recorded;
mod scenario;
mod told;
pub mod viability;

pub use api::{APIS, Api, PDF_APIS, STRICT_APIS, Wire};
pub use party::Party;
pub use scenario::{Scenario, scenarios};
pub use told::{Said, texts_told, told};

/// The programs in the README and the guide compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/guide/start.md")]
    struct Start;

    #[doc = include_str!("../../docs/guide/attachments.md")]
    struct Attachments;

    #[doc = include_str!("../../docs/guide/streaming.md")]
    struct Streaming;

    #[doc = include_str!("../../docs/guide/a2a.md")]
    struct A2a;

    #[doc = include_str!("../../docs/guide/structured.md")]
    struct Structured;

    #[doc = include_str!("../../docs/guide/crates.md")]
    struct Crates;

    #[doc = include_str!("../../docs/guide/errors.md")]
    struct Errors;

    #[doc = include_str!("../../docs/guide/operating.md")]
    struct Operating;

    #[doc = include_str!("../../docs/guide/documents.md")]
    struct Documents;

    #[doc = include_str!("../../docs/guide/tools.md")]
    struct Tools;

    #[doc = include_str!("../../docs/guide/many-tools.md")]
    struct ManyTools;

    #[doc = include_str!("../../docs/guide/approvals.md")]
    struct Approvals;

    #[doc = include_str!("../../docs/guide/running.md")]
    struct Running;

    #[doc = include_str!("../../docs/guide/http-tools.md")]
    struct HttpEndpoints;

    #[doc = include_str!("../../docs/guide/mcp.md")]
    struct McpServers;

    #[doc = include_str!("../../docs/guide/local-tools.md")]
    struct LocalTools;

    #[doc = include_str!("../../docs/guide/configuration.md")]
    struct Configuration;

    #[doc = include_str!("../../docs/guide/mcp-server.md")]
    struct McpService;

    #[doc = include_str!("../../docs/guide/sessions.md")]
    struct Sessions;

    #[doc = include_str!("../../docs/guide/server.md")]
    struct AServer;

    #[doc = include_str!("../../docs/guide/clients.md")]
    struct Clients;

    #[doc = include_str!("../../docs/guide/web-chat.md")]
    struct WebChat;

    #[doc = include_str!("../../docs/guide/telemetry.md")]
    struct Telemetry;

    #[doc = include_str!("../../docs/guide/stores.md")]
    struct Stores;

    #[doc = include_str!("../../docs/guide/storing-documents.md")]
    struct StoringDocuments;

    #[doc = include_str!("../../docs/guide/memory.md")]
    struct Memory;

    #[doc = include_str!("../../docs/guide/citations.md")]
    struct Citations;

    #[doc = include_str!("../../docs/guide/text-tools.md")]
    struct TextTools;

    #[doc = include_str!("../../docs/guide/limits.md")]
    struct Limits;

    #[doc = include_str!("../../docs/guide/agents.md")]
    struct Agents;

    #[doc = include_str!("../../docs/guide/hooks.md")]
    struct Hooks;

    #[doc = include_str!("../../docs/guide/testing.md")]
    struct Testing;

    #[doc = include_str!("../../docs/guide/providers.md")]
    struct Providers;

    #[doc = include_str!("../../docs/guide/providers/openai.md")]
    struct OpenAi;

    #[doc = include_str!("../../docs/guide/providers/openai-chat.md")]
    struct OpenAiChat;

    #[doc = include_str!("../../docs/guide/providers/anthropic.md")]
    struct Anthropic;

    #[doc = include_str!("../../docs/guide/providers/gemini.md")]
    struct Gemini;

    #[doc = include_str!("../../docs/guide/providers/bedrock.md")]
    struct Bedrock;

    #[doc = include_str!("../../docs/guide/providers/compatible.md")]
    struct Compatible;

    #[doc = include_str!("../../docs/guide/providers/offline.md")]
    struct Offline;
}
