//! From the bytes of an answer to chunks.

use attache_core::{Completion, ErrorKind, ProviderError};
use attache_transport::{ChunkSink, Decoder, EventDecoder, ReplyDecoder, SseEvent};

use super::response::error_in;
use super::turn::{Reading, Turn};
use super::wire::Chunk;
use crate::error;
use crate::lenient::Object;

/// The most bytes of the events of one answer, 256 MiB: what a reply can make us keep.
const MAX_BYTES: usize = 256 << 20;

/// Decodes one answer of Chat Completions, streamed or whole; the first byte of the body tells which.
///
/// An answer without text and calls ends in [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty message: whether that is an error
/// is the caller's policy. One that failed on the server's side before it said anything, and said so only as its
/// finish reason, is an error that may be retried.
#[derive(Debug)]
pub struct ChatDecoder(ReplyDecoder<Events>);

impl ChatDecoder {
    pub(super) fn new(reading: Reading) -> Self {
        Self(ReplyDecoder::new(Events::new(reading)))
    }
}

impl Decoder for ChatDecoder {
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.0.push(bytes, out)
    }

    fn finish(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.0.finish(out)
    }
}

#[derive(Debug)]
pub(super) struct Events {
    turn: Turn,
    bytes: usize,
}

impl Events {
    pub(super) fn new(reading: Reading) -> Self {
        Self { turn: Turn::new(reading), bytes: 0 }
    }

    fn read(&mut self, json: &[u8], whole: bool, out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.bytes = self.bytes.saturating_add(json.len());
        if self.bytes > MAX_BYTES {
            return Err(ProviderError::new(ErrorKind::Malformed, "the reply is too long"));
        }
        // Checked once here, the text is not checked again string by string.
        let text = std::str::from_utf8(json).map_err(|error| error::malformed(json, error))?;
        let object: Object<Chunk<'_>> =
            serde_json::from_str(text).map_err(|error| error::malformed(json, error))?;
        let Some(chunk) = object.0 else {
            // Scalars between the chunks of a stream are nobody's protocol and say nothing.
            return if whole { Err(error::no_answer(json)) } else { Ok(()) };
        };
        self.turn.take(&chunk, whole, out)?;
        match error_in(&chunk, json) {
            Some(error) => Err(error),
            None if whole && chunk.is_nothing() => Err(error::no_answer(json)),
            None => Ok(()),
        }
    }

    fn done(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.turn.failed_silently()?;
        self.turn.finish(out);
        Ok(())
    }
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let data = event.data.trim_ascii();
        if data == b"[DONE]" {
            return self.done(out);
        }
        if event.name == b"error" {
            return Err(error::reported(data));
        }
        if data.is_empty() {
            return Ok(());
        }
        self.read(data, false, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.read(body, true, out)?;
        self.done(out)
    }

    fn end(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        if self.turn.is_finished() { self.done(out) } else { Ok(()) }
    }

    fn partial(&mut self) -> Completion {
        self.turn.partial()
    }
}
