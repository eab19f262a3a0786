//! The parts of an agent, for programs around it.

use std::sync::Arc;

use attache_core::{DocumentStore, ModelSettings};

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
}
