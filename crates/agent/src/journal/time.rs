//! The time that a tool has which starts runs. It stands still while such a run waits for people and for nothing else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The maximum time that a run keeps for a last answer.
const LANDING: Duration = Duration::from_secs(30);

/// While people are waited for, nobody knows when the time is up. It is looked at again after this.
pub(crate) const AGAIN: Duration = Duration::from_secs(1);

/// The time of one call.
pub(crate) struct CallTime {
    limit: Duration,
    /// When the tool's own time is up, if nobody is waited for.
    own: Option<Instant>,
    /// When the time is up that the run around has left for its tools, which stands still for nobody.
    left: Option<Instant>,
    waits: Mutex<Waits>,
    /// The time of the call around.
    outer: Option<Arc<CallTime>>,
}

#[derive(Default)]
struct Waits {
    /// The runs that wait for people now.
    count: usize,
    since: Option<Instant>,
    total: Duration,
}

impl CallTime {
    /// The time of a call with its own limit and what is left to the run around; `None` where neither is set.
    pub(crate) fn new(
        own: Option<Duration>,
        left: Option<Duration>,
        outer: Option<Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let Some(limit) = own.into_iter().chain(left).min() else { return outer };
        let at = |limit: Option<Duration>| limit.and_then(|limit| Instant::now().checked_add(limit));
        Some(Arc::new(Self { limit, own: at(own), left: at(left), waits: Mutex::default(), outer }))
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When it is up, as far as is known now.
    pub(crate) fn until(&self) -> Option<Instant> {
        let own = self.own.map(|own| match self.is_waiting() {
            true => (own + self.waited()).max(Instant::now() + AGAIN),
            false => own + self.waited(),
        });
        own.into_iter().chain(self.left).min()
    }

    /// The part of it that is left for a last answer.
    pub(crate) fn landing_room(&self) -> Duration {
        (self.limit / 10).min(LANDING)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.lock().count > 0
    }

    /// How long it stood still.
    pub(crate) fn waited(&self) -> Duration {
        let waits = self.lock();
        waits.total + waits.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// A run waits for people.
    pub(crate) fn wait(&self) {
        let mut next = Some(self);
        while let Some(time) = next {
            let mut waits = time.lock();
            waits.count += 1;
            waits.since.get_or_insert_with(Instant::now);
            drop(waits);
            next = time.outer.as_deref();
        }
    }

    /// A run waits for people no longer.
    pub(crate) fn go_on(&self) {
        let mut next = Some(self);
        while let Some(time) = next {
            let mut waits = time.lock();
            waits.count = waits.count.saturating_sub(1);
            if waits.count == 0
                && let Some(since) = waits.since.take()
            {
                waits.total += since.elapsed();
            }
            drop(waits);
            next = time.outer.as_deref();
        }
    }
}
