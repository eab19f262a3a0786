//! A model that says what it is given, call ids included, and keeps no request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use attache_core::provider::ProviderState;
use attache_core::{
    AssistantMessage, ChatRequest, ChunkStream, Completion, ErrorKind, FinishReason, LlmProvider,
    ModelCapabilities, ModelSettings, ProviderError, StreamChunk, Usage,
};
use attache_testkit::ScriptedModel;

/// A model of these replies.
#[derive(Clone)]
pub(crate) struct Says {
    replies: Arc<Mutex<VecDeque<AssistantMessage>>>,
    /// The rest of a model, which is never asked.
    model: ScriptedModel,
}

impl Says {
    pub(crate) fn new(replies: impl IntoIterator<Item = AssistantMessage>) -> Self {
        let replies = Arc::new(Mutex::new(replies.into_iter().collect()));
        Self { replies, model: ScriptedModel::new([]) }
    }

    pub(crate) fn with_capabilities_of(mut self, family: &str, model: &str) -> Self {
        self.model = self.model.with_capabilities_of(family, model);
        self
    }
}

impl LlmProvider for Says {
    fn model_id(&self) -> &str {
        self.model.model_id()
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.model.capabilities()
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.model.settings()
    }

    fn set_settings(&self, config: ModelSettings) {
        self.model.set_settings(config);
    }

    fn state(&self) -> ProviderState {
        self.model.state()
    }

    fn stream(&self, _: ChatRequest) -> ChunkStream {
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(futures_util::stream::once(async move {
            let message = reply
                .ok_or_else(|| ProviderError::new(ErrorKind::InvalidRequest, "nothing is left to say"))?;
            let reason = FinishReason::Stop.for_message(message.has_tool_calls());
            Ok(StreamChunk::Done(Box::new(Completion::new(message, reason, Usage::default()))))
        }))
    }
}
