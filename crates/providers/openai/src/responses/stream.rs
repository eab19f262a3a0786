//! From the events of an answer to chunks.

use std::sync::Arc;

use attache_core::{AssistantMessage, Completion, Degradation, FinishReason, ProviderError, ToolSet, Usage};
use attache_transport::{ChunkSink, EventDecoder, SseEvent};

/// What an answer is read with.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) family: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) tools: Arc<ToolSet>,
    pub(super) degradations: Vec<Degradation>,
}

#[derive(Debug)]
pub(super) struct Events(Reading);

impl Events {
    pub(super) fn new(reading: Reading) -> Self {
        Self(reading)
    }
}

impl EventDecoder for Events {
    fn event(&mut self, _: SseEvent<'_>, _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }
    fn whole(&mut self, _: &[u8], _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }
    fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }
    fn partial(&mut self) -> Completion {
        let _ = (&self.0.family, &self.0.model, &self.0.tools, &self.0.degradations);
        Completion::new(AssistantMessage::new([]), FinishReason::Stop, Usage::default())
    }
}
