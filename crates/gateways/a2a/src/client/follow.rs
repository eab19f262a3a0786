//! Follows a task for as long as a call may wait: by its stream, by another one where that is cut, by asking again.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

use super::answer::Answer;
use super::failure::{Failure, UNKNOWN_TASK};
use super::gather::Gathered;
use super::link::Known;
use super::progress::Heard;
use super::request::Ask;
use super::stream::EventStream;
use crate::card::A2aBinding;
use crate::config::Config;
use crate::wire::{Draft, Event, bare_task, event};

/// The number of times that a stream is taken up again after it was cut.
const MOST_STREAMS: u32 = 3;
/// The wait between two looks at a task; it doubles.
const FIRST_LOOK: Duration = Duration::from_millis(250);
const LAST_LOOK: Duration = Duration::from_secs(5);
/// The maximum number of looks in a row that may fail.
const MOST_FAILED_LOOKS: u32 = 5;
/// The time for a cancellation behind a call that was dropped.
const CANCELLING: Duration = Duration::from_secs(10);

/// An agent with its card, as a call uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) config: &'a Config,
    pub(crate) known: &'a Known,
}

impl Line<'_> {
    pub(crate) async fn ask(&self, ask: Ask<'_>, end: Instant) -> Result<Answer, Failure> {
        self.known.way.ask(self.config, &self.known.interface, ask, end).await
    }

    /// Asks about a task, which may have an address of its own: nothing there says that it is not known.
    pub(crate) async fn ask_of(&self, ask: Ask<'_>, end: Instant) -> Result<Answer, Failure> {
        self.ask(ask, end).await.map_err(|failure| match failure {
            Failure::Status { status: 404, message }
                if self.known.interface.binding == A2aBinding::HttpJson =>
            {
                Failure::Refused { code: UNKNOWN_TASK, message }
            }
            failure => failure,
        })
    }

    async fn stream(&self, ask: Ask<'_>, end: Instant) -> Result<EventStream, Failure> {
        self.known.way.stream(self.config, &self.known.interface, ask, end).await
    }

    /// The task as it is now.
    pub(crate) async fn look(&self, id: &str, end: Instant) -> Result<Event, Failure> {
        let answer = self.ask_of(Ask::Get(id), end).await?;
        let result = answer.result()?;
        // The bare task; some wrap it.
        bare_task(result)
            .map(Event::Task)
            .or_else(|| event(result))
            .ok_or(Failure::Malformed("something that is no task"))
    }

    /// Sends a message, and follows until the answer is there, or the time is up: then the task is one that is worked on.
    pub(super) async fn follow(
        &self,
        draft: &Draft,
        end: Instant,
        guard: &mut CancelGuard,
        heard: &mut Heard<'_>,
    ) -> Result<Gathered, (Failure, bool)> {
        let mut gathered = Gathered::default();
        let failed = |failure| (failure, true);
        guard.note(draft.task.as_deref());
        let mut source = match self.begin(draft, end, &mut gathered).await {
            Ok(source) => source,
            Err(failure) => {
                gathered = presumed(draft, failure, guard)?;
                None
            }
        };
        // A stream behind an answer tells nothing of what came before the question, unless it tells the whole task.
        let mut goes_on = draft.task.is_some() && source.is_some();
        let (mut was_cut, mut streams, mut failures, mut wait) = (false, 0, 0, FIRST_LOOK);
        guard.note(gathered.id());
        while !gathered.is_settled() {
            heard.note(&gathered);
            if let Some(stream) = &mut source {
                match stream.next(end).await {
                    Ok(Some(event)) => {
                        let is_whole = matches!(event, Event::Task(_));
                        goes_on &= !matches!(&event, Event::Task(task) if task.state.is_final());
                        gathered.apply(event).map_err(failed)?;
                        guard.note(gathered.id());
                        // Whole tasks may be large, and many come at once.
                        if is_whole {
                            yield_now().await;
                        }
                        continue;
                    }
                    Ok(None) => {}
                    Err(Failure::Late) if gathered.id().is_some() => break,
                    Err(Failure::Cut(_)) if gathered.id().is_some() => was_cut = true,
                    // It was not to be taken up.
                    Err(Failure::Refused { .. }) if streams > 0 => {}
                    Err(failure) if gathered.id().is_none() => gathered = presumed(draft, failure, guard)?,
                    Err(failure) => return Err(failed(failure)),
                }
                source = None;
            }
            if Instant::now() >= end && gathered.id().is_some() {
                break;
            }
            let Some(id) = gathered.id().map(str::to_owned) else {
                return Err(failed(Failure::Malformed("an end and no answer before it")));
            };
            if self.known.card.streaming && streams < MOST_STREAMS {
                streams += 1;
                if let Ok(stream) = self.stream(Ask::Subscribe(&id), end).await {
                    // Events between the two streams are lost.
                    was_cut = true;
                    source = Some(stream);
                    continue;
                }
            }
            match self.look(&id, end).await {
                Ok(event) => {
                    failures = 0;
                    gathered.apply(event).map_err(failed)?;
                }
                Err(failure) if failure.is_unknown_task() || failures >= MOST_FAILED_LOOKS => {
                    return Err(failed(failure));
                }
                Err(_) => failures += 1,
            }
            if gathered.is_settled() || Instant::now() >= end {
                break;
            }
            sleep_until(end.min(Instant::now() + wait)).await;
            wait = (wait * 2).min(LAST_LOOK);
        }
        if (was_cut || goes_on && gathered.is_final())
            && gathered.message.is_none()
            && let Some(id) = gathered.id().map(str::to_owned)
        {
            let limit = Instant::now() + self.config.limits.request;
            match self.look(&id, limit).await {
                Ok(event) => gathered.apply(event).map_err(failed)?,
                Err(_) => gathered.is_partial(),
            }
        }
        Ok(gathered)
    }

    async fn begin(
        &self,
        draft: &Draft,
        end: Instant,
        gathered: &mut Gathered,
    ) -> Result<Option<EventStream>, Failure> {
        if self.known.card.streaming {
            match self.stream(Ask::Stream(draft), end).await {
                Ok(stream) => return Ok(Some(stream)),
                // It does not stream, whatever its card says.
                Err(Failure::Refused { code: -32004 | -32601, .. }) => {}
                Err(failure) => return Err(failure),
            }
        }
        let answer = self.ask(Ask::Send(draft), end).await?;
        let event = event(answer.result()?);
        gathered.apply(event.ok_or(Failure::Malformed("neither a message nor a task"))?)?;
        Ok(None)
    }
}

/// The task of an answer behind which nothing was heard: the agent may work on it, and says so when it is asked again.
/// Otherwise there is nothing to follow.
fn presumed(draft: &Draft, failure: Failure, guard: &mut CancelGuard) -> Result<Gathered, (Failure, bool)> {
    let begun = has_begun(&failure);
    match &draft.task {
        Some(task) if begun && !failure.is_nonsense() => {
            Ok(Gathered::working(task.clone(), draft.context.clone()))
        }
        _ => {
            if !begun {
                guard.let_go();
            }
            Err((failure, begun))
        }
    }
}

/// True if an agent may have taken a message that it did not answer.
fn has_begun(failure: &Failure) -> bool {
    match failure {
        // A proxy before the agent may have given up on it.
        Failure::Status { status: 408 | 500..=599, .. } => true,
        Failure::Refused { .. } | Failure::Status { .. } | Failure::Forbidden(_) => false,
        Failure::Unreached(error) => error.kind() == attache_core::ErrorKind::Timeout,
        Failure::Cut(_) | Failure::Late | Failure::Malformed(_) | Failure::TooLarge => true,
    }
}

/// Cancels the task of a call that is dropped, at most for ten seconds.
#[derive(Debug)]
pub(crate) struct CancelGuard {
    config: Arc<Config>,
    known: Arc<Known>,
    task: Option<String>,
    /// True if it is a task that goes on whoever waits for it.
    is_idle: bool,
}

impl CancelGuard {
    pub(crate) fn new(config: Arc<Config>, known: Arc<Known>) -> Self {
        Self { config, known, task: None, is_idle: false }
    }

    /// One that cancels nothing.
    pub(crate) fn idle(config: Arc<Config>, known: Arc<Known>) -> Self {
        let mut guard = Self::new(config, known);
        guard.is_idle = true;
        guard
    }

    fn note(&mut self, task: Option<&str>) {
        // An answer to one task may begin another.
        if !self.is_idle && task.is_some() && self.task.as_deref() != task {
            self.task = task.map(str::to_owned);
        }
    }

    /// Leaves the task alone from here on.
    pub(crate) fn let_go(&mut self) {
        self.task = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        let Some(task) = self.task.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (config, known) = (Arc::clone(&self.config), Arc::clone(&self.known));
        runtime.spawn(async move {
            let line = Line { config: &config, known: &known };
            let cancelled =
                timeout(CANCELLING, line.ask(Ask::Cancel(&task), Instant::now() + CANCELLING)).await;
            if !matches!(cancelled, Ok(Ok(_))) {
                tracing::debug!(agent = config.alias, "a task could not be cancelled");
            }
        });
    }
}
