//! The parts of an agent, for programs around it.

use std::sync::Arc;

use attache_core::{Document, DocumentStore, ModelSettings};

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

    /// A document with its content: its own, that in the agent's store, or that at the address of an external one, as the
    /// agent's runs fetch it and keep it in the store. See [`load`](attache_documents::load).
    ///
    /// # Errors
    /// The reason why the content cannot be had, in words that follow the document's name.
    pub async fn load(&self, document: &Document) -> Result<Document, String> {
        let setup = self.setup();
        attache_documents::load(document, &*setup.store, setup.fetcher.as_deref()).await
    }
}
