//! Finds sessions by what was said in them. Their words are noted when somebody searches, so that no run pays for it.

use std::collections::BTreeSet;

use attache_agent::{SessionInfo, words_of_entries, words_of_message};
use attache_core::words::{WordQuery, words};
use sqlx::{Row as _, query};

use super::dialect::{Connection, FIND_LEASE, by_bytes, elements};
use super::read::{info, infos};
use crate::sql::error::SqlError;
use crate::sql::ranges::{beginnings, each};
use crate::sql::row::{entry, message, number, place};

/// The maximum number of messages and entries that are read at a time.
const PIECE: i64 = 256;

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

/// A piece of a session that was read, whose words are to be noted.
pub(super) struct Piece {
    title: String,
    /// The number of its messages that were noted before, and that with the piece.
    searched: (i64, i64),
    /// The runs, with how many of their entries are noted with the piece.
    runs: Vec<(i64, i64)>,
    said: BTreeSet<String>,
    /// False if there is more to read.
    pub(super) is_last: bool,
}

/// Reads a piece of a session whose words are not noted yet; `None` if the session is gone. Words of a text that cannot be
/// read are left out: whoever opens the session is told. Nothing is locked meanwhile.
pub(super) async fn read(
    connection: &mut Connection,
    principal: &str,
    session: &str,
) -> Result<Option<Piece>, SqlError> {
    let found =
        query("SELECT title, searched, messages FROM attache_session WHERE id = $1 AND principal = $2")
            .bind(session)
            .bind(principal)
            .fetch_optional(&mut *connection)
            .await?;
    let Some(found) = found else { return Ok(None) };
    let (title, searched, messages): (String, i64, i64) =
        (found.try_get(0)?, found.try_get(1)?, found.try_get(2)?);
    let mut said: BTreeSet<String> = words(&title).into_iter().collect();
    let first = searched.max(0);
    let rows =
        query("SELECT body FROM attache_message WHERE session = $1 AND place >= $2 ORDER BY place LIMIT $3")
            .bind(session)
            .bind(first)
            .bind(PIECE)
            .fetch_all(&mut *connection)
            .await?;
    for (at, row) in rows.iter().enumerate() {
        if let Ok(message) = message((at, row.try_get(0)?)) {
            said.extend(words_of_message(&message));
        }
    }
    let noted = first + place(rows.len());
    let mut left = PIECE - place(rows.len());
    let mut piece =
        Piece { title, searched: (searched, noted), runs: Vec::new(), said, is_last: noted >= messages };
    let runs = query(
        "SELECT run, searched, entries FROM attache_run WHERE session = $1 AND searched < entries ORDER BY run LIMIT $2",
    )
    .bind(session)
    .bind(left + 1)
    .fetch_all(&mut *connection)
    .await?;
    for run in &runs {
        let (run, searched, entries): (i64, i64, i64) = (run.try_get(0)?, run.try_get(1)?, run.try_get(2)?);
        if left == 0 {
            piece.is_last = false;
            break;
        }
        let mut end = entries.min(searched + left);
        // A verdict is read with the reply before it.
        let verdict =
            query("SELECT 1 FROM attache_entry WHERE run = $1 AND place = $2 AND key LIKE 'hook/reply/%'");
        if end < entries && verdict.bind(run).bind(end).fetch_optional(&mut *connection).await?.is_some() {
            end += 1;
        }
        piece.is_last &= end == entries;
        // Text under calls was not said.
        let rows = query(
            "SELECT body, at FROM attache_entry WHERE run = $1 AND place >= $2 AND place < $3 AND key NOT LIKE 'tool/%' \
             ORDER BY place",
        )
        .bind(run)
        .bind(searched)
        .bind(end)
        .fetch_all(&mut *connection)
        .await?;
        let mut told = Vec::with_capacity(rows.len());
        for row in &rows {
            told.extend(entry(row.try_get(0)?, number(row.try_get(1)?), session));
        }
        piece.said.extend(words_of_entries(&told));
        left = (left - (end - searched)).max(0);
        piece.runs.push((run, end));
    }
    Ok(Some(piece))
}

/// Notes the words of a piece. False if it is to be read again: the session was renamed, or somebody else noted words of it.
pub(super) async fn note(
    connection: &mut Connection,
    principal: &str,
    session: &str,
    piece: &Piece,
) -> Result<bool, SqlError> {
    // Nobody renames it, and nobody else notes its words, until the transaction ends.
    let held = query(FIND_LEASE).bind(session).bind(principal).fetch_optional(&mut *connection);
    if held.await?.is_none() {
        return Ok(false);
    }
    let found = query("SELECT title, searched FROM attache_session WHERE id = $1");
    let found = found.bind(session).fetch_one(&mut *connection).await?;
    let (searched, noted) = piece.searched;
    if found.try_get::<&str, _>(0)? != piece.title || found.try_get::<i64, _>(1)? != searched {
        return Ok(false);
    }
    query(concat!(
        "INSERT INTO attache_session_word (session, word) SELECT $1, q.value ->> 0 FROM ",
        elements!("2"),
        " AS q WHERE TRUE ON CONFLICT DO NOTHING"
    ))
    .bind(session)
    .bind(each(&piece.said)?)
    .execute(&mut *connection)
    .await?;
    query("UPDATE attache_session SET searched = $2 WHERE id = $1")
        .bind(session)
        .bind(noted)
        .execute(&mut *connection)
        .await?;
    for (run, end) in &piece.runs {
        query("UPDATE attache_run SET searched = $2 WHERE run = $1 AND searched < $2")
            .bind(run)
            .bind(end)
            .execute(&mut *connection)
            .await?;
    }
    Ok(true)
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
         AND w.word BETWEEN q.value ->> 0 AND q.value ->> 1)) ORDER BY updated DESC, ",
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
