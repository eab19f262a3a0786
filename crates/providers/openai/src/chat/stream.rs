//! From the bytes of an answer to chunks.

use attache_core::Completion;
use attache_transport::lenient::Object;
use attache_transport::{ChunkSink, EventDecoder, Reading, SseEvent};

use super::finish_reasons::error_in;
use super::response::Reply;
use super::wire::{Chunk, Piece};
use crate::error::{self, Result};
use crate::profile::Profile;

/// Reads the events of a stream, or a whole answer.
#[derive(Debug)]
pub(super) struct Events {
    reply: Reply,
}

impl Events {
    pub(super) fn new(reading: Reading, profile: &Profile) -> Self {
        Self { reply: Reply::new(reading, profile) }
    }

    fn read(&mut self, json: &[u8], whole: bool, out: &mut ChunkSink) -> Result<()> {
        // Checked once here, the text is not checked again string by string.
        let text = std::str::from_utf8(json).map_err(|error| error::malformed(json, error))?;
        if !whole && let Some(piece) = Piece::read(text) {
            return self.reply.piece(&piece, out);
        }
        let object: Object<Chunk<'_>> =
            serde_json::from_str(text).map_err(|error| error::malformed(json, error))?;
        let Some(chunk) = object.0 else {
            // Scalars between the chunks of a stream are nobody's protocol and say nothing.
            return if whole { Err(error::no_answer(json)) } else { Ok(()) };
        };
        self.reply.take(&chunk, whole, out)?;
        match error_in(&chunk, json) {
            Some(error) => Err(error),
            None if whole && chunk.is_nothing() => Err(error::no_answer(json)),
            None => Ok(()),
        }
    }

    fn done(&mut self, out: &mut ChunkSink) -> Result<()> {
        self.reply.failed_silently()?;
        self.reply.finish(out);
        Ok(())
    }
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<()> {
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

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<()> {
        self.read(body, true, out)?;
        self.done(out)
    }

    fn end(&mut self, out: &mut ChunkSink) -> Result<()> {
        if self.reply.is_finished() { self.done(out) } else { Ok(()) }
    }

    fn partial(&mut self) -> Completion {
        self.reply.partial()
    }
}
