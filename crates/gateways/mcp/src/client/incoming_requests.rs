//! The requests that a server may make of us, and the notices that it sends unasked.
#![allow(deprecated, reason = "servers of the older era use roots and logging")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequest, CreateMessageRequestMethod,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationCapability, ElicitationCreateRequestMethod, ErrorCode, FormElicitationCapability,
    Implementation, InputRequest, JsonObject, ListRootsResult, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities, SamplingCapability,
    TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use attache_core::tool::Progress;

use super::asked_back::Hub;
use super::config::Config;
use super::eliciting::declined;
use super::error_text::cut;

/// Longer log messages are cut.
const LONGEST: usize = 4_000;
/// Longer names of loggers are cut.
const LONGEST_NAME: usize = 200;

/// Our side of a session. It offers what the user chose, and nothing else: a server that wants to ask a person or a model
/// all the same is refused.
pub(crate) struct Client {
    config: Config,
    changes: Arc<AtomicU64>,
    hub: Arc<Hub>,
    /// The number of the connection.
    pub(crate) connection: u64,
}

impl Client {
    /// `changes` counts how often the server said that its tools have changed.
    pub(crate) fn new(config: &Config, changes: Arc<AtomicU64>, hub: Arc<Hub>) -> Self {
        let connection = hub.connection();
        Self { config: config.clone(), changes, hub, connection }
    }

    /// A text of the server as the log may have it.
    fn shown(&self, text: &str, longest: usize) -> String {
        // A login brings secrets while the session lasts.
        cut(&self.config.redactor().redact(text), longest)
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if !self.config.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        if self.config.elicitation {
            let both = ElicitationCapability::new().with_form(FormElicitationCapability::new());
            capabilities.elicitation = Some(both.with_url(UrlElicitationCapability::new()));
        }
        if self.config.sampling.is_some() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        // A call may come back as a task.
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some([tasks].into_iter().collect());
        let us = Implementation::new("attache", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, rmcp::ErrorData> {
        Ok(ListRootsResult::new(self.config.roots.iter().cloned().map(Root::new).collect()))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        if !self.config.elicitation {
            return Err(rmcp::ErrorData::method_not_found::<ElicitationCreateRequestMethod>());
        }
        let answer = self.hub.ask(InputRequest::Elicitation(ElicitRequest::new(asked))).await;
        Ok(answer.and_then(|answer| serde_json::from_value(answer).ok()).unwrap_or_else(declined))
    }

    async fn create_message(
        &self,
        asked: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, rmcp::ErrorData> {
        if self.config.sampling.is_none() {
            return Err(rmcp::ErrorData::method_not_found::<CreateMessageRequestMethod>());
        }
        let answer = self.hub.ask(InputRequest::CreateMessage(CreateMessageRequest::new(asked))).await;
        let answer = answer.and_then(|answer| serde_json::from_value(answer).ok());
        answer.ok_or_else(|| rmcp::ErrorData::new(ErrorCode(-1), "the request was rejected", None))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let message = self.shown(told.message.as_deref().unwrap_or_default(), LONGEST);
        let mut progress = Progress::new(told.progress);
        progress.total = told.total;
        progress.message = Some(message).filter(|message| !message.is_empty());
        self.hub.tell(self.connection, &told.progress_token, progress);
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
        let server = self.config.alias.as_str();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::config::Door;
    use crate::client::http::McpEndpoint;
    use crate::client::oauth::{McpGrant, McpOAuth, MemoryTokens};

    // A session stands before somebody logs in, or while a token is renewed.
    #[tokio::test]
    async fn the_log_shows_no_token_that_came_after_the_session() {
        let oauth = McpOAuth::new(MemoryTokens::new());
        let door = Door::Endpoint(McpEndpoint::new("https://a.example/mcp").oauth(oauth));
        let config = Config::new("a".to_owned(), door);
        let client = Client::new(&config, Arc::default(), Arc::default());
        let grant: McpGrant = serde_json::from_value(serde_json::json!({
            "resource": "https://a.example/mcp", "issuer": "https://a.example", "accessToken": "access canary",
            "tokenEndpoint": "https://a.example/token", "client": {"id": "1"},
        }))
        .unwrap();
        let Door::Endpoint(endpoint) = &config.door else { unreachable!() };
        endpoint.login().unwrap().keep(Some(grant)).await.unwrap();
        assert!(!client.shown("it is access canary", 100).contains("canary"));
    }
}
