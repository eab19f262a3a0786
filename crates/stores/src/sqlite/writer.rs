//! A thread with a connection that writes, for the calls of a usual turn: each of them is one hand-over to it and one back.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use crate::sql::error::SqlError;

/// The statements that are kept prepared.
const STATEMENTS: usize = 32;

/// The time from which on a commit is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    /// Once it is done.
    Now,
    /// Once one that does not wait for anything is done behind it. Before that it outlives the process, not a power
    /// failure, which takes along all processes that may hold a lease.
    Later,
}

/// The end of a transaction.
pub(super) enum Done<T> {
    /// It is committed.
    Yes(T),
    /// All is as it was.
    No(T),
}

type Job = Box<dyn FnOnce(&mut Link) + Send>;

/// The thread. It ends once this is dropped or closed, and what was handed to it before is done.
pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    /// The time that a write waits for others, of this process or another one.
    busy: Duration,
}

impl Writer {
    /// One for the file at `path`, which is in WAL mode. It is opened when it is first needed.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub(super) fn new(path: PathBuf, busy: Duration) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let mut link = Link { path, busy, open: None };
        let thread = thread::Builder::new().name("attache-sqlite".to_owned());
        thread.spawn(move || {
            for job in queue {
                // Its caller learns that it is gone. The connection was closed on the way, which rolls back; others go on.
                let _ = catch_unwind(AssertUnwindSafe(|| job(&mut link)));
            }
        })?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), busy })
    }

    /// Lets nobody hand anything over any more, and waits until the connection is closed.
    pub(super) async fn close(&self) {
        let (closed, told) = oneshot::channel();
        let last: Job = Box::new(move |link| {
            link.open = None;
            let _ = closed.send(());
        });
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        if jobs.is_some_and(|jobs| jobs.send(last).is_ok()) {
            let _ = told.await;
        }
    }

    /// Runs `work` in a transaction, which is committed if it says so and otherwise leaves all as it was. It goes on when
    /// nobody waits for it any more; `is_awaited` tells it.
    ///
    /// # Errors
    /// [`SqlError`] if the database fails, or others hold it for too long. All is as it was then.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        disk: Disk,
        work: impl FnOnce(&Turn<'_>) -> Result<Done<T>, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        let (reply, told) = oneshot::channel();
        let until = Instant::now() + self.busy;
        let job: Job = Box::new(move |link| {
            let done = if Instant::now() > until {
                Err(SqlError::Database(sqlx::Error::PoolTimedOut))
            } else {
                link.run(disk, &reply, work)
            };
            let _ = reply.send(done);
        });
        {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let sent = jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
            if !sent {
                return Err(SqlError::Database(sqlx::Error::PoolClosed));
            }
        }
        told.await.unwrap_or(Err(SqlError::Database(sqlx::Error::WorkerCrashed)))
    }
}

/// The connection of the thread.
struct Link {
    path: PathBuf,
    busy: Duration,
    open: Option<(Connection, Disk)>,
}

impl Link {
    fn run<T>(
        &mut self,
        disk: Disk,
        reply: &oneshot::Sender<Result<T, SqlError>>,
        work: impl FnOnce(&Turn<'_>) -> Result<Done<T>, SqlError>,
    ) -> Result<T, SqlError> {
        // It leaves its place: one that cannot say how it stands is closed, which rolls back.
        let (mut connection, level) = match self.open.take() {
            Some(open) => open,
            None => (self.connect()?, Disk::Now),
        };
        if level != disk {
            let level = match disk {
                Disk::Now => "FULL",
                Disk::Later => "NORMAL",
            };
            connection.pragma_update(None, "synchronous", level)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&Turn { transaction: &transaction, is_awaited: !reply.is_closed() })?;
        let done = match done {
            Done::Yes(done) => {
                transaction.commit()?;
                done
            }
            Done::No(done) => {
                transaction.rollback()?;
                done
            }
        };
        self.open = Some((connection, disk));
        Ok(done)
    }

    fn connect(&self) -> Result<Connection, SqlError> {
        // No other thread has it.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.busy)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    }
}

/// A transaction under way.
pub(super) struct Turn<'a> {
    transaction: &'a Transaction<'a>,
    /// False if the caller was gone when it began.
    pub(super) is_awaited: bool,
}

impl Turn<'_> {
    /// Runs a statement, and says how many rows it changed.
    pub(super) fn execute(&self, text: &str, values: impl rusqlite::Params) -> Result<usize, SqlError> {
        Ok(self.transaction.prepare_cached(text)?.execute(values)?)
    }

    /// The first row, if there is one. The statement comes to its end.
    pub(super) fn first<T>(
        &self,
        text: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, SqlError> {
        let mut statement = self.transaction.prepare_cached(text)?;
        let mut rows = statement.query_map(values, read)?;
        let first = rows.next().transpose()?;
        for row in rows {
            row?;
        }
        Ok(first)
    }

    /// The number of the row that was inserted last.
    pub(super) fn inserted(&self) -> i64 {
        self.transaction.last_insert_rowid()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn writer(folder: &tempfile::TempDir) -> Writer {
        let path = folder.path().join("one.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch("CREATE TABLE one (a INTEGER NOT NULL)").unwrap();
        Writer::new(path, Duration::from_secs(5)).unwrap()
    }

    async fn number(writer: &Writer, disk: Disk, text: &'static str) -> i64 {
        let read = move |turn: &Turn<'_>| Ok(Done::Yes(turn.first(text, [], |row| row.get(0))?));
        writer.run(disk, read).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_commit_waits_for_the_disk_whenever_it_is_to_whatever_the_one_before_did() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let (now, later) = ((Disk::Now, 2), (Disk::Later, 1));
        for (disk, level) in [now, later, later, now, now, later, now, later] {
            assert_eq!(number(&writer, disk, "PRAGMA synchronous").await, level);
        }
        let fails = |turn: &Turn<'_>| Ok(Done::Yes(turn.execute("INSERT INTO one VALUES (NULL)", [])?));
        assert!(writer.run(Disk::Later, fails).await.is_err());
        assert_eq!(number(&writer, Disk::Now, "PRAGMA synchronous").await, 2, "of a connection that is new");
        assert_eq!(number(&writer, Disk::Now, "PRAGMA foreign_keys").await, 1);
    }

    #[tokio::test]
    async fn what_fails_or_does_not_want_to_be_leaves_no_transaction_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, other) =
            (writer(&folder).await, Writer::new(folder.path().join("one.db"), Duration::from_secs(5)));
        let insert = |turn: &Turn<'_>| turn.execute("INSERT INTO one VALUES (1)", []);
        let fails = move |turn: &Turn<'_>| {
            insert(turn)?;
            Ok(Done::Yes(turn.execute("INSERT INTO one VALUES (NULL)", [])?))
        };
        assert!(writer.run(Disk::Now, fails).await.is_err());
        assert_eq!(number(&writer, Disk::Now, "SELECT count(*) FROM one").await, 0);
        writer.run(Disk::Now, move |turn| Ok(Done::No(insert(turn)?))).await.unwrap();
        assert_eq!(number(&writer, Disk::Now, "SELECT count(*) FROM one").await, 0);
        // Another one may write, and this one sees it.
        other.unwrap().run(Disk::Now, move |turn| Ok(Done::Yes(insert(turn)?))).await.unwrap();
        assert_eq!(number(&writer, Disk::Now, "SELECT count(*) FROM one").await, 1);
    }

    #[tokio::test]
    async fn work_goes_on_without_a_caller_and_knows_that_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let (go, gone) = mpsc::channel::<()>();
        let waits = writer.run(Disk::Later, move |_| {
            let _ = gone.recv();
            Ok(Done::Yes(()))
        });
        let mut waits = Box::pin(waits);
        let (tell, told) = oneshot::channel();
        let mut dropped = Box::pin(writer.run(Disk::Now, move |turn| {
            let _ = tell.send(turn.is_awaited);
            Ok(Done::Yes(turn.execute("INSERT INTO one VALUES (1)", [])?))
        }));
        // Both are handed over in this order.
        assert!(futures_util::poll!(&mut waits).is_pending());
        assert!(futures_util::poll!(&mut dropped).is_pending());
        drop(dropped);
        go.send(()).unwrap();
        waits.await.unwrap();
        assert!(!told.await.unwrap(), "nobody waited");
        assert_eq!(number(&writer, Disk::Now, "SELECT count(*) FROM one").await, 1);
    }

    #[tokio::test]
    async fn work_that_panics_fails_alone_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let panics = |turn: &Turn<'_>| -> Result<Done<()>, SqlError> {
            turn.execute("INSERT INTO one VALUES (1)", [])?;
            panic!("a fault of this piece of work");
        };
        let failed = writer.run(Disk::Now, panics).await;
        assert!(matches!(failed, Err(SqlError::Database(sqlx::Error::WorkerCrashed))), "{failed:?}");
        assert_eq!(number(&writer, Disk::Now, "SELECT count(*) FROM one").await, 0);
    }

    #[tokio::test]
    async fn a_closed_writer_takes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        writer.close().await;
        writer.close().await;
        let nothing = writer.run(Disk::Now, |_| Ok(Done::Yes(()))).await;
        assert!(matches!(nothing, Err(SqlError::Database(sqlx::Error::PoolClosed))));
    }
}
