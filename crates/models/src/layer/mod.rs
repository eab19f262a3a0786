//! Providers around providers.

mod cited;
mod concurrency;
mod earlier;
mod fallback;
mod leaked_calls;
mod log;
mod rate;
mod retry;
mod text_tools;

use std::fmt;
use std::sync::Arc;

use attache_core::provider::ProviderState;
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, LlmProvider, ModelCapabilities, ModelHandle, ModelSettings,
    ProviderError, ToolSet,
};

pub use self::concurrency::ConcurrencyLimit;
pub use self::fallback::{Fallback, SwitchRule};
pub use self::leaked_calls::LeakedCalls;
pub use self::log::Logged;
pub use self::rate::RateLimit;
pub use self::retry::Retry;
pub use self::text_tools::TextTools;

/// A wrapper around a model's calls. A layer that is shared by several models shares its limits.
pub trait Layer: fmt::Debug + Send + Sync + 'static {
    /// Asks `inner`, in this layer's way. Lazy: nothing happens before the first poll, and dropping the stream ends
    /// whatever was begun.
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream;

    /// The media that the model takes in each place, and its abilities. By default those of `inner`.
    fn capabilities<'a>(&'a self, inner: &'a ModelHandle) -> &'a ModelCapabilities {
        inner.capabilities()
    }

    /// The models that may answer in the place of `inner`, [`LlmProvider::fallbacks`]. By default those that `inner` names.
    fn fallbacks<'a>(&'a self, inner: &'a ModelHandle) -> Vec<&'a str> {
        inner.fallbacks()
    }

    /// The fate of the schemas of tools, [`LlmProvider::check_tools`]. By default what `inner` says.
    fn check_tools(&self, inner: &ModelHandle, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        inner.check_tools(tools, options)
    }

    /// Has the provider count the tokens of a request, [`LlmProvider::count_tokens`]. By default `inner` does.
    fn count_tokens(
        &self,
        inner: &ModelHandle,
        request: ChatRequest,
    ) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        inner.count_tokens(request)
    }
}

impl<L: Layer + ?Sized> Layer for Arc<L> {
    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        (**self).stream(inner, request)
    }

    fn capabilities<'a>(&'a self, inner: &'a ModelHandle) -> &'a ModelCapabilities {
        (**self).capabilities(inner)
    }

    fn fallbacks<'a>(&'a self, inner: &'a ModelHandle) -> Vec<&'a str> {
        (**self).fallbacks(inner)
    }

    fn check_tools(&self, inner: &ModelHandle, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        (**self).check_tools(inner, tools, options)
    }

    fn count_tokens(
        &self,
        inner: &ModelHandle,
        request: ChatRequest,
    ) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        (**self).count_tokens(inner, request)
    }
}

/// `model` with a layer around it. Name, options and counts are the model's own.
///
/// ```
/// use std::time::Duration;
/// use attache_core::ModelHandle;
/// use attache_models::{ConcurrencyLimit, Logged, RateLimit, layered};
/// use attache_offline::OfflineModel;
///
/// let model = ModelHandle::new(OfflineModel::new());
/// let model = layered(model, ConcurrencyLimit::new(8));
/// let model = layered(model, RateLimit::new(600, Duration::from_secs(60)));
/// let model = layered(model, Logged::new());
/// assert_eq!(model.id(), "offline/extractive");
/// ```
pub fn layered(model: impl Into<ModelHandle>, layer: impl Layer) -> ModelHandle {
    ModelHandle::new(Layered { inner: model.into(), layer })
}

#[derive(Debug)]
struct Layered<L> {
    inner: ModelHandle,
    layer: L,
}

impl<L: Layer> LlmProvider for Layered<L> {
    fn model_id(&self) -> &str {
        self.inner.id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.layer.capabilities(&self.inner)
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.inner.settings()
    }

    fn set_settings(&self, config: ModelSettings) {
        self.inner.set_settings(config);
    }

    fn state(&self) -> ProviderState {
        self.inner.state()
    }

    fn fallbacks(&self) -> Vec<&str> {
        self.layer.fallbacks(&self.inner)
    }

    fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        self.layer.check_tools(&self.inner, tools, options)
    }

    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        self.layer.count_tokens(&self.inner, request)
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.layer.stream(&self.inner, request)
    }
}
