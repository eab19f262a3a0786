//! A reply, streamed or whole, put together block by block into one message.

mod block;
mod citations;
mod usage;
mod wire;

use attache_core::message::Metadata;
use attache_core::{AssistantMessage, Completion, FinishReason, ProviderError, Usage};
use attache_transport::claude::{self, Blocks, Ending};
pub(crate) use attache_transport::malformed;
use attache_transport::{ChunkSink, JsonStr, Reading};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::block::Own;
pub(crate) use self::wire::{Delta, Whole};
use crate::error::Result;

/// A reply as far as it has come.
#[derive(Debug)]
pub(crate) struct Reply {
    reading: Reading,
    pub(crate) blocks: Blocks<Own>,
    usage: Usage,
    stop_reason: Option<String>,
    metadata: Metadata,
}

impl Reply {
    /// An empty reply.
    pub(crate) fn new(reading: Reading) -> Self {
        let blocks = Blocks::new(citations::citation);
        let (usage, metadata) = (Usage::default(), Metadata::new());
        Self { reading, blocks, usage, stop_reason: None, metadata }
    }

    /// Takes a block of a whole reply.
    pub(crate) fn block(&mut self, raw: &RawValue, out: &mut ChunkSink) -> Result<()> {
        if let Some(block) = block::whole(raw, self.blocks.next_slot())? {
            self.blocks.open(None, block, out)?;
            self.blocks.close(None, out);
        }
        Ok(())
    }

    /// Takes the `start` of a `contentBlockStart`.
    pub(crate) fn open(&mut self, index: Option<u64>, start: &RawValue, out: &mut ChunkSink) -> Result<()> {
        match block::started(start, self.blocks.next_slot())? {
            Some(block) => self.blocks.open(index, block, out),
            None => Ok(()),
        }
    }

    /// Takes the reason for the end, the token counts, and what the caller asked to be told.
    pub(crate) fn end(&mut self, ending: Whole<'_>) {
        self.stop_reason =
            ending.stop_reason.and_then(JsonStr::into_filled).or_else(|| self.stop_reason.take());
        if let Some(usage) = ending.usage.and_then(usage::normalised) {
            self.usage = usage;
        }
        let mut fields = read(ending.additional_model_response_fields);
        if let Some(Value::Object(fields)) = &mut fields
            && let Some(sequence @ Value::String(_)) = fields.shift_remove("stop_sequence")
        {
            self.tell("stopSequence", Some(sequence));
        }
        self.tell("additionalModelResponseFields", fields);
        self.tell("trace", read(ending.trace));
        self.tell("performanceConfig", read(ending.performance_config));
        self.tell("serviceTier", read(ending.service_tier));
    }

    fn tell(&mut self, name: &str, value: Option<Value>) {
        let says_nothing = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        if let Some(value) = value.filter(|value| !says_nothing(value)) {
            self.metadata = std::mem::take(&mut self.metadata).with(name, value);
        }
    }

    /// The error that a reason for the end is: what the model wrote is neither text nor a call.
    pub(crate) fn failure(&self) -> Option<ProviderError> {
        let what = match self.stop_reason.as_deref()? {
            "malformed_tool_use" => "the model wrote a tool call that cannot be read",
            "malformed_model_output" => "the model wrote what cannot be read",
            _ => return None,
        };
        // The model may do better next time.
        Some(malformed(what).with_code(self.stop_reason.clone()).with_retryable(true))
    }

    /// The finished reply; `cut` if it never came to its end. The value that is left is empty.
    pub(crate) fn finish(&mut self, cut: bool) -> Completion {
        let reason = finish_reason(self.stop_reason.as_deref());
        let ending = if cut { Ending::Cut } else { Ending::of(&reason) };
        let parts = self.blocks.finish(ending, &self.reading, &mut ChunkSink::new());
        let mut message = AssistantMessage::new(parts.into_iter().map(Some));
        citations::read(&mut message);
        message.metadata = std::mem::take(&mut self.metadata);
        let reason = reason.for_message(message.has_tool_calls());
        let mut completion = Completion::new(message, reason, std::mem::take(&mut self.usage));
        completion.raw_finish_reason = self.stop_reason.take();
        completion.degradations = std::mem::take(&mut self.reading.degradations);
        completion
    }
}

fn read(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}

/// The meaning of a `stopReason`. Only the message tells if there are calls: some models say `end_turn` with calls in it.
fn finish_reason(word: Option<&str>) -> FinishReason {
    match word {
        Some("guardrail_intervened" | "content_filtered") => FinishReason::ContentFilter,
        Some("malformed_model_output" | "malformed_tool_use") => FinishReason::Error,
        word => claude::finish_reason(word),
    }
}
