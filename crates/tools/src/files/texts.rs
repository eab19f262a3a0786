//! The text of files such as PDFs, as converters make it, once for as long as a file stays as it is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use attache_core::{Converter, Document, MediaType};
use bytes::Bytes;

use super::lines::{SEARCHED, is_text};
use crate::local::Call;
use crate::read_document::Reading;

/// The maximum number of bytes of texts and of the places of their lines that are kept; a longer text is kept alone.
const MAX_BYTES: usize = 64 << 20;
/// The maximum number of files whose texts are kept.
const MAX_FILES: usize = 5_000;

/// A file's size and the time of its last change, by which it is known to be as it was.
pub(super) type Stamp = (u64, SystemTime);

/// Converters, and the texts that they made.
#[derive(Default)]
pub(super) struct Texts {
    converters: Vec<Arc<dyn Converter>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<String, (Stamp, Option<Arc<Reading>>)>,
    bytes: usize,
}

impl Texts {
    /// These with one converter more, whose texts are yet to be made.
    pub(super) fn and(mut self, converter: Arc<dyn Converter>) -> Self {
        self.converters.push(converter);
        Self { converters: self.converters, kept: Mutex::default() }
    }

    /// True if a file is no text by its name, and a converter makes one of it.
    pub(super) fn convert_by_name(&self, path: &str) -> bool {
        let media_type = MediaType::from_file_name(path).filter(|named| !is_text(named));
        media_type.is_some_and(|media_type| self.converter(&media_type).is_some())
    }

    fn converter(&self, media_type: &MediaType) -> Option<&Arc<dyn Converter>> {
        self.converters.iter().find(|converter| converter.converts(media_type))
    }

    /// True if there is no converter, so that searches look into texts alone.
    pub(super) fn are_none(&self) -> bool {
        self.converters.is_empty()
    }

    /// The text that was made of a file as it is, or found not to be there.
    pub(super) fn known(&self, path: &str, stamp: Stamp) -> Option<Option<Arc<Reading>>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.files.get(path).filter(|(known, _)| *known == stamp).map(|(_, text)| text.clone())
    }

    /// Makes the text of a file; `None` if it has none, or nobody waits for the call any more.
    pub(super) fn make(
        &self,
        path: &str,
        bytes: Bytes,
        stamp: Option<Stamp>,
        call: &Call,
    ) -> Option<Arc<Reading>> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let document = Document::new(bytes.clone()).with_file_name(name);
        let media_type = document.media_type();
        let made = match self.converter(media_type) {
            None => None,
            // One that was given up, or found no room or time, is made by the next search.
            Some(converter) => match call.wait(converter.convert(&document, bytes))? {
                Ok(converted) => {
                    Some(Arc::new(Reading::converted(converted, media_type.essence(), SEARCHED)))
                }
                Err(error) if error.is_retryable() => return None,
                Err(_) => None,
            },
        };
        if let Some(stamp) = stamp {
            self.keep(path, stamp, made.clone());
        }
        made
    }

    fn keep(&self, path: &str, stamp: Stamp, text: Option<Arc<Reading>>) {
        let length = |text: &Option<Arc<Reading>>| {
            text.as_ref().map_or(0, |text| text.text.len() + 8 * text.line_count())
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + length(&text) > MAX_BYTES || kept.files.len() >= MAX_FILES {
            *kept = Kept::default();
        }
        kept.bytes += length(&text);
        if let Some((_, old)) = kept.files.insert(path.to_owned(), (stamp, text)) {
            kept.bytes -= length(&old);
        }
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts").field("converters", &self.converters.len()).finish_non_exhaustive()
    }
}
