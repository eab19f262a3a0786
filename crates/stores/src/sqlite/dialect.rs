//! The statements that SQLite has otherwise than others. A transaction that writes is alone.

use std::time::Duration;

use attache_agent::{Appended, JournalError, OpenSession, SessionState, Take, Taken};
use sqlx::{Row as _, query};

use super::append::{note_documents, run_of, take_delivered, write};
use super::one_round_trip;
use super::store::Store;
use crate::sql::error::SqlError;
use crate::sql::prepared::Prepared;
use crate::sql::row::{entry, number};

/// The elements of the parameter of that number, an array as JSON, as rows with the column `value`.
macro_rules! elements {
    ($number:literal) => {
        concat!("json_each($", $number, ")")
    };
}
pub(super) use elements;

/// A column of texts by which rows are ordered, as their bytes are.
macro_rules! by_bytes {
    ($column:literal) => {
        $column
    };
}
pub(super) use by_bytes;

pub(super) type Connection = sqlx::SqliteConnection;
pub(super) type Row = sqlx::sqlite::SqliteRow;

pub(super) const FIND_SESSION: &str =
    "SELECT principal, accessed, leased_until, kept_until FROM attache_session WHERE id = $1";
pub(super) const FIND_LEASE: &str =
    "SELECT leased_until, holder, leased_by FROM attache_session WHERE id = $1 AND principal = $2";
pub(super) const HOLD_SESSION: &str =
    "SELECT leased_until, leased_by FROM attache_session WHERE id = $1 AND principal = $2";
/// Holds sessions.
pub(super) const HOLD_SESSIONS: &str = concat!(
    "SELECT s.id FROM attache_session s WHERE s.id IN (SELECT q.value ->> 0 FROM ",
    elements!("1"),
    " AS q) ORDER BY s.id"
);
pub(super) const NEXT_FENCE: &str = "UPDATE attache_fence SET number = number + 1 RETURNING number";
pub(super) const HOLD: &str = "SELECT messages FROM attache_session WHERE id = $1 AND fence = $2";
pub(super) const FIND_RUN: &str = "SELECT run, entries FROM attache_run WHERE session = $1 AND id = $2";
pub(super) const CLEAR: &str =
    "SELECT id FROM attache_session WHERE principal = $1 AND ($2 IS NULL OR id = $2) ORDER BY id";
pub(super) const CLEAN: &str = "SELECT id FROM attache_session \
    WHERE accessed < $1 AND leased_until <= $2 AND kept_until <= $2 ORDER BY accessed LIMIT $3";

pub(super) const ORPHANS: &str = "SELECT s.id, s.principal, r.id FROM attache_run r JOIN attache_session s ON s.id = r.session \
    WHERE r.ended IS NULL AND r.name = $1 AND r.adopted < $4 AND r.id = s.leased_by \
    AND s.leased_until > 0 AND s.leased_until <= $2 ORDER BY r.adopted, s.leased_until LIMIT $3";

/// Begins a migration.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
/// The time for which a migration waits while others use the database. A writer is done in a moment, apart from
/// another process that migrates the file.
pub(super) const IN_USE_FOR: Duration = Duration::from_secs(10 * 60);
/// Keeps other migrations out until the transaction ends.
pub(super) const HOLD_SCHEMA: &str = "SELECT 1";

/// Lets nobody else remember something for a principal until the transaction ends.
pub(super) const HOLD_FACTS: &str = "SELECT $1";

/// True if an append to a run that has begun is one statement.
pub(super) const APPENDS_AT_ONCE: bool = false;

/// Opens a session where all is as usual, in fewer round trips; `None` if it is not.
pub(super) async fn open_usual(
    store: &Store,
    open: OpenSession<'_>,
) -> Result<Option<SessionState>, SqlError> {
    one_round_trip::open(store, open).await
}

/// Takes a lease where all is as usual, in fewer round trips; `None` if it is not.
pub(super) async fn take_usual(store: &Store, take: Take<'_>) -> Result<Option<Taken>, SqlError> {
    one_round_trip::take(store, take).await
}

/// Appends where all is as usual, in fewer round trips; false if it is not, and nothing was written. It comes back.
pub(super) async fn append_usual(store: &Store, append: Prepared) -> Result<(bool, Prepared), SqlError> {
    one_round_trip::append(store, append).await
}

/// Other processes look by themselves.
pub(super) async fn tell(_connection: &mut Connection, _session: &str, _run: &str) -> Result<(), SqlError> {
    Ok(())
}

/// Appends entries to the log of a run that has begun.
pub(super) async fn append_entries(
    connection: &mut Connection,
    append: &Prepared,
) -> Result<Appended, SqlError> {
    let (session, now) = (append.session.as_str(), append.now);
    let held = query(
        "UPDATE attache_session SET appends = $3, accessed = $4, leased_until = $5, \
         kept_until = coalesce($6, kept_until) WHERE id = $1 AND fence = $2 AND appends < $3",
    )
    .bind(session)
    .bind(append.fence)
    .bind(append.number)
    .bind(now)
    .bind(append.until)
    .bind(append.kept_until)
    .execute(&mut *connection)
    .await?;
    if held.rows_affected() == 0 {
        return Err(JournalError::Fenced.into());
    }
    note_documents(connection, session, append.documents.iter().map(String::as_str)).await?;
    let (run, mut entries) = run_of(connection, session, &append.run).await?.ok_or(JournalError::Empty)?;
    let mut stand = Vec::new();
    for (at, (key, body)) in append.keys.iter().zip(&append.bodies).enumerate() {
        let known = query("SELECT body, at FROM attache_entry WHERE run = $1 AND key = $2")
            .bind(run)
            .bind(key.as_str())
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(known) = known {
            stand.push((at, entry(known.try_get(0)?, number(known.try_get(1)?), key)?));
            continue;
        }
        let delivered = take_delivered(connection, run, key).await?;
        write(connection, run, entries, key, now, delivered.as_ref().unwrap_or(body)).await?;
        entries += 1;
        if let Some(delivered) = delivered {
            stand.push((at, entry(&delivered, number(now), key)?));
        }
    }
    query("UPDATE attache_run SET entries = $2, adopted = 0, ended = CASE WHEN $3 THEN $4 ELSE ended END WHERE run = $1")
        .bind(run)
        .bind(entries)
        .bind(append.ends)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(Appended { stand, has_deliveries: true })
}
