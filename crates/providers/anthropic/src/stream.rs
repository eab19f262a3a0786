//! Decodes a reply: the events of a stream, or one JSON object, through the same blocks.

use attache_core::{Completion, ProviderError};
use attache_transport::{ChunkSink, EventDecoder, JsonStr, Reading, SseEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error;
use crate::response::{Delta, Envelope, Piece, Reply, malformed};

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

/// The event that nearly all of a stream consists of, and nothing else of any event.
#[derive(Deserialize)]
struct Common<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<JsonStr<'a>>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<CommonDelta<'a>>,
}

#[derive(Deserialize)]
struct CommonDelta<'a> {
    #[serde(borrow, default)]
    text: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    thinking: Option<JsonStr<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<JsonStr<'a>>,
}

impl<'a> Common<'a> {
    /// The index and the piece, if this is all that the event is about.
    fn read(data: &'a [u8]) -> Option<(Option<u64>, Piece<'a>)> {
        let Self { kind, index, delta } = serde_json::from_slice(data).ok()?;
        let piece = match delta? {
            CommonDelta { text: Some(text), thinking: None, partial_json: None } => Piece::Text(text.0),
            CommonDelta { text: None, thinking: Some(text), partial_json: None } => Piece::Thinking(text.0),
            CommonDelta { text: None, thinking: None, partial_json: Some(json) } => Piece::Json(json.0),
            _ => return None,
        };
        (kind?.0 == "content_block_delta").then_some((index, piece))
    }
}

/// Any event. Which members are there depends on the type; the names are never used twice.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<JsonStr<'a>>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<Envelope<'a>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        // What its data says of itself is not always that it is one.
        if event.name == b"error" {
            return Err(error::in_stream(event.data));
        }
        // The API ends in `message_stop`; servers that imitate it may add this.
        if event.data == b"[DONE]" {
            return Ok(());
        }
        let reply = &mut self.reply;
        if let Some((index, piece)) = Common::read(event.data) {
            return reply.piece(index, piece, out);
        }
        let read = serde_json::from_slice(event.data);
        let Event { kind, index, delta, content_block, message, usage } = match read {
            Ok(read) => read,
            Err(cause) => return foreign(event.data, cause),
        };
        // Events without a type are other people's: some gateways send metrics.
        match kind.as_ref().map_or("", |kind| &kind.0) {
            "content_block_delta" => {
                let delta: Delta<'_> = match delta.map(|raw| serde_json::from_str(raw.get())) {
                    Some(Err(cause)) => return foreign(event.data, cause),
                    delta => delta.and_then(Result::ok).unwrap_or_default(),
                };
                delta.into_pieces().try_for_each(|piece| reply.piece(index, piece, out))
            }
            "content_block_start" => match content_block {
                Some(block) => reply.open(index, block, out),
                None => Err(malformed("a content block starts without the block")),
            },
            "content_block_stop" => {
                reply.close(index, out);
                Ok(())
            }
            "message_start" => message.map_or(Ok(()), |message| reply.envelope(message, out)),
            "message_delta" => {
                match delta.map(|raw| serde_json::from_str(raw.get())) {
                    Some(Err(cause)) => return foreign(event.data, cause),
                    delta => reply.envelope(delta.and_then(Result::ok).unwrap_or_default(), out)?,
                }
                reply.used(usage);
                Ok(())
            }
            "message_stop" => {
                self.done(out);
                Ok(())
            }
            "error" => Err(error::in_stream(event.data)),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        #[derive(Deserialize)]
        struct Outline {
            #[serde(default, rename = "type")]
            kind: Option<String>,
            #[serde(default)]
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
    fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.reply.finish(true, &mut ChunkSink::new())
    }
}

/// An event that does not have the known form: an error if it is of a known type, otherwise of a later version of
/// the API and skipped. So is a known event with an unknown kind of piece.
fn foreign(data: &[u8], cause: serde_json::Error) -> Result<(), ProviderError> {
    #[derive(Deserialize)]
    struct Outline {
        #[serde(default, rename = "type")]
        kind: Option<String>,
        #[serde(default)]
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
