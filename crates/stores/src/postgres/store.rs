//! The store.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use attache_core::{BoxFuture, StoreError, StoreErrorKind};
use futures_util::future::select;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, Postgres, Transaction};
use tokio::sync::futures::Notified;

use super::listen::{ANSWER, Ear};
use super::migrate::migrate;
#[cfg(any(feature = "file", feature = "object"))]
use super::migrate::refuse_newer;
use crate::sql::changes::Changes;
use crate::sql::error::{SqlError, in_time};
use crate::sql::given_up_leases::Left;

/// The migrations, in order.
const MIGRATIONS: &[(&str, &str)] = &[
    ("sessions", include_str!("migrations/0001_sessions.sql")),
    ("words", include_str!("migrations/0002_words.sql")),
    ("characters", include_str!("migrations/0003_characters.sql")),
    ("nodes", include_str!("migrations/0004_nodes.sql")),
    ("forks", include_str!("migrations/0005_forks.sql")),
    ("deliveries", include_str!("migrations/0006_deliveries.sql")),
    ("gone", include_str!("migrations/0007_gone.sql")),
    ("name", include_str!("migrations/0008_name.sql")),
    ("withdrawn", include_str!("migrations/0009_withdrawn.sql")),
];
/// The time after which a wait looks again whether a notification was lost.
pub(super) const POLL: Duration = Duration::from_secs(2);
/// The connections of a process.
const CONNECTIONS: u32 = 16;
/// The time that a call waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(20);

/// The time after which a connection that nobody has used is asked whether it is there still.
const UNUSED: Duration = Duration::from_secs(30);

/// True if the server answers. A connection may have gone silent without an end, and sqlx waits for it without limit.
async fn answers(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let answered = tokio::time::timeout(ANSWER, connection.ping()).await;
    answered.map_err(|_| sqlx::Error::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))??;
    Ok(true)
}

/// A session store in a PostgreSQL database, for any number of processes. Clones share it.
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
/// An append is one round trip. A wait learns of deliveries by other processes through `LISTEN`, and also polls every
/// two seconds, since notifications are lost when a connection breaks. There are 16 connections, and one more that
/// listens when there are waiters. A call fails if it takes longer than 30 seconds; an unresponsive connection is then
/// closed and replaced. No error shows the URL.
///
/// A database of an older version is migrated when it is opened, which may take up to an hour: the migration waits for
/// tables in use, two seconds at a time, so that calls of other processes continue. A database that needs no migration
/// is opened immediately, regardless of locks.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

/// The store of this database.
pub(super) type Store = PostgresStore;

struct Inner {
    pool: PgPool,
    left: Left,
    ear: Ear,
}

impl PostgresStore {
    /// Opens the store in the database at `url` and migrates it to this version if necessary.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`] if the database is of a newer version; [`StoreErrorKind::Unavailable`] if it cannot be
    /// reached.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_boxed(url).await
    }

    /// A border: see ADR 0053.
    fn connect_boxed(url: &str) -> BoxFuture<'_, Result<Self, StoreError>> {
        Box::pin(async move {
            // The error may quote it.
            let options: PgConnectOptions = url.parse().map_err(|_| {
                StoreError::new(StoreErrorKind::Unavailable, "the URL of the database is invalid")
            })?;
            // A pool would try again until its time is up.
            let connected = in_time(async { Ok(PgConnection::connect_with(&options).await?) });
            let mut connection = connected.await.map_err(SqlError::store)?;
            migrate(&mut connection, MIGRATIONS).await?;
            in_time(async { Ok(connection.close().await?) }).await.map_err(SqlError::store)?;
            let pool = PgPoolOptions::new()
                .max_connections(CONNECTIONS)
                .acquire_timeout(ACQUIRE)
                .test_before_acquire(false)
                .before_acquire(|connection, unused| {
                    Box::pin(async move {
                        if unused.idle_for < UNUSED { Ok(true) } else { answers(connection).await }
                    })
                })
                // sqlx asks by itself behind this, and waits for the answer of a silent connection without limit.
                .after_release(|connection, _| Box::pin(answers(connection)))
                .connect_lazy_with(options.clone());
            Ok(Self(Arc::new(Inner { pool, left: Left::default(), ear: Ear::new(options) })))
        })
    }

    /// Closes the connections after running calls have finished.
    pub async fn close(&self) {
        let closing = self.0.pool.close();
        // Listening holds a connection: the waiting calls look now, and find the store closed.
        self.0.ear.leave().await;
        closing.await;
    }

    /// A transaction that writes.
    pub(super) async fn writing(&self) -> Result<Transaction<'static, Postgres>, SqlError> {
        Ok(self.0.pool.begin().await?)
    }

    /// A connection for one statement that writes.
    pub(super) async fn single(&self) -> Result<PoolConnection<Postgres>, SqlError> {
        Ok(self.0.pool.acquire().await?)
    }

    /// A connection that reads.
    pub(super) async fn reading(&self) -> Result<PoolConnection<Postgres>, SqlError> {
        self.single().await
    }

    /// A transaction that reads everything as of one moment, in a form of the database that this program knows.
    #[cfg(any(feature = "file", feature = "object"))]
    pub(super) async fn snapshot(&self) -> Result<Transaction<'static, Postgres>, SqlError> {
        let mut snapshot = self.0.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        refuse_newer(&mut snapshot, MIGRATIONS.len()).await?;
        Ok(snapshot)
    }

    pub(super) fn left(&self) -> &Left {
        &self.0.left
    }

    /// Told of what this store writes to runs, and of what it hears.
    pub(super) fn changes(&self) -> &Changes {
        &self.0.ear.changes
    }

    /// Waits until something changes, and listens to other processes meanwhile.
    pub(super) async fn heard(&self, woken: Pin<&mut Notified<'_>>) {
        select(woken, pin!(self.0.ear.hear())).await;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.pool.is_closed()
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
