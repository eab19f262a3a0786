//! The things that happen to each request: an id, a look at who asks, headers of the answer.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use attache_core::fresh;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Method, header};
use tokio::time::Instant;

use crate::app::App;
use crate::auth::{Admitted, Principal, Scope, host, is_local, is_of_own_page};
use crate::fault::Fault;
use crate::request::{during, with_context};
use crate::resuming::begin;
use crate::web::Framed;

/// The address that a request comes from, where the server itself took the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The route that answered among those of others, which nothing outside of their router can tell.
#[derive(Clone, Debug)]
struct RouteOfOthers(Arc<str>);

/// Tells [`mark`] by which route of others under `place` a request was answered.
pub(crate) async fn name(State(place): State<Arc<str>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().trim_end_matches('/'));
    let route = route.map_or(place, Arc::from);
    let mut response = next.run(request).await;
    response.extensions_mut().insert(RouteOfOthers(route));
    response
}

/// Answers for a handler that panics, such as a program's own that says who asks: the others go on.
pub(crate) async fn unbroken(request: Request, next: Next) -> Response {
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.unwrap_or_else(|_| broken())
}

fn broken() -> Response {
    tracing::error!("a handler panicked");
    Fault::broken().into_response()
}

/// Gives each request an id, or keeps the one that it has, and the headers that browsers act on to each answer. It answers
/// for handlers as [`unbroken`] does, without a layer of its own around each request.
pub(crate) async fn mark(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    begin(&app);
    let given = request.headers().get(&REQUEST_ID).filter(|id| is_id(id)).cloned();
    let id = given.or_else(|| HeaderValue::try_from(&*fresh::uuid()).ok());
    let id = id.unwrap_or(const { HeaderValue::from_static("none") });
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let began = Instant::now();
    let answering = AssertUnwindSafe(next.run(request)).catch_unwind().map(|answered| {
        // Inside of the request's span, so that the log says which one it was.
        answered.unwrap_or_else(|_| broken())
    });
    let mut response = during(&id, &method, answering).await;
    if let Some(limit) = response.extensions().get::<Fault>().and_then(|fault| fault.limit) {
        app.record.metrics.limited(limit);
    }
    let others = response.extensions_mut().remove::<RouteOfOthers>();
    let route = others.as_ref().map(|route| &*route.0).or(route.as_ref().map(MatchedPath::as_str));
    let route = route.unwrap_or("none");
    app.record.metrics.answered(route, &method, response.status(), began.elapsed());
    let is_framed = response.extensions_mut().remove::<Framed>().is_some();
    let headers = response.headers_mut();
    let fields = [
        (header::X_CONTENT_TYPE_OPTIONS, Some("nosniff")),
        (header::REFERRER_POLICY, Some("no-referrer")),
        // It cannot name who may; the policy of what may be framed does.
        (header::X_FRAME_OPTIONS, (!is_framed).then_some("DENY")),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    let strict = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(strict);
    let uncached = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(uncached);
    // A path may name a session, and holds no secret.
    tracing::debug!(%method, path, status = response.status().as_u16(), request = ?id, "a request");
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    response
}

/// An id that may stand in a log.
fn is_id(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    !bytes.is_empty() && bytes.len() <= 128 && bytes.iter().all(u8::is_ascii_graphic)
}

/// Finds out who asks. Everything behind it has a [`Principal`](crate::Principal).
pub(crate) async fn admit(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    if app.auth.is_local() {
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
        if !is_local(peer, request.uri(), request.headers(), &app.origins) {
            app.record.metrics.refused("elsewhere");
            let message = "without keys the server answers programs on its own machine alone";
            return Fault::forbidden(message).into_response();
        }
    }
    match app.auth.admit(request.headers()).await {
        Ok(Admitted { by_browser: true, .. }) if is_of_strangers_page(&app, &request) => {
            app.record.metrics.refused("cross_site");
            let message = "a page of another site may not ask in the name of whoever looks at it";
            Fault::forbidden(message).into_response()
        }
        Ok(Admitted { principal, .. }) => {
            if let Err(wait) = app.pace.take(&principal.shared()) {
                // A part of a second is no time that the header has.
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                return Fault::too_fast(seconds).into_response();
            }
            request.extensions_mut().insert(principal);
            let headers = app.context.as_ref().map(|hook| (hook, request.headers().clone()));
            with_context(headers, next.run(request)).await
        }
        Err(fault) => {
            app.record.metrics.refused(fault.code());
            fault.into_response()
        }
    }
}

/// True if a page of a stranger has a browser send the request. One that changes nothing does no harm, since the page does
/// not see the answer.
fn is_of_strangers_page(app: &App, request: &Request) -> bool {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let host = host(request.uri(), request.headers());
    changes && !is_of_own_page(host, request.headers(), &app.origins)
}

/// Refuses those who may not have agents work. It stands behind [`admit`], before the routes of others.
pub(crate) async fn may_run(request: Request, next: Next) -> Response {
    let may = request.extensions().get::<Principal>().is_some_and(|principal| principal.may(Scope::Run));
    match may {
        true => next.run(request).await,
        false => Fault::forbidden("the key has not the scope run").into_response(),
    }
}
