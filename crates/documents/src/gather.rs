//! Brings what a plan asks for, over the contract's store and converters.

use std::sync::Arc;

use attache_core::{
    Converter, Document, DocumentSource, DocumentStore, Fetcher, Form, Message, ModelCapabilities,
    StoreErrorKind,
};

use crate::external;
use crate::materials::Materials;
use crate::options::RouteOptions;
use crate::plan::plan;

/// Loads from `store`, fetches with `fetcher` and converts with `converters` what routing of `messages` for a model needs
/// and `materials` say nothing about.
///
/// It never fails: what cannot be had is noted in the materials, and the model reads why. Each document is loaded at
/// most once, and fitted and converted at most once, by the first converter that knows its type.
///
/// External documents are fetched only where their content will be shown, never for a label, and only if there is a
/// `fetcher`. What was fetched is put into the store under the document's id, and taken from there from then on: a
/// resumed run neither fetches it again nor sees other content.
///
/// The store, the fetcher and the converters keep their own time limits; the future does nothing else that waits.
/// Dropping it leaves the materials with what was gathered so far.
///
/// ```
/// # async fn example(store: &dyn attache_core::DocumentStore) -> Result<(), attache_core::ProviderError> {
/// use attache_core::{Matrix, Message, ToolSet};
/// use attache_documents::{Materials, RouteOptions, gather, route};
///
/// let messages = [Message::user("What does the lease say?").shared()];
/// let (capabilities, options) = (Matrix::bundled().resolve("anthropic", "claude-opus-4-8"), RouteOptions::new());
/// let mut materials = Materials::new();
/// gather(&mut materials, &messages, &capabilities, &options, store, None, &[]).await;
/// let routing = route(&messages, &capabilities, &ToolSet::default(), &materials, &options)?;
/// # let _ = routing;
/// # Ok(())
/// # }
/// ```
pub async fn gather(
    materials: &mut Materials,
    messages: &[Arc<Message>],
    capabilities: &ModelCapabilities,
    options: &RouteOptions,
    store: &dyn DocumentStore,
    fetcher: Option<&dyn Fetcher>,
    converters: &[Arc<dyn Converter>],
) {
    // What a document is may show only in its bytes, so there may be something to convert after loading.
    loop {
        let wanted = plan(messages, capabilities, options, materials);
        if wanted.is_empty() {
            return;
        }
        for document in &wanted.load {
            match document.source() {
                DocumentSource::External { url } => {
                    external::bring(materials, document, url, store, fetcher).await;
                }
                _ => load(materials, document, store).await,
            }
        }
        for (document, form) in &wanted.fit {
            fit(materials, document, form, converters).await;
        }
        for document in &wanted.convert {
            convert(materials, document, converters).await;
        }
    }
}

async fn load(materials: &mut Materials, document: &Document, store: &dyn DocumentStore) {
    match store.get(document.id()).await {
        Ok(bytes) => materials.insert_bytes(document, bytes),
        Err(error) => {
            tracing::warn!(document = %document.id(), %error, "a document cannot be loaded");
            let reason = match error.kind() {
                StoreErrorKind::NotFound => "its content is not in the store any more",
                _ => "its content cannot be read from the store",
            };
            materials.insert_missing(document, reason);
        }
    }
}

async fn fit(materials: &mut Materials, document: &Document, form: &Form, converters: &[Arc<dyn Converter>]) {
    let media_type = document.media_type();
    let converter = converters.iter().find(|converter| converter.fits(media_type, form));
    let (Some(converter), Some(bytes)) = (converter, document.bytes()) else {
        materials.insert_unchecked(document, form);
        return;
    };
    match converter.fit(document, bytes, form).await {
        Ok(fitted) => materials.insert_fitted(document, form, fitted),
        Err(reason) => materials.insert_unfit(document, form, reason),
    }
}

async fn convert(materials: &mut Materials, document: &Document, converters: &[Arc<dyn Converter>]) {
    let media_type = document.media_type();
    let converter = converters.iter().find(|converter| converter.converts(media_type));
    let (Some(converter), Some(bytes)) = (converter, document.bytes()) else {
        materials.insert_unconvertible(document, format!("there is no converter for {media_type}"));
        return;
    };
    match converter.convert(document, bytes).await {
        Ok(text) => materials.insert_converted(document, text),
        Err(reason) => materials.insert_unconvertible(document, reason),
    }
}
