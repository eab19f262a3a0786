//! From the bytes of an answer to chunks.

use attache_core::Completion;
use attache_transport::{ChunkSink, EventDecoder, Reading, SseEvent};

use super::response::item::Field;
use super::response::items::Place;
use super::response::wire::{Piece, Response, Whole, object, text};
use super::response::{Reply, is_open};
use crate::error::{self, Result, is_set};
use crate::profile::Profile;
use attache_transport::lenient::Object;

/// Reads the events of a stream, or a whole answer.
#[derive(Debug)]
pub(super) struct Events {
    reply: Reply,
}

impl Events {
    pub(super) fn new(reading: Reading, profile: &Profile) -> Self {
        Self { reply: Reply::new(reading, profile.responses.custom_calls) }
    }

    fn read(&mut self, name: &[u8], data: &[u8], out: &mut ChunkSink) -> Result<()> {
        // Checked once here, the text is not checked again string by string.
        let json = std::str::from_utf8(data).map_err(|error| error::malformed(data, error))?;
        let piece = match Piece::read(json) {
            Some(piece) => piece,
            None => match serde_json::from_str(json).map_err(|error| error::malformed(data, error))? {
                Object(Some(piece)) => piece,
                // Scalars between events are nobody's protocol and say nothing.
                Object(None) => return Ok(()),
            },
        };
        // Some servers name events only in the frame, most in the data too, some in the data alone.
        let kind = piece.kind.get().unwrap_or_else(|| std::str::from_utf8(name).unwrap_or_default());
        let part = piece.content_index.0.or(piece.summary_index.0).unwrap_or(0);
        let place = Place { index: piece.output_index.0, id: piece.item_id.get(), part };
        let delta = piece.delta.get().unwrap_or_default();
        match kind {
            "response.output_text.delta" => self.reply.piece(place, Field::Text, delta, out),
            "response.reasoning_summary_text.delta" => self.reply.piece(place, Field::Summary, delta, out),
            "response.reasoning_text.delta" => self.reply.piece(place, Field::Thought, delta, out),
            "response.refusal.delta" => self.reply.piece(place, Field::Refusal, delta, out),
            "response.function_call_arguments.delta" => self.reply.arguments(place, delta, out),
            "response.custom_tool_call_input.delta" if self.reply.custom_calls => {
                self.reply.arguments(place, delta, out)
            }
            _ => self.whole_of(kind, place, json, out),
        }
    }

    /// Takes an event that says what something is as a whole.
    fn whole_of(&mut self, kind: &str, place: Place<'_>, json: &str, out: &mut ChunkSink) -> Result<()> {
        let whole: Whole<'_> = object(json).unwrap_or_default();
        let full = whole.text.get().unwrap_or_default();
        match kind {
            "response.output_item.added" => {
                whole.item.map_or(Ok(()), |item| self.reply.begin(place, item, out))
            }
            "response.output_item.done" => whole.item.map_or(Ok(()), |item| self.reply.end(place, item, out)),
            "response.output_text.done" => self.reply.full(place, Field::Text, full, out),
            "response.reasoning_summary_text.done" => self.reply.full(place, Field::Summary, full, out),
            "response.reasoning_text.done" => self.reply.full(place, Field::Thought, full, out),
            "response.refusal.done" => {
                self.reply.full(place, Field::Refusal, whole.refusal.get().unwrap_or_default(), out)
            }
            "response.content_part.done" | "response.reasoning_summary_part.done" => {
                whole.part.0.map_or(Ok(()), |part| self.reply.part(place, &part, out))
            }
            // Of work that the server did itself the whole item tells all.
            "response.custom_tool_call_input.done" if !self.reply.custom_calls => Ok(()),
            "response.function_call_arguments.done" | "response.custom_tool_call_input.done" => {
                let given = whole.arguments.or(whole.input).map(|raw| text(raw.get())).unwrap_or_default();
                self.reply.full_arguments(place, &given, out)
            }
            "response.completed" | "response.done" => self.last("completed", &whole, json, out),
            "response.incomplete" => self.last("incomplete", &whole, json, out),
            "response.failed" => self.last("failed", &whole, json, out),
            "response.cancelled" => self.last("cancelled", &whole, json, out),
            "error" => Err(error::reported(json.as_bytes())),
            _ if is_error(kind, &whole, json) => Err(error::reported(json.as_bytes())),
            // Created, queued, in progress; what else there is says nothing that its item does not.
            _ => {
                if let Some(response) = whole.response.and_then(|response| object(response.get())) {
                    self.reply.header(&response);
                }
                Ok(())
            }
        }
    }

    /// Takes the last event of an answer.
    fn last(&mut self, ended: &str, whole: &Whole<'_>, json: &str, out: &mut ChunkSink) -> Result<()> {
        let response: Response<'_> =
            whole.response.and_then(|response| object(response.get())).unwrap_or_default();
        self.reply.header(&response);
        self.end_with(&response, ended, json, out)
    }

    /// Ends the answer with its last state.
    fn end_with(
        &mut self,
        response: &Response<'_>,
        ended: &str,
        json: &str,
        out: &mut ChunkSink,
    ) -> Result<()> {
        self.reply.output(response, out)?;
        let status = response.status.get().filter(|status| !is_open(status)).unwrap_or(ended);
        // An error beside an answer that ended well is none.
        let is_well = matches!(response.status.get(), Some("completed" | "incomplete"));
        match status {
            _ if is_set(response.error) && !is_well => Err(error::reported(json.as_bytes())),
            "cancelled" => Err(error::cancelled(json.as_bytes())),
            "failed" => Err(error::failed(json.as_bytes())),
            _ => {
                self.reply.finish(response, ended, out);
                Ok(())
            }
        }
    }
}

/// True if an event that is none of the protocol is an error, in an envelope or without one. (openai.md C.15)
fn is_error(kind: &str, whole: &Whole<'_>, json: &str) -> bool {
    let names_itself = kind.is_empty() || kind.to_ascii_lowercase().contains("error");
    !kind.starts_with("response.") && is_set(whole.error) || names_itself && error::is_error(json.as_bytes())
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<()> {
        let data = event.data.trim_ascii();
        // A stream that ends with it without a last event is cut.
        if data == b"[DONE]" || data.is_empty() {
            return Ok(());
        }
        if event.name == b"error" {
            return Err(error::reported(data));
        }
        self.read(event.name, data, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<()> {
        let json = std::str::from_utf8(body).map_err(|error| error::malformed(body, error))?;
        let response: Object<Response<'_>> =
            serde_json::from_str(json).map_err(|error| error::malformed(body, error))?;
        let Some(response) = response.0 else { return Err(error::no_answer(body)) };
        match response.status.get() {
            None if response.output.is_none() => {
                Err(if error::is_error(body) { error::reported(body) } else { error::no_answer(body) })
            }
            Some(status) if is_open(status) => Err(error::unfinished(status, body)),
            _ => {
                self.reply.header(&response);
                self.end_with(&response, "completed", json, out)
            }
        }
    }

    fn end(&mut self, _: &mut ChunkSink) -> Result<()> {
        // Without its last event an answer is cut, whatever came.
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.reply.partial()
    }
}
