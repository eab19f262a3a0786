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

mod client;
#[cfg(feature = "server")]
mod server;
mod uri;

pub use client::{
    FileTokens, McpCommand, McpContent, McpEndpoint, McpEra, McpFetcher, McpGrant, McpHook, McpLimits,
    McpLogin, McpLoginError, McpOAuth, McpOutput, McpRequest, McpServer, McpTokens, McpUpdate, MemoryTokens,
};
#[cfg(feature = "server")]
pub use server::{
    McpAgent, McpBody, McpCall, McpHttp, McpListener, McpLogLevel, McpPrompt, McpResources, McpServeError,
    McpServeLimits, McpService, McpTemplate, McpTemplateError,
};
