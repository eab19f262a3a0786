//! One large image at a time: what several take together would be more than a process has.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::ConvertError;
use crate::guarded::Clock;

/// Images of more pixels than this pass the gate one by one.
const LARGE: u64 = 8 << 20;

static BUSY: Mutex<bool> = Mutex::new(false);
static FREE: Condvar = Condvar::new();

/// The right to decode a large image; given back when dropped.
#[derive(Debug)]
pub(super) struct Pass(());

/// Waits for the turn of an image of so many pixels, as long as its time lasts; `None` if it needs none.
pub(super) fn pass(pixels: u64, clock: Clock) -> Result<Option<Pass>, ConvertError> {
    if pixels <= LARGE {
        return Ok(None);
    }
    let mut busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    while *busy {
        clock.check()?;
        busy = FREE.wait_timeout(busy, clock.left()).unwrap_or_else(PoisonError::into_inner).0;
    }
    *busy = true;
    Ok(Some(Pass(())))
}

impl Drop for Pass {
    fn drop(&mut self) {
        *BUSY.lock().unwrap_or_else(PoisonError::into_inner) = false;
        FREE.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, pass};
    use crate::ConvertError;
    use crate::guarded::Clock;
    use std::time::Duration;

    #[test]
    fn large_images_wait_for_each_other() {
        let soon = Duration::from_millis(5);
        let first = pass(LARGE + 1, Clock::start(Duration::from_secs(60))).unwrap();
        assert!(first.is_some());
        assert!(pass(LARGE, Clock::start(soon)).unwrap().is_none());
        let second = pass(LARGE + 1, Clock::start(soon));
        assert_eq!(second.unwrap_err(), ConvertError::TimedOut { limit: soon });
        drop(first);
        assert!(pass(LARGE + 1, Clock::start(Duration::from_secs(60))).unwrap().is_some());
    }
}
