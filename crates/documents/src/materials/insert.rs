//! Insertion of content that was loaded, fetched, converted or rendered.

use std::sync::Arc;

use attache_core::Document;
use attache_core::converter::{ConvertedText, MediaLimits};
use attache_core::fetcher::Fetched;
use bytes::Bytes;

use crate::materials::converted::{Converted, PageTexts};
use crate::materials::declared_types::Said;
use crate::materials::key::Key;
use crate::materials::material::Material;
use crate::materials::rendered::{PageRequest, Rendering};
use crate::materials::transcoded::Transcoding;
use crate::materials::{Loaded, Materials};
use crate::text::tame;

impl Materials {
    /// Inserts material about a document, replacing earlier material of the same kind.
    pub fn insert(&mut self, document: &Document, material: impl Into<Material>) {
        match material.into() {
            Material::Bytes(bytes) => self.load(document, bytes),
            Material::Fetched(Fetched { bytes, media_type, file_name, .. }) => {
                let said = Said { media_type, file_name };
                self.load(&said.of(document.clone()), bytes);
                self.said.insert(document.id().clone(), said);
            }
            Material::Missing(reason) => {
                self.loaded.insert(document.id().clone(), Loaded::Missing(tame(&reason)));
            }
            Material::Transcoded(form, made) => {
                let made = Transcoding::of(document, &form, made);
                self.transcode(document, form, made);
            }
            Material::Untranscodable(form, reason) => {
                self.transcode(document, form, Transcoding::Failed(tame(&reason)));
            }
            // That holds for any content of the document, so that none is hashed.
            Material::Unchecked(form) => {
                let (any, since) = (Key { id: document.id().clone(), content: None }, self.next());
                self.transcodings.insert(any, form, Transcoding::Unknown, since);
            }
            Material::Converted(mut converted) => {
                for (at, attachment) in converted.attachments.iter_mut().enumerate() {
                    *attachment = attachment.clone().with_id(document.id().inside(at + 1));
                }
                let blank = converted.text.trim().is_empty() && converted.attachments.is_empty();
                let text = if blank { Err("it holds no text".to_owned()) } else { Ok(Arc::new(converted)) };
                self.convert(document, text);
            }
            Material::Unconvertible(reason) => self.convert(document, Err(tame(&reason))),
            Material::Rendered(request, rendered) => {
                let rendered = Rendering::of(document, &request, rendered);
                self.render(document, request, rendered);
            }
            Material::Unrenderable(request, reason) => {
                self.render(document, request, Rendering::Failed(tame(&reason)));
            }
            Material::Unrendered(request) => self.render(document, request, Rendering::Unknown),
        }
    }

    fn load(&mut self, document: &Document, bytes: Bytes) {
        let loaded = document.clone().with_bytes(bytes);
        let any = Key { id: document.id().clone(), content: None };
        self.transcodings.forget(&any);
        self.renderings.forget(&any);
        self.memo.forget_pages(&any.id);
        self.said.remove(document.id());
        let since = self.next();
        self.loaded.insert(any.id, Loaded::Here(loaded, since));
    }

    fn transcode(&mut self, document: &Document, form: MediaLimits, made: Transcoding) {
        let (key, since) = (self.key_for_insertion(document), self.next());
        self.transcodings.insert(key, form, made, since);
    }

    fn convert(&mut self, document: &Document, text: Result<Arc<ConvertedText>, String>) {
        let (key, since) = (self.key_for_insertion(document), self.next());
        self.memo.forget(&key);
        let pages = text.as_ref().map(|text| PageTexts::of(text)).unwrap_or_default();
        self.converted.insert(key, Converted { text, pages, since });
    }

    fn render(&mut self, document: &Document, request: PageRequest, rendered: Rendering) {
        let (key, since) = (self.key_for_insertion(document), self.next());
        self.renderings.insert(key, request, rendered, since);
    }

    /// Says that what was inserted last is the word of a converter that could not begin.
    pub(crate) fn note_busy(&mut self) {
        self.busy.push(self.inserted);
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
