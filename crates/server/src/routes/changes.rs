//! Sessions that are renamed, forked and exported.

use std::sync::Arc;

use attache_agent::{EntryKind, Run, RunInfo, Session, SessionError, Sessions, is_read};
use attache_core::{AssistantPart, ContentTree, Message, MessageId, UserPart};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::TryStreamExt as _;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;

use super::body_and_agent::Model;
use super::json_answer::json;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::Shown;
use crate::fault::Fault;
use crate::inbound::body;
use crate::inbound::place::{Path, Query};
use crate::json::Object;

/// The maximum number of bytes of these requests.
const MOST: usize = 64 << 10;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rename {
    title: String,
}

/// Gives a session another title.
pub(crate) async fn rename(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(&app.bodies, &principal, request, MOST).await?;
    let rename: Rename = body::json(&bytes)?;
    let sessions = &app.hosted(model.model.as_deref())?.sessions;
    let session = sessions.get(principal.name(), &id).await?;
    session.rename(&rename.title).await?;
    let mut body = Vec::new();
    let title = session.info().await?.title;
    Object::begin(&mut body).with("id", session.id().as_str()).with("title", &title).end();
    Ok(json(body))
}

/// The place from which a new session goes on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fork {
    /// The end of that run.
    at: Option<String>,
    /// The place before the turn of that message.
    before: Option<String>,
}

/// Makes a session that goes on from a place of another one.
pub(crate) async fn fork(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(&app.bodies, &principal, request, MOST).await?;
    let fork: Fork = body::json(&bytes)?;
    let sessions = &app.hosted(model.model.as_deref())?.sessions;
    let session = sessions.get(principal.name(), &id).await?;
    let (forked, at) = match (fork.at, fork.before) {
        (Some(run), None) => (forked(&session, &run).await?, Some(run)),
        (None, Some(message)) => match before(sessions, session, principal.name(), &message).await? {
            (session, Some(run)) => (forked(&session, &run.id).await?, Some(run.id)),
            // Nothing is before the first turn.
            (session, None) => (session.fork_empty().await?, None),
        },
        _ => return Err(Fault::invalid("a fork needs `at`, a run, or `before`, a message")),
    };
    let mut body = Vec::new();
    Object::begin(&mut body).with("id", forked.id().as_str()).with("at", &at).end();
    Ok((StatusCode::CREATED, json(body)).into_response())
}

async fn forked(session: &Session, run: &str) -> Result<Session, Fault> {
    session.fork(run).await.map_err(|error| match error {
        SessionError::NotFound => Fault::not_found("run"),
        error => error.into(),
    })
}

/// The session and its last run that ended before a message was said; no run for the first question. A session that was
/// forked has its turns before that as messages alone: their runs are those of the session that it was made of.
async fn before(
    sessions: &Sessions,
    mut session: Session,
    principal: &str,
    message: &str,
) -> Result<(Session, Option<RunInfo>), Fault> {
    let message = MessageId::parse(message).ok_or_else(unknown)?;
    let mut is_fork = false;
    loop {
        let runs = session.runs().await?;
        let at = match first_with(&session, &runs, &message).await? {
            Some(at) => at,
            // The session in between, which had it, was deleted.
            None if is_fork => return Err(gone()),
            None => return Err(unknown()),
        };
        let Some(first) = runs.first().filter(|_| at == 0) else {
            return Ok((session, at.checked_sub(1).and_then(|at| runs.get(at)).cloned()));
        };
        if begins(&session, &first.id, &message).await? {
            return Ok((session, None));
        }
        let from = session.info().await?.forked_from.ok_or_else(gone)?;
        session = match sessions.get(principal, from.session.as_str()).await {
            Err(SessionError::NotFound) => return Err(gone()),
            session => session?,
        };
        is_fork = true;
    }
}

fn unknown() -> Fault {
    Fault::not_found("message")
}

fn gone() -> Fault {
    Fault::conflict(
        "session_gone",
        "the turns before that message cannot be had by themselves: the session in which they were made is gone",
    )
}

/// The place of the first run that has a message. A run has the messages of those before it: it is found by halving.
async fn first_with(
    session: &Session,
    runs: &[RunInfo],
    message: &MessageId,
) -> Result<Option<usize>, Fault> {
    let (mut low, mut high) = (0, runs.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let Some(run) = runs.get(middle) else { break };
        match has(session, &run.id, message).await? {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok((low < runs.len()).then_some(low))
}

/// True if nothing was said before the turn of a message that the first run of a session has.
async fn begins(session: &Session, run: &str, message: &MessageId) -> Result<bool, Fault> {
    let entries = session.journal_of(run).load().await?;
    let Some(EntryKind::Started(started)) = entries.first().map(|entry| &entry.kind) else { return Ok(true) };
    let mut earlier = started.messages.iter().take(started.task).filter(|message| is_read(message));
    Ok(earlier.next().is_none_or(|first| first.id() == message))
}

async fn has(session: &Session, run: &str, message: &MessageId) -> Result<bool, Fault> {
    let entries = session.journal_of(run).load().await?;
    let replayed = Run::replay(&entries).map_err(|error| Fault::internal(&error))?;
    Ok(replayed.outcome().messages.iter().any(|known| known.id() == message))
}

/// The conversation of a session with its documents, as `attache sessions export` writes it, one document at a time.
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    if !app.shown.details {
        return Err(Fault::forbidden("an export has the results of tools, which this server does not show"));
    }
    let hosted = app.hosted(model.model.as_deref())?;
    let session = hosted.sessions.get(principal.name(), &id).await?;
    let history = session.history().await?;
    let read: Vec<_> =
        history.iter().filter(|message| is_read(message)).map(|message| told(message, app.shown)).collect();
    let pieces =
        hosted.agent().export_in_pieces(&read, Vec::new()).map_err(|error| Fault::internal(&error))?;
    let pieces = pieces.inspect_err(|error| tracing::warn!(%error, "an export breaks off"));
    let kind = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"conversation.json\"")),
    ];
    Ok((kind, Body::from_stream(pieces)).into_response())
}

/// A message without what no other route tells: reasoning, unless it is shown, and documents that a handler withholds.
fn told(message: &Message, shown: Shown) -> Arc<Message> {
    let mut message = message.clone();
    match &mut message {
        Message::Assistant(reply) if !shown.thinking => {
            let is_told = |part: &AssistantPart| {
                !matches!(part, AssistantPart::Reasoning(_) | AssistantPart::Opaque(_))
            };
            reply.parts.retain(is_told);
        }
        Message::ToolResults(told) => {
            for result in &mut told.results {
                hide_withheld(&mut result.tree);
                result.withheld.clear();
            }
        }
        Message::User(said) => {
            for part in &mut said.parts {
                if let UserPart::Object(tree) = part {
                    hide_withheld(tree);
                }
            }
        }
        _ => {}
    }
    message.shared()
}

/// Takes the documents out that must not be shown. A reference to one stays in the text, and leads nowhere.
fn hide_withheld(tree: &mut ContentTree) {
    if !tree.withheld().is_empty() {
        let shown = tree.shown().cloned().collect();
        *tree = ContentTree::parse(tree.json(), shown).unwrap_or_else(|| ContentTree::text(""));
    }
}
