//! One timer for all time limits of a request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use tokio::time::{Instant, Sleep};

use super::timeouts::Timeouts;

/// A deadline that activity moves. The timer itself moves only when it goes off too early, so that a read costs
/// no more than a look at the clock.
#[derive(Debug)]
pub(super) struct Deadline {
    sleep: Pin<Box<Sleep>>,
    /// The time that may pass without activity.
    quiet: Duration,
    last_activity: Instant,
    end: Instant,
    started: bool,
}

impl Deadline {
    /// The deadline of a request that starts now and whose every limit ends at `end`.
    pub(super) fn new(timeouts: &Timeouts, end: Instant) -> Self {
        let (quiet, last_activity) = (timeouts.first_byte, Instant::now());
        let sleep = Box::pin(tokio::time::sleep_until(due(last_activity, quiet, end)));
        Self { sleep, quiet, last_activity, end, started: false }
    }

    /// The response begins: from now on `idle` may pass between two reads.
    pub(super) fn response_began(&mut self, idle: Duration) {
        self.quiet = idle;
        self.started = true;
        self.moved();
        let due = self.due();
        // A timer that goes off too early finds out by itself, and most never do.
        if due < self.sleep.deadline() {
            self.sleep.as_mut().reset(due);
        }
    }

    /// Bytes came.
    pub(super) fn moved(&mut self) {
        self.last_activity = Instant::now();
    }

    /// Ready when a limit has passed, and which.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<ProviderError> {
        loop {
            if self.sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let due = self.due();
            if Instant::now() >= due {
                return Poll::Ready(self.passed(due));
            }
            self.sleep.as_mut().reset(due);
        }
    }

    fn due(&self) -> Instant {
        due(self.last_activity, self.quiet, self.end)
    }

    fn passed(&self, due: Instant) -> ProviderError {
        let message = if due >= self.end {
            // Another attempt would start with no time left.
            return ProviderError::new(ErrorKind::Timeout, "the request took longer than it may in all")
                .with_retryable(false);
        } else if self.started {
            format!("no bytes came for {} s in the middle of the reply", self.quiet.as_secs_f32())
        } else {
            format!("no answer came within {} s", self.quiet.as_secs_f32())
        };
        ProviderError::new(ErrorKind::Timeout, message)
    }
}

fn due(last_activity: Instant, quiet: Duration, end: Instant) -> Instant {
    last_activity.checked_add(quiet).map_or(end, |due| due.min(end))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    fn deadline(total: u64) -> Deadline {
        let timeouts =
            Timeouts::new().with_first_byte(Duration::from_secs(30)).with_total(Duration::from_secs(total));
        Deadline::new(&timeouts, Instant::now() + timeouts.total)
    }

    /// After how many seconds it passes, and the error.
    async fn passes(deadline: &mut Deadline, since: Instant) -> (u64, ProviderError) {
        let error = poll_fn(|context| deadline.poll(context)).await;
        (since.elapsed().as_secs(), error)
    }

    #[tokio::test(start_paused = true)]
    async fn activity_moves_it_without_touching_the_timer() {
        let start = Instant::now();
        let mut deadline = deadline(1000);
        deadline.response_began(Duration::from_secs(10));
        let timer = deadline.sleep.deadline();
        for _ in 0..9 {
            tokio::time::advance(Duration::from_secs(1)).await;
            deadline.moved();
        }
        assert_eq!(deadline.sleep.deadline(), timer);
        let (seconds, error) = passes(&mut deadline, start).await;
        assert_eq!((seconds, error.is_retryable()), (19, true));
    }

    #[tokio::test(start_paused = true)]
    async fn each_limit_passes_at_its_time() {
        let start = Instant::now();
        assert_eq!(passes(&mut deadline(1000), start).await.0, 30);
        let start = Instant::now();
        let (seconds, error) = passes(&mut deadline(20), start).await;
        assert_eq!((seconds, error.is_retryable()), (20, false));
        let start = Instant::now();
        let mut busy = deadline(15);
        busy.response_began(Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(9)).await;
        busy.moved();
        assert_eq!(passes(&mut busy, start).await.0, 15);
    }
}
