//! The statements that PostgreSQL has otherwise than others. Rows that a transaction decides about are locked.

use attache_agent::{Append, Entry, JournalError};
use sqlx::{Row as _, query};

use crate::sql::error::SqlError;
use crate::sql::row::{entry, int, json, number};

pub(super) type Connection = sqlx::PgConnection;
pub(super) type Row = sqlx::postgres::PgRow;

pub(super) const FIND_SESSION: &str =
    "SELECT principal, accessed, leased_until, kept_until FROM attache_session WHERE id = $1 FOR UPDATE";
pub(super) const FIND_LEASE: &str =
    "SELECT leased_until, holder, leased_by FROM attache_session WHERE id = $1 AND principal = $2 FOR UPDATE";
pub(super) const HOLD_SESSION: &str = "SELECT 1 FROM attache_session WHERE id = $1 FOR KEY SHARE";
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

/// Appends entries to the log of a run that has begun, in one round trip.
pub(super) async fn append_entries(
    connection: &mut Connection,
    append: Append,
) -> Result<Vec<Entry>, SqlError> {
    let keys: Vec<String> = append.entries.iter().map(|entry| entry.key.to_string()).collect();
    let bodies = append.entries.iter().map(json).collect::<Result<Vec<String>, _>>()?;
    let documents: Vec<String> = append.documents.iter().map(|id| id.as_str().to_owned()).collect();
    let rows =
        query("SELECT stands, stands_at FROM attache_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
            .bind(append.session.as_str())
            .bind(&*append.run)
            .bind(int(append.fence))
            .bind(int(append.number))
            .bind(int(append.now))
            .bind(int(append.until))
            .bind(append.kept_until.map(int))
            .bind(append.ends)
            .bind(documents)
            .bind(keys)
            .bind(bodies)
            .fetch_all(connection)
            .await?;
    if rows.len() != append.entries.len() {
        return Err(JournalError::Fenced.into());
    }
    let stand = rows.iter().zip(append.entries).map(|(row, mut new)| {
        let (body, at): (&str, u64) = (row.try_get(0)?, number(row.try_get(1)?));
        // Most stand as they were given.
        if json(&new)? != body {
            return entry(body, at, new.key);
        }
        new.at = at;
        Ok(new)
    });
    stand.collect()
}
