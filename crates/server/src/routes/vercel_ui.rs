//! The chat of Vercel's AI SDK: `POST /v1/ui`, and `GET /v1/ui/{id}/stream` for a page that comes back.

use std::collections::HashSet;
use std::sync::Arc;

use attache_agent::SessionError;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderName, HeaderValue, StatusCode};

use super::begin_run::{RunRequest, streamed};
use super::body_and_agent::{Model, Request, read};
use super::runs_by_log::Stored;
use super::thread::{Said, turn};
use crate::address::Addresses;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::vercel_ui::Ui;
use crate::fault::Fault;
use crate::inbound::known_documents::KnownDocuments;
use crate::inbound::place::{Path, Query};
use crate::inbound::tools;
use crate::inbound::vercel_ui::Body as Asked;
use crate::live::{Follower, Viewer};
use crate::resuming::{begun, offered, offered_in};
use crate::sse;

static PROTOCOL: HeaderName = HeaderName::from_static("x-vercel-ai-ui-message-stream");

pub(crate) async fn chat(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut asked, hosted, .. } =
        read(&app, &principal, request, |asked: &Asked| asked.model.as_deref()).await?;
    let hosted = &hosted;
    let (own, known, begins_anew) = (asked.own_tools(), asked.known_calls(), asked.begins_anew());
    let offered = tools::tools(hosted.agent(), std::mem::take(&mut asked.tools)).await?;
    let decisions = Said::Decisions(asked.decisions());
    let chat = asked.id.clone();
    let documents = KnownDocuments::new(principal.name(), &app.documents);
    let documents = documents.and_of(&hosted.sessions, &chat, app.shown.details);
    let conversation = asked.take_conversation(documents).await?;
    let on_disconnect = asked.on_disconnect;
    let has_tools = !own.is_empty();
    let run_request = RunRequest {
        app: &app,
        principal: &principal,
        hosted,
        on_disconnect,
        has_tools,
        is_whole: false,
        is_numbered: false,
    };
    let (mut viewer, _) = turn(&run_request, &asked.id, conversation, decisions, offered).await?;
    let live = Arc::clone(viewer.live());
    let mut told = told(&app, &live.id, live.session.as_deref().unwrap_or_default(), own, known);
    // The client puts the message that it is told now in the place of the one that it has of this run.
    if begins_anew && live.goes_on() {
        begun(&app, &mut viewer).await?;
        (viewer, told) = (Viewer::of_all(live), told.retelling());
    }
    Ok(named(streamed(viewer, told).await?))
}

/// The message that is told now, from its beginning, whoever drives its run; nothing where none is.
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let nothing = StatusCode::NO_CONTENT;
    let runs = app.runs.of_session(principal.name(), &id);
    if let Some(live) = runs.into_iter().find(|live| !live.has_ended()) {
        let own = match live.in_session() {
            Some(session) => offered(session, &live.id).await?.names(),
            None => HashSet::new(),
        };
        let told = told(&app, &live.id, &id, own, HashSet::new()).retelling();
        return Ok(named(sse::response(Viewer::of_all(live), told, Vec::new())));
    }
    let hosted = &app.hosted(model.model.as_deref())?;
    let session = match hosted.sessions.get(principal.name(), &id).await {
        Ok(session) => session,
        Err(SessionError::NotFound) => return Ok(nothing.into_response()),
        Err(error) => return Err(error.into()),
    };
    let Some(run) = session.runs().await?.pop() else { return Ok(nothing.into_response()) };
    let stored = Stored::load(hosted, &principal, &run.id).await?;
    // Nothing more is told of a run whose model did not answer, unless somebody goes on with it.
    if !stored.is_under_way() || stored.failure(&app).await?.is_some() {
        return Ok(nothing.into_response());
    }
    let own = offered_in(&stored.entries).names();
    let told = told(&app, &run.id, &id, own, HashSet::new()).retelling();
    let follower = Follower::new(Arc::clone(&app.runs), session, run.id, Some(0));
    Ok(named(sse::response(follower.until_it_waits(), told, Vec::new())))
}

/// A run tells one message, also where it waits for the page in between.
fn told(app: &App, run: &str, session: &str, own: HashSet<String>, known: HashSet<String>) -> Ui {
    Ui::new(format!("msg-{run}"), Addresses::new(&app.base, session), own, known, app.shown)
}

fn named(mut response: Response) -> Response {
    response.headers_mut().insert(PROTOCOL.clone(), HeaderValue::from_static("v1"));
    response
}
