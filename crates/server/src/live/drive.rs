//! The task that drives a run.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use attache_agent::{AgentRun, EndReason, Event, EventKind, LogEvents};
use futures_core::Stream as _;
use tokio::time::{Instant, sleep_until};

use super::entry::{Broken, What, lighten};
use super::run::Live;
use super::run_rules::ClientCalls;
use crate::record::Record;

/// Drives a run to its end, or until it is to be let go.
pub(super) async fn drive(live: Arc<Live>, run: AgentRun, record: Arc<Record>) {
    // However the task ends, its viewers learn of it.
    let ending = Ending { live: Arc::clone(&live), run: Some(run), record };
    ending.drive().await;
}

/// Has viewers told what the log of the run tells. The run has its lease, and nothing new is written before it goes on.
async fn recall(live: &Live) {
    let Some(session) = &live.held else { return };
    let entries = match session.behind(&live.id, 0).await {
        Ok(entries) => entries,
        Err(error) => {
            tracing::warn!(run = live.id, %error, "the log of a run that goes on cannot be told");
            return;
        }
    };
    let (mut before, mut events) = (LogEvents::new(), Vec::new());
    for entry in &entries {
        match before.take(entry) {
            Ok(mut told) => {
                told.iter_mut().for_each(lighten);
                events.extend(told);
            }
            Err(error) => tracing::warn!(run = live.id, %error, "an entry of a log cannot be told"),
        }
    }
    // Its end is told when the run tells it, and nobody is asked for results that are delivered already.
    let is_answered =
        |event: &Event| pending(&event.kind).is_some_and(|call| live.answered.contains(&call.id));
    let is_told = |event: &Event| !matches!(event.kind, EventKind::Finished(_)) && !is_answered(event);
    live.recall(events.into_iter().filter(is_told));
}

struct Ending {
    live: Arc<Live>,
    run: Option<AgentRun>,
    record: Arc<Record>,
}

impl Ending {
    async fn drive(mut self) {
        let live = Arc::clone(&self.live);
        let mut recalls = live.goes_on();
        let mut attention = pin!(attend(&live));
        loop {
            let next = poll_fn(|context| match self.poll(&mut recalls, context) {
                Poll::Pending => attention.as_mut().poll(context).map(|()| Next::Stop),
                next => next,
            });
            match next.await {
                Next::Recall(first) => {
                    Box::pin(recall(&live)).await;
                    if self.take(*first) {
                        return self.pause().await;
                    }
                }
                Next::Pause => return self.pause().await,
                Next::Stop => {
                    self.run = None;
                    live.let_go(true).await;
                    live.push(What::Broken(Broken::Stopping));
                    return;
                }
                Next::End => return,
            }
        }
    }

    /// Adds events while there are any. The first one waits if the run `recalls` its log before.
    fn poll(&mut self, recalls: &mut bool, context: &mut Context<'_>) -> Poll<Next> {
        loop {
            let Some(run) = self.run.as_mut() else { return Poll::Ready(Next::End) };
            let Some(event) = ready!(Pin::new(run).poll_next(context)) else { return Poll::Ready(Next::End) };
            let is_last = matches!(event.kind, EventKind::Finished(_));
            if !is_last && std::mem::take(recalls) {
                return Poll::Ready(Next::Recall(Box::new(event)));
            }
            if self.take(event) {
                return Poll::Ready(Next::Pause);
            }
            if is_last {
                self.run = None;
            }
        }
    }

    /// Adds an event, and keeps a run that may go on for the client that answered it. True if the run is to be let go until
    /// the client answers.
    fn take(&self, event: Event) -> bool {
        if may_go_on(&event.kind) && !self.live.answered.is_empty() {
            self.live.park(&self.live.answered);
        }
        self.add(event)
    }

    /// Lets the run go until the client answers.
    async fn pause(mut self) {
        let live = &self.live;
        // The session is free before the client learns that it is its turn.
        self.run = None;
        live.let_go(false).await;
        let pause = live.pause();
        let calls: Vec<_> = pause.calls.iter().map(|call| call.id.clone()).collect();
        live.park(&calls);
        live.push(What::Paused(pause));
    }

    /// Adds an event. True if the run is to be let go until the client answers.
    fn add(&self, mut event: Event) -> bool {
        self.record.event(self.live.of(), &event);
        lighten(&mut event);
        match &event.kind {
            // Nobody asked for a value.
            EventKind::PartialValue(_) => return false,
            EventKind::Finished(_) => {
                self.live.push(What::Event(event));
                return false;
            }
            _ => {}
        }
        if let Some(call) = pending(&event.kind) {
            if self.live.answered.contains(&call.id) {
                return false;
            }
            if let ClientCalls::Wait(time) = self.live.rules.client_calls {
                self.live.wait_for_client(call.clone(), Instant::now() + time);
            }
        }
        self.live.push(What::Event(event))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // A run that is dropped while it panics must not panic again here.
        self.run = None;
        if !self.live.has_ended() {
            self.live.push(What::Broken(Broken::Failed));
        }
    }
}

/// True if a run has failed and goes on where somebody resumes it: the model did not answer.
fn may_go_on(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Finished(Err(error)) if matches!(error.reason(), EndReason::ProviderError(_)))
}

/// The call of an event that the client is to answer, also one of an agent inside.
fn pending(kind: &EventKind) -> Option<&attache_core::ToolCall> {
    match kind {
        EventKind::ExternalPending { call } => Some(call),
        EventKind::Nested { event, .. } => pending(&event.kind),
        _ => None,
    }
}

/// The next thing that a driver has to do with.
enum Next {
    /// The log of a run that goes on is to be told before this event of it.
    Recall(Box<Event>),
    /// The client is to answer.
    Pause,
    /// The server stops.
    Stop,
    /// There is nothing behind the end.
    End,
}

/// Keeps the rules of a run, until the server stops.
async fn attend(live: &Live) {
    let until = live.rules.run_time.and_then(|time| Instant::now().checked_add(time));
    loop {
        let mut woken = pin!(live.attention.notified());
        woken.as_mut().enable();
        let attention = live.attend();
        if attention.stops {
            return;
        }
        for call in attention.overdue {
            let control = live.control.clone();
            tokio::spawn(async move {
                // Its page may be about to answer: somebody may have allowed it there a moment ago.
                let text = "Nobody answered the call in time; it is not known whether it was run.";
                if let Err(error) = control.expire(&call, text).await {
                    tracing::debug!(%error, "a call that nobody answered was answered or closed meanwhile");
                }
            });
        }
        let now = Instant::now();
        let patience = live.rules.on_disconnect.patience();
        let left = attention.left.zip(patience).and_then(|(left, patience)| left.checked_add(patience));
        if left.is_some_and(|left| left <= now) {
            live.control.cancel_because("the client left");
        }
        if until.is_some_and(|until| until <= now) {
            live.control.cancel_because("the time of the run is up");
        }
        let future = |at: &Instant| *at > now;
        match [until, left, attention.next_due].into_iter().flatten().filter(future).min() {
            None => woken.await,
            Some(at) => {
                futures_util::future::select(woken, pin!(sleep_until(at))).await;
            }
        }
    }
}
