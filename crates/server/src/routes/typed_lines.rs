//! The typed stream: `POST /v1/chat/stream`, and what belongs to it.

use std::sync::Arc;

use attache_agent::{SubmitError, deliver_with};
use attache_core::{ResultStatus, ToolCall, ToolCallId, ToolResult};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::body_and_agent::{Model, Request, read};
use super::json_answer::json;
use super::runs_by_log::{called, has_work};
use crate::app::{App, Way, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::typed_lines::Typed;
use crate::fault::Fault;
use crate::inbound::place::{Path, Query};
use crate::inbound::turn::{ToolAnswer, Turn};
use crate::inbound::{body, files, tools};
use crate::json::Object;
use crate::resuming::{self, Left, began_with, begun, go_on_with};
use crate::sse;

pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut turn, hosted, .. } =
        read(&app, &principal, request, |turn: &Turn| turn.model.as_deref()).await?;
    let hosted = &hosted;
    let tools = tools::tools(hosted.agent(), std::mem::take(&mut turn.frontend_tools)).await?;
    let input = turn.input(principal.name(), &app.documents, &tools).await?;
    let session = turn.session(&hosted.sessions, principal.name(), turn.session_id.as_deref()).await?;
    let id = session.id().fresh_run();
    let options = tools.options(hosted.agent());
    let run = session.run(input.with_run_id(&id).with_options(options));
    let way = Way { on_disconnect: turn.on_disconnect, ..Way::default() };
    let viewer = app.start(&principal, hosted, Some(&session), id, run, way)?;
    let mut viewer = viewer.with_results_inside();
    let mut typed = Typed::new(viewer.live(), app.shown);
    let mut written = Vec::new();
    if let Some(seen) = begun(&app, &mut viewer).await? {
        sse::tell(&mut typed, &seen, &mut written);
    }
    Ok(sse::response(viewer, typed, written))
}

/// Ends a run. It may be asked for again.
pub(crate) async fn abort(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(task): Path<String>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let hosted = &app.hosted(model.model.as_deref())?;
    let was_under_way = resuming::cancel(&app, &principal, hosted, &task, "task").await?;
    let mut body = Vec::new();
    Object::begin(&mut body).with("taskId", &task).with("cancelled", &was_under_way).end();
    Ok(json(body))
}

/// The answer of a frontend tool.
pub(crate) async fn tool_result(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(&app.bodies, &principal, request, app.limits.body).await?;
    let answer: ToolAnswer = body::json(&bytes)?;
    let unknown = || Fault::not_found("call");
    let id = ToolCallId::parse(&answer.call_id).ok_or_else(unknown)?;
    let live = app.runs.of_session(principal.name(), &answer.session_id);
    let awaiting = live.iter().find_map(|live| {
        let call = live.control.awaiting().into_iter().find(|call| call.id == id)?;
        Some((live, call))
    });
    if let Some((live, call)) = awaiting {
        match live.control.submit([result_of(&call, &answer)?]).await {
            // It is let go at this moment, or has ended: its log says whether the call still waits.
            Err(SubmitError::ChatLoopClosed) => {}
            submitted => return submitted.map(|()| taken()).map_err(Fault::from),
        }
    } else if live.iter().any(|live| live.control.is_active() && live.knows_call(&answer.call_id)) {
        return Err(Fault::conflict("answered", "the call takes no result"));
    }
    // Nobody here drives the run: another process may, or nobody does.
    let hosted = &app.hosted(model.model.as_deref())?;
    let session = hosted.sessions.get(principal.name(), &answer.session_id).await.map_err(|_| unknown())?;
    let last = session.last().await?.ok_or_else(unknown)?;
    let journal = session.journal_of(&last.run_id);
    // The outcome does not name the calls of an agent inside that has something to do beside them.
    let call = called(&journal.load().await?, &id);
    let call = call.ok_or_else(|| match live.iter().any(|live| live.knows_call(&answer.call_id)) {
        true => Fault::conflict("answered", "the call takes no result any more"),
        false => unknown(),
    })?;
    let answered = || Fault::conflict("answered", "the call takes no result any more");
    let left = Left::Result(id.clone());
    // The agent that reads the files.
    let (own, _) = began_with(&app, &principal, hosted, &session, &last.run_id).await?;
    let (store, result) = (own.agent().store(), result_of(&call, &answer)?);
    let is_news = match deliver_with(&*journal, &*store, result).await {
        Err(SubmitError::UnknownCall { .. }) => return Err(answered()),
        // The run goes on without a result.
        Err(overdue @ SubmitError::Overdue { .. }) => {
            go_on_with(&app, &principal, hosted, &session, &last.run_id, &left).await?;
            return Err(overdue.into());
        }
        // If the request before came no further, nobody has gone on with the run: this one does.
        Err(SubmitError::DuplicateResult { .. }) if has_work(&*journal, &id).await? => false,
        delivered => delivered.map(|()| true)?,
    };
    let began = go_on_with(&app, &principal, hosted, &session, &last.run_id, &left).await?;
    if is_news || began { Ok(taken()) } else { Err(answered()) }
}

fn taken() -> Response {
    json(b"{\"accepted\":true}".to_vec())
}

/// The maximum number of bytes of the answer of a frontend tool beside its files, for which the bound of requests
/// holds.
const MOST: usize = 1 << 20;

fn result_of(call: &ToolCall, answer: &ToolAnswer) -> Result<ToolResult, Fault> {
    let status = if answer.is_error { ResultStatus::Error } else { ResultStatus::Ok };
    Ok(ToolResult::new(call, status, files::result(&answer.result, MOST)?))
}
