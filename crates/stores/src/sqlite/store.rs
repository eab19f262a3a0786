//! The store.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{
    Append, Cleared, Entry, Idle, JournalError, Key, OpenSession, Opened, RunInfo, SessionError, SessionId,
    SessionInfo, SessionStore, StoredRun, Take,
};
use attache_core::{BoxFuture, DocumentId, StoreError, StoreErrorKind, fresh};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, Transaction};
use tokio::sync::Notify;

use super::{append, clear, lease, read};
use crate::sql::error::{Failing, SqlError, in_time, written};
use crate::sql::left::Left;
use crate::sql::migrate::{migrate, migrator};

/// The migrations, in order.
const MIGRATIONS: &[(&str, &str)] = &[("sessions", include_str!("migrations/0001_sessions.sql"))];
/// The time after which a wait looks again whether another process has written.
const POLL: Duration = Duration::from_millis(200);
/// The time that a write waits for that of another process.
const BUSY: Duration = Duration::from_secs(5);
/// The connections that read.
const READERS: u32 = 4;

/// Sessions in one SQLite file. Cloning shares it.
///
/// ```no_run
/// # async fn example(agent: attache_agent::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use attache_agent::Sessions;
/// use attache_stores::SqliteStore;
///
/// let store = SqliteStore::open("sessions.db").await?;
/// let sessions = Sessions::new(agent, Arc::new(store));
/// let session = sessions.open("ann@example.org", None).await?;
/// # Ok(()) }
/// ```
///
/// Any number of processes of one machine may hold the file. What a call has answered is on the disk: the file is in WAL
/// mode with `synchronous=FULL`, since the intent to run a call must outlive a power failure that the call's effect
/// outlives. Writes of a process go through one connection, reads through four others. A wait notices at once what this
/// store writes, and what other processes do within 200 milliseconds. A call fails if it takes longer than 30 seconds.
///
/// The file is for its owner alone on Unix (mode 0600). Copy it with SQLite's own means, such as `VACUUM INTO` or
/// `.backup`, also while runs are under way: a copy goes on where they were.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    writer: SqlitePool,
    readers: SqlitePool,
    left: Left,
    changed: Notify,
}

impl SqliteStore {
    /// The store in the file at `path`, which is made if it is missing, and brought to this program's form.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`] if it is no such file, or of a newer version; [`StoreErrorKind::Unavailable`] if it
    /// cannot be opened.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        make(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .foreign_keys(true);
        let pool = || SqlitePoolOptions::new().acquire_timeout(BUSY).test_before_acquire(false);
        let opened = async {
            let writer = pool().max_connections(1).connect_with(options.clone()).await?;
            let mut connection = writer.acquire().await?;
            migrate(&migrator(MIGRATIONS), &mut *connection).await.map_err(JournalError::from)?;
            drop(connection);
            let readers = pool()
                .max_connections(READERS)
                .min_connections(0)
                .connect_lazy_with(options.pragma("query_only", "on"));
            Ok(Self(Arc::new(Inner { writer, readers, left: Left::default(), changed: Notify::new() })))
        };
        in_time(opened).await.map_err(SqlError::store)
    }

    /// Closes the file, once what is under way has come to its end.
    pub async fn close(&self) {
        self.0.readers.close().await;
        self.0.writer.close().await;
    }

    async fn writing(&self) -> Result<Transaction<'static, Sqlite>, SqlError> {
        Ok(self.0.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    async fn reading(&self) -> Result<PoolConnection<Sqlite>, SqlError> {
        Ok(self.0.readers.acquire().await?)
    }
}

/// Makes the file if it is missing, for its owner alone.
fn make(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| {
        let text = format!("the file {} cannot be opened", path.display());
        StoreError::new(StoreErrorKind::Unavailable, text).with_source(error)
    })
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl SessionStore for SqliteStore {
    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        let OpenSession { id, principal, make, now, expired_before } = open;
        let (store, id, principal) = (self.clone(), id.clone(), principal.to_owned());
        Box::pin(async move {
            let opened = written(async move {
                let open = OpenSession { id: &id, principal: &principal, make, now, expired_before };
                let mut writing = store.writing().await?;
                let opened = lease::open(&mut writing, open).await?;
                writing.commit().await?;
                Ok(opened)
            });
            opened.await.map_err(SqlError::session)
        })
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        Box::pin(async move {
            let listed = in_time(async { read::list(&mut *self.reading().await?, principal).await });
            listed.await.map_err(SqlError::store)
        })
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        Box::pin(async move {
            let counted = in_time(async { read::count(&mut *self.reading().await?, principal).await });
            counted.await.map_err(SqlError::store)
        })
    }

    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<u64, SessionError>> {
        let Take { session, principal, run, holder, now, until } = take;
        let (store, session, principal) = (self.clone(), session.clone(), principal.to_owned());
        let (run, holder) = (run.map(str::to_owned), holder.to_owned());
        Box::pin(async move {
            // A lease is not for a caller that is gone.
            let waits = Arc::new(());
            let waiting = Arc::downgrade(&waits);
            let taken = written(async move {
                let (run, holder) = (run.as_deref(), holder.as_str());
                let take = Take { session: &session, principal: &principal, run, holder, now, until };
                let mut writing = store.writing().await?;
                let fence = lease::take(&mut writing, take, &store.0.left.of(session.as_str())).await?;
                waiting.upgrade().ok_or(SqlError::Late)?;
                writing.commit().await?;
                store.0.left.forget(session.as_str());
                Ok(fence)
            });
            let fence = taken.await.map_err(SqlError::session);
            drop(waits);
            fence
        })
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        Box::pin(async move {
            let renewed = written(async move {
                let mut writing = store.0.writer.acquire().await?;
                lease::renew(&mut writing, session.as_str(), fence, until).await
            });
            renewed.await.map_err(SqlError::store)
        })
    }

    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (store, session) = (self.clone(), session.clone());
        Box::pin(async move {
            let released = written(async move {
                let mut writing = store.0.writer.acquire().await?;
                lease::release(&mut writing, session.as_str(), fence, kept_until).await
            });
            released.await.map_err(SqlError::store)
        })
    }

    fn abandon(&self, session: &SessionId, holder: &str) {
        self.0.left.note(session.as_str(), holder);
    }

    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        Box::pin(async move {
            let loaded = in_time(async {
                // One transaction, so that the log and the messages are of one moment.
                let mut reading = self.0.readers.begin().await?;
                read::load(&mut reading, principal, session.as_str(), run).await
            });
            loaded.await.map_err(SqlError::journal)
        })
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        Box::pin(async move {
            let runs =
                in_time(async { read::runs(&mut *self.reading().await?, principal, session.as_str()).await });
            runs.await.map_err(SqlError::store)
        })
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let store = self.clone();
        Box::pin(async move {
            let appended = written(async move {
                let mut writing = store.writing().await?;
                let stand = append::append(&mut writing, append).await?;
                writing.commit().await?;
                store.0.changed.notify_waiters();
                Ok(stand)
            });
            appended.await.map_err(SqlError::journal)
        })
    }

    fn deliver<'a>(
        &'a self,
        session: &'a SessionId,
        run: &'a str,
        entry: Entry,
        documents: Vec<DocumentId>,
    ) -> BoxFuture<'a, Result<Entry, JournalError>> {
        let (store, session, run) = (self.clone(), session.clone(), run.to_owned());
        Box::pin(async move {
            let delivered = written(async move {
                let mut writing = store.writing().await?;
                let stands = append::deliver(&mut writing, session.as_str(), &run, entry, documents).await?;
                writing.commit().await?;
                store.0.changed.notify_waiters();
                Ok(stands)
            });
            delivered.await.map_err(SqlError::journal)
        })
    }

    fn wait<'a>(
        &'a self,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(async move {
            let mut failing = Failing::default();
            loop {
                let mut woken = std::pin::pin!(self.0.changed.notified());
                // Listening starts before looking, so that nothing is missed between the two.
                woken.as_mut().enable();
                let found = in_time(async {
                    let mut reading = self.reading().await?;
                    append::find(&mut reading, session.as_str(), run, key.as_str()).await
                });
                if let Some(found) = failing.look(found.await, self.0.readers.is_closed())? {
                    return Ok(Some(found));
                }
                let left = until.map(|until| until.duration_since(fresh::now()).unwrap_or_default());
                if left.is_some_and(|left| left.is_zero()) {
                    return Ok(None);
                }
                let pause = left.map_or(POLL, |left| left.min(POLL));
                let _ = tokio::time::timeout(pause, woken).await;
            }
        })
    }

    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>> {
        let (store, principal, session) = (self.clone(), principal.to_owned(), session.cloned());
        Box::pin(async move {
            let cleared = written(async move {
                let session = session.as_ref().map(SessionId::as_str);
                let mut writing = store.writing().await?;
                let cleared = clear::clear(&mut writing, &principal, session).await?;
                writing.commit().await?;
                Ok(cleared)
            });
            cleared.await.map_err(SqlError::store)
        })
    }

    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>> {
        let store = self.clone();
        Box::pin(async move {
            let cleaned = written(async move {
                let mut writing = store.writing().await?;
                let cleared = clear::clean(&mut writing, idle).await?;
                writing.commit().await?;
                Ok(cleared)
            });
            cleaned.await.map_err(SqlError::store)
        })
    }
}
