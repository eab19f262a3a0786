//! The interruption of a run from outside: a cancellation, or its deadline.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep_until};

use crate::control::Control;
use crate::driver::fault::{Fault, Stop};
use crate::journal::now;

/// Why a run is interrupted.
pub(super) enum Interrupted {
    Cancelled(String),
    Deadline,
}

/// Waits for the interruption of a run, once for all its phases: nothing is set up per phase or per delta.
pub(super) struct Interrupt {
    future: Pin<Box<dyn Future<Output = Interrupted> + Send>>,
    control: Control,
    /// When the run's time is up.
    until: Option<Instant>,
}

impl Interrupt {
    /// `deadline` is in milliseconds since 1970.
    pub(super) fn new(control: &Control, deadline: Option<u64>) -> Self {
        let waiting = control.clone();
        let left = deadline.map(|deadline| Duration::from_millis(deadline.saturating_sub(now())));
        // A time too far away to be told is none.
        let until = left.and_then(|left| Instant::now().checked_add(left));
        let future = Box::pin(async move {
            let cancelled = pin!(waiting.cancelled());
            match until {
                None => Interrupted::Cancelled(cancelled.await),
                Some(until) => match select(cancelled, pin!(sleep_until(until))).await {
                    Either::Left((why, _)) => Interrupted::Cancelled(why),
                    Either::Right(_) => Interrupted::Deadline,
                },
            }
        });
        Self { future, control: control.clone(), until }
    }

    /// The value of `work`, unless the run is interrupted first. Work that is ready at each poll cannot keep it
    /// out.
    pub(super) async fn guard<F: Future>(&mut self, work: F) -> Result<F::Output, Interrupted> {
        if self.control.is_cancelled() || self.until.is_some_and(|until| until <= Instant::now()) {
            return Err(self.future.as_mut().await);
        }
        match select(pin!(work), self.future.as_mut()).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right((interrupted, _)) => Err(interrupted),
        }
    }

    /// The value of `work`; a fault of it and an interruption both stop the phase.
    pub(super) async fn attempt<T, E: Into<Fault>>(
        &mut self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Stop> {
        match self.guard(work).await {
            Ok(done) => done.map_err(|fault| Stop::Fault(fault.into(), String::new())),
            Err(interrupted) => Err(Stop::Interrupted(interrupted, String::new())),
        }
    }
}
