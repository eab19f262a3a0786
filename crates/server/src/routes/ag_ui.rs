//! AG-UI: `POST /v1/ag-ui`.

use std::collections::HashSet;
use std::sync::Arc;

use attache_agent::{EntryKind, SessionError};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::begin_run::{RunRequest, streamed};
use super::body_and_agent::{Request, read};
use super::runs_by_log::Stored;
use super::thread::{Said, turn};
use crate::agents::Hosted;
use crate::app::App;
use crate::auth::Principal;
use crate::dialect::ag_ui::AgUi;
use crate::dialect::snapshot::{Thread, take_messages};
use crate::fault::Fault;
use crate::inbound::ag_ui::Body as Asked;
use crate::inbound::known_documents::KnownDocuments;
use crate::inbound::tools;
use crate::live::{Follower, Viewer};
use crate::resuming::under_way;
use crate::sse;

pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    request: Body,
) -> Result<Response, Fault> {
    let Request { said: mut asked, hosted, .. } = read(&app, &principal, request, Asked::model).await?;
    let hosted = &hosted;
    let has_tools = !asked.tools.is_empty();
    let tools = tools::tools(hosted.agent(), std::mem::take(&mut asked.tools)).await?;
    let on_disconnect = asked.on_disconnect()?;
    if asked.comes_back() {
        return back(&app, &principal, hosted, asked).await;
    }
    let thread = asked.thread_id.clone();
    let known = KnownDocuments::new(principal.name(), &app.documents);
    let known = known.and_of(&hosted.sessions, &thread, app.shown.details);
    let (conversation, sent) = asked.take_conversation(known).await?;
    let resumed = Said::Resumed(asked.resume.take().unwrap_or_default());
    let run_request = RunRequest {
        app: &app,
        principal: &principal,
        hosted,
        on_disconnect,
        has_tools,
        is_whole: false,
        is_numbered: false,
    };
    let (viewer, history) = turn(&run_request, &asked.thread_id, conversation, resumed, tools).await?;
    let running: HashSet<_> = sent.iter().filter_map(|sent| sent.running.clone()).collect();
    let told = AgUi::new(asked.thread_id, asked.run_id, app.shown).with_running(running);
    let thread = Thread::new(&history, &sent);
    let told = if thread.is_news { told.with_snapshot(&thread) } else { told };
    drop(thread);
    drop((history, sent));
    streamed(viewer, told).await
}

/// Tells a page that comes back what was said in its thread, and what is said now.
async fn back(app: &App, principal: &Principal, hosted: &Hosted, asked: Asked) -> Result<Response, Fault> {
    let nothing =
        || Fault::invalid("there is no message, and nothing was said in this thread").at("messages");
    let session = match hosted.sessions.get(principal.name(), &asked.thread_id).await {
        Ok(session) => session,
        Err(SessionError::NotFound) => return Err(nothing()),
        Err(error) => return Err(error.into()),
    };
    let run = session.runs().await?.pop().ok_or_else(nothing)?;
    let told = AgUi::new(asked.thread_id, asked.run_id, app.shown);
    let stored = Stored::load(hosted, principal, &run.id).await?;
    if !stored.is_under_way() {
        let mut outcome = stored.run.outcome();
        let messages = take_messages(&mut outcome);
        return Ok(sse::written(told.with_snapshot(&Thread::new(&messages, &[])).ended(&outcome)));
    }
    // The run tells what it says itself.
    let begun = stored.entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::Started(started) => Some(started.messages.as_slice()),
        _ => None,
    });
    let told = told.with_snapshot(&Thread::new(begun.unwrap_or_default(), &[])).retelling();
    match under_way(app, principal, &run.id) {
        Some(live) => Ok(sse::response(Viewer::of_all(live), told, Vec::new())),
        None => {
            let follower = Follower::new(Arc::clone(&app.runs), session, run.id, Some(0));
            Ok(sse::response(follower.until_it_waits(), told, Vec::new()))
        }
    }
}
