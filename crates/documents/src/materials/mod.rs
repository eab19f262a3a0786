//! Contents, forms and texts gathered for routing.

mod answers;
mod bounds;
mod converted;
mod declared_types;
mod fetched;
pub(crate) mod gather;
mod insert;
pub(crate) mod key;
pub(crate) mod material;
mod memo;
pub(crate) mod page_count;
pub(crate) mod plan;
mod rendered;
mod transcoded;

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use attache_core::converter::MediaLimits;
use attache_core::{Document, DocumentId, MediaType};

use answers::Answers;
use converted::Converted;
use declared_types::Said;
use key::{Digest, Key, Print};
use memo::Memo;
pub(crate) use memo::Readable;
pub use rendered::PageRequest;
pub(crate) use rendered::{Rendered, Rendering};
pub(crate) use transcoded::{Adapted, Transcoding};

use crate::content::{content_bytes, is_same_memory};
use crate::materials::page_count::Pages;
use crate::text::fence::Fenced;
use crate::text::tame;

/// Bytes and texts of documents, gathered by the code that performs the loading and converting that a
/// [`Plan`](crate::Plan) requests. Documents whose bytes are in memory need no entry.
///
/// An entry belongs to a document's id *and* content: two documents with the same id and different bytes have different
/// texts. An entry that was inserted when no content was available applies to every content of that id.
///
/// It also caches the decoded, fenced text of each text document routed with it, so that keeping one `Materials` for a
/// run, or for a chat of many runs, avoids decoding at each step. This is only a cache: routing gives the same result
/// without it.
///
/// Everything is kept until it is dropped explicitly: [`retain`](Self::retain) keeps what a window still shows,
/// [`shrink_to`](Self::shrink_to) limits the bytes. A plan requests again whatever is needed again.
///
/// ```
/// use attache_core::{Document, DocumentId};
/// use attache_documents::Materials;
///
/// let report = Document::stored(DocumentId::new(), "main", "application/pdf");
/// let mut materials = Materials::new();
/// materials.insert(&report, bytes::Bytes::from(vec![b'x'; 1_000]));
/// assert_eq!(materials.held_bytes(), 1_000);
/// materials.shrink_to(500);
/// assert_eq!(materials.held_bytes(), 0);
/// ```
#[derive(Default)]
pub struct Materials {
    loaded: HashMap<DocumentId, Loaded>,
    converted: HashMap<Key, Converted>,
    transcodings: Answers<MediaLimits, Transcoding>,
    renderings: Answers<PageRequest, Rendering>,
    /// The answers of servers about fetched documents.
    said: HashMap<DocumentId, Said>,
    /// The content that was last at hand when something was inserted about an id.
    latest: HashMap<DocumentId, Digest>,
    memo: Memo,
    /// The number of things that were inserted, which tells the older from the newer.
    inserted: u64,
    /// The insertions that say no more than that a converter could not begin.
    busy: Vec<u64>,
}

/// The outcome of an attempt to load a document.
#[derive(Clone)]
enum Loaded {
    /// It is here since that insertion.
    Here(Document, u64),
    /// It was here, and its bytes were let go.
    LetGo(Digest),
    Missing(String),
}

/// The whereabouts of a document's bytes.
pub(crate) enum Content<'m> {
    /// They are in memory, in this handle.
    Here(Document),
    /// They cannot be had.
    Missing(&'m str),
    /// Nobody has loaded them.
    NotLoaded,
}

impl Materials {
    /// Creates empty materials.
    pub fn new() -> Self {
        Self::default()
    }

    /// The content by which two documents of one id are told apart.
    pub(crate) fn print<'m>(&'m self, document: &'m Document) -> Print<'m> {
        match (content_bytes(document), self.loaded.get(document.id())) {
            // The digest of what was loaded is remembered with it.
            (Some(_), Some(Loaded::Here(loaded, _))) if is_same_memory(document, loaded) => {
                Print::Here(loaded)
            }
            (Some(_), _) => Print::Here(document),
            (None, Some(Loaded::Here(loaded, _))) => Print::Here(loaded),
            (None, Some(Loaded::LetGo(digest))) => Print::LetGo(*digest),
            // A handle may know the hash of what it does not hold any more.
            (None, _) => document.hash().map_or(Print::Unknown, Print::LetGo),
        }
    }

    /// Under which things are known of a document. Of one whose content nobody has at hand that is the last content
    /// that was.
    fn key(&self, document: &Document) -> Key {
        let content = self.print(document).digest().or_else(|| self.latest.get(document.id()).copied());
        Key { id: document.id().clone(), content }
    }

    /// The same for what converters said. Where they said nothing about a content of that id, none is hashed.
    fn key_of_answer(&self, document: &Document) -> Key {
        match self.latest.contains_key(document.id()) {
            true => self.key(document),
            false => Key { id: document.id().clone(), content: None },
        }
    }

    pub(crate) fn content(&self, document: &Document) -> Content<'_> {
        if content_bytes(document).is_some() {
            return Content::Here(document.clone());
        }
        match self.loaded.get(document.id()) {
            Some(Loaded::Here(loaded, _)) if loaded == document => Content::Here(loaded.clone()),
            // Two references to one document may know different names and types of it.
            Some(Loaded::Here(loaded, _)) => match loaded.bytes() {
                Some(bytes) => {
                    let said = self.said.get(document.id());
                    let described = said.map_or_else(|| document.clone(), |said| said.of(document.clone()));
                    // Fetched ones differ from what the conversation knows of them.
                    if described == *loaded {
                        return Content::Here(loaded.clone());
                    }
                    Content::Here(described.with_bytes(bytes))
                }
                None => Content::NotLoaded,
            },
            Some(Loaded::Missing(reason)) => Content::Missing(reason),
            Some(Loaded::LetGo(_)) | None => Content::NotLoaded,
        }
    }

    /// The conversion of a document, and its key.
    fn conversion_of(&self, document: &Document) -> Option<(Key, &Converted)> {
        if self.converted.is_empty() {
            return None;
        }
        let key = self.key_of_answer(document);
        if let Some(known) = self.converted.get(&key) {
            return Some((key, known));
        }
        let any = key.of_any_content();
        self.converted.get(&any).map(|known| (any, known))
    }

    /// True if text was made of a document.
    pub(crate) fn is_converted(&self, document: &Document) -> bool {
        self.conversion_of(document).is_some_and(|(_, known)| known.text.is_ok())
    }

    /// Why no text can be made of a document, if that was tried.
    pub(crate) fn unconvertible(&self, document: &Document) -> Option<&str> {
        self.conversion_of(document)?.1.text.as_ref().err().map(String::as_str)
    }

    /// The text of a document whose content is in `document`.
    pub(crate) fn text(&self, document: &Document, limit: usize) -> Readable {
        self.memo.text(self.key(document), document, limit)
    }

    /// The pages of a PDF whose content is in `document`.
    pub(crate) fn pages(&self, document: &Document) -> Pages {
        let Print::Here(content) = self.print(document) else { return Pages::None };
        self.memo.pages(content)
    }

    /// The knowledge about a document and a form.
    pub(crate) fn transcoding(&self, document: &Document, form: &MediaLimits) -> Option<&Transcoding> {
        if self.transcodings.is_empty() {
            return None;
        }
        let key = self.key_of_answer(document);
        self.transcodings.get(&key, form).or_else(|| self.transcodings.get(&key.of_any_content(), form))
    }

    /// The documents inside converted documents, under the ids that their labels show.
    pub fn inside(&self) -> impl Iterator<Item = &Document> {
        self.converted.values().flat_map(|known| &known.text).flat_map(|text| &text.attachments)
    }

    /// The documents inside a document, as far as a converter found them.
    pub(crate) fn attachments(&self, document: &Document) -> &[Document] {
        let converted = self.conversion_of(document).and_then(|(_, known)| known.text.as_ref().ok());
        converted.map(|converted| &*converted.attachments).unwrap_or_default()
    }

    /// The units of a document's text that say nothing, or little of an image that covers them, if text was made of it.
    pub(crate) fn pages_without_text(&self, document: &Document) -> Option<&[usize]> {
        let (_, known) = self.conversion_of(document)?;
        known.text.as_ref().ok().map(|_| &*known.pages.to_see)
    }

    /// The units of a document's text that say something.
    pub(crate) fn pages_with_text(&self, document: &Document) -> &[RangeInclusive<usize>] {
        self.conversion_of(document).map_or(&[], |(_, known)| &known.pages.with)
    }

    /// The pages whose images show their text, too.
    pub(crate) fn pages_seen_whole(&self, document: &Document) -> &[usize] {
        self.conversion_of(document).map_or(&[], |(_, known)| &known.pages.seen_whole)
    }

    /// True if each page of a document is to be seen, since it has no text, or little beside an image that covers it.
    /// There may be comments and attachments.
    pub(crate) fn is_without_text(&self, document: &Document) -> bool {
        self.conversion_of(document).is_some_and(|(_, known)| known.pages.is_silent)
    }

    /// The remarks on the text that was made of a document.
    pub(crate) fn remarks(&self, document: &Document) -> &[String] {
        let converted = self.conversion_of(document).and_then(|(_, known)| known.text.as_ref().ok());
        converted.map_or(&[], |converted| &converted.notes)
    }

    /// The knowledge about pages of a document as images.
    pub(crate) fn rendering(&self, document: &Document, request: &PageRequest) -> Option<&Rendering> {
        if self.renderings.is_empty() {
            return None;
        }
        let key = self.key_of_answer(document);
        let known = self.renderings.get(&key, request);
        known.or_else(|| self.renderings.get(&key.of_any_content(), request))
    }

    /// The converted text of these units of a document, with the remarks on it if they go on to its end.
    pub(crate) fn conversion(
        &self,
        document: &Document,
        media_type: &MediaType,
        units: &RangeInclusive<usize>,
        limit: usize,
    ) -> Option<Arc<Fenced>> {
        let (key, converted) = self.conversion_of(document)?;
        let converted = converted.text.as_ref().ok()?;
        let (first, last) = (*units.start(), *units.end());
        let goes_on = last == usize::MAX;
        let text = if first == 1 && goes_on { &*converted.text } else { converted.units(first, last)? };
        let about = || {
            let mut about = format!("text converted from {}", tame(media_type.essence()));
            for note in converted.notes.iter().filter(|_| goes_on) {
                about.extend(["; ", &tame(note)]);
            }
            about
        };
        match self.memo.conversion(key, media_type, (units.clone(), limit), text, about) {
            Readable::Text(fenced) => Some(fenced),
            Readable::Blank | Readable::Undecodable => None,
        }
    }
}

impl Clone for Materials {
    /// The copy remembers no decoded texts.
    fn clone(&self) -> Self {
        let Self { loaded, converted, transcodings, renderings, said, latest, memo: _, inserted, busy } =
            self;
        let (loaded, converted, transcodings) = (loaded.clone(), converted.clone(), transcodings.clone());
        let (said, latest, memo) = (said.clone(), latest.clone(), Memo::default());
        let (renderings, busy) = (renderings.clone(), busy.clone());
        Self { loaded, converted, transcodings, renderings, said, latest, memo, inserted: *inserted, busy }
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
