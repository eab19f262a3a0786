//! Routing with loading and conversion, for programs that call providers without an agent.

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::fetcher::Fetcher;
use attache_core::{
    BoxFuture, Converter, Document, DocumentId, DocumentStore, Message, ModelCapabilities, ProviderError,
    StoreError, StoreErrorKind, ToolSet,
};
use bytes::Bytes;

use crate::materials::Materials;
use crate::materials::gather::gather;
use crate::options::RouteOptions;
use crate::render::{Routing, route};

/// [`gather`] and [`route`] combined, for one model. Materials of one request are reused for the next, as long as its
/// messages contain the document; materials that were not available are requested again.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use attache_core::{ChatRequest, Document, Message, ToolSet, UserMessage};
/// use attache_core::capability::Matrix;
/// use attache_documents::Router;
///
/// let question = UserMessage::text("Who is the tenant?").attach(Document::read("lease.pdf").await?);
/// let mut router = Router::new(Matrix::bundled().resolve("anthropic", "claude-opus-4-8"));
/// let routing = router.route(&[Message::User(question).shared()], &ToolSet::default()).await?;
/// println!("{}", routing.report);
/// let request = ChatRequest::new(routing.messages);
/// # let _ = request;
/// # Ok(())
/// # }
/// ```
pub struct Router {
    capabilities: ModelCapabilities,
    options: RouteOptions,
    store: Arc<dyn DocumentStore>,
    fetcher: Option<Arc<dyn Fetcher>>,
    converters: Vec<Arc<dyn Converter>>,
    materials: Materials,
}

impl Router {
    /// Creates a router for a model and for documents in memory.
    pub fn new(capabilities: ModelCapabilities) -> Self {
        Self {
            capabilities,
            options: RouteOptions::new(),
            store: Arc::new(NoStore),
            fetcher: None,
            converters: Vec::new(),
            materials: Materials::new(),
        }
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: RouteOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the store from which documents are loaded and in which fetched content is kept.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.store = store;
        self
    }

    /// Sets the fetcher for external documents whose content is to be shown.
    #[must_use]
    pub fn fetcher(mut self, fetcher: impl Fetcher + 'static) -> Self {
        self.fetcher = Some(Arc::new(fetcher));
        self
    }

    /// Adds a converter; the first one that supports a type is used.
    #[must_use]
    pub fn converter(mut self, converter: impl Converter + 'static) -> Self {
        self.converters.push(Arc::new(converter));
        self
    }

    /// Returns the messages as the model should see them, and the report. `tools` are those of the request; labels use
    /// their wire names.
    ///
    /// # Errors
    /// As [`route`].
    pub async fn route(
        &mut self,
        messages: &[Arc<Message>],
        tools: &ToolSet,
    ) -> Result<Routing, ProviderError> {
        let Self { capabilities, options, store, fetcher, converters, materials } = self;
        let held: HashSet<&DocumentId> =
            messages.iter().flat_map(|message| message.documents()).map(Document::id).collect();
        materials.retain(|id| held.contains(id));
        materials.forget_missing();
        gather(materials, messages, capabilities, options, &**store, fetcher.as_deref(), converters).await;
        route(messages, capabilities, tools, materials, options)
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("model", &self.capabilities.model).finish_non_exhaustive()
    }
}

/// The store of a router that was given none.
struct NoStore;

impl DocumentStore for NoStore {
    fn id(&self) -> &str {
        "none"
    }

    fn put<'a>(&'a self, _: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "there is no store")) })
    }

    fn get<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::NotFound, "there is no store")) })
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}
