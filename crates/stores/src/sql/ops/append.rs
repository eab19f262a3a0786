//! Writes the logs of runs.

use attache_agent::{Append, Beginning, Entry, JournalError};
use attache_core::DocumentId;
use sqlx::{Row as _, query};

use super::dialect::{Connection, FIND_RUN, HOLD, HOLD_SESSION, append_entries};
use crate::sql::error::SqlError;
use crate::sql::row::{entry, int, json, place, ranges_text};

/// A run, and how many entries its log has.
pub(super) async fn run_of(
    connection: &mut Connection,
    session: &str,
    run: &str,
) -> Result<Option<(i64, i64)>, SqlError> {
    let found = query(FIND_RUN).bind(session).bind(run).fetch_optional(connection).await?;
    found.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

/// Appends entries, and begins the run before if it begins with them.
pub(super) async fn append(connection: &mut Connection, append: Append) -> Result<Vec<Entry>, SqlError> {
    if let Some(begins) = &append.begins {
        let has: i64 = query(HOLD)
            .bind(append.session.as_str())
            .bind(int(append.fence))
            .fetch_optional(&mut *connection)
            .await?
            .ok_or(JournalError::Fenced)?
            .try_get(0)?;
        if run_of(connection, append.session.as_str(), &append.run).await?.is_none() {
            begin(connection, &append, has, begins).await?;
        }
    }
    append_entries(connection, append).await
}

/// Makes the run, and gives the session the messages that are new to it.
async fn begin(
    connection: &mut Connection,
    append: &Append,
    has: i64,
    begins: &Beginning,
) -> Result<(), SqlError> {
    let (session, now) = (append.session.as_str(), int(append.now));
    if has != int(begins.first) {
        return Err(JournalError::Moved { entries: usize::try_from(has).unwrap_or_default() }.into());
    }
    for (at, message) in (has..).zip(&begins.messages) {
        query("INSERT INTO attache_message (session, place, body) VALUES ($1, $2, $3)")
            .bind(session)
            .bind(at)
            .bind(json(message)?)
            .execute(&mut *connection)
            .await?;
    }
    query(
        "UPDATE attache_session SET messages = messages + $2, title = CASE WHEN title = '' THEN $3 ELSE title END \
         WHERE id = $1",
    )
    .bind(session)
    .bind(place(begins.messages.len()))
    .bind(begins.title.as_str())
    .execute(&mut *connection)
    .await?;
    if let Some((closed, end)) = &begins.closes
        && let Some((closed, entries)) = run_of(connection, session, closed).await?
    {
        for (at, entry) in (entries..).zip(end) {
            let delivered = take_delivered(connection, closed, entry, append.now).await?;
            write(connection, closed, at, now, delivered.as_ref().unwrap_or(entry)).await?;
        }
        query("UPDATE attache_run SET entries = entries + $3, ended = $2 WHERE run = $1")
            .bind(closed)
            .bind(now)
            .bind(place(end.len()))
            .execute(&mut *connection)
            .await?;
    }
    query("INSERT INTO attache_run (session, id, began, ranges) VALUES ($1, $2, $3, $4)")
        .bind(session)
        .bind(&*append.run)
        .bind(now)
        .bind(ranges_text(&begins.ranges)?)
        .execute(connection)
        .await?;
    Ok(())
}

/// Takes the entry that was delivered under the key of another one.
pub(super) async fn take_delivered(
    connection: &mut Connection,
    run: i64,
    new: &Entry,
    now: u64,
) -> Result<Option<Entry>, SqlError> {
    let delivered = query("DELETE FROM attache_delivered WHERE run = $1 AND key = $2 RETURNING body")
        .bind(run)
        .bind(new.key.as_str().to_owned())
        .fetch_optional(connection)
        .await?;
    delivered.map(|row| entry(row.try_get(0)?, now, &new.key)).transpose()
}

/// Writes an entry at that place of a log.
pub(super) async fn write(
    connection: &mut Connection,
    run: i64,
    place: i64,
    at: i64,
    entry: &Entry,
) -> Result<(), SqlError> {
    query("INSERT INTO attache_entry (run, place, key, at, body) VALUES ($1, $2, $3, $4, $5)")
        .bind(run)
        .bind(place)
        .bind(entry.key.as_str().to_owned())
        .bind(at)
        .bind(json(entry)?)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn deliver(
    connection: &mut Connection,
    session: &str,
    run: &str,
    new: Entry,
    documents: Vec<DocumentId>,
) -> Result<Entry, SqlError> {
    // The session comes before its runs wherever both are held, so that nobody waits in a circle. The row of the run keeps
    // an append out that takes what is delivered.
    query(HOLD_SESSION).bind(session).fetch_optional(&mut *connection).await?;
    let (number, _) = run_of(connection, session, run).await?.ok_or(JournalError::Empty)?;
    if let Some(known) = find(connection, session, run, new.key.as_str()).await? {
        return Ok(known);
    }
    note_documents(connection, session, &documents).await?;
    query("INSERT INTO attache_delivered (run, key, body) VALUES ($1, $2, $3)")
        .bind(number)
        .bind(new.key.as_str().to_owned())
        .bind(json(&new)?)
        .execute(connection)
        .await?;
    Ok(new)
}

/// The entry of a run under a key, appended or delivered.
pub(super) async fn find(
    connection: &mut Connection,
    session: &str,
    run: &str,
    key: &str,
) -> Result<Option<Entry>, SqlError> {
    let found = query(
        "SELECT e.body, e.at FROM attache_entry e JOIN attache_run r ON r.run = e.run \
         WHERE r.session = $1 AND r.id = $2 AND e.key = $3 \
         UNION ALL SELECT d.body, 0 FROM attache_delivered d JOIN attache_run r ON r.run = d.run \
         WHERE r.session = $1 AND r.id = $2 AND d.key = $3 LIMIT 1",
    )
    .bind(session)
    .bind(run)
    .bind(key.to_owned())
    .fetch_optional(connection)
    .await?;
    found
        .map(|row| entry(row.try_get(0)?, u64::try_from(row.try_get::<i64, _>(1)?).unwrap_or_default(), key))
        .transpose()
}

pub(super) async fn note_documents(
    connection: &mut Connection,
    session: &str,
    documents: &[DocumentId],
) -> Result<(), SqlError> {
    for document in documents {
        query("INSERT INTO attache_document (session, document) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(session)
            .bind(document.as_str())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
