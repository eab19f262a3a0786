//! A journal and stores that count their moments.

use std::sync::Arc;
use std::time::SystemTime;

use attache_agent::{
    Append, Appended, Cleared, Delivery, Entry, Fence, Fork, Idle, Journal, JournalError, Key, OpenSession,
    Opened, RunInfo, SessionError, SessionId, SessionInfo, SessionStore, StoredRun, Take, Taken,
};
use attache_core::words::WordQuery;
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
            // An append beside this one may have been answered meanwhile.
            moment(&format!("{WRITTEN}{}", length.max(self.kept.answered())));
            self.kept.note_answered();
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

/// A store whose leases are over as soon as something was written under them, so that nobody waits for that of a process
/// that was killed. The number that fences is what keeps a late writer out.
pub(crate) struct WatchedSessions(pub(crate) Arc<dyn SessionStore>);

impl SessionStore for WatchedSessions {
    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<Taken, SessionError>> {
        Box::pin(async move {
            moment("before a lease");
            let taken = self.0.take(take).await?;
            self.0.renew(take.session, taken.fence, 0).await?;
            moment("after a lease");
            Ok(taken)
        })
    }

    fn append<'a>(&'a self, append: &'a Append) -> BoxFuture<'a, Result<Appended, JournalError>> {
        Box::pin(async move {
            moment("before an append");
            let stand = self.0.append(append).await?;
            self.0.renew(&append.session, append.fence, 0).await?;
            moment("after an append");
            Ok(stand)
        })
    }

    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            moment("before a release");
            let released = self.0.release(session, fence, kept_until).await;
            moment("after a release");
            released
        })
    }

    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        self.0.open(open)
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        self.0.list(principal)
    }

    fn rename<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.rename(principal, session, title)
    }

    fn fork<'a>(&'a self, fork: Fork<'a>) -> BoxFuture<'a, Result<Cleared, SessionError>> {
        self.0.fork(fork)
    }

    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a WordQuery,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        self.0.search(principal, query, limit)
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        self.0.count(principal)
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.renew(session, fence, until)
    }

    fn abandon(&self, session: &SessionId, holder: &str) {
        self.0.abandon(session, holder);
    }

    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        self.0.load(principal, session, run)
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        self.0.runs(principal, session)
    }

    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Result<Entry, JournalError>> {
        self.0.deliver(delivery)
    }

    fn wait<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.0.wait(principal, session, run, key, until)
    }

    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>> {
        self.0.clear(principal, session)
    }

    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>> {
        self.0.clean(idle)
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
