//! The writer of a codec's items.

use std::io;

use attache_core::{ErrorKind, ProviderError};
use bytes::Bytes;
use serde::Serialize;
use serde_json::ser::Formatter;

use super::store::{Encoded, Store};

/// Documents below this size are written into the text: a chunk of their own would cost more than a copy.
const SMALL_DOCUMENT: usize = 3 << 10;

/// Writes one item.
#[derive(Debug)]
pub struct ItemWriter<'a> {
    store: &'a Store,
    item: &'a mut Draft,
}

/// A value in a template of [`ItemWriter::fill`].
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

/// Strings without their quotes.
struct Bare;

impl Formatter for Bare {
    fn begin_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        Ok(())
    }

    fn end_string<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        Ok(())
    }
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
        Self { text: Vec::with_capacity(1 << 10), ..Self::default() }
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
        self.item.text.reserve(text.len() + 2);
        // A string can always be serialised, and a vector always written to.
        let _ = serde_json::to_writer(&mut self.item.text, text);
    }

    /// Appends `text` escaped but without quotes, for strings that are written in several pieces.
    pub fn escaped(&mut self, text: &str) {
        self.item.text.reserve(text.len());
        let mut serializer = serde_json::Serializer::with_formatter(&mut self.item.text, Bare);
        // As above.
        let _ = text.serialize(&mut serializer);
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
            base64_simd::STANDARD.encode_append(content, &mut self.item.text);
            return;
        }
        let here = self.item.documents.iter().find(|(_, known)| known.is_of(content));
        let text = here
            .map(|(_, known)| known.text.clone())
            .or_else(|| self.store.encoded(content))
            .unwrap_or_else(|| Bytes::from(base64_simd::STANDARD.encode_type::<Vec<u8>>(content)));
        let document = Encoded { content: content.clone(), text };
        self.item.documents.push((self.item.text.len(), document));
    }

    /// Appends JSON in which each `$` gives way to the next of `values`. A template is part of a codec, and never made of input.
    pub fn fill(&mut self, template: &'static str, values: &[Fill<'_>]) {
        debug_assert_eq!(template.matches('$').count(), values.len(), "{template}");
        let mut pieces = template.split('$');
        self.raw(pieces.next().unwrap_or_default());
        for (value, after) in values.iter().zip(pieces) {
            match *value {
                Fill::Text(text) => self.string(text),
                Fill::Bare(text) => self.escaped(text),
                Fill::Json(json) => self.raw(json),
                Fill::Base64(content) => self.base64(content),
                Fill::DataUri(essence, content) => {
                    self.fill(r#""data:$;base64,$""#, &[Fill::Bare(essence), Fill::Base64(content)]);
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
