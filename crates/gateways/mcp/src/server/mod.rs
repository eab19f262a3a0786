//! Tools and agents of ours as an MCP server.

mod agent;
mod answer;
mod asking;
mod awake;
mod blocks;
mod call;
mod handler;
mod http;
mod incoming;
mod kept_documents;
mod limits;
mod listing;
mod notices;
mod owned_sessions;
mod paused;
mod prompt;
mod resources;
mod schemas;
mod service;
mod shared;
mod state;
mod stdio;
mod template;
mod toolbox;
mod values;
mod waiting_calls;

pub use agent::McpAgent;
pub use call::{McpCall, McpLogLevel};
pub use http::{McpBody, McpHttp, McpListener};
pub use limits::McpServeLimits;
pub use prompt::McpPrompt;
pub use resources::McpResources;
pub use service::McpService;
pub use stdio::McpServeError;
pub use template::{McpTemplate, McpTemplateError};
