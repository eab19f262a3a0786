//! When to ask again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use attache_core::ProviderError;
use tokio::time::Instant;

/// The number of a request's attempts, and the waits between them.
///
/// Only what [`ProviderError::is_retryable`] says, and only before the first chunk was handed out. The wait is the
/// one that the server asked for, otherwise a random one between zero and `base · 2ⁿ`, at most `cap` (full jitter).
/// A server that asks for more than `longest_wait`, or waits that would sum up to more than `total_wait`, end the
/// trying. (runtime.md 17, openai.md 0.3)
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts in all, the first included; 3.
    pub attempts: u32,
    /// The maximum of the first random wait; 1 s.
    pub base: Duration,
    /// The maximum of any random wait; 20 s.
    pub cap: Duration,
    /// The longest wait that a server may ask for; 120 s.
    pub longest_wait: Duration,
    /// The maximum of all waits of a request together; 180 s.
    pub total_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(20),
            longest_wait: Duration::from_secs(120),
            total_wait: Duration::from_secs(180),
        }
    }
}

impl RetryPolicy {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Never asks again.
    pub fn never() -> Self {
        Self::default().with_attempts(1)
    }

    /// Sets the attempts in all.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets what the first random wait, and any, is at most.
    #[must_use]
    pub fn with_backoff(mut self, base: Duration, cap: Duration) -> Self {
        (self.base, self.cap) = (base, cap);
        self
    }

    /// Sets the longest wait that a server may ask for, and what all waits may sum up to.
    #[must_use]
    pub fn with_waits(mut self, longest: Duration, total: Duration) -> Self {
        (self.longest_wait, self.total_wait) = (longest, total);
        self
    }
}

/// The end of what starts now and may take so long. A limit beyond what the clock can tell is none.
pub(crate) fn end_of(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + Duration::from_secs(u32::MAX.into()))
}

/// The attempts of one request under a policy.
#[derive(Debug)]
pub struct Trying {
    policy: RetryPolicy,
    /// Attempts that failed.
    failed: u32,
    waited: Duration,
    end: Instant,
}

impl Trying {
    /// Starts now; every attempt and wait ends within `total`.
    pub fn new(policy: &RetryPolicy, total: Duration) -> Self {
        Self { policy: policy.clone(), failed: 0, waited: Duration::ZERO, end: end_of(total) }
    }

    pub(crate) fn end(&self) -> Instant {
        self.end
    }

    /// The number of attempts that have been made, the present one included.
    pub fn attempt(&self) -> u32 {
        self.failed.saturating_add(1)
    }

    /// The time to wait before the next attempt after `error`; `None` if there is to be none. Counts as an attempt.
    pub fn next_wait(&mut self, error: &ProviderError) -> Option<Duration> {
        if !error.is_retryable() || self.attempt() >= self.policy.attempts {
            return None;
        }
        // Without any time, attempts would follow each other at once.
        let wait = match error.retry_after().filter(|asked| !asked.is_zero()) {
            Some(asked) => Some(asked).filter(|asked| *asked <= self.policy.longest_wait)?,
            None => {
                let doubled = self.policy.base.saturating_mul(2_u32.saturating_pow(self.failed));
                doubled.min(self.policy.cap).mul_f64(random_fraction())
            }
        };
        let waited = self.waited.checked_add(wait).filter(|sum| *sum <= self.policy.total_wait)?;
        Instant::now().checked_add(wait).filter(|then| *then < self.end)?;
        self.waited = waited;
        self.failed = self.attempt();
        Some(wait)
    }
}

/// A number from 0 up to 1. The standard library seeds each hasher anew, which is random enough to spread retries.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> 32;
    f64::from(u32::try_from(bits).unwrap_or(u32::MAX)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use attache_core::ErrorKind;

    use super::*;

    fn overloaded() -> ProviderError {
        ProviderError::new(ErrorKind::Overloaded, "x")
    }

    fn trying(policy: &RetryPolicy) -> Trying {
        Trying::new(policy, Duration::from_secs(3600))
    }

    // P26
    #[tokio::test(start_paused = true)]
    async fn waits_double_at_random_and_end() {
        let policy = RetryPolicy::new().with_attempts(8);
        for (attempt, limit) in [1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0].into_iter().enumerate() {
            let mut waits: Vec<Duration> = Vec::new();
            for _ in 0..300 {
                let mut trying = trying(&policy);
                trying.failed = u32::try_from(attempt).unwrap();
                waits.push(trying.next_wait(&overloaded()).unwrap());
            }
            let limit = Duration::from_secs_f64(limit);
            assert!(waits.iter().all(|wait| *wait < limit));
            assert!(waits.iter().any(|wait| *wait > limit.mul_f64(0.8)));
            assert!(waits.iter().any(|wait| *wait < limit.mul_f64(0.2)));
        }
        let mut trying = trying(&RetryPolicy::new());
        assert!(trying.next_wait(&overloaded()).is_some());
        assert!(trying.next_wait(&overloaded()).is_some());
        assert!(trying.next_wait(&overloaded()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_decides_how_long_but_not_without_end() {
        let policy = RetryPolicy::new().with_attempts(100);
        let asked = |seconds| overloaded().with_retry_after(Duration::from_secs(seconds));
        assert_eq!(trying(&policy).next_wait(&asked(7)), Some(Duration::from_secs(7)));
        let at_once: Duration = (0..20).filter_map(|_| trying(&policy).next_wait(&asked(0))).sum();
        assert!(at_once > Duration::from_secs(1), "no time at all is none that was asked for: {at_once:?}");
        assert_eq!(trying(&policy).next_wait(&asked(121)), None);
        let mut long = trying(&policy);
        assert!(long.next_wait(&asked(100)).is_some());
        assert!(long.next_wait(&asked(100)).is_none(), "180 s in all");
        let mut short = Trying::new(&policy, Duration::from_secs(5));
        assert!(short.next_wait(&asked(6)).is_none(), "longer than the request may take");
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_retryable() {
        let mut trying = trying(&RetryPolicy::new());
        assert!(trying.next_wait(&ProviderError::new(ErrorKind::QuotaExceeded, "x")).is_none());
        assert!(trying.next_wait(&overloaded().after_output()).is_none());
        assert!(trying.next_wait(&overloaded().with_retryable(false)).is_none());
        assert!(trying.next_wait(&ProviderError::new(ErrorKind::Api, "x").with_retryable(true)).is_some());
    }
}
