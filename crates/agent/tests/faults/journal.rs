//! A journal and a store that fail, delay, cut and repeat at any operation.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use attache_agent::{Entry, Fence, Journal, JournalError, Key, MemoryDocumentStore, MemoryJournal};
use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use bytes::Bytes;
use tokio::sync::Notify;

use crate::world::Random;

/// The fault that an operation meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing happens, and the caller reads an error.
    FailsBefore,
    /// It happens, and the caller reads an error all the same.
    FailsAfter,
    /// Nothing happens, and the process dies.
    DiesBefore,
    /// It happens, and the process dies.
    DiesAfter,
    /// Other operations overtake it.
    Delayed,
    /// It happens twice.
    Repeated,
    /// It happens, and a second driver starts.
    SecondDriver,
    /// It happens, and the caller cancels.
    Cancelled,
}

pub(crate) const FAULTS: [Fault; 8] = [
    Fault::FailsBefore,
    Fault::FailsAfter,
    Fault::DiesBefore,
    Fault::DiesAfter,
    Fault::Delayed,
    Fault::Repeated,
    Fault::SecondDriver,
    Fault::Cancelled,
];

/// The events that the harness hears of.
#[derive(Default)]
pub(crate) struct Signals {
    pub(crate) died: Notify,
    pub(crate) is_dead: AtomicBool,
    pub(crate) second: Notify,
    pub(crate) cancel: Notify,
}

/// Which operations meet a fault.
pub(crate) struct Plan {
    pub(crate) random: Random,
    /// One of so many; 0 for none.
    pub(crate) odds: usize,
    /// The faults that may come.
    pub(crate) faults: &'static [Fault],
}

impl Plan {
    pub(crate) fn none() -> Self {
        Self { random: Random(0), odds: 0, faults: &[] }
    }

    fn next(&mut self) -> Option<Fault> {
        (self.odds > 0 && self.random.below(self.odds) == 0)
            .then(|| self.faults[self.random.below(self.faults.len())])
    }
}

/// One process's way to the log that all share.
pub(crate) struct Faulty {
    log: Arc<MemoryJournal>,
    plan: Mutex<Plan>,
    /// The operations that come before one that fails; none does below 0.
    before_failure: AtomicIsize,
    pub(crate) signals: Arc<Signals>,
}

impl Faulty {
    pub(crate) fn new(log: &Arc<MemoryJournal>, plan: Plan) -> Arc<Self> {
        let (log, plan, before_failure) = (Arc::clone(log), Mutex::new(plan), AtomicIsize::new(-1));
        Arc::new(Self { log, plan, before_failure, signals: Arc::default() })
    }

    /// The operation behind so many others fails, and no other.
    pub(crate) fn failing_after(operations: isize) -> Arc<Self> {
        let faulty = Self::new(&Arc::default(), Plan::none());
        faulty.before_failure.store(operations, Ordering::SeqCst);
        faulty
    }

    pub(crate) async fn meet<T, E: From<StoreError>, F: Future<Output = Result<T, E>>>(
        &self,
        work: impl Fn() -> F,
    ) -> Result<T, E> {
        if self.signals.is_dead.load(Ordering::SeqCst) {
            return std::future::pending().await;
        }
        let away = || Err(StoreError::new(StoreErrorKind::Unavailable, "the database is away").into());
        let fault = match self.before_failure.fetch_sub(1, Ordering::SeqCst) {
            0 => Some(Fault::FailsBefore),
            _ => self.plan.lock().unwrap().next(),
        };
        match fault {
            None => work().await,
            Some(Fault::FailsBefore) => away(),
            Some(Fault::FailsAfter) => {
                let _written = work().await;
                away()
            }
            Some(Fault::DiesBefore) => self.die().await,
            Some(Fault::DiesAfter) => {
                let _written = work().await;
                self.die().await
            }
            Some(Fault::Delayed) => {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                work().await
            }
            Some(Fault::Repeated) => {
                let _first = work().await;
                work().await
            }
            Some(Fault::SecondDriver) => {
                let done = work().await;
                self.signals.second.notify_one();
                // It has its turn before this one goes on.
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                }
                done
            }
            Some(Fault::Cancelled) => {
                let done = work().await;
                self.signals.cancel.notify_one();
                tokio::task::yield_now().await;
                done
            }
        }
    }

    async fn die<T>(&self) -> T {
        self.signals.is_dead.store(true, Ordering::SeqCst);
        self.signals.died.notify_one();
        std::future::pending().await
    }
}

impl Journal for Faulty {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(self.meet(|| self.log.load()))
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        Box::pin(self.meet(move || self.log.claim(entries)))
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(self.meet(move || {
            // As a store would have it: nothing but what was written comes back.
            let text = serde_json::to_string(&entries).unwrap();
            let read: Vec<Entry> = serde_json::from_str(&text).unwrap();
            let kept = entries.clone();
            async move {
                let stands = self.log.append(fence, read).await?;
                Ok(stands.into_iter().zip(kept).map(|(stands, own)| same(stands, own)).collect())
            }
        }))
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        Box::pin(self.meet(move || self.log.deliver(entry.clone())))
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(self.meet(move || self.log.wait(key, until)))
    }
}

/// The caller's own entry where it is the one that stands: its documents have their bytes.
fn same(stands: Entry, mut own: Entry) -> Entry {
    own.at = stands.at;
    if serde_json::to_string(&own).unwrap() == serde_json::to_string(&stands).unwrap() { own } else { stands }
}

/// A store that is away for a moment, now and then.
#[derive(Default)]
pub(crate) struct FaultyStore {
    pub(crate) kept: MemoryDocumentStore,
    /// Every so many operations fail; 0 for none.
    pub(crate) every: usize,
    operations: AtomicUsize,
}

impl FaultyStore {
    pub(crate) fn new(every: usize) -> Self {
        Self { every, ..Self::default() }
    }

    fn is_away(&self) -> bool {
        let operation = self.operations.fetch_add(1, Ordering::SeqCst);
        self.every > 0 && operation % self.every == self.every - 1
    }
}

impl DocumentStore for FaultyStore {
    fn id(&self) -> &str {
        self.kept.id()
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        if self.is_away() {
            let error = StoreError::new(StoreErrorKind::Unavailable, "the store is away");
            return Box::pin(std::future::ready(Err(error)));
        }
        self.kept.put(document)
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.kept.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.kept.delete(id)
    }
}
