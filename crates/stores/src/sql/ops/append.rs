//! Writes the logs of runs.

use attache_agent::{Appended, Delivery, Entry, JournalError};
use attache_core::{StoreError, StoreErrorKind};
use sqlx::{Row as _, query};

use super::dialect::{Connection, FIND_RUN, HOLD, HOLD_SESSION, append_entries};
use crate::sql::error::SqlError;
use crate::sql::prepared::{Begins, Prepared};
use crate::sql::row::{entry, int, json, number, place};

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
pub(super) async fn append(connection: &mut Connection, append: &Prepared) -> Result<Appended, SqlError> {
    if let Some(begins) = &append.begins {
        let has: i64 = query(HOLD)
            .bind(append.session.as_str())
            .bind(append.fence)
            .fetch_optional(&mut *connection)
            .await?
            .ok_or(JournalError::Fenced)?
            .try_get(0)?;
        if run_of(connection, &append.session, &append.run).await?.is_none() {
            begin(connection, append, has, begins).await?;
        }
    }
    append_entries(connection, append).await
}

/// Makes the run, and gives the session the messages that are new to it.
async fn begin(
    connection: &mut Connection,
    append: &Prepared,
    has: i64,
    begins: &Begins,
) -> Result<(), SqlError> {
    let (session, now) = (append.session.as_str(), append.now);
    if has != begins.first {
        return Err(JournalError::Moved { entries: usize::try_from(has).unwrap_or_default() }.into());
    }
    for (at, message) in (has..).zip(&begins.messages) {
        query("INSERT INTO attache_message (session, place, body) VALUES ($1, $2, $3)")
            .bind(session)
            .bind(at)
            .bind(message.as_str())
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
        for (at, (key, body)) in (entries..).zip(end) {
            let delivered = take_delivered(connection, closed, key).await?;
            write(connection, closed, at, key, now, delivered.as_ref().unwrap_or(body)).await?;
        }
        query("UPDATE attache_run SET entries = entries + $3, ended = $2 WHERE run = $1")
            .bind(closed)
            .bind(now)
            .bind(place(end.len()))
            .execute(&mut *connection)
            .await?;
    }
    query("INSERT INTO attache_run (session, id, began, ranges, name) VALUES ($1, $2, $3, $4, $5)")
        .bind(session)
        .bind(append.run.as_str())
        .bind(now)
        .bind(begins.ranges.as_str())
        .bind(begins.name.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Takes the body of the entry that was delivered under a key.
pub(super) async fn take_delivered(
    connection: &mut Connection,
    run: i64,
    key: &str,
) -> Result<Option<String>, SqlError> {
    let delivered = query("DELETE FROM attache_delivered WHERE run = $1 AND key = $2 RETURNING body")
        .bind(run)
        .bind(key)
        .fetch_optional(connection)
        .await?;
    Ok(delivered.map(|row| row.try_get(0)).transpose()?)
}

/// Writes an entry at that place of a log.
pub(super) async fn write(
    connection: &mut Connection,
    run: i64,
    place: i64,
    key: &str,
    at: i64,
    body: &str,
) -> Result<(), SqlError> {
    query("INSERT INTO attache_entry (run, place, key, at, body) VALUES ($1, $2, $3, $4, $5)")
        .bind(run)
        .bind(place)
        .bind(key)
        .bind(at)
        .bind(body)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn deliver(connection: &mut Connection, delivery: &Delivery<'_>) -> Result<Entry, SqlError> {
    let (session, run, new) = (delivery.session.as_str(), delivery.run, &delivery.entry);
    // The session comes before its runs wherever both are held, so that nobody waits in a circle. The row of the session
    // keeps another run out, that of the run an append that takes what is delivered.
    let held = query(HOLD_SESSION).bind(session).bind(delivery.principal).fetch_optional(&mut *connection);
    let held = held.await?.ok_or_else(no_session)?;
    let (leased_until, leased_by): (i64, &str) = (held.try_get(0)?, held.try_get(1)?);
    let (number, _) = run_of(connection, session, run).await?.ok_or(JournalError::Empty)?;
    if let Some(known) = find_known(connection, session, run, new.key.as_str()).await? {
        return Ok(known);
    }
    if leased_by != run && delivery.alone_at.is_some_and(|now| leased_until > int(now)) {
        return Err(JournalError::Fenced.into());
    }
    let documents = delivery.documents.iter().map(|id| id.as_str());
    note_documents(connection, session, documents).await?;
    // Nobody reads what comes behind the end of a run, apart from the one that goes on from there.
    let left = query(
        "INSERT INTO attache_delivered (run, key, body) \
         SELECT run, $2, $3 FROM attache_run r WHERE run = $1 AND (ended IS NULL OR ($4 AND NOT EXISTS \
         (SELECT 1 FROM attache_run n WHERE n.session = r.session AND n.run > r.run)))",
    )
    .bind(number)
    .bind(new.key.as_str())
    .bind(json(new)?)
    .bind(delivery.behind_end)
    .execute(connection)
    .await?;
    match left.rows_affected() {
        0 => Err(JournalError::Fenced.into()),
        _ => Ok(new.clone()),
    }
}

fn no_session() -> SqlError {
    SqlError::Store(StoreError::new(StoreErrorKind::NotFound, "there is no such session"))
}

/// The entry of a run under a key, appended or delivered.
pub(super) async fn find(
    connection: &mut Connection,
    principal: &str,
    session: &str,
    run: &str,
    key: &str,
) -> Result<Option<Entry>, SqlError> {
    let own = query("SELECT 1 FROM attache_session WHERE id = $1 AND principal = $2")
        .bind(session)
        .bind(principal)
        .fetch_optional(&mut *connection);
    own.await?.ok_or_else(no_session)?;
    find_known(connection, session, run, key).await
}

async fn find_known(
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
    .bind(key)
    .fetch_optional(connection)
    .await?;
    found.map(|row| entry(row.try_get(0)?, number(row.try_get(1)?), key)).transpose()
}

pub(super) async fn note_documents(
    connection: &mut Connection,
    session: &str,
    documents: impl Iterator<Item = &str>,
) -> Result<(), SqlError> {
    for document in documents {
        query("INSERT INTO attache_document (session, document) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(session)
            .bind(document)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
