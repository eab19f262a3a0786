//! The model of an agent that is never asked.

use std::sync::Arc;

use attache_core::capability::PlaceCapabilities;
use attache_core::provider::ProviderState;
use attache_core::{
    ChatRequest, ChunkStream, ErrorKind, LlmProvider, ModelCapabilities, ModelHandle, ModelSettings,
    ProviderError,
};

/// A model that takes everything and answers nothing.
struct Nobody(ModelCapabilities);

/// The handle of it. It takes each document, since whoever calls the tools does.
pub(crate) fn nobody() -> ModelHandle {
    let mut capabilities = ModelCapabilities::text_only("none", "none");
    let everything = PlaceCapabilities::of(&["text", "*/*"]);
    capabilities.user = everything.clone();
    capabilities.tool_result = everything.clone();
    capabilities.failed_result = everything.clone();
    capabilities.beside_result = everything;
    ModelHandle::new(Nobody(capabilities))
}

impl LlmProvider for Nobody {
    fn model_id(&self) -> &str {
        "none/none"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.0
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::default()
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        ProviderState::default()
    }

    fn stream(&self, _: ChatRequest) -> ChunkStream {
        let error = ProviderError::new(ErrorKind::Configuration, "the agent has no model");
        Box::pin(futures_util::stream::iter([Err(error)]))
    }
}
