//! Deletes sessions.

use attache_agent::{Cleared, Idle, SessionId};
use attache_core::DocumentId;
use sqlx::{Row as _, query};

use super::dialect::{CLEAN, CLEAR, Connection, Row, elements};
use super::store::Store;
use crate::sql::error::SqlError;
use crate::sql::ranges::each;
use crate::sql::row::{int, place};

/// The attempts of a deletion, the first one included.
pub(super) const ATTEMPTS: usize = 3;

/// The sessions to delete.
pub(super) enum Meant {
    /// Those of a principal, or one of them.
    Own { principal: String, session: Option<SessionId> },
    /// Those that have expired.
    Expired(Idle),
}

/// Deletes sessions. The forks of a session change with it, so two that delete side by side may wait for each other:
/// PostgreSQL fails one of them, which begins again.
pub(super) async fn clear(store: &Store, meant: &Meant) -> Result<Cleared, SqlError> {
    for _ in 1..ATTEMPTS {
        match attempt(store, meant).await {
            Err(error) if error.is_deadlock() => {}
            done => return done,
        }
    }
    attempt(store, meant).await
}

async fn attempt(store: &Store, meant: &Meant) -> Result<Cleared, SqlError> {
    let mut writing = store.writing().await?;
    let meant = match meant {
        Meant::Own { principal, session } => {
            query(CLEAR).bind(principal.as_str()).bind(session.as_ref().map(SessionId::as_str))
        }
        Meant::Expired(idle) => {
            query(CLEAN).bind(int(idle.before)).bind(int(idle.now)).bind(place(idle.limit))
        }
    };
    let meant = meant.fetch_all(&mut *writing).await?;
    let cleared = delete(&mut writing, &ids(&meant)?).await?;
    writing.commit().await?;
    Ok(cleared)
}

fn ids(rows: &[Row]) -> Result<Vec<&str>, SqlError> {
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Deletes sessions, and yields the documents that no other refers to. All of their documents are noted: of two that
/// delete at once each may leave to the other what they share, and whoever is to delete the documents may die before.
pub(super) async fn delete(connection: &mut Connection, ids: &[&str]) -> Result<Cleared, SqlError> {
    // In one order, so that two wait for each other and not in a circle.
    query(concat!(
        "INSERT INTO attache_gone (document) SELECT DISTINCT d.document FROM attache_document d \
         WHERE d.session IN (SELECT q.value ->> 0 FROM ",
        elements!("1"),
        " AS q) ORDER BY d.document ON CONFLICT DO NOTHING"
    ))
    .bind(each(ids)?)
    .execute(&mut *connection)
    .await?;
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

/// Documents that were noted when their sessions were deleted, and that none refers to.
pub(super) async fn gone_documents(
    connection: &mut Connection,
    limit: usize,
) -> Result<Vec<DocumentId>, SqlError> {
    let rows = query(
        "SELECT document FROM attache_gone g WHERE NOT EXISTS \
         (SELECT 1 FROM attache_document d WHERE d.document = g.document) ORDER BY document LIMIT $1",
    )
    .bind(place(limit))
    .fetch_all(connection)
    .await?;
    let documents = rows.iter().map(|row| Ok(DocumentId::parse(row.try_get::<&str, _>(0)?)));
    Ok(documents.collect::<Result<Vec<_>, SqlError>>()?.into_iter().flatten().collect())
}

/// Forgets documents that are deleted.
pub(super) async fn forget_documents(
    connection: &mut Connection,
    documents: &[DocumentId],
) -> Result<(), SqlError> {
    query(concat!(
        "DELETE FROM attache_gone WHERE document IN (SELECT q.value ->> 0 FROM ",
        elements!("1"),
        " AS q)"
    ))
    .bind(each(documents.iter().map(DocumentId::as_str))?)
    .execute(connection)
    .await?;
    Ok(())
}
