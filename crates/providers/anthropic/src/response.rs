//! A reply, streamed or whole, put together block by block into one message.

mod block;
mod citations;
mod usage;
mod wire;

use attache_core::message::{Metadata, OpaquePart};
use attache_core::{AssistantMessage, AssistantPart, Completion, FinishReason, TextPart};
use attache_transport::claude::{self, Block, Blocks, TextBlock};
use attache_transport::lenient::RawList;
pub(crate) use attache_transport::malformed;
use attache_transport::{ChunkSink, JsonStr, Reading};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::block::Own;
use self::wire::Content;
pub(crate) use self::wire::{Delta, Envelope};
use crate::error::Result;

/// The kind of the part that names the container in which the provider ran code. It is no content block.
pub(crate) const CONTAINER: &str = "container";

/// A reply as far as it has come.
#[derive(Debug)]
pub(crate) struct Reply {
    reading: Reading,
    id: Option<String>,
    model: Option<String>,
    pub(crate) blocks: Blocks<Own>,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    container: Option<Box<RawValue>>,
    explanation: Option<String>,
}

impl Reply {
    /// An empty reply.
    pub(crate) fn new(reading: Reading) -> Self {
        Self {
            reading,
            id: None,
            model: None,
            blocks: Blocks::new(citations::citation),
            usage: Map::new(),
            stop_reason: None,
            stop_sequence: None,
            container: None,
            explanation: None,
        }
    }

    /// Takes a `message_start`, a whole reply with its blocks, or the `delta` of a `message_delta`.
    pub(crate) fn envelope(&mut self, envelope: Envelope<'_>, out: &mut ChunkSink) -> Result<()> {
        #[derive(Deserialize)]
        struct Details {
            explanation: Option<String>,
        }
        renew(&mut self.id, envelope.id);
        renew(&mut self.model, envelope.model);
        match envelope.content {
            Content::Blocks(RawList(blocks)) => {
                for raw in blocks {
                    self.open(None, raw, out)?;
                    self.blocks.close(None, out);
                }
            }
            Content::Text(text) if !text.is_empty() => {
                self.blocks.open(None, Block::Text(TextBlock { text, citations: Vec::new() }), out)?;
            }
            Content::Text(_) | Content::None => {}
            Content::Other => return Err(malformed("the reply is not a message of the API")),
        }
        renew(&mut self.stop_reason, envelope.stop_reason);
        renew(&mut self.stop_sequence, envelope.stop_sequence);
        if let Some(container) = envelope.container {
            self.container = Some(container.to_owned());
        }
        let details = envelope.stop_details.and_then(|raw| serde_json::from_str::<Details>(raw.get()).ok());
        if let Some(text) = details.and_then(|details| details.explanation) {
            self.explanation = Some(text);
        }
        self.used(envelope.usage);
        Ok(())
    }

    /// Takes a `content_block_start`.
    pub(crate) fn open(&mut self, index: Option<u64>, raw: &RawValue, out: &mut ChunkSink) -> Result<()> {
        self.blocks.open(index, block::read(raw, self.blocks.next_slot())?, out)
    }

    /// Counts are cumulative: later ones replace earlier ones, absent and null ones replace nothing.
    pub(crate) fn used(&mut self, usage: Option<&RawValue>) {
        let Some(Ok(usage)) = usage.map(|raw| serde_json::from_str::<Map<String, Value>>(raw.get())) else {
            return;
        };
        for (name, value) in usage {
            if !value.is_null() || !self.usage.contains_key(&name) {
                self.usage.insert(name, value);
            }
        }
    }

    /// The finished reply; `cut` if it never came to its end. A call that was still open yields its last delta to
    /// `out`. The value that is left is empty.
    pub(crate) fn finish(&mut self, cut: bool, out: &mut ChunkSink) -> Completion {
        let reason = finish_reason(self.stop_reason.as_deref());
        let reading = &self.reading;
        let cut = cut || matches!(reason, FinishReason::Length | FinishReason::Refusal);
        let mut parts = self.blocks.finish(cut, reading, out);
        if reason == FinishReason::Refusal {
            parts.extend(
                self.explanation
                    .take()
                    .and_then(TextPart::new)
                    .map(|text| AssistantPart::Text(text.into_refusal())),
            );
        }
        if let Some(container) = self.container.take() {
            parts.push(AssistantPart::Opaque(OpaquePart::new(CONTAINER, reading.tag(container))));
        }
        let mut message = AssistantMessage::new(parts.into_iter().map(Some));
        citations::read(&mut message);
        if let Some(sequence) = self.stop_sequence.take() {
            message.metadata = Metadata::new().with("stopSequence", sequence);
        }
        let reason = reason.for_message(message.has_tool_calls());
        let mut completion =
            Completion::new(message, reason, usage::normalised(std::mem::take(&mut self.usage)));
        completion.raw_finish_reason = self.stop_reason.take();
        completion.model = self.model.take();
        completion.response_id = self.id.take();
        completion.degradations = std::mem::take(&mut self.reading.degradations);
        completion
    }
}

/// Takes what a later envelope says; an empty text says nothing.
fn renew(known: &mut Option<String>, said: Option<JsonStr<'_>>) {
    if let Some(said) = said.and_then(JsonStr::into_filled) {
        *known = Some(said);
    }
}

/// The meaning of a `stop_reason`.
fn finish_reason(word: Option<&str>) -> FinishReason {
    match word {
        // Send the turn back, and the provider goes on.
        Some("compaction") => FinishReason::Pause,
        word => claude::finish_reason(word),
    }
}
