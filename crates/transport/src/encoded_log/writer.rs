//! The writer of a codec's items.

use attache_core::json::{write_escaped, write_string};
use attache_core::{ErrorKind, ProviderError};
use bytes::Bytes;
use serde::Serialize;

use super::store::{Encoded, Store};

/// Documents below this size are written into the text: a chunk of their own would cost more than a copy.
const SMALL_DOCUMENT: usize = 3 << 10;

/// Writes one item.
#[derive(Debug)]
pub struct ItemWriter<'a> {
    store: &'a Store,
    item: &'a mut Draft,
}

/// JSON with places for values. It is part of a codec, cut while the codec is compiled, and never made of input.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pieces: [&'static str; Self::MOST + 1],
    places: usize,
}

impl Template {
    /// The maximum number of places of a template.
    const MOST: usize = 7;

    /// Cuts JSON at each `$`. [`template!`](crate::template) does so while the codec is compiled.
    ///
    /// # Panics
    /// If it has more than seven places.
    #[expect(
        clippy::indexing_slicing,
        reason = "constants have no `get`; it fails while the codec is compiled"
    )]
    pub const fn new(json: &'static str) -> Self {
        let mut template = Self { pieces: [""; Self::MOST + 1], places: 0 };
        let (mut rest, mut at) = (json, 0);
        while at < rest.len() {
            if rest.as_bytes()[at] == b'$' {
                let (piece, behind) = rest.split_at(at);
                template.pieces[template.places] = piece;
                template.places += 1;
                (_, rest) = behind.split_at(1);
                at = 0;
            } else {
                at += 1;
            }
        }
        template.pieces[template.places] = rest;
        template
    }
}

/// A [`Template`] of JSON in which each `$` stands for a value, for [`ItemWriter::fill`].
///
/// ```
/// use attache_transport::{Template, template};
/// let part: &Template = template!(r#"{"type":"text","text":$}"#);
/// ```
#[macro_export]
macro_rules! template {
    ($json:literal) => {
        const { &$crate::Template::new($json) }
    };
}

/// A value in a [`Template`].
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "codecs make them, and each is a method of the writer")]
pub enum Fill<'v> {
    /// A JSON string, as [`ItemWriter::string`] writes it.
    Text(&'v str),
    /// A piece of a string, as [`ItemWriter::escaped`] writes it.
    Bare(&'v str),
    /// JSON as it is.
    Json(&'v str),
    /// A piece of a string that is the base64 text of bytes.
    Base64(&'v Bytes),
    /// A string that is a data URI, of a media type and bytes.
    DataUri(&'v str, &'v Bytes),
}

/// An item before its role is known.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) text: Vec<u8>,
    /// Documents and where in the text they belong.
    pub(super) documents: Vec<(usize, Encoded)>,
    /// The place for a marker, counted in text and documents.
    pub(super) mark: Option<u64>,
}

impl Draft {
    /// Room for an item of a usual size.
    pub(super) fn new() -> Self {
        Self { text: Vec::with_capacity(2 << 10), ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.documents.clear();
        self.mark = None;
    }

    fn len(&self) -> u64 {
        let documents = self.documents.iter().map(|(_, document)| document.text.len() as u64);
        self.text.len() as u64 + documents.sum::<u64>()
    }

    /// Appends the item to `store`.
    pub(super) fn move_to(&mut self, store: &mut Store) {
        let mut from = 0;
        for (at, document) in self.documents.drain(..) {
            store.append(self.text.get(from..at).unwrap_or_default());
            store.append_document(document);
            from = at;
        }
        store.append(self.text.get(from..).unwrap_or_default());
    }
}

impl<'a> ItemWriter<'a> {
    pub(super) fn new(store: &'a Store, item: &'a mut Draft) -> Self {
        item.clear();
        Self { store, item }
    }

    /// Appends JSON text as it is.
    pub fn raw(&mut self, json: &str) {
        self.item.text.extend_from_slice(json.as_bytes());
    }

    /// Appends `text` as a JSON string, in quotes and escaped.
    pub fn string(&mut self, text: &str) {
        write_string(text, &mut self.item.text);
    }

    /// Appends `text` escaped but without quotes, for strings that are written in several pieces.
    pub fn escaped(&mut self, text: &str) {
        write_escaped(text, &mut self.item.text);
    }

    /// Appends `value` as compact JSON.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if it cannot be serialised.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ProviderError> {
        serde_json::to_writer(&mut self.item.text, value).map_err(|error| {
            ProviderError::new(ErrorKind::Configuration, "a value cannot be written as JSON")
                .with_source(error)
        })
    }

    /// Appends the base64 text of `content`, without quotes. It is encoded once for as long as the log holds it,
    /// also if its message is rendered again, and never copied.
    pub fn base64(&mut self, content: &Bytes) {
        if content.len() < SMALL_DOCUMENT {
            attache_core::base64::encode_onto(content, &mut self.item.text);
            return;
        }
        let here = self.item.documents.iter().find(|(_, known)| known.is_of(content));
        let text = here
            .map(|(_, known)| known.text.clone())
            .or_else(|| self.store.encoded(content))
            .unwrap_or_else(|| {
                // A `String` would be read once more, to check it.
                let mut text = Vec::new();
                attache_core::base64::encode_onto(content, &mut text);
                text.into()
            });
        let document = Encoded { content: content.clone(), text };
        self.item.documents.push((self.item.text.len(), document));
    }

    /// Appends the JSON of a [`template!`](crate::template) with `values` in the places of its `$`, one for each.
    pub fn fill(&mut self, template: &Template, values: &[Fill<'_>]) {
        debug_assert_eq!(template.places, values.len(), "{template:?}");
        let (first, behind) =
            template.pieces.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
        self.raw(first);
        for (value, after) in values.iter().zip(behind) {
            match *value {
                Fill::Text(text) => self.string(text),
                Fill::Bare(text) => self.escaped(text),
                Fill::Json(json) => self.raw(json),
                Fill::Base64(content) => self.base64(content),
                Fill::DataUri(essence, content) => {
                    self.raw("\"data:");
                    self.escaped(essence);
                    self.raw(";base64,");
                    self.base64(content);
                    self.raw("\"");
                }
            }
            self.raw(after);
        }
    }

    /// Remembers this place for a [`Marker`](super::Marker): call it just before the `}` that ends
    /// a block which may carry one. The last call counts.
    pub fn marker_here(&mut self) {
        self.item.mark = Some(self.item.len());
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.item.text.is_empty() && self.item.documents.is_empty()
    }
}

#[cfg(test)]
mod tests;
