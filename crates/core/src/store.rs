//! The seam to where the bytes of documents are kept.

use bytes::Bytes;

use crate::document::Document;
use crate::future::BoxFuture;
use crate::id::DocumentId;

/// Keeps the bytes of documents.
///
/// Implementations are cheap to share and bounded; the agent puts each document before the entry that mentions it
/// is recorded.
pub trait DocumentStore: Send + Sync {
    /// The id that references name as `storeId`.
    fn id(&self) -> &str;

    /// Keeps the bytes of `document`, which must be in memory. Putting the same document again is no error.
    ///
    /// # Errors
    /// [`StoreErrorKind::TooLarge`] if it does not fit, [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The bytes kept under `id`.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`] if nothing is kept under it, [`StoreErrorKind::Corrupt`] if it cannot be read,
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// Lets the bytes under `id` count as young, for a store that removes old ones which no log mentions: a log is about to
    /// mention them. By default they are read and put again; a store that knows their age does less.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`] if nothing is kept under it, and those of [`put`](Self::put).
    fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let bytes = self.get(id).await?;
            self.put(&Document::from_bytes(bytes, "").with_id(id.clone())).await
        })
    }

    /// Forgets the bytes under `id`; an unknown id is no error.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`] if the backend does not answer.
    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Why a store could not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Nothing is kept under that id (or no longer).
    NotFound,
    /// The store is full, or the item is larger than it takes.
    TooLarge,
    /// The bytes that are kept cannot be read.
    Corrupt,
    /// Another writer holds the place.
    Conflict,
    /// The backend did not answer.
    Unavailable,
    /// The call makes no sense, such as a collection that is told of no place where documents are mentioned.
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
    /// An error of `kind`.
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

    /// True if the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable)
    }
}
