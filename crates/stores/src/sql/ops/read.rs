//! Reads sessions.

use attache_agent::{ForkedFrom, RunInfo, SessionId, SessionInfo, StoredRun};
use sqlx::{Row as _, query};

use super::dialect::{Connection, Row, by_bytes};
use crate::sql::error::SqlError;
use crate::sql::row::{entry, message, number, ranges};

/// The beginning of a statement that reads sessions `s` for a list.
macro_rules! infos {
    () => {
        "SELECT s.id, s.title, s.created, s.accessed, \
         (SELECT count(*) FROM attache_run r WHERE r.session = s.id), \
         (SELECT CASE WHEN r.ended IS NULL THEN r.id END FROM attache_run r WHERE r.session = s.id \
          ORDER BY r.run DESC LIMIT 1), s.kept_until, s.leased_until, s.forked_from, s.forked_at, \
         COALESCE((SELECT CASE WHEN r.began > s.created THEN r.began END FROM attache_run r \
          WHERE r.session = s.id ORDER BY r.run DESC LIMIT 1), s.created) AS updated FROM attache_session s "
    };
}
pub(super) use infos;

pub(super) async fn list(connection: &mut Connection, principal: &str) -> Result<Vec<SessionInfo>, SqlError> {
    let list = concat!(infos!(), "WHERE s.principal = $1 ORDER BY updated DESC, ", by_bytes!("s.id"));
    let rows = query(list).bind(principal).fetch_all(connection).await?;
    rows.iter().map(info).collect()
}

pub(super) async fn one(
    connection: &mut Connection,
    principal: &str,
    session: &str,
) -> Result<Option<SessionInfo>, SqlError> {
    let row = query(concat!(infos!(), "WHERE s.id = $1 AND s.principal = $2"))
        .bind(session)
        .bind(principal)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(info).transpose()
}

/// A session in a list.
pub(super) fn info(row: &Row) -> Result<SessionInfo, SqlError> {
    let forked_from = match row.try_get::<Option<&str>, _>(8)? {
        Some(session) => {
            Some(ForkedFrom { session: SessionId::parse(session)?, questions: number(row.try_get(9)?) })
        }
        None => None,
    };
    Ok(SessionInfo {
        id: SessionId::parse(row.try_get::<&str, _>(0)?)?,
        title: row.try_get(1)?,
        created: number(row.try_get(2)?),
        accessed: number(row.try_get(3)?),
        updated: number(row.try_get(10)?),
        runs: number(row.try_get(4)?),
        open_run: row.try_get(5)?,
        kept_until: number(row.try_get(6)?),
        leased_until: number(row.try_get(7)?),
        forked_from,
    })
}

pub(super) async fn count(connection: &mut Connection, principal: &str) -> Result<usize, SqlError> {
    let count: i64 = query("SELECT count(*) FROM attache_session WHERE principal = $1")
        .bind(principal)
        .fetch_one(connection)
        .await?
        .try_get(0)?;
    Ok(usize::try_from(count).unwrap_or_default())
}

pub(super) async fn runs(
    connection: &mut Connection,
    principal: &str,
    session: &str,
) -> Result<Vec<RunInfo>, SqlError> {
    let rows = query(
        "SELECT r.id, r.began, r.ended, r.name FROM attache_run r JOIN attache_session s ON s.id = r.session \
         WHERE s.id = $1 AND s.principal = $2 ORDER BY r.run",
    )
    .bind(session)
    .bind(principal)
    .fetch_all(connection)
    .await?;
    let info = |row: &Row| {
        let ended = row.try_get::<Option<i64>, _>(2)?.map(number);
        Ok(RunInfo { id: row.try_get(0)?, began: number(row.try_get(1)?), ended, name: row.try_get(3)? })
    };
    rows.iter().map(info).collect()
}

pub(super) async fn load(
    connection: &mut Connection,
    principal: &str,
    session: &str,
    run: Option<&str>,
) -> Result<Option<StoredRun>, SqlError> {
    // One statement reads everything as of one moment, in one round trip.
    let rows = query(
        "WITH found AS (SELECT r.run, r.id, r.ranges FROM attache_run r \
         JOIN attache_session s ON s.id = r.session \
         WHERE s.id = $1 AND s.principal = $2 AND ($3 IS NULL OR r.id = $3) ORDER BY r.run DESC LIMIT 1) \
         SELECT CAST(0 AS BIGINT) AS part, CAST(0 AS BIGINT) AS place, ranges AS body, CAST(0 AS BIGINT) AS at, \
         id AS run FROM found \
         UNION ALL SELECT 1, e.place, e.body, e.at, NULL FROM attache_entry e JOIN found f ON f.run = e.run \
         UNION ALL SELECT 2, m.place, m.body, 0, NULL FROM attache_message m JOIN found f ON true \
         WHERE m.session = $1 UNION ALL SELECT 3, 0, d.body, 0, d.key FROM attache_delivered d \
         JOIN found f ON f.run = d.run WHERE d.key LIKE 'late/%' ORDER BY 1, 2",
    )
    .bind(session)
    .bind(principal)
    .bind(run)
    .fetch_all(connection)
    .await?;
    let Some((found, rows)) = rows.split_first() else { return Ok(None) };
    let (mut entries, mut messages, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let body: &str = row.try_get(2)?;
        match row.try_get::<i64, _>(0)? {
            1 => entries.push(entry(body, number(row.try_get(3)?), entries.len())?),
            2 => messages.push(message((messages.len(), body))?),
            _ => late.push(entry(body, 0, row.try_get::<&str, _>(4)?)?),
        }
    }
    Ok(Some(StoredRun { id: found.try_get(4)?, ranges: ranges(found.try_get(2)?)?, entries, messages, late }))
}
