//! The message of one generation, or of several.

use attache_core::message::OpaquePart;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, FinishReason, StreamChunk, TextPart, ToolCall,
};
use attache_transport::{ChunkSink, Reading};
use serde_json::Value;

use super::extras::EXTRA_CONTENT;
use super::generation::Generation;
use crate::response::{LOGPROBS, citations, finish_reason};

/// The parts of one message, out of one generation or several.
pub(super) struct Merged<'a> {
    reading: &'a Reading,
    /// There are several generations, whose texts are joined by line feeds.
    several: bool,
    before: Vec<AssistantPart>,
    text: String,
    refusal: String,
    calls: Vec<ToolCall>,
    after: Vec<AssistantPart>,
    /// The likelihood of the tokens, of the answers and of their reasoning.
    logprobs: [Vec<Value>; 2],
    pub(super) finish: Option<String>,
}

impl<'a> Merged<'a> {
    pub(super) fn new(reading: &'a Reading, several: bool) -> Self {
        Self {
            reading,
            several,
            before: Vec::new(),
            text: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            after: Vec::new(),
            logprobs: [Vec::new(), Vec::new()],
            finish: None,
        }
    }

    pub(super) fn add(&mut self, generation: Generation, cut: bool, out: &mut ChunkSink) {
        let reading = self.reading;
        let hidden = !generation.shown;
        self.refusal.push_str(generation.refusal());
        let answer = generation.body.answer();
        let reasoning = generation.reasoning.part(reading).map(AssistantPart::Reasoning);
        let parts: Vec<_> = reasoning.into_iter().chain(generation.body.into_parts(reading)).collect();
        for part in parts.iter().filter(|_| hidden) {
            if let AssistantPart::Reasoning(reasoning) = part {
                out.thinking(reasoning.text());
            }
        }
        if self.several {
            let separator = if self.text.is_empty() || answer.is_empty() { "" } else { "\n" };
            let told = self.text.len();
            self.text.push_str(separator);
            self.text.push_str(&answer);
            if hidden {
                out.content(self.text.get(told..).unwrap_or_default());
            }
            self.before.extend(parts.into_iter().filter(|part| !matches!(part, AssistantPart::Text(_))));
        } else {
            if hidden {
                out.content(answer);
            }
            self.before.extend(parts);
        }
        let cut = cut || generation.finish.as_deref().map(finish_reason).is_some_and(|reason| cuts(&reason));
        let first = self.calls.len();
        let hosted = generation.hosted.unwrap_or_default();
        let calls = generation.calls.finish().into_iter();
        let (answered, calls): (Vec<_>, Vec<_>) = calls.partition(|call| hosted.has_result_of(call));
        let last = calls.len();
        for (at, call) in calls.into_iter().enumerate() {
            let extra = generation.call_extras.iter().find(|(slot, _)| *slot == call.slot);
            let replay = extra.map(|(_, json)| reading.tag(json.clone()));
            let complete =
                || call.arguments.raw().trim_start().starts_with(['{', '"']) && call.arguments.json().is_ok();
            let arguments = if cut && at + 1 == last && !complete() {
                Arguments::truncated(call.arguments.raw())
            } else {
                call.arguments
            };
            if hidden {
                out.push(StreamChunk::ToolCallDelta {
                    slot: first + at,
                    id: call.id.clone(),
                    provider_id: call.provider_id.clone(),
                    name: Some(call.name.clone()),
                    arguments_delta: arguments.raw().to_owned(),
                });
            }
            let name = self.reading.tools.internal_name(&call.name).to_owned();
            let call = ToolCall::new(name, arguments).with_id(call.id).with_provider_id(call.provider_id);
            self.calls.push(call.with_replay(replay));
        }
        if let Some(extra) = generation.extra {
            let opaque = OpaquePart::new(EXTRA_CONTENT, reading.tag(extra));
            self.after.push(AssistantPart::Opaque(opaque));
        }
        self.after.extend(generation.beside.into_parts(reading));
        self.after.extend(hosted.into_part(answered, reading));
        for (known, given) in self.logprobs.iter_mut().zip(generation.logprobs) {
            known.extend(given);
        }
        self.finish = generation.finish.or_else(|| self.finish.take());
    }

    pub(super) fn into_message(self) -> AssistantMessage {
        let refusal = TextPart::new(self.refusal).map(|text| AssistantPart::Text(text.into_refusal()));
        let parts = self.before.into_iter().map(Some);
        let parts = parts.chain([AssistantPart::text(self.text), refusal]);
        let parts = parts.chain(self.calls.into_iter().map(Into::into));
        let mut message = AssistantMessage::new(parts.chain(self.after.into_iter().map(Some)));
        for (name, tokens) in [LOGPROBS, "reasoning_logprobs"].into_iter().zip(self.logprobs) {
            if !tokens.is_empty() {
                message.metadata = std::mem::take(&mut message.metadata).with(name, tokens);
            }
        }
        citations::read(&mut message);
        message
    }
}

/// True if a reply that ended so may end in the middle of a call.
fn cuts(reason: &FinishReason) -> bool {
    matches!(reason, FinishReason::Length | FinishReason::ContentFilter | FinishReason::Error)
}
