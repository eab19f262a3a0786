//! Contents, forms and texts that were brought for routing.

mod answers;
mod bounds;
mod fetched;
pub(crate) mod gather;
mod memo;
pub(crate) mod pages;
pub(crate) mod plan;
mod rendered;
mod said;
mod transcoded;

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use attache_core::{
    ConvertedText, Document, DocumentId, DocumentSource, Fetched, MediaLimits, MediaType, RenderedPages,
    Transcoded,
};
use bytes::Bytes;

use answers::Answers;
use memo::Memo;
pub use rendered::PageRequest;
pub(crate) use rendered::{Rendered, Rendering};
use said::Said;
pub(crate) use transcoded::Transcoding;

use crate::materials::pages::Pages;
use crate::text::decode::one_line;
use crate::text::fence::Fenced;

/// Bytes and texts of documents, gathered by whoever does the loading and converting that a
/// [`Plan`](crate::Plan) asks for. Documents whose bytes are in memory need no entry.
///
/// An entry belongs to a document's id *and* content: two documents of one id and different bytes have different texts. Where no content was at hand when something was inserted, it holds for every content of that id.
///
/// It also remembers the decoded, fenced text of each text document that was routed with it, so that keeping one
/// `Materials` for a run, or for a chat of many runs, spares decoding them again at each step. That memory is no state:
/// routing yields the same without it.
///
/// Everything is kept until somebody lets it go: [`retain`](Self::retain) keeps what a window still shows,
/// [`shrink_to`](Self::shrink_to) bounds the bytes. A plan asks again for all that is needed again.
///
/// ```
/// use attache_core::{Document, DocumentId};
/// use attache_documents::Materials;
///
/// let report = Document::stored(DocumentId::new(), "main", "application/pdf");
/// let mut materials = Materials::new();
/// materials.insert_bytes(&report, vec![b'x'; 1_000]);
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
    /// How many things were inserted, which tells the older from the newer.
    inserted: u64,
}

/// The SHA-256 of a content.
pub(crate) type Digest = [u8; 32];

/// A document, as far as anything is known about it: its id, and its content where that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) id: DocumentId,
    content: Option<Digest>,
}

impl Key {
    /// The same id, whatever the content.
    fn of_any_content(&self) -> Self {
        Self { id: self.id.clone(), content: None }
    }
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

/// The text of a document, or why there is none, since an insertion.
#[derive(Clone)]
struct Converted {
    text: Result<Arc<ConvertedText>, String>,
    pages: PageTexts,
    since: u64,
}

/// The units of a text, as far as they are read, or seen.
#[derive(Clone, Default)]
struct PageTexts {
    /// Runs of those that have text or comments. A run ends behind a unit that is seen as well, so that text and images
    /// of units stay in order.
    with: Vec<RangeInclusive<usize>>,
    /// The units that have no text, and those that images cover.
    to_see: Vec<usize>,
    /// The units whose image shows their text, too.
    seen_whole: Vec<usize>,
    /// True if nothing but images would show any of them.
    is_silent: bool,
}

impl PageTexts {
    fn of(text: &ConvertedText) -> Self {
        let mut to_see = text.units_without_text();
        let is_in = |pages: &[usize], page: usize| pages.binary_search(&page).is_ok();
        // No image of a page shows its comments, so that they are text that stands beside it.
        let commented = text.units_with_comments();
        let held = text.units.as_ref().map_or(0, |units| units.starts.len());
        let silent: Vec<usize> = to_see.iter().copied().filter(|page| !is_in(&commented, *page)).collect();
        let covered = text.units.iter().flat_map(|units| &units.covered).copied();
        let covered: Vec<usize> = covered.filter(|page| (1..=held).contains(page)).collect();
        to_see.extend(&covered);
        to_see.sort_unstable();
        to_see.dedup();
        let mut with: Vec<RangeInclusive<usize>> = Vec::new();
        for page in (1..=held).filter(|page| !is_in(&silent, *page)) {
            match with.last_mut().filter(|run| *run.end() + 1 == page && !is_in(&to_see, *run.end())) {
                Some(run) => *run = *run.start()..=page,
                None => with.push(page..=page),
            }
        }
        let is_silent = to_see.len() == held;
        let seen_whole = covered.into_iter().filter(|page| !is_in(&commented, *page)).collect();
        Self { with, to_see, seen_whole, is_silent }
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

/// The whereabouts of a document's bytes.
pub(crate) enum Content<'m> {
    /// They are in memory, in this handle.
    Here(Document),
    /// They cannot be had.
    Missing(&'m str),
    /// Nobody has loaded them.
    NotLoaded,
}

/// The text of a document or of a conversion.
#[derive(Clone, Debug)]
pub(crate) enum Readable {
    Text(Arc<Fenced>),
    Blank,
    Undecodable,
}

impl Materials {
    /// Nothing loaded, nothing converted.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of a document, as a store or a fetch delivered them. Its media type is checked against them.
    pub fn insert_bytes(&mut self, document: &Document, bytes: impl Into<Bytes>) {
        let loaded = document.clone().with_bytes(bytes);
        let any = Key { id: document.id().clone(), content: None };
        self.transcodings.forget(&any);
        self.renderings.forget(&any);
        self.said.remove(document.id());
        let since = self.next();
        self.loaded.insert(any.id, Loaded::Here(loaded, since));
    }

    /// The content from the address of an external document, with the server's answer about it: the server's type counts
    /// before the address's, its name where the document has none. Both are checked against the bytes.
    pub fn insert_fetched(&mut self, document: &Document, fetched: Fetched) {
        let Fetched { bytes, media_type, file_name, .. } = fetched;
        let said = Said { media_type, file_name };
        self.insert_bytes(&said.of(document.clone()), bytes);
        self.said.insert(document.id().clone(), said);
    }

    /// The bytes of a document cannot be had. The model reads the reason: one line, no full stop, no secrets.
    pub fn insert_missing(&mut self, document: &Document, reason: impl Into<String>) {
        self.loaded.insert(document.id().clone(), Loaded::Missing(one_line(&reason.into())));
    }

    /// The text that a converter made of a document. Blank text counts as none. The documents inside it get ids of
    /// its own, the same each time: [`DocumentId::inside`].
    pub fn insert_converted(&mut self, document: &Document, mut converted: ConvertedText) {
        for (at, attachment) in converted.attachments.iter_mut().enumerate() {
            *attachment = attachment.clone().with_id(document.id().inside(at + 1));
        }
        let blank = converted.text.trim().is_empty() && converted.attachments.is_empty();
        let text = if blank { Err("it holds no text".to_owned()) } else { Ok(Arc::new(converted)) };
        self.insert_text(document, text);
    }

    /// No text can be made of a document. The model reads the reason: one line, no full stop, no secrets.
    pub fn insert_unconvertible(&mut self, document: &Document, reason: impl Into<String>) {
        self.insert_text(document, Err(one_line(&reason.into())));
    }

    fn insert_text(&mut self, document: &Document, text: Result<Arc<ConvertedText>, String>) {
        let (key, since) = (self.key_for_insertion(document), self.next());
        self.memo.forget(&key);
        let pages = text.as_ref().map(|text| PageTexts::of(text)).unwrap_or_default();
        self.converted.insert(key, Converted { text, pages, since });
    }

    /// A converter's answer about a document and a form: that it fits, or the content to show in its place. An answer
    /// that is not in that form counts as none.
    pub fn insert_transcoded(&mut self, document: &Document, form: &MediaLimits, fitted: Transcoded) {
        self.insert_transcoding(document, form, Transcoding::of(document, form, fitted));
    }

    /// A converter looked at a document and cannot bring it into a form, or it cannot be read at all. The model reads
    /// the reason: one line, no full stop, no secrets.
    pub fn insert_untranscodable(
        &mut self,
        document: &Document,
        form: &MediaLimits,
        reason: impl Into<String>,
    ) {
        self.insert_transcoding(document, form, Transcoding::Failed(one_line(&reason.into())));
    }

    /// Nobody can say whether a document is in a form beyond what its header says, or bring it there.
    pub fn insert_unchecked(&mut self, document: &Document, form: &MediaLimits) {
        self.insert_transcoding(document, form, Transcoding::Unknown);
    }

    fn insert_transcoding(&mut self, document: &Document, form: &MediaLimits, fit: Transcoding) {
        let (key, since) = (self.key_for_insertion(document), self.next());
        self.transcodings.insert(key, form, fit, since);
    }

    /// Pages of a document as images, as a converter rendered them. An answer that is not what was asked for counts as
    /// none.
    pub fn insert_rendered(&mut self, document: &Document, request: &PageRequest, rendered: RenderedPages) {
        self.insert_rendering(document, request, Rendering::of(document, request, rendered));
    }

    /// Pages of a document cannot be rendered. The model reads the reason: one line, no full stop, no secrets.
    pub fn insert_unrenderable(
        &mut self,
        document: &Document,
        request: &PageRequest,
        reason: impl Into<String>,
    ) {
        self.insert_rendering(document, request, Rendering::Failed(one_line(&reason.into())));
    }

    /// Nobody can render pages of a document.
    pub fn insert_unrendered(&mut self, document: &Document, request: &PageRequest) {
        self.insert_rendering(document, request, Rendering::Unknown);
    }

    fn insert_rendering(&mut self, document: &Document, request: &PageRequest, rendering: Rendering) {
        let (key, since) = (self.key_for_insertion(document), self.next());
        self.renderings.insert(key, request, rendering, since);
    }

    fn next(&mut self) -> u64 {
        self.inserted += 1;
        self.inserted
    }

    fn key_for_insertion(&mut self, document: &Document) -> Key {
        let content = self.print(document).digest();
        if let Some(digest) = content {
            self.latest.insert(document.id().clone(), digest);
        }
        Key { id: document.id().clone(), content }
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
        let key = self.key(document);
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
        self.memo.pages(self.key(document), document)
    }

    /// The knowledge about a document and a form.
    pub(crate) fn transcoding(&self, document: &Document, form: &MediaLimits) -> Option<&Transcoding> {
        if self.transcodings.is_empty() {
            return None;
        }
        let key = self.key(document);
        self.transcodings.get(&key, form).or_else(|| self.transcodings.get(&key.of_any_content(), form))
    }

    /// The documents inside those of which text was made, under the ids that their labels show.
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
        let key = self.key(document);
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
            let mut about = format!("text converted from {}", one_line(media_type.essence()));
            for note in converted.notes.iter().filter(|_| goes_on) {
                about.extend(["; ", &one_line(note)]);
            }
            about
        };
        match self.memo.conversion(key, media_type, (units.clone(), limit), text, about) {
            Readable::Text(fenced) => Some(fenced),
            Readable::Blank | Readable::Undecodable => None,
        }
    }
}

/// The content of a document that is in memory.
pub(crate) fn content_bytes(document: &Document) -> Option<&[u8]> {
    match document.source() {
        DocumentSource::Bytes(bytes) => Some(bytes),
        DocumentSource::Inline { text } => Some(text.as_bytes()),
        _ => None,
    }
}

/// True if both hold the same piece of memory. Both handles keep theirs alive, so it holds the same content.
fn is_same_memory(a: &Document, b: &Document) -> bool {
    match (content_bytes(a), content_bytes(b)) {
        (Some(a), Some(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len(),
        _ => false,
    }
}

impl Clone for Materials {
    /// The copy remembers no decoded texts.
    fn clone(&self) -> Self {
        let Self { loaded, converted, transcodings, renderings, said, latest, memo: _, inserted } = self;
        let (loaded, converted, transcodings) = (loaded.clone(), converted.clone(), transcodings.clone());
        let (said, latest, memo) = (said.clone(), latest.clone(), Memo::default());
        let renderings = renderings.clone();
        Self { loaded, converted, transcodings, renderings, said, latest, memo, inserted: *inserted }
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
