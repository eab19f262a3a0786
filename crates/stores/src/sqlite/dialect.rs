//! The statements that SQLite has otherwise than others. A transaction that writes is alone.

use attache_agent::{Append, Entry, JournalError};
use sqlx::{Row as _, query};

use super::append::{note_documents, run_of, take_delivered, write};
use crate::sql::error::SqlError;
use crate::sql::row::{entry, int};

pub(super) type Connection = sqlx::SqliteConnection;
pub(super) type Row = sqlx::sqlite::SqliteRow;

pub(super) const FIND_SESSION: &str =
    "SELECT principal, accessed, leased_until, kept_until FROM attache_session WHERE id = $1";
pub(super) const FIND_LEASE: &str =
    "SELECT leased_until, holder, leased_by FROM attache_session WHERE id = $1 AND principal = $2";
pub(super) const HOLD_SESSION: &str = "SELECT 1 FROM attache_session WHERE id = $1";
pub(super) const NEXT_FENCE: &str = "UPDATE attache_fence SET number = number + 1 RETURNING number";
pub(super) const HOLD: &str = "SELECT messages FROM attache_session WHERE id = $1 AND fence = $2";
pub(super) const FIND_RUN: &str = "SELECT run, entries FROM attache_run WHERE session = $1 AND id = $2";
pub(super) const CLEAR: &str =
    "SELECT id FROM attache_session WHERE principal = $1 AND ($2 IS NULL OR id = $2) ORDER BY id";
pub(super) const CLEAN: &str = "SELECT id FROM attache_session \
    WHERE accessed < $1 AND leased_until <= $2 AND kept_until <= $2 ORDER BY accessed LIMIT $3";

/// Appends entries to the log of a run that has begun.
pub(super) async fn append_entries(
    connection: &mut Connection,
    append: Append,
) -> Result<Vec<Entry>, SqlError> {
    let (session, now) = (append.session.as_str(), int(append.now));
    let held = query(
        "UPDATE attache_session SET appends = $3, accessed = $4, leased_until = $5, \
         kept_until = coalesce($6, kept_until) WHERE id = $1 AND fence = $2 AND appends < $3",
    )
    .bind(session)
    .bind(int(append.fence))
    .bind(int(append.number))
    .bind(now)
    .bind(int(append.until))
    .bind(append.kept_until.map(int))
    .execute(&mut *connection)
    .await?;
    if held.rows_affected() == 0 {
        return Err(JournalError::Fenced.into());
    }
    note_documents(connection, session, &append.documents).await?;
    let (run, mut entries) = run_of(connection, session, &append.run).await?.ok_or(JournalError::Empty)?;
    let mut stand = Vec::with_capacity(append.entries.len());
    for mut new in append.entries {
        let known = query("SELECT body, at FROM attache_entry WHERE run = $1 AND key = $2")
            .bind(run)
            .bind(new.key.as_str().to_owned())
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(known) = known {
            let at = u64::try_from(known.try_get::<i64, _>(1)?).unwrap_or_default();
            stand.push(entry(known.try_get(0)?, at, new.key)?);
            continue;
        }
        if let Some(delivered) = take_delivered(connection, run, &new, append.now).await? {
            new = delivered;
        }
        new.at = append.now;
        write(connection, run, entries, now, &new).await?;
        entries += 1;
        stand.push(new);
    }
    query("UPDATE attache_run SET entries = $2, ended = CASE WHEN $3 THEN $4 ELSE ended END WHERE run = $1")
        .bind(run)
        .bind(entries)
        .bind(append.ends)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(stand)
}
