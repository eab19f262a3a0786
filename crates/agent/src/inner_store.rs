//! The store of a run inside a tool, which reads that of the run around it, too.

use std::sync::Arc;

use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use bytes::Bytes;

/// The store of an agent inside a tool. Whoever delivers a result to one of its calls knows the log alone, and has put the
/// files into the store of the run around it: what its own store lacks is looked for there. Of an id
/// that both have, the document is that of its own store.
pub(crate) struct InnerStore {
    pub(crate) own: Arc<dyn DocumentStore>,
    pub(crate) outer: Arc<dyn DocumentStore>,
}

impl DocumentStore for InnerStore {
    fn id(&self) -> &str {
        self.own.id()
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        self.own.put(document)
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async move {
            match self.own.get(id).await {
                Err(error) if error.kind() == StoreErrorKind::NotFound => self.outer.get(id).await,
                got => got,
            }
        })
    }

    fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match self.own.renew(id).await {
                Err(error) if error.kind() == StoreErrorKind::NotFound => self.outer.renew(id).await,
                renewed => renewed,
            }
        })
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.own.delete(id)
    }
}
