//! The results of reading contents, so that each is read once.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_core::{Document, DocumentId, MediaType};

use crate::content::content_bytes;
use crate::materials::key::Key;
use crate::materials::page_count::Pages;
use crate::text::decode::{Decoded, decode};
use crate::text::fence::{Fenced, fence};

/// Decoded and fenced texts, and counts of pages. They keep no content alive.
#[derive(Default)]
pub(super) struct Memo {
    /// By what a content hashes to. Few ways to show a text are asked for.
    texts: Mutex<HashMap<Key, Vec<(Way, Readable)>>>,
    /// By the number of a content of a document: to hash a PDF takes longer than to count its pages.
    pages: Mutex<HashMap<DocumentId, HashMap<u64, Pages>>>,
}

/// A way to show a text.
#[derive(Clone, PartialEq, Eq)]
struct Way {
    media_type: MediaType,
    /// The units of converted text that are shown, from 1.
    converted: Option<RangeInclusive<usize>>,
    limit: usize,
}

impl Memo {
    pub(super) fn text(&self, key: Key, document: &Document, limit: usize) -> Readable {
        let id = key.id.clone();
        let way = Way { media_type: document.media_type().clone(), converted: None, limit };
        self.readable(key, way, || {
            let bytes = content_bytes(document).unwrap_or_default();
            match decode(bytes, document.media_type().charset()) {
                Some(decoded) => readable(fence(&id, &decoded, "", limit)),
                None => Readable::Undecodable,
            }
        })
    }

    pub(super) fn conversion(
        &self,
        key: Key,
        media_type: &MediaType,
        (units, limit): (RangeInclusive<usize>, usize),
        text: &str,
        about: impl FnOnce() -> String,
    ) -> Readable {
        let id = key.id.clone();
        let way = Way { media_type: media_type.clone(), converted: Some(units), limit };
        self.readable(key, way, || {
            let decoded = Decoded::known(text);
            readable(fence(&id, &decoded, &about(), limit))
        })
    }

    fn readable(&self, key: Key, way: Way, read: impl FnOnce() -> Readable) -> Readable {
        let known = |texts: &Vec<(Way, Readable)>| {
            texts.iter().find(|(known, _)| *known == way).map(|(_, readable)| readable.clone())
        };
        if let Some(readable) = lock(&self.texts).get(&key).and_then(known) {
            return readable;
        }
        // Others may read meanwhile; both read the same.
        let readable = read();
        lock(&self.texts).entry(key).or_default().push((way, readable.clone()));
        readable
    }

    pub(super) fn pages(&self, document: &Document) -> Pages {
        let number = document.content_number();
        if let Some(pages) = lock(&self.pages).get(document.id()).and_then(|known| known.get(&number)) {
            return *pages;
        }
        let pages = Pages::of(content_bytes(document).unwrap_or_default());
        lock(&self.pages).entry(document.id().clone()).or_default().insert(number, pages);
        pages
    }

    /// Forgets the pages of a document whose content is loaded anew, under another number.
    pub(super) fn forget_pages(&mut self, id: &DocumentId) {
        lock(&self.pages).remove(id);
    }

    pub(super) fn forget(&mut self, key: &Key) {
        lock(&self.texts).remove(key);
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&DocumentId) -> bool) {
        lock(&self.texts).retain(|key, _| keep(&key.id));
        lock(&self.pages).retain(|id, _| keep(id));
    }

    /// Lets all texts go.
    pub(super) fn forget_texts(&mut self) {
        lock(&self.texts).clear();
    }

    /// The bytes of the texts.
    pub(super) fn held_bytes(&self) -> u64 {
        let size = |readable: &Readable| match readable {
            Readable::Text(fenced) => fenced.part.text().len() as u64,
            Readable::Blank | Readable::Undecodable => 0,
        };
        lock(&self.texts).values().flatten().map(|(_, readable)| size(readable)).sum()
    }
}

fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn readable(fenced: Option<Fenced>) -> Readable {
    fenced.map_or(Readable::Blank, |fenced| Readable::Text(Arc::new(fenced)))
}

/// The text of a document or of a conversion.
#[derive(Clone, Debug)]
pub(crate) enum Readable {
    Text(Arc<Fenced>),
    Blank,
    Undecodable,
}
