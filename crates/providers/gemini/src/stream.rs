//! Decodes a reply: the chunks of a stream, or one JSON object, which have the same form (gemini.md 8).

use attache_core::Completion;
use attache_transport::{ChunkSink, EventDecoder, Reading, SseEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error::{self, Result, malformed};
use crate::response::{Chunk, Delta, Reply};

/// Reads events and JSON bodies.
#[derive(Debug)]
pub(crate) struct Events {
    reply: Reply,
}

impl Events {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reply: Reply::new(reading) }
    }

    fn take(&mut self, data: &[u8], out: &mut ChunkSink) -> Result<()> {
        if let Some(delta) = std::str::from_utf8(data).ok().and_then(Delta::read) {
            return self.reply.piece(delta, out);
        }
        // An error that breaks a stream off may come in a list.
        if data.first() == Some(&b'[') { self.list(data, out) } else { self.chunk(data, out) }
    }

    fn list(&mut self, json: &[u8], out: &mut ChunkSink) -> Result<()> {
        let chunks: Vec<&RawValue> = serde_json::from_slice(json)
            .map_err(|cause| malformed("the reply is not what the API sends").with_source(cause))?;
        chunks.into_iter().try_for_each(|chunk| self.chunk(chunk.get().as_bytes(), out))
    }

    fn chunk(&mut self, data: &[u8], out: &mut ChunkSink) -> Result<()> {
        let chunk: Chunk<'_> = serde_json::from_slice(data)
            .map_err(|cause| malformed("the reply is not what the API sends").with_source(cause))?;
        if chunk.error.is_some_and(|error| error.get().len() > 2) {
            return Err(error::in_stream(data));
        }
        self.reply.take(chunk, out)
    }
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<()> {
        // The API names no event; servers in front of it may name one that is no reply.
        if event.name == b"error" {
            return Err(error::in_stream(event.data));
        }
        // The API sends no terminator; servers in front of it may.
        if event.data == b"[DONE]" {
            return self.end(out);
        }
        self.take(event.data, out)
    }

    /// A reply or an error. Without `alt=sse` a stream is a list of chunks, and errors of streams come in lists too.
    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<()> {
        /// The members of which a reply has one at least.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Outline {
            candidates: Option<IgnoredAny>,
            prompt_feedback: Option<IgnoredAny>,
            usage_metadata: Option<IgnoredAny>,
            response_id: Option<IgnoredAny>,
        }
        if body.first() == Some(&b'[') {
            self.list(body, out)?;
            if !self.reply.is_finished() {
                self.reply.refused()?;
                return Err(malformed("the reply is a list without an answer"));
            }
            return self.reply.finish(out);
        }
        self.take(body, out)?;
        let Outline { candidates, prompt_feedback, usage_metadata, response_id } =
            serde_json::from_slice(body).map_err(|_| error::of_foreign_shape(body))?;
        candidates
            .or(prompt_feedback)
            .or(usage_metadata)
            .or(response_id)
            .ok_or_else(|| error::of_foreign_shape(body))?;
        self.reply.finish(out)
    }

    /// The end of the connection is the end of the reply; one in which nothing finished was cut, or its prompt blocked.
    fn end(&mut self, out: &mut ChunkSink) -> Result<()> {
        if self.reply.is_finished() { self.reply.finish(out) } else { self.reply.refused() }
    }

    fn partial(&mut self) -> Completion {
        self.reply.partial()
    }
}
