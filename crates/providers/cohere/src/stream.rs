//! Decodes a reply: the events of a stream (cohere.md 6), or one JSON object, into the same reply.

use std::borrow::Cow;

use attache_core::{Completion, ProviderError};
use attache_transport::lenient::{Count, RawList};
use attache_transport::{ChunkSink, ErrorBody, EventDecoder, JsonStr, Reading, SseEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::error;
use crate::response::Reply;
use crate::response::wire::{Delta, Event, Message, Whole};

/// Reads events and JSON bodies.
#[derive(Debug)]
pub(crate) struct Events {
    reply: Reply,
}

/// The piece that nearly every event of a stream is.
enum Common<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
}

impl<'a> Common<'a> {
    /// The index and the piece, if this is all that the event is about: it is then read in one go.
    fn read(data: &'a str) -> Option<(Option<u64>, Self)> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow, rename = "type")]
            kind: JsonStr<'a>,
            index: Option<u64>,
            delta: Delta<'a>,
            logprobs: Option<IgnoredAny>,
        }
        #[derive(Deserialize)]
        struct Delta<'a> {
            #[serde(borrow)]
            message: Message<'a>,
        }
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            content: Content<'a>,
        }
        #[derive(Deserialize)]
        struct Content<'a> {
            #[serde(borrow)]
            text: Option<JsonStr<'a>>,
            thinking: Option<JsonStr<'a>>,
        }
        let Wire { kind, index, delta, logprobs } = serde_json::from_str(data).ok()?;
        let piece = match delta.message.content {
            Content { text: Some(text), thinking: None } => Self::Text(text.0),
            Content { text: None, thinking: Some(text) } => Self::Thinking(text.0),
            _ => return None,
        };
        (kind.0 == "content-delta" && logprobs.is_none()).then_some((index, piece))
    }
}

impl Events {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reply: Reply::new(reading) }
    }

    /// Reads any event.
    fn read(&mut self, data: &str, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let malformed = |cause| error::malformed(data.as_bytes(), cause);
        let Event { kind, id, index: Count(index), delta, logprobs } =
            serde_json::from_str(data).map_err(malformed)?;
        let delta = || match delta {
            Some(delta) => serde_json::from_str::<Delta<'_>>(delta.get()).map_err(malformed),
            None => Ok(Delta::default()),
        };
        let reply = &mut self.reply;
        match kind.as_ref().map_or("", |kind| &kind.0) {
            "message-start" => reply.named(id),
            "content-start" | "content-delta" => {
                reply.likely(logprobs);
                let piece = delta()?.message.unwrap_or_default();
                if let Some(content) = piece.content {
                    if let Some(text) = words(content) {
                        reply.text(reply.place(index), &text.0, out);
                    }
                    for block in RawList::of(content).0 {
                        reply.content(index, block, out).map_err(malformed)?;
                    }
                }
            }
            "tool-plan-delta" => {
                if let Some(plan) = delta()?.message.and_then(|piece| piece.tool_plan) {
                    reply.plans(&plan.0);
                }
            }
            "tool-call-start" | "tool-call-delta" => {
                reply.calls(index, &delta()?.message.unwrap_or_default().tool_calls, out);
            }
            "citation-start" => reply.cites(&delta()?.message.unwrap_or_default().citations),
            "message-end" => {
                let Delta { finish_reason, error, usage, .. } = delta()?;
                reply.named(id);
                reply.ended(finish_reason, error, usage);
            }
            "error" => return Err(error::reported(data.as_bytes())),
            // An event without a type is an error, in the shape of an error response, or nobody's protocol.
            "" if is_error(data.as_bytes()) => return Err(error::reported(data.as_bytes())),
            // The ends of pieces say nothing; other events are of a later version of the API.
            _ => {}
        }
        reply.bounded()?;
        if reply.has_ended() { self.done(out) } else { Ok(()) }
    }

    fn read_whole(&mut self, whole: Whole<'_>, out: &mut ChunkSink) -> Result<(), serde_json::Error> {
        let reply = &mut self.reply;
        reply.named(whole.id);
        let message: Message<'_> = serde_json::from_str(whole.message.map_or("{}", RawValue::get))?;
        if let Some(content) = message.content {
            if let Some(text) = words(content) {
                reply.text(0, &text.0, out);
            }
            for (at, block) in (0_u64..).zip(RawList::of(content).0) {
                reply.content(Some(at), block, out)?;
            }
        }
        reply.plans(message.tool_plan.as_ref().map_or("", |plan| &plan.0));
        reply.calls(Some(0), &message.tool_calls, out);
        reply.cites(&message.citations);
        whole.logprobs.into_iter().flatten().for_each(|logprobs| reply.likely(Some(logprobs)));
        reply.ended(whole.finish_reason, None, whole.usage);
        Ok(())
    }

    fn done(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.reply.failed()?;
        out.done(self.reply.finish(false));
        Ok(())
    }
}

impl EventDecoder for Events {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let data = event.data.trim_ascii();
        if data == b"[DONE]" {
            return Ok(());
        }
        if event.name == b"error" {
            return Err(error::reported(data));
        }
        // Checked once here, the text is not checked again string by string.
        let text = std::str::from_utf8(data).map_err(|cause| error::malformed(data, cause))?;
        if let Some((index, piece)) = Common::read(text)
            && let index = self.reply.place(index)
            && !self.reply.is_foreign(index)
        {
            match piece {
                Common::Text(text) => self.reply.text(index, &text, out),
                Common::Thinking(text) => self.reply.thinking(index, &text, out),
            }
            return self.reply.bounded();
        }
        self.read(text, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        let text = std::str::from_utf8(body).map_err(|cause| error::malformed(body, cause))?;
        let whole: Whole<'_> = serde_json::from_str(text).map_err(|cause| error::malformed(body, cause))?;
        // The message of an error is a text.
        if !whole.message.is_some_and(|message| message.get().starts_with('{')) {
            return Err(if is_error(body) { error::reported(body) } else { error::no_reply(body) });
        }
        self.read_whole(whole, out).map_err(|cause| error::malformed(body, cause))?;
        self.reply.bounded()?;
        self.done(out)
    }

    /// There is nothing to complete: a stream without `message-end` was cut.
    fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.reply.finish(true)
    }
}

/// Content that is a text alone.
fn words(content: &RawValue) -> Option<JsonStr<'_>> {
    serde_json::from_str(content.get()).ok()
}

/// True if JSON has the shape of an error response.
fn is_error(json: &[u8]) -> bool {
    ErrorBody::parse(json).is_some_and(|body| body.message.is_some())
}
