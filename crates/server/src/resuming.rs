//! Runs that begin or go on in the background, with nobody who looks on.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use attache_agent::{Busy, Entry as LogEntry, EntryKind, Run, RunInfo, Session, SessionError, SessionId};
use attache_core::ToolCallId;
use tokio::time::{sleep, timeout};

use crate::agents::Hosted;
use crate::app::{App, Way};
use crate::auth::Principal;
use crate::dialect::answer::{Answer, Piece};
use crate::fault::Fault;
use crate::inbound::tools::Offered;
use crate::live::{Entry, Live, OnDisconnect, Seen, TooMany, Viewer};
use crate::paused_runs::Kept;

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

/// Goes on with the last run of a session, unless somebody drives it already: false then.
pub(crate) async fn go_on(
    app: &App,
    principal: &Principal,
    hosted: &Hosted,
    session: &Session,
    run: &str,
) -> Result<bool, Fault> {
    go_on_so(app, principal, hosted, session, run, Way::default()).await
}

/// Goes on with the last run of a session, for which a decision or the result of a call was left. Its driver may have
/// looked for that for the last time, and is about to stop. False if somebody else drives it.
pub(crate) async fn go_on_with(
    app: &Arc<App>,
    principal: &Principal,
    hosted: &Hosted,
    session: &Session,
    run: &str,
    left: &Left,
) -> Result<bool, Fault> {
    if go_on_so(app, principal, hosted, session, run, left.way()).await? {
        return Ok(true);
    }
    let (app, principal, hosted) = (Arc::clone(app), principal.clone(), hosted.clone());
    let (session, run, left) = (session.clone(), run.to_owned(), left.clone());
    tokio::spawn(async move {
        for wait in LOOKS {
            sleep(Duration::from_millis(wait)).await;
            let goes_on = match left.is_waited_for(&session, &run).await {
                Ok(true) => go_on_so(&app, &principal, &hosted, &session, &run, left.way()).await,
                Ok(false) => return,
                Err(error) => Err(error.into()),
            };
            match goes_on {
                Ok(true) => return,
                Ok(false) => {}
                Err(fault) => {
                    tracing::warn!(run, code = fault.code(), "a run does not go on with what was left for it")
                }
            }
        }
    });
    Ok(false)
}

/// The milliseconds after which it is looked whether a run has taken what was left for it. One that is driven for longer
/// looks again before it stops.
const LOOKS: [u64; 5] = [100, 300, 1_000, 3_000, 10_000];

/// A thing that was left for a run.
#[derive(Clone)]
pub(crate) enum Left {
    /// The decision on the approval of that id.
    Decision(String),
    /// The result of a call.
    Result(ToolCallId),
}

impl Left {
    fn way(&self) -> Way {
        let answered = match self {
            Self::Decision(_) => Vec::new(),
            Self::Result(call) => vec![call.clone()],
        };
        Way { answered, ..Way::default() }
    }

    /// True if the log of the run lacks it, and has not ended.
    pub(crate) async fn is_waited_for(&self, session: &Session, run: &str) -> Result<bool, SessionError> {
        let Some(outcome) = session.last().await?.filter(|last| last.run_id == run) else { return Ok(false) };
        Ok(match self {
            Self::Decision(id) => outcome.approvals.iter().any(|approval| approval.id == *id),
            Self::Result(id) => {
                let mut waiting =
                    outcome.pending.iter().chain(outcome.deferred.iter().map(|request| &request.call));
                // An agent inside that has other things to do does not wait, and its calls are none of the pending ones.
                waiting.any(|call| call.id == *id) || {
                    let entries = session.behind(run, 0).await?;
                    Run::replay(&entries).is_ok_and(|log| log.awaited().iter().any(|call| call.id == *id))
                }
            }
        })
    }
}

/// False if somebody else drives it.
async fn go_on_so(
    app: &App,
    principal: &Principal,
    hosted: &Hosted,
    session: &Session,
    run: &str,
    way: Way,
) -> Result<bool, Fault> {
    if let Some(live) = app.runs.get(principal.name(), run).filter(|live| !live.has_ended()) {
        if live.control.is_active() {
            return Ok(false);
        }
        // Its driver looks at nothing any more, and may let it go with what came since.
        live.ends().await;
        if live.let_go_in().is_none() {
            return Ok(false);
        }
    }
    let _reserved = match app.runs.reserve(principal.name(), run) {
        // Somebody else was faster, or a request that brings results for it is about to go on with it.
        Err(TooMany::Driven) => return Ok(false),
        // Its start judges if there is room for another run.
        reserved => reserved.ok(),
    };
    let (hosted, session) = began_with(app, principal, hosted, session, run).await?;
    let offered = offered(&session, run).await?;
    let pauses = offered.pauses;
    let parking = pauses.then(|| {
        let kept = Kept::Session(session.clone());
        app.parked.parking(principal.shared(), Arc::clone(&hosted.name), kept, true)
    });
    let way = Way { on_disconnect: Some(OnDisconnect::Detach), goes_on: true, pauses, parking, ..way };
    // The run that is to go on is under way where its session is taken: it waits for no other one.
    let sessions = hosted.sessions.clone().with_busy(Busy::Refuse);
    let session = sessions.get(principal.name(), session.id().as_str()).await?;
    let resumed = session.resume_with(offered.options(hosted.agent()));
    let mut viewer = match app.start(principal, &hosted, Some(&session), run.to_owned(), resumed, way) {
        // Somebody else was faster.
        Err(fault) if fault.code() == "under_way" => return Ok(false),
        started => started?,
    };
    match begun(app, &mut viewer).await {
        // Another process has it.
        Err(fault) if fault.code() == "session_busy" => Ok(false),
        begun => begun.map(|_| true),
    }
}

/// The agent with which a run of the session began, and its session, whichever agent a request names. If it is served no
/// more, the named one goes on.
pub(crate) async fn began_with(
    app: &App,
    principal: &Principal,
    hosted: &Hosted,
    session: &Session,
    run: &str,
) -> Result<(Hosted, Session), Fault> {
    let runs = session.runs().await?;
    let name = runs.iter().find(|known| known.id == run).map(|known| known.name.as_str());
    let other = name.filter(|name| **name != *hosted.name).and_then(|name| app.agents.get(Some(name)));
    let Some(own) = other else { return Ok((hosted.clone(), session.clone())) };
    let session = own.sessions.get(principal.name(), session.id().as_str()).await?;
    Ok((own, session))
}

/// The tools and settings that came with a run, which no agent has.
pub(crate) async fn offered(session: &Session, run: &str) -> Result<Offered, Fault> {
    Ok(offered_in(&session.journal_of(run).load().await?))
}

/// The same, by the log of the run.
pub(crate) fn offered_in(entries: &[LogEntry]) -> Offered {
    entries.iter().find_map(started).unwrap_or_default()
}

fn started(entry: &LogEntry) -> Option<Offered> {
    let EntryKind::Started(started) = &entry.kind else { return None };
    let own = started.messages.get(started.task..).unwrap_or_default();
    Some(Offered::of_messages(own.iter()))
}

/// Ends a run, whoever drives it. False if it had ended, or somebody asked for that before.
pub(crate) async fn cancel(
    app: &App,
    principal: &Principal,
    hosted: &Hosted,
    run: &str,
    unknown: &'static str,
) -> Result<bool, Fault> {
    const WHY: &str = "cancelled by the client";
    if let Some(live) = app.runs.get(principal.name(), run) {
        let (is_driven, was_asked) = (!live.has_ended(), !live.control.is_active());
        live.control.cancel_because(WHY);
        // One that was let go here has not ended: it waits for its client, or another process drives it.
        if is_driven || live.session.is_none() {
            if live.session.is_some() {
                stop_for_good(principal, hosted, run, WHY).await;
            }
            return Ok(is_driven && !was_asked);
        }
    }
    let (session, info) = known(hosted, principal, run).await?.ok_or_else(|| Fault::not_found(unknown))?;
    if info.ended.is_some() {
        return Ok(false);
    }
    let is_first = session.stop(run, WHY).await?;
    // It ends here if nobody drives it, also where whoever asked before could not see to it.
    go_on(app, principal, hosted, &session, run).await?;
    Ok(is_first)
}

/// Notes that a run of a session is to end. It was told so, but may fail before its end is recorded: nobody goes on with it
/// then.
async fn stop_for_good(principal: &Principal, hosted: &Hosted, run: &str, why: &str) {
    let Some(session) = SessionId::of_run(run) else { return };
    let stopping = async { hosted.sessions.get(principal.name(), session).await?.stop(run, why).await };
    match timeout(STOPPING, stopping).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(run, %error, "it could not be noted that the run is to end"),
        Err(_) => tracing::warn!(run, "it could not be noted in time that the run is to end"),
    }
}

/// A run of a principal by its session, whoever drives it.
pub(crate) async fn known(
    hosted: &Hosted,
    principal: &Principal,
    run: &str,
) -> Result<Option<(Session, RunInfo)>, Fault> {
    let session = match SessionId::of_run(run) {
        Some(session) => session.to_owned(),
        // Runs that this server did not begin had other ids in versions before. Those that are open are found.
        None => {
            let mut all = hosted.sessions.list(principal.name()).await?.into_iter();
            match all.find(|info| info.open_run.as_deref() == Some(run)) {
                Some(info) => info.id.as_str().to_owned(),
                None => return Ok(None),
            }
        }
    };
    let session = match hosted.sessions.get(principal.name(), &session).await {
        Ok(session) => session,
        Err(SessionError::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let info = session.runs().await?.into_iter().find(|known| known.id == run);
    Ok(info.map(|info| (session, info)))
}

/// Goes on with runs whose process is gone, for as long as it is polled and the server is there.
pub(crate) async fn take_over(app: Weak<App>) {
    loop {
        let mut pause = LONGEST;
        {
            let Some(app) = app.upgrade() else { return };
            for hosted in app.agents.all() {
                pause = pause.min((hosted.sessions.lease() / 6).max(SHORTEST));
                while take_some_over(&app, &hosted).await {}
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Begins what a server does beside its requests, unless somebody did: a program that mounts the routes has no other place
/// for it. It ends once nothing of the server is left.
pub(crate) fn begin(app: &Arc<App>) {
    if app.has_begun.load(Ordering::Relaxed) || app.has_begun.swap(true, Ordering::Relaxed) {
        return;
    }
    tokio::spawn(take_over(Arc::downgrade(app)));
    for hosted in app.agents.all() {
        let app = Arc::downgrade(app);
        tokio::spawn(async move {
            let mut cleaning = pin!(hosted.sessions.keep_clean());
            while app.strong_count() > 0 {
                // Nothing tells that the server is gone.
                if timeout(LOOK, cleaning.as_mut()).await.is_ok() {
                    return;
                }
            }
        });
    }
}

/// The pause between two looks whether the server is still there.
const LOOK: Duration = Duration::from_secs(10);

/// The time for a note that a run is to end, which was told so.
const STOPPING: Duration = Duration::from_secs(5);

/// The maximum number of runs that are taken over at a time.
const AT_ONCE: usize = 8;
/// The pause between two looks: a part of the lease within these bounds.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Takes some runs over. True if there may be more.
async fn take_some_over(app: &App, hosted: &Hosted) -> bool {
    if app.runs.is_closed() {
        return false;
    }
    // No more than there is room for: whoever waits here with a run keeps other processes from it.
    let most = app.runs.room().min(AT_ONCE);
    let adopted = match hosted.sessions.adopt(most).await {
        Ok(adopted) => adopted,
        Err(error) => {
            tracing::warn!(%error, "runs of processes that are gone could not be taken over");
            return false;
        }
    };
    let mut is_more = most > 0 && adopted.len() == most;
    for (session, run) in adopted {
        let principal = Principal::new(session.principal());
        let way = Way { is_taken_over: true, ..Way::default() };
        if let Err(fault) = go_on_so(app, &principal, hosted, &session, &run, way).await {
            tracing::warn!(run, reason = fault.message(), "a run could not be taken over");
            // A server that stops leaves the run to another process at once. Otherwise the run stays taken until its lease is
            // over, so that other runs have their turn before it, and that counts as an attempt.
            if app.runs.is_closed() {
                let _ = session.let_go(true).await;
            }
            is_more = false;
        }
    }
    is_more
}

/// A run of a principal that is driven here, or whose last word was said here.
pub(crate) async fn here(app: &App, principal: &Principal, run: &str) -> Result<Option<Arc<Live>>, Fault> {
    let Some(live) = app.runs.get(principal.name(), run) else { return Ok(None) };
    let Some(session) = live.let_go_in() else { return Ok(Some(live)) };
    let infos = match session.runs().await {
        Ok(infos) => infos,
        // It was deleted meanwhile.
        Err(SessionError::NotFound) => return Ok(None),
        Err(_) => return Ok(Some(live)),
    };
    if infos.iter().any(|info| info.id == run && info.ended.is_some()) {
        return Ok(None);
    }
    // Where the log cannot be read, the things that are known here are better than nothing.
    let Ok(entries) = session.journal_of(run).load().await else { return Ok(Some(live)) };
    let is_stale = Run::replay(&entries).is_ok_and(|log| !live.waits_still(&log.outcome()));
    // One that failed here may go on elsewhere.
    let is_driven = live.failure().is_some() && matches!(session.undriven_for().await, Ok(None));
    if is_stale || is_driven {
        return Ok(None);
    }
    Ok(Some(live))
}

/// A run under way of a principal.
pub(crate) fn under_way(app: &App, principal: &Principal, run: &str) -> Option<Arc<Live>> {
    app.runs.get(principal.name(), run).filter(|live| !live.has_ended())
}
