//! Deletes sessions.

use attache_agent::{Cleared, Idle, SessionId};
use attache_core::DocumentId;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use crate::sql::error::SqlError;
use crate::sql::row::{int, place};

pub(super) async fn clear(
    connection: &mut SqliteConnection,
    principal: &str,
    session: Option<&str>,
) -> Result<Cleared, SqlError> {
    let meant = query("SELECT id FROM attache_session WHERE principal = ?1 AND (?2 IS NULL OR id = ?2)")
        .bind(principal)
        .bind(session)
        .fetch_all(&mut *connection)
        .await?;
    delete(connection, &meant).await
}

pub(super) async fn clean(connection: &mut SqliteConnection, idle: Idle) -> Result<Cleared, SqlError> {
    let expired = query(
        "SELECT id FROM attache_session WHERE accessed < ?1 AND leased_until <= ?2 AND kept_until <= ?2 \
         ORDER BY accessed LIMIT ?3",
    )
    .bind(int(idle.before))
    .bind(int(idle.now))
    .bind(place(idle.limit))
    .fetch_all(&mut *connection)
    .await?;
    delete(connection, &expired).await
}

async fn delete(connection: &mut SqliteConnection, rows: &[SqliteRow]) -> Result<Cleared, SqlError> {
    let mut cleared = Cleared::default();
    for row in rows {
        let id: &str = row.try_get(0)?;
        let documents = query(
            "SELECT document FROM attache_document d WHERE session = ?1 AND NOT EXISTS \
             (SELECT 1 FROM attache_document o WHERE o.document = d.document AND o.session <> ?1)",
        )
        .bind(id)
        .fetch_all(&mut *connection)
        .await?;
        for document in documents {
            cleared.documents.extend(DocumentId::parse(document.try_get::<&str, _>(0)?));
        }
        query("DELETE FROM attache_session WHERE id = ?1").bind(id).execute(&mut *connection).await?;
        cleared.sessions.push(SessionId::parse(id)?);
    }
    Ok(cleared)
}
