//! Finds sessions by what was said in them. Their words are noted when somebody searches, so that no run pays for it.

use std::collections::BTreeSet;

use attache_agent::{SessionInfo, words_of_entry, words_of_message};
use attache_core::words::{WordQuery, words};
use sqlx::{Row as _, query};

use super::dialect::{Connection, FIND_LEASE, by_bytes, elements};
use super::read::{info, infos};
use crate::sql::error::SqlError;
use crate::sql::ranges::{beginnings, each};
use crate::sql::row::{entry, message, number, place};

/// The sessions of a principal in which something was said whose words are not noted yet.
pub(super) async fn unread(connection: &mut Connection, principal: &str) -> Result<Vec<String>, SqlError> {
    let rows = query(
        "SELECT s.id FROM attache_session s WHERE s.principal = $1 AND (s.searched < s.messages OR EXISTS \
         (SELECT 1 FROM attache_run r WHERE r.session = s.id AND r.searched < r.entries))",
    )
    .bind(principal)
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Notes the words of a session. Those of a text that cannot be read are left out: whoever opens the session is told.
pub(super) async fn read(
    connection: &mut Connection,
    principal: &str,
    session: &str,
) -> Result<(), SqlError> {
    // Nobody renames it, and nobody else notes its words, until the transaction ends.
    let held = query(FIND_LEASE).bind(session).bind(principal).fetch_optional(&mut *connection);
    if held.await?.is_none() {
        return Ok(());
    }
    let found = query("SELECT title, searched FROM attache_session WHERE id = $1");
    let found = found.bind(session).fetch_one(&mut *connection).await?;
    let mut said: BTreeSet<String> = words(found.try_get(0)?).into_iter().collect();
    let searched = found.try_get::<i64, _>(1)?.max(0);
    let rows = query("SELECT body FROM attache_message WHERE session = $1 AND place >= $2 ORDER BY place")
        .bind(session)
        .bind(searched)
        .fetch_all(&mut *connection)
        .await?;
    for (at, row) in rows.iter().enumerate() {
        if let Ok(message) = message((at, row.try_get(0)?)) {
            said.extend(words_of_message(&message));
        }
    }
    let runs =
        query("SELECT run, searched, entries FROM attache_run WHERE session = $1 AND searched < entries")
            .bind(session)
            .fetch_all(&mut *connection)
            .await?;
    for run in &runs {
        // Text under calls was not said.
        let rows = query(
            "SELECT body, at FROM attache_entry WHERE run = $1 AND place >= $2 AND key NOT LIKE 'tool/%'",
        )
        .bind(run.try_get::<i64, _>(0)?)
        .bind(run.try_get::<i64, _>(1)?)
        .fetch_all(&mut *connection)
        .await?;
        for row in &rows {
            if let Ok(entry) = entry(row.try_get(0)?, number(row.try_get(1)?), session) {
                said.extend(words_of_entry(&entry));
            }
        }
    }
    query(concat!(
        "INSERT INTO attache_session_word (session, word) SELECT $1, q.value ->> 0 FROM ",
        elements!("2"),
        " AS q WHERE TRUE ON CONFLICT DO NOTHING"
    ))
    .bind(session)
    .bind(each(&said)?)
    .execute(&mut *connection)
    .await?;
    query("UPDATE attache_session SET searched = $2 WHERE id = $1 AND searched < $2")
        .bind(session)
        .bind(searched + place(rows.len()))
        .execute(&mut *connection)
        .await?;
    for run in &runs {
        query("UPDATE attache_run SET searched = $2 WHERE run = $1 AND searched < $2")
            .bind(run.try_get::<i64, _>(0)?)
            .bind(run.try_get::<i64, _>(2)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// The sessions in which all words were said.
pub(super) async fn search(
    connection: &mut Connection,
    principal: &str,
    wanted: &WordQuery,
    limit: usize,
) -> Result<Vec<SessionInfo>, SqlError> {
    let rows = query(concat!(
        infos!(),
        "WHERE s.principal = $1 AND NOT EXISTS (SELECT 1 FROM ",
        elements!("2"),
        " AS q WHERE NOT EXISTS (SELECT 1 FROM attache_session_word w WHERE w.session = s.id \
         AND w.word BETWEEN q.value ->> 0 AND q.value ->> 1)) ORDER BY s.accessed DESC, ",
        by_bytes!("s.id"),
        " LIMIT $3"
    ))
    .bind(principal)
    .bind(beginnings(wanted)?)
    .bind(place(limit))
    .fetch_all(connection)
    .await?;
    rows.iter().map(info).collect()
}
