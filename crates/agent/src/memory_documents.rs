//! A store of documents in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use bytes::Bytes;

/// Keeps the bytes of documents in memory, up to a limit: a store that is full takes no more.
///
/// The one that an agent has where it is given [none](crate::AgentBuilder::store) is another: it holds 256 MiB and
/// forgets its oldest documents to take new ones.
#[derive(Debug)]
pub struct MemoryDocumentStore {
    id: String,
    max_bytes: usize,
    /// True if the oldest documents make room for new ones.
    forgets: bool,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    documents: HashMap<DocumentId, Bytes>,
    /// The oldest first.
    order: VecDeque<DocumentId>,
    bytes: usize,
    /// True once something was forgotten.
    has_forgotten: bool,
}

/// The default limit of a [`MemoryDocumentStore`]: 1 GiB.
const MAX_BYTES: usize = 1 << 30;
/// The limit of an agent's own store, which forgets the oldest: 256 MiB.
const RECENT_BYTES: usize = 256 << 20;

impl Default for MemoryDocumentStore {
    fn default() -> Self {
        Self::new("memory")
    }
}

impl MemoryDocumentStore {
    /// A store of that id, for at most 1 GiB.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), max_bytes: MAX_BYTES, forgets: false, kept: Mutex::default() }
    }

    /// An agent's own store, in which the oldest documents make room for new ones: the messages hold them as well.
    pub(crate) fn recent() -> Self {
        Self { max_bytes: RECENT_BYTES, forgets: true, ..Self::default() }
    }

    /// Sets the maximum number of bytes that it keeps.
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
        match kept.documents.get(document.id()) {
            Some(known) if *known == bytes => return Ok(()),
            Some(_) => {
                let message = format!("the store holds another document under the id {}", document.id());
                return Err(StoreError::new(StoreErrorKind::Conflict, message));
            }
            None => {}
        }
        while self.forgets
            && kept.bytes.saturating_add(bytes.len()) > self.max_bytes
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.remove(&oldest);
            if !std::mem::replace(&mut kept.has_forgotten, true) {
                tracing::warn!(
                    bytes = self.max_bytes,
                    "the agent's own store is full and forgets its oldest documents: set a store by `AgentBuilder::store`"
                );
            }
        }
        let total = kept.bytes.saturating_add(bytes.len());
        if total > self.max_bytes {
            let message = format!("the document store is full ({} bytes)", self.max_bytes);
            return Err(StoreError::new(StoreErrorKind::TooLarge, message));
        }
        kept.bytes = total;
        kept.documents.insert(document.id().clone(), bytes);
        kept.order.push_back(document.id().clone());
        Ok(())
    }
}

impl Kept {
    fn remove(&mut self, id: &DocumentId) {
        if let Some(bytes) = self.documents.remove(id) {
            self.bytes = self.bytes.saturating_sub(bytes.len());
        }
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
        kept.remove(id);
        kept.order.retain(|known| known != id);
        drop(kept);
        Box::pin(std::future::ready(Ok(())))
    }
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
        let other = Document::from_bytes(&b"other"[..], "text/plain").with_id(first.id().clone());
        assert_eq!(store.put(&other).await.unwrap_err().kind(), StoreErrorKind::Conflict);
        let second = Document::from_bytes(&b"123"[..], "text/plain");
        assert_eq!(store.put(&second).await.unwrap_err().kind(), StoreErrorKind::TooLarge);
        store.delete(first.id()).await.unwrap();
        store.put(&second).await.unwrap();
        assert_eq!(store.get(first.id()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
        assert_eq!(store.get(second.id()).await.unwrap(), &b"123"[..]);
    }

    // The messages hold the documents as well, but the log of a run that is resumed does not.
    #[tokio::test]
    async fn the_store_of_an_agent_makes_room_and_knows_that_it_has_forgotten() {
        let store = MemoryDocumentStore::recent().with_max_bytes(10);
        let [first, second, third] =
            ["1234", "56789", "0123"].map(|text| Document::from_bytes(text, "text/plain"));
        store.put(&first).await.unwrap();
        store.put(&second).await.unwrap();
        assert!(!store.lock().has_forgotten);
        store.put(&third).await.unwrap();
        assert_eq!(store.get(first.id()).await.unwrap_err().kind(), StoreErrorKind::NotFound);
        assert_eq!(store.get(second.id()).await.unwrap(), &b"56789"[..]);
        assert!(store.lock().has_forgotten);
    }
}
