//! Places for whole tasks that are on their way.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// So many places. A principal takes one where more are free than it has, so that callers whose addresses are slow leave
/// some to each other one.
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
    pub(super) async fn take(&self, principal: &str) -> Place<'_> {
        loop {
            let left = self.left.notified();
            if self.takes(principal) {
                return Place { places: self, principal: principal.to_owned() };
            }
            left.await;
        }
    }

    fn takes(&self, principal: &str) -> bool {
        let mut taken = self.taken();
        let free = self.most.saturating_sub(taken.values().sum());
        let own = taken.get(principal).copied().unwrap_or_default();
        let takes = own < free;
        if takes {
            taken.insert(principal.to_owned(), own + 1);
        }
        takes
    }
}

/// A place, until it is dropped.
pub(super) struct Place<'a> {
    places: &'a Places,
    principal: String,
}

impl Drop for Place<'_> {
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
