//! From the bytes of an answer to chunks.

use attache_core::{Completion, ProviderError};
use attache_transport::lenient::Object;
use attache_transport::{ChunkSink, ErrorBody, EventDecoder, Reading, SseEvent};

use super::response::Reply;
use super::response::wire::{Chunk, Piece};
use crate::error::{self, Result, is_set};
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
            // Errors come in lists, too; other things between the chunks of a stream are nobody's protocol and say
            // nothing.
            return match error::is_error(json) {
                true => Err(error::reported(json)),
                false if whole => Err(error::no_answer(json)),
                false => Ok(()),
            };
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

/// The error that stands in an answer under a success status (openai.md D 38, D 39, D 50).
fn error_in(chunk: &Chunk<'_>, json: &[u8]) -> Option<ProviderError> {
    let choices = || chunk.choices.0.iter().filter_map(|choice| choice.0.as_ref()?.error);
    let groq = chunk.x_groq.0.as_ref().and_then(|groq| groq.error);
    let inner = || choices().chain(groq).find(|raw| is_set(Some(*raw)));
    if is_set(chunk.error) {
        return Some(error::reported(json));
    }
    if let Some(raw) = inner() {
        return Some(error::reported(format!("{{\"error\":{}}}", raw.get()).as_bytes()));
    }
    if chunk.base_resp.is_some() && error::base_resp(json).is_some() {
        return Some(error::reported(json));
    }
    // Flat error objects hold nothing of an answer.
    let holds_nothing = chunk.choices.0.is_empty() && chunk.usage.is_none();
    (holds_nothing
        && chunk.base_resp.is_none()
        && ErrorBody::parse(json).is_some_and(|body| body.message.is_some()))
    .then(|| error::reported(json))
}
