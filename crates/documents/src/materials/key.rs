//! The identity under which things are known of a document: its id and its content.

use attache_core::{Document, DocumentId};

use crate::content::is_same_memory;

/// The SHA-256 of a content.
pub(crate) type Digest = [u8; 32];

/// A document, as far as anything is known about it: its id, and its content where that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) id: DocumentId,
    pub(crate) content: Option<Digest>,
}

impl Key {
    /// The same id, whatever the content.
    pub(crate) fn of_any_content(&self) -> Self {
        Self { id: self.id.clone(), content: None }
    }
}

/// The content of a document, as far as two documents of one id are to be told apart.
#[derive(Clone, Copy)]
pub(crate) enum Print<'m> {
    /// It is in memory.
    Here(&'m Document),
    /// It was.
    LetGo(Digest),
    /// Nobody has seen it.
    Unknown,
}

impl Print<'_> {
    /// True if both are certainly the same, without a look at the content.
    pub(crate) fn is_surely(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here(a), Self::Here(b)) => is_same_memory(a, b),
            (Self::LetGo(a), Self::LetGo(b)) => a == b,
            (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }

    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Here(document) => document.hash(),
            Self::LetGo(digest) => Some(*digest),
            Self::Unknown => None,
        }
    }
}
