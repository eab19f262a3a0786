//! A connection that writes, for transactions that go to its thread as a whole.

use futures_util::TryStreamExt as _;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow};
use sqlx::{ConnectOptions as _, Connection as _, Either, Executor as _, Sqlite, SqliteConnection, raw_sql};

use crate::sql::error::SqlError;

/// The time from which on a commit is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    /// Once it is done.
    Now,
    /// Once one that does not wait for anything is done behind it. Before that it outlives the process, not a power
    /// failure, which takes along all processes that may hold a lease.
    Later,
}

/// A connection that writes.
#[derive(Debug)]
pub(super) struct Writer {
    options: SqliteConnectOptions,
    /// It leaves its place while it is used: a use that breaks off closes it, which rolls back.
    open: Option<(SqliteConnection, Disk)>,
}

impl Writer {
    /// One that is opened when it is first used, with commits that are on the disk.
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self { options, open: None }
    }

    pub(super) async fn close(&mut self) {
        if let Some((connection, _)) = self.open.take() {
            // It is closed in any case.
            let _ = connection.close().await;
        }
    }

    /// Runs the statements of a transaction, and yields the rows and how many the last one that writes has changed.
    pub(super) async fn run(
        &mut self,
        disk: Disk,
        statements: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<(Vec<SqliteRow>, u64), SqlError> {
        let (mut connection, now) = match self.open.take() {
            Some(open) => open,
            None => (self.options.connect().await?, Disk::Now),
        };
        if now != disk {
            // SQLite looks at it when a statement is prepared, so that it is none of those that are kept.
            let level = match disk {
                Disk::Now => "PRAGMA synchronous = FULL",
                Disk::Later => "PRAGMA synchronous = NORMAL",
            };
            raw_sql(level).execute(&mut connection).await?;
        }
        let (mut rows, mut changed) = (Vec::new(), 0);
        let mut results = connection.fetch_many(statements);
        while let Some(result) = results.try_next().await? {
            match result {
                // A commit tells what the statement before it did.
                Either::Left(done) => changed = done.rows_affected(),
                Either::Right(row) => rows.push(row),
            }
        }
        drop(results);
        self.open = Some((connection, disk));
        Ok((rows, changed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::sqlite::SqliteJournalMode;
    use sqlx::{Row as _, query};

    use super::*;

    fn options(folder: &tempfile::TempDir) -> SqliteConnectOptions {
        let options = SqliteConnectOptions::new().filename(folder.path().join("one.db"));
        options
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(5))
    }

    async fn count(writer: &mut Writer) -> i64 {
        let (rows, _) = writer.run(Disk::Now, query("SELECT count(*) FROM one")).await.unwrap();
        rows.first().unwrap().try_get(0).unwrap()
    }

    #[tokio::test]
    async fn a_commit_waits_for_the_disk_whenever_it_is_to_whatever_the_one_before_did() {
        let folder = tempfile::tempdir().unwrap();
        let full = options(&folder).synchronous(sqlx::sqlite::SqliteSynchronous::Full);
        let mut writer = Writer::new(full);
        let (now, later) = ((Disk::Now, 2), (Disk::Later, 1));
        for (disk, level) in [now, later, later, now, now, later, now] {
            let (rows, _) = writer.run(disk, query("PRAGMA synchronous")).await.unwrap();
            assert_eq!(rows.first().unwrap().try_get::<i64, _>(0).unwrap(), level);
        }
        writer.run(Disk::Later, query("CREATE TABLE one (a INTEGER NOT NULL)")).await.unwrap();
        assert!(writer.run(Disk::Later, query("INSERT INTO one VALUES (NULL)")).await.is_err());
        let (rows, _) = writer.run(Disk::Now, query("PRAGMA synchronous")).await.unwrap();
        assert_eq!(rows.first().unwrap().try_get::<i64, _>(0).unwrap(), 2, "of a connection that is new");
    }

    #[tokio::test]
    async fn what_fails_or_is_dropped_in_the_middle_leaves_no_transaction_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::new(options(&folder));
        writer.run(Disk::Now, query("CREATE TABLE one (a INTEGER NOT NULL)")).await.unwrap();
        let fails = "BEGIN IMMEDIATE; INSERT INTO one VALUES (1); INSERT INTO one VALUES (NULL); COMMIT";
        assert!(writer.run(Disk::Now, query(fails)).await.is_err());
        assert_eq!(count(&mut writer).await, 0);
        // Rows without end: it stands still in the middle once nobody reads them.
        let long = "BEGIN IMMEDIATE; INSERT INTO one VALUES (1); WITH RECURSIVE n (a) AS \
            (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a FROM n; COMMIT";
        {
            let mut dropped = std::pin::pin!(writer.run(Disk::Now, query(long)));
            // Once it was begun.
            let mut polls = 0;
            std::future::poll_fn(|context| {
                polls += 1;
                let polled = std::future::Future::poll(dropped.as_mut(), context);
                if polls < 3 && polled.is_pending() {
                    std::task::Poll::Pending
                } else {
                    std::task::Poll::Ready(())
                }
            })
            .await;
        }
        let mut other = Writer::new(options(&folder));
        assert_eq!(other.run(Disk::Now, query("INSERT INTO one VALUES (7)")).await.unwrap().1, 1);
        assert_eq!(count(&mut writer).await, 1);
    }
}
