//! Guards around stores, fetchers and converters: a panic in one is an error, and a document is converted once.

use std::future::Future;
use std::ops::RangeInclusive;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::converter::{
    ConvertedText, ConverterError, ConverterErrorKind, MediaLimits, RenderedPages, Transcoded,
};
use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{
    BoxFuture, Converter, Document, DocumentId, DocumentStore, MediaType, StoreError, StoreErrorKind,
};
use bytes::Bytes;
use futures_util::FutureExt;

/// The value of `work`, or an error if it panics.
async fn caught<T, E>(work: impl Future<Output = Result<T, E>>, error: impl FnOnce() -> E) -> Result<T, E> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(error()))
}

/// A store whose panics are errors.
pub(crate) struct GuardedStore(pub(crate) Arc<dyn DocumentStore>);

impl GuardedStore {
    fn panicked() -> StoreError {
        StoreError::new(StoreErrorKind::Unavailable, "the document store failed unexpectedly")
    }
}

impl DocumentStore for GuardedStore {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(caught(async move { self.0.put(document).await }, Self::panicked))
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(caught(async move { self.0.get(id).await }, Self::panicked))
    }

    fn renew<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(caught(async move { self.0.renew(id).await }, Self::panicked))
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(caught(async move { self.0.delete(id).await }, Self::panicked))
    }
}

/// A fetcher whose panics are errors.
pub(crate) struct GuardedFetcher<F>(pub(crate) F);

impl<F: Fetcher> Fetcher for GuardedFetcher<F> {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let panicked = || FetchError::new(FetchErrorKind::Unavailable, "the fetcher failed unexpectedly");
        Box::pin(caught(async move { self.0.fetch(url).await }, panicked))
    }
}

/// A converter whose panics are errors, and which remembers the newest texts: a chat of many runs shows a document at
/// each turn.
pub(crate) struct GuardedConverter<C> {
    converter: C,
    /// The longest unused first.
    texts: Mutex<Vec<(Identity, ConvertedText)>>,
}

/// The identity of a document: its id and its content.
type Identity = (DocumentId, [u8; 32]);

/// The maximum number of texts that a converter remembers.
const MAX_TEXTS: usize = 64;
/// The maximum number of bytes of text that it remembers. A document with others inside is converted again.
const MAX_TEXT_BYTES: usize = 32 << 20;

impl<C: Converter> GuardedConverter<C> {
    pub(crate) fn new(converter: C) -> Self {
        Self { converter, texts: Mutex::default() }
    }

    fn recall(&self, identity: &Identity) -> Option<ConvertedText> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let at = texts.iter().position(|(known, _)| known == identity)?;
        let known = texts.remove(at);
        let text = known.1.clone();
        texts.push(known);
        Some(text)
    }

    fn remember(&self, identity: Identity, text: &ConvertedText) {
        // Documents inside have their bytes in memory, which nobody would count here.
        if !text.attachments.is_empty() || text.text.len() > MAX_TEXT_BYTES {
            return;
        }
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.retain(|(known, _)| *known != identity);
        texts.push((identity, text.clone()));
        let bytes = |texts: &[(Identity, ConvertedText)]| {
            texts.iter().map(|(_, text)| text.text.len()).sum::<usize>()
        };
        while texts.len() > MAX_TEXTS || bytes(&texts) > MAX_TEXT_BYTES {
            texts.remove(0);
        }
    }
}

fn failed() -> ConverterError {
    ConverterError::new(ConverterErrorKind::Failed, "the converter failed unexpectedly")
}

impl<C: Converter> Converter for GuardedConverter<C> {
    fn converts(&self, media_type: &MediaType) -> bool {
        self.converter.converts(media_type)
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        Box::pin(async move {
            let identity = document.hash().map(|hash| (document.id().clone(), hash));
            if let Some(text) = identity.as_ref().and_then(|identity| self.recall(identity)) {
                return Ok(text);
            }
            let text = caught(async { self.converter.convert(document, bytes).await }, failed).await?;
            if let Some(identity) = identity {
                self.remember(identity, &text);
            }
            Ok(text)
        })
    }

    fn transcodes(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        self.converter.transcodes(media_type, form)
    }

    fn transcode<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        Box::pin(caught(async move { self.converter.transcode(document, bytes, form).await }, failed))
    }

    fn pages<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        first: usize,
        last: usize,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        Box::pin(caught(async move { self.converter.pages(document, bytes, first, last).await }, failed))
    }

    fn renders(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        self.converter.renders(media_type, form)
    }

    fn render<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        pages: &'a [RangeInclusive<usize>],
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<RenderedPages, ConverterError>> {
        Box::pin(caught(async move { self.converter.render(document, bytes, pages, form).await }, failed))
    }
}
