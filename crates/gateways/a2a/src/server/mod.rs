//! Agents of ours for those of others: a router that speaks the protocol.

mod answers;
mod card;
mod error;
mod gate;
mod message;
mod notify;
mod operation;
mod places;
mod serve;
mod shape;
mod step;
mod tasks;
mod view;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_agent::Sessions;
use attache_agent::bodies::{Bodies, BodyError, ReadBody};
use attache_core::DocumentStore;
use attache_core::hash::hex;
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::routing::{get, post};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use self::error::Refusal;
use self::notify::Notifications;
use self::operation::{Operation, addressed, called, check_version, operation};
use self::serve::{Framing, answered, sending};
use self::shape::Shape;
use self::tasks::Tasks;
use crate::wire::A2aVersion;

pub use self::card::{A2aAbility, A2aProfile, A2aSigner, A2aSignerError};
pub use self::notify::A2aTargets;

/// The largest request that is read.
const LARGEST: usize = 48 << 20;
/// The maximum number of bytes of all requests that are read at a time.
const BODIES: usize = 512 << 20;
/// The time in which a request must be there.
const READING: Duration = Duration::from_secs(30);

type Principals = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;
type Readers = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;

/// An agent of ours that others speak to over A2A: version 1.0 as JSON-RPC and HTTP+JSON, and 0.3 as JSON-RPC.
///
/// A task is a run of a session, and its `contextId` is the session: all of it is kept where sessions are kept, and outlives
/// this process. A task that was worked on when its process died goes on when somebody next asks for it. The tasks of one
/// principal are not there for another.
///
/// ```
/// use std::sync::Arc;
/// use attache_a2a::{A2aProfile, A2aServer};
/// use attache_agent::{Agent, MemorySessions, Sessions};
/// # use attache_testkit::ScriptedModel;
/// # let model = ScriptedModel::new([]);
/// let agent = Agent::builder(model).build()?;
/// let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
/// let profile = A2aProfile::new("Leases", "Knows all leases.", "https://leases.example");
/// let router = A2aServer::new(profile, sessions)
///     // The principal who calls: here by a header that a proxy sets. `None` is refused.
///     .principal(|request| Some(request.headers.get("x-user")?.to_str().ok()?.to_owned()))
///     .router();
/// # let _: axum::Router = router;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct A2aServer {
    profile: A2aProfile,
    tasks: Tasks,
    principals: Option<Principals>,
    readers: Option<Readers>,
    /// True if nothing but the address says who calls.
    is_open: bool,
    hosts: Vec<String>,
    signer: Option<A2aSigner>,
}

impl A2aServer {
    /// An agent, with the sessions in which its tasks are kept. Until [`principal`](Self::principal) says who callers are,
    /// all of them are refused.
    pub fn new(profile: A2aProfile, sessions: Sessions) -> Self {
        Self {
            profile,
            tasks: Tasks::new(sessions),
            principals: None,
            readers: None,
            is_open: false,
            hosts: Vec::new(),
            signer: None,
        }
    }

    /// Says who a caller is, by the head of its request; `None` refuses it. Facts that were checked before, such as a token, may
    /// stand in the request's extensions.
    pub fn principal(mut self, principal: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.principals = Some(Arc::new(principal));
        self.is_open = false;
        self
    }

    /// Says by the head of a request whether its caller may read tasks, as all may by default. One who may not is answered
    /// what comes of its messages, and gets, lists and follows no tasks (403).
    pub fn readers(mut self, may_read: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        self.readers = Some(Arc::new(may_read));
        self
    }

    /// Takes every caller for the same principal: for agents that are open to all who reach them. So that no web page
    /// reaches one from a visitor's browser, requests are refused whose `Host` is a name other than `localhost`, that of
    /// the profile's address and [those](Self::hosts) that are named, and requests of pages of others.
    pub fn open_to_all(mut self, principal: impl Into<String>) -> Self {
        let principal = principal.into();
        self.is_open = true;
        self.principals = Some(Arc::new(move |_| Some(principal.clone())));
        self
    }

    /// Names hosts under which an agent that is [open to all](Self::open_to_all) is reached, or whose pages may ask it,
    /// beside that of the profile's address: `leases.internal`. A browser lets a page of another origin read the answers only
    /// where the router says so, so a layer for CORS is needed beside it, such as `CorsLayer` of `tower-http`.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Reads documents of answers from there: the agent's [store](attache_agent::AgentBuilder::store). Without it those
    /// whose bytes are not in memory are notes.
    pub fn store(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.tasks.store = Some(store);
        self
    }

    /// Says whether the documents that tools returned, and those that the model made, are a part of the answer, as they
    /// are by default.
    pub fn with_documents(mut self, given: bool) -> Self {
        self.tasks.gives_documents = given;
        self
    }

    /// Lets callers approve the calls of their own tasks. By default somebody here [decides](attache_agent::decide).
    pub fn caller_approves(mut self, approves: bool) -> Self {
        self.tasks.caller_approves = approves;
        self
    }

    /// Sends notifications of tasks to such addresses, as callers name them. They are kept in memory, so that a caller looks
    /// at a task of which it hears nothing. By default none are sent.
    pub fn notifies_to(mut self, targets: A2aTargets) -> Self {
        self.tasks.notifications = Some(Notifications::new(targets));
        self
    }

    /// Signs the card.
    pub fn signer(mut self, signer: A2aSigner) -> Self {
        self.signer = Some(signer);
        self
    }

    /// The router, to be served at the address that the profile names, or nested there: by `Router::nest_service`, which takes
    /// the address also with a slash behind it, as some clients write it. Runs go on while it lives.
    pub fn router(mut self) -> Router {
        self.tasks.input.clone_from(&self.profile.input);
        let card = self.profile.card(self.signer.as_ref(), self.tasks.notifications.is_some()).to_string();
        let tag = hex(digest(&SHA256, card.as_bytes()).as_ref().iter().take(8));
        let hosts = self.hosts.into_iter().chain(gate::host_of(&self.profile.url));
        let served = Served {
            hosts: self.is_open.then(|| hosts.collect()),
            card,
            tag: format!("\"{tag}\""),
            tasks: Arc::new(self.tasks),
            principals: self.principals,
            readers: self.readers,
            bodies: Bodies::new(BODIES, LARGEST, READING),
        };
        Router::new()
            .route("/.well-known/agent-card.json", get(card_of))
            .route("/", post(rpc))
            .fallback(rest)
            .with_state(Arc::new(served))
    }
}

impl fmt::Debug for A2aServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aServer").field("profile", &self.profile).finish_non_exhaustive()
    }
}

struct Served {
    card: String,
    tag: String,
    tasks: Arc<Tasks>,
    principals: Option<Principals>,
    readers: Option<Readers>,
    bodies: Bodies,
    /// The hosts of an agent that is open to all.
    hosts: Option<Vec<String>>,
}

async fn card_of(State(served): State<Arc<Served>>, headers: HeaderMap) -> Response<Body> {
    let is_known =
        headers.get(http::header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == served.tag.as_bytes());
    let mut response = Response::new(if is_known { Body::empty() } else { Body::from(served.card.clone()) });
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    if let Ok(tag) = HeaderValue::try_from(&served.tag) {
        headers.insert(http::header::ETAG, tag);
    }
    response
}

/// A request that is not read, as its caller is told.
fn unread(status: StatusCode, word: &str, message: &str) -> Response<Body> {
    answered(status, &json!({"error": {"code": status.as_u16(), "status": word, "message": message}}))
}

/// The one who asks.
struct Caller {
    principal: String,
    may_read: bool,
}

/// The caller and the body of a request.
async fn read(served: &Served, request: Request) -> Result<(Caller, Parts, ReadBody), Response<Body>> {
    let (head, body) = request.into_parts();
    if served.hosts.as_ref().is_some_and(|hosts| !gate::is_let_in(&head, hosts)) {
        let message = "requests by this name, or of this page, are refused";
        return Err(unread(StatusCode::FORBIDDEN, "PERMISSION_DENIED", message));
    }
    let principal = served.principals.as_ref().and_then(|principal| principal(&head));
    let Some(principal) = principal else {
        let mut response = unread(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "the caller is not known");
        response.headers_mut().insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return Err(response);
    };
    let is_json = gate::is_json(&head);
    let no_json = || {
        let message = "a request is application/json or application/a2a+json";
        unread(StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_ARGUMENT", message)
    };
    // Before it is read: nobody sends the whole of one for nothing. One that says neither its type nor its length may be
    // empty, as in HTTP/2.
    let says = head.headers.contains_key(http::header::CONTENT_TYPE) || body.size_hint().lower() > 0;
    if !is_json && says && !body.is_end_stream() {
        return Err(no_json());
    }
    match served.bodies.read(&principal, body.into_data_stream(), LARGEST).await {
        Ok(body) if !is_json && !body.is_empty() => Err(no_json()),
        Ok(body) => {
            let may_read = served.readers.as_ref().is_none_or(|may_read| may_read(&head));
            Ok((Caller { principal, may_read }, head, body))
        }
        Err(error) => {
            let (status, word) = match error {
                BodyError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "INVALID_ARGUMENT"),
                BodyError::Crowded => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
                BodyError::Slow => (StatusCode::REQUEST_TIMEOUT, "DEADLINE_EXCEEDED"),
                _ => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            };
            let mut response = unread(status, word, &error.to_string());
            if let Some(again) = error.retry_after() {
                response.headers_mut().insert(http::header::RETRY_AFTER, again.as_secs().into());
            }
            Err(response)
        }
    }
}

fn unreadable() -> Response<Body> {
    unread(StatusCode::FORBIDDEN, "PERMISSION_DENIED", "the caller may not read tasks")
}

async fn rpc(State(served): State<Arc<Served>>, request: Request) -> Response<Body> {
    let (caller, head, body) = match read(&served, request).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    let (id, called) = called(&body);
    let failed = |refusal: Refusal| {
        answered(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "error": refusal.rpc()}))
    };
    let (method, params) = match called {
        Ok(called) => called,
        Err(refusal) => return failed(refusal),
    };
    if let Err(refusal) = check_version(&head.headers, head.uri.query()) {
        return failed(refusal);
    }
    let Some((operation, version)) = operation(&method) else { return failed(Refusal::UnknownMethod) };
    if !params.is_object() {
        return failed(Refusal::InvalidParams("`params` must be an object"));
    }
    if !operation.is_open(caller.may_read) {
        return unreadable();
    }
    let framing = Framing(Some(id.clone()));
    match done(&served, caller.principal, operation, params, body, Shape(version), framing).await {
        Ok(Done::Value(result)) => {
            answered(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
        }
        Ok(Done::Stream(response)) => response,
        Err(refusal) => failed(refusal),
    }
}

enum Done {
    Value(Value),
    Stream(Response<Body>),
}

/// Does what is asked. A message and its body leave the memory once they are read: a task may be waited for.
async fn done(
    served: &Served,
    principal: String,
    operation: Operation,
    params: Value,
    body: ReadBody,
    shape: Shape,
    framing: Framing,
) -> Result<Done, Refusal> {
    let tasks = &served.tasks;
    Ok(match operation {
        Operation::Send => {
            let sending = sending(&params, shape.0)?;
            drop((params, body));
            Done::Value(Box::pin(serve::send(tasks, &principal, sending, shape)).await?)
        }
        Operation::Stream => {
            let sending = sending(&params, shape.0)?;
            drop((params, body));
            let streaming = serve::send_stream(Arc::clone(tasks), principal, sending, shape, framing);
            Done::Stream(Box::pin(streaming).await?)
        }
        Operation::Get => Done::Value(serve::get(tasks, &principal, &params, shape).await?),
        Operation::List => Done::Value(serve::list(tasks, &principal, &params).await?),
        Operation::Cancel => Done::Value(Box::pin(serve::cancel(tasks, &principal, &params, shape)).await?),
        Operation::Subscribe => Done::Stream(
            Box::pin(serve::subscribe(Arc::clone(tasks), principal, &params, shape, framing)).await?,
        ),
        Operation::Push(asked) => {
            Done::Value(Box::pin(tasks.notifications(&principal, asked, &params, shape.0)).await?)
        }
        // The card says that there is none; 0.3 has one error for that and for one that is missing. (A2A 1.0 section 3.3.4)
        Operation::ExtendedCard => {
            return Err(match shape.0 {
                A2aVersion::V0_3 => Refusal::NoExtendedCard,
                A2aVersion::V1 => Refusal::Unsupported("there is no extended card"),
            });
        }
    })
}

async fn rest(State(served): State<Arc<Served>>, request: Request) -> Response<Body> {
    let found = addressed(request.method(), request.uri().path());
    let Some((operation, named)) = found else {
        return answered(
            StatusCode::NOT_FOUND,
            &json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "there is nothing here"}}),
        );
    };
    let (caller, head, body) = match read(&served, request).await {
        Ok(read) => read,
        Err(response) => return response,
    };
    if !operation.is_open(caller.may_read) {
        return unreadable();
    }
    let failed = |refusal: Refusal| {
        let (status, error) = refusal.rest();
        answered(status, &error)
    };
    if let Err(refusal) = check_version(&head.headers, head.uri.query()) {
        return failed(refusal);
    }
    let mut params = match (body.is_empty(), serde_json::from_slice::<Value>(&body)) {
        (true, _) => Map::new(),
        (false, Ok(Value::Object(params))) => params,
        (false, _) => return failed(Refusal::Parse),
    };
    for pair in head.uri.query().unwrap_or_default().split('&') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = attache_transport::percent_decoded(&value.replace('+', " "));
        params.insert(name.to_owned(), String::from_utf8_lossy(&value).into_owned().into());
    }
    params.extend(named.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
    let (params, shape) = (Value::Object(params), Shape(A2aVersion::V1));
    match done(&served, caller.principal, operation, params, body, shape, Framing(None)).await {
        Ok(Done::Value(result)) => {
            let mut response = answered(StatusCode::OK, &result);
            // (A2A 1.0 section 11.1)
            let own = HeaderValue::from_static("application/a2a+json");
            response.headers_mut().insert(http::header::CONTENT_TYPE, own);
            response
        }
        Ok(Done::Stream(response)) => response,
        Err(refusal) => failed(refusal),
    }
}
