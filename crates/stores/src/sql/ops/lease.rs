//! Opens sessions, and gives and takes their leases.

use attache_agent::{Cleared, JournalError, OpenSession, Opened, SessionError, SessionState, Take, Taken};
use sqlx::{Row as _, query};

use super::clear::{ATTEMPTS, delete};
use super::dialect::{Connection, FIND_LEASE, FIND_SESSION, NEXT_FENCE};
use super::store::Store;
use crate::sql::error::SqlError;
use crate::sql::row::{int, number};

/// Opens a session. One that has expired is deleted, which PostgreSQL may fail where others delete beside it.
pub(super) async fn open(store: &Store, open: OpenSession<'_>) -> Result<Opened, SqlError> {
    for _ in 1..ATTEMPTS {
        match attempt(store, open).await {
            Err(error) if error.is_deadlock() => {}
            done => return done,
        }
    }
    attempt(store, open).await
}

async fn attempt(store: &Store, open: OpenSession<'_>) -> Result<Opened, SqlError> {
    let mut writing = store.writing().await?;
    let opened = opened(&mut writing, open).await?;
    writing.commit().await?;
    Ok(opened)
}

async fn opened(connection: &mut Connection, open: OpenSession<'_>) -> Result<Opened, SqlError> {
    let (id, now) = (open.id.as_str(), int(open.now));
    let found = query(FIND_SESSION).bind(id).fetch_optional(&mut *connection).await?;
    let mut state = SessionState::New;
    if let Some(row) = found {
        if row.try_get::<&str, _>(0)? != open.principal {
            return Err(SessionError::NotFound.into());
        }
        let (accessed, leased, kept): (i64, i64, i64) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        let is_old = open.expired_before.is_some_and(|before| accessed < int(before));
        if !(is_old && leased <= now && kept <= now) {
            query("UPDATE attache_session SET accessed = $2 WHERE id = $1")
                .bind(id)
                .bind(now)
                .execute(connection)
                .await?;
            return Ok(Opened { state: SessionState::Continued, gone: Cleared::default() });
        }
        state = SessionState::Expired;
    }
    if !open.make {
        return Err(SessionError::NotFound.into());
    }
    let gone = match state {
        SessionState::Expired => delete(connection, &[id]).await?,
        _ => Cleared::default(),
    };
    let made = query(
        "INSERT INTO attache_session (id, principal, created, accessed) VALUES ($1, $2, $3, $3) \
         ON CONFLICT DO NOTHING",
    )
    .bind(id)
    .bind(open.principal)
    .bind(now)
    .execute(&mut *connection)
    .await?;
    // Somebody else was faster.
    if made.rows_affected() == 0 {
        Box::pin(opened(connection, open)).await
    } else {
        Ok(Opened { state, gone })
    }
}

/// Takes the lease; `left` are the holders of whom this process knows that they have left it.
pub(super) async fn take(
    connection: &mut Connection,
    take: Take<'_>,
    left: &[String],
) -> Result<Taken, SqlError> {
    let id = take.session.as_str();
    let found = query(FIND_LEASE).bind(id).bind(take.principal).fetch_optional(&mut *connection).await?;
    let found = found.ok_or(SessionError::NotFound)?;
    let holder: &str = found.try_get(1)?;
    if found.try_get::<i64, _>(0)? > int(take.now) && left.iter().all(|left| left != holder) {
        return Err(SessionError::Busy { run: found.try_get(2)? }.into());
    }
    let run = match take.run {
        Some(run) => {
            let known = query("SELECT 1 FROM attache_run WHERE session = $1 AND id = $2").bind(id).bind(run);
            if known.fetch_optional(&mut *connection).await?.is_some() {
                return Err(JournalError::Occupied.into());
            }
            run.to_owned()
        }
        // A run that somebody goes on with time and again is taken over no more, unless something is recorded.
        None => query(
            "UPDATE attache_run SET adopted = adopted + 1 \
             WHERE run = (SELECT max(run) FROM attache_run WHERE session = $1) RETURNING id",
        )
        .bind(id)
        .fetch_optional(&mut *connection)
        .await?
        .ok_or(JournalError::Empty)?
        .try_get(0)?,
    };
    let fence: i64 = query(NEXT_FENCE).fetch_one(&mut *connection).await?.try_get(0)?;
    query(
        "UPDATE attache_session SET fence = $2, appends = 0, leased_until = $3, holder = $4, leased_by = $5, \
         accessed = $6 WHERE id = $1",
    )
    .bind(id)
    .bind(fence)
    .bind(int(take.until))
    .bind(take.holder)
    .bind(run)
    .bind(int(take.now))
    .execute(connection)
    .await?;
    Ok(Taken { fence: number(fence), has_runs: true })
}

pub(super) async fn renew(
    connection: &mut Connection,
    session: &str,
    fence: u64,
    until: u64,
) -> Result<bool, SqlError> {
    // One that was let go stays so: at 0 nobody takes the run over, at 1 anybody does.
    let renewed = query(
        "UPDATE attache_session SET leased_until = CASE WHEN leased_until <= 1 THEN leased_until ELSE $3 END \
         WHERE id = $1 AND fence = $2",
    )
    .bind(session)
    .bind(int(fence))
    .bind(int(until))
    .execute(connection)
    .await?;
    Ok(renewed.rows_affected() > 0)
}

pub(super) async fn release(
    connection: &mut Connection,
    session: &str,
    fence: u64,
    kept_until: Option<u64>,
) -> Result<(), SqlError> {
    // No append is behind the last number.
    query(
        "UPDATE attache_session SET leased_until = 0, appends = 9223372036854775807, \
         kept_until = coalesce($3, kept_until) WHERE id = $1 AND fence = $2",
    )
    .bind(session)
    .bind(int(fence))
    .bind(kept_until.map(int))
    .execute(connection)
    .await?;
    Ok(())
}
