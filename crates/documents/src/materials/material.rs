//! One thing that is known of a document.

use attache_core::converter::{ConvertedText, MediaLimits, RenderedPages, Transcoded};
use attache_core::fetcher::Fetched;
use bytes::Bytes;

use crate::materials::PageRequest;

/// One thing that is known of a document: the outcome of what a [`Plan`](crate::Plan) asks for. Reasons are read by the
/// model: one line, no full stop, no secrets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Material {
    /// Its bytes, as a store or a fetch delivered them. Its media type is checked against them.
    Bytes(Bytes),
    /// The content from the address of an external document, with the server's answer about it: the server's type counts
    /// before the address's, its name where the document has none. Both are checked against the bytes.
    Fetched(Fetched),
    /// Its bytes cannot be had, for this reason.
    Missing(String),
    /// A converter's answer about it and a form: that it fits, or the content to show in its place. An answer that is
    /// not in that form counts as none.
    Transcoded(MediaLimits, Transcoded),
    /// A converter looked at it and cannot bring it into a form, or it cannot be read at all, for this reason.
    Untranscodable(MediaLimits, String),
    /// Nobody can say whether it is in a form beyond what its header says, or bring it there.
    Unchecked(MediaLimits),
    /// The text that a converter made of it. Blank text counts as none. The documents inside it get ids of its own, the
    /// same each time: [`DocumentId::inside`](attache_core::DocumentId::inside).
    Converted(ConvertedText),
    /// No text can be made of it, for this reason.
    Unconvertible(String),
    /// Pages of it as images, as a converter rendered them. An answer that is not what was asked for counts as none.
    Rendered(PageRequest, RenderedPages),
    /// Pages of it cannot be rendered, for this reason.
    Unrenderable(PageRequest, String),
    /// Nobody can render pages of it.
    Unrendered(PageRequest),
}

impl From<Bytes> for Material {
    fn from(known: Bytes) -> Self {
        Self::Bytes(known)
    }
}

impl From<Fetched> for Material {
    fn from(known: Fetched) -> Self {
        Self::Fetched(known)
    }
}

impl From<ConvertedText> for Material {
    fn from(known: ConvertedText) -> Self {
        Self::Converted(known)
    }
}
