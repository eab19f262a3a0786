//! From the bytes of an answer to chunks: lines of JSON, or one object.

use attache_core::assembler::{ToolCallAssembler, ToolCallFragment};
use attache_core::{
    AssistantMessage, AssistantPart, Completion, FinishReason, ProviderError, RawUsage, ReasoningPart,
    ToolCall, Usage,
};
use attache_transport::lenient::Object;
use attache_transport::{ChunkSink, Decoder, Reading, malformed};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::{Call, Line};
use crate::chat::finish_reason;
use crate::error::{self, Result, is_set, too_many};

/// The most bytes of one line, and of an answer that is one object.
const LINE_LIMIT: usize = 64 << 20;
/// The most bytes of a streamed reply: what a server can make us keep.
const STREAM_LIMIT: usize = 256 << 20;
/// The most tool calls of one reply.
const MAX_CALLS: usize = 1_000;

/// Splits an answer into lines of JSON. One whose first line is not whole is one object over several lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    reply: Reply,
    /// The start of a line whose end has not come, or of the object.
    held: Vec<u8>,
    whole: bool,
    begun: bool,
    received: usize,
}

impl Lines {
    pub(super) fn new(reply: Reply) -> Self {
        Self { reply, ..Self::default() }
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<()> {
        if self.held.len().saturating_add(bytes.len()) > LINE_LIMIT {
            return Err(too_long(LINE_LIMIT));
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes a line; `last` says that nothing follows.
    fn line(&mut self, line: &[u8], last: bool, out: &mut ChunkSink) -> Result<()> {
        let first = !self.begun;
        let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| first).unwrap_or(line).trim_ascii();
        if line.is_empty() || out.is_done() {
            return Ok(());
        }
        self.begun = true;
        if first && line.starts_with(b"<") {
            return Err(malformed("the server answered with a web page instead of a reply"));
        }
        let text = std::str::from_utf8(line).map_err(|error| error::malformed(line, error))?;
        match serde_json::from_str::<Object<Line<'_>>>(text) {
            Ok(Object(Some(read))) => self.reply.take(&read, line, out),
            Ok(Object(None)) => Err(error::no_answer(line)),
            Err(problem) if first && !last && problem.is_eof() => {
                self.whole = true;
                self.hold(line)
            }
            Err(problem) => Err(error::malformed(line, problem)),
        }
    }
}

impl Decoder for Lines {
    fn push(&mut self, bytes: &[u8], out: &mut ChunkSink) -> Result<()> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > STREAM_LIMIT {
            return Err(too_long(STREAM_LIMIT));
        }
        let mut rest = bytes;
        while !self.whole
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        {
            let (line, tail) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
            if self.held.is_empty() {
                self.line(line, false, out)?;
            } else {
                self.hold(line)?;
                let line = std::mem::take(&mut self.held);
                self.line(&line, false, out)?;
            }
            rest = tail;
        }
        self.hold(rest)
    }

    fn finish(&mut self, out: &mut ChunkSink) -> Result<()> {
        let rest = std::mem::take(&mut self.held);
        self.line(&rest, true, out)?;
        if self.begun && !self.reply.seen && !out.is_done() {
            return Err(error::no_answer(&rest));
        }
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        self.reply.completion()
    }
}

/// A reply, assembled from its lines.
#[derive(Debug, Default)]
pub(super) struct Reply {
    reading: Reading,
    model: Option<String>,
    thinking: String,
    text: String,
    calls: ToolCallAssembler,
    finish: Option<String>,
    usage: Usage,
    /// A line with something of a reply came.
    seen: bool,
}

impl Reply {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    fn take(&mut self, line: &Line<'_>, json: &[u8], out: &mut ChunkSink) -> Result<()> {
        if is_set(line.error) {
            return Err(error::reported(json));
        }
        self.seen |= line.message.0.is_some() || line.is_last();
        if self.model.is_none() {
            self.model = line.model.get().map(str::to_owned);
        }
        if let Some(message) = &line.message.0 {
            // The last line has a piece, or all of it once more.
            let last = line.is_last();
            if let Some(thinking) = message.thinking.get() {
                let piece = if last { rest(thinking, &self.thinking) } else { thinking };
                self.thinking.push_str(piece);
                out.thinking(piece);
            }
            if let Some(text) = message.content.get() {
                let piece = if last { rest(text, &self.text) } else { text };
                self.text.push_str(piece);
                out.content(piece);
            }
            let calls: Vec<&Call<'_>> =
                message.tool_calls.0.iter().filter_map(|call| call.0.as_ref()).collect();
            if last && !self.calls.is_empty() {
                self.complete(&calls, out)?;
            } else {
                calls.into_iter().try_for_each(|call| self.call(call, out))?;
            }
        }
        if line.is_last() {
            self.finish = line.done_reason.get().map(str::to_owned);
            self.usage = Usage::new(line.prompt_eval_count.0, line.eval_count.0).with_raw(counts(json));
            let completion = self.completion();
            out.done(completion);
        }
        Ok(())
    }

    /// Takes calls of which some may have come.
    fn complete(&mut self, calls: &[&Call<'_>], out: &mut ChunkSink) -> Result<()> {
        if calls.len() > MAX_CALLS {
            return Err(too_many("tool calls"));
        }
        let given: Vec<_> = calls.iter().map(|call| call.arguments()).collect();
        let whole = calls.iter().zip(&given).filter_map(|(call, arguments)| {
            let fragment = ToolCallFragment::new().with_id(call.id.get());
            let fragment = fragment.with_name(call.function.0.as_ref()?.name.get());
            Some(fragment.with_arguments(arguments.as_deref()))
        });
        let whole: Vec<_> = whole.collect();
        self.calls
            .complete(&whole)
            .into_iter()
            .filter_map(|(_, delta)| delta)
            .for_each(|delta| out.push(delta));
        if self.calls.len() > MAX_CALLS { Err(too_many("tool calls")) } else { Ok(()) }
    }

    fn call(&mut self, call: &Call<'_>, out: &mut ChunkSink) -> Result<()> {
        let Some(function) = &call.function.0 else { return Ok(()) };
        let arguments = call.arguments();
        let fragment = ToolCallFragment::new()
            .with_index(function.index.0)
            .with_id(call.id.get())
            .with_name(function.name.get())
            .with_arguments(arguments.as_deref());
        out.push(self.calls.push(&fragment));
        if self.calls.len() > MAX_CALLS {
            return Err(too_many("tool calls"));
        }
        Ok(())
    }

    /// The reply so far.
    fn completion(&mut self) -> Completion {
        let replay = RawValue::from_string("{}".to_owned()).ok();
        let thinking = Some(std::mem::take(&mut self.thinking)).filter(|thinking| !thinking.is_empty());
        let thinking = thinking.map(|text| {
            let replay = replay.map(|data| self.reading.tag(data));
            AssistantPart::Reasoning(ReasoningPart::new(text).with_replay(replay))
        });
        let text = AssistantPart::text(std::mem::take(&mut self.text));
        let calls = std::mem::take(&mut self.calls).finish().into_iter().map(|call| {
            let name = self.reading.tools.internal_name(&call.name).to_owned();
            let call =
                ToolCall::new(name, call.arguments).with_id(call.id).with_provider_id(call.provider_id);
            call.into()
        });
        let message = AssistantMessage::new([thinking, text].into_iter().chain(calls));
        let reason = self.finish.as_deref().map_or(FinishReason::Stop, finish_reason);
        let reason = reason.for_message(message.has_tool_calls());
        let mut completion = Completion::new(message, reason, std::mem::take(&mut self.usage));
        completion.raw_finish_reason = self.finish.take();
        completion.model = self.model.take();
        completion.degradations = std::mem::take(&mut self.reading.degradations);
        completion
    }
}

/// The rest of a whole text beyond its beginning; a text that does not begin so is a piece like others. So is one that
/// repeats very little.
fn rest<'t>(text: &'t str, known: &str) -> &'t str {
    const LITTLE: usize = 16;
    text.strip_prefix(known).filter(|_| known.len() >= LITTLE).unwrap_or(text)
}

/// The counts and durations of the last line.
fn counts(json: &[u8]) -> Option<RawUsage> {
    let members: Map<String, Value> = serde_json::from_slice(json).ok()?;
    let counts =
        members.into_iter().filter(|(name, _)| name.ends_with("_count") || name.ends_with("_duration"));
    RawUsage::from_json(&Value::Object(counts.collect()).to_string())
}

fn too_long(limit: usize) -> ProviderError {
    malformed(format!("the reply is longer than {limit} bytes"))
}
