//! A database is brought to the form that the program knows while others use it.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{OpenSession, SessionId, SessionStore};
use attache_stores::{PostgresStore, SqliteStore};
use futures_util::future::join_all;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tokio::sync::Notify;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata};

use crate::place::Place;

#[tokio::test]
async fn a_database_that_is_up_to_date_is_opened_whatever_locks_were_left() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    PostgresStore::connect(&database.url).await.unwrap();
    let name = database.url.rsplit('/').next().unwrap();
    // The lock of sqlx's migrator, which a pooler leaves with a connection, and that of this one.
    let left = 0x3d32_ad9e * i64::from(crc32fast::hash(name.as_bytes()));
    let mut other = PgConnection::connect(&database.url).await.unwrap();
    let lock = "SELECT pg_advisory_lock($1), pg_advisory_lock(hashtextextended('attache_migration', 1))";
    sqlx::query(lock).bind(left).execute(&mut other).await.unwrap();
    let opened = tokio::time::timeout(Duration::from_secs(10), PostgresStore::connect(&database.url)).await;
    opened.expect("it does not wait").unwrap();
}

#[tokio::test]
async fn several_that_begin_with_a_new_database_at_once_do_so() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let opening = join_all((0..6).map(|_| PostgresStore::connect(&database.url)));
    for opened in opening.await {
        assert_eq!(SessionStore::count(&opened.unwrap(), "ann").await.unwrap(), 0);
    }
}

/// A backup reads a table for longer than any call may take.
#[tokio::test]
async fn a_migration_waits_for_a_table_that_is_in_use_and_keeps_nobody_out() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let beside = PostgresStore::connect(&database.url).await.unwrap();
    let mut other = PgConnection::connect(&database.url).await.unwrap();
    let older = "ALTER TABLE attache_session DROP COLUMN forked_from, DROP COLUMN forked_at; \
                 DELETE FROM attache_migration WHERE version = 5";
    sqlx::raw_sql(older).execute(&mut other).await.unwrap();
    let mut reading = other.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM attache_session").execute(&mut *reading).await.unwrap();
    let url = database.url.clone();
    let opening = tokio::spawn(async move { PostgresStore::connect(&url).await });
    let mut look = PgConnection::connect(&database.url).await.unwrap();
    let waits =
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    let waiting = async { while sqlx::query(waits).fetch_optional(&mut look).await.unwrap().is_none() {} };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
    // For this process, not for the server.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    let id = SessionId::parse("s").unwrap();
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    let opened = tokio::time::timeout(Duration::from_secs(5), SessionStore::open(&beside, open)).await;
    opened.expect("a call does not wait for the backup").unwrap();
    assert!(!opening.is_finished());
    reading.rollback().await.unwrap();
    let migrated = opening.await.unwrap().unwrap();
    assert_eq!(SessionStore::list(&migrated, "ann").await.unwrap().len(), 1);
}

/// Notices the warning that a migration waits.
struct Told(Arc<Notify>);

impl tracing::Subscriber for Told {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN && metadata.target().starts_with("attache")
    }

    fn event(&self, _: &Event<'_>) {
        self.0.notify_one();
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Another process holds the file for longer than a call waits for it.
#[tokio::test]
async fn a_migration_of_sqlite_waits_for_a_process_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    SqliteStore::open(&path).await.unwrap().close().await;
    let url = format!("sqlite://{}", path.display());
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    // As an older program left it.
    let older = "DELETE FROM attache_migration WHERE description = 'name'; DROP TABLE attache_store";
    sqlx::raw_sql(older).execute(&mut other).await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let told = Arc::new(Notify::new());
    let _told = tracing::subscriber::set_default(Told(Arc::clone(&told)));
    let opening = tokio::spawn(async move { SqliteStore::open(&path).await });
    // SQLite itself waits for 5 seconds before it says so.
    tokio::time::timeout(Duration::from_secs(60), told.notified()).await.unwrap();
    assert!(!opening.is_finished());
    sqlx::query("COMMIT").execute(&mut other).await.unwrap();
    let opened = tokio::time::timeout(Duration::from_secs(30), opening).await.unwrap().unwrap().unwrap();
    assert_eq!(opened.database_id().await.unwrap().len(), 32);
}
