//! Journals and stores that fail when a test says so.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use attache_agent::{Entry, Fence, Journal, JournalError, Key, MemoryDocumentStore, MemoryJournal};
use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};

/// A method of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Load,
    Claim,
    Append,
    Wait,
    Deliver,
}

/// The way in which a call of a journal goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails and has done nothing.
    Fails,
    /// It has done its work, and fails.
    FailsAfterwards,
    /// It does not answer.
    Hangs,
    /// It has done its work, and does not answer.
    HangsAfterwards,
    /// It takes that many seconds.
    Takes(u64),
}

/// A journal one call of which goes wrong.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: Arc<MemoryJournal>,
    /// The method, which call of it from 1 on, and how; with `after` also each later one.
    fault: Option<(Method, usize, Fault)>,
    lasting: bool,
    /// Appends of entries whose keys begin so are refused.
    refused: Option<&'static str>,
    /// Appends wait for one another, and take a second each.
    connection: Option<tokio::sync::Mutex<()>>,
    calls: Mutex<Vec<Method>>,
}

impl Faulty {
    pub(crate) fn new(fault: impl Into<Option<(Method, usize, Fault)>>) -> Arc<Self> {
        Self::over(Arc::default(), fault)
    }

    pub(crate) fn over(
        inner: Arc<MemoryJournal>,
        fault: impl Into<Option<(Method, usize, Fault)>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            fault: fault.into(),
            lasting: false,
            refused: None,
            connection: None,
            calls: Mutex::default(),
        })
    }

    /// From that call on all go wrong.
    pub(crate) fn lasting(fault: (Method, usize, Fault)) -> Arc<Self> {
        let mut journal = Self::new(fault);
        Arc::get_mut(&mut journal).unwrap().lasting = true;
        journal
    }

    /// It refuses to append entries whose keys begin so.
    pub(crate) fn refusing(keys: &'static str) -> Arc<Self> {
        let mut journal = Self::new(None);
        Arc::get_mut(&mut journal).unwrap().refused = Some(keys);
        journal
    }

    /// Its appends wait for one another.
    pub(crate) fn one_at_a_time() -> Arc<Self> {
        let mut journal = Self::new(None);
        Arc::get_mut(&mut journal).unwrap().connection = Some(tokio::sync::Mutex::default());
        journal
    }

    /// How often a method was called.
    pub(crate) fn calls(&self, method: Method) -> usize {
        self.calls.lock().unwrap().iter().filter(|called| **called == method).count()
    }

    fn due(&self, method: Method) -> Option<Fault> {
        self.calls.lock().unwrap().push(method);
        let now = self.calls(method);
        let due = |(wrong, call, _): &(Method, usize, Fault)| {
            *wrong == method && (*call == now || (self.lasting && *call < now))
        };
        self.fault.filter(due).map(|(_, _, fault)| fault)
    }

    fn with<'a, T: Send + 'a>(
        &'a self,
        method: Method,
        work: BoxFuture<'a, Result<T, JournalError>>,
    ) -> BoxFuture<'a, Result<T, JournalError>> {
        let due = self.due(method);
        let reset = || Err(StoreError::new(StoreErrorKind::Unavailable, "connection reset").into());
        Box::pin(async move {
            match due {
                None => work.await,
                Some(Fault::Fails) => reset(),
                Some(Fault::FailsAfterwards) => {
                    work.await?;
                    reset()
                }
                Some(Fault::Hangs) => std::future::pending().await,
                Some(Fault::Takes(seconds)) => {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    work.await
                }
                Some(Fault::HangsAfterwards) => {
                    work.await?;
                    std::future::pending().await
                }
            }
        })
    }
}

impl Journal for Faulty {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.with(Method::Load, Box::pin(async { self.inner.load().await }))
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.with(Method::Claim, Box::pin(async move { self.inner.claim(entries).await }))
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.with(
            Method::Append,
            Box::pin(async move {
                let _connected = match &self.connection {
                    Some(connection) => {
                        let connected = connection.lock().await;
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        Some(connected)
                    }
                    None => None,
                };
                if let Some(refused) = self.refused
                    && entries.iter().any(|entry| entry.key.as_str().starts_with(refused))
                {
                    return Err(StoreError::new(StoreErrorKind::TooLarge, "too large").into());
                }
                self.inner.append(fence, entries).await
            }),
        )
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        self.with(Method::Deliver, Box::pin(async move { self.inner.deliver(entry).await }))
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.with(Method::Wait, self.inner.wait(key, until))
    }
}

/// A store that is away while a test says so, and counts how often it was asked to keep something.
#[derive(Debug, Default)]
pub(crate) struct Away {
    pub(crate) inner: MemoryDocumentStore,
    pub(crate) away: AtomicBool,
    pub(crate) puts: AtomicUsize,
}

impl Away {
    pub(crate) fn set(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }
}

impl DocumentStore for Away {
    fn id(&self) -> &'static str {
        "away"
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        self.puts.fetch_add(1, Ordering::SeqCst);
        if self.away.load(Ordering::SeqCst) {
            return Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "away")) });
        }
        self.inner.put(document)
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<bytes::Bytes, StoreError>> {
        self.inner.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.delete(id)
    }
}

/// A store that takes a document after that many seconds.
#[derive(Debug)]
pub(crate) struct SlowStore {
    inner: MemoryDocumentStore,
    seconds: u64,
}

impl SlowStore {
    pub(crate) fn new(seconds: u64) -> Self {
        Self { inner: MemoryDocumentStore::default(), seconds }
    }

    pub(crate) async fn has(&self, id: &DocumentId) -> bool {
        self.inner.get(id).await.is_ok()
    }
}

impl DocumentStore for SlowStore {
    fn id(&self) -> &'static str {
        "slow"
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(self.seconds)).await;
            self.inner.put(document).await
        })
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<bytes::Bytes, StoreError>> {
        self.inner.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.delete(id)
    }
}
