//! The types and names that servers give to documents.

use attache_core::{Document, MediaKind, MediaType};

/// The answer of a server about a document.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) media_type: Option<MediaType>,
    pub(super) file_name: Option<String>,
}

impl Said {
    /// The document with what it did not say itself, and with a type that says more than its own.
    pub(super) fn of(&self, mut document: Document) -> Document {
        if let Some(media_type) = &self.media_type
            && says_more(media_type, document.media_type())
        {
            document = document.with_media_type(&media_type.to_string());
        }
        match &self.file_name {
            Some(name) if document.file_name().is_none() => document.with_file_name(name.as_str()),
            _ => document,
        }
    }
}

/// True if the server's type counts before the address's. Some servers call all text plain, and office files plain text
/// or archives; but a thing that they call text is no picture.
fn says_more(said: &MediaType, known: &MediaType) -> bool {
    let vague = |media: &MediaType| {
        matches!(media.essence(), "text/plain" | "application/zip" | "application/octet-stream")
    };
    match (said.kind(), known.kind()) {
        (MediaKind::Text, MediaKind::Text | MediaKind::Other) => !vague(said) || vague(known),
        (MediaKind::Text, _) => true,
        _ => !vague(said) || vague(known),
    }
}
