//! The documents that are mentioned in sessions.

use std::collections::HashSet;

use attache_core::{BoxFuture, DocumentId, StoreError};
use futures_util::TryStreamExt as _;
use sqlx::{Row as _, query};
use tokio::task::spawn_blocking;

use super::dialect::{Connection, elements};
use super::store::Store;
use crate::references::{References, add_of_json};
use crate::sql::error::{SqlError, in_time};
use crate::sql::ranges::each;

/// A statement that reads everything in sessions that may mention a document. Where a text does not, it is not read.
macro_rules! bodies {
    ($of:literal) => {
        concat!(
            "SELECT CASE WHEN b.body LIKE '%attache.document%' THEN b.body END FROM ",
            $of,
            ".session IN (SELECT q.value ->> 0 FROM ",
            elements!("1"),
            " AS q)"
        )
    };
}

const MENTIONS: [&str; 3] = [
    bodies!("attache_message b WHERE b"),
    bodies!("attache_entry b JOIN attache_run r ON r.run = b.run WHERE r"),
    bodies!("attache_delivered b JOIN attache_run r ON r.run = b.run WHERE r"),
];
/// The documents that sessions noted.
const NOTED: &str = concat!(
    "SELECT d.document FROM attache_document d WHERE d.session IN (SELECT q.value ->> 0 FROM ",
    elements!("1"),
    " AS q)"
);
/// The number of sessions that are read as of one moment. No connection is held for longer than that takes.
const AT_ONCE: usize = 50;
/// A text of so many bytes is read beside the threads that drive futures.
const LONG: usize = 64 << 10;

/// Adds the ids of all documents that some sessions mention. Rows are read one after the other: memory holds the ids alone.
async fn add_of_sessions(
    connection: &mut Connection,
    sessions: &[(String, i64)],
    ids: &mut HashSet<DocumentId>,
) -> Result<(), SqlError> {
    let sessions = each(sessions.iter().map(|(id, _)| id.as_str()))?;
    for mentions in MENTIONS {
        let mut rows = query(mentions).bind(sessions.as_str()).fetch(&mut *connection);
        while let Some(row) = in_time(async { Ok(rows.try_next().await?) }).await? {
            let Some(text) = row.try_get::<Option<&str>, _>(0)? else { continue };
            if text.len() < LONG {
                add_of_text(text, ids)?;
                continue;
            }
            let (text, mut found) = (text.to_owned(), HashSet::new());
            let reading = spawn_blocking(move || add_of_text(&text, &mut found).map(|()| found));
            let broken =
                |_| SqlError::Unreadable("reading the documents of a session was interrupted".to_owned());
            ids.extend(reading.await.map_err(broken)??);
        }
    }
    let mut rows = query(NOTED).bind(sessions.as_str()).fetch(&mut *connection);
    while let Some(row) = in_time(async { Ok(rows.try_next().await?) }).await? {
        ids.extend(DocumentId::parse(row.try_get::<&str, _>(0)?));
    }
    Ok(())
}

fn add_of_text(text: &str, ids: &mut HashSet<DocumentId>) -> Result<(), SqlError> {
    let value = serde_json::from_str(text)
        .map_err(|error| SqlError::Unreadable(format!("what a session mentions: {error}")))?;
    add_of_json(value, ids);
    Ok(())
}

/// The documents that were found, and the sessions in which they were looked for. A session that was cleared and made anew
/// under its id is another one: it has another time.
#[derive(Default)]
pub(super) struct Found {
    ids: HashSet<DocumentId>,
    seen: HashSet<(String, i64)>,
}

impl Found {
    /// Looks into the sessions that are new since the last round. None are left if they are few: those are read as of the
    /// moment at which they are listed.
    pub(super) async fn list(&mut self, store: &Store) -> Result<Vec<(String, i64)>, SqlError> {
        let mut snapshot = in_time(store.snapshot()).await?;
        let all = in_time(async {
            Ok(query("SELECT id, created FROM attache_session").fetch_all(&mut *snapshot).await?)
        });
        let mut new = Vec::new();
        for row in all.await? {
            let session = (row.try_get(0)?, row.try_get(1)?);
            if !self.seen.contains(&session) {
                new.push(session);
            }
        }
        if new.len() <= AT_ONCE {
            self.read(&mut snapshot, std::mem::take(&mut new)).await?;
        }
        Ok(new)
    }

    /// Reads what was listed, and what is new by then.
    pub(super) async fn all(
        mut self,
        store: &Store,
        mut listed: Vec<(String, i64)>,
    ) -> Result<HashSet<DocumentId>, SqlError> {
        while !listed.is_empty() {
            for sessions in listed.chunks(AT_ONCE) {
                let mut snapshot = in_time(store.snapshot()).await?;
                self.read(&mut snapshot, sessions.to_vec()).await?;
            }
            listed = self.list(store).await?;
        }
        Ok(self.ids)
    }

    async fn read(
        &mut self,
        connection: &mut Connection,
        sessions: Vec<(String, i64)>,
    ) -> Result<(), SqlError> {
        add_of_sessions(connection, &sessions, &mut self.ids).await?;
        self.seen.extend(sessions);
        Ok(())
    }
}

/// The ids of all documents that a session mentions, some sessions at a time. A session that was made of another one
/// meanwhile, which may be gone by then, is read behind them: a document that is older than this is in one that was read.
async fn document_ids(store: &Store) -> Result<HashSet<DocumentId>, SqlError> {
    let mut found = Found::default();
    let listed = found.list(store).await?;
    found.all(store, listed).await
}

impl Store {
    /// A permanent random name of this database, for a document folder that [registers its
    /// owners](crate::FileDocumentStore::note_owner). A copy of the database has the same name.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails.
    pub async fn database_id(&self) -> Result<String, StoreError> {
        self.database_id_boxed().await
    }

    /// A border: see ADR 0053.
    fn database_id_boxed(&self) -> BoxFuture<'_, Result<String, StoreError>> {
        let read = in_time(async {
            let row = query("SELECT id FROM attache_store").fetch_one(&mut *self.reading().await?).await?;
            Ok(row.try_get(0)?)
        });
        Box::pin(async { read.await.map_err(SqlError::store) })
    }
}

impl References for Store {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(async move { document_ids(self).await.map_err(SqlError::store) })
    }
}
