//! A thread with a connection that writes, for the calls of a usual turn: each of them is one hand-over to it and one back,
//! and those that come together are committed together.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{oneshot, watch};

use crate::sql::error::SqlError;

/// The statements that are kept prepared.
const STATEMENTS: usize = 32;

/// The maximum number of pieces of work in one transaction.
const TOGETHER: usize = 64;

/// The time from which on a commit is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    /// Once it is done.
    Now,
    /// Once one that does not wait for anything is done behind it. Before that it outlives the process, not a power
    /// failure, which takes along all processes that may hold a lease.
    Later,
}

/// The end of a piece of work.
pub(super) enum Done<T> {
    /// It is committed.
    Yes(T),
    /// All is as it was.
    No(T),
}

/// The thread. It ends once this is dropped or closed, and what was handed to it before is done.
pub(super) struct Writer {
    jobs: Mutex<Option<mpsc::Sender<Box<dyn Job>>>>,
    /// Closed once the thread has ended.
    ended: watch::Receiver<()>,
    /// The time that a write waits for others, of this process or another one.
    busy: Duration,
}

impl Writer {
    /// One for the file at `path`, which is in WAL mode. It is opened when it is first needed.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub(super) fn new(path: PathBuf, busy: Duration) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Box<dyn Job>>();
        let (ends, ended) = watch::channel(());
        let mut link = Link { path, busy, open: None };
        let thread = thread::Builder::new().name("attache-sqlite".to_owned());
        thread.spawn(move || {
            while let Ok(first) = queue.recv() {
                // Whatever came in the meantime waits for the disk once, and not each piece by itself.
                let mut batch = vec![first];
                batch.extend(queue.try_iter().take(TOGETHER - 1));
                let failed = link.run(&mut batch).err();
                batch.into_iter().for_each(|job| job.tell(failed.as_ref()));
            }
            drop(link);
            drop(ends);
        })?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), ended, busy })
    }

    /// Lets nobody hand anything over any more, and waits until the connection is closed.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }

    /// Runs `work` in a transaction, maybe with that of others, which is committed if it says so; otherwise it leaves all as
    /// it was. It goes on when nobody waits for it any more; `is_awaited` tells it.
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
        let job = Piece { disk, until, work: Some(work), done: None, reply };
        {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let sent = jobs.as_ref().is_some_and(|jobs| jobs.send(Box::new(job)).is_ok());
            if !sent {
                return Err(SqlError::Database(sqlx::Error::PoolClosed));
            }
        }
        told.await.unwrap_or(Err(SqlError::Database(sqlx::Error::WorkerCrashed)))
    }
}

/// A piece of work for the thread, whatever its value is.
trait Job: Send {
    /// When it is to be on the disk.
    fn disk(&self) -> Disk;

    /// Does it. False if nothing of it is to stay.
    fn attempt(&mut self, connection: &Connection) -> bool;

    /// The failure of the database that it met.
    fn met(&self) -> Option<&rusqlite::Error>;

    /// Tells its caller the value, or that the transaction around it failed. The caller of one that panicked learns that it
    /// is gone.
    fn tell(self: Box<Self>, failed: Option<&rusqlite::Error>);
}

struct Piece<T, W> {
    disk: Disk,
    until: Instant,
    /// There until it was attempted.
    work: Option<W>,
    done: Option<Result<T, SqlError>>,
    reply: oneshot::Sender<Result<T, SqlError>>,
}

impl<T, W> Job for Piece<T, W>
where
    T: Send,
    W: FnOnce(&Turn<'_>) -> Result<Done<T>, SqlError> + Send,
{
    fn disk(&self) -> Disk {
        self.disk
    }

    fn attempt(&mut self, connection: &Connection) -> bool {
        let Some(work) = self.work.take() else { return false };
        let turn = Turn { connection, is_awaited: !self.reply.is_closed() };
        let done = match Instant::now() > self.until {
            true => Err(SqlError::Database(sqlx::Error::PoolTimedOut)),
            false => work(&turn),
        };
        let (done, stays) = match done {
            Ok(Done::Yes(done)) => (Ok(done), true),
            Ok(Done::No(done)) => (Ok(done), false),
            Err(error) => (Err(error), false),
        };
        self.done = Some(done);
        stays
    }

    fn met(&self) -> Option<&rusqlite::Error> {
        match &self.done {
            Some(Err(SqlError::Sqlite(error))) => Some(error),
            _ => None,
        }
    }

    fn tell(self: Box<Self>, failed: Option<&rusqlite::Error>) {
        let done = match (self.done, failed) {
            (Some(Ok(_)) | None, Some(failed)) => Err(SqlError::Sqlite(again(failed))),
            (Some(done), _) => done,
            (None, None) => return,
        };
        let _ = self.reply.send(done);
    }
}

/// The failure of a transaction, for one more of those whose work was in it.
fn again(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, text) => rusqlite::Error::SqliteFailure(*code, text.clone()),
        error => rusqlite::Error::ToSqlConversionFailure(error.to_string().into()),
    }
}

/// The connection of the thread.
struct Link {
    path: PathBuf,
    busy: Duration,
    open: Option<(Connection, Disk)>,
}

impl Link {
    /// Does them in one transaction, each of which fails or is undone alone.
    fn run(&mut self, batch: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
        let disk = match batch.iter().any(|job| job.disk() == Disk::Now) {
            true => Disk::Now,
            false => Disk::Later,
        };
        // It leaves its place: one that cannot say how it stands is closed, which rolls back.
        let (connection, level) = match self.open.take() {
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
        execute(&connection, "BEGIN IMMEDIATE")?;
        let is_alone = batch.len() == 1;
        let mut stays = false;
        for job in batch {
            stays |= match is_alone {
                true => attempt(job, &connection),
                false => attempt_beside_others(job, &connection)?,
            };
        }
        execute(&connection, if stays { "COMMIT" } else { "ROLLBACK" })?;
        self.open = Some((connection, disk));
        Ok(())
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
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

/// Runs a statement that is kept prepared.
fn execute(connection: &Connection, text: &str) -> rusqlite::Result<usize> {
    connection.prepare_cached(text)?.execute([])
}

/// Does a piece of work. False if nothing of it is to stay. One that panics is as one that fails.
fn attempt(job: &mut Box<dyn Job>, connection: &Connection) -> bool {
    catch_unwind(AssertUnwindSafe(|| job.attempt(connection))).unwrap_or(false)
}

/// The same where others have done theirs in the transaction, which stays.
///
/// # Errors
/// The failure that it met, if it cannot be undone by itself: SQLite rolls all back where the disk is full, for instance.
fn attempt_beside_others(job: &mut Box<dyn Job>, connection: &Connection) -> rusqlite::Result<bool> {
    execute(connection, "SAVEPOINT piece")?;
    let stays = attempt(job, connection);
    let undone = match stays {
        true => Ok(0),
        false => execute(connection, "ROLLBACK TO piece"),
    };
    // All of them are told of the cause, and not that there is nothing to undo.
    undone
        .and_then(|_| execute(connection, "RELEASE piece"))
        .map_err(|error| job.met().map_or(error, again))?;
    Ok(stays)
}

/// A transaction under way.
pub(super) struct Turn<'a> {
    connection: &'a Connection,
    /// False if the caller was gone when it began.
    pub(super) is_awaited: bool,
}

impl Turn<'_> {
    /// Runs a statement, and says how many rows it changed.
    pub(super) fn execute(&self, text: &str, values: impl rusqlite::Params) -> Result<usize, SqlError> {
        Ok(self.connection.prepare_cached(text)?.execute(values)?)
    }

    /// The first row, if there is one. The statement comes to its end.
    pub(super) fn first<T>(
        &self,
        text: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, SqlError> {
        let mut statement = self.connection.prepare_cached(text)?;
        let mut rows = statement.query_map(values, read)?;
        let first = rows.next().transpose()?;
        for row in rows {
            row?;
        }
        Ok(first)
    }

    /// The number of the row that was inserted last.
    pub(super) fn inserted(&self) -> i64 {
        self.connection.last_insert_rowid()
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
        // A transaction that fails closes the connection.
        let breaks = |turn: &Turn<'_>| Ok(Done::Yes(turn.execute("ROLLBACK", [])?));
        assert!(writer.run(Disk::Later, breaks).await.is_err());
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

    /// Work that is under way until it is told to go on, so that all that is handed over until then comes together.
    async fn holding_up(
        writer: &Writer,
    ) -> (std::pin::Pin<Box<impl Future<Output = Result<(), SqlError>>>>, mpsc::Sender<()>) {
        let ((go, gone), (begins, begun)) = (mpsc::channel(), oneshot::channel());
        let mut holds = Box::pin(writer.run(Disk::Later, move |_| {
            let _ = begins.send(());
            let _ = gone.recv();
            Ok(Done::Yes(()))
        }));
        assert!(futures_util::poll!(&mut holds).is_pending());
        begun.await.unwrap();
        (holds, go)
    }

    #[tokio::test]
    async fn work_that_comes_together_is_committed_together_and_fails_alone() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let path = folder.path().join("one.db");
        let count = "SELECT count(*) FROM one";
        let insert = |turn: &Turn<'_>| turn.execute("INSERT INTO one VALUES (1)", []);
        let (first, go) = holding_up(&writer).await;
        let stays = writer.run(Disk::Later, move |turn| Ok(Done::Yes(insert(turn)?)));
        let fails = writer.run(Disk::Now, move |turn| {
            insert(turn)?;
            Ok(Done::Yes(turn.execute("INSERT INTO one VALUES (NULL)", [])?))
        });
        let panics = writer.run(Disk::Later, move |turn| -> Result<Done<()>, SqlError> {
            insert(turn)?;
            panic!("a fault of this piece of work");
        });
        let does_not = writer.run(Disk::Later, move |turn| Ok(Done::No(insert(turn)?)));
        let looks = writer.run(Disk::Later, move |turn| {
            insert(turn)?;
            let outside = Connection::open(path)?.query_row(count, [], |row| row.get(0))?;
            let synchronous = turn.first("PRAGMA synchronous", [], |row| row.get(0))?;
            Ok(Done::Yes((outside, turn.first(count, [], |row| row.get(0))?, synchronous)))
        });
        let all = async { futures_util::join!(first, stays, fails, panics, does_not, looks) };
        let mut all = Box::pin(all);
        assert!(futures_util::poll!(&mut all).is_pending());
        go.send(()).unwrap();
        let (first, stays, fails, panics, does_not, looks) = all.await;
        first.unwrap();
        assert_eq!((stays.unwrap(), does_not.unwrap()), (1, 1));
        assert!(matches!(fails, Err(SqlError::Sqlite(_))), "{fails:?}");
        assert!(matches!(panics, Err(SqlError::Database(sqlx::Error::WorkerCrashed))), "{panics:?}");
        let looks: (i64, Option<i64>, Option<i64>) = looks.unwrap();
        assert_eq!(
            looks,
            (0, Some(2), Some(2)),
            "nothing is committed yet, and the commit waits for the disk"
        );
        assert_eq!(number(&writer, Disk::Now, count).await, 2);
    }

    #[tokio::test]
    async fn a_full_disk_is_told_to_all_whose_work_was_in_the_transaction() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let (first, go) = holding_up(&writer).await;
        let insert = |turn: &Turn<'_>| Ok(Done::Yes(turn.execute("INSERT INTO one VALUES (1)", [])?));
        // SQLite rolls back the whole transaction then.
        let fills = |turn: &Turn<'_>| {
            turn.first("PRAGMA max_page_count = 2", [], |row| row.get::<_, i64>(0))?;
            Ok(Done::Yes(turn.execute("INSERT INTO one VALUES (zeroblob(100000))", [])?))
        };
        let mut all = Box::pin(async {
            futures_util::join!(
                first,
                writer.run(Disk::Now, insert),
                writer.run(Disk::Now, fills),
                writer.run(Disk::Now, insert)
            )
        });
        assert!(futures_util::poll!(&mut all).is_pending());
        go.send(()).unwrap();
        let (first, before, fills, behind) = all.await;
        first.unwrap();
        for told in [before, fills, behind] {
            assert_eq!(told.unwrap_err().store().kind(), attache_core::StoreErrorKind::TooLarge);
        }
        assert_eq!(
            number(&writer, Disk::Now, "SELECT count(*) FROM one").await,
            0,
            "and the next one goes well"
        );
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
