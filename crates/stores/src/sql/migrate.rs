//! Brings a database to the form that this program knows.

use std::time::Duration;

use attache_core::{StoreError, StoreErrorKind};
use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};

use super::error::SqlError;

/// The number of attempts, where two processes begin with a new database at once.
const ATTEMPTS: u32 = 10;

/// The migrations, with what each does, in order from 1. They go forward only, and none changes once it was released.
pub(crate) fn migrator(migrations: &[(&'static str, &'static str)]) -> Migrator {
    let migration = |(number, (description, sql)): (i64, &(&'static str, &'static str))| {
        Migration::new(number, (*description).into(), MigrationType::Simple, (*sql).into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations((1..).zip(migrations).map(migration).collect());
    // Others may keep their tables in the same database.
    migrator.dangerous_set_table_name("attache_migration");
    migrator
}

/// Runs the migrations that a database lacks.
pub(crate) async fn migrate<C>(migrator: &Migrator, connection: &mut C) -> Result<(), StoreError>
where
    C: Migrate,
{
    let mut attempts = 0;
    loop {
        attempts += 1;
        match migrator.run_direct(None, connection, false).await {
            Ok(()) => return Ok(()),
            Err(MigrateError::VersionMissing(version)) => {
                let known = migrator.iter().len();
                let text =
                    format!("the database has version {version}, and this program reads up to {known}");
                return Err(StoreError::new(StoreErrorKind::Corrupt, text));
            }
            Err(MigrateError::VersionMismatch(version)) => {
                let text =
                    format!("version {version} of the database is another one than this program knows");
                return Err(StoreError::new(StoreErrorKind::Corrupt, text));
            }
            // Another process may have been faster.
            Err(_) if attempts < ATTEMPTS => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => {
                return Err(SqlError::from(error).store());
            }
            Err(error) => {
                let text = "the database could not be brought to the form that this program knows";
                return Err(StoreError::new(StoreErrorKind::Unavailable, text).with_source(error));
            }
        }
    }
}
