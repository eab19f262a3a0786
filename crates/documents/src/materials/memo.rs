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

/// Decoded and fenced texts, and counts of pages.
///
/// They are known by what a content hashes to, so that they keep no content alive.
#[derive(Default)]
pub(super) struct Memo(Mutex<HashMap<Key, Read>>);

/// The results for one content.
#[derive(Default)]
struct Read {
    /// Few ways to show a text are asked for.
    texts: Vec<(Way, Readable)>,
    pages: Option<Pages>,
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
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Read>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
        let known = |read: &Read| {
            read.texts.iter().find(|(known, _)| *known == way).map(|(_, readable)| readable.clone())
        };
        if let Some(readable) = self.lock().get(&key).and_then(known) {
            return readable;
        }
        // Others may read meanwhile; both read the same.
        let readable = read();
        self.lock().entry(key).or_default().texts.push((way, readable.clone()));
        readable
    }

    pub(super) fn pages(&self, key: Key, document: &Document) -> Pages {
        if let Some(pages) = self.lock().get(&key).and_then(|read| read.pages) {
            return pages;
        }
        let pages = Pages::of(content_bytes(document).unwrap_or_default());
        self.lock().entry(key).or_default().pages = Some(pages);
        pages
    }

    fn own(&mut self) -> &mut HashMap<Key, Read> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.own().remove(key);
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&DocumentId) -> bool) {
        self.own().retain(|key, _| keep(&key.id));
    }

    /// Lets all texts go.
    pub(super) fn forget_texts(&mut self) {
        self.own().values_mut().for_each(|read| read.texts = Vec::new());
    }

    /// The bytes of the texts.
    pub(super) fn held_bytes(&self) -> u64 {
        let size = |readable: &Readable| match readable {
            Readable::Text(fenced) => fenced.part.text().len() as u64,
            Readable::Blank | Readable::Undecodable => 0,
        };
        self.lock().values().flat_map(|read| &read.texts).map(|(_, readable)| size(readable)).sum()
    }
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
