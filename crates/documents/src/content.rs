//! The content of a document that is at hand, and what its header says.

use attache_core::{Document, DocumentSource};

/// The content of a document that is in memory.
pub(crate) fn content_bytes(document: &Document) -> Option<&[u8]> {
    match document.source() {
        DocumentSource::Bytes(bytes) => Some(bytes),
        DocumentSource::Inline { text } => Some(text.as_bytes()),
        _ => None,
    }
}

/// True if both hold the same piece of memory. Both handles keep theirs alive, so it holds the same content.
pub(crate) fn is_same_memory(a: &Document, b: &Document) -> bool {
    match (content_bytes(a), content_bytes(b)) {
        (Some(a), Some(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len(),
        _ => false,
    }
}

/// Width and height of an image by its header, if that can be read.
pub(crate) fn pixels(bytes: &[u8]) -> Option<(u64, u64)> {
    let size = imagesize::blob_size(bytes).ok()?;
    Some((size.width as u64, size.height as u64))
}
