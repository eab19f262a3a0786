//! The documents of the conversation, for the tools.

use std::sync::Arc;

use attache_core::{ConversationDocuments, DocumentStore, Message};
use attache_documents::Materials;

/// The documents that the history holds, read once each.
pub(crate) struct Shelf {
    documents: ConversationDocuments,
    seen: usize,
}

impl Shelf {
    pub(crate) fn new(store: Arc<dyn DocumentStore>) -> Self {
        Self { documents: ConversationDocuments::new().with_store(store), seen: 0 }
    }

    /// Adds what the history holds since the last look. A synthetic message may have moved some messages on since;
    /// they are looked at again, which changes nothing.
    pub(crate) fn catch_up(&mut self, history: &[Arc<Message>]) {
        self.documents.add(history.get(self.seen..).unwrap_or_default());
        self.seen = history.len();
    }

    /// Adds the documents inside others that routing may show.
    pub(crate) fn add_inside(&mut self, materials: &Materials) {
        materials.inside().for_each(|document| self.documents.insert(document));
    }

    /// What a tool gets: no copy of the list.
    pub(crate) fn documents(&self) -> ConversationDocuments {
        self.documents.clone()
    }
}
