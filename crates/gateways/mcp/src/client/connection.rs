//! The connection to one server: made when it is first needed, and made again when it broke.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::tool::Listening;
use attache_core::{BoxFuture, ToolError};
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest, ProtocolVersion,
    RequestId, RequestMetaObject, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::asked_back::Hub;
use super::config::{Config, Door, McpEra};
use super::error_text::cut;
use super::http::{SessionId, Wire};
use super::incoming_requests::Client;

/// The part of the time for a connection that a server may take to answer the question of the newer era.
const PROBE: u32 = 6;
/// Longer words of a child that dies are cut.
const LONGEST_SAID: usize = 1_000;
/// The first wait after a failure; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The maximum number of requests of which the answers have not begun. Further ones wait unsent, also a list behind
/// calls that hang.
const MOST_REQUESTS: usize = 1_000;
/// A list of tools holds for this long at least where the server tells of no changes.
const SHORTEST_HOLD: Duration = Duration::from_secs(60);
/// A session that lasts this long makes earlier failures forgotten.
const LASTING: Duration = Duration::from_secs(30);

/// The state that all handles on a server share.
#[derive(Default)]
pub(crate) struct Link {
    state: tokio::sync::Mutex<State>,
    /// The number of times that the server said that its tools have changed.
    pub(crate) changes: Arc<AtomicU64>,
    /// True while the server tells of such changes.
    tells: Arc<AtomicBool>,
    /// The time from which on the tools that it listed last may be others, though it has said nothing.
    stale: Mutex<Option<Instant>>,
    /// The calls that are under way.
    pub(crate) hub: Arc<Hub>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    has_connected: bool,
    failures: u32,
    /// When it is tried again, and what was wrong.
    wait: Option<(Instant, String)>,
}

/// A connection that stands.
pub(crate) struct Session {
    running: RunningService<RoleClient, Client>,
    since: Instant,
    /// Its id, once the server has given one.
    id: Arc<SessionId>,
    /// Listens for changes of lists, where they come on a stream of their own.
    listening: Option<JoinHandle<()>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

impl Link {
    /// The session, connected if it is not. A border: see ADR 0053.
    pub(crate) fn session<'a>(
        &'a self,
        config: &'a Config,
    ) -> BoxFuture<'a, Result<Arc<Session>, ToolError>> {
        Box::pin(async move {
            if let Some(problem) = config.problem() {
                return Err(
                    config.unavailable(&format!("the server {:?} is not available: {problem}", config.alias))
                );
            }
            let limit = config.limits.connect;
            let connected = timeout(limit, async {
                let mut trying = Trying { state: self.state.lock().await, begun: None };
                let state = &mut *trying.state;
                if let Some(session) = state.session.take_if(|session| session.is_over()) {
                    // One that dies young is not started over and over.
                    match session.since.elapsed() < LASTING {
                        true => state.failed("it ended soon after it was started".to_owned()),
                        false => state.failures = 0,
                    }
                }
                if let Some(session) = &state.session {
                    return Ok(Arc::clone(session));
                }
                if let Some((until, problem)) = &state.wait
                    && *until > Instant::now()
                {
                    let left = until.saturating_duration_since(Instant::now()).as_secs().saturating_add(1);
                    return Err(format!("{problem}; it is tried again in {left} s"));
                }
                trying.begun = Some((Instant::now(), limit / PROBE));
                let connected = timeout(limit, connect(config, self)).await;
                trying.begun = None;
                let state = &mut *trying.state;
                match connected {
                    Ok(Ok(session)) => {
                        let session = Arc::new(session);
                        if state.has_connected {
                            // The tools that it listed before may be another version's.
                            self.changes.fetch_add(1, Ordering::Relaxed);
                        }
                        (state.has_connected, state.wait) = (true, None);
                        state.session = Some(Arc::clone(&session));
                        Ok(session)
                    }
                    Ok(Err(problem)) => {
                        state.failed(problem.clone());
                        Err(problem)
                    }
                    Err(_) => {
                        let problem = silent(config, limit.as_secs_f64());
                        state.failed(problem.clone());
                        Err(problem)
                    }
                }
            });
            // The one who connects is as patient as those who wait for it, and a little more.
            let problem = match connected.await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(problem)) => problem,
                Err(_) => silent(config, limit.as_secs_f64()),
            };
            tracing::warn!(server = config.alias, problem, "a server is not available");
            Err(config.unavailable(&format!("the server {:?} is not available: {problem}", config.alias)))
        })
    }

    /// The session, if one stands now.
    pub(crate) async fn standing(&self) -> Option<Arc<Session>> {
        let state = self.state.lock().await;
        state.session.as_ref().filter(|session| !session.is_over()).map(Arc::clone)
    }

    /// Ends the session, and waits for nothing before the next.
    pub(crate) async fn begin_anew(&self) {
        let mut state = self.state.lock().await;
        (state.session, state.wait, state.failures) = (None, None, 0);
    }

    /// Notes that the server listed its tools just now, with the time for which it says that they hold.
    pub(crate) fn listed(&self, holds: Option<Duration>) {
        let until = holds.and_then(|holds| Instant::now().checked_add(holds.max(SHORTEST_HOLD)));
        *self.stale.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// A number that is another one when the server may have other tools.
    pub(crate) fn version(&self) -> u64 {
        let mut stale = self.stale.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |until: &mut Instant| *until <= Instant::now();
        if !self.tells.load(Ordering::Relaxed) && stale.take_if(is_over).is_some() {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        self.changes.load(Ordering::Relaxed)
    }

    /// Ends the session, if there is one.
    pub(crate) async fn close(&self) {
        self.state.lock().await.session = None;
    }
}

impl State {
    fn failed(&mut self, problem: String) {
        let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(6)).min(LONGEST_WAIT);
        self.failures = self.failures.saturating_add(1);
        self.wait = Some((Instant::now() + wait, problem));
    }
}

/// An attempt to connect. One that is left in its midst is a failure, unless nobody waited for long.
struct Trying<'a> {
    state: tokio::sync::MutexGuard<'a, State>,
    /// When it began, and the time from which on a server hangs.
    begun: Option<(Instant, Duration)>,
}

impl Drop for Trying<'_> {
    fn drop(&mut self) {
        if let Some((since, patience)) = self.begun
            && since.elapsed() >= patience
        {
            let waited = since.elapsed().as_secs_f64();
            self.state.failed(format!("it did not answer within {waited:.1} s"));
        }
    }
}

/// The word on a server that does not answer. A program that is installed at its first start may need longer, or a
/// variable, such as that of a proxy.
fn silent(config: &Config, seconds: f64) -> String {
    let advice = match config.door {
        Door::Command(_) => {
            "; its time is `connect_seconds`, and variables that its program needs, such as those of a proxy, are passed \
             on with `inherit`"
        }
        Door::Endpoint(_) => "",
    };
    format!("it did not answer within {seconds} s{advice}")
}

/// A server with which no connection comes about.
struct Unserved {
    problem: String,
    /// True if another version of the protocol would change nothing.
    is_final: bool,
}

/// Connects, or says what is wrong.
async fn connect(config: &Config, link: &Link) -> Result<Session, String> {
    let id = Arc::new(SessionId::new(Arc::clone(&link.changes)));
    let newest = || vec![ProtocolVersion::LATEST];
    let sessions = ClientLifecycleMode::Initialize;
    let problem = |unserved: Unserved| unserved.problem;
    let running = match config.era {
        McpEra::Sessions => serve(config, link, &id, sessions).await.map_err(problem)?,
        McpEra::Stateless => {
            let mode = ClientLifecycleMode::Discover { preferred_versions: newest() };
            serve(config, link, &id, mode).await.map_err(problem)?
        }
        McpEra::Auto => {
            let older = Some(ProtocolVersion::LATEST_WITH_INITIALIZE);
            let mode = ClientLifecycleMode::Auto { preferred_versions: newest(), legacy_version: older };
            match timeout(config.limits.connect / PROBE, serve(config, link, &id, mode)).await {
                Ok(Ok(running)) => running,
                Ok(Err(unserved)) if unserved.is_final => return Err(unserved.problem),
                // Servers of the older era answer a question that they do not know in many ways; some end, or do not
                // answer it.
                Ok(Err(_)) | Err(_) => serve(config, link, &id, sessions).await.map_err(problem)?,
            }
        }
    };
    let listening = listen(&running, link);
    Ok(Session { running, since: Instant::now(), id, listening })
}

/// Opens the door and shakes hands.
async fn serve(
    config: &Config,
    link: &Link,
    id: &Arc<SessionId>,
    mode: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Client>, Unserved> {
    let client = Client::new(config, Arc::clone(&link.changes), Arc::clone(&link.hub));
    let longest = config.limits.message_bytes;
    let unserved = |error: &ClientInitializeError| Unserved {
        problem: config.unconnected(error),
        is_final: error.is_authorization_required(),
    };
    match &config.door {
        Door::Command(command) => {
            let child = command.start(&config.alias, &config.redactor(), longest);
            let (child, log) =
                child.map_err(|error| Unserved { problem: command.unstarted(&error), is_final: true })?;
            match client.serve_with_lifecycle(child, mode).await {
                Ok(running) => Ok(running),
                Err(error) => {
                    let mut unserved = unserved(&error);
                    // A child that dies says why there, and nowhere else.
                    let said = log.await.unwrap_or_default().join(" | ");
                    if !said.is_empty() {
                        unserved.problem.push_str(&format!("; it says: {}", cut(&said, LONGEST_SAID)));
                    }
                    Err(unserved)
                }
            }
        }
        Door::Endpoint(endpoint) => {
            let mut settings = StreamableHttpClientTransportConfig::with_uri(endpoint.url());
            settings.max_sse_event_size = longest;
            settings.max_json_response_size = longest;
            settings.max_concurrent_requests = MOST_REQUESTS;
            let wire = StreamableHttpClientTransport::with_client(
                Wire::new(endpoint, id, config.limits.call),
                settings,
            );
            client.serve_with_lifecycle(wire, mode).await.map_err(|error| unserved(&error))
        }
    }
}

/// Servers of the newer era say on a stream of its own that their tools have changed.
fn listen(running: &RunningService<RoleClient, Client>, link: &Link) -> Option<JoinHandle<()>> {
    let info = running.peer_info();
    let tools = info.as_deref().and_then(|info| info.capabilities.tools.as_ref());
    let offers = tools.is_some_and(|tools| tools.list_changed == Some(true));
    let has_streams = info.as_deref()?.protocol_version >= ProtocolVersion::NO_INITIALIZE;
    link.tells.store(offers && !has_streams, Ordering::Relaxed);
    if !offers || !has_streams {
        return None;
    }
    let (changes, tells) = (Arc::clone(&link.changes), Arc::clone(&link.tells));
    let peer = running.peer().clone();
    Some(tokio::spawn(async move {
        let (mut wait, mut has_stood) = (FIRST_WAIT, false);
        while !peer.is_transport_closed() {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            match peer.listen(filter).await {
                Ok(mut subscription) => {
                    if std::mem::replace(&mut has_stood, true) {
                        // Nobody has heard of what changed between the two.
                        changes.fetch_add(1, Ordering::Relaxed);
                    }
                    let is_of_tools = subscription.acknowledged().tools_list_changed == Some(true);
                    tells.store(is_of_tools, Ordering::Relaxed);
                    let since = Instant::now();
                    while let Ok(Some(_)) = subscription.next().await {
                        changes.fetch_add(1, Ordering::Relaxed);
                        wait = FIRST_WAIT;
                    }
                    tells.store(false, Ordering::Relaxed);
                    if since.elapsed() >= LASTING {
                        wait = FIRST_WAIT;
                    }
                }
                // It does not have to offer the stream. One that has offered it may be about to start anew.
                Err(ServiceError::McpError(_)) if !has_stood => return,
                Err(_) => {}
            }
            tokio::time::sleep(wait).await;
            wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        }
    }))
}

impl Session {
    pub(crate) fn is_over(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }

    /// The server's account of itself, as far as it gives one.
    pub(crate) fn info(&self) -> Option<Arc<rmcp::model::ServerPeerInfo>> {
        self.running.peer_info()
    }

    /// True if it speaks a version before 2026-07-28.
    pub(crate) fn is_old(&self) -> bool {
        self.info().is_some_and(|info| info.protocol_version < ProtocolVersion::NO_INITIALIZE)
    }

    /// The id that the server gave it, over HTTP.
    pub(crate) fn id(&self) -> Option<Arc<str>> {
        self.id.get()
    }

    /// Sends a request and waits for the answer. Dropping the future cancels the request, and the server is told.
    pub(crate) async fn ask(&self, request: ClientRequest) -> Result<ServerResult, ServiceError> {
        self.ask_with(request, None, None).await
    }

    /// The same with more in the request's `_meta`, and with somebody who hears of its progress.
    pub(crate) async fn ask_with(
        &self,
        request: ClientRequest,
        meta: Option<RequestMetaObject>,
        listens: Option<(&Hub, &Listening)>,
    ) -> Result<ServerResult, ServiceError> {
        let peer = self.running.peer();
        let mut options = PeerRequestOptions::no_options();
        options.meta = meta;
        let handle = peer.send_request_with_option(request, options).await?;
        let connection = self.running.service().connection;
        let _ear = listens
            .map(|(hub, listening)| hub.listen(connection, handle.progress_token.clone(), listening.clone()));
        let mut abandoned = Abandoned { peer, id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        abandoned.id = None;
        answer
    }
}

/// A request that is waited for.
struct Abandoned<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let params =
            CancelledNotificationParam::new(Some(id), Some("the caller has stopped waiting".to_owned()));
        let told = CancelledNotification::new(params);
        // The queue takes it at once or is full of what goes before it.
        let sent = self.peer.send_notification(ClientNotification::CancelledNotification(told));
        let _ = futures_util::FutureExt::now_or_never(sent);
    }
}
