//! The documents that a reply may cite.

use std::sync::Arc;

use attache_core::citation::{Citation, Source};
use attache_core::{Document, MediaKind, Message, UserPart};

/// The request under way, where what its reply cites is told.
pub(super) struct Citable {
    /// Its documents in order, images apart.
    pub(super) documents: Vec<Document>,
    /// The citations of its reply that were told.
    pub(super) told: usize,
}

/// The documents that messages show as they are, images apart, in order.
pub(super) fn shown_documents(messages: &[Arc<Message>]) -> Vec<Document> {
    let parts = messages.iter().flat_map(|message| -> Vec<&UserPart> {
        match &**message {
            Message::User(user) => user.shown().iter().collect(),
            Message::ToolResults(results) => {
                results.results.iter().flat_map(|result| result.attached()).collect()
            }
            _ => Vec::new(),
        }
    });
    let documents = parts.filter_map(|part| match part {
        UserPart::Document(document) => Some(document),
        _ => None,
    });
    documents.filter(|document| document.media_type().kind() != MediaKind::Image).cloned().collect()
}

/// A document as the source of a citation.
pub(super) fn source(document: &Document) -> Source {
    Source::Document { id: document.id().clone(), name: document.file_name().map(str::to_owned) }
}

/// Gives a provider's citation the document that it means: of those that were `sent` as they are the one of that number,
/// texts apart, or the one of that id.
pub(super) fn name(citation: &mut Citation, sent: &[Document]) {
    let meant = match &citation.source {
        Source::Nth { index, .. } => usize::try_from(*index).ok().and_then(|index| {
            sent.iter().filter(|document| document.media_type().kind() != MediaKind::Text).nth(index)
        }),
        Source::Foreign { id, .. } => sent.iter().find(|document| document.id().as_str() == id),
        _ => None,
    };
    if let Some(document) = meant {
        citation.source = source(document);
    }
}
