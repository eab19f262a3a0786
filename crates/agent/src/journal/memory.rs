//! A journal in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use attache_core::{BoxFuture, fresh};
use tokio::sync::Notify;

use super::{Fence, Journal, JournalError, now};
use crate::log::{Entry, Key};

/// A journal in memory: it outlives a run, not the process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    places: HashMap<Key, usize>,
    delivered: HashMap<Key, Entry>,
    fence: Fence,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// A journal that holds these entries, for resuming.
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut state = State::default();
        for entry in entries {
            state.push(entry);
        }
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// The log so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, fence: Fence, entries: Vec<Entry>) -> Result<Vec<Entry>, JournalError> {
        let mut state = self.lock();
        if fence != state.fence {
            return Err(JournalError::Fenced);
        }
        let at = now();
        Ok(entries.into_iter().map(|entry| state.append(entry, at)).collect())
    }
}

impl State {
    fn push(&mut self, entry: Entry) {
        self.places.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
    }

    fn get(&self, key: &Key) -> Option<&Entry> {
        match self.places.get(key) {
            Some(at) => self.entries.get(*at),
            None => self.delivered.get(key),
        }
    }

    fn append(&mut self, mut entry: Entry, at: u64) -> Entry {
        if let Some(first) = self.places.get(&entry.key).and_then(|at| self.entries.get(*at)) {
            return first.clone();
        }
        if let Some(delivered) = self.delivered.remove(&entry.key) {
            entry = delivered;
        }
        entry.at = at;
        self.push(entry.clone());
        entry
    }
}

impl Journal for MemoryJournal {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(std::future::ready(Ok(self.entries())))
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        let mut state = self.lock();
        let claimed = if state.entries.len() == entries {
            state.fence = Fence::new(state.fence.number() + 1);
            Ok(state.fence)
        } else {
            Err(JournalError::Moved { entries: state.entries.len() })
        };
        drop(state);
        Box::pin(std::future::ready(claimed))
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let appended = self.append_now(fence, entries);
        self.changed.notify_waiters();
        Box::pin(std::future::ready(appended))
    }

    fn is_lasting(&self) -> bool {
        false
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        let mut state = self.lock();
        let stands = match state.get(&entry.key) {
            Some(first) => first.clone(),
            None => {
                state.delivered.insert(entry.key.clone(), entry.clone());
                entry
            }
        };
        drop(state);
        self.changed.notify_waiters();
        Box::pin(std::future::ready(Ok(stands)))
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(async move { Ok(wait_until(until, &self.changed, || self.lock().get(key).cloned()).await) })
    }
}

/// The first value that `look` finds, looking again at each change, until the time is up.
pub(crate) async fn wait_until<T>(
    until: Option<SystemTime>,
    changed: &Notify,
    look: impl Fn() -> Option<T>,
) -> Option<T> {
    let found = async {
        loop {
            let mut woken = std::pin::pin!(changed.notified());
            // Listening starts before looking, so that nothing is missed between the two.
            woken.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            woken.await;
        }
    };
    match until {
        None => Some(found.await),
        Some(until) => {
            let left = until.duration_since(fresh::now()).unwrap_or_default();
            tokio::time::timeout(left, found).await.ok()
        }
    }
}
