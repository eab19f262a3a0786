//! The things that all sessions of a server share.

use std::sync::Arc;

use attache_core::Document;
use tokio::sync::Semaphore;

use super::agent::McpAgent;
use super::state::CallState;
use super::toolbox::Toolbox;

/// A server of ours as its sessions see it.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) instructions: Option<String>,
    pub(super) offers: Vec<Offer>,
    pub(super) resources: Vec<Offered>,
    pub(super) principal: Arc<str>,
    pub(super) state: CallState,
    pub(super) calls: Semaphore,
}

/// A thing whose tools are offered.
pub(super) enum Offer {
    Tools(Box<Toolbox>),
    Agent(Box<McpAgent>),
}

/// A document that every client may read.
pub(super) struct Offered {
    pub(super) uri: String,
    pub(super) description: Option<String>,
    pub(super) document: Document,
}
