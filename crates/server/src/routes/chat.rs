//! `POST /v1/chat/completions`.

use std::sync::Arc;
use std::time::SystemTime;

use attache_agent::{Journal, MemoryJournal, RunInput, RunOptions, Session, SubmitError, Tools, deliver};
use attache_core::{Message, ModelSettings, ToolCallId, fresh};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use tokio::time::{Instant, timeout_at};

use super::answer::json;
use super::resuming::failure;
use crate::app::{App, Way, allow, run_in};
use crate::auth::{Principal, Scope};
use crate::dialect::chat::{Chunks, Head, Wanted, Whole};
use crate::fault::Fault;
use crate::hosted::Hosted;
use crate::inbound::chat::{Body as Asked, Conversation, Extension as Extra};
use crate::inbound::{body, tools};
use crate::live::{CallState, Entry, Parking, Seen, View, Viewer, What};
use crate::parked::Parked;
use crate::sse;

/// The header that names the session, in requests and answers.
const SESSION: &str = "x-attache-session";
/// The header by which a client asks for the events of the run.
const EVENTS: &str = "x-attache-events";

pub(crate) async fn completions(
    State(app): State<Arc<App>>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    request: Body,
) -> Result<Response, Fault> {
    allow(&principal, Scope::Run)?;
    let bytes = body::bytes(request, app.limits.body, app.limits.body_time).await?;
    let mut asked: Asked = body::json(&bytes)?;
    drop(bytes);
    if asked.model.is_empty() {
        return Err(Fault::invalid("the model is missing").at("model"));
    }
    let hosted = &app.hosted(Some(&asked.model))?;
    let mut extra = asked.extension();
    if let Some(session) = headers.get(SESSION) {
        let session = std::str::from_utf8(session.as_bytes());
        extra.session = Some(session.map_err(|_| Fault::invalid("the header X-Attache-Session"))?.to_owned());
    }
    extra.events |= headers.get(EVENTS).is_some_and(|value| value != "0");
    let wanted = Wanted { usage: asked.wants_usage(), events: extra.events, shown: app.shown };
    let settings = asked.settings()?;
    let tools = asked.take_tools()?;
    let has_tools = !tools.is_empty();
    let tools = tools::tools(hosted.agent(), tools).await?;
    let conversation = asked.take_conversation(principal.name(), &app.documents).await?;
    let asking = Asking { app: &app, principal: &principal, hosted, extra: &extra, has_tools };
    let (viewer, session) = asking.start(conversation, settings, tools).await?;
    let id = viewer.live().id.clone();
    let head = Head { id: &id, created: seconds(), model: &hosted.name };
    let mut response = match asked.stream {
        true => streamed(viewer, &head, wanted).await?,
        false => json(whole(viewer, &head, wanted).await?),
    };
    let session = session.map(|session| HeaderValue::from_bytes(session.id().as_str().as_bytes()));
    if let Some(Ok(id)) = session {
        response.headers_mut().insert(SESSION, id);
    }
    Ok(response)
}

/// The seconds since 1970.
fn seconds() -> u64 {
    fresh::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

struct Asking<'a> {
    app: &'a App,
    principal: &'a Principal,
    hosted: &'a Hosted,
    extra: &'a Extra,
    /// True if the client answers calls.
    has_tools: bool,
}

impl Asking<'_> {
    /// Starts the run, or goes on with the one whose calls are answered.
    async fn start(
        &self,
        conversation: Conversation,
        settings: Option<ModelSettings>,
        tools: Tools,
    ) -> Result<(Viewer, Option<Session>), Fault> {
        let settings = settings.map(|settings| self.hosted.agent().settings().merged(&settings));
        let mut options = RunOptions::new().with_tools(tools);
        if let Some(settings) = settings {
            options = options.with_settings(settings);
        }
        match self.extra.session.as_deref() {
            Some(id) => {
                let sessions = &self.hosted.sessions;
                let session = sessions.open(self.principal.name(), Some(id).filter(|id| !id.is_empty()));
                let session = session.await?;
                let viewer = self.in_session(&session, conversation, options).await?;
                Ok((viewer, Some(session)))
            }
            None => {
                let options = options.with_principal(self.principal.name());
                Ok((self.alone(conversation, options).await?, None))
            }
        }
    }

    fn way(&self, parking: Option<Parking>, answered: Vec<ToolCallId>) -> Way {
        Way { on_disconnect: self.extra.on_disconnect.map(Into::into), pauses: true, parking, answered }
    }

    /// A run of a session, which has the history: only what is new counts.
    async fn in_session(
        &self,
        session: &Session,
        conversation: Conversation,
        options: RunOptions,
    ) -> Result<Viewer, Fault> {
        let answered = answered(&conversation);
        let (id, run) = match answered.is_empty() {
            true => {
                let id = run_in(session);
                let input = RunInput::new(conversation.new).with_run_id(&id).with_options(options);
                (id, session.run(input))
            }
            false => {
                let last = session.last().await?.ok_or_else(|| Fault::not_found("call"))?;
                let journal = session.journal_of(&last.run_id);
                answer(&*journal, &conversation).await?;
                let run = session.resume_with(options);
                inject(&run.control(), &conversation)?;
                (last.run_id, run)
            }
        };
        let way = self.way(None, answered);
        self.app.start(self.principal, self.hosted, Some(session), id, run, way)
    }

    /// A run without a session: the client has the history.
    async fn alone(&self, conversation: Conversation, options: RunOptions) -> Result<Viewer, Fault> {
        let id = format!("chatcmpl-{}", fresh::uuid().replace('-', ""));
        let agent = self.hosted.agent();
        let answered = answered(&conversation);
        let calls: Vec<&str> = answered.iter().map(ToolCallId::as_str).collect();
        let parked = match calls.is_empty() {
            true => None,
            false => self.app.parked.take(self.principal.name(), &self.hosted.name, &calls),
        };
        let (run, parking) = match parked {
            Some(journal) => {
                answer(&*journal, &conversation).await?;
                let run = agent.resume_with(Arc::clone(&journal), options);
                inject(&run.control(), &conversation)?;
                (run, Some(self.parking(journal, true)))
            }
            None => {
                let mut history = conversation.history;
                if let Some(system) = conversation.system {
                    // The agent's own instructions stand, and come first.
                    let system = match agent.instructions() {
                        Some(own) => format!("{own}\n\n{system}"),
                        None => system,
                    };
                    history.insert(0, Message::system(system).shared());
                }
                let input = RunInput::new(conversation.new)
                    .with_history(history)
                    .with_run_id(&id)
                    .with_options(options);
                match self.has_tools {
                    false => (agent.run(input), None),
                    true => {
                        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
                        (agent.run_in(Arc::clone(&journal), input), Some(self.parking(journal, false)))
                    }
                }
            }
        };
        self.app.start(self.principal, self.hosted, None, id, run, self.way(parking, answered))
    }

    /// Keeps a run that waits for the client, if the agent's own tools did something in it.
    fn parking(&self, journal: Arc<dyn Journal>, was_parked: bool) -> Parking {
        let parked: Arc<Parked> = Arc::clone(&self.app.parked);
        let (principal, agent) = (self.principal.shared(), Arc::clone(&self.hosted.name));
        Box::new(move |view: &View| {
            if was_parked || view.calls().any(|call| matches!(call.state, CallState::Finished(_))) {
                let calls = view.client_calls().map(|call| call.id.as_str().to_owned()).collect();
                parked.keep(Arc::clone(&principal), Arc::clone(&agent), calls, Arc::clone(&journal));
            }
        })
    }
}

/// The calls whose results a request brings.
fn answered(conversation: &Conversation) -> Vec<ToolCallId> {
    conversation.results().map(|result| result.call_id.clone()).collect()
}

/// Delivers the results of a request to the run that waits for them. A result that came before, in a request that was
/// sent twice, stands.
async fn answer(journal: &dyn Journal, conversation: &Conversation) -> Result<(), Fault> {
    let mut refused = None;
    let mut count = 0;
    for result in conversation.results() {
        count += 1;
        match deliver(journal, result.clone()).await {
            Ok(()) => {}
            Err(error @ SubmitError::DuplicateResult { .. }) => refused = Some((count, error)),
            Err(error) => return Err(error.into()),
        }
    }
    match refused {
        Some((_, error)) if count == 1 => Err(error.into()),
        _ => Ok(()),
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

/// The whole answer.
async fn whole(mut viewer: Viewer, head: &Head<'_>, wanted: Wanted) -> Result<Vec<u8>, Fault> {
    let mut whole = Whole::default();
    while let Some(seen) = viewer.next().await {
        match seen {
            Seen::Entries(entries) => entries.iter().for_each(|entry| whole.entry(entry)),
            Seen::View(view, _) => whole.view(&view),
        }
    }
    whole.finish(head, wanted)
}

/// The answer as chunks. The head waits until there is something to tell, so that a failure before has its own status.
async fn streamed(mut viewer: Viewer, head: &Head<'_>, wanted: Wanted) -> Result<Response, Fault> {
    let mut chunks = Chunks::new(head, wanted);
    let mut written = Vec::new();
    let beat = Instant::now() + sse::HEARTBEAT;
    while let Ok(Some(seen)) = timeout_at(beat, viewer.next()).await {
        let Seen::Entries(entries) = &seen else {
            sse::tell(&mut chunks, &seen, &mut written);
            break;
        };
        if let Some(fault) = entries.iter().find_map(failure) {
            return Err(fault);
        }
        sse::tell(&mut chunks, &seen, &mut written);
        if !entries.iter().all(|entry| is_prelude(entry)) {
            break;
        }
    }
    Ok(sse::response(viewer, chunks, written))
}

/// True if an entry comes before the model has been heard.
fn is_prelude(entry: &Entry) -> bool {
    use attache_agent::EventKind as Kind;
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
            | Kind::Warning { .. }
    )
}
