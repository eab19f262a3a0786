//! Sessions.

use std::sync::Arc;

use attache_agent::SessionInfo;
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;

use super::answer::json;
use super::asked::Model;
use super::stored::Logs;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::message::{self, About};
use crate::fault::Fault;
use crate::inbound::place::{Path, Query};
use crate::json::Object;

/// The sessions to list.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Listed {
    /// Words that were said in the session.
    q: Option<String>,
    limit: Option<usize>,
    model: Option<String>,
}

/// The most sessions of a list.
const MOST: usize = 1000;

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(Listed { q, limit, model }): Query<Listed>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let sessions = &app.hosted(model.as_deref())?.sessions;
    let limit = limit.unwrap_or(MOST).min(MOST);
    let listed = match q {
        Some(words) => sessions.search(principal.name(), &words, limit).await?,
        None => sessions.list(principal.name()).await?,
    };
    let total = sessions.count(principal.name()).await?;
    let listed = listed.iter().take(limit);
    let mut body = Vec::new();
    Object::begin(&mut body).each("sessions", listed, write).with("total", &total).end();
    Ok(json(body))
}

fn write(info: &SessionInfo, out: &mut Vec<u8>) {
    Object::begin(out)
        .with("id", info.id.as_str())
        .with("title", &info.title)
        .with("created", &info.created)
        .with("accessed", &info.accessed)
        .with("runs", &info.runs)
        .with("openRun", &info.open_run)
        .end();
}

/// Makes a session. A turn under an id that nobody has does the same.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let session = app.hosted(model.model.as_deref())?.sessions.open(principal.name(), None).await?;
    let mut body = Vec::new();
    Object::begin(&mut body).with("id", session.id().as_str()).end();
    Ok((StatusCode::CREATED, json(body)).into_response())
}

/// A session with its messages.
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let sessions = &app.hosted(model.model.as_deref())?.sessions;
    let session = sessions.get(principal.name(), &id).await?;
    let runs = session.runs().await?;
    let info = session.info().await?;
    let (logs, last) = Logs::load(&session, &runs).await?;
    let messages = last.as_ref().map(|last| last.messages.as_slice()).unwrap_or_default();
    let about = About { runs: &runs, dispositions: logs.dispositions() };
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("id", session.id().as_str())
        .with("title", &info.title)
        .with("created", &info.created)
        .with("accessed", &info.accessed)
        .with("openRun", &info.open_run)
        .each("runs", &runs, |run, out| {
            Object::begin(out).with("id", &run.id).with("began", &run.began).with("ended", &run.ended).end();
        })
        .by("messages", |out| message::all(messages, &about, app.shown, out))
        .each("approvals", last.iter().flat_map(|last| &last.approvals), crate::dialect::event::approval)
        .each("decisions", logs.decisions(), |(run, asked, decided, at), out| {
            Object::begin(out)
                .with("runId", run)
                .with("approvalId", &decided.id)
                .with("callId", &asked.call_id)
                .with("decision", &decided.decision)
                .with("by", &decided.by)
                .with("at", &at)
                .end();
        })
        .each("deferred", last.iter().flat_map(|last| &last.deferred), |request, out| {
            crate::dialect::event::deferred_members(Object::begin(out), request, app.shown).end();
        })
        .end();
    Ok(json(body))
}

pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    app.hosted(model.model.as_deref())?.sessions.clear(principal.name(), &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Deletes all of the principal's.
pub(crate) async fn clear(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let count = app.hosted(model.model.as_deref())?.sessions.clear_all(principal.name()).await?;
    let mut body = Vec::new();
    Object::begin(&mut body).with("deleted", &count).end();
    Ok(json(body))
}
