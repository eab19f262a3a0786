//! The time as sessions know it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_core::fresh;

use crate::journal::millis;

/// Tells the time.
#[derive(Clone)]
pub(super) struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    pub(super) fn new(clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(clock))
    }

    /// Now, in milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        millis((self.0)())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(fresh::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// A duration in milliseconds.
pub(super) fn length(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
