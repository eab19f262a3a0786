//! What was loaded and converted for routing.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::{
    ConvertedText, Document, DocumentId, DocumentSource, Fetched, Fitted, Form, MediaKind, MediaType,
};
use bytes::Bytes;

use crate::fence::{Fenced, fence};
pub(crate) use crate::fits::Fit;
use crate::fits::Fits;
use crate::text::{Decoded, decode, one_line};

/// Bytes and texts of documents, gathered by whoever does the loading and converting that a
/// [`Plan`](crate::Plan) asks for. Documents whose bytes are in memory need no entry.
///
/// It also remembers the decoded, fenced text of each text document that was routed with it, so that keeping one
/// `Materials` for a run spares decoding them again at each step. That memory is no state: routing yields the same
/// without it. Everything is kept until [`retain`](Self::retain) lets it go.
#[derive(Default)]
pub struct Materials {
    loaded: HashMap<DocumentId, Result<Document, String>>,
    converted: HashMap<DocumentId, Result<Arc<ConvertedText>, String>>,
    fits: Fits,
    /// What servers said of fetched documents.
    said: HashMap<DocumentId, Said>,
    /// Under which ids something is known of what a URL leads to.
    by_url: HashMap<Arc<str>, Vec<DocumentId>>,
    texts: Mutex<HashMap<TextKey, Remembered>>,
}

/// What a server said of a document.
#[derive(Clone)]
struct Said {
    media_type: Option<MediaType>,
    file_name: Option<String>,
}

impl Said {
    /// The document with what it did not say itself, and with a type that says more than its own.
    fn of(&self, mut document: Document) -> Document {
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

/// Whether what a server says of a document is to be believed before its address. Some call all text plain, and office
/// files plain text or archives; but what they call text is no picture.
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

/// What is known of a document's bytes.
pub(crate) enum Content<'m> {
    /// They are in memory, in this handle.
    Here(Document),
    /// They cannot be had.
    Missing(&'m str),
    /// Nobody has loaded them.
    NotLoaded,
}

/// What a text document or a conversion reads as.
#[derive(Clone, Debug)]
pub(crate) enum Readable {
    Text(Arc<Fenced>),
    Blank,
    Undecodable,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct TextKey {
    id: DocumentId,
    media_type: MediaType,
    /// The unit from which converted text is shown, from 1.
    converted: Option<usize>,
    limit: usize,
}

impl TextKey {
    fn new(document: &Document, converted: Option<usize>, limit: usize) -> Self {
        Self { id: document.id().clone(), media_type: document.media_type().clone(), converted, limit }
    }
}

struct Remembered {
    source: Source,
    readable: Readable,
}

/// What a remembered text was read from.
#[derive(Clone)]
enum Source {
    Content(DocumentSource),
    Conversion(Arc<ConvertedText>),
}

impl Source {
    /// Whether both are the same piece of memory. What is remembered keeps its memory alive, so that no other content
    /// can come to stand there.
    fn is(&self, asked: &Self) -> bool {
        match (self, asked) {
            (Self::Content(DocumentSource::Bytes(a)), Self::Content(DocumentSource::Bytes(b))) => {
                a.as_ptr() == b.as_ptr() && a.len() == b.len()
            }
            (
                Self::Content(DocumentSource::Inline { text: a }),
                Self::Content(DocumentSource::Inline { text: b }),
            ) => Arc::ptr_eq(a, b),
            (Self::Conversion(a), Self::Conversion(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Materials {
    /// Nothing loaded, nothing converted.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of a document, as a store or a fetch delivered them. Its media type is checked against them.
    pub fn insert_bytes(&mut self, document: &Document, bytes: impl Into<Bytes>) {
        let loaded = document.clone().with_bytes(bytes);
        self.forget(document);
        self.fits.forget(document.id());
        self.said.remove(document.id());
        self.loaded.insert(document.id().clone(), Ok(loaded));
    }

    /// What was fetched from the address of an external document, with what the server said of it: its type counts before
    /// what the address looks like, its name where the document has none. Both are checked against the bytes.
    pub fn insert_fetched(&mut self, document: &Document, fetched: Fetched) {
        let Fetched { bytes, media_type, file_name, .. } = fetched;
        let said = Said { media_type, file_name };
        self.insert_bytes(&said.of(document.clone()), bytes);
        self.said.insert(document.id().clone(), said);
    }

    /// The bytes of a document cannot be had. The model reads the reason: one line, no full stop, no secrets.
    pub fn insert_missing(&mut self, document: &Document, reason: impl Into<String>) {
        self.forget(document);
        self.loaded.insert(document.id().clone(), Err(one_line(&reason.into())));
    }

    /// The text that a converter made of a document. Blank text counts as none. The documents inside it get ids of
    /// its own, the same each time: [`DocumentId::inside`].
    pub fn insert_converted(&mut self, document: &Document, mut converted: ConvertedText) {
        for (at, attachment) in converted.attachments.iter_mut().enumerate() {
            *attachment = attachment.clone().with_id(document.id().inside(at + 1));
        }
        let blank = converted.text.trim().is_empty() && converted.attachments.is_empty();
        let converted = if blank { Err("it holds no text".to_owned()) } else { Ok(Arc::new(converted)) };
        self.forget(document);
        self.converted.insert(document.id().clone(), converted);
    }

    /// No text can be made of a document. The model reads the reason: one line, no full stop, no secrets.
    pub fn insert_unconvertible(&mut self, document: &Document, reason: impl Into<String>) {
        self.forget(document);
        self.converted.insert(document.id().clone(), Err(one_line(&reason.into())));
    }

    /// What a converter answered about a document and a form: that it fits, or what to show in its place. An answer that
    /// is not in that form counts as none.
    pub fn insert_fitted(&mut self, document: &Document, form: &Form, fitted: Fitted) {
        self.fits.insert(document.id(), form, Fit::of(document, form, fitted));
    }

    /// A converter looked at a document and cannot bring it into a form, or it cannot be read at all. The model reads
    /// the reason: one line, no full stop, no secrets.
    pub fn insert_unfit(&mut self, document: &Document, form: &Form, reason: impl Into<String>) {
        self.fits.insert(document.id(), form, Fit::Failed(one_line(&reason.into())));
    }

    /// Nobody can say whether a document is in a form beyond what its header says, or bring it there.
    pub fn insert_unchecked(&mut self, document: &Document, form: &Form) {
        self.fits.insert(document.id(), form, Fit::Unknown);
    }

    /// Keeps what belongs to the documents that `keep` names, and to documents inside them, and lets the rest go.
    pub fn retain(&mut self, mut keep: impl FnMut(&DocumentId) -> bool) {
        let mut inside: HashSet<DocumentId> = HashSet::new();
        let mut ahead: Vec<&DocumentId> = self.converted.keys().filter(|id| keep(id)).collect();
        while let Some(id) = ahead.pop() {
            let inner = self.converted.get(id).and_then(|converted| converted.as_ref().ok());
            for attachment in inner.iter().flat_map(|inner| &inner.attachments) {
                if inside.insert(attachment.id().clone()) {
                    ahead.push(attachment.id());
                }
            }
        }
        let mut keep = |id: &DocumentId| keep(id) || inside.contains(id);
        self.fits.retain(&mut keep);
        self.loaded.retain(|id, _| keep(id));
        self.said.retain(|id, _| keep(id));
        self.converted.retain(|id, _| keep(id));
        self.by_url.retain(|_, ids| {
            ids.retain(|id| keep(id));
            !ids.is_empty()
        });
        self.texts.get_mut().unwrap_or_else(PoisonError::into_inner).retain(|key, _| keep(&key.id));
    }

    /// Lets go texts that are about to be replaced, and notes where the document is from.
    fn forget(&mut self, document: &Document) {
        if let DocumentSource::External { url } = document.source() {
            let ids = self.by_url.entry(Arc::clone(url)).or_default();
            if !ids.contains(document.id()) {
                ids.push(document.id().clone());
            }
        }
        let texts = self.texts.get_mut().unwrap_or_else(PoisonError::into_inner);
        texts.retain(|key, _| key.id != *document.id());
    }

    /// What is known of a document: under its own id, or under that of another one with the same URL.
    fn find<'a, T>(&'a self, known: &'a HashMap<DocumentId, T>, document: &Document) -> Option<&'a T> {
        known.get(document.id()).or_else(|| match document.source() {
            DocumentSource::External { url } => self.by_url.get(url)?.iter().find_map(|id| known.get(id)),
            _ => None,
        })
    }

    pub(crate) fn content(&self, document: &Document) -> Content<'_> {
        if content_bytes(document).is_some() {
            return Content::Here(document.clone());
        }
        match self.find(&self.loaded, document) {
            Some(Ok(loaded)) if loaded == document => Content::Here(loaded.clone()),
            // Two references to one document may know different names and types of it.
            Some(Ok(loaded)) => match loaded.bytes() {
                Some(bytes) => {
                    let said = self.find(&self.said, document);
                    let described = said.map_or_else(|| document.clone(), |said| said.of(document.clone()));
                    // Fetched ones differ from what the conversation knows of them.
                    if described == *loaded {
                        return Content::Here(loaded.clone());
                    }
                    Content::Here(described.with_bytes(bytes))
                }
                None => Content::NotLoaded,
            },
            Some(Err(reason)) => Content::Missing(reason),
            None => Content::NotLoaded,
        }
    }

    /// Whether text was made of a document.
    pub(crate) fn is_converted(&self, document: &Document) -> bool {
        self.find(&self.converted, document).is_some_and(Result::is_ok)
    }

    /// Why no text can be made of a document, if that was tried.
    pub(crate) fn unconvertible(&self, document: &Document) -> Option<&str> {
        self.find(&self.converted, document)?.as_ref().err().map(String::as_str)
    }

    /// The text of a document whose content is in `document`.
    pub(crate) fn text(&self, document: &Document, limit: usize) -> Readable {
        let source = Source::Content(document.source().clone());
        self.remembered(TextKey::new(document, None, limit), source, || {
            let bytes = content_bytes(document).unwrap_or_default();
            match decode(bytes, document.media_type().charset()) {
                Some(decoded) => readable(fence(document.id(), &decoded, "", limit)),
                None => Readable::Undecodable,
            }
        })
    }

    /// What is known of a document and a form.
    pub(crate) fn fit(&self, document: &Document, form: &Form) -> Option<&Fit> {
        self.fits.get(document.id(), form)
    }

    /// The documents inside those of which text was made, under the ids that their labels show.
    pub fn inside(&self) -> impl Iterator<Item = &Document> {
        self.converted.values().flatten().flat_map(|converted| &converted.attachments)
    }

    /// The documents inside a document, as far as a converter found them.
    pub(crate) fn attachments(&self, document: &Document) -> &[Document] {
        let converted = self.find(&self.converted, document).and_then(|converted| converted.as_ref().ok());
        converted.map(|converted| &*converted.attachments).unwrap_or_default()
    }

    /// The converted text of a document from its `first` unit on, if there is one.
    pub(crate) fn conversion(
        &self,
        document: &Document,
        media_type: &MediaType,
        first: usize,
        limit: usize,
    ) -> Option<Arc<Fenced>> {
        let converted = self.find(&self.converted, document)?.as_ref().ok()?;
        let text = if first == 1 { &*converted.text } else { converted.units(first, usize::MAX)? };
        let key = TextKey { media_type: media_type.clone(), ..TextKey::new(document, Some(first), limit) };
        let readable = self.remembered(key, Source::Conversion(Arc::clone(converted)), || {
            let decoded = Decoded { text: text.into(), guessed: None };
            let mut about = format!("text converted from {}", one_line(media_type.essence()));
            for note in &converted.notes {
                about.extend(["; ", &one_line(note)]);
            }
            readable(fence(document.id(), &decoded, &about, limit))
        });
        match readable {
            Readable::Text(fenced) => Some(fenced),
            Readable::Blank | Readable::Undecodable => None,
        }
    }

    fn remembered(&self, key: TextKey, source: Source, read: impl FnOnce() -> Readable) -> Readable {
        let lock = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key)
            && known.source.is(&source)
        {
            return known.readable.clone();
        }
        let readable = read();
        lock().insert(key, Remembered { source, readable: readable.clone() });
        readable
    }
}

fn readable(fenced: Option<Fenced>) -> Readable {
    fenced.map_or(Readable::Blank, |fenced| Readable::Text(Arc::new(fenced)))
}

/// The content of a document that is in memory.
pub(crate) fn content_bytes(document: &Document) -> Option<&[u8]> {
    match document.source() {
        DocumentSource::Bytes(bytes) => Some(bytes),
        DocumentSource::Inline { text } => Some(text.as_bytes()),
        _ => None,
    }
}

impl Clone for Materials {
    /// The copy remembers no decoded texts.
    fn clone(&self) -> Self {
        let Self { loaded, converted, fits, said, by_url, texts: _ } = self;
        let (loaded, converted, by_url) = (loaded.clone(), converted.clone(), by_url.clone());
        Self { loaded, converted, fits: fits.clone(), said: said.clone(), by_url, texts: Mutex::default() }
    }
}

impl fmt::Debug for Materials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Materials")
            .field("loaded", &self.loaded.len())
            .field("converted", &self.converted.len())
            .finish()
    }
}
