//! Fulfils a plan with the store and the converters.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use attache_core::converter::{ConverterError, ConverterErrorKind, MediaLimits};
use attache_core::fetcher::Fetcher;
use attache_core::{
    BoxFuture, Converter, Document, DocumentSource, DocumentStore, Message, ModelCapabilities, StoreErrorKind,
};

use super::fetched;
use crate::materials::material::Material;
use crate::materials::plan::plan;
use crate::materials::{Content, Materials, PageRequest};
use crate::options::RouteOptions;

/// Loads from `store`, fetches with `fetcher` and converts with `converters` everything that routing of `messages` for
/// a model needs and that is not yet in `materials`.
///
/// It never fails: unavailable content is recorded in the materials, and the model reads the reason. Each document is
/// loaded at most once, and fitted, converted and rendered at most once, by the first converter that supports its type.
/// Up to eight documents are processed concurrently, and the result does not depend on which finishes first. A
/// converter that was [busy](ConverterErrorKind::Busy) is called again by the next `gather`.
///
/// External documents are fetched only if their content will be shown, never for a label, and only if there is a
/// `fetcher`. Fetched content is put into the store under the document's id and read from there afterwards: a resumed
/// run neither fetches it again nor sees different content.
///
/// The store, the fetcher and the converters apply their own timeouts; the future waits for nothing else. If it is
/// dropped, the materials keep what was gathered so far.
///
/// ```
/// # async fn example(store: &dyn attache_core::DocumentStore) -> Result<(), attache_core::ProviderError> {
/// use attache_core::{Message, ToolSet};
/// use attache_core::capability::Matrix;
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
    materials.forget_busy();
    // The type of a document may show only in its bytes, so there may be something to convert after loading.
    loop {
        let wanted = plan(messages, capabilities, options, materials);
        if wanted.is_empty() {
            return;
        }
        let load = wanted.load.iter().map(|document| -> Gathered<'_> {
            Box::pin(async move { (document, content_of(document, store, fetcher).await.into()) })
        });
        let transcode = wanted.transcode.iter().map(|(document, form)| -> Gathered<'_> {
            Box::pin(async move { (document, transcode(document, form, converters).await) })
        });
        let convert = wanted.convert.iter().map(|document| -> Gathered<'_> {
            Box::pin(async move { (document, convert(document, converters).await) })
        });
        let render = wanted.render.iter().map(|(document, request)| -> Gathered<'_> {
            Box::pin(async move { (document, render(document, request, converters).await) })
        });
        side_by_side(load.chain(transcode).chain(convert).chain(render), |(document, answer)| {
            materials.insert(document, answer.material);
            if answer.is_busy {
                materials.note_busy();
            }
        })
        .await;
    }
}

/// Loads the content of a document: its own, that in `store`, or, if it is external, that at its URL, which is fetched
/// and kept as by [`gather`]. A fetched document gets the type and name sent by its server if they are more specific.
///
/// # Errors
/// The reason why the content is not available, worded to follow the document's name.
pub async fn load(
    document: &Document,
    store: &dyn DocumentStore,
    fetcher: Option<&dyn Fetcher>,
) -> Result<Document, String> {
    let mut materials = Materials::new();
    if document.bytes().is_none() {
        materials.insert(document, content_of(document, store, fetcher).await);
    }
    match materials.content(document) {
        Content::Here(loaded) => Ok(loaded),
        Content::Missing(reason) => Err(reason.to_owned()),
        Content::NotLoaded => Err("its content is not there".to_owned()),
    }
}

/// A document, with one thing that is known of it then.
type Gathered<'p> = BoxFuture<'p, (&'p Document, Answer)>;

/// One thing that is known of a document.
struct Answer {
    material: Material,
    /// True if a converter could not begin, and may later.
    is_busy: bool,
}

impl Answer {
    fn failed(error: &ConverterError, material: impl FnOnce(String) -> Material) -> Self {
        let is_busy = error.kind() == ConverterErrorKind::Busy;
        Self { material: material(error.to_string()), is_busy }
    }
}

impl From<Material> for Answer {
    fn from(material: Material) -> Self {
        Self { material, is_busy: false }
    }
}

/// The number of documents that are loaded, fetched, transcoded or converted at once.
const AT_ONCE: usize = 8;

/// Drives a few of the futures at a time, in order, and hands on what each yields as soon as it does.
async fn side_by_side<'f, T>(mut all: impl Iterator<Item = BoxFuture<'f, T>>, mut done: impl FnMut(T)) {
    let mut running = Vec::with_capacity(AT_ONCE);
    poll_fn(|context| {
        loop {
            running.extend(all.by_ref().take(AT_ONCE - running.len()));
            let before = running.len();
            running.retain_mut(|future| match future.as_mut().poll(context) {
                Poll::Ready(value) => {
                    done(value);
                    false
                }
                Poll::Pending => true,
            });
            match running.len() {
                0 if before == 0 => return Poll::Ready(()),
                // None made room, and all know whom to wake.
                left if left == before => return Poll::Pending,
                _ => {}
            }
        }
    })
    .await;
}

async fn content_of(
    document: &Document,
    store: &dyn DocumentStore,
    fetcher: Option<&dyn Fetcher>,
) -> Material {
    if let DocumentSource::External { url } = document.source() {
        return fetched::bring(document, url, store, fetcher).await;
    }
    match store.get(document.id()).await {
        Ok(bytes) if document.may_have(&bytes) => Material::Bytes(bytes),
        Ok(_) => {
            tracing::warn!(document = %document.id(), "a document cannot be loaded: the store has another one under its id");
            Material::Missing("the store has another document under its id".to_owned())
        }
        Err(error) => {
            tracing::warn!(document = %document.id(), %error, "a document cannot be loaded");
            let reason = match error.kind() {
                StoreErrorKind::NotFound => "its content is not in the store any more",
                _ => "its content cannot be read from the store",
            };
            Material::Missing(reason.to_owned())
        }
    }
}

async fn transcode(document: &Document, form: &MediaLimits, converters: &[Arc<dyn Converter>]) -> Answer {
    let media_type = document.media_type();
    let converter = converters.iter().find(|converter| converter.transcodes(media_type, form));
    let (Some(converter), Some(bytes)) = (converter, document.bytes()) else {
        return Material::Unchecked(form.clone()).into();
    };
    match converter.transcode(document, bytes, form).await {
        Ok(fitted) => Material::Transcoded(form.clone(), fitted).into(),
        Err(error) => Answer::failed(&error, |reason| Material::Untranscodable(form.clone(), reason)),
    }
}

async fn convert(document: &Document, converters: &[Arc<dyn Converter>]) -> Answer {
    let media_type = document.media_type();
    let converter = converters.iter().find(|converter| converter.converts(media_type));
    let (Some(converter), Some(bytes)) = (converter, document.bytes()) else {
        return Material::Unconvertible(format!("there is no converter for {media_type}")).into();
    };
    match converter.convert(document, bytes).await {
        Ok(text) => Material::Converted(text).into(),
        Err(error) => Answer::failed(&error, Material::Unconvertible),
    }
}

async fn render(document: &Document, request: &PageRequest, converters: &[Arc<dyn Converter>]) -> Answer {
    let media_type = document.media_type();
    let converter = converters.iter().find(|converter| converter.renders(media_type, &request.form));
    let (Some(converter), Some(bytes)) = (converter, document.bytes()) else {
        return Material::Unrendered(request.clone()).into();
    };
    match converter.render(document, bytes, &request.pages, &request.form).await {
        Ok(pages) => Material::Rendered(request.clone(), pages).into(),
        Err(error) => Answer::failed(&error, |reason| Material::Unrenderable(request.clone(), reason)),
    }
}
