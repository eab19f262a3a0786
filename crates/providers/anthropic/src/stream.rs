//! Decodes a reply: the events of a stream, or one JSON object, through the same blocks.

use attache_core::Completion;
use attache_transport::claude::Piece;
use attache_transport::lenient::Count;
use attache_transport::{ChunkSink, EventDecoder, JsonCursor, JsonStr, Reading, SseEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error::{self, Result};
use crate::response::{Delta, Envelope, Reply, malformed};

/// Reads events and JSON bodies (anthropic.md 5, 9).
#[derive(Debug)]
pub(crate) struct Events {
    reply: Reply,
}

impl Events {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reply: Reply::new(reading) }
    }

    fn done(&mut self, out: &mut ChunkSink) {
        let completion = self.reply.finish(false, out);
        out.done(completion);
    }
}

/// The index and the piece of the event that nearly all of a stream consists of, if this is one.
fn piece(json: &str) -> Option<(Option<u64>, Piece<'_>)> {
    let (mut kind, mut index) = (None, None);
    let (mut text, mut thinking, mut partial_json) = (None, None, None);
    JsonCursor::read(json, |cursor| {
        cursor.object(|cursor, name| match name {
            b"type" => cursor.text(&mut kind),
            b"index" => cursor.count(&mut index),
            b"delta" => cursor.object(|cursor, name| match name {
                b"text" => cursor.text(&mut text),
                b"thinking" => cursor.text(&mut thinking),
                b"partial_json" => cursor.text(&mut partial_json),
                b"signature" | b"citation" | b"content" | b"encrypted_content" => cursor.null(),
                _ => cursor.skip(),
            }),
            _ => cursor.skip(),
        })
    })?;
    let piece = match (text, thinking, partial_json) {
        (Some(text), None, None) => Piece::Text(text),
        (None, Some(text), None) => Piece::Thinking(text),
        (None, None, Some(json)) => Piece::Json(json),
        _ => return None,
    };
    (kind? == "content_block_delta").then_some((index, piece))
}

/// Any event. Which members are there depends on the type; the names are never used twice.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonStr<'a>>,
    /// A number, or its text where a server imitates the API.
    #[serde(default)]
    index: Count,
    delta: Option<&'a RawValue>,
    content_block: Option<&'a RawValue>,
    message: Option<Envelope<'a>>,
    usage: Option<&'a RawValue>,
    context_management: Option<&'a RawValue>,
    input_transformations: Option<&'a RawValue>,
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<()> {
        // Its data does not always say that it is one.
        if event.name == b"error" {
            return Err(error::in_stream(event.data));
        }
        // The API ends in `message_stop`; servers that imitate it may add this.
        if event.data == b"[DONE]" {
            return Ok(());
        }
        let reply = &mut self.reply;
        let json = std::str::from_utf8(event.data).unwrap_or_default();
        if let Some((index, piece)) = piece(json) {
            return reply.blocks.piece(index, piece, out);
        }
        let read: Event<'_> = match serde_json::from_slice(event.data) {
            Ok(read) => read,
            Err(cause) => return foreign(event.data, cause),
        };
        let Event { kind, index: Count(index), delta, content_block, message, .. } = read;
        // Events without a type are other people's: some gateways send metrics.
        match kind.as_ref().map_or("", |kind| &kind.0) {
            "content_block_delta" => {
                let delta: Delta<'_> = match delta.map(|raw| serde_json::from_str(raw.get())) {
                    Some(Err(cause)) => return foreign(event.data, cause),
                    delta => delta.and_then(Result::ok).unwrap_or_default(),
                };
                delta.into_pieces().try_for_each(|piece| reply.blocks.piece(index, piece, out))
            }
            "content_block_start" => match content_block {
                Some(block) => reply.open(index, block, out),
                None => Err(malformed("a content block starts without the block")),
            },
            "content_block_stop" => {
                reply.blocks.close(index, out);
                Ok(())
            }
            "message_start" => message.map_or(Ok(()), |message| reply.envelope(message, out)),
            "message_delta" => {
                match delta.map(|raw| serde_json::from_str(raw.get())) {
                    Some(Err(cause)) => return foreign(event.data, cause),
                    delta => reply.envelope(delta.and_then(Result::ok).unwrap_or_default(), out)?,
                }
                reply.managed(read.context_management);
                reply.transformed(read.input_transformations);
                reply.used(read.usage);
                Ok(())
            }
            "message_stop" => {
                self.done(out);
                Ok(())
            }
            "error" => Err(error::in_stream(event.data)),
            "" if error::is_error(event.data) => Err(error::in_stream(event.data)),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<()> {
        #[derive(Deserialize)]
        struct Outline {
            #[serde(rename = "type")]
            kind: Option<String>,
            content: Option<IgnoredAny>,
        }
        let not_json = |cause| malformed("the reply is not a message of the API").with_source(cause);
        let outline: Outline = serde_json::from_slice(body).map_err(not_json)?;
        match (outline.kind.as_deref(), outline.content) {
            (Some("message"), _) | (None, Some(_)) => {}
            (Some("error"), _) => return Err(error::in_stream(body)),
            // Gateways wrap errors in shapes of their own.
            _ => return Err(error::of_foreign_shape(body)),
        }
        let envelope: Envelope<'_> = serde_json::from_slice(body).map_err(not_json)?;
        self.reply.envelope(envelope, out)?;
        self.done(out);
        Ok(())
    }

    /// There is nothing to complete: a stream without `message_stop` was cut.
    fn end(&mut self, _: &mut ChunkSink) -> Result<()> {
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.reply.finish(true, &mut ChunkSink::new())
    }
}

/// An event that does not have the known form: an error if it is of a known type, otherwise of a later version of
/// the API and skipped. So is a known event with an unknown kind of piece.
fn foreign(data: &[u8], cause: serde_json::Error) -> Result<()> {
    #[derive(Deserialize)]
    struct Outline {
        #[serde(rename = "type")]
        kind: Option<String>,
        delta: Option<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    struct DeltaKind {
        #[serde(rename = "type")]
        kind: String,
    }
    const EVENTS: [&str; 5] = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
    ];
    const DELTAS: [&str; 5] =
        ["text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta"];
    let skipped = match serde_json::from_slice::<Outline>(data) {
        Err(_) => false,
        Ok(Outline { kind: Some(kind), .. }) if kind == "error" => return Err(error::in_stream(data)),
        Ok(Outline { kind: Some(kind), delta }) if kind == "content_block_delta" => {
            let delta = delta.and_then(|raw| serde_json::from_str::<DeltaKind>(raw.get()).ok());
            delta.is_some_and(|delta| !DELTAS.contains(&delta.kind.as_str()))
        }
        Ok(Outline { kind, .. }) => kind.is_none_or(|kind| !EVENTS.contains(&kind.as_str())),
    };
    if skipped { Ok(()) } else { Err(malformed("an event is not as the API says").with_source(cause)) }
}
