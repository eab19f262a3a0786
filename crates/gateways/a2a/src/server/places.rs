//! Places for whole tasks that are on their way.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// So many places. A principal takes one while more are free than it has. Of 16 places the first caller whose addresses are
/// slow takes 8, the next ones take 4, 2, 1 and 1, and a sixth one waits for one of these.
pub(super) struct Places {
    most: usize,
    /// The places that are taken, by principal.
    taken: Mutex<HashMap<String, usize>>,
    left: Notify,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Mutex::default(), left: Notify::new() }
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    pub(super) async fn take(&self, principal: &str) -> TakenPlace<'_> {
        loop {
            let left = self.left.notified();
            if self.try_take(principal) {
                return TakenPlace { places: self, principal: principal.to_owned() };
            }
            left.await;
        }
    }

    /// Takes a place if there is one for the principal.
    fn try_take(&self, principal: &str) -> bool {
        let mut taken = self.taken();
        let free = self.most.saturating_sub(taken.values().sum());
        let own = taken.get(principal).copied().unwrap_or_default();
        if own >= free {
            return false;
        }
        taken.insert(principal.to_owned(), own + 1);
        true
    }
}

/// One of the places, until it is dropped.
pub(super) struct TakenPlace<'a> {
    places: &'a Places,
    principal: String,
}

impl Drop for TakenPlace<'_> {
    fn drop(&mut self) {
        {
            let mut taken = self.places.taken();
            match taken.get_mut(&self.principal) {
                Some(own) if *own > 1 => *own -= 1,
                _ => drop(taken.remove(&self.principal)),
            }
        }
        self.places.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    // The last ones of these wait for one of the others.
    #[test]
    fn callers_take_half_of_what_the_others_left() {
        let places = Places::new(16);
        let mut taken = Vec::new();
        let mut counts = Vec::new();
        for caller in ["ann", "bob", "cat", "dan", "eve", "fay"] {
            let before = taken.len();
            taken.extend(std::iter::from_fn(|| places.take(caller).now_or_never()));
            counts.push(taken.len() - before);
        }
        assert_eq!(counts, [8, 4, 2, 1, 1, 0]);
        drop(taken.pop());
        assert!(places.take("fay").now_or_never().is_some());
    }
}
