//! The documents that every client may read, which the program may change while it serves them.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use attache_core::Document;
use tokio::sync::broadcast;

/// The changes that a session may be behind; one that is further behind is told that everything has changed.
const BEHIND: usize = 256;

/// Documents of yours that clients read as resources, at addresses of yours. Clones are of the same documents: keep one to
/// change them while they are served. Clients that subscribed to a document are told when it changes, and all when there
/// are others.
///
/// ```
/// use attache_core::Document;
/// use attache_mcp::{McpResources, McpService};
///
/// let resources = McpResources::new();
/// resources.set("report://today", Document::new("Nothing yet.").with_file_name("today.txt"));
/// let service = McpService::new("reports").with_resources(&resources);
/// // Later, while it is served:
/// resources.set("report://today", Document::new("It rained.").with_file_name("today.txt"));
/// # let _ = service;
/// ```
#[derive(Clone)]
pub struct McpResources(Arc<Inner>);

struct Inner {
    documents: RwLock<Vec<(String, Document)>>,
    changes: broadcast::Sender<Change>,
}

/// A change that clients are told.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// There are others.
    List,
    /// This one is another.
    Document(Arc<str>),
}

impl Default for McpResources {
    fn default() -> Self {
        Self(Arc::new(Inner { documents: RwLock::default(), changes: broadcast::Sender::new(BEHIND) }))
    }
}

impl McpResources {
    /// No documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the document at an address, or replaces it. Its bytes must be in memory: one without them is not listed, as
    /// nobody could read it.
    pub fn set(&self, uri: impl Into<String>, document: Document) {
        let uri = uri.into();
        if document.bytes().is_none() {
            tracing::warn!(uri, "a resource has no bytes in memory, so that it is not listed");
        }
        let change = {
            let mut documents = self.0.documents.write().unwrap_or_else(PoisonError::into_inner);
            match documents.iter_mut().find(|(known, _)| *known == uri) {
                Some((_, old)) => {
                    *old = document;
                    Change::Document(uri.into())
                }
                None => {
                    documents.push((uri, document));
                    Change::List
                }
            }
        };
        self.tell(change);
    }

    /// Removes the document at an address. False if there was none.
    pub fn remove(&self, uri: &str) -> bool {
        let was_there = {
            let mut documents = self.0.documents.write().unwrap_or_else(PoisonError::into_inner);
            let count = documents.len();
            documents.retain(|(known, _)| known != uri);
            documents.len() < count
        };
        if was_there {
            self.tell(Change::List);
        }
        was_there
    }

    /// Tells clients that subscribed to this address that its document has changed: one of a
    /// [template](crate::McpTemplate), which are not kept here.
    pub fn changed(&self, uri: &str) {
        self.tell(Change::Document(uri.into()));
    }

    fn tell(&self, change: Change) {
        // Nobody may listen.
        let _ = self.0.changes.send(change);
    }

    pub(super) fn read(&self, uri: &str) -> Option<Document> {
        let documents = self.0.documents.read().unwrap_or_else(PoisonError::into_inner);
        documents.iter().find(|(known, _)| known == uri).map(|(_, document)| document.clone())
    }

    pub(super) fn all(&self) -> Vec<(String, Document)> {
        self.0.documents.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Change> {
        self.0.changes.subscribe()
    }
}

impl fmt::Debug for McpResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpResources").finish_non_exhaustive()
    }
}
