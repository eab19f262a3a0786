//! Handles on documents, and where their bytes are kept.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::capture;
use crate::id::DocumentId;
use crate::media::MediaType;
use crate::provider::BoxFuture;

/// A cheap handle on a document: identity, media type, name, and where its bytes are.
///
/// Cloning copies a pointer. Serialising writes a *reference*, never the bytes, and tells the innermost active
/// [`Capture`](crate::Capture) that the document was seen. There is deliberately no `Deserialize`: a reference in
/// untrusted JSON must not become a document. A tool that takes a document takes a
/// [`DocumentRef`](crate::DocumentRef).
///
/// ```
/// use attache_core::Document;
/// let invoice = Document::from_bytes(&b"%PDF-1.7"[..], "application/octet-stream").with_file_name("invoice.pdf");
/// assert_eq!(invoice.media_type().essence(), "application/pdf");
/// ```
#[derive(Clone)]
pub struct Document(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    id: DocumentId,
    media_type: MediaType,
    file_name: Option<Arc<str>>,
    size: Option<u64>,
    store_id: Option<Arc<str>>,
    source: DocumentSource,
    hash: OnceLock<[u8; 32]>,
}

/// Where the content of a document is.
#[derive(Clone)]
#[non_exhaustive]
pub enum DocumentSource {
    /// In memory.
    Bytes(Bytes),
    /// In a [`DocumentStore`], under the document's id.
    Stored,
    /// At a URL. It is never fetched for a label, and shown to the model only by policy.
    External {
        /// An `http` or `https` address.
        url: Arc<str>,
    },
    /// Text that is part of the reference itself.
    Inline {
        /// The text.
        text: Arc<str>,
    },
}

impl Document {
    /// A document of `bytes`. A missing, meaningless or wrong `media_type` is replaced by what the bytes say.
    pub fn from_bytes(bytes: impl Into<Bytes>, media_type: &str) -> Self {
        let bytes = bytes.into();
        let media_type = MediaType::resolve(Some(media_type), Some(&bytes), None);
        let size = u64::try_from(bytes.len()).ok();
        Self::build(DocumentId::new(), media_type, size, DocumentSource::Bytes(bytes))
    }

    /// A document of text, `text/plain` until [`with_media_type`](Self::with_media_type) says otherwise.
    pub fn inline(text: impl Into<String>) -> Self {
        let text: Arc<str> = Arc::from(text.into());
        let size = u64::try_from(text.len()).ok();
        let media_type = MediaType::resolve(Some("text/plain"), None, None);
        Self::build(DocumentId::new(), media_type, size, DocumentSource::Inline { text })
    }

    /// A document at a URL. Its type is taken from the path's extension until
    /// [`with_media_type`](Self::with_media_type) says otherwise; nothing is fetched.
    pub fn external(url: impl Into<String>) -> Self {
        let url: Arc<str> = Arc::from(url.into());
        let path = url.split(['?', '#']).next().unwrap_or(&url);
        let media_type = MediaType::resolve(None, None, path.rsplit('/').next());
        Self::build(DocumentId::new(), media_type, None, DocumentSource::External { url })
    }

    /// A document whose bytes a store holds under `id`.
    pub fn stored(id: DocumentId, store_id: impl Into<String>, media_type: &str) -> Self {
        let media_type = MediaType::resolve(Some(media_type), None, None);
        Self::build(id, media_type, None, DocumentSource::Stored).with_store_id(store_id)
    }

    fn build(id: DocumentId, media_type: MediaType, size: Option<u64>, source: DocumentSource) -> Self {
        let hash = OnceLock::new();
        Self(Arc::new(Inner { id, media_type, file_name: None, size, store_id: None, source, hash }))
    }

    fn edit(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the file name; a blank one counts as none. The media type follows if it was unknown.
    #[must_use]
    pub fn with_file_name(self, name: impl Into<String>) -> Self {
        let name: String = name.into();
        self.edit(|inner| {
            let generic = matches!(
                inner.media_type.essence(),
                "application/octet-stream" | "text/plain" | "application/zip"
            );
            if let Some(media_type) = MediaType::from_file_name(&name).filter(|_| generic) {
                inner.media_type = media_type.with_charset_of(&inner.media_type);
            }
            inner.file_name = (!name.trim().is_empty()).then(|| Arc::from(name));
        })
    }

    /// Sets the media type; text that is no media type is ignored.
    #[must_use]
    pub fn with_media_type(self, media_type: &str) -> Self {
        self.edit(|inner| {
            if let Some(media_type) = MediaType::parse(media_type) {
                inner.media_type = media_type;
            }
        })
    }

    /// Sets the identity, for documents that have one already.
    #[must_use]
    pub fn with_id(self, id: DocumentId) -> Self {
        self.edit(|inner| inner.id = id)
    }

    /// Names the store that holds or will hold the bytes.
    #[must_use]
    pub fn with_store_id(self, store_id: impl Into<String>) -> Self {
        self.edit(|inner| inner.store_id = Some(Arc::from(store_id.into())))
    }

    pub(crate) fn with_optional_store_id(self, store_id: Option<String>) -> Self {
        self.edit(|inner| inner.store_id = store_id.filter(|id| !id.is_empty()).map(Arc::from))
    }

    /// Sets the size in bytes where it is known without the bytes.
    #[must_use]
    pub fn with_size(self, size: u64) -> Self {
        self.edit(|inner| inner.size = Some(size))
    }

    /// The same document with its bytes in memory, as a store or a fetch delivered them.
    #[must_use]
    pub fn with_bytes(self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        self.edit(|inner| {
            inner.size = u64::try_from(bytes.len()).ok();
            inner.media_type = MediaType::resolve(
                Some(&inner.media_type.to_string()),
                Some(&bytes),
                inner.file_name.as_deref(),
            );
            inner.source = DocumentSource::Bytes(bytes);
            inner.hash = OnceLock::new();
        })
    }

    /// The same document as a pure reference: bytes in memory are let go, a store is expected to hold them.
    #[must_use]
    pub fn without_bytes(self) -> Self {
        match &self.0.source {
            DocumentSource::Bytes(_) => self.edit(|inner| inner.source = DocumentSource::Stored),
            _ => self,
        }
    }

    /// The identity.
    pub fn id(&self) -> &DocumentId {
        &self.0.id
    }

    /// The normalised media type.
    pub fn media_type(&self) -> &MediaType {
        &self.0.media_type
    }

    /// The file name, if it is known without the network.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file_name.as_deref()
    }

    /// The size in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.0.size
    }

    /// The store that holds the bytes, if one does.
    pub fn store_id(&self) -> Option<&str> {
        self.0.store_id.as_deref()
    }

    /// Where the content is.
    pub fn source(&self) -> &DocumentSource {
        &self.0.source
    }

    /// The content, if it is in memory. Inline text counts, as UTF-8.
    pub fn bytes(&self) -> Option<Bytes> {
        match &self.0.source {
            DocumentSource::Bytes(bytes) => Some(bytes.clone()),
            DocumentSource::Inline { text } => Some(Bytes::copy_from_slice(text.as_bytes())),
            DocumentSource::Stored | DocumentSource::External { .. } => None,
        }
    }

    /// The SHA-256 of the content if it is in memory; computed once.
    pub fn hash(&self) -> Option<[u8; 32]> {
        let content: &[u8] = match &self.0.source {
            DocumentSource::Bytes(bytes) => bytes,
            DocumentSource::Inline { text } => text.as_bytes(),
            DocumentSource::Stored | DocumentSource::External { .. } => return None,
        };
        Some(*self.0.hash.get_or_init(|| Sha256::digest(content).into()))
    }

    /// Whether both handles stand for the same document: the same id or, for external ones, the same URL.
    pub fn is_same(&self, other: &Document) -> bool {
        match (&self.0.source, &other.0.source) {
            (DocumentSource::External { url: a }, DocumentSource::External { url: b }) if a == b => true,
            _ => Arc::ptr_eq(&self.0, &other.0) || self.0.id == other.0.id,
        }
    }

    /// Writes the reference. A capture decides whether the model sees a URL; stored conversations always hold it.
    pub(crate) fn write_reference<S: Serializer>(
        &self,
        serializer: S,
        seen_by_model: bool,
    ) -> Result<S::Ok, S::Error> {
        let inner = &*self.0;
        let mut map = serializer.serialize_map(None)?;
        let kind = match &inner.source {
            DocumentSource::Bytes(_) | DocumentSource::Stored => "stored",
            DocumentSource::External { .. } => "external",
            DocumentSource::Inline { .. } => "inline",
        };
        map.serialize_entry(MARKER, kind)?;
        map.serialize_entry("documentId", &inner.id)?;
        match &inner.source {
            DocumentSource::Bytes(_) | DocumentSource::Stored => {
                let own = inner.store_id.as_deref().map(str::to_owned);
                let store = own.or_else(|| seen_by_model.then(capture::store_id).flatten());
                if let Some(store) = store {
                    map.serialize_entry("storeId", &store)?;
                }
            }
            DocumentSource::External { url } if !seen_by_model => map.serialize_entry("url", url)?,
            DocumentSource::Inline { text } if !seen_by_model => map.serialize_entry("content", text)?,
            DocumentSource::External { .. } | DocumentSource::Inline { .. } => {}
        }
        map.serialize_entry(
            "metadata",
            &ReferenceMetadata {
                content_type: inner.media_type.to_string(),
                file_name: inner.file_name.as_deref(),
                size: inner.size,
            },
        )?;
        map.end()
    }
}

/// The member that makes a JSON object a document reference.
pub(crate) const MARKER: &str = "attache.document";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceMetadata<'a> {
    content_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match capture::register(self) {
            capture::Registered::NoScope => self.write_reference(serializer, false),
            capture::Registered::Yes => self.write_reference(serializer, true),
            capture::Registered::Full => Err(S::Error::custom("too many documents in one result")),
        }
    }
}

/// Two handles are equal if they have the same identity and description; bytes are not compared.
impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
            && self.media_type() == other.media_type()
            && self.file_name() == other.file_name()
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("id", &self.0.id)
            .field("media_type", &self.0.media_type)
            .field("file_name", &self.0.file_name)
            .field("size", &self.0.size)
            .field("source", &self.0.source)
            .finish()
    }
}

impl fmt::Debug for DocumentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Stored => f.write_str("Stored"),
            // A URL often carries a signature or a token.
            Self::External { .. } => f.write_str("External"),
            Self::Inline { text } => write!(f, "Inline({} bytes)", text.len()),
        }
    }
}

/// Keeps the bytes of documents.
///
/// Implementations are cheap to share and bounded; the agent puts each document before the entry that mentions it
/// is recorded.
pub trait DocumentStore: Send + Sync {
    /// The id that references name as `storeId`.
    fn id(&self) -> &str;

    /// Keeps the bytes of `document`, which must be in memory. Putting the same document again is no error.
    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The bytes kept under `id`.
    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// Forgets the bytes under `id`; an unknown id is no error.
    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Why a store could not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Nothing is kept under that id (or no longer).
    NotFound,
    /// The store is full, or the item is larger than it takes.
    TooLarge,
    /// What is kept cannot be read.
    Corrupt,
    /// Another writer holds the place.
    Conflict,
    /// The backend did not answer.
    Unavailable,
}

/// A failure of a store.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// An error of `kind`.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_holds_no_bytes() {
        let document = Document::from_bytes(&b"%PDF-1.7 secret"[..], "")
            .with_file_name("a.pdf")
            .with_store_id("main")
            .with_id(DocumentId::parse("d-1").unwrap());
        assert_eq!(
            serde_json::to_string(&document).unwrap(),
            r#"{"attache.document":"stored","documentId":"d-1","storeId":"main","metadata":{"contentType":"application/pdf","fileName":"a.pdf","size":15}}"#
        );
    }

    #[test]
    fn debug_shows_no_content_and_no_url() {
        let text =
            format!("{:?} {:?}", Document::inline("canary"), Document::external("https://x/?sig=canary"));
        assert!(!text.contains("canary"), "{text}");
    }

    #[test]
    fn a_file_name_refines_an_unknown_type_only() {
        let csv = Document::from_bytes(&b"a,b"[..], "").with_file_name("x.csv");
        assert_eq!(csv.media_type().essence(), "text/csv");
        let png = Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png").with_file_name("x.pdf");
        assert_eq!(png.media_type().essence(), "image/png");
    }

    // A name says what kind of text it is, not in which charset.
    #[test]
    fn a_file_name_leaves_the_charset() {
        let named = |media_type: &str, name: &str| {
            let document = Document::from_bytes(&b"M\xfcller,1"[..], media_type).with_file_name(name);
            document.media_type().to_string()
        };
        for name in ["x.csv", "x.json", "x.svg"] {
            let media_type = named("text/plain; charset=ISO-8859-1", name);
            assert!(media_type.ends_with("; charset=iso-8859-1"), "{media_type}");
        }
        assert_eq!(named("text/plain; charset=iso-8859-1", "x.txt"), "text/plain; charset=iso-8859-1");
        assert_eq!(named("text/plain", "x.csv"), "text/csv");
        assert_eq!(named("application/zip", "x.csv"), "text/csv");
        assert_eq!(
            named("text/plain; charset=iso-8859-1", "x.zip"),
            "application/zip",
            "a charset is of text"
        );
    }

    #[test]
    fn same_external_url_is_the_same_document() {
        assert!(Document::external("https://x/a.pdf").is_same(&Document::external("https://x/a.pdf")));
        assert!(!Document::inline("a").is_same(&Document::inline("a")));
    }
}
