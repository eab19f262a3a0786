//! Titles of sessions, and sessions that go on from another one.

use attache_agent::{Fork, SessionError};
use sqlx::{Row as _, query};

use super::dialect::{Connection, HOLD_SESSION};
use crate::sql::error::SqlError;
use crate::sql::row::{int, ranges};

/// Gives a session another title. From the next search on it is found under that one's words in place of the old one's.
pub(super) async fn rename(
    connection: &mut Connection,
    principal: &str,
    session: &str,
    title: &str,
) -> Result<bool, SqlError> {
    // Less than the messages of a session that has none.
    let renamed =
        query("UPDATE attache_session SET title = $3, searched = -1 WHERE id = $1 AND principal = $2")
            .bind(session)
            .bind(principal)
            .bind(title)
            .execute(&mut *connection)
            .await?;
    if renamed.rows_affected() == 0 {
        return Ok(false);
    }
    for forgotten in [
        "DELETE FROM attache_session_word WHERE session = $1",
        "UPDATE attache_run SET searched = 0 WHERE session = $1",
    ] {
        query(forgotten).bind(session).execute(&mut *connection).await?;
    }
    Ok(true)
}

/// Makes a session with the messages that a run began with, and its log; or an empty one.
pub(super) async fn fork(connection: &mut Connection, fork: Fork<'_>) -> Result<(), SqlError> {
    let (from, to) = (fork.session.as_str(), fork.id.as_str());
    let held = query(HOLD_SESSION).bind(from).bind(fork.principal).fetch_optional(&mut *connection);
    held.await?.ok_or(SessionError::NotFound)?;
    query(
        "INSERT INTO attache_session (id, principal, created, accessed, forked_from, forked_at) \
         SELECT $2, principal, $3, $3, $1, $4 FROM attache_session WHERE id = $1",
    )
    .bind(from)
    .bind(to)
    .bind(int(fork.now))
    .bind(int(fork.questions))
    .execute(&mut *connection)
    .await?;
    let Some(id) = fork.run else { return Ok(()) };
    let found = query("SELECT run, ended, ranges FROM attache_run WHERE session = $1 AND id = $2")
        .bind(from)
        .bind(id)
        .fetch_optional(&mut *connection);
    let found = found.await?.ok_or(SessionError::NotFound)?;
    if found.try_get::<Option<i64>, _>(1)?.is_none() {
        return Err(SessionError::Busy { run: id.to_owned() }.into());
    }
    let messages = ranges(found.try_get(2)?)?.iter().map(|range| range.end).max().unwrap_or_default();
    query(
        "UPDATE attache_session SET messages = $3, \
         title = (SELECT title FROM attache_session WHERE id = $1) WHERE id = $2",
    )
    .bind(from)
    .bind(to)
    .bind(int(messages))
    .execute(&mut *connection)
    .await?;
    query(
        "INSERT INTO attache_message (session, place, body) \
         SELECT $2, place, body FROM attache_message WHERE session = $1 AND place < $3",
    )
    .bind(from)
    .bind(to)
    .bind(int(messages))
    .execute(&mut *connection)
    .await?;
    let run: i64 = query(
        "INSERT INTO attache_run (session, id, began, ended, ranges, name, entries) \
         SELECT $2, id, began, ended, ranges, name, entries FROM attache_run WHERE run = $1 RETURNING run",
    )
    .bind(found.try_get::<i64, _>(0)?)
    .bind(to)
    .fetch_one(&mut *connection)
    .await?
    .try_get(0)?;
    query(
        "INSERT INTO attache_entry (run, place, key, at, body) \
         SELECT $2, place, key, at, body FROM attache_entry WHERE run = $1",
    )
    .bind(found.try_get::<i64, _>(0)?)
    .bind(run)
    .execute(&mut *connection)
    .await?;
    query("INSERT INTO attache_document (session, document) SELECT $2, document FROM attache_document WHERE session = $1")
        .bind(from)
        .bind(to)
        .execute(connection)
        .await?;
    Ok(())
}
