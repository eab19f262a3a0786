//! The store, and how documents are written and read.

use std::collections::BTreeMap;
use std::fmt;
use std::path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use attache_core::hash::hex;
use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use bytes::Bytes;
use futures_util::future::try_join;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use serde::Serialize;

use super::backend::Backend;
use super::names::{Copy, Hash, Name, Names, hash_of};

/// The default limit of a store: 64 GiB.
const MAX_BYTES: u64 = 64 << 30;
/// The default time that a document may take from the store to the log that mentions it.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// The default limit of a call to the storage.
const LIMIT: Duration = Duration::from_secs(30);
/// The age at which a link is taken for one that its writer has made sure of.
const SETTLED: Duration = Duration::from_secs(5 * 60);
/// The number of times that a put begins again because a collection has marked what it found.
const ATTEMPTS: usize = 8;
/// Content that is hashed off the threads that drive futures.
const WORTH_A_THREAD: usize = 1 << 20;

/// Stores documents in object storage: in memory, in a local folder, in S3 or a compatible service, or in any backend
/// of the crate [`object_store`]. Several processes may share a storage.
///
/// ```
/// # use attache_core::{Document, DocumentStore};
/// # use attache_stores::ObjectDocumentStore;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let documents = ObjectDocumentStore::in_memory();
/// let report = Document::from_bytes(&b"Revenue rose."[..], "text/plain");
/// documents.put(&report).await?;
/// assert_eq!(documents.get(report.id()).await?, &b"Revenue rose."[..]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Content is stored by its SHA-256, once for all documents that have it, and ids link to it. So
/// [`delete`](DocumentStore::delete) removes an id, and [`collect`](Self::collect) removes content that no document has
/// any more. `get` verifies the bytes with the hash; a mismatch is an error of the kind
/// [`Corrupt`](StoreErrorKind::Corrupt). Different bytes under an existing id are an error of the kind
/// [`Conflict`](StoreErrorKind::Conflict); if two are put under a new id at the same moment, one or both fail.
///
/// Every call to the storage has a timeout. The storage only has to write objects atomically and to list what it has
/// written; conditional writes are not required. Putting a new document takes five round trips to the storage, putting
/// an existing one takes one or four, and `get` takes two.
pub struct ObjectDocumentStore {
    id: String,
    pub(super) backend: Backend,
    pub(super) names: Names,
    max_bytes: u64,
    pub(super) grace: Duration,
    /// The bytes of all contents, once they were counted.
    used: Arc<Mutex<Option<u64>>>,
}

/// The objects of one id and one content.
#[derive(Debug, Default)]
struct Found {
    /// Where the id leads, and when that was written.
    links: Vec<(Copy, ObjectMeta)>,
    /// The copies of the content by their numbers: the size, `None` if it is gone, and whether it is marked.
    copies: BTreeMap<u32, (Option<u64>, bool)>,
}

/// A link says for people what its name says for programs.
#[derive(Debug, Serialize)]
struct Link<'a> {
    id: &'a str,
    sha256: String,
    bytes: usize,
}

impl ObjectDocumentStore {
    /// Creates a store under `folder` of a storage (blank for the whole storage), with the store id `objects`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use attache_stores::ObjectDocumentStore;
    /// use attache_stores::object_store::memory::InMemory;
    ///
    /// let documents = ObjectDocumentStore::new(Arc::new(InMemory::new()), "agents/documents");
    /// ```
    pub fn new(objects: Arc<dyn ObjectStore>, folder: &str) -> Self {
        Self {
            id: "objects".to_owned(),
            backend: Backend { objects, limit: LIMIT, local: None },
            names: Names::new(&Path::from(folder)),
            max_bytes: MAX_BYTES,
            grace: GRACE,
            used: Arc::default(),
        }
    }

    /// Creates a store in memory, for tests and programs that need no persistence.
    pub fn in_memory() -> Self {
        Self::new(Arc::new(InMemory::new()), "")
    }

    /// Opens a store in a local folder, which is created if it is missing. When `put` returns, the object is on the
    /// disk.
    ///
    /// # Errors
    /// [`StoreError`] if the folder cannot be created.
    pub fn local(folder: impl AsRef<path::Path>) -> Result<Self, StoreError> {
        let folder = folder.as_ref();
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            let message = format!("cannot create the folder {}", folder.display());
            StoreError::new(StoreErrorKind::Unavailable, message).with_source(error)
        };
        std::fs::create_dir_all(folder).map_err(|error| failed(error.into()))?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(|error| failed(error.into()))?;
        let mut store = Self::new(Arc::new(files.with_fsync(true).with_automatic_cleanup(true)), "");
        store.backend.local = Some(folder.to_owned());
        Ok(store)
    }

    /// Sets the id that references contain as `storeId`.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the maximum total size of all contents in bytes; 64 GiB by default. A document beyond it is an error of the
    /// kind [`TooLarge`](StoreErrorKind::TooLarge).
    ///
    /// The contents are counted by a listing before the first document is put, and at each collection; in between, this
    /// store counts only its own changes. `u64::MAX` disables counting.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self.used = Arc::default();
        self
    }

    /// Sets how long an unmentioned document is safe from [`collect`](Self::collect); 24 hours by default. A run must
    /// record the use of a document that it put within half of this time. All processes that share a storage must use
    /// the same value.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the timeout of one call to the storage, or of the wait for the next piece of its response; 30 s by default.
    /// A put has one more second for each 128 KiB.
    #[must_use]
    pub fn with_timeout(mut self, limit: Duration) -> Self {
        self.backend.limit = limit;
        self
    }

    async fn keep(&self, document: &Document) -> Result<(), StoreError> {
        let id = document.id();
        let (Some(bytes), Some(content)) = (document.bytes(), document.hash()) else {
            let message = format!("the bytes of document {id} are not in memory");
            return Err(StoreError::new(StoreErrorKind::NotFound, message));
        };
        let id_hash = hash_of(id.as_str().as_bytes());
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut own = Vec::new();
        let mut found = self.look(&id_hash, &content).await?;
        for _ in 0..ATTEMPTS {
            found.refuse_conflict(id, &content)?;
            let copy = found.copy_of(&content, size);
            if let Some(copy) = copy
                && self.is_fresh(&found, copy)
            {
                return Ok(());
            }
            let copy = match copy {
                Some(copy) => copy,
                None => self.write(&found.new_copy(&content), &bytes, size).await?,
            };
            let link = self.names.new_link(&id_hash, &copy);
            self.backend.put(&link, link_text(id, &content, bytes.len())).await?;
            // A collection may have marked the copy before it could see the link; and somebody may have put other bytes
            // under this id. A writer that looks after it has written sees the other, or is seen by it.
            found = self.look(&id_hash, &content).await?;
            let conflict = found.refuse_conflict(id, &content);
            if conflict.is_err() {
                self.backend.delete(&link).await?;
                return conflict;
            }
            if found.copies.get(&copy.number) == Some(&(Some(size), false)) && self.stays(&copy).await? {
                for link in &own {
                    self.backend.delete(link).await?;
                }
                return Ok(());
            }
            own.push(link);
        }
        let message = format!("document {id} is being removed as often as it is put");
        Err(StoreError::new(StoreErrorKind::Unavailable, message))
    }

    /// Puts a document again, unless a link to it is young, whose copy no collection had marked by the time that the link
    /// was there.
    async fn renewed(&self, id: &DocumentId) -> Result<(), StoreError> {
        let id_hash = hash_of(id.as_str().as_bytes());
        let mut newest: Option<(Copy, SystemTime)> = None;
        let ids = self.names.links_of(&id_hash);
        let listed = self.backend.list(&ids, |object| {
            let written = SystemTime::from(object.last_modified);
            if let Some(Name::Link { copy, .. }) = self.names.parse(&object.location)
                && newest.is_none_or(|(_, before)| before < written)
            {
                newest = Some((copy, written));
            }
        });
        listed.await?;
        let missing = || StoreError::new(StoreErrorKind::NotFound, format!("there is no document {id}"));
        let (copy, written) = newest.ok_or_else(missing)?;
        let is_young = SystemTime::now().duration_since(written).is_ok_and(|age| age < self.grace / 2);
        if is_young {
            let found = self.look(&id_hash, &copy.content).await?;
            let is_whole = matches!(found.copies.get(&copy.number), Some((Some(_), false)));
            if is_whole && self.stays(&copy).await? {
                return Ok(());
            }
        }
        let bytes = self.bytes(id).await?;
        self.keep(&Document::from_bytes(bytes, "").with_id(id.clone())).await
    }

    /// True if a copy that a listing shows without a mark is there still. A listing of files is not one moment: one may
    /// have named the copy before a collection removed it, and looked for marks after the collection took its own away.
    async fn stays(&self, copy: &Copy) -> Result<bool, StoreError> {
        Ok(self.backend.head(&self.names.copy(copy)).await?.is_some())
    }

    /// Everything about an id and a content.
    async fn look(&self, id: &Hash, content: &Hash) -> Result<Found, StoreError> {
        let mut links = Vec::new();
        let mut copies: BTreeMap<u32, (Option<u64>, bool)> = BTreeMap::new();
        let (ids, contents) = (self.names.links_of(id), self.names.copies_of(content));
        let listed_links = self.backend.list(&ids, |object| {
            if let Some(Name::Link { copy, .. }) = self.names.parse(&object.location) {
                links.push((copy, object));
            }
        });
        let listed_copies = self.backend.list(&contents, |object| match self.names.parse(&object.location) {
            Some(Name::Copy(copy)) => copies.entry(copy.number).or_default().0 = Some(object.size),
            Some(Name::Mark(copy)) => copies.entry(copy.number).or_default().1 = true,
            _ => {}
        });
        try_join(listed_links, listed_copies).await?;
        Ok(Found { links, copies })
    }

    /// True if a link to this copy is safe for long enough: its writer has made sure of it, and no collection may remove
    /// it soon.
    fn is_fresh(&self, found: &Found, copy: Copy) -> bool {
        let now = SystemTime::now();
        found.links.iter().any(|(known, link)| {
            let age = now.duration_since(SystemTime::from(link.last_modified));
            *known == copy && age.is_ok_and(|age| age >= SETTLED && age < self.grace / 2)
        })
    }

    /// Writes a copy of a content.
    async fn write(&self, copy: &Copy, bytes: &Bytes, size: u64) -> Result<Copy, StoreError> {
        self.reserve(size).await?;
        let written = self.backend.put(&self.names.copy(copy), bytes.clone()).await;
        if written.is_err() {
            self.release(size);
        }
        written.map(|()| *copy)
    }

    async fn bytes(&self, id: &DocumentId) -> Result<Bytes, StoreError> {
        let mut links: Vec<(Copy, ObjectMeta)> = Vec::new();
        let folder = self.names.links_of(&hash_of(id.as_str().as_bytes()));
        self.backend
            .list(&folder, |object| {
                if let Some(Name::Link { copy, .. }) = self.names.parse(&object.location) {
                    links.push((copy, object));
                }
            })
            .await?;
        let Some((first, _)) = links.first() else {
            return Err(StoreError::new(StoreErrorKind::NotFound, format!("there is no document {id}")));
        };
        let content = first.content;
        if links.iter().any(|(copy, _)| copy.content != content) {
            return Err(corrupt(id, "two were put under the id at the same moment"));
        }
        links.sort_by_key(|(_, link)| std::cmp::Reverse(link.last_modified));
        let mut copies: Vec<Copy> = links.into_iter().map(|(copy, _)| copy).collect();
        copies.dedup();
        let mut problem = "its content is missing";
        for copy in copies {
            let Some(bytes) = self.backend.get(&self.names.copy(&copy), self.max_bytes).await? else {
                continue;
            };
            if hash(bytes.clone()).await? == content {
                return Ok(bytes);
            }
            problem = "its SHA-256 differs";
        }
        Err(corrupt(id, problem))
    }

    async fn forget(&self, id: &DocumentId) -> Result<(), StoreError> {
        let mut links = Vec::new();
        let folder = self.names.links_of(&hash_of(id.as_str().as_bytes()));
        self.backend.list(&folder, |object| links.push(object.location)).await?;
        for link in links {
            self.backend.delete(&link).await?;
        }
        Ok(())
    }

    async fn reserve(&self, size: u64) -> Result<(), StoreError> {
        if self.max_bytes == u64::MAX {
            return Ok(());
        }
        if self.used().is_none() {
            let mut sum = 0_u64;
            let contents = self.names.contents();
            self.backend.list(&contents, |object| sum = sum.saturating_add(object.size)).await?;
            // Somebody else may have counted meanwhile, and put something.
            self.set_used(|used| Some(used.unwrap_or(sum)));
        }
        let mut fits = false;
        self.set_used(|used| {
            let sum = used.unwrap_or_default().saturating_add(size);
            fits = sum <= self.max_bytes;
            if fits { Some(sum) } else { used }
        });
        if fits {
            return Ok(());
        }
        let message = format!("the document store is full ({} bytes)", self.max_bytes);
        Err(StoreError::new(StoreErrorKind::TooLarge, message))
    }

    fn release(&self, size: u64) {
        self.set_used(|used| used.map(|used| used.saturating_sub(size)));
    }

    fn used(&self) -> Option<u64> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_used(&self, change: impl FnOnce(Option<u64>) -> Option<u64>) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = change(*used);
    }
}

impl Found {
    fn refuse_conflict(&self, id: &DocumentId, content: &Hash) -> Result<(), StoreError> {
        if self.links.iter().all(|(copy, _)| copy.content == *content) {
            return Ok(());
        }
        let message = format!("document {id} is in the store with different bytes");
        Err(StoreError::new(StoreErrorKind::Conflict, message))
    }

    /// The copy to be used: the first one that is whole and that no collection has marked.
    fn copy_of(&self, content: &Hash, size: u64) -> Option<Copy> {
        let (number, _) = self.copies.iter().find(|(_, found)| **found == (Some(size), false))?;
        Some(Copy { content: *content, number: *number })
    }

    /// A copy whose number nobody has.
    fn new_copy(&self, content: &Hash) -> Copy {
        let number = self.copies.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        Copy { content: *content, number }
    }
}

impl DocumentStore for ObjectDocumentStore {
    fn id(&self) -> &str {
        &self.id
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.keep(document))
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(self.bytes(id))
    }

    fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.renewed(id))
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.forget(id))
    }
}

impl fmt::Debug for ObjectDocumentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectDocumentStore")
            .field("id", &self.id)
            .field("objects", &format_args!("{}", self.backend.objects))
            .field("max_bytes", &self.max_bytes)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}

async fn hash(bytes: Bytes) -> Result<Hash, StoreError> {
    if bytes.len() < WORTH_A_THREAD {
        return Ok(hash_of(&bytes));
    }
    tokio::task::spawn_blocking(move || hash_of(&bytes)).await.map_err(|error| {
        StoreError::new(StoreErrorKind::Unavailable, "the document operation was interrupted")
            .with_source(error)
    })
}

fn link_text(id: &DocumentId, content: &Hash, bytes: usize) -> Bytes {
    let link = Link { id: id.as_str(), sha256: hex(content), bytes };
    // Nothing reads it but people: the name says it all.
    Bytes::from(serde_json::to_vec(&link).unwrap_or_default())
}

fn corrupt(id: &DocumentId, problem: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, format!("document {id} cannot be read: {problem}"))
}
