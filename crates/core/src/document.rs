//! Handles on documents.

pub(crate) mod reference;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::hash::hex;
use crate::id::DocumentId;
use crate::media::MediaType;

/// A cheap handle to a document: its id, media type, name, and the location of its bytes.
///
/// Cloning copies a pointer. Serialising writes a *reference*, never the bytes, a URL or inline text, and registers the
/// document with the innermost active [`Capture`](crate::Capture). Outside of a capture the reference says that its
/// content is not available, because nothing keeps the document. `Deserialize` is deliberately not implemented: a
/// reference in untrusted JSON must not become a document. A tool that needs a document as an argument takes a
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
    number: u64,
    hash: OnceLock<[u8; 32]>,
}

/// The number of a new content.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The location of a document's content.
#[derive(Clone)]
#[non_exhaustive]
pub enum DocumentSource {
    /// In memory.
    Bytes(Bytes),
    /// In a [`DocumentStore`](crate::DocumentStore), under the document's id.
    Stored,
    /// At a URL. It is never fetched for a label, and the URL is shown to the model only if the policy allows it.
    External {
        /// An `http` or `https` URL.
        url: Arc<str>,
    },
    /// Text that is part of the reference itself.
    Inline {
        /// The text.
        text: Arc<str>,
    },
}

impl Document {
    /// Creates a document from `bytes` and detects its media type from them, if possible. Set more with
    /// [`with_file_name`](Self::with_file_name) and [`with_media_type`](Self::with_media_type).
    ///
    /// ```
    /// use attache_core::Document;
    /// assert_eq!(Document::new(&b"%PDF-1.7"[..]).media_type().essence(), "application/pdf");
    /// let table = Document::new("day,rain\n1,0.4\n").with_file_name("rain.csv");
    /// assert_eq!(table.media_type().essence(), "text/csv");
    /// ```
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self::from_bytes(bytes, "")
    }

    /// Creates a document from `bytes` with a declared type. A missing, meaningless or wrong `media_type` is replaced
    /// by the type detected from the bytes.
    pub fn from_bytes(bytes: impl Into<Bytes>, media_type: &str) -> Self {
        let bytes = bytes.into();
        let media_type = MediaType::resolve(Some(media_type), Some(&bytes), None);
        let size = u64::try_from(bytes.len()).ok();
        Self::build(DocumentId::new(), media_type, size, DocumentSource::Bytes(bytes))
    }

    /// Creates a text document, `text/plain` unless [`with_media_type`](Self::with_media_type) sets another type.
    pub fn inline(text: impl Into<String>) -> Self {
        let text: Arc<str> = Arc::from(text.into());
        let size = u64::try_from(text.len()).ok();
        let media_type = MediaType::resolve(Some("text/plain"), None, None);
        Self::build(DocumentId::new(), media_type, size, DocumentSource::Inline { text })
    }

    /// Creates a document at a URL. Its type is taken from the path's extension unless
    /// [`with_media_type`](Self::with_media_type) sets another; nothing is fetched.
    pub fn external(url: impl Into<String>) -> Self {
        let url: Arc<str> = Arc::from(url.into());
        let path = url.split(['?', '#']).next().unwrap_or(&url);
        let media_type = MediaType::resolve(None, None, path.rsplit('/').next());
        Self::build(DocumentId::new(), media_type, None, DocumentSource::External { url })
    }

    /// Creates a document whose bytes are in a store under `id`.
    pub fn stored(id: DocumentId, store_id: impl Into<String>, media_type: &str) -> Self {
        let media_type = MediaType::resolve(Some(media_type), None, None);
        Self::build(id, media_type, None, DocumentSource::Stored).with_store_id(store_id)
    }

    fn build(id: DocumentId, media_type: MediaType, size: Option<u64>, source: DocumentSource) -> Self {
        let (number, hash) = (next_number(), OnceLock::new());
        Self(Arc::new(Inner { id, media_type, file_name: None, size, store_id: None, source, number, hash }))
    }

    fn edit(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets the file name; a blank name is ignored. An unknown media type is taken from the name, and a compatible one
    /// becomes more specific: plain text named `.csv` is CSV, a ZIP named `.docx` is a DOCX. A media type that
    /// contradicts the name is kept.
    #[must_use]
    pub fn with_file_name(self, name: impl Into<String>) -> Self {
        let name: String = name.into();
        self.edit(|inner| {
            let named = MediaType::from_file_name(&name);
            if let Some(named) = named.filter(|named| inner.media_type.is_refined_by(named)) {
                inner.media_type = named.with_charset_of(&inner.media_type);
            }
            inner.file_name = (!name.trim().is_empty()).then(|| Arc::from(name));
        })
    }

    /// Sets the media type; an invalid media type or a pattern such as `image/*` is ignored.
    #[must_use]
    pub fn with_media_type(self, media_type: &str) -> Self {
        self.edit(|inner| {
            if let Some(media_type) = MediaType::parse(media_type).filter(|media| !media.is_pattern()) {
                inner.media_type = media_type;
            }
        })
    }

    /// Sets the id, for documents that already have one.
    #[must_use]
    pub fn with_id(self, id: DocumentId) -> Self {
        self.edit(|inner| inner.id = id)
    }

    /// Names the store that holds or will hold the bytes.
    #[must_use]
    pub fn with_store_id(self, store_id: impl Into<String>) -> Self {
        self.edit(|inner| inner.store_id = Some(Arc::from(store_id.into())))
    }

    /// Names the store if none is named.
    pub(crate) fn or_in_store(self, store_id: &str) -> Self {
        if self.0.store_id.is_some() { self } else { self.with_store_id(store_id) }
    }

    pub(crate) fn with_optional_store_id(self, store_id: Option<String>) -> Self {
        self.edit(|inner| inner.store_id = store_id.filter(|id| !id.is_empty()).map(Arc::from))
    }

    /// Sets the size in bytes, if it is known without the bytes.
    #[must_use]
    pub fn with_size(self, size: u64) -> Self {
        self.edit(|inner| inner.size = Some(size))
    }

    /// Returns the same document with its bytes in memory, as delivered by a store or a fetch.
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
            inner.number = next_number();
            inner.hash = OnceLock::new();
        })
    }

    /// Returns the same document as a pure reference: the bytes in memory are dropped, and a store is expected to hold
    /// them.
    #[must_use]
    pub fn without_bytes(self) -> Self {
        match &self.0.source {
            DocumentSource::Bytes(_) => self.edit(|inner| inner.source = DocumentSource::Stored),
            _ => self,
        }
    }

    /// The same document with the SHA-256 of bytes that are elsewhere.
    pub(crate) fn with_hash(self, hash: [u8; 32]) -> Self {
        self.edit(|inner| inner.hash = OnceLock::from(hash))
    }

    /// The id of the document.
    pub fn id(&self) -> &DocumentId {
        &self.0.id
    }

    /// The normalised media type.
    pub fn media_type(&self) -> &MediaType {
        &self.0.media_type
    }

    /// The file name, if it is known without network access.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file_name.as_deref()
    }

    /// The size in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.0.size
    }

    /// The id of the store that holds the bytes, if any.
    pub fn store_id(&self) -> Option<&str> {
        self.0.store_id.as_deref()
    }

    /// The location of the content.
    pub fn source(&self) -> &DocumentSource {
        &self.0.source
    }

    /// The content, if it is in memory. Inline text is included, as UTF-8.
    pub fn bytes(&self) -> Option<Bytes> {
        match &self.0.source {
            DocumentSource::Bytes(bytes) => Some(bytes.clone()),
            DocumentSource::Inline { text } => Some(Bytes::copy_from_slice(text.as_bytes())),
            DocumentSource::Stored | DocumentSource::External { .. } => None,
        }
    }

    fn content(&self) -> Option<&[u8]> {
        match &self.0.source {
            DocumentSource::Bytes(bytes) => Some(bytes),
            DocumentSource::Inline { text } => Some(text.as_bytes()),
            DocumentSource::Stored | DocumentSource::External { .. } => None,
        }
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        self.content().is_some()
    }

    /// A number that only handles with the same content share, in this process: a key for what is known of a content,
    /// which is neither hashed nor held for it. The same bytes have another number in each document that is made of them.
    ///
    /// ```
    /// use attache_core::Document;
    /// let invoice = Document::new("one");
    /// assert_eq!(invoice.clone().with_file_name("a.txt").content_number(), invoice.content_number());
    /// assert_ne!(invoice.clone().with_bytes("two").content_number(), invoice.content_number());
    /// ```
    pub fn content_number(&self) -> u64 {
        self.0.number
    }

    /// The SHA-256 of the content, if it is in memory or was when the hash was first requested; computed once. Stored
    /// conversations include it from then on.
    pub fn hash(&self) -> Option<[u8; 32]> {
        match self.content() {
            Some(content) => Some(*self.0.hash.get_or_init(|| Sha256::digest(content).into())),
            None => self.0.hash.get().copied(),
        }
    }

    /// True unless its content is known to differ: a store that was unavailable when a document was put may have other
    /// bytes under its id.
    pub fn may_have(&self, content: &[u8]) -> bool {
        self.hash().is_none_or(|hash| Sha256::digest(content)[..] == hash)
    }

    /// True if both handles refer to the same document: the same id and, if both contents are known, the same content.
    /// External documents with the same URL are also the same. To compare many documents, use
    /// [`Identities`](crate::identity::Identities).
    pub fn is_same(&self, other: &Document) -> bool {
        match (&self.0.source, &other.0.source) {
            (DocumentSource::External { url: a }, DocumentSource::External { url: b }) if a == b => true,
            _ => self.0.id == other.0.id && !self.has_other_content(other),
        }
    }

    /// True if both contents are known and differ, or their sizes are where no more is known.
    pub(crate) fn has_other_content(&self, other: &Document) -> bool {
        let known = |of: &Document| of.0.hash.get().copied();
        let stored_size = |of: &Document| of.0.size.filter(|_| matches!(of.0.source, DocumentSource::Stored));
        let differs = |held: &Document, stored: &Document| match known(stored) {
            Some(hash) => held.hash() != Some(hash),
            None => stored_size(stored).is_some_and(|size| held.size() != Some(size)),
        };
        match (self.content(), other.content()) {
            // The same memory needs no look at its bytes.
            (Some(own), Some(others)) => !std::ptr::eq(own, others) && own != others,
            (Some(_), None) => differs(self, other),
            (None, Some(_)) => differs(other, self),
            (None, None) => match (known(self), known(other)) {
                (Some(own), Some(others)) => own != others,
                _ => stored_size(self).zip(stored_size(other)).is_some_and(|(own, others)| own != others),
            },
        }
    }

    /// The id under which it stands beside a document of its own id and other content. The same content has the same.
    pub(crate) fn id_beside_another(&self) -> Option<DocumentId> {
        let hash = self.hash()?;
        DocumentId::parse(format!("{}.{}", self.0.id, hex(hash.first_chunk::<4>()?)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_its_id_and_its_content() {
        let of = |bytes: &'static [u8]| {
            Document::from_bytes(bytes, "text/plain").with_id(DocumentId::parse("contract-42").unwrap())
        };
        let (first, second) = (of(b"one"), of(b"two"));
        assert!(first.is_same(&of(b"one")) && !first.is_same(&second));
        let unknown = Document::stored(first.id().clone(), "main", "text/plain");
        assert!(unknown.is_same(&first) && second.is_same(&unknown), "nothing says that they differ");
        assert!(!unknown.clone().with_size(4).is_same(&first), "their sizes do");
        assert!(unknown.with_size(3).is_same(&first));
        assert!(first.hash().is_some());
        assert!(!first.without_bytes().is_same(&second), "a hash that is known goes with the handle");
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
    }

    #[test]
    fn a_declared_type_wins_over_the_file_name() {
        let named = |bytes: &'static [u8], media_type: &str, name: &str| {
            let document = Document::from_bytes(bytes, media_type).with_file_name(name);
            document.media_type().to_string()
        };
        assert_eq!(named(b"The lease ends in 2031.", "text/plain", "lease.pdf"), "text/plain");
        assert_eq!(named(b"M\xfcller", "text/plain; charset=latin1", "x.zip"), "text/plain; charset=latin1");
        assert_eq!(named(b"PK\x03\x04\0", "application/zip", "export.csv"), "application/zip");
        // The bytes are no guess where a format has a signature, and these have none.
        assert_eq!(named(b"The lease ends in 2031.", "", "lease.pdf"), "text/plain");
        // Agreement: the name is only more exact.
        assert_eq!(named(b"a,b", "text/plain", "x.csv"), "text/csv");
        assert_eq!(named(b"From: a\r\n\r\nb", "text/plain", "x.eml"), "message/rfc822");
        let docx = named(b"PK\x03\x04\0", "application/zip", "x.docx");
        assert!(docx.ends_with("wordprocessingml.document"), "{docx}");
        assert_eq!(named(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", "x.doc"), "application/msword");
    }

    #[test]
    fn same_external_url_is_the_same_document() {
        assert!(Document::external("https://x/a.pdf").is_same(&Document::external("https://x/a.pdf")));
        assert!(!Document::inline("a").is_same(&Document::inline("a")));
    }
}
