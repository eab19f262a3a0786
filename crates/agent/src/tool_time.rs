//! The time that a tool has for itself.
//!
//! Tools run inside the stream of their run. While nobody polls it they stand still, and that time is not theirs.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::{Instant, timeout_at};

use crate::journal::{AGAIN, CallTime};

/// Measures how long a run could have gone on and was not polled, while tools run.
#[derive(Clone, Default)]
pub(crate) struct Pace(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// The number of rounds of tools that are under way: outside of them nothing is measured.
    watching: AtomicUsize,
    stalled: Mutex<Stalled>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct Stalled {
    /// Since when the run could go on.
    since: Option<Instant>,
    /// How long it stood still so far.
    total: Duration,
}

/// The longest time limit: a century.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A round of tools that is under way.
pub(crate) struct Watch(Pace);

impl Pace {
    /// Measures until the watch is dropped.
    pub(crate) fn watch(&self) -> Watch {
        self.0.watching.fetch_add(1, Ordering::Relaxed);
        Watch(self.clone())
    }

    /// Polls the run.
    pub(crate) fn poll<T>(
        &self,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if self.0.watching.load(Ordering::Relaxed) == 0 {
            return poll(context);
        }
        self.0.goes_on();
        self.0.waker.register(context.waker());
        let polled = poll(&mut Context::from_waker(&Waker::from(Arc::clone(&self.0))));
        if polled.is_ready() {
            // The consumer is busy with what it got, and the tools wait for it.
            self.0.could_go_on();
        }
        polled
    }

    /// The value of `work`, if it is there within `limit` of its own time. Time for which `call` stood still is not the
    /// work's. The caller has pinned it: a future that is moved in here would take its room twice.
    pub(crate) async fn within<F: Future + Unpin>(
        &self,
        limit: Duration,
        call: Option<&CallTime>,
        mut work: F,
    ) -> Option<F::Output> {
        // Adding it to the time must not overflow.
        let limit = limit.min(LONGEST);
        let (start, before) = (Instant::now(), self.0.total());
        let mut given = limit;
        loop {
            if let Ok(value) = timeout_at(start + given, &mut work).await {
                return Some(value);
            }
            let waited = call.map_or(Duration::ZERO, CallTime::waited);
            let stalled = self.0.total().saturating_sub(before) + waited;
            if call.is_some_and(CallTime::is_waiting) {
                given = (limit + stalled).max(start.elapsed() + AGAIN);
                continue;
            }
            if limit + stalled <= given {
                return None;
            }
            given = limit + stalled;
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Stalled> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn total(&self) -> Duration {
        self.lock().total
    }

    fn could_go_on(&self) {
        let mut stalled = self.lock();
        stalled.since.get_or_insert_with(Instant::now);
    }

    fn goes_on(&self) {
        let mut stalled = self.lock();
        if let Some(since) = stalled.since.take() {
            stalled.total += since.elapsed();
        }
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.could_go_on();
        self.waker.wake();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.0.watching.fetch_sub(1, Ordering::Relaxed);
        self.0.0.lock().since = None;
    }
}
