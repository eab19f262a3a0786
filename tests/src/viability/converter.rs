//! The converters of attache with a memory: the same document goes through many cells of the table.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::converter::{ConvertedText, ConverterError, MediaLimits, RenderedPages, Transcoded};
use attache_core::{BoxFuture, Converter, Document, DocumentId, MediaType};
use bytes::Bytes;

/// The converters of attache, which remember what they made: the same document goes through many cells.
#[derive(Default)]
pub(super) struct Remembering {
    inner: attache::convert::DocumentConverter,
    fitted: Mutex<HashMap<(DocumentId, MediaLimits), Result<Transcoded, ConverterError>>>,
    texts: Mutex<HashMap<DocumentId, Result<ConvertedText, ConverterError>>>,
    rendered: Mutex<HashMap<(DocumentId, MediaLimits), Result<RenderedPages, ConverterError>>>,
}

impl Remembering {
    /// Everything that was made of a document natively.
    pub(super) fn made(&self, document: &DocumentId) -> Vec<Bytes> {
        let fitted = self.fitted.lock().unwrap_or_else(PoisonError::into_inner);
        let of = fitted.iter().filter(|((id, _), _)| id == document);
        of.filter_map(|(_, made)| Some(made.as_ref().ok()?.content.as_ref()?.0.clone())).collect()
    }

    /// The pages of a document that were made images, each with its image.
    pub(super) fn pages(&self, document: &DocumentId) -> Vec<(usize, Bytes)> {
        let rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        let of = rendered.iter().filter(|((id, _), _)| id == document);
        let images = of.filter_map(|(_, pages)| pages.as_ref().ok()).flat_map(|pages| &pages.images);
        images.map(|image| (image.page, image.bytes.clone())).collect()
    }
}

/// The converters as many agents share them.
pub(super) struct Shared(pub(super) Arc<Remembering>);

impl Converter for Shared {
    fn converts(&self, media_type: &MediaType) -> bool {
        self.0.inner.converts(media_type)
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(async move {
            let known =
                self.0.texts.lock().unwrap_or_else(PoisonError::into_inner).get(document.id()).cloned();
            if let Some(known) = known {
                return known;
            }
            let made = self.0.inner.convert(document, bytes).await;
            let mut texts = self.0.texts.lock().unwrap_or_else(PoisonError::into_inner);
            texts.insert(document.id().clone(), made.clone());
            made
        })
    }

    fn transcodes(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        self.0.inner.transcodes(media_type, form)
    }

    fn transcode<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        Box::pin(async move {
            let key = (document.id().clone(), form.clone());
            let known = self.0.fitted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
            if let Some(known) = known {
                return known;
            }
            let made = self.0.inner.transcode(document, bytes, form).await;
            self.0.fitted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, made.clone());
            made
        })
    }

    fn renders(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        self.0.inner.renders(media_type, form)
    }

    fn render<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        pages: &'a [RangeInclusive<usize>],
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<RenderedPages, ConverterError>> {
        Box::pin(async move {
            let key = (document.id().clone(), form.clone());
            let known = self.0.rendered.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
            if let Some(known) = known {
                return known;
            }
            let made = self.0.inner.render(document, bytes, pages, form).await;
            self.0.rendered.lock().unwrap_or_else(PoisonError::into_inner).insert(key, made.clone());
            made
        })
    }
}
