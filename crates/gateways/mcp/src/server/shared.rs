//! The things that all sessions of a server share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::agent::McpAgent;
use super::call_state::CallState;
use super::prompt::McpPrompt;
use super::resources::McpResources;
use super::template::McpTemplate;
use super::toolbox::Toolbox;

/// A server of ours as its sessions see it.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) instructions: Option<String>,
    pub(super) offers: Vec<Offer>,
    pub(super) resources: McpResources,
    pub(super) templates: Vec<McpTemplate>,
    pub(super) prompts: Vec<McpPrompt>,
    pub(super) principal: Arc<str>,
    pub(super) state: CallState,
    pub(super) calls: Semaphore,
}

impl Shared {
    /// Lists the tools that nobody has listed yet.
    pub(super) async fn listed(&self) {
        for offer in &self.offers {
            if let Offer::Tools(toolbox) = offer {
                toolbox.listed().await;
            }
        }
    }
}

/// A thing whose tools are offered.
pub(super) enum Offer {
    Tools(Box<Toolbox>),
    Agent(Box<McpAgent>),
}
