//! MCP servers as tools of agents, with their documents.
//!
//! | need | type |
//! | --- | --- |
//! | a server as a family of tools | [`McpServer`] |
//! | one that is a child process | [`McpCommand`] |
//! | one over streamable HTTP | [`McpEndpoint`] |
//! | a login at one, and where its tokens are kept | [`McpOAuth`], [`McpLogin`], [`McpTokens`] |
//! | what servers link to, read through their sessions | [`McpFetcher`] |
//! | time limits and bounds | [`McpLimits`] |
//! | the eras of the protocol | [`McpEra`] |
//! | the result of a call | [`McpOutput`], [`McpContent`] |
//! | tools and agents of yours as a server, with the feature `server` | `McpService` |
//!
//! It speaks both eras of the protocol, by the official SDK: sessions up to 2025-11-25, and requests that stand for
//! themselves from 2026-07-28 on.

mod calling;
mod client;
mod config;
mod connection;
mod deferring;
mod depth;
mod eliciting;
mod error_text;
mod fetcher;
mod hook;
mod http;
mod hub;
mod listing;
mod names;
mod oauth;
mod output;
mod results;
mod sampling;
mod secrets;
#[cfg(feature = "server")]
mod serve;
mod server;
mod stdio;
mod task;
mod uri;

pub use config::{McpEra, McpLimits};
pub use fetcher::McpFetcher;
pub use hook::{McpHook, McpRequest};
pub use http::McpEndpoint;
pub use oauth::{FileTokens, McpGrant, McpLogin, McpLoginError, McpOAuth, McpTokens, MemoryTokens};
pub use output::{McpContent, McpOutput};
#[cfg(feature = "server")]
pub use serve::{
    McpAgent, McpBody, McpCall, McpHttp, McpListener, McpLogLevel, McpPrompt, McpResources, McpServeError,
    McpServeLimits, McpService, McpTemplate, McpTemplateError,
};
pub use server::McpServer;
pub use stdio::McpCommand;
pub use task::McpUpdate;
