//! The statements that PostgreSQL has otherwise than others. Rows that a transaction decides about are locked.

use std::time::Duration;

use attache_agent::{Appended, JournalError, OpenSession, SessionState, Take, Taken};
use sqlx::{Row as _, query};

use super::store::Store;
use crate::sql::changes::mark_of;
use crate::sql::error::SqlError;
use crate::sql::prepared::Prepared;
use crate::sql::row::{entry, number};

/// The elements of the parameter of that number, an array as JSON, as rows with the column `value`.
macro_rules! elements {
    ($number:literal) => {
        concat!("json_array_elements(CAST($", $number, " AS json))")
    };
}
pub(super) use elements;

/// A column of texts by which rows are ordered, as their bytes are: the database may have the order of a dictionary.
macro_rules! by_bytes {
    ($column:literal) => {
        concat!($column, " COLLATE \"C\"")
    };
}
pub(super) use by_bytes;

pub(super) type Connection = sqlx::PgConnection;
pub(super) type Row = sqlx::postgres::PgRow;

pub(super) const FIND_SESSION: &str =
    "SELECT principal, accessed, leased_until, kept_until FROM attache_session WHERE id = $1 FOR UPDATE";
pub(super) const FIND_LEASE: &str =
    "SELECT leased_until, holder, leased_by FROM attache_session WHERE id = $1 AND principal = $2 FOR UPDATE";
pub(super) const HOLD_SESSION: &str =
    "SELECT leased_until, leased_by FROM attache_session WHERE id = $1 AND principal = $2 FOR SHARE";
/// Holds sessions.
pub(super) const HOLD_SESSIONS: &str = concat!(
    "SELECT s.id FROM attache_session s WHERE s.id IN (SELECT q.value ->> 0 FROM ",
    elements!("1"),
    " AS q) ORDER BY s.id FOR UPDATE"
);
pub(super) const NEXT_FENCE: &str = "SELECT nextval('attache_fence')";
pub(super) const HOLD: &str = "SELECT messages FROM attache_session WHERE id = $1 AND fence = $2 FOR UPDATE";
pub(super) const FIND_RUN: &str =
    "SELECT run, entries FROM attache_run WHERE session = $1 AND id = $2 FOR UPDATE";
// In one order, so that two that clear at once wait for each other and do not deadlock.
pub(super) const CLEAR: &str =
    "SELECT id FROM attache_session WHERE principal = $1 AND ($2 IS NULL OR id = $2) ORDER BY id FOR UPDATE";
pub(super) const CLEAN: &str = "SELECT id FROM attache_session \
    WHERE accessed < $1 AND leased_until <= $2 AND kept_until <= $2 \
    ORDER BY accessed LIMIT $3 FOR UPDATE SKIP LOCKED";

pub(super) const ORPHANS: &str = "SELECT s.id, s.principal, r.id FROM attache_run r JOIN attache_session s ON s.id = r.session \
    WHERE r.ended IS NULL AND r.name = $1 AND r.adopted < $4 AND r.id = s.leased_by \
    AND s.leased_until > 0 AND s.leased_until <= $2 ORDER BY r.adopted, s.leased_until LIMIT $3 \
    FOR UPDATE OF s SKIP LOCKED";

/// Begins a migration.
pub(super) const BEGIN: &str = "BEGIN";
/// The time for which a migration waits while others use the database.
pub(super) const IN_USE_FOR: Duration = Duration::from_secs(60 * 60);
/// Keeps other migrations out until the transaction ends, whatever connection of a pooler it runs on. All calls queue behind
/// a migration that waits for a table, so that it gives up soon and tries again.
pub(super) const HOLD_SCHEMA: &str =
    "SET LOCAL lock_timeout = '2s'; SELECT pg_advisory_xact_lock(hashtextextended('attache_migration', 1))";

/// Lets nobody else remember something for a principal until the transaction ends.
pub(super) const HOLD_FACTS: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

/// True if an append to a run that has begun is one statement.
pub(super) const APPENDS_AT_ONCE: bool = true;

/// Opens a session where all is as usual, in fewer round trips; `None` if it is not.
pub(super) async fn open_usual(
    _store: &Store,
    _open: OpenSession<'_>,
) -> Result<Option<SessionState>, SqlError> {
    Ok(None)
}

/// Takes a lease where all is as usual, in fewer round trips; `None` if it is not.
pub(super) async fn take_usual(_store: &Store, _take: Take<'_>) -> Result<Option<Taken>, SqlError> {
    Ok(None)
}

/// Appends where all is as usual, in fewer round trips; false if it is not, and nothing was written. It comes back.
pub(super) async fn append_usual(_store: &Store, append: Prepared) -> Result<(bool, Prepared), SqlError> {
    Ok((false, append))
}

/// Tells other processes that something was delivered to a run.
pub(super) async fn tell(connection: &mut Connection, session: &str, run: &str) -> Result<(), SqlError> {
    query("SELECT pg_notify('attache', $1)")
        .bind(mark_of(session, run).to_string())
        .execute(connection)
        .await?;
    Ok(())
}

/// Appends entries to the log of a run that has begun, in one round trip.
pub(super) async fn append_entries(
    connection: &mut Connection,
    append: &Prepared,
) -> Result<Appended, SqlError> {
    let rows =
        query("SELECT stands, stands_at, has_deliveries FROM attache_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
            .bind(append.session.as_str())
            .bind(append.run.as_str())
            .bind(append.fence)
            .bind(append.number)
            .bind(append.now)
            .bind(append.until)
            .bind(append.kept_until)
            .bind(append.ends)
            .bind(append.documents.as_slice())
            .bind(append.keys.as_slice())
            .bind(append.bodies.as_slice())
            .fetch_all(connection)
            .await?;
    if rows.len() != append.keys.len() {
        return Err(JournalError::Fenced.into());
    }
    let given = append.keys.iter().zip(&append.bodies);
    let (mut stand, mut has_deliveries) = (Vec::new(), append.keys.is_empty());
    for (at, (row, (key, given))) in rows.iter().zip(given).enumerate() {
        let (body, recorded): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        // Most stand as they were given.
        if body != given || recorded != append.now {
            stand.push((at, entry(body, number(recorded), key)?));
        }
        has_deliveries |= row.try_get::<bool, _>(2)?;
    }
    Ok(Appended { stand, has_deliveries })
}
