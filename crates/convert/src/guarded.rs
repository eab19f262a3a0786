//! Runs a conversion where it can do no harm: on a thread of its own, with a stack that fits, under a time
//! limit, and with panics caught.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::ConvertError;

/// Parsers of nested formats recurse, within limits of their own that this holds with a wide margin, debug
/// builds included. It is reserved, not used, memory.
const STACK_BYTES: usize = 32 << 20;

/// The time that a conversion which looks at its clock may take to notice that its time is over.
const GRACE: Duration = Duration::from_millis(500);

/// Most threads that ran out of time and have not stopped yet, in this process.
const MAX_ABANDONED: usize = 4;

/// Threads that ran out of time and are still running.
static ABANDONED: AtomicUsize = AtomicUsize::new(0);

const RUNNING: u8 = 0;
const LEFT: u8 = 1;
const ENDED: u8 = 2;

/// When a conversion has to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    end: Instant,
    limit: Duration,
}

impl Clock {
    pub(crate) fn start(limit: Duration) -> Self {
        let now = Instant::now();
        // A limit beyond what an instant can hold is as good as a year.
        let end = now.checked_add(limit).unwrap_or(now + Duration::from_secs(365 * 24 * 60 * 60));
        Self { end, limit }
    }

    /// Fails when the time is over. Conversions call this wherever work repeats.
    pub(crate) fn check(&self) -> Result<(), ConvertError> {
        if Instant::now() < self.end { Ok(()) } else { Err(self.over()) }
    }

    /// The time that it may still take.
    #[cfg(feature = "images")]
    pub(crate) fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// The error of a conversion that did not end in time.
    pub(crate) fn over(&self) -> ConvertError {
        ConvertError::TimedOut { limit: self.limit }
    }
}

/// Does `work` on its own thread and waits for it, at most until its clock runs out.
pub(crate) fn run<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(Clock) -> Result<T, ConvertError> + Send + 'static,
) -> Result<T, ConvertError> {
    run_counted(&ABANDONED, limit, work)
}

fn run_counted<T: Send + 'static>(
    abandoned: &'static AtomicUsize,
    limit: Duration,
    work: impl FnOnce(Clock) -> Result<T, ConvertError> + Send + 'static,
) -> Result<T, ConvertError> {
    if abandoned.load(Ordering::Acquire) >= MAX_ABANDONED {
        return Err(ConvertError::Busy);
    }
    let clock = Clock::start(limit);
    let state = Arc::new(AtomicU8::new(RUNNING));
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread_state = Arc::clone(&state);
    thread::Builder::new()
        .name("attache-convert".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Everything `work` touches is dropped with it, so that no broken state can be seen later.
            let result = catch_unwind(AssertUnwindSafe(|| work(clock)));
            if thread_state.swap(ENDED, Ordering::AcqRel) == LEFT {
                abandoned.fetch_sub(1, Ordering::AcqRel);
            }
            // Nobody listens any more after a timeout.
            let _ = sender.send(result.unwrap_or(Err(ConvertError::Failed)));
        })
        .map_err(|_| ConvertError::Busy)?;
    match receiver.recv_timeout(limit.saturating_add(GRACE)) {
        Ok(result) => result,
        // The thread ended without a word: dropping what a panic left behind panicked again.
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(ConvertError::Failed),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            // Counted before the state changes, so that the thread never takes off what was not added.
            abandoned.fetch_add(1, Ordering::AcqRel);
            if state.compare_exchange(RUNNING, LEFT, Ordering::AcqRel, Ordering::Acquire).is_err() {
                abandoned.fetch_sub(1, Ordering::AcqRel);
            }
            Err(clock.over())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ABANDONED, run, run_counted};
    use crate::ConvertError;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(run::<()>(LONG, |_| panic!("on purpose")), Err(ConvertError::Failed));
    }

    #[test]
    fn work_that_watches_its_clock_ends_by_itself() {
        let limit = Duration::from_millis(20);
        let result = run::<()>(limit, |clock| {
            loop {
                clock.check()?;
            }
        });
        assert_eq!(result, Err(ConvertError::TimedOut { limit }));
    }

    #[test]
    fn work_that_hangs_is_left_behind_counted_and_refused_beyond_a_limit() {
        // Not the counter of the process, which the other tests share.
        static ABANDONED: AtomicUsize = AtomicUsize::new(0);
        let limit = Duration::from_millis(1);
        let mut releases = Vec::new();
        for _ in 0..MAX_ABANDONED {
            let (release, wait) = mpsc::channel::<()>();
            let result = run_counted::<()>(&ABANDONED, limit, move |_| {
                let _ = wait.recv();
                Ok(())
            });
            assert_eq!(result, Err(ConvertError::TimedOut { limit }));
            releases.push(release);
        }
        assert_eq!(run_counted(&ABANDONED, LONG, |_| Ok(1)), Err(ConvertError::Busy));

        drop(releases);
        let patience = Instant::now() + LONG;
        while ABANDONED.load(Ordering::Acquire) > 0 {
            assert!(Instant::now() < patience, "the threads did not end");
            std::thread::yield_now();
        }
        assert_eq!(run_counted(&ABANDONED, LONG, |_| Ok(1)), Ok(1));
    }
}
