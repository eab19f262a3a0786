//! The documents that sessions mention.

use std::collections::HashSet;

use attache_core::{BoxFuture, DocumentId, StoreError};
use futures_util::TryStreamExt as _;
use sqlx::{Row as _, query};

use super::dialect::Connection;
use super::store::Store;
use crate::references::{References, add_of_json};
use crate::sql::error::{SqlError, in_time};

/// Everything that may mention one. Where a text does not, it is not read.
const MENTIONS: [&str; 4] = [
    "SELECT CASE WHEN body LIKE '%attache.document%' THEN body END FROM attache_message",
    "SELECT CASE WHEN body LIKE '%attache.document%' THEN body END FROM attache_entry",
    "SELECT CASE WHEN body LIKE '%attache.document%' THEN body END FROM attache_delivered",
    "SELECT document FROM attache_document",
];

/// The ids of all documents that a session mentions. Rows are read one after the other: memory holds the ids alone.
pub(super) async fn document_ids(connection: &mut Connection) -> Result<HashSet<DocumentId>, SqlError> {
    let mut ids = HashSet::new();
    for (at, mentions) in MENTIONS.into_iter().enumerate() {
        let mut rows = query(mentions).fetch(&mut *connection);
        while let Some(row) = in_time(async { Ok(rows.try_next().await?) }).await? {
            let Some(text) = row.try_get::<Option<&str>, _>(0)? else { continue };
            if at == MENTIONS.len() - 1 {
                ids.extend(DocumentId::parse(text));
                continue;
            }
            let value = serde_json::from_str(text)
                .map_err(|error| SqlError::Unreadable(format!("what a session mentions: {error}")))?;
            add_of_json(value, &mut ids);
        }
    }
    Ok(ids)
}

impl References for Store {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(async move {
            let ids = async { document_ids(&mut *in_time(self.snapshot()).await?).await };
            ids.await.map_err(SqlError::store)
        })
    }
}
