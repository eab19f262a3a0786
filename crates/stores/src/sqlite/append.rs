//! Writes the logs of runs.

use attache_agent::{Append, Beginning, Entry, JournalError};
use attache_core::DocumentId;
use sqlx::{Row as _, SqliteConnection, query};

use crate::sql::error::SqlError;
use crate::sql::row::{entry, int, json, place, ranges_text};

/// A run, and how many entries its log has.
async fn run_of(
    connection: &mut SqliteConnection,
    session: &str,
    run: &str,
) -> Result<Option<(i64, i64)>, SqlError> {
    let found = query("SELECT run, entries FROM attache_run WHERE session = ?1 AND id = ?2")
        .bind(session)
        .bind(run)
        .fetch_optional(connection)
        .await?;
    found.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

pub(super) async fn append(
    connection: &mut SqliteConnection,
    append: Append<'_>,
) -> Result<Vec<Entry>, SqlError> {
    let (session, now) = (append.session.as_str(), int(append.now));
    let held = query(
        "UPDATE attache_session SET appends = ?3, accessed = ?4, leased_until = ?5, \
         kept_until = coalesce(?6, kept_until) WHERE id = ?1 AND fence = ?2 AND appends < ?3",
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
    let mut run = run_of(connection, session, append.run).await?;
    if let (None, Some(begins)) = (run, &append.begins) {
        begin(connection, session, append.run, now, begins).await?;
        run = run_of(connection, session, append.run).await?;
    }
    let (run, mut entries) = run.ok_or(JournalError::Empty)?;
    let mut stand = Vec::with_capacity(append.entries.len());
    for mut new in append.entries {
        let known = query("SELECT body FROM attache_entry WHERE run = ?1 AND key = ?2")
            .bind(run)
            .bind(new.key.as_str().to_owned())
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(known) = known {
            stand.push(entry(known.try_get(0)?, new.key)?);
            continue;
        }
        let delivered = query("DELETE FROM attache_delivered WHERE run = ?1 AND key = ?2 RETURNING body")
            .bind(run)
            .bind(new.key.as_str().to_owned())
            .fetch_optional(&mut *connection)
            .await?;
        if let Some(delivered) = delivered {
            new = entry(delivered.try_get(0)?, &new.key)?;
        }
        new.at = append.now;
        write(connection, run, entries, &new).await?;
        entries += 1;
        stand.push(new);
    }
    query("UPDATE attache_run SET entries = ?2, ended = CASE WHEN ?3 THEN ?4 ELSE ended END WHERE run = ?1")
        .bind(run)
        .bind(entries)
        .bind(append.ends)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(stand)
}

async fn write(connection: &mut SqliteConnection, run: i64, at: i64, entry: &Entry) -> Result<(), SqlError> {
    query("INSERT INTO attache_entry (run, place, key, body) VALUES (?1, ?2, ?3, ?4)")
        .bind(run)
        .bind(at)
        .bind(entry.key.as_str().to_owned())
        .bind(json(entry)?)
        .execute(connection)
        .await?;
    Ok(())
}

/// Makes the run, and gives the session the messages that are new to it.
async fn begin(
    connection: &mut SqliteConnection,
    session: &str,
    run: &str,
    now: i64,
    begins: &Beginning,
) -> Result<(), SqlError> {
    let has: i64 = query("SELECT messages FROM attache_session WHERE id = ?1")
        .bind(session)
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    if has != int(begins.first) {
        return Err(JournalError::Moved { entries: usize::try_from(has).unwrap_or_default() }.into());
    }
    for (at, message) in (has..).zip(&begins.messages) {
        query("INSERT INTO attache_message (session, place, body) VALUES (?1, ?2, ?3)")
            .bind(session)
            .bind(at)
            .bind(json(message)?)
            .execute(&mut *connection)
            .await?;
    }
    query(
        "UPDATE attache_session SET messages = messages + ?2, title = CASE WHEN title = '' THEN ?3 ELSE title END \
         WHERE id = ?1",
    )
    .bind(session)
    .bind(place(begins.messages.len()))
    .bind(begins.title.as_str())
    .execute(&mut *connection)
    .await?;
    if let Some((closed, end)) = &begins.closes
        && let Some((closed, entries)) = run_of(connection, session, closed).await?
    {
        let mut end = end.clone();
        end.at = u64::try_from(now).unwrap_or_default();
        write(connection, closed, entries, &end).await?;
        query("UPDATE attache_run SET entries = entries + 1, ended = ?2 WHERE run = ?1")
            .bind(closed)
            .bind(now)
            .execute(&mut *connection)
            .await?;
    }
    query("INSERT INTO attache_run (session, id, began, ranges) VALUES (?1, ?2, ?3, ?4)")
        .bind(session)
        .bind(run)
        .bind(now)
        .bind(ranges_text(&begins.ranges)?)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn deliver(
    connection: &mut SqliteConnection,
    session: &str,
    run: &str,
    new: Entry,
    documents: Vec<DocumentId>,
) -> Result<Entry, SqlError> {
    let (run, _) = run_of(connection, session, run).await?.ok_or(JournalError::Empty)?;
    let known = find(connection, run, new.key.as_str()).await?;
    if let Some(known) = known {
        return Ok(known);
    }
    note_documents(connection, session, &documents).await?;
    query("INSERT INTO attache_delivered (run, key, body) VALUES (?1, ?2, ?3)")
        .bind(run)
        .bind(new.key.as_str().to_owned())
        .bind(json(&new)?)
        .execute(connection)
        .await?;
    Ok(new)
}

/// The entry of a run under a key, appended or delivered.
pub(super) async fn find(
    connection: &mut SqliteConnection,
    run: i64,
    key: &str,
) -> Result<Option<Entry>, SqlError> {
    let found = query(
        "SELECT body FROM attache_entry WHERE run = ?1 AND key = ?2 \
         UNION ALL SELECT body FROM attache_delivered WHERE run = ?1 AND key = ?2 LIMIT 1",
    )
    .bind(run)
    .bind(key.to_owned())
    .fetch_optional(connection)
    .await?;
    found.map(|row| entry(row.try_get(0)?, key)).transpose()
}

/// The same of the run of that id.
pub(super) async fn find_of(
    connection: &mut SqliteConnection,
    session: &str,
    run: &str,
    key: &str,
) -> Result<Option<Entry>, SqlError> {
    match run_of(connection, session, run).await? {
        Some((run, _)) => find(connection, run, key).await,
        None => Ok(None),
    }
}

async fn note_documents(
    connection: &mut SqliteConnection,
    session: &str,
    documents: &[DocumentId],
) -> Result<(), SqlError> {
    for document in documents {
        query("INSERT INTO attache_document (session, document) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
            .bind(session)
            .bind(document.as_str())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
