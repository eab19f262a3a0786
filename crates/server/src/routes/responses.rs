//! OpenAI's Responses: `POST /v1/responses`, and what belongs to it.
//!
//! A response that is kept is a part of a session: its id holds that of the run, and behind `~` the number of results that
//! the client gave the run before it. The next one goes on with the session, or with a fork of it where something else came
//! behind.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Session, is_read};
use attache_core::Document;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response as Reply;
use http::HeaderMap;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::answers_by_log::Answers;
use super::begin_run::{
    Place, RunRequest, answered, fresh_id, gather, name_session, named_session, seconds, streamed,
};
use super::body_and_agent::{Request, read_named};
use super::json_answer::json;
use super::runs_by_log::Stored;
use crate::agents::Hosted;
use crate::app::{App, allow};
use crate::auth::{Principal, Scope};
use crate::dialect::answer::{End, PauseForm, Piece, end, notice, unsaid};
use crate::dialect::responses::{Head, Response};
use crate::dialect::{Shown, Tell as _};
use crate::documents::images_with_content;
use crate::fault::Fault;
use crate::inbound::known_documents::KnownDocuments;
use crate::inbound::place::{Path, Query};
use crate::inbound::responses::{Body as Asked, echo};
use crate::inbound::tools;
use crate::json::Object;
use crate::live::{Follower, Live, Seen, Viewer};
use crate::resuming::{self, known};
use crate::sse;

const PREFIX: &str = "resp_";

/// The id of a response: the answer of a run to the client's results, of which there are so many.
fn response_id(run: &str, before: u32) -> String {
    match before {
        0 => format!("{PREFIX}{run}"),
        before => format!("{PREFIX}{run}~{before}"),
    }
}

/// The run of a response, and the number of results before it.
fn run_of(id: &str) -> Option<(&str, u32)> {
    let id = id.strip_prefix(PREFIX)?;
    match id.rsplit_once('~') {
        Some((run, before)) => Some((run, before.parse().ok().filter(|before| *before > 0)?)),
        None => Some((id, 0)),
    }
}

fn unknown() -> Fault {
    Fault::not_found("response")
}

pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    request: Body,
) -> Result<Reply, Fault> {
    let Request { said: mut asked, hosted, bytes } =
        read_named(&app, &principal, request, |asked: &Asked| &asked.model).await?;
    let hosted = &hosted;
    let echo = echo(&bytes);
    drop(bytes);
    let settings = asked.settings()?;
    let tools = asked.take_tools()?;
    let has_tools = !tools.is_empty();
    let tools = tools::tools(hosted.agent(), tools).await?;
    let known = KnownDocuments::new(principal.name(), &app.documents);
    let conversation = asked.take_conversation(known).await?;
    let on_disconnect = asked.on_disconnect();
    let run_request = RunRequest {
        app: &app,
        principal: &principal,
        hosted,
        on_disconnect,
        has_tools,
        is_whole: !asked.stream && !asked.background,
        is_numbered: true,
    };
    let named = named_session(&headers)?.or(asked.conversation().map(str::to_owned));
    if named.is_some() && asked.previous_response_id.is_some() {
        let message = "a response goes on with a conversation or with another response";
        return Err(Fault::invalid(message).at("previous_response_id"));
    }
    let answered = answered(&conversation);
    let place = match (&asked.previous_response_id, &named) {
        (Some(previous), _) => Place::Session(behind(&run_request, previous, !answered.is_empty()).await?),
        (None, Some(id)) => Place::Session(run_request.session(id).await?),
        (None, None) if asked.is_stored() && conversation.history.is_empty() && answered.is_empty() => {
            Place::Session(run_request.session("").await?)
        }
        // The client keeps the conversation itself. A run that was begun in a session goes on there.
        (None, None) => match run_request.waiting_session(&conversation) {
            Some(session) => Place::Session(session),
            None => Place::Request(fresh_id(PREFIX)),
        },
    };
    if asked.background && matches!(place, Place::Request(_)) {
        return Err(Fault::unsupported("background", "a response in the background must be kept"));
    }
    let viewer = run_request.start(&place, conversation, settings, tools).await?;
    let before = viewer.live().gives(0);
    let run = viewer.live().id.clone();
    let head = Head {
        id: match &place {
            Place::Request(id) => id.clone(),
            Place::Session(_) => response_id(&run, before),
        },
        created: seconds(),
        model: viewer.live().agent.to_string(),
        previous: asked.previous_response_id.clone(),
        conversation: named.and(viewer.live().session.clone()),
        is_background: asked.background,
        echo,
    };
    let told = Response::new(head, app.shown, PauseForm::of(matches!(place, Place::Session(_))));
    let mut response = match (asked.stream, asked.background) {
        (true, _) => streamed(viewer, told).await?,
        (false, true) => begun(&app, viewer, told).await?,
        (false, false) => {
            let mut told = told.whole();
            gather(viewer, &mut told).await;
            json(told.finish()?)
        }
    };
    if let Place::Session(session) = &place {
        name_session(Some(session), &mut response);
    }
    Ok(response)
}

/// A response that goes on without its client.
async fn begun(app: &App, mut viewer: Viewer, told: Response) -> Result<Reply, Fault> {
    resuming::begun(app, &mut viewer).await?;
    viewer.forget();
    Ok(json(told.body()))
}

/// The session in which a response goes on behind another one, whose calls it `answers` or not.
async fn behind(run_request: &RunRequest<'_>, previous: &str, answers: bool) -> Result<Session, Fault> {
    let unknown = || unknown().at("previous_response_id");
    let (run, before) = run_of(previous).ok_or_else(unknown)?;
    let stored = known(run_request.hosted, run_request.principal, run).await.map_err(|_| unknown())?;
    let (session, _) = stored.ok_or_else(unknown)?;
    if before > 0 {
        let told = Answers::of(&Stored::load(run_request.hosted, run_request.principal, run).await?)?;
        // The log may not have taken yet what the answer under way rests on.
        let live = run_request.app.runs.get(run_request.principal.name(), run);
        if before > told.last() && !live.is_some_and(|live| live.tells(before)) {
            return Err(unknown());
        }
    }
    let is_last = session.runs().await?.last().is_some_and(|last| last.id == run);
    match (is_last, answers) {
        (true, _) => Ok(session),
        (false, false) => Ok(session.fork(run).await?),
        (false, true) => Err(Fault::conflict("answered", "the calls take no results any more")),
    }
}

/// The events of a response that were not seen yet.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Streamed {
    #[serde(default)]
    stream: bool,
    starting_after: Option<u64>,
    model: Option<String>,
}

/// A response so far, or the one that was kept.
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(asked): Query<Streamed>,
    Path(id): Path<String>,
) -> Result<Reply, Fault> {
    allow(&principal, Scope::Read)?;
    let (run, before) = run_of(&id).ok_or_else(unknown)?;
    let live = app.runs.get(principal.name(), run);
    if let Some(live) = live
        && (asked.stream || !live.has_ended())
        && live.tells(before)
    {
        let began = began(&live).await;
        let told = Response::new(head_of(&id, &live.agent, began), app.shown, PauseForm::Words);
        if asked.stream {
            return Ok(sse::response(Viewer::of_answer(live), told.after(asked.starting_after), Vec::new()));
        }
        let (view, last) = live.answer_view();
        let mut told = told;
        sse::tell(&mut told, &Seen::View(Box::new(view), last), &mut Vec::new());
        return Ok(json(told.body()));
    }
    let hosted = &app.hosted(asked.model.as_deref())?;
    let kept = kept(&app, &principal, hosted, &id, run, before, asked.starting_after).await?;
    if !asked.stream {
        return Ok(json(kept.told.body()));
    }
    if kept.is_whole {
        return Ok(sse::written(kept.events));
    }
    // Another process drives it, or will. The log tells it from its beginning.
    let told = Response::new(head_of(&id, &hosted.name, kept.began), app.shown, PauseForm::Words);
    // The log says it in fewer pieces than the drive whose events the client has seen.
    let seen = asked.starting_after.is_none().then_some(0);
    let follower = Follower::new(Arc::clone(&app.runs), kept.session, run.to_owned(), seen);
    let follower = follower.of_answer(before).with_images(hosted.agent().store());
    Ok(sse::response(follower, told.after(asked.starting_after), Vec::new()))
}

/// A response by the log of its run.
struct Kept {
    session: Session,
    /// When its run began, in seconds since 1970.
    began: u64,
    told: Response,
    /// The events that tell it.
    events: Vec<u8>,
    /// False if its run is under way.
    is_whole: bool,
}

async fn kept(
    app: &App,
    principal: &Principal,
    hosted: &Hosted,
    id: &str,
    run: &str,
    before: u32,
    after: Option<u64>,
) -> Result<Kept, Fault> {
    let stored = Stored::load(hosted, principal, run).await.map_err(|fault| match fault.code() {
        "not_found" => unknown(),
        _ => fault,
    })?;
    let began = stored.info.began / 1000;
    let told = Response::new(head_of(id, &hosted.name, began), app.shown, PauseForm::Words);
    let (mut told, mut events) = (told.after(after), Vec::new());
    let images = images_with_content(&*hosted.agent().store(), stored.run.outcome().documents()).await;
    let mut is_whole = from_log(&mut told, &mut events, &stored, &images, before, app.shown)?;
    if !is_whole && let Some(failure) = stored.failure(app).await? {
        told.entry(&failure, &mut events);
        is_whole = true;
    }
    Ok(Kept { session: stored.session, began, told, events, is_whole })
}

/// The time at which a run that is known here began, in seconds since 1970, as its log has it.
async fn began(live: &Live) -> u64 {
    let runs = match live.in_session() {
        Some(session) => session.runs().await.unwrap_or_default(),
        None => Vec::new(),
    };
    runs.iter().find(|run| run.id == live.id).map_or_else(seconds, |run| run.began / 1000)
}

/// The head of a response of which the request is gone.
fn head_of(id: &str, model: &str, created: u64) -> Head {
    Head {
        id: id.to_owned(),
        created,
        model: model.to_owned(),
        previous: None,
        conversation: None,
        is_background: false,
        echo: serde_json::Map::new(),
    }
}

/// Tells an answer from the log of its run. False if the run has not come to the end of that answer.
fn from_log(
    told: &mut Response,
    out: &mut Vec<u8>,
    stored: &Stored,
    images: &[Document],
    before: u32,
    shown: Shown,
) -> Result<bool, Fault> {
    use attache_core::AssistantPart;
    let answers = Answers::of(stored)?;
    if before > answers.last() {
        return Err(unknown());
    }
    let outcome = &stored.outcome(shown);
    let usage = &answers.usage(before);
    let mut tell = |piece: Piece<'_>| told.piece(piece, out);
    let (mut spoke, mut last_spoke) = (false, false);
    for (_, read) in answers.replies.iter().filter(|(number, read)| *number == before && is_read(read)) {
        let attache_core::Message::Assistant(message) = &**read else { continue };
        let mut said = false;
        for part in &message.parts {
            match part {
                AssistantPart::Reasoning(reasoning) if !reasoning.text().is_empty() => {
                    tell(Piece::Thinking(reasoning.text()));
                }
                AssistantPart::Text(text) => {
                    if spoke && !std::mem::replace(&mut said, true) {
                        tell(Piece::Break);
                    }
                    (spoke, said) = (true, true);
                    tell(Piece::Text(text.text()));
                }
                _ => {}
            }
        }
        let made = |image: &&Document| message.documents().any(|made| made.id() == image.id());
        images.iter().filter(made).for_each(|image| tell(Piece::Made(image)));
        last_spoke = said;
    }
    for (index, call) in answers.calls(before).enumerate() {
        let arguments = call.arguments.replay_json();
        tell(Piece::Call { index, id: &call.id, name: &call.name, arguments });
    }
    if answers.asks(before) {
        tell(Piece::End { end: End::Calls, usage, total: &outcome.usage, outcome: None });
        return Ok(true);
    }
    if stored.is_under_way() {
        return Ok(false);
    }
    for citation in &outcome.citations {
        tell(Piece::Citation(citation));
    }
    let notice = notice(outcome);
    for words in unsaid(outcome, last_spoke).into_iter().chain(notice.as_deref()) {
        if std::mem::replace(&mut spoke, true) {
            tell(Piece::Break);
        }
        tell(Piece::Text(words));
    }
    match end(outcome, spoke) {
        Some(end) => tell(Piece::End { end, usage, total: &outcome.usage, outcome: Some(outcome) }),
        None => tell(Piece::Failed(match stored.run.failure() {
            Some(failure) => Fault::from(&failure),
            None => Fault::unanswered(&outcome.reason, outcome.detail.as_deref()),
        })),
    }
    Ok(true)
}

/// Ends a response that is under way, whoever drives its run.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(asked): Query<Streamed>,
    Path(id): Path<String>,
) -> Result<Reply, Fault> {
    allow(&principal, Scope::Run)?;
    let (run, before) = run_of(&id).ok_or_else(unknown)?;
    let hosted = &app.hosted(asked.model.as_deref())?;
    resuming::cancel(&app, &principal, hosted, run, "response").await?;
    if let Some(live) = app.runs.get(principal.name(), run).filter(|live| live.tells(before)) {
        let head = Head { is_background: true, ..head_of(&id, &live.agent, began(&live).await) };
        let mut told = Response::new(head, app.shown, PauseForm::Words).whole();
        gather(Viewer::of_answer(live), &mut told).await;
        return Ok(json(told.body()));
    }
    // Whoever drives it looks twice a second.
    let until = Instant::now() + ENDING;
    while Instant::now() < until {
        match known(hosted, &principal, run).await? {
            Some((_, info)) if info.ended.is_none() => sleep(LOOK).await,
            _ => break,
        }
    }
    let kept = kept(&app, &principal, hosted, &id, run, before, None).await?;
    Ok(json(kept.told.body()))
}

/// The time in which another process ends a run, and the pause between two looks whether it has.
const ENDING: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(200);

/// Forgets a response, which must be the only one of its session.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    Query(asked): Query<Streamed>,
    Path(id): Path<String>,
) -> Result<Reply, Fault> {
    allow(&principal, Scope::Run)?;
    let (run, _) = run_of(&id).ok_or_else(unknown)?;
    let hosted = app.hosted(asked.model.as_deref())?;
    let (session, _) = known(&hosted, &principal, run).await?.ok_or_else(unknown)?;
    if session.runs().await?.len() > 1 {
        let message =
            "other responses of the session rest on it; DELETE /v1/sessions/{id} forgets all of them";
        return Err(Fault::conflict("in_use", message));
    }
    hosted.sessions.clear(principal.name(), session.id().as_str()).await?;
    app.runs.clear(principal.name(), Some(session.id().as_str()));
    let mut body = Vec::new();
    Object::begin(&mut body).with("id", &id).with("object", "response").with("deleted", &true).end();
    Ok(json(body))
}
