//! MCP servers as tools of agents, with their documents.
//!
//! | need | type |
//! | --- | --- |
//! | a server as a family of tools | [`McpServer`] |
//! | one that is a child process | [`McpCommand`] |
//! | one over streamable HTTP | [`McpEndpoint`] |
//! | what servers link to, read through their sessions | [`McpFetcher`] |
//! | time limits and bounds | [`McpLimits`] |
//! | the eras of the protocol | [`McpEra`] |
//! | the result of a call | [`McpOutput`], [`McpContent`] |
//!
//! It speaks both eras of the protocol, by the official SDK: sessions up to 2025-11-25, and requests that stand for
//! themselves from 2026-07-28 on.

mod client;
mod config;
mod fetcher;
mod http;
mod listing;
mod output;
mod reading;
mod secrets;
mod server;
mod session;
mod stdio;
mod told;
mod uri;

pub use config::{McpEra, McpLimits};
pub use fetcher::McpFetcher;
pub use http::McpEndpoint;
pub use output::{McpContent, McpOutput};
pub use server::McpServer;
pub use stdio::McpCommand;
