//! A run as its caller holds it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::control::Control;
use crate::driver::open::Task;
use crate::driver::{drive, fault::Source};
use crate::event::{Event, EventKind};
use crate::journal::Origin;
use crate::outcome::{EndReason, Outcome, RunError};
use crate::pace::Pace;
use crate::run::Run;
use crate::setup::Setup;

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
    failure: Failure,
    pace: Pace,
}

/// The cause of a failure, for the error that tells of it.
pub(super) type Failure = Arc<Mutex<Option<Source>>>;

impl AgentRun {
    pub(crate) fn new(setup: Arc<Setup>, origin: Origin, task: Task) -> Self {
        let control = Control::new(origin.place(), Arc::clone(&setup.store));
        let (failure, pace) = (Failure::default(), Pace::default());
        let stream = drive(setup, origin, task, control.clone(), Arc::clone(&failure), pace.clone());
        Self { stream: Box::pin(stream), control, failure, pace }
    }

    /// A handle to steer the run with.
    pub fn control(&self) -> Control {
        self.control.clone()
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
            if let EventKind::Finished(outcome) = event.kind {
                return self.judge(*outcome);
            }
        }
        // The stream yields its end before it ends.
        Err(RunError::new(Run::new().outcome(), "the run had ended already".to_owned()))
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
            EndReason::Superseded => "another driver has taken the run over".to_owned(),
            _ => "the run could not go on".to_owned(),
        };
        Err(RunError::new(outcome, message).with_source(source))
    }
}

impl Stream for AgentRun {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let run = self.get_mut();
        let stream = run.stream.as_mut();
        run.pace.poll(context, |context| stream.poll_next(context))
    }
}

impl Drop for AgentRun {
    fn drop(&mut self) {
        self.control.abandon();
    }
}

impl std::fmt::Debug for AgentRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRun").field("control", &self.control).finish_non_exhaustive()
    }
}
