//! The ways in: content that was loaded, fetched, converted or rendered.

use std::sync::Arc;

use attache_core::Document;
use attache_core::converter::{ConvertedText, MediaLimits, RenderedPages, Transcoded};
use attache_core::fetcher::Fetched;
use bytes::Bytes;

use crate::materials::converted::{Converted, PageTexts};
use crate::materials::declared_types::Said;
use crate::materials::key::Key;
use crate::materials::rendered::{PageRequest, Rendering};
use crate::materials::transcoded::Transcoding;
use crate::materials::{Loaded, Materials};
use crate::text::decode::harmless_line;

impl Materials {
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
        self.loaded.insert(document.id().clone(), Loaded::Missing(harmless_line(&reason.into())));
    }

    /// The text that a converter made of a document. Blank text counts as none. The documents inside it get ids of
    /// its own, the same each time: [`DocumentId::inside`](attache_core::DocumentId::inside).
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
        self.insert_text(document, Err(harmless_line(&reason.into())));
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
        self.insert_transcoding(document, form, Transcoding::Failed(harmless_line(&reason.into())));
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
        self.insert_rendering(document, request, Rendering::Failed(harmless_line(&reason.into())));
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
}
