//! Decodes a reply: the events of a stream, or one JSON object, into the same turn.

mod turn;

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::{Completion, Degradation, ProviderError, ToolSet};
use attache_transport::{ChunkSink, ErrorBody, EventDecoder, SseEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use self::turn::Turn;
use crate::error;

/// The kind of the part that holds what the model plans to do with its tools.
pub(crate) const TOOL_PLAN: &str = "tool_plan";
/// The kind of the part that holds what the answer rests on.
pub(crate) const CITATIONS: &str = "citations";

/// What a reply is read with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    /// They map wire names back.
    pub(crate) tools: Arc<ToolSet>,
    /// The model that was asked, which replay data is tagged with.
    pub(crate) model: Arc<str>,
    pub(crate) degradations: Vec<Degradation>,
}

/// Reads events and JSON bodies.
#[derive(Debug)]
pub(crate) struct Events {
    turn: Turn,
}

/// A JSON string, borrowed where it holds no escapes. (An `Option<Cow<str>>` alone is always copied.)
#[derive(Debug, Default, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

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
            kind: Text<'a>,
            #[serde(default)]
            index: Option<u64>,
            #[serde(borrow)]
            delta: Delta<'a>,
            #[serde(default)]
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
            #[serde(borrow, default)]
            text: Option<Text<'a>>,
            #[serde(borrow, default)]
            thinking: Option<Text<'a>>,
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

/// Any event. What stands in the delta depends on the type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    message: Option<Piece<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<Text<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// The piece of a message that an event brings: where a message has lists, it has one of their items.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_plan: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Call<'a>>,
    #[serde(borrow)]
    citations: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

/// A reply in one piece.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Whole<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    logprobs: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_plan: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
    #[serde(borrow)]
    citations: Option<Vec<&'a RawValue>>,
}

impl Events {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { turn: Turn::new(reading) }
    }

    /// Reads any event.
    fn read(&mut self, data: &str, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let malformed = |cause| error::malformed(data.as_bytes(), cause);
        let Event { kind, id, index, delta, logprobs } = serde_json::from_str(data).map_err(malformed)?;
        let delta = || match delta {
            Some(delta) => serde_json::from_str::<Delta<'_>>(delta.get()).map_err(malformed),
            None => Ok(Delta::default()),
        };
        let turn = &mut self.turn;
        match kind.as_ref().map_or("", |kind| &kind.0) {
            "message-start" => turn.named(id),
            "content-start" | "content-delta" => {
                turn.likely(logprobs);
                let piece = delta()?.message.unwrap_or_default();
                if let Some(content) = piece.content {
                    turn.content(index, content, out).map_err(malformed)?;
                }
            }
            "tool-plan-delta" => {
                if let Some(plan) = delta()?.message.and_then(|piece| piece.tool_plan) {
                    turn.plans(&plan.0);
                }
            }
            "tool-call-start" | "tool-call-delta" => {
                if let Some(call) = delta()?.message.and_then(|piece| piece.tool_calls) {
                    turn.call(index, &call, out);
                }
            }
            "citation-start" => turn.cites(delta()?.message.and_then(|piece| piece.citations)),
            "message-end" => {
                let Delta { finish_reason, error, usage, .. } = delta()?;
                turn.named(id);
                turn.ended(finish_reason, error, usage);
            }
            "error" => return Err(error::reported(data.as_bytes())),
            // What has no type is an error, in the shape of an error response, or nobody's protocol.
            "" if is_error(data.as_bytes()) => return Err(error::reported(data.as_bytes())),
            // The ends of pieces say nothing; other events are of a later version of the API.
            _ => {}
        }
        turn.bounded()?;
        if turn.has_ended() { self.done(out) } else { Ok(()) }
    }

    fn read_whole(&mut self, whole: Whole<'_>, out: &mut ChunkSink) -> Result<(), serde_json::Error> {
        let turn = &mut self.turn;
        turn.named(whole.id);
        let message: Message<'_> = serde_json::from_str(whole.message.map_or("{}", RawValue::get))?;
        if let Some(content) = message.content {
            if content.get().starts_with('[') {
                let blocks: Vec<&RawValue> = serde_json::from_str(content.get())?;
                for (at, block) in (0_u64..).zip(blocks) {
                    turn.content(Some(at), block, out)?;
                }
            } else if content.get().starts_with('"') {
                turn.text(0, &serde_json::from_str::<Text<'_>>(content.get())?.0, out);
            }
        }
        turn.plans(message.tool_plan.as_ref().map_or("", |plan| &plan.0));
        for (at, call) in (0_u64..).zip(message.tool_calls.iter().flatten()) {
            turn.call(Some(at), call, out);
        }
        message.citations.into_iter().flatten().for_each(|citation| turn.cites(Some(citation)));
        whole.logprobs.into_iter().flatten().for_each(|logprobs| turn.likely(Some(logprobs)));
        turn.ended(whole.finish_reason, None, whole.usage);
        Ok(())
    }

    fn done(&mut self, out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.turn.failed_silently()?;
        out.done(self.turn.finish(false));
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
            && let index = self.turn.place(index)
            && !self.turn.is_foreign(index)
        {
            match piece {
                Common::Text(text) => self.turn.text(index, &text, out),
                Common::Thinking(text) => self.turn.thinking(index, &text, out),
            }
            return self.turn.bounded();
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
        self.turn.bounded()?;
        self.done(out)
    }

    /// There is nothing to complete: a stream without `message-end` was cut.
    fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.turn.finish(true)
    }
}

/// Whether JSON has the shape of an error response.
fn is_error(json: &[u8]) -> bool {
    ErrorBody::parse(json).is_some_and(|body| body.message.is_some())
}
