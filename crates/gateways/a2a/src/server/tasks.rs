//! Tasks: runs of sessions, driven here, and read from where sessions are kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use attache_agent::{AgentRun, Control, DecideError, EventKind, RunInput, Session, SessionError, Sessions};
use attache_core::{DocumentStore, UserMessage};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::error::Refusal;
use super::message::{input, is_taken};
use super::notify::Notifications;
use super::step::{Come, Questions, Step};
use super::view::{Logged, View, Wanted, failure_to_tell};
use crate::card::{base64url, from_base64url};
use crate::wire::{A2aState, Message, Part};

/// The time that a run may take to let its session go, once its log says that it stops.
pub(super) const STOPPING: Duration = Duration::from_secs(2);
/// The same for one that told that it asks: it stops at once, or waits for the answer itself.
const SETTLING: Duration = Duration::from_millis(200);
/// The maximum number of bytes of documents in an answer.
const MOST_BYTES: usize = 32 << 20;
/// The maximum number of failed tasks that are remembered.
const MOST_FAILED: usize = 1_000;
/// The maximum number of sessions and runs that a list looks at.
const MOST_LISTED: usize = 500;

/// A run that is driven here.
struct Live {
    control: Control,
    step: watch::Receiver<Step>,
    progress: watch::Receiver<Come>,
    driver: AbortHandle,
}

/// The tasks of an agent.
pub(crate) struct Tasks {
    pub(crate) sessions: Sessions,
    pub(crate) store: Option<Arc<dyn DocumentStore>>,
    pub(crate) gives_documents: bool,
    pub(crate) caller_approves: bool,
    pub(crate) notifications: Option<Notifications>,
    /// The media types that the card names for messages.
    pub(crate) input: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: HashMap<String, Live>,
    /// Tasks whose drivers failed; their runs have not ended.
    failed: Vec<(String, String)>,
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for live in self.lock().live.values() {
            live.driver.abort();
        }
    }
}

/// The place of a task: a run in a session.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) id: String,
    pub(crate) run: String,
    pub(crate) context: String,
}

impl Place {
    /// The id of a run of the session has the context already, which may have any sign: the word behind it is enough.
    fn new(run: &str, context: &str) -> Self {
        let word = run.strip_prefix(context).filter(|word| word.starts_with('.')).unwrap_or(run);
        let id = format!("{word}.{}", base64url(context.as_bytes()));
        Self { id, run: run.to_owned(), context: context.to_owned() }
    }

    /// The id of a task says where it is, so that nothing has to be kept of it elsewhere.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let (run, context) = id.rsplit_once('.')?;
        let context = String::from_utf8(from_base64url(context)?).ok()?;
        let run = if run.starts_with('.') { format!("{context}{run}") } else { run.to_owned() };
        Some(Self { id: id.to_owned(), run, context })
    }
}

fn refused(error: &SessionError) -> Refusal {
    match error {
        SessionError::NotFound => Refusal::TaskNotFound,
        SessionError::Busy { .. } | SessionError::QueueFull { .. } => {
            Refusal::Unsupported("another task of the conversation is worked on")
        }
        SessionError::InvalidId | SessionError::Nul { .. } => {
            Refusal::InvalidParams("`contextId` cannot be used")
        }
        error => {
            tracing::warn!(%error, "a session of an A2A task fails");
            Refusal::Internal
        }
    }
}

impl Tasks {
    pub(crate) fn new(sessions: Sessions) -> Self {
        Self {
            sessions,
            store: None,
            gives_documents: true,
            caller_approves: false,
            notifications: None,
            input: vec!["*/*".to_owned()],
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something of a run that is driven here. One whose driver panicked is driven no more, although nobody noted it.
    fn live<T>(&self, id: &str, of: impl FnOnce(&Live) -> T) -> Option<T> {
        self.lock().live.get(id).filter(|live| !live.driver.is_finished()).map(of)
    }

    pub(crate) fn step(&self, id: &str) -> Option<watch::Receiver<Step>> {
        self.live(id, |live| live.step.clone())
    }

    /// The progress of the calls of a run that is driven here.
    pub(crate) fn progress(&self, id: &str) -> Option<watch::Receiver<Come>> {
        self.live(id, |live| live.progress.clone())
    }

    pub(super) fn control(&self, id: &str) -> Option<Control> {
        self.live(id, |live| live.control.clone())
    }

    pub(super) async fn session(&self, principal: &str, place: &Place) -> Result<Session, Refusal> {
        self.sessions.get(principal, &place.context).await.map_err(|error| refused(&error))
    }

    pub(super) async fn logged(session: &Session, place: &Place) -> Result<Option<Logged>, Refusal> {
        let entries = session.journal_of(&place.run).load().await.map_err(|error| {
            tracing::warn!(%error, "the log of an A2A task cannot be read");
            Refusal::Internal
        })?;
        Ok(Logged::read(&entries))
    }

    /// Takes a message: a new task, or the answer to one that asks. Yields its place once it has begun.
    pub(crate) async fn send(self: &Arc<Self>, principal: &str, message: Message) -> Result<Place, Refusal> {
        let takes = |part: &Part| part.media_type.as_deref().is_none_or(|said| is_taken(&self.input, said));
        if !message.parts.iter().all(takes) {
            return Err(Refusal::ContentType);
        }
        let input = input(&message)?;
        match &message.task {
            Some(task) => self.go_on(principal, task, &message, input).await,
            None => self.begin(principal, message.context.as_deref(), input).await,
        }
    }

    async fn begin(
        self: &Arc<Self>,
        principal: &str,
        context: Option<&str>,
        input: UserMessage,
    ) -> Result<Place, Refusal> {
        let session = self.sessions.open(principal, context).await.map_err(|error| refused(&error))?;
        let place = Place::new(&session.id().fresh_run(), session.id().as_str());
        let input = RunInput::from(input).with_run_id(place.run.clone());
        self.drive(&place, session.run(input)).await?;
        Ok(place)
    }

    /// Drives a run in the background, and waits until it has begun.
    pub(super) async fn drive(self: &Arc<Self>, place: &Place, run: AgentRun) -> Result<(), Refusal> {
        self.drive_to(place, run, false).await
    }

    /// The same; `cancels` stops a run as soon as it has its log.
    async fn drive_to(
        self: &Arc<Self>,
        place: &Place,
        mut run: AgentRun,
        cancels: bool,
    ) -> Result<(), Refusal> {
        let control = run.control();
        let canceller = Some(run.control()).filter(|_| cancels);
        let (sender, mut step) = watch::channel(Step::Starting);
        let (tells, progress) = watch::channel(Come::default());
        let (tasks, id) = (Arc::downgrade(self), place.id.clone());
        let driving = async move {
            let mut questions = Questions::default();
            while let Some(event) = run.next().await {
                if let Some(canceller) = &canceller {
                    canceller.cancel();
                }
                if !matches!(event.kind, EventKind::Finished(_)) {
                    questions.hear(&event.kind, &sender);
                }
                match event.kind {
                    EventKind::ToolProgress { id, progress } => {
                        tells.send_modify(|come| come.hear(id, *progress));
                    }
                    EventKind::ToolFinished { result, .. } => {
                        tells.send_if_modified(|come| come.end(&result.call_id));
                    }
                    EventKind::Finished(result) => {
                        let last = match &result {
                            Ok(_) => Step::Over,
                            Err(error) => match (error.session_error(), error.decide_error()) {
                                (Some(error), _) => Step::Refused(refused(error)),
                                (None, Some(DecideError::Open { .. })) => {
                                    Step::Refused(Refusal::Unsupported(
                                        "a call of another task of the conversation waits for approval",
                                    ))
                                }
                                (None, _) => Step::Over,
                            },
                        };
                        let failed = result.err().filter(|_| matches!(last, Step::Over));
                        if let Some(error) = &failed {
                            tracing::error!(task = id, %error, "a task failed");
                        }
                        over(&tasks, &id, failed.as_ref().map(failure_to_tell));
                        sender.send_replace(last);
                    }
                    _ => {}
                }
            }
        };
        {
            let mut state = self.lock();
            // Somebody else was quicker; its control must not be lost.
            if state.live.get(&place.id).is_some_and(|live| !live.driver.is_finished()) {
                return Err(Refusal::Unsupported("the task is worked on"));
            }
            state.failed.retain(|(id, _)| *id != place.id);
            let driver = tokio::spawn(driving).abort_handle();
            state.live.insert(place.id.clone(), Live { control, step: step.clone(), progress, driver });
        }
        let begun = step.wait_for(|step| !matches!(step, Step::Starting)).await;
        match begun.map(|step| step.clone()) {
            Ok(Step::Refused(refusal)) => Err(refusal),
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::Internal),
        }
    }

    /// Waits until a task that is driven here stops.
    pub(crate) async fn stopped(&self, place: &Place) {
        if let Some(mut step) = self.step(&place.id) {
            let _ = step.wait_for(|step| step.has_stopped()).await;
        }
    }

    /// Waits until there is something to tell of a task that is driven here: it stops, or asks what is not answered yet.
    pub(crate) async fn halted(&self, principal: &str, place: &Place) {
        let Some(mut step) = self.step(&place.id) else { return };
        loop {
            match step.wait_for(Step::is_to_tell).await {
                Ok(step) if !step.has_stopped() => {}
                _ => return,
            }
            // An answer is in the log before the run takes it.
            let Ok(session) = self.session(principal, place).await else { return };
            let Ok(Some(logged)) = Self::logged(&session, place).await else { return };
            if logged.asks() || step.changed().await.is_err() {
                return;
            }
        }
    }

    /// A task as it is now. One that nobody drives any more, since its process died, goes on.
    pub(crate) async fn view(
        self: &Arc<Self>,
        principal: &str,
        id: &str,
        wanted: Wanted,
    ) -> Result<(Place, View), Refusal> {
        let place = Place::parse(id).ok_or(Refusal::TaskNotFound)?;
        let session = self.session(principal, &place).await?;
        let mut logged = Self::logged(&session, &place).await?.ok_or(Refusal::TaskNotFound)?;
        // A client that is told of its end or its question may send the next message at once. A run that waits for the answer
        // itself, for a while, does not stop: it tells that it asks.
        if (logged.asks() || logged.has_ended)
            && let Some(mut step) = self.step(&place.id)
        {
            let asks = |step: &Step| step.has_stopped() || (!logged.has_ended && step.is_to_tell());
            let _ = tokio::time::timeout(STOPPING, step.wait_for(asks)).await;
            let _ = tokio::time::timeout(SETTLING, self.stopped(&place)).await;
            // The answer to its question may have been on its way.
            logged = Self::logged(&session, &place).await?.ok_or(Refusal::TaskNotFound)?;
        }
        let mut left = MOST_BYTES;
        let mut view = self.shown(&place, &logged, &mut left, wanted).await;
        let failed = {
            let state = self.lock();
            let failed = state.failed.iter().find(|(id, _)| *id == place.id);
            failed.map(|(_, why)| why.clone())
        };
        match failed {
            Some(why) if !logged.has_ended && !logged.asks() => {
                view.state = A2aState::Failed;
                view.said = Some(why);
            }
            _ if view.state == A2aState::Working && self.step(&place.id).is_none() => {
                self.take_up(&session, &place, &logged).await;
            }
            _ => {}
        }
        Ok((place, view))
    }

    /// A task with as many bytes of documents as are left.
    async fn shown(&self, place: &Place, logged: &Logged, left: &mut usize, wanted: Wanted) -> View {
        let store = self.store.as_ref().map(|store| (store, self.sessions.agent()));
        let wanted = Wanted { artifacts: wanted.artifacts && self.gives_documents, ..wanted };
        let mut view = logged.view(&place.id, &place.context, store, wanted, left).await;
        // The arguments of calls are for those who decide about them.
        view.asks = view.asks.filter(|_| self.caller_approves);
        view
    }

    /// Goes on with the last run of a session, where it is one that was left.
    pub(super) async fn take_up(self: &Arc<Self>, session: &Session, place: &Place, logged: &Logged) {
        let last = session.runs().await.ok().and_then(|mut runs| runs.pop());
        let is_last = last.is_some_and(|run| run.id == place.run);
        if !is_last {
            return;
        }
        // Somebody else may drive it, and has its lease then.
        if let Err(refusal) = Box::pin(self.drive(place, session.resume())).await {
            tracing::debug!(?refusal, waits = logged.waits(), "an A2A task is not taken up here");
        }
    }

    /// Cancels a task, and yields it as it is then.
    pub(crate) async fn cancel(self: &Arc<Self>, principal: &str, id: &str) -> Result<View, Refusal> {
        let place = Place::parse(id).ok_or(Refusal::TaskNotFound)?;
        let session = self.session(principal, &place).await?;
        let logged = Self::logged(&session, &place).await?.ok_or(Refusal::TaskNotFound)?;
        if logged.has_ended {
            return Err(Refusal::NotCancelable);
        }
        match self.control(&place.id) {
            Some(control) => control.cancel(),
            None => self.drive_to(&place, session.resume(), true).await?,
        }
        self.stopped(&place).await;
        let (_, view) = self.view(principal, id, Wanted::ALL).await?;
        Ok(view)
    }

    /// The tasks of a principal with their states, the newest first. Nothing else of them is held in memory.
    pub(crate) async fn list(&self, principal: &str, context: Option<&str>) -> Result<Vec<Listed>, Refusal> {
        let contexts: Vec<String> = match context {
            Some(context) => vec![context.to_owned()],
            None => {
                let all = self.sessions.list(principal).await.map_err(|error| refused(&error))?;
                all.into_iter().take(MOST_LISTED).map(|session| session.id.as_str().to_owned()).collect()
            }
        };
        let mut listed = Vec::new();
        for context in contexts {
            let session = match self.sessions.get(principal, &context).await {
                Ok(session) => session,
                Err(SessionError::NotFound) => continue,
                Err(error) => return Err(refused(&error)),
            };
            for run in session.runs().await.map_err(|error| refused(&error))?.into_iter().rev() {
                if listed.len() >= MOST_LISTED {
                    break;
                }
                let place = Place::new(&run.id, &context);
                if let Some(logged) = Self::logged(&session, &place).await? {
                    listed.push(Listed { place, state: logged.state(), at: logged.at });
                }
            }
        }
        listed.sort_by_key(|task| std::cmp::Reverse(task.at));
        Ok(listed)
    }

    /// The tasks of a page; all of them together have as many bytes of documents as one.
    pub(crate) async fn page(
        &self,
        principal: &str,
        page: &[Listed],
        wanted: Wanted,
    ) -> Result<Vec<View>, Refusal> {
        let mut views = Vec::with_capacity(page.len());
        let mut left = MOST_BYTES;
        for Listed { place, .. } in page {
            let session = self.session(principal, place).await?;
            if let Some(logged) = Self::logged(&session, place).await? {
                views.push(self.shown(place, &logged, &mut left, wanted).await);
            }
        }
        Ok(views)
    }
}

/// A task in a list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    place: Place,
    pub(crate) state: A2aState,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
}

/// Notes that nobody drives a task any more.
fn over(tasks: &Weak<Tasks>, id: &str, failure: Option<String>) {
    let Some(tasks) = tasks.upgrade() else { return };
    let mut state = tasks.lock();
    state.live.remove(id);
    if let Some(failure) = failure {
        if state.failed.len() >= MOST_FAILED {
            state.failed.remove(0);
        }
        state.failed.push((id.to_owned(), failure));
    }
}
