//! Servers of others as tools of our agents.

mod asked_back;
mod calling;
mod config;
mod connection;
mod deferring;
mod eliciting;
mod error_text;
mod fetcher;
mod handler;
mod hook;
mod http;
mod incoming_requests;
mod lenient;
mod listing;
mod names;
mod oauth;
mod output;
mod remote_server;
mod results;
mod sampling;
mod secrets;
mod stdio;
mod task;
mod too_deep;

pub use config::{McpEra, McpLimits};
pub use fetcher::McpFetcher;
pub use hook::{McpHook, McpRequest};
pub use http::McpEndpoint;
pub use oauth::{FileTokens, McpGrant, McpLogin, McpLoginError, McpOAuth, McpTokens, MemoryTokens};
pub use output::{McpContent, McpOutput};
pub use remote_server::McpServer;
pub use stdio::McpCommand;
pub use task::McpUpdate;
