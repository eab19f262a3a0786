//! Sessions over HTTP stay while a call is under way.

use std::sync::Weak;
use std::time::Duration;

use http::request::Parts;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, CustomNotification};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// The header that names a session over HTTP.
pub(super) const SESSION: &str = "mcp-session-id";
/// A notification that no handler knows.
const AWAKE: &str = "notifications/attache/awake";

/// The sessions of a server over HTTP. The SDK ends one that sees no message for a while, and does not count the calls
/// that are under way. The server, not a call, keeps them.
#[derive(Clone)]
pub(super) struct Awake(pub(super) Weak<LocalSessionManager>);

impl Awake {
    /// Lets the session of a request see a message before `idle` is over, again and again. It never returns.
    pub(super) async fn keep(request: Option<&Parts>, idle: Duration) {
        if let Some(request) = request
            && let Some(Self(sessions)) = request.extensions.get()
            && let Some(session) = request.headers.get(SESSION).and_then(|session| session.to_str().ok())
        {
            loop {
                tokio::time::sleep(idle / 2).await;
                let Some(sessions) = sessions.upgrade() else { break };
                let Some(session) = sessions.sessions.read().await.get(session).cloned() else { break };
                let message = ClientNotification::CustomNotification(CustomNotification::new(AWAKE, None));
                if session.push_message(ClientJsonRpcMessage::notification(message), None).await.is_err() {
                    break;
                }
            }
        }
        std::future::pending().await
    }
}
