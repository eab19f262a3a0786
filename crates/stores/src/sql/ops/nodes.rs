//! The things that several processes do to each other's runs: follow them, end them, take them over.

use attache_agent::{Adopt, Entry, Orphan, SessionId, StopRequest};
use attache_core::{StoreError, StoreErrorKind};
use sqlx::{Row as _, query};

use super::dialect::{Connection, HOLD_SESSIONS, ORPHANS, Row, elements};
use crate::sql::error::SqlError;
use crate::sql::given_up_leases::ADOPTED;
use crate::sql::ranges::each;
use crate::sql::row::{entry, int, number, place};

pub(super) async fn behind(
    connection: &mut Connection,
    principal: &str,
    session: &str,
    run: &str,
    seen: usize,
) -> Result<Vec<Entry>, SqlError> {
    let found = query(
        "SELECT r.run FROM attache_run r JOIN attache_session s ON s.id = r.session \
         WHERE s.id = $1 AND s.principal = $2 AND r.id = $3",
    )
    .bind(session)
    .bind(principal)
    .bind(run)
    .fetch_optional(&mut *connection)
    .await?;
    let found = found
        .ok_or_else(|| SqlError::Store(StoreError::new(StoreErrorKind::NotFound, "there is no such run")))?;
    let rows = query("SELECT body, at FROM attache_entry WHERE run = $1 AND place >= $2 ORDER BY place")
        .bind(found.try_get::<i64, _>(0)?)
        .bind(place(seen))
        .fetch_all(connection)
        .await?;
    let entries = rows.iter().zip(seen..);
    entries.map(|(row, place)| entry(row.try_get(0)?, number(row.try_get(1)?), place)).collect()
}

pub(super) async fn stop(connection: &mut Connection, stop: &StopRequest) -> Result<bool, SqlError> {
    let asked = query(
        "UPDATE attache_run SET stop = $4 WHERE session = $1 AND id = $2 AND ended IS NULL AND stop IS NULL \
         AND EXISTS (SELECT 1 FROM attache_session WHERE id = $1 AND principal = $3)",
    )
    .bind(stop.session.as_str())
    .bind(stop.run.as_str())
    .bind(stop.principal.as_str())
    .bind(stop.why.as_str())
    .execute(connection)
    .await?;
    Ok(asked.rows_affected() > 0)
}

pub(super) async fn stops(connection: &mut Connection) -> Result<Vec<StopRequest>, SqlError> {
    let rows = query(
        "SELECT s.id, s.principal, r.id, r.stop FROM attache_run r JOIN attache_session s ON s.id = r.session \
         WHERE r.ended IS NULL AND r.stop IS NOT NULL",
    )
    .fetch_all(connection)
    .await?;
    let request = |row: &Row| {
        let session = SessionId::parse(row.try_get::<&str, _>(0)?)?;
        Ok(StopRequest { session, principal: row.try_get(1)?, run: row.try_get(2)?, why: row.try_get(3)? })
    };
    rows.iter().map(request).collect()
}

/// Takes attempts back that failed because the database did, as long as nobody else has had the session since.
pub(super) async fn spare(connection: &mut Connection, spared: &[(String, String)]) -> Result<(), SqlError> {
    if spared.is_empty() {
        return Ok(());
    }
    // Sessions come before runs, and in one order, wherever several are held.
    let sessions = each(spared.iter().map(|(session, _)| session.as_str()))?;
    query(HOLD_SESSIONS).bind(sessions).fetch_all(&mut *connection).await?;
    for (session, holder) in spared {
        // A process that took the run over and did not take its lease is counted by the next one, by this name.
        let taken_back = match holder.starts_with(ADOPTED) {
            true => query("UPDATE attache_session SET holder = '' WHERE id = $1 AND holder = $2"),
            false => query(
                "UPDATE attache_run SET adopted = adopted - 1 WHERE session = $1 AND adopted > 0 AND ended IS NULL \
                 AND id = (SELECT leased_by FROM attache_session WHERE id = $1 AND holder = $2)",
            ),
        };
        taken_back.bind(session.as_str()).bind(holder.as_str()).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Takes runs over, and holds their leases for whoever did, whose name begins with [`ADOPTED`].
pub(super) async fn adopt(connection: &mut Connection, adopt: Adopt<'_>) -> Result<Vec<Orphan>, SqlError> {
    let rows = query(ORPHANS)
        .bind(adopt.name)
        .bind(int(adopt.now))
        .bind(place(adopt.limit))
        .bind(i64::from(adopt.most))
        .fetch_all(&mut *connection)
        .await?;
    let mut orphans = Vec::with_capacity(rows.len());
    for row in rows {
        let session: &str = row.try_get(0)?;
        // The process that took it over before neither went on with it nor let it go.
        let counted = query(
            "UPDATE attache_run SET adopted = adopted + 1 WHERE session = $1 AND id = $2 AND EXISTS \
             (SELECT 1 FROM attache_session WHERE id = $1 AND leased_until > 1 AND holder LIKE $4 || '%') \
             RETURNING adopted >= $3",
        )
        .bind(session)
        .bind(row.try_get::<&str, _>(2)?)
        .bind(i64::from(adopt.most))
        .bind(ADOPTED)
        .fetch_optional(&mut *connection)
        .await?;
        if counted.is_some_and(|counted| counted.try_get(0).unwrap_or(false)) {
            let run: &str = row.try_get(2)?;
            tracing::warn!(session, run, "no process could continue the run, and it is not taken over again");
            continue;
        }
        // A driver that only slept goes on appending, until somebody takes its lease.
        query("UPDATE attache_session SET leased_until = $2, holder = $3 WHERE id = $1")
            .bind(session)
            .bind(int(adopt.until))
            .bind(adopt.holder)
            .execute(&mut *connection)
            .await?;
        let session = SessionId::parse(session)?;
        orphans.push(Orphan { session, principal: row.try_get(1)?, run: row.try_get(2)? });
    }
    Ok(orphans)
}

/// Ends the lease of whichever of those holders has it: at 0 nobody takes the run over, at 1 anybody does.
pub(super) async fn let_go(
    connection: &mut Connection,
    session: &str,
    holders: &[String],
    adoptable: bool,
) -> Result<(), SqlError> {
    query(concat!(
        "UPDATE attache_session SET leased_until = $3, appends = 9223372036854775807 \
         WHERE id = $1 AND leased_until > 0 AND holder IN (SELECT q.value ->> 0 FROM ",
        elements!("2"),
        " AS q)"
    ))
    .bind(session)
    .bind(each(holders)?)
    .bind(i64::from(adoptable))
    .execute(connection)
    .await?;
    Ok(())
}
