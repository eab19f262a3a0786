//! Documents that are already stored at a provider.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::document::{Document, DocumentSource};
use crate::hash::hex;
use crate::message::{Message, UserPart};

/// The identity of a file at a provider: content, media type and name, since some models read the name too. Two
/// documents with the same key are the same file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey([u8; 32]);

impl FileKey {
    /// The key of a document whose bytes are in memory. The content of a document is hashed only once.
    pub fn of(document: &Document) -> Option<Self> {
        let content = document.hash()?;
        let media = document.media_type().essence();
        let digest = Sha256::new()
            .chain_update(content)
            .chain_update(media)
            .chain_update([0])
            .chain_update(document.file_name().unwrap_or_default());
        Some(Self(digest.finalize().into()))
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileKey({}…)", hex(self.0.iter().take(4)))
    }
}

/// Documents that are already stored at the provider of a request, each with the id or URL by which the request may
/// reference it instead of containing its bytes.
///
/// A model that is configured to upload fills it automatically, so you need it only for files that you uploaded
/// yourself. If an API does not support a reference in some place, the bytes are sent instead. Cloning copies a
/// pointer.
///
/// ```
/// use attache_core::Document;
/// use attache_core::files::FileReferences;
/// let report = Document::from_bytes(&b"%PDF-1.7 ..."[..], "application/pdf").with_file_name("q3.pdf");
/// let mut files = FileReferences::new();
/// files.insert(&report, "file_011CNha8iCJcU1wXNR6q4V8w");
/// assert_eq!(files.get(&report), Some("file_011CNha8iCJcU1wXNR6q4V8w"));
/// ```
#[derive(Clone, Default)]
pub struct FileReferences {
    /// There once a document is known: most requests know none.
    known: Option<Arc<HashMap<FileKey, Arc<str>>>>,
    /// The size of the smallest document, so that smaller ones need not be hashed.
    least: usize,
}

impl FileReferences {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document whose bytes are in memory. Returns `false` and adds nothing if they are not.
    pub fn insert(&mut self, document: &Document, reference: impl Into<Arc<str>>) -> bool {
        let (Some(key), Some(size)) = (FileKey::of(document), size_of(document)) else { return false };
        self.least = if self.is_empty() { size } else { self.least.min(size) };
        Arc::make_mut(self.known.get_or_insert_default()).insert(key, reference.into());
        true
    }

    /// The id or URL by which a request may reference the document; `None` if its bytes must be sent.
    pub fn get(&self, document: &Document) -> Option<&str> {
        let known = self.known.as_ref()?;
        if size_of(document)? < self.least {
            return None;
        }
        known.get(&FileKey::of(document)?).map(|reference| &**reference)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.known.is_none()
    }

    /// A number that changes with the references to a message's documents, because the rendered message depends on
    /// them. 0 without references.
    pub fn variant(&self, message: &Message) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let mut hasher = DefaultHasher::new();
        let mut any = false;
        let mut add = |content: &UserPart| {
            if let UserPart::Document(document) = content
                && let Some(reference) = self.get(document)
            {
                any = true;
                reference.hash(&mut hasher);
            }
        };
        match message {
            Message::User(message) => message.shown().iter().for_each(add),
            Message::ToolResults(message) => {
                message.results.iter().flat_map(|result| result.attached()).for_each(&mut add);
            }
            _ => {}
        }
        if any { hasher.finish() } else { 0 }
    }
}

/// The size of what is in memory as bytes. Text of a reference is never uploaded.
fn size_of(document: &Document) -> Option<usize> {
    match document.source() {
        DocumentSource::Bytes(bytes) => Some(bytes.len()),
        _ => None,
    }
}

impl fmt::Debug for FileReferences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileReferences({})", self.known.as_ref().map_or(0, |known| known.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::UserMessage;

    fn pdf(text: &str) -> Document {
        Document::from_bytes(format!("%PDF-1.7 {text}").into_bytes(), "application/pdf")
    }

    #[test]
    fn the_same_content_type_and_name_are_the_same_file() {
        let mut files = FileReferences::new();
        assert!(files.insert(&pdf("one").with_file_name("a.pdf"), "file-1"));
        assert_eq!(files.get(&pdf("one").with_file_name("a.pdf")), Some("file-1"), "whatever its id is");
        assert_eq!(files.get(&pdf("one").with_file_name("b.pdf")), None, "a model may read the name");
        assert_eq!(files.get(&pdf("two").with_file_name("a.pdf")), None);
        assert!(!files.insert(&Document::external("https://x/a.pdf"), "file-2"));
        assert!(!files.insert(&Document::inline("text"), "file-3"));
    }

    // Invariant 4
    #[test]
    fn a_message_is_rendered_anew_where_a_reference_differs() {
        let message = Message::User(UserMessage::new([pdf("one").into(), pdf("two").into()]));
        let with = |names: &[(&str, &str)]| {
            let mut files = FileReferences::new();
            names.iter().for_each(|(text, name)| assert!(files.insert(&pdf(text), *name)));
            files.variant(&message)
        };
        assert_eq!(with(&[]), 0);
        assert_eq!(with(&[("other", "file-9")]), 0, "what it holds counts, not what else is known");
        let one = with(&[("one", "file-1")]);
        assert_eq!(with(&[("one", "file-1"), ("other", "file-9")]), one);
        let all = [0, one, with(&[("one", "file-3")]), with(&[("one", "file-1"), ("two", "file-2")])];
        let distinct: std::collections::HashSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
