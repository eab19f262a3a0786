//! The store.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{
    Append, Cleared, Entry, Idle, JournalError, Key, OpenSession, Opened, RunInfo, SessionError, SessionId,
    SessionInfo, SessionStore, StoredRun, Take,
};
use attache_core::{BoxFuture, DocumentId, StoreError, StoreErrorKind, fresh};
use futures_util::future::select;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, Postgres, Transaction, query};

use super::listen::Ear;
use super::{append, clear, lease, read};
use crate::sql::error::{Failing, SqlError, in_time, written};
use crate::sql::left::Left;
use crate::sql::migrate::{migrate, migrator};

/// The migrations, in order.
const MIGRATIONS: &[(&str, &str)] = &[("sessions", include_str!("migrations/0001_sessions.sql"))];
/// The time after which a wait looks again whether a notification was lost.
const POLL: Duration = Duration::from_secs(2);
/// The connections of a process.
const CONNECTIONS: u32 = 16;
/// The time that a call waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(20);

/// Sessions in a PostgreSQL database, for any number of processes. Cloning shares it.
///
/// ```no_run
/// # async fn example(agent: attache_agent::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use attache_agent::Sessions;
/// use attache_stores::PostgresStore;
///
/// let store = PostgresStore::connect("postgres://attache@db.example.org/attache").await?;
/// let sessions = Sessions::new(agent, Arc::new(store));
/// # Ok(()) }
/// ```
///
/// An append is one round trip. A wait hears of what other processes deliver by `LISTEN`, and looks every two seconds
/// all the same, since notifications are lost with a connection. There are 16 connections, and one that listens once
/// somebody waits. A call fails if it takes longer than 30 seconds. No error shows the address.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    pool: PgPool,
    left: Left,
    ear: Ear,
}

impl PostgresStore {
    /// The store in the database at `url`, which is brought to this program's form.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`] if the database is of a newer version; [`StoreErrorKind::Unavailable`] if it cannot be
    /// reached.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        // What is wrong with it may quote it.
        let options: PgConnectOptions = url.parse().map_err(|_| {
            StoreError::new(StoreErrorKind::Unavailable, "the address of the database cannot be read")
        })?;
        let connected = async {
            // A pool would try again until its time is up.
            let mut connection = PgConnection::connect_with(&options).await?;
            migrate(&migrator(MIGRATIONS), &mut connection).await.map_err(JournalError::from)?;
            connection.close().await?;
            let pool = PgPoolOptions::new()
                .max_connections(CONNECTIONS)
                .acquire_timeout(ACQUIRE)
                .test_before_acquire(false)
                .connect_lazy_with(options);
            Ok(Self(Arc::new(Inner { pool, left: Left::default(), ear: Ear::default() })))
        };
        in_time(connected).await.map_err(SqlError::store)
    }

    /// Closes the connections, once what is under way has come to its end.
    pub async fn close(&self) {
        let closing = self.0.pool.close();
        // Whoever listens holds a connection: those that wait look now, and find the store closed.
        self.0.ear.leave().await;
        closing.await;
    }

    async fn writing(&self) -> Result<Transaction<'static, Postgres>, SqlError> {
        Ok(self.0.pool.begin().await?)
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}

impl SessionStore for PostgresStore {
    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        Box::pin(async move {
            let opened = in_time(async {
                let mut writing = self.writing().await?;
                let opened = lease::open(&mut writing, open).await?;
                writing.commit().await?;
                Ok(opened)
            });
            opened.await.map_err(SqlError::session)
        })
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        Box::pin(async move {
            let listed = in_time(async { read::list(&mut *self.0.pool.acquire().await?, principal).await });
            listed.await.map_err(SqlError::store)
        })
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        Box::pin(async move {
            let counted = in_time(async { read::count(&mut *self.0.pool.acquire().await?, principal).await });
            counted.await.map_err(SqlError::store)
        })
    }

    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<u64, SessionError>> {
        Box::pin(async move {
            let id = take.session.as_str();
            let taken = in_time(async {
                let mut writing = self.writing().await?;
                let fence = lease::take(&mut writing, take, &self.0.left.of(id)).await?;
                writing.commit().await?;
                Ok(fence)
            });
            let fence = taken.await.map_err(SqlError::session)?;
            self.0.left.forget(id);
            Ok(fence)
        })
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let renewed = in_time(async {
                let mut writing = self.0.pool.acquire().await?;
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
        Box::pin(async move {
            let released = in_time(async {
                let mut writing = self.0.pool.acquire().await?;
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
                let mut reading =
                    self.0.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
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
            let runs = in_time(async {
                read::runs(&mut *self.0.pool.acquire().await?, principal, session.as_str()).await
            });
            runs.await.map_err(SqlError::store)
        })
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let store = self.clone();
        Box::pin(async move {
            let stand = match &append.begins {
                None => {
                    in_time(async move { append::append(&mut *store.0.pool.acquire().await?, append).await })
                        .await
                }
                Some(_) => {
                    let begun = written(async move {
                        let mut writing = store.writing().await?;
                        let stand = append::append(&mut writing, append).await?;
                        writing.commit().await?;
                        Ok(stand)
                    });
                    begun.await
                }
            };
            self.0.ear.changed.notify_waiters();
            stand.map_err(SqlError::journal)
        })
    }

    fn deliver<'a>(
        &'a self,
        session: &'a SessionId,
        run: &'a str,
        entry: Entry,
        documents: Vec<DocumentId>,
    ) -> BoxFuture<'a, Result<Entry, JournalError>> {
        Box::pin(async move {
            let delivered = in_time(async {
                let mut writing = self.writing().await?;
                let stands = append::deliver(&mut writing, session.as_str(), run, entry, documents).await?;
                query("SELECT pg_notify('attache', '')").execute(&mut *writing).await?;
                writing.commit().await?;
                Ok(stands)
            });
            let stands = delivered.await;
            self.0.ear.changed.notify_waiters();
            stands.map_err(SqlError::journal)
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
                let mut woken = pin!(self.0.ear.changed.notified());
                // Listening starts before looking, so that nothing is missed between the two.
                woken.as_mut().enable();
                let found = in_time(async {
                    let mut reading = self.0.pool.acquire().await?;
                    append::find(&mut reading, session.as_str(), run, key.as_str()).await
                });
                if let Some(found) = failing.look(found.await, self.0.pool.is_closed())? {
                    return Ok(Some(found));
                }
                let left = until.map(|until| until.duration_since(fresh::now()).unwrap_or_default());
                if left.is_some_and(|left| left.is_zero()) {
                    return Ok(None);
                }
                let pause = left.map_or(POLL, |left| left.min(POLL));
                let _ = tokio::time::timeout(pause, select(woken, pin!(self.0.ear.hear(&self.0.pool)))).await;
            }
        })
    }

    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>> {
        Box::pin(async move {
            let cleared = in_time(async {
                let mut writing = self.writing().await?;
                let cleared = clear::clear(&mut writing, principal, session.map(SessionId::as_str)).await?;
                writing.commit().await?;
                Ok(cleared)
            });
            cleared.await.map_err(SqlError::store)
        })
    }

    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>> {
        Box::pin(async move {
            let cleaned = in_time(async {
                let mut writing = self.writing().await?;
                let cleared = clear::clean(&mut writing, idle).await?;
                writing.commit().await?;
                Ok(cleared)
            });
            cleaned.await.map_err(SqlError::store)
        })
    }
}
