//! From the bytes of an answer to chunks.

use attache_core::{Completion, ProviderError};
use attache_transport::{ChunkSink, EventDecoder, SseEvent};
use serde_json::value::RawValue;

use super::turn::{Field, Place, Reading, Turn};
use super::wire::{Piece, Response, Whole, object};
use crate::error;
use crate::lenient::Object;

/// Reads the events of a stream, or a whole answer.
#[derive(Debug)]
pub(super) struct Events {
    turn: Turn,
}

impl Events {
    pub(super) fn new(reading: Reading) -> Self {
        Self { turn: Turn::new(reading) }
    }

    fn read(&mut self, name: &[u8], data: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        // Checked once here, the text is not checked again string by string.
        let text = std::str::from_utf8(data).map_err(|error| error::malformed(data, error))?;
        let piece: Object<Piece<'_>> =
            serde_json::from_str(text).map_err(|error| error::malformed(data, error))?;
        // Scalars between events are nobody's protocol and say nothing.
        let Some(piece) = piece.0 else { return Ok(()) };
        let kind = match piece.kind.get() {
            Some(kind) => kind,
            // Some servers name events only in the frame.
            None => std::str::from_utf8(name).unwrap_or_default(),
        };
        let part = piece.content_index.0.or(piece.summary_index.0).unwrap_or(0);
        let place = Place { index: piece.output_index.0, id: piece.item_id.get(), part };
        let delta = piece.delta.get().unwrap_or_default();
        match kind {
            "response.output_text.delta" => return self.turn.piece(place, Field::Text, delta, out),
            "response.function_call_arguments.delta" => return self.turn.arguments(place, delta, out),
            "response.reasoning_summary_text.delta" => {
                return self.turn.piece(place, Field::Summary, delta, out);
            }
            "response.reasoning_text.delta" => return self.turn.piece(place, Field::Thought, delta, out),
            "response.refusal.delta" => return self.turn.piece(place, Field::Refusal, delta, out),
            _ => {}
        }
        let whole: Whole<'_> = object(text).unwrap_or_default();
        let full = whole.text.get().unwrap_or_default();
        match kind {
            "response.output_item.added" => self.item(place, whole.item, false, out),
            "response.output_item.done" => self.item(place, whole.item, true, out),
            "response.output_text.done" => self.turn.full(place, Field::Text, full, out),
            "response.reasoning_summary_text.done" => self.turn.full(place, Field::Summary, full, out),
            "response.reasoning_text.done" => self.turn.full(place, Field::Thought, full, out),
            "response.refusal.done" => {
                self.turn.full(place, Field::Refusal, whole.refusal.get().unwrap_or_default(), out)
            }
            "response.function_call_arguments.done" => {
                self.turn.full_arguments(place, whole.arguments.get().unwrap_or_default(), out)
            }
            "error" => Err(error::reported(data)),
            // Created, in progress, and however it ends.
            _ => match whole.response.and_then(|response| object(response.get())) {
                Some(response) => self.response(kind, &response, data, out),
                // An error that does not name itself.
                None if kind.is_empty() && error::is_error(data) => Err(error::reported(data)),
                None => Ok(()),
            },
        }
    }

    fn item(
        &mut self,
        place: Place<'_>,
        item: Option<&RawValue>,
        done: bool,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        match item {
            Some(item) => self.turn.item(place, item, done, out),
            None => Ok(()),
        }
    }

    fn response(
        &mut self,
        kind: &str,
        response: &Response<'_>,
        data: &[u8],
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        self.turn.header(response);
        match kind {
            "response.completed" | "response.incomplete" | "response.done" => {
                self.end_with(response, data, out)
            }
            "response.failed" | "response.cancelled" => {
                self.turn.output(response, out)?;
                Err(failure(response, data))
            }
            _ => Ok(()),
        }
    }

    /// A response in its last state.
    fn end_with(
        &mut self,
        response: &Response<'_>,
        data: &[u8],
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        self.turn.output(response, out)?;
        match response.status.get() {
            Some("failed" | "cancelled") => return Err(failure(response, data)),
            Some(status @ ("queued" | "in_progress")) => return Err(error::unfinished(status, data)),
            _ => {}
        }
        self.turn.finish(response, out);
        Ok(())
    }
}

/// The error of a response that failed or was cancelled.
fn failure(response: &Response<'_>, data: &[u8]) -> ProviderError {
    let is_null = response.error.is_none_or(|error| error.get() == "null");
    match response.status.get() {
        Some("cancelled") if is_null => error::cancelled(data),
        _ if is_null => error::failed(data),
        _ => error::reported(data),
    }
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let data = event.data.trim_ascii();
        if data == b"[DONE]" || data.is_empty() {
            return Ok(());
        }
        if event.name == b"error" {
            return Err(error::reported(data));
        }
        self.read(event.name, data, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let text = std::str::from_utf8(body).map_err(|error| error::malformed(body, error))?;
        let response: Object<Response<'_>> =
            serde_json::from_str(text).map_err(|error| error::malformed(body, error))?;
        let Some(response) = response.0 else { return Err(error::no_answer(body)) };
        let says_nothing = response.output.is_none() && response.status.get().is_none();
        if says_nothing {
            return Err(if error::is_error(body) { error::reported(body) } else { error::no_answer(body) });
        }
        self.turn.header(&response);
        self.end_with(&response, body, out)
    }

    fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
        // Without its last event an answer is cut, whatever came.
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.turn.partial()
    }
}
