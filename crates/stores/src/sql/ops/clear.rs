//! Deletes sessions.

use attache_agent::{Cleared, Idle, SessionId};
use attache_core::DocumentId;
use sqlx::{Row as _, query};

use super::dialect::{CLEAN, CLEAR, Connection, Row};
use crate::sql::error::SqlError;
use crate::sql::row::{int, place};

pub(super) async fn clear(
    connection: &mut Connection,
    principal: &str,
    session: Option<&str>,
) -> Result<Cleared, SqlError> {
    let meant = query(CLEAR).bind(principal).bind(session).fetch_all(&mut *connection).await?;
    delete(connection, &ids(&meant)?).await
}

pub(super) async fn clean(connection: &mut Connection, idle: Idle) -> Result<Cleared, SqlError> {
    let expired = query(CLEAN)
        .bind(int(idle.before))
        .bind(int(idle.now))
        .bind(place(idle.limit))
        .fetch_all(&mut *connection)
        .await?;
    delete(connection, &ids(&expired)?).await
}

fn ids(rows: &[Row]) -> Result<Vec<&str>, SqlError> {
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Deletes sessions, and yields the documents that no other refers to.
pub(super) async fn delete(connection: &mut Connection, ids: &[&str]) -> Result<Cleared, SqlError> {
    let mut cleared = Cleared::default();
    for id in ids.iter().copied() {
        let documents = query(
            "SELECT document FROM attache_document d WHERE session = $1 AND NOT EXISTS \
             (SELECT 1 FROM attache_document o WHERE o.document = d.document AND o.session <> $1)",
        )
        .bind(id)
        .fetch_all(&mut *connection)
        .await?;
        for document in documents {
            cleared.documents.extend(DocumentId::parse(document.try_get::<&str, _>(0)?));
        }
        // The sessions that were made of it come from where it came.
        query(
            "UPDATE attache_session SET forked_from = (SELECT p.forked_from FROM attache_session p WHERE p.id = $1), \
             forked_at = (SELECT CASE WHEN p.forked_at < attache_session.forked_at THEN p.forked_at \
             ELSE attache_session.forked_at END FROM attache_session p WHERE p.id = $1) WHERE forked_from = $1",
        )
        .bind(id)
        .execute(&mut *connection)
        .await?;
        query("DELETE FROM attache_session WHERE id = $1").bind(id).execute(&mut *connection).await?;
        cleared.sessions.push(SessionId::parse(id)?);
    }
    Ok(cleared)
}
