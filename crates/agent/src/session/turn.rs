//! A run of a session: it takes the lease, goes on from what the session holds, and lets the lease go.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_stream::stream;
use attache_core::message::{UNANSWERED, UserOrigin};
use attache_core::{Message, Role, ToolCall};
use futures_core::Stream;
use futures_util::future::{Either, select};
use tokio::time::timeout;

use super::closing::{Before, Last};
use super::error::{SessionError, without_nul};
use super::id::SessionId;
use super::journal::{SessionJournal, Turn, whole};
use super::lease::Lease;
use super::live::{Entered, Queued};
use super::settings::{Busy, Settings};
use super::weave::Woven;
use crate::control::Control;
use crate::driver::{OPENING, Task, drive};
use crate::event::{Event, EventKind};
use crate::journal::{Journal, JournalError, Origin, Place};
use crate::outcome::{EndReason, Outcome};
use crate::store_documents::ATTEMPTS;
use crate::tool_time::Pace;

/// The time after which a run that waits looks again whether another process has let the session go.
const LOOK: Duration = Duration::from_millis(200);

/// The stream of a run. It holds the lease while it is polled.
pub(super) fn turn(
    settings: Settings,
    session: SessionId,
    principal: Arc<str>,
    journal: Arc<SessionJournal>,
    mut task: Task,
    control: Control,
    pace: Pace,
) -> impl Stream<Item = Event> + Send {
    stream! {
        let waiting = Waiting::default();
        let is_resumed = matches!(task, Task::Resume(_));
        let opened = {
            let opening = pin!(open(&settings, &session, &principal, &journal, &mut task, &control, &waiting));
            match select(opening, pin!(control.cancelled())).await {
                Either::Left((opened, _)) => opened.map(Some),
                Either::Right((_, opening)) if is_resumed || waiting.takes.load(Ordering::Relaxed) => {
                    Ok(Box::pin(opened_late(opening, is_resumed)).await)
                }
                Either::Right(_) => Ok(None),
            }
        };
        let (lease, known) = match opened {
            Ok(Some(opened)) => opened,
            failed => {
                let (reason, cause) = match failed {
                    Err(error) => (EndReason::InternalError, Some(Arc::new(error) as _)),
                    Ok(_) => (EndReason::Cancelled, None),
                };
                let mut seq = 1;
                if is_resumed && cause.is_none() {
                    let message = "the run was cancelled while its session was opened, and may be resumed".to_owned();
                    yield Event { seq, step: 0, kind: EventKind::Warning { code: "end_not_recorded", message } };
                    seq += 1;
                }
                let mut outcome = task.outcome(reason);
                outcome.unread.extend(control.close());
                yield Event { seq, step: 0, kind: EventKind::Finished(outcome.judged(cause)) };
                return;
            }
        };
        // Controls of the run outlive it, and the journal that they know has the lease.
        let _held = Held(Arc::clone(&lease));
        let _known = known;
        let (live, store) = (Arc::clone(&settings.live), Arc::clone(&settings.store));
        let mut looking = Box::pin(async move { live.look(&*store).await });
        let origin = Origin::Place(Place::of(Arc::clone(&journal) as Arc<dyn Journal>));
        let setup = Arc::clone(settings.agent.setup());
        let mut inner = Box::pin(drive(setup, origin, task, control.clone(), pace));
        let held = Arc::clone(&lease);
        let mut holding = Box::pin(async move { held.hold().await });
        let mut is_held = true;
        loop {
            let event = poll_fn(|context| {
                if is_held && holding.as_mut().poll(context).is_ready() {
                    is_held = false;
                    if !lease.is_released() {
                        control.cancel_because("the session was cleared, or another process has taken it over");
                    }
                }
                // It ends the run by its control.
                let _ = looking.as_mut().poll(context);
                inner.as_mut().poll_next(context)
            });
            let Some(event) = event.await else { return };
            if let EventKind::Finished(result) = &event.kind {
                let outcome = match result {
                    Ok(outcome) => outcome,
                    Err(error) => error.partial(),
                };
                let untold = Untold { control: &control, messages: outcome.unread.clone() };
                // A run that was refused leaves what waits as it was.
                let holds_all = settings.agent.setup().handling.hold_all;
                let kept = Some(kept_until(outcome, holds_all)).filter(|kept| *kept > 0 || journal.has_written());
                if let Err(error) = lease.release(kept).await {
                    tracing::warn!(session = %session, %error, "the lease could not be let go");
                }
                waiting.leave();
                untold.told();
            }
            yield event;
        }
    }
}

/// The messages that a run did not read, until its end is told: they come back if it is dropped before.
struct Untold<'c> {
    control: &'c Control,
    messages: Vec<Arc<Message>>,
}

impl Untold<'_> {
    fn told(mut self) {
        self.messages.clear();
    }
}

impl Drop for Untold<'_> {
    fn drop(&mut self) {
        self.control.take_back(std::mem::take(&mut self.messages));
    }
}

/// Gives a lease up with the run that is dropped.
struct Held(Arc<Lease>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Until when a run that waits for somebody keeps its session. A call that the caller is to answer keeps it for good; one
/// that is held up until somebody has decided about others does not.
fn kept_until(outcome: &Outcome, holds_all: bool) -> u64 {
    let approvals = outcome.approvals.iter().map(|approval| approval.expires_at);
    let deferred = outcome.deferred.iter().map(|request| request.deferred.expires_at.unwrap_or(u64::MAX));
    let is_callers = |call: &&ToolCall| {
        outcome.approvals.iter().all(|approval| approval.call.id != call.id)
            && outcome.deferred.iter().all(|request| request.call.id != call.id)
    };
    let waits = match outcome.reason {
        EndReason::PendingExternal | EndReason::InputRequired => true,
        EndReason::PendingApproval => !holds_all,
        _ => false,
    };
    let callers = outcome.pending.iter().find(is_callers).filter(|_| waits).map(|_| u64::MAX);
    approvals.chain(deferred).chain(callers).max().unwrap_or(0)
}

/// The result of an opening that was cancelled. A run that goes on has its end in its log, which is written under the lease;
/// the lease of one that would begin is let go.
async fn opened_late(
    opening: impl Future<Output = Result<Opened, SessionError>>,
    is_resumed: bool,
) -> Option<Opened> {
    let late = timeout(OPENING, async {
        let opened = opening.await.ok()?;
        if is_resumed {
            return Some(opened);
        }
        if let Err(error) = opened.0.release(None).await {
            tracing::debug!(%error, "the lease of a run that was cancelled could not be let go");
        }
        None
    });
    late.await.ok().flatten()
}

/// The lease of a run, which is known from then on.
type Opened = (Arc<Lease>, Entered);

/// The place of a run among those that want its session.
#[derive(Default)]
struct Waiting {
    /// Its turn among those of this process.
    queued: Mutex<Option<Queued>>,
    /// True once there may be a lease.
    takes: AtomicBool,
}

impl Waiting {
    fn leave(&self) {
        drop(self.queued.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Takes the lease and what the session holds.
async fn open(
    settings: &Settings,
    session: &SessionId,
    principal: &str,
    journal: &SessionJournal,
    task: &mut Task,
    control: &Control,
    waiting: &Waiting,
) -> Result<Opened, SessionError> {
    if let Busy::Queue { depth } = settings.busy {
        let queued = settings.live.turn(session, depth).await?;
        *waiting.queued.lock().unwrap_or_else(PoisonError::into_inner) = Some(queued);
    }
    let run = match task {
        Task::Start(input) => {
            let run = input.run_id.get_or_insert_with(|| session.fresh_run()).clone();
            Some(without_nul(run, "the id of a run")?)
        }
        Task::Resume(_) => None,
    };
    let (is_resumed, queues) = (matches!(task, Task::Resume(_)), matches!(settings.busy, Busy::Queue { .. }));
    let lease = loop {
        let store = Arc::clone(&settings.store);
        let (clock, length) = (settings.clock.clone(), settings.lease);
        waiting.takes.store(true, Ordering::Relaxed);
        let taken = Lease::take(store, session, principal, run.as_deref(), clock, length).await;
        match taken {
            Err(SessionError::Busy { .. }) if queues && (is_resumed || !control.is_cancelled()) => {
                waiting.takes.store(false, Ordering::Relaxed);
                tokio::time::sleep(LOOK).await;
            }
            Err(error) if is_resumed && is_of_store(&error) => {
                settings.store.spare(session);
                return Err(error);
            }
            taken => break Arc::new(taken?),
        }
    };
    let begun = match begin(settings, session, principal, journal, task, run, &lease).await {
        Ok(()) => {
            let known = settings.live.enter(session, journal.run_id(), control.clone());
            match is_resumed {
                // Nothing of it happens any more if it is to end.
                true => stop_those_to_end(settings).await.map(|()| known),
                false => Ok(known),
            }
        }
        Err(error) => Err(error),
    };
    match begun {
        Ok(known) => Ok((lease, known)),
        Err(error) => {
            if is_resumed && is_of_store(&error) {
                // Somebody else may be able to go on with it once the lease is over.
                lease.give_up();
                settings.store.spare(session);
            } else {
                // A session that no run uses is free at once; where that fails, when its lease is over.
                drop(lease.release(None).await);
            }
            Err(error)
        }
    }
}

/// Ends the runs of this process that somebody has asked to end. Where nobody can say which those are, none goes on.
async fn stop_those_to_end(settings: &Settings) -> Result<(), SessionError> {
    let mut waits = ATTEMPTS.iter();
    loop {
        match settings.store.stops().await {
            Ok(stops) => {
                settings.live.stop(&stops);
                return Ok(());
            }
            Err(error) => match waits.next().filter(|_| error.is_retryable()) {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => return Err(error.into()),
            },
        }
    }
}

/// True if the store failed, and may do the same another time.
fn is_of_store(error: &SessionError) -> bool {
    matches!(error, SessionError::Journal(JournalError::Store(failed)) if failed.is_retryable())
}

/// Gives the run what the session holds.
async fn begin(
    settings: &Settings,
    session: &SessionId,
    principal: &str,
    journal: &SessionJournal,
    task: &mut Task,
    run: Option<String>,
    lease: &Arc<Lease>,
) -> Result<(), SessionError> {
    let stored = match lease.has_runs {
        true => settings.store.load(principal, session, None).await?,
        false => None,
    };
    let mut turn = Turn {
        lease: Arc::clone(lease),
        woven: Woven::default(),
        entries: Mutex::new(Some(Vec::new())),
        closes: None,
        appends: AtomicU64::new(0),
        undelivered: AtomicU64::new(0),
        kept_until: Mutex::default(),
    };
    let input = match task {
        Task::Resume(_) => {
            let stored = stored.ok_or(JournalError::Empty)?;
            let id = stored.id.clone();
            let (entries, messages) = whole(stored)?;
            turn.has_kept(&entries);
            (turn.entries, turn.woven) = (Mutex::new(Some(entries)), Woven::new(messages));
            journal.begin(&id, turn);
            return Ok(());
        }
        Task::Start(input) => input,
    };
    input.history.clear();
    if let Some(mut stored) = stored {
        let (id, late) = (stored.id.clone(), std::mem::take(&mut stored.late));
        let (entries, messages) = whole(stored)?;
        let last = Last { store: &*settings.store, principal, session, id, entries, late };
        let Before { outcome, unread, closes } =
            Box::pin(last.closed(settings.agent.setup(), input.leaves_approvals)).await?;
        turn.closes = closes;
        if input.grants.is_empty() {
            input.grants = outcome.grants;
        }
        input.history = outcome.messages;
        mark_unanswered(&mut input.history);
        input.history.extend(unread);
        // The agent that answered last has the conversation still, if it is handed over to it at all.
        let agent = outcome.agent.filter(|agent| settings.agent.setup().hands_over_to(agent));
        input.agent = input.agent.take().or(agent);
        // Instructions that are not given any more hold no longer; where others are, the run puts them there.
        let own = input.options.instructions(settings.agent.setup().system.as_deref());
        if own.is_none() && input.history.first().is_some_and(|first| first.role() == Role::System) {
            input.history.remove(0);
        }
        turn.woven = Woven::new(messages);
    }
    journal.begin(&run.unwrap_or_default(), turn);
    Ok(())
}

/// Marks the messages at the end of a history with which authors attached documents: their runs ended before the model
/// said anything. An error of such a run is none of the next one.
fn mark_unanswered(history: &mut [Arc<Message>]) {
    for message in history.iter_mut().rev() {
        let Message::User(user) = &**message else { return };
        if user.origin == UserOrigin::Author && !message.documents().is_empty() {
            let mut user = user.clone();
            user.metadata = user.metadata.with(UNANSWERED, true);
            *message = Message::User(user).shared();
        }
    }
}
