//! A request for an answer, in whatever dialect: the run that it begins or goes on with, and its answer.

use std::sync::Arc;
use std::time::SystemTime;

use attache_agent::{
    AgentRun, Decision, Journal, MemoryJournal, RunInput, RunOptions, Session, SubmitError, decide,
    deliver_with,
};
use attache_core::{Message, ModelSettings, Role, ToolCallId, fresh};
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout_at};

use super::answers_by_log::Answers;
use super::runs_by_log::{Stored, has_heard, has_work};
use crate::agents::Hosted;
use crate::app::{App, Way};
use crate::auth::Principal;
use crate::dialect::Tell;
use crate::fault::Fault;
use crate::inbound::conversation::Conversation;
use crate::inbound::tools::Offered;
use crate::live::{Entry, OnDisconnect, Parking, Seen, Viewer, What};
use crate::paused_runs::{Kept, Taken};
use crate::record::Of;
use crate::request;
use crate::resuming::{began_with, failure};
use crate::sse;

/// The header that names the session, in requests and answers.
pub(super) const SESSION: &str = "x-attache-session";

/// The session that the header of a request names.
pub(super) fn named_session(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(session) = headers.get(SESSION) else { return Ok(None) };
    let session = std::str::from_utf8(session.as_bytes());
    let session = session.map_err(|_| Fault::invalid("the header X-Attache-Session is no text"))?;
    Ok(Some(session.to_owned()))
}

/// Names the session in the answer.
pub(super) fn name_session(session: Option<&Session>, response: &mut Response) {
    let session = session.map(|session| HeaderValue::from_bytes(session.id().as_str().as_bytes()));
    if let Some(Ok(id)) = session {
        response.headers_mut().insert(SESSION, id);
    }
}

/// The milliseconds since 1970.
pub(super) fn millis() -> u64 {
    let since = fresh::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The seconds since 1970.
pub(super) fn seconds() -> u64 {
    millis() / 1000
}

/// An id that begins with a word.
pub(super) fn fresh_id(word: &str) -> String {
    format!("{word}{}", fresh::uuid().replace('-', ""))
}

/// Where the conversation is kept.
pub(super) enum Place {
    /// The client sends all of it. The run has this id.
    Request(String),
    /// A session has the history.
    Session(Session),
}

/// The decisions about calls that a request brings.
#[derive(Default)]
pub(super) struct Decisions {
    /// Those that approvals wait for.
    pub(super) open: Vec<(String, Decision)>,
    /// Those of approvals that are settled, of which the first one stands, or that there are not.
    pub(super) others: Vec<(String, Decision)>,
}

/// A request that begins a run or goes on with one, whatever its dialect.
pub(super) struct RunRequest<'a> {
    pub(super) app: &'a App,
    pub(super) principal: &'a Principal,
    pub(super) hosted: &'a Hosted,
    pub(super) on_disconnect: Option<OnDisconnect>,
    /// True if the client answers calls.
    pub(super) has_tools: bool,
    /// True if the client takes the answer whole.
    pub(super) is_whole: bool,
    /// True if the answers of a run have numbers.
    pub(super) is_numbered: bool,
}

impl RunRequest<'_> {
    /// The session of that id, which is made where there is none; a new one for an empty id.
    pub(super) async fn session(&self, id: &str) -> Result<Session, Fault> {
        let id = Some(id).filter(|id| !id.is_empty());
        Ok(self.hosted.sessions.open(self.principal.name(), id).await?)
    }

    /// The session of a run that waits for just the results that the request brings.
    pub(super) fn waiting_session(&self, conversation: &Conversation) -> Option<Session> {
        let answered = answered(conversation);
        let calls: Vec<&str> = answered.iter().map(ToolCallId::as_str).collect();
        match calls.is_empty() {
            true => None,
            false => self.app.parked.session(self.principal.name(), &calls),
        }
    }

    /// Starts the run, or goes on with the one whose calls are answered.
    pub(super) async fn start(
        &self,
        place: &Place,
        mut conversation: Conversation,
        settings: Option<ModelSettings>,
        tools: Offered,
    ) -> Result<Viewer, Fault> {
        let offered = tools.with_settings(settings).with_instructions(conversation.system.take());
        let offered = offered.that_pauses();
        if matches!(place, Place::Session(_)) {
            offered.keep_among(&mut conversation.new);
        }
        match place {
            Place::Session(session) => self.in_session(session, conversation, offered).await,
            Place::Request(id) => self.alone(id, conversation, offered).await,
        }
    }

    /// Refuses tools of the client that do not fit to an agent which goes on although the request names another one.
    async fn fit(&self, offered: &Offered, hosted: &Hosted) -> Result<(), Fault> {
        match hosted.name == self.hosted.name {
            true => Ok(()),
            false => offered.fit(hosted.agent()).await,
        }
    }

    fn options(&self, offered: Offered, hosted: &Hosted) -> RunOptions {
        let options = offered.options(hosted.agent());
        match self.is_whole {
            // The client sees nothing before the end, and others who look on see the text at once.
            true => options.with_streaming(false),
            false => options,
        }
    }

    fn parking(&self, hosted: &Hosted, kept: Kept, always: bool) -> Parking {
        self.app.parked.parking(self.principal.shared(), Arc::clone(&hosted.name), kept, always)
    }

    fn way(&self, parking: Option<Parking>, answered: Vec<ToolCallId>) -> Way {
        Way { on_disconnect: self.on_disconnect, pauses: true, parking, answered, ..Way::default() }
    }

    /// A run of a session, which has the history: only what is new counts.
    async fn in_session(
        &self,
        session: &Session,
        conversation: Conversation,
        offered: Offered,
    ) -> Result<Viewer, Fault> {
        if !answered(&conversation).is_empty() {
            let has_calls = conversation.new.iter().any(|message| message.role() == Role::Assistant);
            match session.last().await? {
                // Apart, since the future of each request, which is moved several times, would have room for it.
                Some(last) => {
                    let none = Decisions::default();
                    return Box::pin(self.resume(session, last.run_id, conversation, offered, none)).await;
                }
                // A conversation that was held elsewhere has its calls and their results in itself.
                None if has_calls => {}
                None => return Err(Fault::not_found("call")),
            }
        }
        let id = session.id().fresh_run();
        let options = self.options(offered, self.hosted);
        let input = RunInput::new(conversation.new).with_run_id(&id).with_options(options);
        let run = session.run(input);
        self.drive(self.hosted, session, id, run, self.way(None, Vec::new()))
    }

    /// Goes on with the last run of a session, with the agent that it began with. The room for it, its tools and its results
    /// are looked at before it decides anything.
    pub(super) async fn resume(
        &self,
        session: &Session,
        id: String,
        conversation: Conversation,
        offered: Offered,
        decisions: Decisions,
    ) -> Result<Viewer, Fault> {
        let (hosted, session) = began_with(self.app, self.principal, self.hosted, session, &id).await?;
        self.fit(&offered, &hosted).await?;
        let _reserved = self.app.runs.reserve(self.principal.name(), &id)?;
        let answered = answered(&conversation);
        let answer_number = match self.is_numbered {
            true => {
                let stored = Stored::load(&hosted, self.principal, &id).await?;
                Some(Answers::of(&stored)?.behind(&answered))
            }
            false => None,
        };
        let journal = session.journal_of(&id);
        // Those that stand were taken down when they were made.
        for (approval, decision) in decisions.others {
            decide(&*journal, &approval, self.principal.name(), decision).await?;
        }
        let is_heard = answer(&*journal, &hosted, &conversation).await?;
        self.decide(&*journal, &hosted, &session, &id, decisions.open).await?;
        let run = session.resume_with(self.options(offered, &hosted));
        if !is_heard {
            inject(&run.control(), &conversation)?;
        }
        // Others who look at the run are told of its beginning, too.
        let way = Way { goes_on: true, answer: answer_number, ..self.way(None, answered) };
        self.drive(&hosted, &session, id, run, way)
    }

    /// Records decisions about calls of a run.
    async fn decide(
        &self,
        journal: &dyn Journal,
        hosted: &Hosted,
        session: &Session,
        run: &str,
        decisions: Vec<(String, Decision)>,
    ) -> Result<(), Fault> {
        for (approval, decision) in decisions {
            let decided = decide(journal, &approval, self.principal.name(), decision).await?;
            let (request, by) = (request::id(), self.principal.shared());
            let of = Of {
                request: request.as_ref(),
                principal: &by,
                agent: &hosted.name,
                session: Some(session.id().as_str()),
                run,
                is_mounted: false,
            };
            self.app.record.decided(of, &decided);
        }
        Ok(())
    }

    fn drive(
        &self,
        hosted: &Hosted,
        session: &Session,
        id: String,
        run: AgentRun,
        way: Way,
    ) -> Result<Viewer, Fault> {
        let parking = self.has_tools.then(|| self.parking(hosted, Kept::Session(session.clone()), true));
        self.app.start(self.principal, hosted, Some(session), id, run, Way { parking, ..way })
    }

    /// A run without a session: the client has the history.
    async fn alone(&self, id: &str, conversation: Conversation, offered: Offered) -> Result<Viewer, Fault> {
        let answered = answered(&conversation);
        let calls: Vec<&str> = answered.iter().map(ToolCallId::as_str).collect();
        if !calls.is_empty()
            && let Some(parked) = self.app.parked.take(self.principal.name(), &calls)
        {
            // Apart, as those of sessions are.
            return Box::pin(self.resume_alone(id, parked, conversation, offered)).await;
        }
        let options = self.options(offered, self.hosted).with_principal(self.principal.name());
        let input = RunInput::new(conversation.new).with_history(conversation.history);
        let input = input.with_run_id(id).with_options(options);
        let (run, parking) = match self.has_tools {
            false => (self.hosted.agent().run(input), None),
            true => {
                let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
                let run = self.hosted.agent().run_in(Arc::clone(&journal), input);
                (run, Some(self.parking(self.hosted, Kept::Log(journal), false)))
            }
        };
        self.app.start(self.principal, self.hosted, None, id.to_owned(), run, self.way(parking, answered))
    }

    /// Goes on with a run without a session, with the agent that it began with.
    async fn resume_alone(
        &self,
        id: &str,
        parked: Taken<'_>,
        conversation: Conversation,
        offered: Offered,
    ) -> Result<Viewer, Fault> {
        let (Some(agent), Some(journal)) = (parked.agent(), parked.log()) else {
            return Err(Fault::not_found("run"));
        };
        let own = self.app.agents.get(Some(&agent));
        let hosted = own.as_ref().unwrap_or(self.hosted);
        self.fit(&offered, hosted).await?;
        let is_heard = answer(&*journal, hosted, &conversation).await?;
        let options = self.options(offered, hosted).with_principal(self.principal.name());
        let run = hosted.agent().resume_with(Arc::clone(&journal), options);
        if !is_heard {
            inject(&run.control(), &conversation)?;
        }
        let way = self.way(Some(self.parking(hosted, Kept::Log(journal), true)), answered(&conversation));
        let viewer = self.app.start(self.principal, hosted, None, id.to_owned(), run, way)?;
        parked.goes_on();
        Ok(viewer)
    }
}

/// The calls whose results a request brings.
pub(super) fn answered(conversation: &Conversation) -> Vec<ToolCallId> {
    conversation.results().map(|result| result.call_id.clone()).collect()
}

/// Delivers the results of a request to the run that waits for them. A result that came before, in a request that was
/// sent twice, stands. True if the log has what the user says beside them, too.
async fn answer(journal: &dyn Journal, hosted: &Hosted, conversation: &Conversation) -> Result<bool, Fault> {
    let store = hosted.agent().store();
    let mut refused = None;
    let mut count = 0;
    for result in conversation.results() {
        count += 1;
        match deliver_with(journal, &*store, result.clone()).await {
            Ok(()) => {}
            // The run that goes on tells the model that no result came in time, which says as much.
            Err(SubmitError::Overdue { .. }) if result.is_error() => {}
            Err(error @ SubmitError::DuplicateResult { .. }) => refused = Some((&result.call_id, error)),
            Err(error) => return Err(error.into()),
        }
    }
    match refused {
        // If the request before came no further, nobody has gone on with the run: this one does.
        Some((call, error)) if count == 1 && !has_work(journal, call).await? => Err(error.into()),
        Some(_) => has_heard(journal, &answered(conversation)).await,
        None => Ok(false),
    }
}

/// Gives a run that goes on what the user says beside the results.
fn inject(control: &attache_agent::Control, conversation: &Conversation) -> Result<(), Fault> {
    for message in &conversation.new {
        if let Message::User(message) = &**message {
            control.inject(message.clone())?;
        }
    }
    Ok(())
}

/// Watches a run to its end, for an answer that is told as a whole.
pub(super) async fn gather(viewer: Viewer, whole: &mut impl Tell) {
    let mut viewer = viewer.in_lots();
    let mut unsent = Vec::new();
    while let Some(seen) = viewer.next().await {
        sse::tell(whole, &seen, &mut unsent);
        unsent.clear();
    }
}

/// The answer as a stream. The head waits until there is something to tell, so that a failure before has its own status.
pub(super) async fn streamed(mut viewer: Viewer, mut dialect: impl Tell) -> Result<Response, Fault> {
    let mut written = Vec::new();
    let beat = Instant::now() + sse::HEARTBEAT;
    while let Ok(Some(seen)) = timeout_at(beat, viewer.next()).await {
        let Seen::Entries(entries) = &seen else {
            sse::tell(&mut dialect, &seen, &mut written);
            break;
        };
        if let Some(fault) = entries.iter().find_map(failure) {
            return Err(fault);
        }
        sse::tell(&mut dialect, &seen, &mut written);
        if !entries.iter().all(|entry| is_prelude(entry)) {
            break;
        }
    }
    Ok(sse::response(viewer, dialect, written))
}

/// True if an entry comes before the model has been heard.
fn is_prelude(entry: &Entry) -> bool {
    use attache_agent::EventKind as Kind;
    use attache_core::FinishReason;
    let What::Event(event) = &entry.what else { return false };
    matches!(
        event.kind,
        Kind::RunStarted { .. }
            | Kind::HistoryRepaired(_)
            | Kind::WindowMoved { .. }
            | Kind::Compacted { .. }
            | Kind::DocumentsRouted(_)
            | Kind::DocumentsLeftOut { .. }
            | Kind::ToolsOffered { .. }
            | Kind::StepStarted { .. }
            // The failure comes next.
            | Kind::StepFinished { finish_reason: FinishReason::Error, .. }
            | Kind::Warning { .. }
    )
}
