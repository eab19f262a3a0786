//! The interface to document storage.

use bytes::Bytes;

use crate::document::Document;
use crate::future::BoxFuture;
use crate::id::DocumentId;

/// Stores the bytes of documents.
///
/// Implementations are cheap to share and limited in size; the agent puts each document before it records the entry
/// that mentions it.
pub trait DocumentStore: Send + Sync {
    /// The id that references contain as `storeId`.
    fn id(&self) -> &str;

    /// Stores the bytes of `document`, which must be in memory. Putting the same document again is not an error.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] if it does not fit, [`StoreErrorKind::Conflict`] if other bytes are stored under
    /// its id, which are kept, [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the bytes stored under `id`.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`] if nothing is stored under it, [`StoreErrorKind::Corrupt`] if it cannot be read,
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// Resets the age of the bytes under `id`, because a log is about to mention them; some stores remove old bytes
    /// that no log mentions. By default they are read and put again; a store that tracks their age can do this more
    /// cheaply.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`] if nothing is stored under it, and those of [`put`](Self::put).
    fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let bytes = self.get(id).await?;
            self.put(&Document::from_bytes(bytes, "").with_id(id.clone())).await
        })
    }

    /// Deletes the bytes under `id`; an unknown id is not an error.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// The kind of a store error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Nothing is stored under that id (or no longer).
    NotFound,
    /// The store is full, or the item is too large.
    TooLarge,
    /// The stored bytes cannot be read.
    Corrupt,
    /// Something else is stored under that id, or another writer holds the place.
    Conflict,
    /// The backend did not answer.
    Unavailable,
    /// The call is invalid, such as a collection without any place where documents are mentioned.
    Invalid,
}

/// A failure of a store.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// Creates an error of `kind`.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind of problem.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable)
    }
}
