//! The seam between a run and the world: what was recorded is not done again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use attache_core::{BoxFuture, Effect, StoreError};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::entry::{Entry, Key};

/// What a journal knows about something that is about to be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Begin {
    /// It was done; this is what came of it.
    Recorded(Box<Entry>),
    /// It is to be done now. The intent is recorded.
    Execute,
    /// It was begun before, has effects, and nobody knows whether they happened.
    Unknown,
}

/// Records what a run does, before and after it does it.
///
/// A driver calls [`begin`](Self::begin) before anything that reaches the world and [`finish`](Self::finish) after
/// it. A run that is driven again over the same journal gets back what was recorded, and goes on from there.
pub trait Journal: Send + Sync {
    /// Announces what is about to be done under `key`. An intent that was recorded without an end comes back as
    /// [`Begin::Execute`] if it may be repeated, as [`Begin::Unknown`] if it has effects.
    fn begin<'a>(&'a self, key: &'a Key, effect: Effect) -> BoxFuture<'a, Result<Begin, StoreError>>;

    /// Records what came of it, stamped with the time. The first entry under a key stays, and is what is yielded: of
    /// two who finish at once, both learn whose it is.
    fn finish<'a>(&'a self, entry: Entry) -> BoxFuture<'a, Result<Entry, StoreError>>;

    /// Waits until somebody else finishes `key`; `None` if `limit` passes first.
    fn wait<'a>(
        &'a self,
        key: &'a Key,
        limit: Option<Duration>,
    ) -> BoxFuture<'a, Result<Option<Entry>, StoreError>>;
}

/// What a [`MemoryJournal`] recorded, in order.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Record {
    /// Something was about to be done.
    Intent(Key),
    /// Something was done.
    Entry(Box<Entry>),
}

/// A journal in memory: it outlives a run, not the process.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
    finished: Notify,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<Record>,
    begun: HashMap<Key, Option<usize>>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// A journal that holds these records, for resuming.
    pub fn from_records(records: impl IntoIterator<Item = Record>) -> Self {
        let mut state = State::default();
        for record in records {
            state.push(record);
        }
        Self { state: Mutex::new(state), finished: Notify::new() }
    }

    /// Everything recorded so far, in order.
    pub fn records(&self) -> Vec<Record> {
        self.lock().records.clone()
    }

    /// The log: the entries in order, without the intents.
    pub fn entries(&self) -> Vec<Entry> {
        let state = self.lock();
        let entries = state.records.iter().filter_map(|record| match record {
            Record::Entry(entry) => Some((**entry).clone()),
            Record::Intent(_) => None,
        });
        entries.collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, record: Record) {
        let at = self.records.len();
        match &record {
            Record::Intent(key) => {
                self.begun.entry(key.clone()).or_insert(None);
            }
            Record::Entry(entry) => {
                self.begun.insert(entry.key.clone(), Some(at));
            }
        }
        self.records.push(record);
    }

    fn entry(&self, key: &Key) -> Option<&Entry> {
        match self.records.get((*self.begun.get(key)?)?) {
            Some(Record::Entry(entry)) => Some(entry),
            _ => None,
        }
    }
}

impl Journal for MemoryJournal {
    fn begin<'a>(&'a self, key: &'a Key, effect: Effect) -> BoxFuture<'a, Result<Begin, StoreError>> {
        let mut state = self.lock();
        let begin = match (state.entry(key), state.begun.contains_key(key)) {
            (Some(entry), _) => Begin::Recorded(Box::new(entry.clone())),
            (None, true) if effect == Effect::Effect => Begin::Unknown,
            (None, true) => Begin::Execute,
            (None, false) => {
                // Only what has effects needs its intent remembered.
                if effect == Effect::Effect {
                    state.push(Record::Intent(key.clone()));
                }
                Begin::Execute
            }
        };
        drop(state);
        Box::pin(std::future::ready(Ok(begin)))
    }

    fn finish<'a>(&'a self, mut entry: Entry) -> BoxFuture<'a, Result<Entry, StoreError>> {
        let mut state = self.lock();
        let recorded = match state.entry(&entry.key) {
            Some(first) => first.clone(),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                entry.at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
                state.push(Record::Entry(Box::new(entry.clone())));
                entry
            }
        };
        drop(state);
        self.finished.notify_waiters();
        Box::pin(std::future::ready(Ok(recorded)))
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        limit: Option<Duration>,
    ) -> BoxFuture<'a, Result<Option<Entry>, StoreError>> {
        Box::pin(async move {
            let finished = async {
                loop {
                    let mut woken = std::pin::pin!(self.finished.notified());
                    // Listening starts before looking, so that nothing is missed between the two.
                    woken.as_mut().enable();
                    if let Some(entry) = self.lock().entry(key).cloned() {
                        return entry;
                    }
                    woken.await;
                }
            };
            match limit {
                Some(limit) => Ok(timeout(limit, finished).await.ok()),
                None => Ok(Some(finished.await)),
            }
        })
    }
}
