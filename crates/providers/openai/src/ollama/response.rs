//! One reply while it is read: what the lines bring, and the message that they make.

pub(super) mod wire;

use attache_core::assembler::{ToolCallAssembler, ToolCallFragment};
use attache_core::message::Metadata;
use attache_core::{
    AssistantMessage, AssistantPart, Completion, FinishReason, RawUsage, ReasoningPart, ToolCall, Usage,
};
use attache_transport::{ChunkSink, Reading};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::wire::{Call, Line};
use super::error::failed;
use crate::error::{Result, is_set, too_many};
use crate::response::{LOGPROBS, MAX_CALLS, finish_reason};

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
    logprobs: Vec<Value>,
    /// A line with something of a reply came.
    pub(super) seen: bool,
}

impl Reply {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    pub(super) fn take(&mut self, line: &Line<'_>, json: &[u8], out: &mut ChunkSink) -> Result<()> {
        if is_set(line.error) {
            return Err(failed(json));
        }
        self.seen |= line.message.0.is_some() || line.is_last();
        if self.model.is_none() {
            self.model = line.model.get().map(str::to_owned);
        }
        if let Some(logprobs) = line.logprobs {
            self.logprobs.extend(serde_json::from_str::<Vec<Value>>(logprobs.get()).unwrap_or_default());
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
            self.usage = Usage::new(line.prompt_eval_count.0, line.eval_count.0)
                .with_cached_tokens(line.prompt_eval_cached_count.0)
                .with_raw(counts(json));
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
    pub(super) fn completion(&mut self) -> Completion {
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
        let mut message = AssistantMessage::new([thinking, text].into_iter().chain(calls));
        if !self.logprobs.is_empty() {
            message.metadata = Metadata::new().with(LOGPROBS, std::mem::take(&mut self.logprobs));
        }
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
