//! Brings a database to the form that this program knows.

use std::io::ErrorKind;
use std::time::Duration;

use attache_core::{StoreError, StoreErrorKind};
use sqlx::migrate::{AppliedMigration, Migrate as _, MigrateError, Migration, MigrationType};
use sqlx::{Connection as _, SqlSafeStr as _, raw_sql};
use tokio::time::{Instant, sleep, timeout};

use super::dialect::{BEGIN, Connection, HOLD_SCHEMA, IN_USE_FOR};
use crate::sql::error::{PATIENCE, SqlError};

/// The table of the migrations that were run. Others may keep their tables in the same database.
const TABLE: &str = "attache_migration";
/// The number of attempts, where something else than a lock fails a migration.
const ATTEMPTS: u32 = 10;
/// The time that all migrations may take together, waits for tables that are in use included.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The pause before another attempt.
const PAUSE: Duration = Duration::from_millis(50);
/// The pause where tables are in use. The calls that waited behind the migration have their turn in it.
const TURN: Duration = Duration::from_millis(500);
/// PostgreSQL: a lock was not to be had in time, a deadlock. SQLite: somebody else writes.
const IN_USE: [&str; 5] = ["55P03", "40P01", "5", "261", "517"];

/// Runs the migrations that a database lacks, of those with the names and statements given, in order from 1. They go
/// forward only, and none changes once it was released.
pub(super) async fn migrate(
    connection: &mut Connection,
    migrations: &[(&'static str, &'static str)],
) -> Result<(), StoreError> {
    let known = |(number, (name, sql)): (i64, &(&'static str, &'static str))| {
        Migration::new(number, (*name).into(), MigrationType::Simple, (*sql).into_sql_str(), false)
    };
    let known: Vec<_> = (1..).zip(migrations).map(known).collect();
    let migrated = timeout(LONGEST, run(connection, &known)).await;
    migrated.unwrap_or_else(|_| {
        let text = "the database was not migrated within an hour";
        Err(StoreError::new(StoreErrorKind::Unavailable, text))
    })
}

async fn run(connection: &mut Connection, known: &[Migration]) -> Result<(), StoreError> {
    let (mut attempts, mut waits_since) = (0, None);
    loop {
        match next(connection, known).await {
            Ok(true) => waits_since = None,
            Ok(false) => return Ok(()),
            Err(error) if is_in_use(&error) => {
                let since: Instant = *waits_since.get_or_insert_with(|| {
                    tracing::warn!(%error, "a migration of the database is waiting for tables that are in use");
                    Instant::now()
                });
                if since.elapsed() >= IN_USE_FOR {
                    return failed(error, ATTEMPTS, known.len());
                }
                sleep(TURN).await;
            }
            Err(error) => {
                attempts += 1;
                failed(error, attempts, known.len())?;
                sleep(PAUSE).await;
            }
        }
    }
}

/// Runs the first migration that the database lacks. False if it lacks none.
async fn next(connection: &mut Connection, known: &[Migration]) -> Result<bool, MigrateError> {
    // Where there is nothing to do, no lock is waited for. There is no table in a new database.
    match in_time(connection.list_applied_migrations(TABLE)).await {
        Ok(applied) if lacking(&applied, known)?.is_none() => return Ok(false),
        Err(error) if is_late(&error) => return Err(error),
        _ => {}
    }
    let mut writing = in_time(async { Ok(connection.begin_with(BEGIN).await?) }).await?;
    let done = async {
        let applied = in_time(async {
            raw_sql(HOLD_SCHEMA).execute(&mut *writing).await?;
            writing.ensure_migrations_table(TABLE).await?;
            // Another process may have been faster.
            writing.list_applied_migrations(TABLE).await
        });
        if let Some(next) = lacking(&applied.await?, known)? {
            writing.apply(TABLE, next).await?;
        }
        Ok(())
    };
    match done.await {
        Ok(()) => in_time(async { Ok(writing.commit().await?) }).await?,
        // Its locks are free before the next attempt.
        Err(error) => {
            let _ = timeout(PATIENCE, writing.rollback()).await;
            return Err(error);
        }
    }
    Ok(true)
}

/// A database that does not answer has failed. Only a migration itself may take longer.
async fn in_time<T>(work: impl Future<Output = Result<T, MigrateError>>) -> Result<T, MigrateError> {
    let late = |_| MigrateError::Execute(sqlx::Error::Io(ErrorKind::TimedOut.into()));
    timeout(PATIENCE, work).await.map_err(late)?
}

fn is_late(error: &MigrateError) -> bool {
    matches!(error, MigrateError::Execute(sqlx::Error::Io(error)) if error.kind() == ErrorKind::TimedOut)
}

/// The first migration that a database lacks.
fn lacking<'a>(
    applied: &[AppliedMigration],
    known: &'a [Migration],
) -> Result<Option<&'a Migration>, MigrateError> {
    for one in applied {
        let known = known.iter().find(|known| known.version == one.version);
        let known = known.ok_or(MigrateError::VersionMissing(one.version))?;
        if known.checksum != one.checksum {
            return Err(MigrateError::VersionMismatch(one.version));
        }
    }
    Ok(known.iter().find(|known| applied.iter().all(|one| one.version != known.version)))
}

/// Refuses a database that a newer program has brought to its form meanwhile.
#[cfg(any(feature = "file", feature = "object"))]
pub(super) async fn refuse_newer(connection: &mut Connection, known: usize) -> Result<(), SqlError> {
    let version = sqlx::query_scalar("SELECT max(version) FROM attache_migration");
    let version: i64 = version.fetch_one(connection).await?;
    match usize::try_from(version).is_ok_and(|version| version <= known) {
        true => Ok(()),
        false => Err(SqlError::Unreadable(newer(version, known))),
    }
}

fn newer(version: i64, known: usize) -> String {
    format!("the database has version {version}, but this program only supports up to {known}")
}

fn is_in_use(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| IN_USE.contains(&&*code))
}

/// The error of a migration that is not tried again.
fn failed(error: MigrateError, attempts: u32, known: usize) -> Result<(), StoreError> {
    match error {
        MigrateError::VersionMissing(version) => {
            Err(StoreError::new(StoreErrorKind::Corrupt, newer(version, known)))
        }
        MigrateError::VersionMismatch(version) => {
            let text =
                format!("version {version} of the database differs from the one that this program knows");
            Err(StoreError::new(StoreErrorKind::Corrupt, text))
        }
        error if is_late(&error) => Err(SqlError::Late.store()),
        _ if attempts < ATTEMPTS => Ok(()),
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            Err(SqlError::from(error).store())
        }
        error => {
            let text = "the database could not be migrated";
            Err(StoreError::new(StoreErrorKind::Unavailable, text).with_source(error))
        }
    }
}
