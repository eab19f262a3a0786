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
    ("withdrawn", include_str!("migrations/0008_withdrawn.sql")),
];
/// The time after which a wait looks again whether another process has written.
pub(super) const POLL: Duration = Duration::from_millis(200);
/// The time that a write waits for that of another process.
const BUSY: Duration = Duration::from_secs(5);
/// The connections that read.
const READERS: u32 = 4;

/// A session store in one SQLite file. Clones share it.
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
/// Any number of processes on one machine may open the file. When a call has returned, its effect is on the disk: the
/// file is in WAL mode with `synchronous=FULL`, since the intent to run a tool call must survive a power failure if the
/// effect of that call survives it. Two kinds of writes reach the disk only with the next write, and until then survive
/// a crash of the process but not a power failure: opening a session or taking its lease, and a reply without calls,
/// which is followed by the end of the run. A process writes through two connections and reads through four others. A
/// wait notices writes of this store immediately, and those of other processes within 200 milliseconds. A write fails
/// with [`StoreErrorKind::Unavailable`] if a stalled write of another process blocks it for 5 seconds; a killed process
/// blocks nobody. Any other call fails if it takes longer than 30 seconds.
///
/// Only its owner can access the file on Unix (mode 0600). Copy it with SQLite's own tools, such as `VACUUM INTO` or
/// `.backup`. This also works while runs are active: they can be resumed from the copy.
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
    /// Opens the store in the file at `path`, which is created if it is missing and migrated to this version if
    /// necessary.
    ///
    /// # Errors
    /// [`StoreErrorKind::Corrupt`] if it is not such a file or is of a newer version; [`StoreErrorKind::Unavailable`]
    /// if it cannot be opened.
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

    /// Closes the file after running calls have finished.
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
