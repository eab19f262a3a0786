//! Runs of sessions that are watched, taken up again, steered.

use std::sync::Arc;

use attache_agent::{SubmitError, say};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::body_and_agent::{Model, Request, read};
use super::json_answer::json;
use super::runs_by_log::Stored;
use crate::app::{App, Way, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::event_json;
use crate::dialect::event_stream::Events;
use crate::fault::Fault;
use crate::inbound::place::{Path, Query};
use crate::inbound::turn::Turn;
use crate::inbound::{body, tools};
use crate::json::Object;
use crate::live::{Follower, LOG, OnDisconnect, Stand, Viewer, so_far};
use crate::resuming::{self, begun, go_on, known, under_way};
use crate::sse;

/// Starts a run that nobody has to look at.
pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Path(session): Path<String>,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut turn, hosted, .. } =
        read(&app, &principal, request, |turn: &Turn| turn.model.as_deref()).await?;
    let hosted = &hosted;
    if turn.session_id.as_ref().is_some_and(|id| *id != session) {
        return Err(Fault::invalid("the session is another one than that of the route").at("sessionId"));
    }
    let tools = tools::tools(hosted.agent(), std::mem::take(&mut turn.frontend_tools)).await?;
    let input = turn.input(principal.name(), &app.documents, &tools).await?;
    let session = turn.session(&hosted.sessions, principal.name(), Some(&session)).await?;
    let id = session.id().fresh_run();
    let options = tools.options(hosted.agent());
    let run = session.run(input.with_run_id(&id).with_options(options));
    let on_disconnect = turn.on_disconnect.unwrap_or(OnDisconnect::Detach);
    let way = Way { on_disconnect: Some(on_disconnect), ..Way::default() };
    let mut viewer = app.start(&principal, hosted, Some(&session), id.clone(), run, way)?;
    begun(&app, &mut viewer).await?;
    // Nobody has looked on yet, so that nobody leaves.
    viewer.forget();
    let mut body = Vec::new();
    Object::begin(&mut body).with("runId", &id).with("sessionId", session.id().as_str()).end();
    Ok((StatusCode::ACCEPTED, json(body)).into_response())
}

/// A run so far, or its end.
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(run): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let mut body = Vec::new();
    if let Some(live) = resuming::here(&app, &principal, &run).await? {
        let (view, last) = live.view();
        Object::begin(&mut body)
            .with("runId", &run)
            .with("sessionId", &live.session)
            .with("model", &*live.agent)
            .by("snapshot", |out| event_json::view(&view, last, app.shown, out))
            .by("routing", |out| event_json::routing(&view, app.shown, out))
            .end();
        return Ok(json(body));
    }
    let hosted = &app.hosted(model.model.as_deref())?;
    let stored = Stored::load(hosted, &principal, &run).await?;
    let object = Object::begin(&mut body)
        .with("runId", &run)
        .with("sessionId", stored.session.id().as_str())
        .with("model", &*hosted.name);
    let (mut view, last) = so_far(&stored.entries, app.runs.origins());
    if view.end.is_none() {
        view.end = stored.failure(&app).await?;
    }
    match stored.is_under_way() {
        // Another process drives it, or will.
        true => object.by("snapshot", |out| event_json::view(&view, last, app.shown, out)),
        false => object.by("outcome", |out| {
            event_json::end_members(Object::begin(out), &stored.outcome(app.shown), app.shown).end();
        }),
    }
    .by("routing", |out| event_json::routing(&view, app.shown, out))
    .end();
    Ok(json(body))
}

/// The place at which a client goes on that lost its connection.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct After {
    /// The id of the last event, for clients that cannot set headers.
    after: Option<String>,
    model: Option<String>,
}

/// The events of a run: those behind the last one that the client has seen, or the run so far and what comes. A client
/// that has seen the last one is told that there is nothing, at which browsers come again no more.
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(After { after, model }): Query<After>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let last = headers.get("last-event-id").and_then(|id| std::str::from_utf8(id.as_bytes()).ok());
    let seen = last.or(after.as_deref()).and_then(|id| id.strip_prefix(run.as_str())?.strip_prefix('.'));
    // The numbers of another drive of the run mean something else.
    let seen_in = |epoch: &str| seen.and_then(|id| id.strip_prefix(epoch)?.strip_prefix('.')?.parse().ok());
    if let Some(live) = resuming::here(&app, &principal, &run).await? {
        let (seen, events) = (seen_in(&live.epoch), Events::new(&run, &live.epoch, app.shown));
        if live.is_behind_all(seen) {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        return Ok(sse::response(Viewer::behind(live, seen), events, Vec::new()));
    }
    let hosted = &app.hosted(model.as_deref())?;
    let (session, info) = known(hosted, &principal, &run).await?.ok_or_else(|| Fault::not_found("run"))?;
    // A place in a drive that is gone is none in the log, which tells the run so far, and its end.
    let mut seen: Option<u64> = seen_in(LOG);
    let events = Events::new(&run, LOG, app.shown);
    if info.ended.is_some() && seen.is_some() {
        let (view, last) = so_far(&session.behind(&run, 0).await?, None);
        // A run that has ended may have failed.
        if seen == Some(last) && view.end.is_some() {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        // A number that the log has not makes no sense.
        seen = seen.filter(|seen| *seen < last);
    }
    let follower = Follower::new(Arc::clone(&app.runs), session, run, seen);
    Ok(sse::response(follower, events, Vec::new()))
}

/// Ends a run. It may be asked for again.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(run): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let hosted = &app.hosted(model.model.as_deref())?;
    let was_under_way = resuming::cancel(&app, &principal, hosted, &run, "run").await?;
    let mut body = Vec::new();
    Object::begin(&mut body).with("runId", &run).with("cancelled", &was_under_way).end();
    Ok(json(body))
}

/// Something that the user says while a run is under way.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Aside {
    message: String,
    #[serde(default)]
    when: When,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum When {
    /// At the next call of the model.
    #[default]
    Next,
    /// Once the run would end.
    End,
    /// At once: calls under way are broken off.
    Interrupt,
}

/// Says something to a run under way.
pub(crate) async fn message(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(run): Path<String>,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(&app.bodies, &principal, request, app.limits.body).await?;
    let aside: Aside = body::json(&bytes)?;
    if aside.message.trim().is_empty() {
        return Err(Fault::invalid("the message is empty").at("message"));
    }
    match (under_way(&app, &principal, &run), aside.when) {
        (Some(live), When::Next) => live.control.inject(aside.message)?,
        (Some(live), When::End) => live.control.follow_up(aside.message)?,
        (Some(live), When::Interrupt) => live.control.interrupt(aside.message)?,
        (None, when) => {
            let hosted = &app.hosted(model.model.as_deref())?;
            let found = known(hosted, &principal, &run).await?;
            let (session, info) = found.ok_or_else(|| Fault::not_found("run"))?;
            if info.ended.is_some() {
                return Err(SubmitError::ChatLoopClosed.into());
            }
            if !matches!(when, When::Next) {
                let message = "the run is not driven here: it can be told something for its next step alone";
                return Err(Fault::conflict("elsewhere", message));
            }
            // The driver finds it there; a run that waits reads it once it goes on.
            say(&*session.journal_of(&run), aside.message).await?;
        }
    }
    Ok((StatusCode::ACCEPTED, json(b"{\"accepted\":true}".to_vec())).into_response())
}

/// Goes on with a run that was interrupted or waited.
pub(crate) async fn resume(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(run): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let hosted = &app.hosted(model.model.as_deref())?;
    let Stored { session, info, run: state, .. } = Stored::load(hosted, &principal, &run).await?;
    if session.runs().await?.last().is_none_or(|last| last.id != run) {
        return Err(Fault::conflict("not_last", "only the last run of a session goes on"));
    }
    let waits = matches!(Stand::of(&state), Stand::AsksClient(_) | Stand::Waits);
    if info.ended.is_some() && !waits {
        return Err(Fault::conflict("ended", "the run has ended"));
    }
    go_on(&app, &principal, hosted, &session, &run).await?;
    let mut body = Vec::new();
    Object::begin(&mut body).with("runId", &run).with("sessionId", session.id().as_str()).end();
    Ok((StatusCode::ACCEPTED, json(body)).into_response())
}
