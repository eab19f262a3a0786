//! A run as its caller holds it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_stream::stream;
use attache_core::ToolCallId;
use futures_core::Stream;
use serde_json::Value;

use crate::control::{Brought, Control};
use crate::driver::drive::drive;
use crate::driver::open::Task;
use crate::event::{Event, EventKind};
use crate::journal::Origin;
use crate::log::Decision;
use crate::observe::Watched;
use crate::outcome::{EndReason, Outcome, RunError};
use crate::run::Run;
use crate::run_summary::RunSummary;
use crate::setup::Setup;
use crate::tool_time::Pace;

/// A run under way: a stream of [`Event`]s that ends with exactly one [`EventKind::Finished`].
///
/// The run lives in the stream. A stream that nobody polls stalls the provider and the tools; the time limits of tools
/// stand still then.
///
/// # Cancellation
/// Dropping it aborts the provider's request and drops the tools' futures; nothing is recorded then, and
/// [`Agent::resume`](crate::Agent::resume) goes on from the last entry. [`Control::cancel`] ends the run properly
/// instead.
pub struct AgentRun {
    stream: Pin<Box<dyn Stream<Item = Event> + Send>>,
    control: Control,
    pace: Pace,
    observers: Vec<Observer>,
}

/// A program that looks at each event.
type Observer = Box<dyn FnMut(&Event) + Send>;

/// The name in the log of a caller who decides and gives none.
const CALLER: &str = "the caller";

/// The caller read the end of the run among its events, and asks for it again.
#[derive(Debug, thiserror::Error)]
#[error("its end was read already")]
struct Read;

impl AgentRun {
    pub(crate) fn new(setup: Arc<Setup>, origin: Origin, task: Task) -> Self {
        let (control, pace) = (Self::control_of(&setup, &origin, &task), Pace::default());
        let stream = drive(setup, origin, task, control.clone(), pace.clone());
        Self::over(Box::pin(stream), control, pace)
    }

    /// The control of a run that is to be driven.
    pub(crate) fn control_of(setup: &Setup, origin: &Origin, task: &Task) -> Control {
        let around = origin.scope().map(|scope| scope.shared());
        let agents = setup.observers.as_ref().or_else(|| around?.observers.as_ref());
        let watched = agents.map(|agents| Watched::new(agents, &task.observed(setup, around.is_some())));
        Control::new(origin.place(), Arc::clone(&setup.store), watched)
    }

    /// A run whose stream does more than drive it.
    pub(crate) fn over(
        stream: Pin<Box<dyn Stream<Item = Event> + Send>>,
        control: Control,
        pace: Pace,
    ) -> Self {
        Self { stream, control, pace, observers: Vec::new() }
    }

    /// Shows each event to `observer`, too, before whoever polls the run gets it; exactly one of them is
    /// [`EventKind::Finished`]. Any number of observers may look on. One that panics looks on no longer, and neither the
    /// run nor the others notice.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use attache_agent::{Agent, EventKind};
    /// # use attache_testkit::{ScriptedModel, Turn};
    ///
    /// static LETTERS: AtomicUsize = AtomicUsize::new(0);
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let model = ScriptedModel::new([Turn::text("Hello.")]);
    /// let agent = Agent::builder(model).build()?;
    /// let run = agent.run("Hi").with_observer(|event| {
    ///     if let EventKind::Content(piece) = &event.kind {
    ///         LETTERS.fetch_add(piece.len(), Ordering::Relaxed);
    ///     }
    /// });
    /// assert_eq!(run.outcome().await?.text.len(), LETTERS.load(Ordering::Relaxed));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_observer(mut self, observer: impl FnMut(&Event) + Send + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// A handle to steer the run with.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Approves a call that waits for it, for whoever resumes the run: `agent.resume(journal).approve(&id)`. It is given
    /// before the run is polled. If the decision is not taken, see [`DecideError`](crate::DecideError), the run fails and
    /// may be resumed.
    #[must_use]
    pub fn approve(self, id: &str) -> Self {
        self.decide(id, CALLER, Decision::Approve)
    }

    /// Approves a call, and later calls of the same tool in the run.
    #[must_use]
    pub fn approve_always(self, id: &str) -> Self {
        self.decide(id, CALLER, Decision::ApproveAlways)
    }

    /// Denies a call. The model reads the text.
    #[must_use]
    pub fn deny(self, id: &str, text: impl Into<String>) -> Self {
        self.decide(id, CALLER, Decision::Deny(text.into()))
    }

    /// Approves a call with other arguments, an object.
    #[must_use]
    pub fn edit(self, id: &str, arguments: Value) -> Self {
        self.decide(id, CALLER, Decision::Edit(arguments))
    }

    /// Brings the decision of somebody; see [`approve`](Self::approve).
    #[must_use]
    pub fn decide(self, id: &str, by: &str, decision: Decision) -> Self {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.control.bring(Brought::Decision { id, by, decision });
        self
    }

    /// Denies all calls that wait for approval, such as when the user says something else: the model reads the text, and
    /// then what [`Control::inject`] adds.
    #[must_use]
    pub fn deny_all(self, text: impl Into<String>) -> Self {
        self.control.bring(Brought::DenyAll { by: CALLER.to_owned(), text: text.into() });
        self
    }

    /// Brings the result of a deferred call, such as the user's answer: `agent.resume(journal).reply(&id, "Berlin")`. A
    /// result with documents is [delivered](crate::deliver). If it is not taken, see
    /// [`SubmitError`](crate::SubmitError), the run fails and may be resumed.
    #[must_use]
    pub fn reply(self, call: &ToolCallId, value: impl Into<Value>) -> Self {
        self.control.bring(Brought::Reply { call: call.clone(), value: value.into() });
        self
    }

    /// The next event; `None` only after the end.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`RunError`] with what was done so far, if the run failed. A limit, a refusal or a cancellation is an outcome,
    /// not an error.
    pub async fn outcome(mut self) -> Result<Outcome, RunError> {
        while let Some(event) = self.next().await {
            if let EventKind::Finished(result) = event.kind {
                return result.map(|outcome| *outcome);
            }
        }
        let outcome = Outcome { reason: EndReason::InternalError, ..Run::new().outcome() };
        Box::new(outcome).judged(Some(Arc::new(Read))).map(|outcome| *outcome)
    }

    /// Runs to the end, and tells what it took beside what came of it.
    pub async fn outcome_and_summary(mut self) -> (Result<Outcome, RunError>, RunSummary) {
        let mut summary = RunSummary::new();
        while let Some(event) = self.next().await {
            summary.note(&event);
            if let EventKind::Finished(result) = event.kind {
                return (result.map(|outcome| *outcome), summary);
            }
        }
        (self.outcome().await, summary)
    }

    /// The text as the model says it, in pieces: of all steps, also what it says before it calls a tool. An answer that
    /// no model says, such as the output of a tool that returns directly, is one piece. After the last one comes the
    /// error, if the run failed; a limit, a refusal or a cancellation is none, and [`Self::next`] tells it.
    ///
    /// ```
    /// use attache_agent::Agent;
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// use futures_util::StreamExt as _;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let model = ScriptedModel::new([Turn::text("Hello.")]);
    /// let agent = Agent::builder(model).build()?;
    /// let mut text = agent.run("Hi").text_stream();
    /// let mut said = String::new();
    /// while let Some(piece) = text.next().await {
    ///     said += &piece?;
    /// }
    /// assert_eq!(said, "Hello.");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text_stream(mut self) -> impl Stream<Item = Result<String, RunError>> + Send + Unpin {
        Box::pin(stream! {
            // The last words that the model said, and whether an answer of somebody else may follow them: a tool's or a hook's.
            let (mut said, mut step, mut is_silent) = (String::new(), 0, true);
            while let Some(event) = self.next().await {
                match event.kind {
                    EventKind::Content(piece) => {
                        if step != event.step {
                            said.clear();
                        }
                        (step, is_silent) = (event.step, false);
                        said.push_str(&piece);
                        yield Ok(piece);
                    }
                    EventKind::ToolCallsRequested { .. } | EventKind::ReplyWithdrawn { .. } => is_silent = true,
                    EventKind::Finished(Ok(outcome))
                        if is_silent && !outcome.text.is_empty() && outcome.text != said =>
                    {
                        yield Ok(outcome.text);
                    }
                    EventKind::Finished(Err(error)) => yield Err(error),
                    _ => {}
                }
            }
        })
    }
}

impl Stream for AgentRun {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let run = self.get_mut();
        let (stream, pace) = (run.stream.as_mut(), &run.pace);
        let poll = || pace.poll(context, |context| stream.poll_next(context));
        let polled = match run.control.watched() {
            None => poll(),
            Some(watched) => watched.poll(poll),
        };
        if let Poll::Ready(Some(event)) = &polled
            && !run.observers.is_empty()
        {
            run.observers.retain_mut(|observer| catch_unwind(AssertUnwindSafe(|| observer(event))).is_ok());
        }
        polled
    }
}

impl Drop for AgentRun {
    fn drop(&mut self) {
        self.control.abandon();
        if let Some(watched) = self.control.watched() {
            // The work inside ends before the run does.
            self.stream = Box::pin(futures_util::stream::empty());
            watched.end();
        }
    }
}

impl std::fmt::Debug for AgentRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRun").field("control", &self.control).finish_non_exhaustive()
    }
}
