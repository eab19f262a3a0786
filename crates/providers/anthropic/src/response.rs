//! A reply, streamed or whole, put together block by block into one message.

mod block;
mod citations;
mod usage;
mod wire;

use attache_core::{
    AssistantMessage, AssistantPart, Completion, FinishReason, Metadata, OpaquePart, ProviderError,
    ReasoningPart, TextPart,
};
use attache_transport::claude::{self, MAX_BLOCKS, ToldTexts, append_blank};
pub(crate) use attache_transport::malformed;
use attache_transport::{ChunkSink, JsonStr, Reading};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::block::{Block, Kind};
pub(crate) use self::wire::{Delta, Envelope, Piece};

/// The kind of the part that names the container in which the provider ran code. It is no content block.
pub(crate) const CONTAINER: &str = "container";

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    reading: Reading,
    id: Option<String>,
    model: Option<String>,
    blocks: Vec<Block>,
    /// The place in `blocks` of the block that came last; deltas nearly always belong to it.
    current: usize,
    calls: usize,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    container: Option<Box<RawValue>>,
    explanation: Option<String>,
    told: ToldTexts,
}

impl Reply {
    /// An empty reply.
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    /// Takes a `message_start`, a whole reply with its blocks, or the `delta` of a `message_delta`.
    pub(crate) fn envelope(
        &mut self,
        envelope: Envelope<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        #[derive(Deserialize)]
        struct Details {
            explanation: Option<String>,
        }
        renew(&mut self.id, envelope.id);
        renew(&mut self.model, envelope.model);
        for raw in envelope.content.into_iter().flatten() {
            self.open(None, raw, out)?;
            self.close(None, out);
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
    pub(crate) fn open(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let block = Block::open(index.unwrap_or_else(|| self.next_index()), raw, self.calls)?;
        if block.is_call() {
            self.calls += 1;
        }
        block.announce(out);
        self.add(block)
    }

    /// Takes a piece of a `content_block_delta`.
    pub(crate) fn piece(
        &mut self,
        index: Option<u64>,
        piece: Piece<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        if let Some(block) = self.place(index).and_then(|at| self.blocks.get_mut(at)) {
            block.extend(piece, out);
            return Ok(());
        }
        // The start of the block was lost; text and thinking can do without.
        match Block::implied(index.unwrap_or_else(|| self.next_index()), &piece) {
            Some(mut block) => {
                block.extend(piece, out);
                self.add(block)
            }
            None if matches!(piece, Piece::Json(_)) => {
                Err(malformed("a piece of a tool call without its start"))
            }
            None => Ok(()),
        }
    }

    /// Takes a `content_block_stop`.
    pub(crate) fn close(&mut self, index: Option<u64>, out: &mut ChunkSink) {
        let Some(at) = self.place(index) else { return };
        if let Some(block) = self.blocks.get_mut(at) {
            block.close(out);
            if let Kind::Text(text) = &block.kind {
                self.told.tell(at, text, citations::citation, out);
            }
        }
    }

    fn next_index(&self) -> u64 {
        u64::try_from(self.blocks.len()).unwrap_or(u64::MAX)
    }

    fn add(&mut self, block: Block) -> Result<(), ProviderError> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(malformed(format!("the reply has more than {MAX_BLOCKS} content blocks")));
        }
        self.current = self.blocks.len();
        self.blocks.push(block);
        Ok(())
    }

    /// The block of that index, or the last one.
    fn place(&self, index: Option<u64>) -> Option<usize> {
        let Some(index) = index else { return self.blocks.len().checked_sub(1) };
        if self.blocks.get(self.current).is_some_and(|block| block.index == index) {
            return Some(self.current);
        }
        self.blocks.iter().rposition(|block| block.index == index)
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
        let last = self.blocks.len().saturating_sub(1);
        let mut parts = Vec::with_capacity(self.blocks.len());
        // White space that fills a whole block cannot be sent back. It joins the text that follows, or the last
        // one, so that the message still reads as it was streamed.
        let mut blank = String::new();
        for (at, mut block) in self.blocks.drain(..).enumerate() {
            block.close(out);
            parts.extend(match block.kind {
                Kind::Text(text) => text.into_part(&mut blank, reading),
                Kind::Thinking(thinking) => thinking.into_part(reading),
                Kind::Redacted(raw) => {
                    Some(AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(reading.tag(raw))))
                }
                Kind::Call(call) => Some(call.into_part(cut && at == last, reading)),
                Kind::Opaque(block) => Some(block.into_part(reading)),
            });
        }
        append_blank(&mut parts, &blank);
        if reason == FinishReason::Refusal {
            parts.extend(
                self.explanation
                    .take()
                    .and_then(TextPart::new)
                    .map(|text| AssistantPart::Text(text.as_refusal())),
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
