//! The answers that a round of calls waits for.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::SystemTime;

use attache_core::ToolCallId;
use attache_core::tool::{Deferred, Progress};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::Receiver;
use tokio::time::Sleep;

use crate::control::Control;
use crate::driver::progress::Heard;
use crate::driver::record::{Ran, Recording};
use crate::driver::stop::Fault;
use crate::event::EventKind;
use crate::journal::{CallTime, Place};
use crate::log::{Entry, Key, ToolOutcome};
use crate::nested::Inside;

/// A result on its way.
pub(super) type Answer = Pin<Box<dyn Future<Output = Answered> + Send>>;

pub(super) enum Answered {
    /// The tool came to its end; nothing is recorded yet. False if another driver has taken over a run inside it: the
    /// tool's failure is no result then.
    Done(ToolOutcome, bool),
    /// The result of a tool is recorded, or could not be.
    Ran(Box<Ran>),
    /// The tool ended the run; nothing is recorded yet.
    Aborted(ToolOutcome),
    /// The caller's result is there, with the verdict of the hooks about it, or a person's decision.
    Delivered(Box<Entry>, Option<Box<Entry>>),
    /// The tool says that the result comes later.
    Deferred(ToolCallId, Box<Deferred>),
    /// The result that was to come later did not come in time.
    Overdue(ToolCallId),
    /// Something from outside interrupts the calls.
    Interrupted,
    /// Nobody decided about a call in time.
    Undecided(String),
    /// Something happened in a run inside a tool.
    Inside(Inside),
    /// A call has come so far.
    Progress(ToolCallId, Box<Progress>),
    /// A run inside the tool waits for somebody: the call has no result yet.
    Paused,
    /// A run inside the tool was broken off and can be resumed: the call has no result yet.
    BrokenOff,
    /// The caller's time is up.
    Late,
    Failed(Fault),
}

/// Calls that were started, or the end that one of them makes of the run.
pub(super) struct StartedCalls {
    pub(super) answers: Vec<Answer>,
    pub(super) events: Vec<EventKind>,
    /// True if no other call may start.
    pub(super) is_over: bool,
}

impl StartedCalls {
    pub(super) fn over(outcome: ToolOutcome, events: Vec<EventKind>) -> Self {
        let ends: Answer = Box::pin(std::future::ready(Answered::Aborted(outcome)));
        Self { answers: vec![ends], events, is_over: true }
    }
}

/// Calls that wait for people.
pub(super) struct Gate {
    pub(super) waits: FuturesUnordered<Answer>,
    /// Comes to its end when a run that has nothing else to do waits no longer.
    pub(super) patience: Pin<Box<Sleep>>,
    /// The approvals and deferred calls that are waited for.
    pub(super) asked: Vec<String>,
    /// The time of the call whose tool the run works for: it stands still while there is nothing to do but wait.
    pub(super) time: Option<Arc<CallTime>>,
    pub(super) waits_alone: bool,
}

impl Gate {
    fn wait_alone(&mut self, alone: bool) {
        let Some(time) = self.time.as_ref().filter(|_| self.waits_alone != alone) else { return };
        if alone {
            time.wait()
        } else {
            time.go_on()
        }
        self.waits_alone = alone;
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.wait_alone(false);
    }
}

/// The next thing that happened; `None` when nothing is under way, or nothing but calls that wait for people beyond the
/// run's patience.
pub(super) fn next_answer(
    inside: &mut Option<Receiver<Inside>>,
    heard: Option<&Heard>,
    under_way: &mut FuturesUnordered<Answer>,
    recording: &mut Recording,
    control: &Control,
    mut gate: Option<&mut Gate>,
) -> impl Future<Output = Option<Answered>> + Unpin {
    poll_fn(move |context| {
        if let Some(gate) = &mut gate {
            gate.wait_alone(false);
        }
        if control.is_interrupting() {
            return Poll::Ready(Some(Answered::Interrupted));
        }
        // They were told before their tool came to its end.
        if let Some(events) = inside
            && let Poll::Ready(Some(event)) = events.poll_recv(context)
        {
            return Poll::Ready(Some(Answered::Inside(event)));
        }
        if let Some((call, progress)) = heard.and_then(|heard| heard.poll(context)) {
            return Poll::Ready(Some(Answered::Progress(call, Box::new(progress))));
        }
        if let Poll::Ready(Some(ran)) = recording.poll_next(context) {
            return Poll::Ready(Some(Answered::Ran(ran)));
        }
        if let Some(gate) = &mut gate
            && let Poll::Ready(Some(answered)) = gate.waits.poll_next_unpin(context)
        {
            return Poll::Ready(Some(answered));
        }
        match (under_way.poll_next_unpin(context), &mut gate) {
            (Poll::Ready(None), _) if !recording.is_empty() => Poll::Pending,
            (Poll::Ready(None), Some(gate)) if !gate.waits.is_empty() => {
                let patience = gate.patience.as_mut().poll(context);
                gate.wait_alone(patience.is_pending());
                patience.map(|()| None)
            }
            (next, _) => next,
        }
    })
}

/// Waits for the caller's result.
pub(super) fn wait(place: Place, key: Key, until: Option<SystemTime>) -> Answer {
    Box::pin(async move {
        match place.wait(&key, until).await {
            Ok(Some(mut entry)) => {
                entry.key = key;
                Answered::Delivered(Box::new(entry), None)
            }
            Ok(None) => Answered::Late,
            Err(error) => Answered::Failed(error.into()),
        }
    })
}

/// Waits for a person's decision.
pub(super) fn wait_decision(place: Place, approval: String, until: SystemTime) -> Answer {
    Box::pin(async move {
        let key = Key::decided(&approval);
        match place.wait(&key, Some(until)).await {
            Ok(Some(mut entry)) => {
                entry.key = key;
                Answered::Delivered(Box::new(entry), None)
            }
            Ok(None) => Answered::Undecided(approval),
            Err(error) => Answered::Failed(error.into()),
        }
    })
}

/// Waits for the result of a deferred call.
pub(super) fn wait_deferred(place: Place, call: ToolCallId, until: Option<SystemTime>) -> Answer {
    Box::pin(async move {
        let key = Key::result(&call);
        match place.wait(&key, until).await {
            Ok(Some(mut entry)) => {
                entry.key = key;
                Answered::Delivered(Box::new(entry), None)
            }
            Ok(None) => Answered::Overdue(call),
            Err(error) => Answered::Failed(error.into()),
        }
    })
}
