//! The requests of each principal, over time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time in which a bucket that is empty becomes full.
const MINUTE: Duration = Duration::from_secs(60);
/// The number of buckets from which on those that are full are looked for and forgotten.
const MANY: usize = 1024;

/// A bucket of requests for each principal: it holds those of a minute, and fills evenly.
pub(crate) struct Pace {
    per_minute: Option<u32>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    buckets: HashMap<Arc<str>, Bucket>,
    /// The number of buckets at which they are looked through.
    full_at: usize,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Pace {
    pub(crate) fn new(per_minute: Option<u32>) -> Self {
        Self { per_minute, state: Mutex::new(State { full_at: MANY, ..State::default() }) }
    }

    /// Counts a request, or returns how long until one is allowed.
    pub(crate) fn take(&self, principal: &Arc<str>) -> Result<(), Duration> {
        let Some(per_minute) = self.per_minute else { return Ok(()) };
        let (most, now) = (f64::from(per_minute.max(1)), Instant::now());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.buckets.len() >= state.full_at {
            // A bucket that nobody touched for a minute is full, as is one that is not there.
            state.buckets.retain(|_, bucket| now.duration_since(bucket.at) < MINUTE);
            state.full_at = (state.buckets.len() * 2).max(MANY);
        }
        let bucket = state.buckets.entry(Arc::clone(principal)).or_insert(Bucket { left: most, at: now });
        let per_second = most / MINUTE.as_secs_f64();
        let filled = now.duration_since(bucket.at).as_secs_f64() * per_second;
        bucket.left = (bucket.left + filled).min(most);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minutes_requests_may_come_at_once_and_then_evenly() {
        let pace = Pace::new(Some(60));
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        for _ in 0..60 {
            assert_eq!(pace.take(&ann), Ok(()));
        }
        let wait = pace.take(&ann).unwrap_err();
        assert!(wait <= Duration::from_secs(1) && wait > Duration::from_millis(900), "{wait:?}");
        assert_eq!(pace.take(&bob), Ok(()), "the bucket is another one's");
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert_eq!(pace.take(&ann), Ok(()));
        assert!(pace.take(&ann).is_err());
        tokio::time::advance(Duration::from_secs(3600)).await;
        let taken = (0..100).filter(|_| pace.take(&ann).is_ok()).count();
        assert_eq!(taken, 60, "an hour of silence is no hour of requests");
        assert!((0..1000).all(|_| Pace::new(None).take(&ann).is_ok()));
    }

    #[tokio::test(start_paused = true)]
    async fn principals_who_are_gone_take_no_memory() {
        let pace = Pace::new(Some(60));
        for round in 0..10 {
            for at in 0..1000 {
                assert_eq!(pace.take(&format!("{round} {at}").into()), Ok(()));
            }
            tokio::time::advance(MINUTE).await;
        }
        let known = pace.state.lock().unwrap().buckets.len();
        assert!(known <= 2 * MANY, "{known}");
    }
}
