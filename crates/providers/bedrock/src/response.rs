//! A reply, streamed or whole, put together block by block into one message.

mod block;
mod citations;
mod usage;
mod wire;

use attache_core::{AssistantMessage, AssistantPart, Completion, FinishReason, ProviderError, Usage};
use attache_transport::claude::{self, MAX_BLOCKS, ToldTexts, append_blank};
pub(crate) use attache_transport::malformed;
use attache_transport::{ChunkSink, JsonStr, Reading};
use serde_json::value::RawValue;

use self::block::{Block, Kind};
pub(crate) use self::wire::{Delta, Piece, Whole};

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    reading: Reading,
    blocks: Vec<Block>,
    /// The place in `blocks` of the block that came last; deltas nearly always belong to it.
    current: usize,
    calls: usize,
    usage: Usage,
    stop_reason: Option<String>,
    told: ToldTexts,
}

impl Reply {
    /// An empty reply.
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    /// Takes a block of a whole reply.
    pub(crate) fn block(&mut self, raw: &RawValue, out: &mut ChunkSink) -> Result<(), ProviderError> {
        match Block::whole(self.next_index(), raw, self.calls)? {
            Some(block) => {
                self.add(block, out)?;
                self.close(None, out);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Takes a `contentBlockStop`.
    pub(crate) fn close(&mut self, index: Option<u64>, out: &mut ChunkSink) {
        let at = match index {
            Some(index) => self.blocks.iter().rposition(|block| block.index == index),
            None => self.blocks.len().checked_sub(1),
        };
        let Some(at) = at else { return };
        if let Some(Kind::Text(text)) = self.blocks.get(at).map(|block| &block.kind) {
            self.told.tell(at, text, citations::citation, out);
        }
    }

    /// Takes the `start` of a `contentBlockStart`.
    pub(crate) fn open(
        &mut self,
        index: Option<u64>,
        start: &RawValue,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        match Block::open(index.unwrap_or_else(|| self.next_index()), start, self.calls)? {
            Some(block) => self.add(block, out),
            None => Ok(()),
        }
    }

    /// Takes the `delta` of a `contentBlockDelta`.
    pub(crate) fn delta(
        &mut self,
        index: Option<u64>,
        delta: Delta<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        delta.into_pieces().try_for_each(|piece| self.piece(index, piece, out))
    }

    /// Takes a piece of a block.
    pub(crate) fn piece(
        &mut self,
        index: Option<u64>,
        piece: Piece<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        if let Some(block) = self.place(index, &piece).and_then(|at| self.blocks.get_mut(at)) {
            block.extend(piece, out);
            return Ok(());
        }
        // Blocks of text and reasoning have no start but their first piece.
        match Block::implied(index.unwrap_or_else(|| self.next_index()), &piece) {
            Some(block) => {
                self.add(block, out)?;
                if let Some(block) = self.blocks.last_mut() {
                    block.extend(piece, out);
                }
                Ok(())
            }
            None if matches!(&piece, Piece::Json(json) if !json.is_empty()) => {
                Err(malformed("a piece of a tool call without its start"))
            }
            None => Ok(()),
        }
    }

    /// Takes the reason for the end.
    pub(crate) fn stopped(&mut self, reason: Option<JsonStr<'_>>) {
        if let Some(reason) = reason.and_then(JsonStr::into_filled) {
            self.stop_reason = Some(reason);
        }
    }

    /// Takes the token counts.
    pub(crate) fn used(&mut self, usage: Option<&RawValue>) {
        if let Some(usage) = usage.and_then(usage::normalised) {
            self.usage = usage;
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

    fn next_index(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.index.saturating_add(1))
    }

    fn add(&mut self, block: Block, out: &mut ChunkSink) -> Result<(), ProviderError> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(malformed(format!("the reply has more than {MAX_BLOCKS} content blocks")));
        }
        block.announce(out);
        self.calls += usize::from(matches!(block.kind, Kind::Call(_)));
        self.current = self.blocks.len();
        self.blocks.push(block);
        Ok(())
    }

    /// The block of that index, or the last one, if it takes the piece.
    fn place(&self, index: Option<u64>, piece: &Piece<'_>) -> Option<usize> {
        let takes = |block: &Block| block.takes(piece) && index.is_none_or(|index| block.index == index);
        if self.blocks.get(self.current).is_some_and(takes) {
            return Some(self.current);
        }
        match index {
            Some(_) => self.blocks.iter().rposition(takes),
            None => None,
        }
    }

    /// The finished reply; `cut` if it never came to its end. The value that is left is empty.
    pub(crate) fn finish(&mut self, cut: bool) -> Completion {
        let reason = finish_reason(self.stop_reason.as_deref());
        let reading = &self.reading;
        let cut = cut
            || matches!(reason, FinishReason::Length | FinishReason::ContentFilter | FinishReason::Refusal);
        let last = self.blocks.len().saturating_sub(1);
        let mut parts = Vec::with_capacity(self.blocks.len());
        // White space that fills a whole block cannot be sent back. It joins the text that follows, or the last
        // one, so that the message still reads as it was streamed.
        let mut blank = String::new();
        for (at, block) in self.blocks.drain(..).enumerate() {
            parts.extend(match block.kind {
                Kind::Text(text) => text.into_part(&mut blank, reading),
                Kind::Thinking(thinking) => thinking.into_part(reading),
                Kind::Redacted(redacted) => redacted.into_part(reading),
                Kind::Call(call) => {
                    Some(AssistantPart::ToolCall(call.into_call(cut && at == last, &reading.tools)))
                }
                Kind::Opaque(block) => Some(block.into_part(reading)),
            });
        }
        append_blank(&mut parts, &blank);
        let mut message = AssistantMessage::new(parts.into_iter().map(Some));
        citations::read(&mut message);
        let reason = reason.for_message(message.has_tool_calls());
        let mut completion = Completion::new(message, reason, std::mem::take(&mut self.usage));
        completion.raw_finish_reason = self.stop_reason.take();
        completion.degradations = std::mem::take(&mut self.reading.degradations);
        completion
    }
}

/// The meaning of a `stopReason`. Only the message tells if there are calls: some models say `end_turn` with calls in it.
fn finish_reason(word: Option<&str>) -> FinishReason {
    match word {
        Some("guardrail_intervened" | "content_filtered") => FinishReason::ContentFilter,
        Some("malformed_model_output" | "malformed_tool_use") => FinishReason::Error,
        word => claude::finish_reason(word),
    }
}
