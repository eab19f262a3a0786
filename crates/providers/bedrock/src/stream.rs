//! Decodes a reply: the events of a stream, or one JSON object, through the same blocks.

use attache_core::Completion;
use attache_transport::claude::Piece;
use attache_transport::{BodyForm, ChunkSink, EventDecoder, JsonCursor, Reading, SseEvent};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{self, Result};
use crate::eventstream::{Frame, FrameDecoder};
use crate::response::{Delta, Reply, Whole, malformed};

/// Reads the reply to a Converse or ConverseStream call (bedrock.md 4, 7): events in frames, or a JSON body.
#[derive(Debug)]
pub(crate) struct Events {
    frames: FrameDecoder,
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

impl Events {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { frames: FrameDecoder::default(), reply: Reply::new(reading), stopped: false }
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut ChunkSink) -> Result<()> {
        if out.is_done() {
            return Ok(());
        }
        match (frame.message_type, frame.event_type) {
            (Some("exception"), _) => {
                Err(error::exception(frame.exception_type.unwrap_or_default(), frame.payload))
            }
            (Some("error"), _) => Err(error::frame(frame.error_code, frame.error_message)),
            (_, Some(kind)) => self.framed(kind, frame.payload, out),
            // Frames of a later version of the format.
            _ => Ok(()),
        }
    }

    fn framed(&mut self, kind: &str, payload: &[u8], out: &mut ChunkSink) -> Result<()> {
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
                reply.end(read(payload)?);
                self.stopped = true;
                Ok(())
            }
            "metadata" => {
                reply.end(read(payload)?);
                if self.stopped { self.done(out) } else { Ok(()) }
            }
            // The start of the message, and events of a later version of the API.
            _ => Ok(()),
        }
    }

    fn done(&mut self, out: &mut ChunkSink) -> Result<()> {
        if let Some(error) = self.reply.failure() {
            return Err(error);
        }
        let completion = self.reply.finish(false);
        out.done(completion);
        Ok(())
    }
}

impl EventDecoder for Events {
    /// The first byte of a frame is that of its length, 0 or 1.
    fn form(first: u8) -> BodyForm
    where
        Self: Sized,
    {
        if first <= 1 { BodyForm::Frames } else { BodyForm::Whole }
    }

    fn frames(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<()> {
        let mut frames = std::mem::take(&mut self.frames);
        let outcome = frames.push(bytes, &mut |frame| self.frame(frame, out));
        self.frames = frames;
        outcome
    }

    /// The API sends no server-sent events.
    fn event(&mut self, _: SseEvent<'_>, _: &mut ChunkSink) -> Result<()> {
        Ok(())
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<()> {
        let whole: Whole<'_> = match serde_json::from_slice(body) {
            Ok(whole) => whole,
            Err(cause) => return Err(error::of_foreign_shape(body).with_source(cause)),
        };
        let Some(blocks) = whole.blocks() else { return Err(error::of_foreign_shape(body)) };
        for block in blocks {
            self.reply.block(block, out)?;
        }
        self.reply.end(whole);
        self.done(out)
    }

    /// A message that ended is complete without its metadata. One that did not was cut.
    fn end(&mut self, out: &mut ChunkSink) -> Result<()> {
        self.frames.finish()?;
        if self.stopped { self.done(out) } else { Ok(()) }
    }

    fn partial(&mut self) -> Completion {
        self.reply.finish(true)
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

fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T> {
    serde_json::from_slice(payload)
        .map_err(|cause| malformed("an event is not as the API says").with_source(cause))
}
