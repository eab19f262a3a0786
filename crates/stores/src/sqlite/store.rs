//! The store.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{BoxFuture, StoreError, StoreErrorKind};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, Transaction};
use tokio::sync::futures::Notified;

use super::migrate::migrate;
#[cfg(any(feature = "file", feature = "object"))]
use super::migrate::refuse_newer;
use super::writer::Writer;
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
    ("gone", include_str!("migrations/0006_gone.sql")),
    ("name", include_str!("migrations/0007_name.sql")),
];
/// The time after which a wait looks again whether another process has written.
pub(super) const POLL: Duration = Duration::from_millis(200);
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
/// Any number of processes of one machine may hold the file. The effect of a call that has answered is on the disk: the
/// file is in WAL mode with `synchronous=FULL`, since the intent to run a call must outlive a power failure that the
/// call's effect outlives. Two things are on the disk with what is written behind them, and before that outlive the
/// process alone: that a session was opened or its lease taken, and a reply without calls, behind which the end of the run
/// comes. Writes of a process go through two connections, reads through four others. A wait notices at
/// once what this store writes, and what other processes do within 200 milliseconds. A write fails with
/// [`StoreErrorKind::Unavailable`] if another process that stands still in the middle of one keeps it out for 5 seconds;
/// one that was killed keeps nobody out. Any other call fails if it takes longer than 30 seconds.
///
/// The file is for its owner alone on Unix (mode 0600). Copy it with SQLite's own means, such as `VACUUM INTO` or
/// `.backup`, also while runs are under way: a copy goes on where they were.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

/// The store of this database.
pub(super) type Store = SqliteStore;

struct Inner {
    writer: SqlitePool,
    usual: Writer,
    readers: SqlitePool,
    left: Arc<Left>,
    changes: Changes,
}

impl SqliteStore {
    /// The store in the file at `path`, which is made if it is missing, and brought to this program's form.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`] if it is no such file, or of a newer version; [`StoreErrorKind::Unavailable`] if it
    /// cannot be opened.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_boxed(path.as_ref()).await
    }

    /// A border: see ADR 0053.
    fn open_boxed(path: &Path) -> BoxFuture<'_, Result<Self, StoreError>> {
        Box::pin(async move {
            make(path)?;
            let options = SqliteConnectOptions::new()
                .filename(path)
                .journal_mode(SqliteJournalMode::Wal)
                .synchronous(SqliteSynchronous::Full)
                .busy_timeout(BUSY)
                .foreign_keys(true);
            let pool = || SqlitePoolOptions::new().acquire_timeout(BUSY).test_before_acquire(false);
            let connected = async {
                let writer = pool().max_connections(1).connect_with(options.clone()).await?;
                let connection = writer.acquire().await?;
                Ok((writer, connection))
            };
            let (writer, mut connection) = in_time(connected).await.map_err(SqlError::store)?;
            migrate(&mut connection, MIGRATIONS).await?;
            drop(connection);
            let opened = async {
                let usual = Writer::new(path.to_owned(), BUSY).map_err(sqlx::Error::Io)?;
                let readers = pool()
                    .max_connections(READERS)
                    .min_connections(0)
                    .connect_lazy_with(options.pragma("query_only", "on"));
                Ok(Self(Arc::new(Inner {
                    writer,
                    usual,
                    readers,
                    left: Arc::default(),
                    changes: Changes::default(),
                })))
            };
            in_time(opened).await.map_err(SqlError::store)
        })
    }

    /// Closes the file, once what is under way has come to its end.
    pub async fn close(&self) {
        self.0.readers.close().await;
        self.0.usual.close().await;
        self.0.writer.close().await;
    }

    /// A transaction that writes.
    pub(super) async fn writing(&self) -> Result<Transaction<'static, Sqlite>, SqlError> {
        Ok(self.0.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// A connection for one statement that writes.
    pub(super) async fn single(&self) -> Result<PoolConnection<Sqlite>, SqlError> {
        Ok(self.0.writer.acquire().await?)
    }

    /// The thread for the calls of a usual turn.
    pub(super) fn usual(&self) -> &Writer {
        &self.0.usual
    }

    /// A connection that reads.
    pub(super) async fn reading(&self) -> Result<PoolConnection<Sqlite>, SqlError> {
        Ok(self.0.readers.acquire().await?)
    }

    /// A transaction that reads everything as of one moment, in a form of the database that this program knows.
    #[cfg(any(feature = "file", feature = "object"))]
    pub(super) async fn snapshot(&self) -> Result<Transaction<'static, Sqlite>, SqlError> {
        let mut snapshot = self.0.readers.begin().await?;
        refuse_newer(&mut snapshot, MIGRATIONS.len()).await?;
        Ok(snapshot)
    }

    pub(super) fn left(&self) -> Arc<Left> {
        Arc::clone(&self.0.left)
    }

    /// Told of what this store writes to runs.
    pub(super) fn changes(&self) -> &Changes {
        &self.0.changes
    }

    /// Waits until something changes.
    pub(super) async fn heard(&self, woken: Pin<&mut Notified<'_>>) {
        woken.await;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.readers.is_closed()
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
