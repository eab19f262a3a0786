//! Runs that begin or go on in the background, with nobody who looks on.

use std::sync::Arc;

use attache_agent::Session;
use attache_core::ToolCallId;
use serde::Deserialize;

use crate::app::{App, Way};
use crate::auth::Principal;
use crate::dialect::answer::{Answer, Piece};
use crate::fault::Fault;
use crate::hosted::Hosted;
use crate::live::{Entry, Live, OnDisconnect, Seen, Viewer};

/// The agent that a request is about.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Model {
    pub(crate) model: Option<String>,
}

/// The failure that an entry tells, if the run ends with it.
pub(crate) fn failure(entry: &Arc<Entry>) -> Option<Fault> {
    if !entry.is_last() {
        return None;
    }
    let mut failure = None;
    Answer::default().entry(entry, &mut |piece| {
        if let Piece::Failed(fault) = piece {
            failure = Some(fault);
        }
    });
    failure
}

/// Waits until a run has begun.
pub(crate) async fn begun(app: &App, viewer: &mut Viewer) -> Result<Option<Seen>, Fault> {
    let seen = viewer.next().await;
    if let Some(Seen::Entries(entries)) = &seen
        && let Some(fault) = entries.first().and_then(failure)
    {
        app.runs.forget(viewer.live());
        return Err(fault);
    }
    Ok(seen)
}

/// Goes on with the last run of a session, unless somebody drives it already.
pub(crate) async fn go_on(
    app: &App,
    principal: &Principal,
    hosted: &Hosted,
    session: &Session,
    run: &str,
    answered: Vec<ToolCallId>,
) -> Result<(), Fault> {
    if app.runs.get(principal.name(), run).is_some_and(|live| !live.has_ended()) {
        return Ok(());
    }
    let way = Way { on_disconnect: Some(OnDisconnect::Detach), answered, ..Way::default() };
    let resumed = session.resume();
    let mut viewer = app.start(principal, hosted, Some(session), run.to_owned(), resumed, way)?;
    match begun(app, &mut viewer).await {
        // Another process has it.
        Err(fault) if fault.code() == "session_busy" => Ok(()),
        begun => begun.map(drop),
    }
}

/// A run under way of a principal.
pub(crate) fn under_way(app: &App, principal: &Principal, run: &str) -> Option<Arc<Live>> {
    app.runs.get(principal.name(), run).filter(|live| !live.has_ended())
}
