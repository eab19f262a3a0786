//! Putting documents into a store, and one in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::{
    BoxFuture, Document, DocumentId, DocumentSource, DocumentStore, Message, StoreError, StoreErrorKind,
    ToolResult,
};
use bytes::Bytes;

/// Keeps the bytes of documents in memory, up to a limit.
#[derive(Debug)]
pub struct MemoryDocumentStore {
    id: String,
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    documents: HashMap<DocumentId, Bytes>,
    bytes: usize,
}

/// The default limit of a [`MemoryDocumentStore`]: 1 GiB.
const MAX_BYTES: usize = 1 << 30;

impl Default for MemoryDocumentStore {
    fn default() -> Self {
        Self::new("memory")
    }
}

impl MemoryDocumentStore {
    /// A store of that id, for at most 1 GiB.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), max_bytes: MAX_BYTES, kept: Mutex::default() }
    }

    /// Sets the most bytes that it keeps.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, document: &Document) -> Result<(), StoreError> {
        let bytes = document.bytes().ok_or_else(|| {
            StoreError::new(
                StoreErrorKind::NotFound,
                format!("the bytes of document {} are not here", document.id()),
            )
        })?;
        let mut kept = self.lock();
        if kept.documents.contains_key(document.id()) {
            return Ok(());
        }
        let total = kept.bytes.saturating_add(bytes.len());
        if total > self.max_bytes {
            let message = format!("the document store is full ({} bytes)", self.max_bytes);
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        kept.bytes = total;
        kept.documents.insert(document.id().clone(), bytes);
        Ok(())
    }
}

impl DocumentStore for MemoryDocumentStore {
    fn id(&self) -> &str {
        &self.id
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(self.keep(document)))
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let found = self.lock().documents.get(id).cloned();
        let missing = || StoreError::new(StoreErrorKind::NotFound, format!("there is no document {id}"));
        Box::pin(std::future::ready(found.ok_or_else(missing)))
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut kept = self.lock();
        if let Some(bytes) = kept.documents.remove(id) {
            kept.bytes = kept.bytes.saturating_sub(bytes.len());
        }
        drop(kept);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Puts the documents of messages into the store, as far as their bytes are in memory.
pub(crate) async fn keep_of_messages(
    store: &dyn DocumentStore,
    messages: &[Arc<Message>],
) -> Result<(), StoreError> {
    for message in messages {
        keep(store, message.documents()).await?;
    }
    Ok(())
}

/// Puts the documents of a result into the store, withheld ones included, as far as their bytes are in memory.
pub(crate) async fn keep_of_result(store: &dyn DocumentStore, result: &ToolResult) -> Result<(), StoreError> {
    let captured = result.tree.documents();
    keep(store, captured).await?;
    for shown in &result.documents {
        if !captured.contains(shown) {
            keep(store, [shown]).await?;
        }
    }
    Ok(())
}

async fn keep(
    store: &dyn DocumentStore,
    documents: impl IntoIterator<Item = &Document>,
) -> Result<(), StoreError> {
    for document in documents {
        if matches!(document.source(), DocumentSource::Bytes(_)) {
            store.put(document).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bounded_and_idempotent() {
        let store = MemoryDocumentStore::new("m").with_max_bytes(10);
        let first = Document::from_bytes(&b"12345678"[..], "text/plain");
        store.put(&first).await.unwrap();
        store.put(&first).await.unwrap();
        let second = Document::from_bytes(&b"123"[..], "text/plain");
        assert_eq!(store.put(&second).await.unwrap_err().kind(), StoreErrorKind::TooLarge);
        store.delete(first.id()).await.unwrap();
        store.put(&second).await.unwrap();
        assert_eq!(store.get(first.id()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
        assert_eq!(store.get(second.id()).await.unwrap(), &b"123"[..]);
    }
}
