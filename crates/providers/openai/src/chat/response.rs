//! One reply while it is read: what the deltas bring, and the message that they make.

mod content;
pub(super) mod extras;
pub(super) mod reasoning;
mod think_tags;
pub(crate) mod wire;

use std::borrow::Cow;

use attache_core::assembler::{ToolCallAssembler, ToolCallFragment};
use attache_core::message::OpaquePart;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Completion, ErrorKind, FinishReason, ProviderError, RawUsage,
    StreamChunk, TextPart, ToolCall, Usage,
};
use attache_transport::lenient::Text;
use attache_transport::{ChunkSink, Reading};
use serde_json::Value;
use serde_json::value::RawValue;

use self::content::Body;
use self::extras::Beside;
use self::reasoning::MemberReasoning;
use self::wire::{Call, Choice, Chunk, Delta, Function, Piece};
use crate::error::{Result, is_set, too_many};
use crate::profile::{Profile, ThinkTags};
use crate::response::citations;
use crate::response::{ends_in_unreadable_call, finish_reason};

/// The most generations of one reply.
const MAX_CHOICES: usize = 128;
/// The most tool calls of one generation.
const MAX_CALLS: usize = 1_000;

/// The kind of the opaque part that holds the member of the same name.
pub(super) const EXTRA_CONTENT: &str = "extra_content";

/// A reply, assembled from whole messages or deltas.
///
/// The generation that appears first is handed out as it comes. Citations of other choices are kept until the end, when
/// it is known whether they count.
#[derive(Debug)]
pub(super) struct Reply {
    reading: Reading,
    think_tags: ThinkTags,
    reasoning_in_total: bool,
    id: Option<String>,
    model: Option<String>,
    usage: Option<RawUsage>,
    choices: Vec<Generation>,
    /// The lists from the server's search: results, and addresses.
    searched: Option<Box<[String; 2]>>,
}

#[derive(Debug, Default)]
struct Generation {
    index: u64,
    /// It is handed out as it comes.
    shown: bool,
    reasoning: MemberReasoning,
    body: Body,
    refusal: String,
    calls: ToolCallAssembler,
    /// The data that go back with a call, by its slot.
    call_extras: Vec<(usize, Box<RawValue>)>,
    /// The data that go back with the message.
    extra: Option<Box<RawValue>>,
    beside: Beside,
    finish: Option<String>,
}

impl Reply {
    pub(super) fn new(reading: Reading, profile: &Profile) -> Self {
        Self {
            reading,
            think_tags: profile.think_tags,
            reasoning_in_total: profile.reasoning_in_total,
            id: None,
            model: None,
            usage: None,
            choices: Vec::new(),
            searched: None,
        }
    }

    /// True if any generation said that it is finished.
    pub(super) fn is_finished(&self) -> bool {
        self.choices.iter().any(|choice| choice.finish.is_some())
    }

    /// The error of a reply that failed before it said anything, where only its finish reason says so (openai.md
    /// C.1, C.2).
    pub(super) fn failed_silently(&self) -> Result<()> {
        let silent = |choice: &Generation| !choice.says_something() && choice.calls.is_empty();
        let mut words = self.choices.iter().rev().filter_map(|choice| choice.finish.as_deref());
        match words.next() {
            Some(word) if finish_reason(word) == FinishReason::Error && self.choices.iter().all(silent) => {
                if ends_in_unreadable_call(word) {
                    let error = ProviderError::new(
                        ErrorKind::Malformed,
                        "the model wrote a call that cannot be read",
                    );
                    return Err(error.with_retryable(true).with_code(word.to_owned()));
                }
                let text = format!("the server gave up before it answered: {word}");
                Err(ProviderError::new(ErrorKind::Overloaded, text).with_code(word.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Takes a chunk of a stream or, if `whole`, an answer in one piece.
    pub(super) fn take(&mut self, chunk: &Chunk<'_>, whole: bool, out: &mut ChunkSink) -> Result<()> {
        self.named(chunk.id.get(), chunk.model.get());
        for (position, choice) in chunk.choices.0.iter().enumerate() {
            if let Some(choice) = &choice.0 {
                self.take_choice(position, choice, whole, out)?;
            }
        }
        // Each chunk says them again.
        for (list, at) in [(chunk.search_results, 0), (chunk.citations, 1)] {
            let Some(list) = list.filter(|list| !matches!(list.get(), "null" | "[]")) else { continue };
            if let Some(known) = self.searched.get_or_insert_default().get_mut(at)
                && known != list.get()
            {
                list.get().clone_into(known);
            }
        }
        // openai.md D 58, D 59
        let counts = |usage: &&RawValue| is_set(Some(usage));
        let inner = || chunk.choices.0.iter().find_map(|choice| choice.0.as_ref()?.usage.filter(counts));
        let groq = || chunk.x_groq.0.as_ref()?.usage.filter(counts);
        if let Some(usage) = chunk.usage.filter(counts).or_else(inner).or_else(groq) {
            self.usage = Some(usage.into());
        }
        Ok(())
    }

    fn take_choice(
        &mut self,
        position: usize,
        choice: &Choice<'_>,
        whole: bool,
        out: &mut ChunkSink,
    ) -> Result<()> {
        let generation = self.generation(choice.index.0.unwrap_or(position as u64))?;
        let mut unseen = None;
        let out = generation.out(out, &mut unseen);
        if let Some(delta) = choice.delta.0.as_ref().filter(|_| !whole || choice.message.0.is_none()) {
            generation.take(delta, out)?;
        }
        if let Some(message) = &choice.message.0 {
            generation.complete(message, out)?;
        }
        if let Some(reason) = choice.finish_reason.get() {
            generation.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    /// Takes a chunk of a stream that is a piece of a text.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, out: &mut ChunkSink) -> Result<()> {
        fn filled<'p>(text: &'p Option<Cow<'_, str>>) -> Option<&'p str> {
            text.as_deref().filter(|text| !text.is_empty())
        }
        self.named(filled(&piece.id), filled(&piece.model));
        let generation = self.generation(piece.index.unwrap_or(0))?;
        let mut unseen = None;
        let out = generation.out(out, &mut unseen);
        let (content, plain) = (filled(&piece.content), filled(&piece.reasoning_content));
        generation.think(&[], &[], plain, filled(&piece.reasoning), out);
        if let Some(content) = content {
            generation.body.text(content, !generation.reasoning.is_empty(), out);
        }
        let Some(call) = &piece.call else { return Ok(()) };
        let fragment = ToolCallFragment::new()
            .with_index(call.index)
            .with_id(filled(&call.id))
            .with_name(filled(&call.name))
            .with_arguments(call.arguments.as_deref());
        generation.fragment(&fragment, None, out)
    }

    fn named(&mut self, id: Option<&str>, model: Option<&str>) {
        if self.id.is_none() {
            self.id = id.map(str::to_owned);
        }
        if self.model.is_none() {
            self.model = model.map(str::to_owned);
        }
    }

    /// The generation of an index.
    fn generation(&mut self, index: u64) -> Result<&mut Generation> {
        let known = self.choices.iter().position(|known| known.index == index);
        let at = known.unwrap_or(self.choices.len());
        if known.is_none() && at < MAX_CHOICES {
            self.choices.push(Generation::new(index, at == 0, self.think_tags));
        }
        self.choices.get_mut(at).ok_or_else(|| too_many("choices"))
    }

    /// Ends the reply.
    pub(super) fn finish(&mut self, out: &mut ChunkSink) {
        let completion = self.completion(false, out);
        out.done(completion);
    }

    /// The part of a reply that was cut or failed.
    pub(super) fn partial(&mut self) -> Completion {
        self.completion(true, &mut ChunkSink::new())
    }

    /// The message of the generations, merged by rows E05 to E11: with a call in any of them all are
    /// merged, otherwise the first that says something counts. The rest that was not handed out yet goes to `out`.
    fn completion(&mut self, cut: bool, out: &mut ChunkSink) -> Completion {
        let mut choices = std::mem::take(&mut self.choices);
        let mut unseen = None;
        for choice in &mut choices {
            let out = choice.out(&mut *out, &mut unseen);
            choice.body.finish(!choice.reasoning.is_empty(), out);
        }
        if !choices.iter().any(|choice| !choice.calls.is_empty()) {
            let chosen = choices.iter().position(Generation::says_something).unwrap_or(0);
            choices = choices.into_iter().skip(chosen).take(1).collect();
        }
        let mut merged = Merged::new(&self.reading, choices.len() > 1);
        for choice in choices {
            merged.add(choice, cut, out);
        }
        let raw_finish_reason = merged.finish.take();
        let mut message = merged.into_message();
        if let Some([results, urls]) = self.searched.take().as_deref() {
            let list = |json: &str| serde_json::from_str::<Vec<Value>>(json).unwrap_or_default();
            citations::found(&mut message, &list(results), &list(urls));
        }
        let reason = raw_finish_reason.as_deref().map_or(FinishReason::Stop, finish_reason);
        let reason = match reason.for_message(message.has_tool_calls()) {
            FinishReason::Stop if message.refusal().is_some() => FinishReason::Refusal,
            reason => reason,
        };
        let in_total = self.reasoning_in_total;
        let usage = self
            .usage
            .take()
            .map_or_else(Usage::default, |raw| crate::response::usage::normalise(raw, in_total));
        let mut completion = Completion::new(message, reason, usage);
        completion.raw_finish_reason = raw_finish_reason;
        completion.model = self.model.take();
        completion.response_id = self.id.take();
        completion.degradations = self.reading.degradations.clone();
        completion
    }
}

impl Generation {
    fn new(index: u64, shown: bool, tags: ThinkTags) -> Self {
        Self { index, shown, body: Body::new(tags), ..Self::default() }
    }

    /// The sink for what it says: one that nobody reads, made where it is wanted, while it is hidden.
    fn out<'o>(&self, out: &'o mut ChunkSink, unseen: &'o mut Option<ChunkSink>) -> &'o mut ChunkSink {
        if self.shown { out } else { unseen.get_or_insert_default() }
    }

    /// Takes a message or a piece of one; within it reasoning comes before text and text before calls.
    fn take(&mut self, delta: &Delta<'_>, out: &mut ChunkSink) -> Result<()> {
        let (plain, other) = (delta.reasoning_content.get(), delta.reasoning.get());
        self.think(&delta.reasoning_details.0, &delta.thinking_blocks(), plain, other, out);
        self.body.take(&delta.content, !self.reasoning.is_empty(), out);
        if let Some(said) = self.beside.push(delta).as_ref().and_then(Text::get) {
            self.body.speak(said, out);
        }
        if let Some(refusal) = delta.refusal.get() {
            self.refusal.push_str(refusal);
        }
        for call in delta.tool_calls.0.iter().filter_map(|call| call.0.as_ref()) {
            self.call(call, out)?;
        }
        if let (Some(function), true) = (&delta.function_call.0, delta.tool_calls.0.is_empty()) {
            self.fragment(&function.whole(), None, out)?;
        }
        if let Some(extra) = delta.extra_content {
            self.extra = Some(extra.to_owned());
        }
        Ok(())
    }

    fn think(
        &mut self,
        details: &[&RawValue],
        blocks: &[&RawValue],
        reasoning_content: Option<&str>,
        reasoning: Option<&str>,
        out: &mut ChunkSink,
    ) {
        // As nearly all pieces do, it says nothing of it.
        if details.is_empty() && blocks.is_empty() && reasoning_content.or(reasoning).is_none() {
            return;
        }
        let thinking = self.reasoning.push(details, blocks, reasoning_content, reasoning);
        out.thinking(thinking);
    }

    /// Takes the whole message, as far as it has come, that stands beside or behind its pieces: it completes them and
    /// repeats nothing (openai.md C.3).
    fn complete(&mut self, message: &Delta<'_>, out: &mut ChunkSink) -> Result<()> {
        if self.is_untouched() {
            return self.take(message, out);
        }
        let thinking = self.reasoning.complete(message);
        out.thinking(thinking);
        self.body.complete(&message.content, !self.reasoning.is_empty(), out);
        if let Some(rest) = message.refusal.get().and_then(|whole| whole.strip_prefix(&*self.refusal)) {
            self.refusal.push_str(rest);
        }
        if let Some(said) = self.beside.complete(message).as_ref().and_then(Text::get) {
            self.body.speak(said, out);
        }
        if let Some(extra) = message.extra_content.filter(|_| self.extra.is_none()) {
            self.extra = Some(extra.to_owned());
        }
        self.complete_calls(message, out)
    }

    fn complete_calls(&mut self, message: &Delta<'_>, out: &mut ChunkSink) -> Result<()> {
        let given = message.tool_calls.0.iter().filter_map(|call| call.0.as_ref());
        let (mut calls, mut extras): (Vec<_>, Vec<_>) =
            given.filter_map(|call| Some((call.whole()?, call.extra()))).unzip();
        if let (Some(function), true) = (&message.function_call.0, calls.is_empty()) {
            calls.push(function.whole());
            extras.push(None);
        }
        if calls.is_empty() {
            return Ok(());
        }
        if calls.len() > MAX_CALLS {
            return Err(too_many("tool calls"));
        }
        for ((slot, delta), extra) in self.calls.complete(&calls).into_iter().zip(extras) {
            if let Some(extra) = extra.filter(|_| !self.call_extras.iter().any(|(known, _)| *known == slot)) {
                self.call_extras.push((slot, extra.into_owned()));
            }
            delta.into_iter().for_each(|delta| out.push(delta));
        }
        if self.calls.len() > MAX_CALLS { Err(too_many("tool calls")) } else { Ok(()) }
    }

    /// True if nothing of the message has come.
    fn is_untouched(&self) -> bool {
        self.body.is_untouched()
            && self.reasoning.is_empty()
            && self.calls.is_empty()
            && self.refusal.is_empty()
            && self.beside.is_empty()
    }

    fn call(&mut self, call: &Call<'_>, out: &mut ChunkSink) -> Result<()> {
        let called = call.function.0.as_ref().or(call.custom.0.as_deref());
        let fragment = called.map(Function::whole).unwrap_or_default();
        let fragment = fragment.with_index(call.index.0).with_id(call.id.get());
        self.fragment(&fragment, call.extra(), out)
    }

    fn fragment(
        &mut self,
        fragment: &ToolCallFragment<'_>,
        extra: Option<Cow<'_, RawValue>>,
        out: &mut ChunkSink,
    ) -> Result<()> {
        let says_arguments =
            fragment.arguments.is_some_and(|text| !text.is_empty()) || fragment.object.is_some();
        if fragment.id.is_none() && fragment.name.is_none() && !says_arguments {
            return Ok(());
        }
        let delta = self.calls.push(fragment);
        if let (Some(extra), StreamChunk::ToolCallDelta { slot, .. }) = (extra, &delta)
            && !self.call_extras.iter().any(|(known, _)| known == slot)
        {
            self.call_extras.push((*slot, extra.into_owned()));
        }
        out.push(delta);
        if self.calls.len() > MAX_CALLS { Err(too_many("tool calls")) } else { Ok(()) }
    }

    fn says_something(&self) -> bool {
        !self.body.is_blank() || !self.refusal().trim().is_empty()
    }

    fn refusal(&self) -> &str {
        if self.refusal.is_empty() { self.body.refusal() } else { &self.refusal }
    }
}

/// The parts of one message, out of one generation or several.
struct Merged<'a> {
    reading: &'a Reading,
    /// There are several generations, whose texts are joined by line feeds.
    several: bool,
    before: Vec<AssistantPart>,
    text: String,
    refusal: String,
    calls: Vec<ToolCall>,
    after: Vec<AssistantPart>,
    finish: Option<String>,
}

impl<'a> Merged<'a> {
    fn new(reading: &'a Reading, several: bool) -> Self {
        Self {
            reading,
            several,
            before: Vec::new(),
            text: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            after: Vec::new(),
            finish: None,
        }
    }

    fn add(&mut self, generation: Generation, cut: bool, out: &mut ChunkSink) {
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
        let calls = generation.calls.finish();
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
        self.finish = generation.finish.or_else(|| self.finish.take());
    }

    fn into_message(self) -> AssistantMessage {
        let refusal = TextPart::new(self.refusal).map(|text| AssistantPart::Text(text.into_refusal()));
        let parts = self.before.into_iter().map(Some);
        let parts = parts.chain([AssistantPart::text(self.text), refusal]);
        let parts = parts.chain(self.calls.into_iter().map(Into::into));
        let mut message = AssistantMessage::new(parts.chain(self.after.into_iter().map(Some)));
        citations::read(&mut message);
        message
    }
}

/// True if a reply that ended so may end in the middle of a call.
fn cuts(reason: &FinishReason) -> bool {
    matches!(reason, FinishReason::Length | FinishReason::ContentFilter | FinishReason::Error)
}
