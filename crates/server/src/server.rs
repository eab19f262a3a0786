//! A server as a program sets it up.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use attache_agent::bodies::Bodies;
use attache_agent::{RunOptions, Sessions};
use attache_core::{BoxFuture, DocumentStore, MediaType, fresh};
use axum::Router;
use http::HeaderMap;
use tokio::net::TcpListener;

use crate::agents::{Agents, Hosted};
use crate::app::App;
use crate::auth::{Auth, KeyRing, Principal};
use crate::dialect::{Dialect, Shown};
use crate::documents::Documents;
use crate::limits::ServerLimits;
use crate::live::{Bounds, OnDisconnect, Runs};
use crate::openapi;
use crate::paused_runs::Parked;
use crate::rate_limit::Pace;
use crate::record::{Audit, AuditEntry, Record, Recorder, Slot};
use crate::request::ContextHook;
use crate::routes;
use crate::serve::{ServeError, serve};

/// Agents over HTTP. See the [crate's page](crate).
#[must_use]
pub struct Server {
    agents: Agents,
    documents: Arc<dyn DocumentStore>,
    auth: Auth,
    context: Option<ContextHook>,
    origins: Vec<String>,
    headers: Vec<String>,
    frames: Vec<String>,
    base: String,
    has_web: bool,
    on_disconnect: OnDisconnect,
    shown: Shown,
    limits: ServerLimits,
    audit: Audit,
    /// The record, once the server is set up.
    record: Slot,
    /// The dialects that are switched off.
    off: Vec<Dialect>,
    mounted: Vec<(String, Router)>,
}

impl Server {
    /// A server of an agent in its sessions. Clients know the agent as the model `name`.
    ///
    /// It takes requests from this machine alone, unless [`keys`](Self::keys), tokens of an issuer or
    /// [`authenticate`](Self::authenticate) say who asks.
    pub fn new(name: impl Into<Arc<str>>, sessions: Sessions) -> Self {
        let documents = sessions.agent().store();
        Self {
            agents: Agents::new(Hosted::new(name.into(), sessions)),
            documents,
            auth: Auth::default(),
            context: None,
            origins: Vec::new(),
            headers: Vec::new(),
            frames: Vec::new(),
            base: String::new(),
            has_web: false,
            on_disconnect: OnDisconnect::default(),
            shown: Shown { details: true, thinking: false },
            limits: ServerLimits::default(),
            audit: Audit::default(),
            record: Slot::default(),
            off: Vec::new(),
            mounted: Vec::new(),
        }
    }

    /// Adds an agent, or another one under a name that is taken. The first one answers where none is named.
    pub fn agent(self, name: impl Into<Arc<str>>, sessions: Sessions) -> Self {
        self.agents.set(name, sessions);
        self
    }

    /// The agents, for whoever puts others in their place while the server runs.
    pub fn agents(&self) -> Agents {
        self.agents.clone()
    }

    /// Asks for a key: `Authorization: Bearer …`, or `X-API-Key`. A [`KeyRing`] may change while the server runs.
    pub fn keys(mut self, keys: impl Into<KeyRing>) -> Self {
        self.auth.keys = keys.into();
        self
    }

    /// Asks for a token of an issuer, or for a key, if there are [`keys`](Self::keys) too. A principal of the same name
    /// is the same one.
    #[cfg(feature = "jwt")]
    pub fn jwt(mut self, jwt: crate::auth::Jwt) -> Self {
        self.auth.jwt = Some(Arc::new(jwt));
        self
    }

    /// Asks the program around the server who asks, by the headers of a request; `None` is nobody. It is asked after
    /// [`keys`](Self::keys) and tokens.
    ///
    /// It may go by a cookie, or by what a proxy adds: a request that changes something and has no key is refused if it comes
    /// from a page of another origin, unless that [may ask](Self::allow_origin). A key that a proxy adds counts as the caller's.
    ///
    /// ```
    /// use attache_server::Principal;
    /// # use attache_server::Server;
    /// use http::HeaderMap;
    ///
    /// # fn example(server: Server) {
    /// let server = server.authenticate(|headers: HeaderMap| async move {
    ///     let user = headers.get("x-user")?.to_str().ok()?;
    ///     Some(Principal::new(user))
    /// });
    /// # let _ = server;
    /// # }
    /// ```
    pub fn authenticate<F, W>(mut self, who: F) -> Self
    where
        F: Fn(HeaderMap) -> W + Send + Sync + 'static,
        W: Future<Output = Option<Principal>> + Send + 'static,
    {
        self.auth.hook = Some(Arc::new(move |headers| -> BoxFuture<'static, Option<Principal>> {
            Box::pin(who(headers))
        }));
        self
    }

    /// Gives runs something of the headers of a request, such as values that their tools pass on
    /// ([`RunOptions::with_context`]). Nothing of it is stored: a run has that of the request that began it, and from then on
    /// that of the one with which it goes on, such as a decision about a call. A decision about a run that is driven elsewhere
    /// leaves it the values with which it was begun there. A run that goes on by itself, because its process stopped or is gone,
    /// and runs by MCP and A2A have none.
    ///
    /// ```
    /// # use attache_server::Server;
    /// struct Tenant(String);
    ///
    /// # fn example(server: Server) {
    /// let server = server.context(|headers, options| match headers.get("x-tenant").and_then(|tenant| tenant.to_str().ok()) {
    ///     Some(tenant) => options.with_context(Tenant(tenant.to_owned())),
    ///     None => options,
    /// });
    /// # let _ = server;
    /// # }
    /// ```
    pub fn context(
        mut self,
        with: impl Fn(&HeaderMap, RunOptions) -> RunOptions + Send + Sync + 'static,
    ) -> Self {
        self.context = Some(Arc::new(with));
        self
    }

    /// Sets where uploads are kept: in the store of the first agent by default. It must be the store of each agent that
    /// is asked about them.
    pub fn documents(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.documents = store;
        self
    }

    /// Puts all routes under a path, such as `/agents`.
    pub fn base_path(mut self, path: &str) -> Self {
        let path = path.trim_matches('/');
        self.base = if path.is_empty() { String::new() } else { format!("/{path}") };
        self
    }

    /// Says whether the chat is served: as a page at `/`, and as the script `/attache-chat.js` for other pages. It is not
    /// by default.
    pub fn web(mut self, is_served: bool) -> Self {
        self.has_web = is_served;
        self
    }

    /// Puts routes of others beside those of the server, under a path such as `/mcp`: another protocol for the same agents.
    /// Clients are authenticated as for all routes and must have the scope [`Run`](crate::Scope::Run); the
    /// [`Principal`] is in the request's extensions.
    ///
    /// ```
    /// # use attache_server::{Principal, Server};
    /// use axum::{Extension, Router, routing::get};
    ///
    /// # fn example(server: Server) {
    /// let who = get(|Extension(who): Extension<Principal>| async move { who.name().to_owned() });
    /// let server = server.mount("/who", Router::new().route("/", who));
    /// # let _ = server;
    /// # }
    /// ```
    ///
    /// # Panics
    /// [`router`](Self::router) and [`serve`](Self::serve) do, as axum does, if the path is empty or taken.
    pub fn mount(mut self, path: &str, routes: Router) -> Self {
        self.mounted.push((format!("/{}", path.trim_matches('/')), routes));
        self
    }

    /// Sessions for a protocol that [is mounted](Self::mount) and drives their runs itself: calls, approvals, tokens and ends of
    /// these runs stand in the [audit log](Self::audit) and in the numbers of the server, which knows the agent under that name.
    /// [Bounds](Self::limits) of the server do not hold for them.
    pub fn recorded(&self, name: impl Into<Arc<str>>, sessions: &Sessions) -> Sessions {
        let recorder = Recorder::new(name.into(), Arc::clone(&self.record));
        sessions.with_agent(sessions.agent().observed_by(recorder))
    }

    /// Lets pages of an origin ask, such as `https://app.example.org`, with their cookies where
    /// [`authenticate`](Self::authenticate) is set. None may by default. Where a proxy writes another `Host`, it takes the public
    /// address of the server itself.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Lets pages of [other origins](Self::allow_origin) send a header of their own, such as one that
    /// [`authenticate`](Self::authenticate) reads. A text that is no name of a header allows nothing.
    pub fn allow_header(mut self, name: impl Into<String>) -> Self {
        self.headers.push(name.into());
        self
    }

    /// Lets pages of an origin, such as `https://app.example.org`, hold the page of the chat in a frame. None may by
    /// default, since who frames it can have its user click on what they do not see. A text that is no origin lets nobody.
    pub fn allow_frame(mut self, origin: impl Into<String>) -> Self {
        self.frames.push(origin.into());
        self
    }

    /// Says what becomes of a run whose client leaves, where the request does not say it: it is cancelled by default. It is not
    /// for runs that nobody has to look at (`POST /v1/sessions/{id}/runs`), nor for MCP and A2A.
    pub fn disconnect(mut self, policy: OnDisconnect) -> Self {
        self.on_disconnect = policy;
        self
    }

    /// Says whether clients see the arguments and results of tools, as they do by default. If they do not, citations quote
    /// no passage that a tool returned, nor name its documents: they say which call the answer rests on. Documents that
    /// people brought are cited with their passages.
    pub fn tool_details(mut self, shown: bool) -> Self {
        self.shown.details = shown;
        self
    }

    /// Says whether clients see the model's reasoning, as they do not by default.
    pub fn thinking(mut self, shown: bool) -> Self {
        self.shown.thinking = shown;
        self
    }

    /// Tells of decisions about calls and of the calls themselves: see [`AuditEntry`]. It must not block; the entries are
    /// also logged, with the target `attache::audit`.
    pub fn audit(mut self, hook: impl Fn(&AuditEntry) + Send + Sync + 'static) -> Self {
        self.audit.hook = Some(Arc::new(hook));
        self
    }

    /// Says whether the audit log has the arguments of calls, and not their SHA-256 alone, as it does by default.
    pub fn audit_content(mut self, shown: bool) -> Self {
        self.audit.content = shown;
        self
    }

    /// Switches a dialect on or off. All are on by default.
    pub fn dialect(mut self, dialect: Dialect, on: bool) -> Self {
        self.off.retain(|off| *off != dialect);
        if !on {
            self.off.push(dialect);
        }
        self
    }

    /// Sets the bounds.
    pub fn limits(mut self, mut limits: ServerLimits) -> Self {
        for named in &mut limits.upload_types {
            if let Some(pattern) = MediaType::pattern(named) {
                *named = pattern;
            }
        }
        self.limits = limits;
        self
    }

    /// The routes, for a program that has routes of its own. Runs go on in tasks of the runtime in which requests are
    /// answered. From the first request on sessions that expired are deleted, and runs of processes that are gone are taken
    /// over, until the routes are dropped.
    ///
    /// Without [`keys`](Self::keys), tokens of an issuer and [`authenticate`](Self::authenticate) every request is refused:
    /// behind another server's connections nobody knows where it comes from.
    pub fn router(self) -> Router {
        self.into_parts().0
    }

    /// Answers on a listener until `shutdown` comes to its end; then runs have [some time](ServerLimits::drain) to end.
    /// Runs of sessions that have not by then can be resumed.
    ///
    /// # Errors
    /// [`ServeError::Open`] if the listener is open to other machines and nobody is asked for a key,
    /// [`ServeError::Listener`] if it fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr().map_err(ServeError::Listener)?;
        if self.auth.is_local() {
            if !address.ip().to_canonical().is_loopback() {
                return Err(ServeError::Open(address));
            }
            // A program that tells it in its own words leaves this target out of its log.
            tracing::warn!(target: "attache_server::no_keys", %address, "development mode: no key is asked for, and this machine alone may ask");
        }
        let (router, app) = self.into_parts();
        serve(router, app, listener, Box::pin(shutdown)).await
    }

    fn into_parts(self) -> (Router, Arc<App>) {
        let bounds = Bounds { entries: self.limits.ring_events, bytes: self.limits.ring_bytes };
        let since = fresh::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let largest = self.limits.body.max(self.limits.upload);
        let room = || Bodies::new(self.limits.bodies, largest, self.limits.body_time);
        let record = Arc::clone(self.record.get_or_init(|| Arc::new(Record::new(self.audit))));
        let app = Arc::new(App {
            agents: self.agents,
            runs: Runs::new(bounds, self.limits.runs, self.shown.details, Arc::clone(&record)),
            record,
            pace: Pace::new(self.limits.requests_per_minute),
            parked: Arc::new(Parked::default()),
            documents: Documents::new(self.documents, &self.limits.upload_types),
            auth: self.auth,
            context: self.context,
            origins: self.origins,
            headers: self.headers,
            frames: self.frames,
            base: self.base.clone(),
            on_disconnect: self.on_disconnect,
            shown: self.shown,
            bodies: room(),
            outgoing: room(),
            limits: self.limits.clone(),
            since,
            has_begun: AtomicBool::new(false),
            description: openapi::described(&self.base, &self.off),
        });
        (routes::router(&app, &self.base, self.has_web, &self.off, self.mounted), app)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("agents", &self.agents)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use attache_agent::{Agent, MemorySessions};
    use attache_testkit::ScriptedModel;
    use axum::body::{Body, to_bytes};
    use http::{Request, StatusCode};
    use tokio::time::Instant;
    use tower_service::Service as _;

    use super::*;

    // A69
    #[tokio::test]
    async fn a_server_that_stops_lives_and_is_not_ready() {
        let agent = Agent::builder(ScriptedModel::new([])).build().unwrap();
        let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
        let (mut router, app) = Server::new("papers", sessions).into_parts();
        app.runs.drain(Instant::now()).await;
        let expected = [
            ("/v1/health", StatusCode::OK, r#"{"status":"ok"}"#),
            (
                "/v1/health/ready",
                StatusCode::SERVICE_UNAVAILABLE,
                r#"{"status":"unavailable","reason":"stopping"}"#,
            ),
        ];
        for (path, status, told) in expected {
            let request = Request::builder().uri(path).body(Body::empty()).unwrap();
            let response = router.call(request).await.unwrap();
            assert_eq!(response.status(), status, "{path}");
            assert_eq!(to_bytes(response.into_body(), 1 << 10).await.unwrap(), told);
        }
    }
}
