//! Documents that are in memory alone, and the word of those that the store did not take.

use attache_core::{Document, DocumentSource, StoreError, StoreErrorKind, ToolResult};

use crate::event::EventKind;
use crate::store_documents::documents_of;

/// True if a document's bytes are in memory alone.
pub(super) fn is_held(document: &&Document) -> bool {
    matches!(document.source(), DocumentSource::Bytes(_))
}

/// The documents of a result whose bytes are in memory alone.
pub(super) fn held_of(result: &ToolResult) -> impl Iterator<Item = Document> {
    documents_of(result).filter(is_held).cloned()
}

pub(super) fn not_stored(error: &StoreError) -> EventKind {
    tracing::warn!(%error, "documents could not be stored");
    let until_then = match error.kind() {
        StoreErrorKind::Conflict => "since the store has another one under its id",
        _ => "and stays in memory",
    };
    EventKind::Warning {
        code: "document_not_stored",
        message: format!("a document could not be stored, {until_then}: {error}"),
    }
}
