//! Sessions.

use std::fmt;
use std::sync::Arc;

use attache_agent::SessionInfo;
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;

use super::body_and_agent::Model;
use super::json_answer::json;
use super::runs_by_log::Logs;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::session_message::{self, About};
use crate::fault::Fault;
use crate::inbound::place::{Path, Query};
use crate::json::Object;

/// The sessions to list.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Listed {
    /// Words that were said in the session.
    q: Option<String>,
    limit: Option<usize>,
    /// The place behind which the list goes on: `next` of the list before.
    after: Option<String>,
    model: Option<String>,
}

/// The maximum number of sessions of a list.
const MOST: usize = 1000;

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(Listed { q, limit, after, model }): Query<Listed>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let sessions = &app.hosted(model.as_deref())?.sessions;
    let limit = limit.unwrap_or(MOST).min(MOST);
    let after = after.as_deref().map(|after| Place::parse(after).ok_or_else(unknown_place)).transpose()?;
    let mut listed = match q {
        // One more says that there are more; the ones before a place come again.
        Some(words) => {
            let most = if after.is_some() { usize::MAX } else { limit.saturating_add(1) };
            sessions.search(principal.name(), &words, most).await?
        }
        None => sessions.list(principal.name()).await?,
    };
    if let Some(after) = &after {
        listed.retain(|info| after.is_before(info));
    }
    let total = sessions.count(principal.name()).await?;
    let has_more = listed.len() > limit;
    listed.truncate(limit);
    let next = listed.last().filter(|_| has_more).map(|last| Place::of(last).to_string());
    let mut body = Vec::new();
    Object::begin(&mut body)
        .each("sessions", &listed, write)
        .with("total", &total)
        .maybe("next", next.as_ref())
        .end();
    Ok(json(body))
}

fn unknown_place() -> Fault {
    Fault::invalid("it is no `next` of a list").at("after")
}

/// A place in the list: that of a session as it was, also once it goes on or is gone.
struct Place<'a> {
    updated: u64,
    id: &'a str,
}

impl<'a> Place<'a> {
    fn of(info: &'a SessionInfo) -> Self {
        Self { updated: info.updated, id: info.id.as_str() }
    }

    fn parse(text: &'a str) -> Option<Self> {
        let (updated, id) = text.split_once('.')?;
        Some(Self { updated: updated.parse().ok()?, id })
    }

    /// True if a session comes behind it: the list has the latest first.
    fn is_before(&self, info: &SessionInfo) -> bool {
        (info.updated, self.id) < (self.updated, info.id.as_str())
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.updated, self.id)
    }
}

fn write(info: &SessionInfo, out: &mut Vec<u8>) {
    let object = Object::begin(out)
        .with("id", info.id.as_str())
        .with("title", &info.title)
        .with("created", &info.created)
        .with("accessed", &info.accessed)
        .with("updated", &info.updated)
        .with("runs", &info.runs)
        .with("openRun", &info.open_run);
    forked(object, info).end();
}

/// Adds the place at which a session left the one that it was made of.
fn forked<'o>(object: Object<'o>, info: &SessionInfo) -> Object<'o> {
    match &info.forked_from {
        Some(from) => object.by("forkedFrom", |out| {
            let object = Object::begin(out).with("session", from.session.as_str());
            object.with("questions", &from.questions).end();
        }),
        None => object,
    }
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
    let about = About { runs: &runs, open_run: info.open_run.as_deref(), dispositions: logs.dispositions() };
    let mut body = Vec::new();
    let object = Object::begin(&mut body)
        .with("id", session.id().as_str())
        .with("title", &info.title)
        .with("created", &info.created)
        .with("accessed", &info.accessed)
        .with("updated", &info.updated)
        .with("openRun", &info.open_run);
    forked(object, &info)
        .each("runs", &runs, |run, out| {
            Object::begin(out).with("id", &run.id).with("began", &run.began).with("ended", &run.ended).end();
        })
        .by("messages", |out| session_message::all(messages, &about, app.shown, out))
        .each("approvals", last.iter().flat_map(|last| &last.approvals), crate::dialect::event_json::approval)
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
            crate::dialect::event_json::deferred_members(Object::begin(out), request, app.shown).end();
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
    app.runs.clear(principal.name(), Some(&id));
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
    app.runs.clear(principal.name(), None);
    let mut body = Vec::new();
    Object::begin(&mut body).with("deleted", &count).end();
    Ok(json(body))
}
