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
