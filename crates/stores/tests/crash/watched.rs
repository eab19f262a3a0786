//! A journal and a store that count their moments.

use std::time::SystemTime;

use attache_agent::{Entry, Fence, Journal, JournalError, Key};
use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError};
use attache_stores::{FileDocumentStore, FileJournal};
use bytes::Bytes;

use crate::kept::Kept;
use crate::stop::{WRITTEN, moment};

pub(crate) struct WatchedJournal {
    pub(crate) journal: FileJournal,
    pub(crate) kept: Kept,
}

impl Journal for WatchedJournal {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.journal.load()
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        Box::pin(async move {
            moment("before a claim");
            let claimed = self.journal.claim(entries).await;
            moment("after a claim");
            claimed
        })
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            moment("before an append");
            let length = self.kept.length();
            let appended = self.journal.append(fence, entries).await;
            moment(&format!("{WRITTEN}{length}"));
            appended
        })
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        self.journal.deliver(entry)
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.journal.wait(key, until)
    }
}

pub(crate) struct WatchedStore(pub(crate) FileDocumentStore);

impl DocumentStore for WatchedStore {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            moment("before a document");
            let put = self.0.put(document).await;
            moment("after a document");
            put
        })
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.0.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.delete(id)
    }
}
