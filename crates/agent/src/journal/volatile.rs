//! The journal of a run that cannot be resumed: it keeps nothing but what others deliver.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::Notify;

use super::memory::wait_until;
use super::now;
use crate::log::{Entry, Key};

/// Stamps entries, and hands on what was delivered.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    /// The entries under keys that somebody waits for or delivers to; no others are kept.
    awaited: Mutex<HashMap<Key, Option<Entry>>>,
    changed: Notify,
}

impl Volatile {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Option<Entry>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn append(&self, entry: &mut Entry) {
        entry.at = now();
        let mut awaited = self.lock();
        match awaited.get_mut(&entry.key) {
            Some(Some(delivered)) => entry.kind.clone_from(&delivered.kind),
            Some(place) => *place = Some(entry.clone()),
            // A delivery after this is too late, and is answered with this entry.
            None if entry.closes_call() => {
                awaited.insert(entry.key.clone(), Some(entry.clone()));
            }
            None => {}
        }
    }

    pub(super) fn deliver(&self, entry: Entry) -> Entry {
        let stands = self.lock().entry(entry.key.clone()).or_default().get_or_insert(entry).clone();
        self.changed.notify_waiters();
        stands
    }

    pub(super) async fn wait(&self, key: &Key, until: Option<SystemTime>) -> Option<Entry> {
        self.lock().entry(key.clone()).or_default();
        wait_until(until, &self.changed, || self.lock().get(key).cloned().flatten()).await
    }
}
