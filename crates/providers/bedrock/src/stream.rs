//! Decodes a reply: the events of a stream, or one JSON object, through the same blocks.

use attache_core::{Completion, ProviderError};
use attache_transport::claude::Piece;
use attache_transport::{ChunkSink, Decoder, JsonCursor, JsonStr, Reading};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error;
use crate::eventstream::{Frame, FrameDecoder};
use crate::response::{Delta, Reply, Whole, malformed};

/// Reads the reply to a Converse or ConverseStream call (bedrock.md 4, 7).
///
/// Frames and JSON are told apart by the first byte: that of a frame's length is 0 or 1.
#[derive(Debug)]
pub(crate) struct ReplyReader {
    framing: Framing,
    received: usize,
    events: Events,
}

#[derive(Debug)]
enum Framing {
    Unknown,
    Frames(FrameDecoder),
    Whole(Vec<u8>),
}

/// The most bytes of a reply that is one JSON object.
const WHOLE_LIMIT: usize = 64 << 20;

/// The most bytes of a streamed reply: what a server can make us keep.
const STREAM_LIMIT: usize = 256 << 20;

impl ReplyReader {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { framing: Framing::Unknown, received: 0, events: Events::new(reading) }
    }
}

impl Decoder for ReplyReader {
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let mut bytes = bytes;
        self.received = self.received.saturating_add(bytes.len());
        if let Framing::Unknown = self.framing {
            // White space and a byte order mark may precede JSON.
            let is_blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
            let blanks = bytes.iter().take_while(|byte| is_blank(byte)).count();
            bytes = bytes.get(blanks..).unwrap_or_default();
            self.framing = match bytes.first() {
                None => return Ok(()),
                Some(0 | 1) => Framing::Frames(FrameDecoder::default()),
                Some(b'<') => {
                    return Err(malformed("the server answered with a web page instead of a reply"));
                }
                Some(_) => Framing::Whole(Vec::new()),
            };
        }
        let limit = if matches!(self.framing, Framing::Whole(_)) { WHOLE_LIMIT } else { STREAM_LIMIT };
        if self.received > limit {
            return Err(malformed(format!("the reply is longer than {limit} bytes")));
        }
        match &mut self.framing {
            Framing::Unknown => Ok(()),
            Framing::Frames(frames) => frames.push(bytes, &mut |frame| self.events.frame(frame, out)),
            Framing::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn finish(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        match &mut self.framing {
            Framing::Unknown => Ok(()),
            Framing::Frames(frames) => {
                if out.is_done() {
                    return Ok(());
                }
                frames.finish()?;
                self.events.end(out)
            }
            Framing::Whole(body) => {
                let body = std::mem::take(body);
                self.events.whole(body.trim_ascii_end(), out)
            }
        }
    }

    fn partial(&mut self) -> Completion {
        self.events.reply.finish(true)
    }
}

/// Reads events and JSON bodies.
#[derive(Debug)]
struct Events {
    reply: Reply,
    /// The message has ended; what it cost comes behind.
    stopped: bool,
}

/// The event that nearly all of a stream consists of.
#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(rename = "contentBlockIndex")]
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(rename = "contentBlockIndex")]
    index: Option<u64>,
    #[serde(borrow)]
    start: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageStop<'a> {
    #[serde(borrow, rename = "stopReason")]
    stop_reason: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

impl Events {
    fn new(reading: Reading) -> Self {
        Self { reply: Reply::new(reading), stopped: false }
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        if out.is_done() {
            return Ok(());
        }
        match (frame.message_type, frame.event_type) {
            (Some("exception"), _) => {
                Err(error::exception(frame.exception_type.unwrap_or_default(), frame.payload))
            }
            (Some("error"), _) => Err(error::frame(frame.error_code, frame.error_message)),
            (_, Some(kind)) => self.event(kind, frame.payload, out),
            // Frames of a later version of the format.
            _ => Ok(()),
        }
    }

    fn event(&mut self, kind: &str, payload: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let reply = &mut self.reply;
        match kind {
            "contentBlockDelta" => {
                let json = std::str::from_utf8(payload).unwrap_or_default();
                if let Some((index, piece)) = piece(json) {
                    return reply.blocks.piece(index, piece, out);
                }
                let BlockDelta { index, delta } = read(payload)?;
                let mut pieces = delta.unwrap_or_default().into_pieces();
                pieces.try_for_each(|piece| reply.blocks.piece(index, piece, out))
            }
            "contentBlockStart" => match read(payload)? {
                BlockStart { index, start: Some(start) } => reply.open(index, start, out),
                // The deltas tell what it is.
                BlockStart { start: None, .. } => Ok(()),
            },
            "contentBlockStop" => {
                let BlockDelta { index, .. } = read(payload)?;
                reply.blocks.close(index, out);
                Ok(())
            }
            "messageStop" => {
                let MessageStop { stop_reason } = read(payload)?;
                reply.stopped(stop_reason);
                self.stopped = true;
                Ok(())
            }
            "metadata" => {
                let Metadata { usage } = read(payload)?;
                reply.used(usage);
                if self.stopped { self.done(out) } else { Ok(()) }
            }
            // The start of the message, and events of a later version of the API.
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let whole: Whole<'_> = match serde_json::from_slice(body) {
            Ok(whole) => whole,
            Err(cause) => return Err(error::of_foreign_shape(body).with_source(cause)),
        };
        let Some(blocks) = whole.blocks() else { return Err(error::of_foreign_shape(body)) };
        for block in blocks {
            self.reply.block(block, out)?;
        }
        self.reply.stopped(whole.stop_reason);
        self.reply.used(whole.usage);
        self.done(out)
    }

    /// A message that ended is complete without its metadata. One that did not was cut.
    fn end(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        if self.stopped { self.done(out) } else { Ok(()) }
    }

    fn done(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        if let Some(error) = self.reply.failure() {
            return Err(error);
        }
        let completion = self.reply.finish(false);
        out.done(completion);
        Ok(())
    }
}

/// The index and the piece of the event that nearly all of a stream consists of, if this is one.
fn piece(json: &str) -> Option<(Option<u64>, Piece<'_>)> {
    let (mut index, mut text, mut thinking) = (None, None, None);
    JsonCursor::read(json, |cursor| {
        cursor.object(|cursor, name| match name {
            b"contentBlockIndex" => cursor.count(&mut index),
            b"delta" => cursor.object(|cursor, name| match name {
                b"text" => cursor.text(&mut text),
                b"reasoningContent" => cursor.object(|cursor, name| match name {
                    b"text" => cursor.text(&mut thinking),
                    b"signature" | b"redactedContent" => cursor.null(),
                    _ => cursor.skip(),
                }),
                b"toolUse" | b"toolResult" | b"citation" | b"image" => cursor.null(),
                _ => cursor.skip(),
            }),
            _ => cursor.skip(),
        })
    })?;
    match (text, thinking) {
        (Some(text), None) => Some((index, Piece::Text(text))),
        (None, Some(text)) => Some((index, Piece::Thinking(text))),
        _ => None,
    }
}

fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(payload)
        .map_err(|cause| malformed("an event is not as the API says").with_source(cause))
}
