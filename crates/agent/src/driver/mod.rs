//! Drives a run: one lazily polled stream that does what the fold asks for.

mod answer;
mod ask;
mod interrupt;
mod materials;
mod shelf;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_stream::stream;
use attache_core::{
    Effect, ErrorKind, Extensions, ProviderError, Repair, Repaired, Role, StoreError, ToolResult, Transcript,
    repair,
};
use futures_core::Stream;

use crate::agent::{Agent, RunInput};
use crate::control::Control;
use crate::entry::{Disposition, Ended, Entry, EntryKind, Key, Started, ToolOutcome};
use crate::event::{Event, EventKind};
use crate::journal::{Begin, Journal};
use crate::limits::HistoryPolicy;
use crate::outcome::{EndReason, Outcome, RunError};
use crate::reading::Memo;
use crate::run::{Action, PendingCall, ReplayError, Run};
use crate::store::keep_of_messages;
use crate::tools::{Executor, Toolbox, ToolsError};
use crate::window::WindowState;
use interrupt::{Interrupt, Interrupted};
use materials::Library;
use shelf::Shelf;

/// A run under way: a stream of [`Event`]s that ends with exactly one [`EventKind::Finished`].
///
/// The run lives in the stream. A stream that nobody polls stalls the provider and the tools.
///
/// # Cancellation
/// Dropping it aborts the provider's request and drops the tools' futures; nothing is recorded then, and a new run
/// over the same journal goes on from the last entry. [`Control::cancel`] ends the run properly instead.
pub struct AgentRun {
    stream: Pin<Box<dyn Stream<Item = Event> + Send>>,
    control: Control,
    failure: Failure,
}

type Source = Arc<dyn std::error::Error + Send + Sync>;
type Failure = Arc<Mutex<Option<Source>>>;

impl AgentRun {
    pub(crate) fn new(agent: Agent, journal: Arc<dyn Journal>, input: RunInput) -> Self {
        let control = Control::new(Arc::clone(&journal), Arc::clone(&agent.0.store));
        let failure = Failure::default();
        let stream = Box::pin(drive(agent, journal, input, control.clone(), Arc::clone(&failure)));
        Self { stream, control, failure }
    }

    /// A handle to steer the run with.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The next event; `None` only after the end.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| self.stream.as_mut().poll_next(context)).await
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`RunError`] with what was done so far, if the run failed. A limit, a refusal or a cancellation is an outcome,
    /// not an error.
    pub async fn outcome(mut self) -> Result<Outcome, RunError> {
        while let Some(event) = self.next().await {
            if let EventKind::Finished(outcome) = event.kind {
                return self.judge(*outcome);
            }
        }
        // The stream yields its end before it ends.
        let error = RunError::new(Run::new().outcome(), "the run had ended already".to_owned());
        Err(error)
    }

    /// Whether an outcome is a failure, with its cause; for those who read the events themselves.
    ///
    /// # Errors
    /// [`RunError`] if the reason is a failure.
    pub fn judge(&self, outcome: Outcome) -> Result<Outcome, RunError> {
        if !outcome.reason.is_failure() {
            return Ok(outcome);
        }
        let source = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let message = match &outcome.reason {
            EndReason::EmptyResponse if !outcome.reasoning.trim().is_empty() => {
                "the model answered with nothing but reasoning".to_owned()
            }
            EndReason::EmptyResponse => "the model answered with neither text nor calls".to_owned(),
            EndReason::ToolAbort => "a tool ended the run".to_owned(),
            EndReason::ProviderError(_) => "the model could not be asked".to_owned(),
            _ => "the run could not go on".to_owned(),
        };
        Err(RunError::new(outcome, message).with_source(source))
    }
}

impl Stream for AgentRun {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.stream.as_mut().poll_next(context)
    }
}

impl std::fmt::Debug for AgentRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRun").field("control", &self.control).finish_non_exhaustive()
    }
}

/// What a run carries from step to step, beside its log.
struct Driver {
    agent: Agent,
    journal: Arc<dyn Journal>,
    control: Control,
    run: Run,
    toolbox: Arc<Toolbox>,
    extensions: Extensions,
    window: WindowState,
    library: Library,
    shelf: Shelf,
    transcript: Transcript,
    seq: u64,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("the journal failed")]
    Journal(#[from] StoreError),
    #[error("the log is not one of this run")]
    Replay(#[from] ReplayError),
    #[error("the tools cannot be offered")]
    Tools(#[from] ToolsError),
    #[error("the model could not be asked")]
    Provider(#[from] ProviderError),
}

impl Fault {
    fn reason(&self) -> EndReason {
        match self {
            Self::Provider(error) => EndReason::provider(error),
            Self::Journal(_) | Self::Replay(_) | Self::Tools(_) => EndReason::InternalError,
        }
    }

    /// The line in the log, without what may be private.
    fn detail(&self) -> String {
        match self {
            Self::Provider(error) => error.to_string(),
            other => other.to_string(),
        }
    }

    fn into_source(self) -> Source {
        match self {
            Self::Provider(error) => Arc::new(error),
            Self::Journal(error) => Arc::new(error),
            Self::Replay(error) => Arc::new(error),
            Self::Tools(error) => Arc::new(error),
        }
    }
}

/// How a phase of the run ended, when it did not simply go on.
enum Stop {
    Interrupted(Interrupted, String),
    Fault(Fault, String),
    /// Calls wait for the caller, and the time for that is up.
    Pending,
}

impl<F: Into<Fault>> From<F> for Stop {
    fn from(fault: F) -> Self {
        Self::Fault(fault.into(), String::new())
    }
}

fn drive(
    agent: Agent,
    journal: Arc<dyn Journal>,
    input: RunInput,
    control: Control,
    failure: Failure,
) -> impl Stream<Item = Event> + Send {
    stream! {
        let mut interrupt = Interrupt::new(&control, agent.0.timing.deadline);
        let toolbox = match interrupt.guard(agent.toolbox()).await {
            Ok(toolbox) => toolbox.map_err(Stop::from),
            Err(interrupted) => Err(Stop::Interrupted(interrupted, String::new())),
        };
        let (toolbox, mut warnings, mut stop) = match toolbox {
            Ok((toolbox, warnings)) => (toolbox, warnings, None),
            Err(stop) => (Arc::new(Toolbox::empty()), Vec::new(), Some(stop)),
        };
        let mut driver = Driver::new(agent, journal, control, toolbox, &input);
        // An end that is not in the log: the run waits for its caller, or never began.
        let mut unrecorded = None;
        loop {
            // Whatever stopped a phase becomes the end of the run.
            if let Some(stop) = stop.take() {
                let (reason, interrupted_text, detail) = match stop {
                    Stop::Interrupted(Interrupted::Cancelled(why), text) => (EndReason::Cancelled, text, Some(why)),
                    Stop::Interrupted(Interrupted::Deadline, text) => (EndReason::Deadline, text, None),
                    Stop::Fault(fault, text) => {
                        let (reason, detail) = (fault.reason(), fault.detail());
                        *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.into_source());
                        (reason, text, Some(detail))
                    }
                    Stop::Pending => {
                        unrecorded = Some(EndReason::PendingExternal);
                        break;
                    }
                };
                if driver.run.id().is_empty() {
                    unrecorded = Some(reason);
                    break;
                }
                driver.close(Ended { interrupted_text, detail, ..Ended::new(reason) }).await;
                break;
            }
            match driver.run.next() {
                Action::Start => {
                    let repairs = match driver.start(&input).await {
                        Ok(repairs) => repairs,
                        Err(fault) => {
                            stop = Some(fault.into());
                            continue;
                        }
                    };
                    let kind = EventKind::RunStarted { run_id: driver.run.id().to_owned() };
                    yield driver.event(kind);
                    for (code, message) in warnings.drain(..) {
                        yield driver.event(EventKind::Warning { code, message });
                    }
                    if !repairs.is_empty() {
                        yield driver.event(EventKind::HistoryRepaired(repairs));
                    }
                }
                Action::TakeInbox { key } => {
                    if let Err(fault) = driver.take_inbox(key).await {
                        stop = Some(fault.into());
                    }
                }
                Action::CallModel { key, step, landing } => {
                    let mut asking = std::pin::pin!(ask::ask(&mut driver, &mut interrupt, key, step, landing));
                    while let Some(item) = next(&mut asking).await {
                        match item {
                            Ok(event) => yield event,
                            Err(stopped) => stop = Some(stopped),
                        }
                    }
                }
                Action::AnswerCalls { calls } => {
                    let mut answering = std::pin::pin!(answer::answer(&mut driver, &mut interrupt, calls));
                    while let Some(item) = next(&mut answering).await {
                        match item {
                            Ok(event) => yield event,
                            Err(stopped) => stop = Some(stopped),
                        }
                    }
                }
                Action::End { reason } => {
                    driver.close(Ended::new(reason)).await;
                }
                Action::Ended => break,
            }
        }
        let mut outcome = driver.run.outcome();
        // What the log does not tell: the run waits for its caller, or had ended before.
        outcome.unread.extend(driver.control.end());
        if let Some(reason) = unrecorded {
            outcome.reason = reason;
        }
        yield driver.event(EventKind::Finished(Box::new(outcome)));
    }
}

async fn next<S: Stream>(stream: &mut Pin<&mut S>) -> Option<S::Item> {
    std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await
}

impl Driver {
    fn new(
        agent: Agent,
        journal: Arc<dyn Journal>,
        control: Control,
        toolbox: Arc<Toolbox>,
        input: &RunInput,
    ) -> Self {
        let mut extensions = agent.0.extensions.clone();
        extensions.extend(&input.extensions);
        if agent.0.reads {
            extensions.insert(Memo::default());
        }
        Self {
            shelf: Shelf::new(Arc::clone(&agent.0.store)),
            agent,
            journal,
            control,
            run: Run::new(),
            toolbox,
            extensions,
            window: WindowState::default(),
            library: Library::default(),
            transcript: Transcript::new(),
            seq: 0,
        }
    }

    fn event(&mut self, kind: EventKind) -> Event {
        self.seq += 1;
        Event { seq: self.seq, step: self.run.steps(), kind }
    }

    /// Records `entry` and folds it in.
    async fn record(&mut self, key: Key, kind: EntryKind) -> Result<(), Fault> {
        let entry = self.journal.finish(Entry::new(key, kind)).await?;
        self.run.apply(&entry)?;
        Ok(())
    }

    /// Folds in what is recorded under `key`, if something is, and yields it.
    async fn recorded(&mut self, key: &Key) -> Result<Option<Entry>, Fault> {
        match self.journal.begin(key, Effect::Idempotent).await? {
            Begin::Recorded(entry) => {
                self.run.apply(&entry)?;
                Ok(Some(*entry))
            }
            Begin::Execute | Begin::Unknown => Ok(None),
        }
    }

    /// Records the beginning, with a conversation that every provider takes, and yields what was mended of it.
    async fn start(&mut self, input: &RunInput) -> Result<Vec<Repair>, Fault> {
        let key = Key::start();
        if self.recorded(&key).await?.is_some() {
            return self.retell().await.map(|()| Vec::new());
        }
        let inner = Arc::clone(&self.agent.0);
        let mut messages = Vec::with_capacity(input.history.len() + input.messages.len() + 1);
        if let Some(system) = &inner.system
            && !input.history.iter().any(|message| message.role() == Role::System)
        {
            messages.push(attache_core::Message::system(system.as_str()).shared());
        }
        messages.extend(input.history.iter().chain(&input.messages).cloned());
        let Repaired { messages, repairs, .. } = repair(&messages);
        if let Some(first) = repairs.first().filter(|_| inner.history == HistoryPolicy::Refuse) {
            let text = format!("the history needs {} repairs, the first: {first}", repairs.len());
            return Err(ProviderError::new(ErrorKind::InvalidHistory, text).into());
        }
        keep_of_messages(&*inner.store, &messages).await?;
        let names = |wanted: fn(&crate::tools::Entry) -> bool| {
            let mut names: Vec<String> = self
                .toolbox
                .entries
                .values()
                .filter(|entry| wanted(entry))
                .map(|entry| entry.spec.definition.name().to_owned())
                .collect();
            names.sort_unstable();
            names
        };
        let started = Started {
            run_id: input.run_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            messages,
            limits: inner.limits.clone(),
            external_tools: names(|entry| matches!(entry.executor, Executor::External)),
            direct_tools: names(|entry| entry.spec.metadata.return_direct),
        };
        self.record(key, EntryKind::Started(started)).await?;
        Ok(repairs)
    }

    async fn take_inbox(&mut self, key: Key) -> Result<(), Fault> {
        if self.recorded(&key).await?.is_some() {
            return Ok(());
        }
        let messages = self.control.take_inbox();
        keep_of_messages(&*self.agent.0.store, &messages).await?;
        self.record(key, EntryKind::Inbox(messages)).await
    }

    /// A run that has ended is told again, not run again: what is recorded is folded in, and nothing else is done.
    async fn retell(&mut self) -> Result<(), Fault> {
        let Begin::Recorded(end) = self.journal.begin(&Key::end(), Effect::Idempotent).await? else {
            return Ok(());
        };
        loop {
            let keys = match self.run.next() {
                Action::TakeInbox { key } | Action::CallModel { key, .. } => vec![key],
                Action::AnswerCalls { calls } => calls.into_iter().map(|call| call.key).collect(),
                Action::Start | Action::End { .. } | Action::Ended => Vec::new(),
            };
            let mut told = false;
            for key in &keys {
                told |= self.recorded(key).await?.is_some();
            }
            if !told {
                break;
            }
        }
        Ok(self.run.apply(&end)?)
    }

    /// Records the end. If even that fails, the run ends all the same, in this process.
    async fn close(&mut self, mut ended: Ended) {
        let key = Key::end();
        if matches!(self.recorded(&key).await, Ok(Some(_))) {
            return;
        }
        ended.unread = self.control.end();
        if let Err(error) = keep_of_messages(&*self.agent.0.store, &ended.unread).await {
            tracing::error!(run = self.run.id(), %error, "the documents of unread messages could not be stored");
        }
        self.cancel_calls().await;
        let kind = EntryKind::Ended(ended);
        if let Err(fault) = self.record(key.clone(), kind.clone()).await {
            tracing::error!(run = self.run.id(), error = %fault, "the end of the run could not be recorded");
            let _unrecorded = self.run.apply(&Entry::new(key, kind));
        }
    }

    /// Closes the calls that are open. A result that is on its way into the journal comes first, or is refused there.
    async fn cancel_calls(&mut self) {
        let Action::AnswerCalls { calls } = self.run.next() else { return };
        for PendingCall { key, call, .. } in calls {
            let (call_id, result) = (call.id.clone(), ToolResult::cancelled(&call));
            let outcome = ToolOutcome { call_id, result, disposition: Disposition::Cancelled };
            if let Err(fault) = self.record(key, EntryKind::ToolOutcome(outcome)).await {
                tracing::error!(run = self.run.id(), error = %fault, "a cancelled call could not be recorded");
                return;
            }
        }
    }
}
