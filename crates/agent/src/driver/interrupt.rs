//! What ends a run from outside: a cancellation, or its deadline.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::future::{Either, select};

use crate::control::Control;

/// Why a run is interrupted.
pub(crate) enum Interrupted {
    Cancelled(String),
    Deadline,
}

/// Waits for the interruption of a run, once for all its phases: nothing is set up per phase or per delta.
pub(crate) struct Interrupt {
    future: Pin<Box<dyn Future<Output = Interrupted> + Send>>,
    control: Control,
}

impl Interrupt {
    pub(crate) fn new(control: &Control, deadline: Option<Duration>) -> Self {
        let waiting = control.clone();
        let future = Box::pin(async move {
            let cancelled = pin!(waiting.cancelled());
            match deadline {
                None => Interrupted::Cancelled(cancelled.await),
                Some(deadline) => match select(cancelled, pin!(tokio::time::sleep(deadline))).await {
                    Either::Left((why, _)) => Interrupted::Cancelled(why),
                    Either::Right(_) => Interrupted::Deadline,
                },
            }
        });
        Self { future, control: control.clone() }
    }

    /// The value of `work`, unless the run is interrupted first. Work that is ready at each poll cannot keep a
    /// cancellation out.
    pub(crate) async fn guard<F: Future>(&mut self, work: F) -> Result<F::Output, Interrupted> {
        if self.control.is_cancelled() {
            return Err(self.future.as_mut().await);
        }
        match select(pin!(work), self.future.as_mut()).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right((interrupted, _)) => Err(interrupted),
        }
    }
}
