//! Documents that are in memory alone, and the word of those that the store did not take.

use attache_core::{Document, DocumentSource, StoreError};

use crate::event::EventKind;

/// True if a document's bytes are in memory alone.
pub(super) fn is_held(document: &&Document) -> bool {
    matches!(document.source(), DocumentSource::Bytes(_))
}

pub(super) fn not_stored(error: &StoreError) -> EventKind {
    tracing::warn!(%error, "documents could not be stored");
    EventKind::Warning {
        code: "document_not_stored",
        message: format!("a document could not be stored, and stays in memory: {error}"),
    }
}
