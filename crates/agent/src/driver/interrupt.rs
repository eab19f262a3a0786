//! The interruption of a run from outside: a cancellation, or its deadline.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::control::Control;
use crate::driver::stop::{Fault, Interrupted, Stop};
use crate::journal::{CallTime, now};

/// The time in which an interrupted run records what it knows. A journal that does not answer must not hold up whoever
/// interrupts.
const CLOSING: Duration = Duration::from_secs(5);
/// The part of it that is left for the end of the run, however long the rest takes.
const ENDING: Duration = Duration::from_secs(1);

/// The time in which a cancelled run of a session still gets what its end needs.
pub(crate) const OPENING: Duration = CLOSING.saturating_sub(ENDING);

/// Waits for the interruption of a run, once for all its phases: nothing is set up per phase or per delta.
pub(super) struct Interrupt {
    future: Pin<Box<dyn Future<Output = Interrupted> + Send>>,
    control: Control,
    due: Due,
    /// The interruption, and when it came.
    came: Option<(Interrupted, Instant)>,
}

/// When the run's time is up: its own, or that of the call whose tool it works for.
#[derive(Clone)]
struct Due {
    own: Option<Instant>,
    call: Option<Arc<CallTime>>,
}

impl Due {
    fn at(&self) -> Option<Instant> {
        let call = self.call.as_ref().and_then(|call| call.until());
        self.own.into_iter().chain(call).min()
    }

    fn is_past(&self) -> bool {
        self.at().is_some_and(|at| at <= Instant::now())
    }
}

impl Interrupt {
    /// `deadline` is in milliseconds since 1970.
    pub(super) fn new(control: &Control, deadline: Option<u64>, call: Option<Arc<CallTime>>) -> Self {
        let waiting = control.clone();
        let left = deadline.map(|deadline| Duration::from_millis(deadline.saturating_sub(now())));
        // A time too far away to be told is none.
        let due = Due { own: left.and_then(|left| Instant::now().checked_add(left)), call };
        let time = due.clone();
        let future = Box::pin(async move {
            let mut cancelled = pin!(waiting.cancelled());
            while let Some(at) = time.at() {
                match select(cancelled.as_mut(), pin!(sleep_until(at))).await {
                    Either::Left((why, _)) => return Interrupted::Cancelled(why),
                    Either::Right(_) if time.is_past() => return Interrupted::Deadline,
                    // It stood still meanwhile.
                    Either::Right(_) => {}
                }
            }
            Interrupted::Cancelled(cancelled.await)
        });
        Self { future, control: control.clone(), due, came: None }
    }

    /// The time that is left to the run, if it has a deadline.
    pub(super) fn left(&self) -> Option<Duration> {
        self.due.at().map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// The interruption, when it comes; one that came stays.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Interrupted> {
        if let Some((interrupted, _)) = &self.came {
            return Poll::Ready(interrupted.clone());
        }
        self.future.as_mut().poll(context).map(|interrupted| {
            self.came = Some((interrupted.clone(), Instant::now()));
            interrupted
        })
    }

    /// The value of `work`, unless the run is interrupted first. Work that is ready at each poll cannot keep it
    /// out.
    ///
    /// Work is pinned by whoever brings it: moved in here, each phase would have room for it twice.
    pub(super) fn guard<F: Future + Unpin>(
        &mut self,
        mut work: F,
    ) -> impl Future<Output = Result<F::Output, Interrupted>> {
        let is_over = self.control.is_cancelled() || self.due.is_past();
        poll_fn(move |context| {
            if !is_over && let Poll::Ready(value) = work.poll_unpin(context) {
                return Poll::Ready(Ok(value));
            }
            self.poll(context).map(Err)
        })
    }

    /// Stops the phase if the run is interrupted already.
    pub(super) async fn check(&mut self) -> Result<(), Stop> {
        let nothing = std::future::ready(());
        self.guard(nothing).await.map_err(|interrupted| Stop::Interrupted(interrupted, String::new()))
    }

    /// The value of `work`; a fault of it and an interruption both stop the phase.
    pub(super) fn attempt<T, E: Into<Fault>>(
        &mut self,
        work: impl Future<Output = Result<T, E>> + Unpin,
    ) -> impl Future<Output = Result<T, Stop>> {
        self.guard(work).map(|done| match done {
            Ok(done) => done.map_err(|fault| Stop::Fault(fault.into(), String::new())),
            Err(interrupted) => Err(Stop::Interrupted(interrupted, String::new())),
        })
    }

    /// The value of `work`, which records a thing that cannot be had again: an interruption comes behind it, unless it
    /// does not come to its end soon.
    pub(super) async fn complete<T, E: Into<Fault>>(
        &mut self,
        mut work: impl Future<Output = Result<T, E>> + Unpin,
    ) -> Result<T, Stop> {
        let first = poll_fn(|context| match work.poll_unpin(context) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => self.poll(context).map(Err),
        });
        let interrupted = match first.await {
            Ok(done) => return done.map_err(|fault| Stop::Fault(fault.into(), String::new())),
            Err(interrupted) => interrupted,
        };
        match Box::pin(self.in_time(work)).await {
            Some(Ok(done)) => Ok(done),
            Some(Err(_)) | None => Err(Stop::Interrupted(interrupted, String::new())),
        }
    }

    /// The value of `work`, if it comes in the time in which an interrupted run records what it knows.
    pub(super) async fn in_time<F: Future>(&mut self, work: F) -> Option<F::Output> {
        timeout_at(self.came_at() + OPENING, work).await.ok()
    }

    /// Until when the end of the run must be recorded.
    pub(super) fn closes(&self) -> Instant {
        (self.came_at() + CLOSING).max(Instant::now() + ENDING)
    }

    /// The interruption, if it has come.
    pub(super) fn came(&self) -> Option<Interrupted> {
        self.came.as_ref().map(|(interrupted, _)| interrupted.clone())
    }

    fn came_at(&self) -> Instant {
        self.came.as_ref().map_or_else(Instant::now, |(_, at)| *at)
    }
}
