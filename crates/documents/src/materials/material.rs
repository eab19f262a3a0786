//! One piece of material about a document.

use attache_core::converter::{ConvertedText, MediaLimits, RenderedPages, Transcoded};
use attache_core::fetcher::Fetched;
use bytes::Bytes;

use crate::materials::PageRequest;

/// One piece of material about a document: the result of something that a [`Plan`](crate::Plan) requests. Reasons are
/// read by the model: one line, no full stop, no secrets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Material {
    /// The bytes as delivered by a store or a fetch. The media type is checked against them.
    Bytes(Bytes),
    /// The content at the URL of an external document, with the type and name sent by the server: its type overrides
    /// that of the URL, its name is used if the document has none. Both are checked against the bytes.
    Fetched(Fetched),
    /// The bytes are not available, for this reason.
    Missing(String),
    /// A converter's result for a form: the document fits, or this content is shown instead. A result that is not in
    /// that form is ignored.
    Transcoded(MediaLimits, Transcoded),
    /// A converter cannot bring it into a form, or cannot read it at all, for this reason.
    Untranscodable(MediaLimits, String),
    /// No converter can check if it is in a form (beyond its header), or bring it into that form.
    Unchecked(MediaLimits),
    /// The text that a converter extracted from it. Blank text is ignored. The documents inside it get new ids, the
    /// same each time: [`DocumentId::inside`](attache_core::DocumentId::inside).
    Converted(ConvertedText),
    /// It cannot be converted to text, for this reason.
    Unconvertible(String),
    /// Pages that a converter rendered as images. A result that does not match the request is ignored.
    Rendered(PageRequest, RenderedPages),
    /// Its pages cannot be rendered, for this reason.
    Unrenderable(PageRequest, String),
    /// No converter can render its pages.
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
