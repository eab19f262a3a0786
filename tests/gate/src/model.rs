//! A model that answers at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_core::provider::ProviderState;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ChunkStream, Completion, FinishReason,
    LlmProvider, ModelCapabilities, ModelSettings, StreamChunk, ToolCall, Usage,
};
use attache_openai::ChatCodec;
use attache_transport::Codec;

/// A model that asks for one call of `lookup` at each of its first steps, then answers. Nothing of it waits.
#[derive(Debug)]
pub struct Instant {
    capabilities: ModelCapabilities,
    config: Arc<ModelSettings>,
    calls: usize,
    asked: AtomicUsize,
}

impl Instant {
    /// A model that asks for that many calls.
    pub fn new(calls: usize) -> Self {
        let capabilities = ChatCodec::from("gpt-4o-mini").capabilities().clone();
        Self { capabilities, config: Arc::new(ModelSettings::new()), calls, asked: AtomicUsize::new(0) }
    }
}

impl LlmProvider for Instant {
    fn model_id(&self) -> &'static str {
        "gate/instant"
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn settings(&self) -> Arc<ModelSettings> {
        Arc::clone(&self.config)
    }

    fn set_settings(&self, _: ModelSettings) {}

    fn state(&self) -> ProviderState {
        ProviderState::default()
    }

    fn stream(&self, _: ChatRequest) -> ChunkStream {
        let step = self.asked.fetch_add(1, Ordering::Relaxed);
        let part = if step < self.calls {
            ToolCall::new("lookup", Arguments::new(format!("{{\"query\":\"record {step}\"}}"))).into()
        } else {
            AssistantPart::text("All is found.")
        };
        let message = AssistantMessage::new([part]);
        let reason = FinishReason::Stop.for_message(message.has_tool_calls());
        let done = StreamChunk::Done(Box::new(Completion::new(message, reason, Usage::default())));
        Box::pin(futures_util::stream::iter([Ok(done)]))
    }
}
