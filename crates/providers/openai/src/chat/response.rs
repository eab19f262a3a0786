//! One reply while it is read: what the deltas bring, and the message that they make.

mod content;
pub(super) mod extras;
mod generation;
mod hosted;
mod merged;
pub(super) mod reasoning;
mod think_tags;
pub(crate) mod wire;

use std::borrow::Cow;

use attache_core::assembler::ToolCallFragment;
use attache_core::{Completion, ErrorKind, FinishReason, ProviderError, RawUsage, Usage};
use attache_transport::{ChunkSink, Reading};
use serde_json::Value;
use serde_json::value::RawValue;

use self::generation::Generation;
use self::merged::Merged;
use self::wire::{Choice, Chunk, Piece};
use crate::error::{Result, is_set, too_many};
use crate::profile::{Profile, ThinkTags};
use crate::response::usage::normalise;
use crate::response::{citations, ends_in_unreadable_call, finish_reason, reported};

/// The maximum number of generations of one reply.
const MAX_CHOICES: usize = 128;

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
    /// The id of the chunk that brought it, and what parts of the answer with other ids used.
    counted: Option<String>,
    earlier: Option<Usage>,
    choices: Vec<Generation>,
    /// The lists from the server's search: results, and addresses.
    searched: Option<Box<[String; 2]>>,
    moderation: Option<Box<RawValue>>,
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
            counted: None,
            earlier: None,
            choices: Vec::new(),
            searched: None,
            moderation: None,
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
        if let Some(moderation) = chunk.moderation.filter(|report| is_set(Some(report))) {
            self.moderation = Some(moderation.to_owned());
        }
        // openai.md D 58, D 59
        let counts = |usage: &&RawValue| is_set(Some(usage));
        let inner = || chunk.choices.0.iter().find_map(|choice| choice.0.as_ref()?.usage.filter(counts));
        let groq = || chunk.x_groq.0.as_ref()?.usage.filter(counts);
        if let Some(usage) = chunk.usage.filter(counts).or_else(inner).or_else(groq) {
            self.count(usage, chunk.id.get());
        }
        Ok(())
    }

    /// Takes the usage so far. Of an answer among whose messages the server ran its tools each part counts for itself,
    /// under an id of its own (openai.md C.6).
    fn count(&mut self, usage: &RawValue, id: Option<&str>) {
        if self.counted.as_deref() != id {
            let has_parts = self.choices.iter().any(|choice| choice.hosted.is_some());
            if let Some(known) = self.usage.take().filter(|_| has_parts) {
                self.earlier.get_or_insert_default().add(&normalise(known, self.reasoning_in_total));
            }
            self.counted = id.map(str::to_owned);
        }
        self.usage = Some(usage.into());
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
        generation.likely(choice);
        if let Some(message) = &choice.message.0 {
            generation.complete(message, out)?;
        } else {
            for message in choice.messages.0.iter().filter_map(|message| message.0.as_ref()) {
                generation.take(message, out)?;
            }
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
        reported(&mut message.metadata, "moderation", self.moderation.take().as_deref());
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
        let mut usage = self.usage.take().map_or_else(Usage::default, |raw| normalise(raw, in_total));
        if let Some(earlier) = self.earlier.take() {
            usage.add(&earlier);
        }
        let mut completion = Completion::new(message, reason, usage);
        completion.raw_finish_reason = raw_finish_reason;
        completion.model = self.model.take();
        completion.response_id = self.id.take();
        completion.degradations = self.reading.degradations.clone();
        completion
    }
}
