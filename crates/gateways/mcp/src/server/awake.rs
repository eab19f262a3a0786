//! Sessions over HTTP stay while a call is under way, or the client listens.

use std::convert::Infallible;
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
pub(super) struct Awake {
    pub(super) sessions: Weak<LocalSessionManager>,
    /// Held while a call is under way.
    pub(super) call: Weak<()>,
}

impl Awake {
    /// Lets the session of a request see a message before `idle` is over, again and again, and counts as a call of it. It
    /// never returns.
    pub(super) async fn keep(request: Option<&Parts>, idle: Duration) -> Infallible {
        let found = request.and_then(|request| Some((request.extensions.get::<Self>()?, request)));
        let _call = found.and_then(|(awake, _)| awake.call.upgrade());
        if let Some((awake, request)) = found
            && let Some(session) = request.headers.get(SESSION).and_then(|session| session.to_str().ok())
        {
            keep(&awake.sessions, session, idle).await;
        }
        std::future::pending().await
    }
}

/// Lets a session see a message before `idle` is over, again and again, until it is gone.
pub(super) async fn keep(sessions: &Weak<LocalSessionManager>, session: &str, idle: Duration) {
    loop {
        tokio::time::sleep(idle / 2).await;
        let Some(sessions) = sessions.upgrade() else { return };
        let Some(session) = sessions.sessions.read().await.get(session).cloned() else { return };
        let message = ClientNotification::CustomNotification(CustomNotification::new(AWAKE, None));
        if session.push_message(ClientJsonRpcMessage::notification(message), None).await.is_err() {
            return;
        }
    }
}
