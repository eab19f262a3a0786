//! The requests that a server may make of us, and the notices that it sends unasked.
#![allow(deprecated, reason = "servers of the older era use roots and logging")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_transport::Redactor;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ListRootsResult, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use crate::config::Config;
use crate::told::cut;

/// Longer log messages are cut.
const LONGEST: usize = 4_000;
/// Longer names of loggers are cut.
const LONGEST_NAME: usize = 200;

/// Our side of a session. It offers roots where there are some, and nothing else: a server that wants to ask a person or
/// a model is refused by the SDK as one that asks a client without these capabilities.
pub(crate) struct Client {
    alias: String,
    roots: Vec<String>,
    changes: Arc<AtomicU64>,
    redactor: Redactor,
}

impl Client {
    pub(crate) fn new(config: &Config, changes: &Arc<AtomicU64>) -> Self {
        Self {
            alias: config.alias.clone(),
            roots: config.roots.clone(),
            changes: Arc::clone(changes),
            redactor: config.redactor(),
        }
    }

    /// A text of the server as the log may have it.
    fn shown(&self, text: &str, longest: usize) -> String {
        cut(&self.redactor.redact(text), longest)
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        let us = Implementation::new("attache", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, rmcp::ErrorData> {
        Ok(ListRootsResult::new(self.roots.iter().cloned().map(Root::new).collect()))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let message = self.shown(told.message.as_deref().unwrap_or_default(), LONGEST);
        let (progress, total) = (told.progress, told.total);
        tracing::debug!(server = self.alias, progress, ?total, message, "a server is at work");
    }

    async fn on_logging_message(
        &self,
        told: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let data = match &told.data {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let data = self.shown(&data, LONGEST);
        let logger = self.shown(told.logger.as_deref().unwrap_or_default(), LONGEST_NAME);
        let server = self.alias.as_str();
        match told.level {
            LoggingLevel::Debug => tracing::debug!(target: "attache_mcp::server", server, logger, "{data}"),
            LoggingLevel::Info | LoggingLevel::Notice => {
                tracing::info!(target: "attache_mcp::server", server, logger, "{data}");
            }
            LoggingLevel::Warning => tracing::warn!(target: "attache_mcp::server", server, logger, "{data}"),
            _ => tracing::error!(target: "attache_mcp::server", server, logger, "{data}"),
        }
    }
}
