//! The parts of an agent, for programs around it.

use std::sync::Arc;

use attache_core::{Document, DocumentSource, DocumentStore, ModelSettings};

use crate::agent::Agent;

impl Agent {
    /// Its instructions.
    pub fn instructions(&self) -> Option<&str> {
        self.setup().system.as_deref()
    }

    /// The settings with which it asks its model.
    pub fn settings(&self) -> &ModelSettings {
        &self.setup().settings
    }

    /// The store that keeps its documents.
    pub fn store(&self) -> Arc<dyn DocumentStore> {
        Arc::clone(&self.setup().store)
    }

    /// An external document with what is at its address: as its runs have fetched it, or by its fetcher now, which its store
    /// then keeps. `None` if it is at no address, or cannot be had.
    pub async fn fetched(&self, document: &Document) -> Option<Document> {
        let DocumentSource::External { url } = document.source() else { return None };
        let (store, fetcher) = (&self.setup().store, self.setup().fetcher.as_ref());
        if let Ok(bytes) = store.get(document.id()).await {
            return Some(document.clone().with_bytes(bytes));
        }
        let fetched = fetcher?.fetch(url).await;
        let fetched = fetched.inspect_err(
            |error| tracing::warn!(document = %document.id(), %error, "a document cannot be fetched"),
        );
        let document = document.clone().with_bytes(fetched.ok()?.bytes);
        if let Err(error) = store.put(&document).await {
            tracing::warn!(document = %document.id(), %error, "a fetched document cannot be kept");
        }
        Some(document)
    }
}
