//! A reply as far as it has come, and the message that it makes.

pub(crate) mod citations;
mod usage;
pub(crate) mod wire;

use std::borrow::Cow;

use attache_core::assembler::{ToolCallAssembler, ToolCallFragment};
use attache_core::message::{Metadata, OpaquePart};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Completion, ErrorKind, FinishReason, ProviderError,
    ReasoningPart, ToolCall, Usage,
};
use attache_transport::lenient::{List, Object, RawList};
use attache_transport::{ChunkSink, HandedOut, JsonStr, Reading};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use self::citations::CITATIONS;
use self::usage::normalised;
use self::wire::Call;

/// The kind of the part that holds what the model plans to do with its tools.
pub(crate) const TOOL_PLAN: &str = "tool_plan";

/// The maximum number of content blocks of a reply.
const MAX_BLOCKS: usize = 1_000;
/// The maximum number of tool calls of a reply.
const MAX_CALLS: usize = 1_000;

/// A reply, put together from events or from one object.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    reading: Reading,
    id: Option<String>,
    blocks: Vec<Block>,
    plan: String,
    calls: ToolCallAssembler,
    citations: Vec<Box<RawValue>>,
    logprobs: Vec<Box<RawValue>>,
    finish: Option<String>,
    /// The failure that the reply ended in, if it did.
    problem: Option<String>,
    usage: Option<String>,
}

/// A block of the content, under the number that its events have.
#[derive(Debug)]
struct Block {
    index: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Text {
        text: String,
        /// The number of bytes that were handed out. Blank text waits until something visible follows.
        shown: HandedOut,
    },
    Thinking(String),
    /// A block that this version does not know: its members, texts of later pieces appended.
    Other {
        kind: String,
        members: Map<String, Value>,
    },
}

/// The members that tell blocks apart. A piece without a type is of the kind that it has a member for.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shape<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonStr<'a>>,
    text: Option<JsonStr<'a>>,
    thinking: Option<JsonStr<'a>>,
}

impl Reply {
    pub(crate) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
    }

    /// Takes the provider's id of the reply.
    pub(crate) fn named(&mut self, id: Option<JsonStr<'_>>) {
        self.id = id.and_then(JsonStr::into_filled).or_else(|| self.id.take());
    }

    /// The block that a piece belongs to: the last one where it does not say.
    pub(crate) fn place(&self, index: Option<u64>) -> u64 {
        index.or_else(|| self.blocks.last().map(|block| block.index)).unwrap_or_default()
    }

    /// True if the block of that index is of a kind that this version does not know.
    pub(crate) fn is_foreign(&self, index: u64) -> bool {
        let block = self.blocks.iter().rev().find(|block| block.index == index);
        block.is_some_and(|block| matches!(block.content, Content::Other { .. }))
    }

    /// Takes a content block, or a piece of one.
    pub(crate) fn content(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut ChunkSink,
    ) -> Result<(), serde_json::Error> {
        let index = self.place(index);
        let open = |block: &&mut Block| block.index == index;
        if let Some(Block { content: Content::Other { members, .. }, .. }) =
            self.blocks.iter_mut().rev().find(open)
        {
            merge(members, serde_json::from_str(raw.get())?);
            return Ok(());
        }
        let Shape { kind, text, thinking } = serde_json::from_str(raw.get())?;
        match kind.map(|kind| kind.0.into_owned()) {
            Some(kind) if !matches!(kind.as_str(), "text" | "thinking") => {
                let members = serde_json::from_str(raw.get())?;
                self.blocks.push(Block { index, content: Content::Other { kind, members } });
            }
            _ => {
                if let Some(thinking) = thinking {
                    self.thinking(index, &thinking.0, out);
                }
                if let Some(text) = text {
                    self.text(index, &text.0, out);
                }
            }
        }
        Ok(())
    }

    /// Takes a piece of answer text.
    pub(crate) fn text(&mut self, index: u64, piece: &str, out: &mut ChunkSink) {
        let known = self.blocks.iter_mut().rev().find_map(|block| match &mut block.content {
            Content::Text { text, shown } if block.index == index => Some((text, shown)),
            _ => None,
        });
        let Some((text, shown)) = known else {
            let mut shown = HandedOut::default();
            out.content_behind(piece, &mut shown);
            self.blocks.push(Block { index, content: Content::Text { text: piece.to_owned(), shown } });
            return;
        };
        text.push_str(piece);
        out.content_behind(text, shown);
    }

    /// Takes a piece of thinking.
    pub(crate) fn thinking(&mut self, index: u64, piece: &str, out: &mut ChunkSink) {
        let known = self.blocks.iter_mut().rev().find_map(|block| match &mut block.content {
            Content::Thinking(text) if block.index == index => Some(text),
            _ => None,
        });
        match known {
            Some(text) => text.push_str(piece),
            None => self.blocks.push(Block { index, content: Content::Thinking(piece.to_owned()) }),
        }
        out.thinking(piece);
    }

    /// Takes a piece of the plan, which is no part of the answer.
    pub(crate) fn plans(&mut self, plan: &str) {
        self.plan.push_str(plan);
    }

    /// Takes tool calls, or pieces of them, the first of which has that index. A stream brings one at a time.
    pub(crate) fn calls(&mut self, index: Option<u64>, calls: &List<Object<Call<'_>>>, out: &mut ChunkSink) {
        for (at, call) in (0_u64..).zip(&calls.0) {
            if let Some(call) = &call.0 {
                self.call(index.map(|index| index.saturating_add(at)), call, out);
            }
        }
    }

    fn call(&mut self, index: Option<u64>, call: &Call<'_>, out: &mut ChunkSink) {
        fn text<'a>(text: Option<&'a JsonStr<'_>>) -> Option<&'a str> {
            text.map(|text| &*text.0)
        }
        let function = call.function.as_ref();
        let arguments = function.and_then(|function| function.arguments).map(|raw| {
            let text = serde_json::from_str::<JsonStr<'_>>(raw.get());
            text.map_or(Cow::Borrowed(raw.get()), |text| text.0)
        });
        let fragment = ToolCallFragment::new()
            .with_index(index)
            .with_id(text(call.id.as_ref()))
            .with_name(text(function.and_then(|function| function.name.as_ref())))
            .with_arguments(arguments.as_deref());
        out.push(self.calls.push(&fragment));
    }

    /// Takes what a piece of the answer rests on.
    pub(crate) fn cites(&mut self, citations: &RawList<'_>) {
        self.citations.extend(citations.0.iter().map(|citation| (*citation).to_owned()));
    }

    /// Takes how likely a piece was, where that was asked for.
    pub(crate) fn likely(&mut self, logprobs: Option<&RawValue>) {
        self.logprobs.extend(logprobs.map(ToOwned::to_owned));
    }

    /// Takes the end.
    pub(crate) fn ended(
        &mut self,
        finish: Option<JsonStr<'_>>,
        problem: Option<JsonStr<'_>>,
        usage: Option<&RawValue>,
    ) {
        // An end without a reason is one all the same.
        self.finish = Some(finish.and_then(JsonStr::into_filled).unwrap_or_default());
        self.problem = problem.and_then(JsonStr::into_filled);
        self.usage = usage.map(|usage| usage.get().to_owned());
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Checks that the reply stays within its limits.
    pub(crate) fn bounded(&self) -> Result<(), ProviderError> {
        let too_many = |what: &str| {
            Err(ProviderError::new(ErrorKind::Malformed, format!("the reply has too many {what}")))
        };
        if self.blocks.len() > MAX_BLOCKS {
            return too_many("content blocks");
        }
        if self.calls.len() > MAX_CALLS { too_many("tool calls") } else { Ok(()) }
    }

    /// The error of a reply whose end says that it failed, in words that may hold anything.
    pub(crate) fn failed(&self) -> Result<(), ProviderError> {
        let word = self.finish.as_deref().unwrap_or_default();
        if finish_reason(word) != FinishReason::Error {
            return Ok(());
        }
        let kind = if word == "TIMEOUT" { ErrorKind::Timeout } else { ErrorKind::Overloaded };
        let why = self.problem.as_deref().unwrap_or(word);
        let text = format!("the provider gave up: {}", why.trim_end_matches('.'));
        Err(ProviderError::new(kind, text).with_code(word.to_owned()))
    }

    /// The reply; `cut` if it never came to its end. An empty one is left.
    pub(crate) fn finish(&mut self, cut: bool) -> Completion {
        let degradations = std::mem::take(&mut self.reading.degradations);
        let this = std::mem::replace(self, Self::new(self.reading.clone()));
        let word = this.finish.filter(|word| !word.is_empty());
        let reason = word.as_deref().map_or(FinishReason::Stop, finish_reason);
        let cut = cut || matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let reading = this.reading;
        let tag = |raw: Box<RawValue>| reading.tag(raw);
        let opaque = |kind: &str, raw: Box<RawValue>| AssistantPart::Opaque(OpaquePart::new(kind, tag(raw)));

        let mut parts: Vec<Option<AssistantPart>> = Vec::new();
        for block in this.blocks {
            parts.push(match block.content {
                Content::Text { text, .. } => AssistantPart::text(text),
                Content::Thinking(text) if text.is_empty() => None,
                Content::Thinking(text) => {
                    // Nothing has to go back with it; the tag says that it is of this API.
                    let part = ReasoningPart::new(text).with_replay(raw(&Map::new()).map(&tag));
                    Some(AssistantPart::Reasoning(part))
                }
                Content::Other { kind, members } => raw(&members).map(|raw| opaque(&kind, raw)),
            });
        }
        if !this.plan.trim().is_empty() {
            parts.push(raw(&this.plan).map(|raw| opaque(TOOL_PLAN, raw)));
        }
        let calls = this.calls.finish();
        let last = calls.len();
        for (at, call) in calls.into_iter().enumerate() {
            let whole = || !call.arguments.raw().trim().is_empty() && call.arguments.json().is_ok();
            let arguments = if cut && at + 1 == last && !whole() {
                Arguments::truncated(call.arguments.raw())
            } else {
                call.arguments
            };
            let call = ToolCall::new(reading.tools.internal_name(&call.name), arguments)
                .with_id(call.id)
                .with_provider_id(call.provider_id);
            parts.push(Some(AssistantPart::ToolCall(call)));
        }
        if !this.citations.is_empty() {
            parts.push(raw(&this.citations).map(|raw| opaque(CITATIONS, raw)));
        }

        let mut message = AssistantMessage::new(parts);
        self::citations::read(&mut message);
        message.metadata = metadata(&this.logprobs);
        let reason = reason.for_message(message.has_tool_calls());
        let usage = this.usage.as_deref().map_or_else(Usage::default, normalised);
        let mut completion = Completion::new(message, reason, usage);
        completion.raw_finish_reason = word;
        completion.response_id = this.id;
        completion.degradations = degradations;
        completion
    }
}

/// Adds a later piece of a block to an earlier one: texts go on, everything else is replaced.
fn merge(members: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (members.get_mut(&name), value) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (_, value) => {
                members.insert(name, value);
            }
        }
    }
}

fn raw<T: Serialize + ?Sized>(value: &T) -> Option<Box<RawValue>> {
    to_raw_value(value).ok()
}

/// Facts that have no place in a message, and are of use to applications alone.
fn metadata(logprobs: &[Box<RawValue>]) -> Metadata {
    if logprobs.is_empty() {
        return Metadata::new();
    }
    let values = logprobs.iter().filter_map(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    Metadata::new().with("logprobs", values.collect::<Vec<_>>())
}

/// The meaning of a finish reason (cohere.md 6). Unknown ones are kept in the provider's word.
fn finish_reason(word: &str) -> FinishReason {
    match word {
        "" | "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
        // The limit of the reply, and that of the window.
        "MAX_TOKENS" | "ERROR_LIMIT" => FinishReason::Length,
        "TOOL_CALL" => FinishReason::ToolCalls,
        "ERROR_TOXIC" => FinishReason::ContentFilter,
        "ERROR" | "TIMEOUT" => FinishReason::Error,
        other => FinishReason::Other(other.to_owned()),
    }
}
