//! The server over streamable HTTP.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use attache_agent::bodies::{Bodies, BodyError};
use attache_core::BoxFuture;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio::task::JoinSet;
use tower_service::Service;

use super::awake::{Awake, SESSION, keep};
use super::handler::{Caller, Handler};
use super::owned_sessions::OwnedSessions;
use super::shared::Shared;

/// The beginning of headers that repeat arguments of a call.
const PARAMETER: &str = "mcp-param-";
/// The time in which a session must be closed to make room.
const CLOSING: Duration = Duration::from_secs(5);

/// Says on whose behalf the bearer of a token works.
type Bearer = Arc<dyn Fn(String) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// The server of the SDK. It makes a handler for each session.
type Sdk = StreamableHttpService<Handler, LocalSessionManager>;

/// The body of a request, of whichever type it was.
pub(super) type AnyBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

pub(super) fn any<B>(body: B) -> AnyBody
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// Says on whose behalf a request is made, by its head.
type Principals = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;
/// Says by the head of a request whether its user may approve calls.
type Approvers = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;

/// An [`McpService`](crate::McpService) over streamable HTTP: a service of `tower`, which `axum` mounts, or which
/// [`serve`](Self::serve) binds.
///
/// Requests whose `Host` or `Origin` is another than this machine are refused, so that no web page reaches it by a name
/// of its own: a server for others [says its names](Self::with_hosts).
///
/// ```
/// use attache_mcp::McpService;
/// # fn example(service: McpService) {
/// let service = service.http().with_hosts(["books.example.org"]).with_bearer(|token| async move {
///     (token == "ann's token").then(|| "ann@example.org".to_owned())
/// });
/// # let _ = service;
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct McpHttp {
    shared: Arc<Shared>,
    sessions: Arc<LocalSessionManager>,
    owners: Arc<OwnedSessions>,
    bodies: Arc<Bodies>,
    bearer: Option<Bearer>,
    principals: Option<Principals>,
    approvers: Option<Approvers>,
    config: StreamableHttpServerConfig,
}

impl McpHttp {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let local = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];
        let config = StreamableHttpServerConfig::default()
            .enforce_origin_validation()
            .with_allowed_origins(local)
            .with_max_request_body_bytes(shared.state.limits.message_bytes);
        let mut sessions = LocalSessionManager::default();
        let limits = &shared.state.limits;
        sessions.session_config.keep_alive = Some(limits.idle());
        Self {
            bodies: Arc::new(Bodies::new(limits.bodies, limits.message_bytes, limits.body)),
            shared,
            sessions: Arc::new(sessions),
            owners: Arc::default(),
            bearer: None,
            principals: None,
            approvers: None,
            config,
        }
    }

    /// Sets the names under which clients reach it, with or without a port: `books.example.org`. Those of this machine by
    /// default.
    pub fn with_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.config = self.config.with_allowed_hosts(hosts);
        self
    }

    /// Sets the web pages whose scripts may ask it: `https://app.example.org:443`, `https://app.example.org:*`. Those of
    /// this machine by default. Others are refused, and that is all: browsers let a page of another origin read answers
    /// only where a layer around the service adds the headers of CORS, such as `CorsLayer` of tower-http.
    pub fn with_origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.config = self.config.with_allowed_origins(origins);
        self
    }

    /// Demands a bearer token of each request, and says on whose behalf it works: `principal` is asked for each, and
    /// returns none for one that it does not know. Sessions, conversations and documents of another principal are not
    /// found.
    pub fn with_bearer<F, P>(mut self, principal: F) -> Self
    where
        F: Fn(String) -> P + Send + Sync + 'static,
        P: Future<Output = Option<String>> + Send + 'static,
    {
        self.bearer = Some(Arc::new(move |token| Box::pin(principal(token))));
        self
    }

    /// Says on whose behalf a request is made, by its head: `None` refuses it. For a server that is mounted in another one,
    /// which has checked a token and left in the request's extensions what it found. It is asked in place of a token.
    pub fn with_principal(
        mut self,
        principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.principals = Some(Arc::new(principal));
        self
    }

    /// Says by the head of a request whether its user may approve calls, as all may by default. A user who may not is asked
    /// for no approval: a call of a tool that needs one is refused, and an agent's run ends with it open, so that somebody
    /// else decides in its session.
    pub fn with_approvers(mut self, approves: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.approvers = Some(Arc::new(approves));
        self
    }

    /// True if it takes requests of everybody.
    pub(super) fn is_open(&self) -> bool {
        self.bearer.is_none() && self.principals.is_none()
    }

    pub(super) fn most_connections(&self) -> usize {
        self.shared.state.limits.connections
    }

    async fn principal(&self, head: &Parts) -> Option<Arc<str>> {
        if let Some(principals) = &self.principals {
            return principals(head).map(Arc::from);
        }
        let Some(bearer) = &self.bearer else { return Some(Arc::clone(&self.shared.principal)) };
        let value = head.headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        bearer(token.trim().to_owned()).await.map(Arc::from)
    }

    /// A border: see ADR 0053.
    fn answer(self, request: Request<AnyBody>) -> BoxFuture<'static, Result<Response<McpBody>, Infallible>> {
        Box::pin(async { Ok(self.answered(request).await) })
    }

    /// The SDK's part, which answers what was read of a request.
    fn service(&self) -> Sdk {
        let shared = Arc::clone(&self.shared);
        StreamableHttpService::new(
            move || Ok(Handler::of_http(Arc::clone(&shared))),
            Arc::clone(&self.sessions),
            self.config.clone(),
        )
    }

    pub(super) async fn answered(self, request: Request<AnyBody>) -> Response<McpBody> {
        let (mut head, body) = request.into_parts();
        let mut service = self.service();
        if let Some(refused) = strange(&service, &head).await {
            return refused;
        }
        let Some(principal) = self.principal(&head).await else {
            let mut refused = plain(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return refused;
        };
        let session = head.headers.get(SESSION).cloned();
        let mut uses = None;
        if let Some(session) = session.as_ref().and_then(|session| session.to_str().ok()) {
            if self.owners.owner(session).is_some_and(|owner| owner != principal) {
                return plain(StatusCode::NOT_FOUND, "Not Found: Session not found");
            }
            uses = self.owners.used(session).map(|uses| (session.to_owned(), uses));
        }
        let listens = head.method == Method::GET;
        let limits = &self.shared.state.limits;
        let body = match self.bodies.read(&principal, body.into_data_stream(), limits.message_bytes).await {
            Ok(body) => body,
            Err(error) => {
                let status = match error {
                    BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
                    BodyError::Crowded => StatusCode::SERVICE_UNAVAILABLE,
                    BodyError::Slow => StatusCode::REQUEST_TIMEOUT,
                    _ => StatusCode::BAD_REQUEST,
                };
                let mut refused = plain(status, error.to_string());
                if let Some(again) = error.retry_after() {
                    refused.headers_mut().insert(RETRY_AFTER, again.as_secs().into());
                }
                return refused;
            }
        };
        // A call may take long: it takes room while it is read, and not while it is answered.
        let bytes = Bytes::clone(&body);
        drop(body);
        if session.is_none() && begins_session(&bytes) && !self.make_room(&principal, limits.sessions).await {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions");
        }
        if head.headers.keys().any(|name| name.as_str().starts_with(PARAMETER)) {
            // The SDK holds such headers against the schema of the tool, which it must know by then.
            self.shared.listed().await;
        }
        let may_approve = self.approvers.as_ref().is_none_or(|approves| approves(&head));
        head.extensions.insert(Caller { principal: Arc::clone(&principal), may_approve });
        let call = uses.as_ref().map(|(_, (call, _))| call.clone()).unwrap_or_default();
        head.extensions.insert(Awake { sessions: Arc::downgrade(&self.sessions), call });
        let answered = Service::call(&mut service, Request::from_parts(head, Full::new(bytes))).await;
        let response = answered.unwrap_or_else(|never| match never {});
        if session.is_none()
            && let Some(begun) = response.headers().get(SESSION).and_then(|session| session.to_str().ok())
        {
            self.own(begun, principal).await;
        }
        let mut awake = JoinSet::new();
        if let Some((session, (_, stream))) = uses.filter(|_| listens && response.status().is_success()) {
            let (sessions, idle) = (Arc::downgrade(&self.sessions), self.shared.state.limits.idle());
            awake.spawn(async move {
                let _stream = stream;
                keep(&sessions, &session, idle).await;
            });
        }
        response.map(|body| McpBody { body, _awake: awake })
    }

    /// Sees that one more session fits, of all and of a principal, who may have half of them where there are several. It may
    /// close one of the principal's that nobody uses: some clients leave one behind each question. False if none fits.
    async fn make_room(&self, principal: &Arc<str>, most: usize) -> bool {
        let is_one = self.is_open();
        let own_most = if is_one { most } else { most.div_ceil(2) };
        let closing = {
            let mut live = self.sessions.sessions.write().await;
            let (own, unused) = self.owners.of(principal, |session| live.contains_key(session));
            if live.len() < most && own < own_most {
                return true;
            }
            let Some(unused) = unused else { return false };
            // Both at once: anybody may use a session that has no principal, and two requests do not close the same one.
            let closing = live.remove(&*unused);
            self.owners.remove(&unused);
            closing
        };
        tracing::debug!("an MCP session that is not used makes room for another one of its principal");
        // One that is busy ends later, since nothing reaches it any more.
        if let Some(closing) = closing
            && !matches!(tokio::time::timeout(CLOSING, closing.close()).await, Ok(Ok(())))
        {
            tracing::debug!("an MCP session was not told that it is closed");
        }
        true
    }

    async fn own(&self, session: &str, principal: Arc<str>) {
        let live = self.sessions.sessions.read().await;
        self.owners.add(session, principal, live.len(), |session| live.contains_key(session));
    }
}

/// The refusal of a request by another host, or of another page. The SDK looks at these two before all else, and here it
/// does so before a body is read and a session makes room: it is asked by a method that it knows nothing to do for.
async fn strange(service: &Sdk, head: &Parts) -> Option<Response<McpBody>> {
    let mut asked = Request::new(Full::<Bytes>::default());
    *asked.method_mut() = Method::TRACE;
    *asked.uri_mut() = head.uri.clone();
    for name in [HOST, ORIGIN] {
        for value in head.headers.get_all(&name) {
            asked.headers_mut().append(&name, value.clone());
        }
    }
    let answer = service.handle(asked).await;
    let is_known = answer.status() == StatusCode::METHOD_NOT_ALLOWED;
    (!is_known).then(|| answer.map(|body| McpBody { body, _awake: JoinSet::new() }))
}

/// True if a message begins a session, or is none that can be read.
fn begins_session(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Said {
        method: Option<String>,
    }
    serde_json::from_slice::<Said>(body).map_or(true, |said| said.method.as_deref() == Some("initialize"))
}

pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<McpBody> {
    let body = Full::new(text.into()).boxed();
    let mut response = Response::new(McpBody { body, _awake: JoinSet::new() });
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

impl<B> Service<Request<B>> for McpHttp
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<McpBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<McpBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.clone().answer(request.map(any))
    }
}

/// The body of an answer.
pub struct McpBody {
    body: BoxBody<Bytes, Infallible>,
    /// Keeps the session while the client listens; it ends with the body.
    _awake: JoinSet<()>,
}

impl Body for McpBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for McpHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttp").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for McpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpBody").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use attache_agent::{Tools, tool_fn};
    use attache_core::{Tool, ToolError};
    use serde_json::{Value, json};

    use super::*;
    use crate::McpService;

    async fn post(http: &McpHttp, session: Option<&str>, method: &str, params: Value) -> Response<String> {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer =
            http.clone().answered(request.body(any(Full::new(Bytes::from(body.to_string())))).unwrap()).await;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Response::from_parts(head, String::from_utf8(body.to_vec()).unwrap())
    }

    // The SDK ends a session in which no message comes or goes, and a call under way is none.
    #[tokio::test(start_paused = true)]
    async fn a_session_outlives_a_long_call_and_ends_when_nobody_uses_it() {
        let slow = tool_fn("slow", "Takes its time", || async {
            tokio::time::sleep(Duration::from_secs(7_200)).await;
            Ok::<_, ToolError>("done at last")
        });
        let slow = slow.with_metadata(|metadata| metadata.timeout = Some(Duration::from_secs(10_000)));
        let mut http = McpService::tools(Tools::new().with(slow)).unwrap().http();
        // Its signs of life go by the clock of the machine.
        http.config.sse_keep_alive = None;
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let begun = post(&http, None, "initialize", client).await;
        let session = Some(begun.headers()[SESSION].to_str().unwrap());
        let called = post(&http, session, "tools/call", json!({"name": "slow", "arguments": {}})).await;
        assert!(called.body().contains("done at last"), "{called:?}");
        // As long as a person has to answer, and as nobody waits.
        for (idle, expected) in [(601, StatusCode::OK), (3_601, StatusCode::NOT_FOUND)] {
            tokio::time::sleep(Duration::from_secs(idle)).await;
            assert_eq!(post(&http, session, "tools/list", json!({})).await.status(), expected, "{idle}");
        }
    }

    // A session without a principal may be used by every client that knows its name.
    #[tokio::test(start_paused = true)]
    async fn a_session_has_its_principal_until_it_is_closed() {
        let http = McpService::tools(Tools::new()).unwrap().http();
        let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let begun = post(&http, None, "initialize", client).await;
        let session = begun.headers()[SESSION].to_str().unwrap();
        let owner = http.owners.owner(session).unwrap();
        let live = http.sessions.sessions.read().await;
        let making_room = http.make_room(&owner, 1);
        assert_ne!(tokio::time::timeout(Duration::from_secs(60), making_room).await, Ok(true));
        assert!(live.contains_key(session));
        assert_eq!(http.owners.owner(session), Some(Arc::clone(&owner)));
        drop(live);
        assert!(http.make_room(&owner, 1).await);
        assert!(http.sessions.sessions.read().await.is_empty());
        assert_eq!(http.owners.owner(session), None);
    }
}
