//! Calls that wait for approval.

use std::sync::Arc;

use attache_agent::{DecideError, Decision, EntryKind, Outcome, Session, SessionInfo, decide as settle};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde_json::Value;

use super::body_and_agent::Model;
use super::json_answer::json;
use crate::agents::Hosted;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::event_json;
use crate::fault::Fault;
use crate::inbound::body;
use crate::inbound::place::{Path, Query};
use crate::inbound::turn::{Choice, Decide};
use crate::json::Object;
use crate::live::TooMany;
use crate::record::Of;
use crate::request;
use crate::resuming::{Left, go_on_with};

/// False if no call of the open run can wait for approval: its log need not be read.
fn may_wait(info: &SessionInfo) -> bool {
    info.open_run.is_some() && info.kept_until > 0
}

/// The sessions of a principal with calls that wait for approval.
async fn waiting(hosted: &Hosted, principal: &Principal) -> Result<Vec<(Session, Outcome)>, Fault> {
    let mut waiting = Vec::new();
    for info in hosted.sessions.list(principal.name()).await? {
        if !may_wait(&info) {
            continue;
        }
        // One that is cleared at this moment has none.
        let Ok(session) = hosted.sessions.get(principal.name(), info.id.as_str()).await else { continue };
        if let Some(outcome) = session.last().await?.filter(|outcome| !outcome.approvals.is_empty()) {
            waiting.push((session, outcome));
        }
    }
    Ok(waiting)
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Read)?;
    let waiting = waiting(&app.hosted(model.model.as_deref())?, &principal).await?;
    let all = waiting.iter().flat_map(|(session, outcome)| {
        outcome.approvals.iter().map(move |approval| (session, &outcome.run_id, approval))
    });
    let mut body = Vec::new();
    Object::begin(&mut body)
        .each("approvals", all, |(session, run, approval), out| {
            Object::begin(out)
                .with("sessionId", session.id().as_str())
                .with("runId", run)
                .by("approval", |out| event_json::approval(approval, out))
                .end();
        })
        .end();
    Ok(json(body))
}

/// Decides, and goes on with the run.
pub(crate) async fn decide(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(model): Query<Model>,
    Path(id): Path<String>,
    asked: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Approve)?;
    let bytes = body::bytes(&app.bodies, &principal, asked, app.limits.body).await?;
    let decision = decision(body::json(&bytes)?)?;
    let hosted = &app.hosted(model.model.as_deref())?;
    let Some((session, run)) = find(&app, hosted, &principal, &id).await? else {
        return Err(Fault::not_found("approval"));
    };
    match app.runs.admits(principal.name(), &run) {
        // The driver of the run acts on the decision.
        Err(TooMany::Driven) | Ok(()) => {}
        Err(full) => return Err(full.into()),
    }
    let runs = session.runs().await?;
    let is_repeated = session
        .behind(&run, 0)
        .await?
        .iter()
        .any(|entry| matches!(&entry.kind, EntryKind::Decided(decided) if decided.id == id));
    let journal = session.journal_of(&run);
    let left = Left::Decision(id.clone());
    let decided = match settle(&*journal, &id, principal.name(), decision).await {
        // Its time is up: the run goes on without a decision.
        Err(closed @ DecideError::Closed { .. }) if left.is_waited_for(&session, &run).await? => {
            go_on_with(&app, &principal, hosted, &session, &run, &left).await?;
            return Err(closed.into());
        }
        decided => decided?,
    };
    // Nothing fails between the two: said again, it would be no news, and never be taken down.
    if !is_repeated {
        let began = runs.iter().find(|known| known.id == run).map(|known| known.name.as_str());
        let agent = began.filter(|name| !name.is_empty()).map_or_else(|| Arc::clone(&hosted.name), Arc::from);
        let (request, by, session) = (request::id(), principal.shared(), Some(session.id().as_str()));
        let request = request.as_ref();
        let of = Of { request, principal: &by, agent: &agent, session, run: &run, is_mounted: false };
        app.record.decided(of, &decided);
    }
    go_on_with(&app, &principal, hosted, &session, &run, &left).await?;
    let mut body = Vec::new();
    Object::begin(&mut body)
        .with("approvalId", &id)
        .with("decision", &decided.decision)
        .with("by", &decided.by)
        .with("runId", &run)
        .with("sessionId", session.id().as_str())
        .end();
    Ok(json(body))
}

/// The number of the latest sessions that are looked into although no run waits in them.
const RECENT: usize = 8;

/// The session and the run of an approval, also of one that is settled: a run that asked here is known by it; else the logs
/// of the runs are read that are open, the latest session first.
async fn find(
    app: &App,
    hosted: &Hosted,
    principal: &Principal,
    id: &str,
) -> Result<Option<(Session, String)>, Fault> {
    if let Some(live) = app.runs.that_asked(principal.name(), id)
        && let Some(session) = live.in_session()
        && *live.agent == *hosted.name
    {
        return Ok(Some((session.clone(), live.id.clone())));
    }
    let sessions = hosted.sessions.list(principal.name()).await?;
    for (at, info) in sessions.into_iter().enumerate() {
        // Somebody may say the same again a moment later, when the run has ended.
        if !may_wait(&info) && (info.open_run.is_some() || at >= RECENT) {
            continue;
        }
        let Ok(session) = hosted.sessions.get(principal.name(), info.id.as_str()).await else { continue };
        let last = match info.open_run {
            Some(run) => Some(run),
            None => session.runs().await?.pop().map(|run| run.id),
        };
        let Some(run) = last else { continue };
        // A session that is cleared at this moment has none.
        let Ok(entries) = session.behind(&run, 0).await else { continue };
        let is_asked =
            entries.iter().any(|entry| matches!(&entry.kind, EntryKind::Asked(asked) if asked.id == id));
        if is_asked {
            return Ok(Some((session, run)));
        }
    }
    Ok(None)
}

fn decision(decide: Decide) -> Result<Decision, Fault> {
    let Decide { decision, text, arguments } = decide;
    Ok(match (decision, arguments) {
        (Choice::Approve, None) => Decision::Approve,
        (Choice::Always, None) => Decision::ApproveAlways,
        (Choice::Deny, None) => Decision::Deny(text.unwrap_or_default()),
        (Choice::Edit, Some(arguments @ Value::Object(_))) => Decision::Edit(arguments),
        (Choice::Edit, _) => return Err(Fault::invalid("an edit needs arguments, an object").at("arguments")),
        (_, Some(_)) => return Err(Fault::invalid("only an edit has arguments").at("arguments")),
    })
}
