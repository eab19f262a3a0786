//! One generation of a reply while it is read.

use std::borrow::Cow;

use attache_core::StreamChunk;
use attache_core::assembler::{ToolCallAssembler, ToolCallFragment};
use attache_transport::ChunkSink;
use attache_transport::lenient::Text;
use serde_json::Value;
use serde_json::value::RawValue;

use super::content::Body;
use super::extras::Beside;
use super::hosted::Hosted;
use super::reasoning::MemberReasoning;
use super::wire::{self, Choice, Delta};
use crate::error::{Result, too_many};
use crate::profile::ThinkTags;
use crate::response::MAX_CALLS;

/// One generation of a reply.
#[derive(Debug, Default)]
pub(super) struct Generation {
    pub(super) index: u64,
    /// It is handed out as it comes.
    pub(super) shown: bool,
    pub(super) reasoning: MemberReasoning,
    pub(super) body: Body,
    pub(super) refusal: String,
    pub(super) calls: ToolCallAssembler,
    /// The data that go back with a call, by its slot.
    pub(super) call_extras: Vec<(usize, Box<RawValue>)>,
    /// The data that go back with the message.
    pub(super) extra: Option<Box<RawValue>>,
    pub(super) beside: Beside,
    /// The work of the server's own tools, where it comes as messages.
    pub(super) hosted: Option<Box<Hosted>>,
    /// The likelihood of the tokens, of the answer and of its reasoning.
    pub(super) logprobs: [Vec<Value>; 2],
    pub(super) finish: Option<String>,
}

impl Generation {
    pub(super) fn new(index: u64, shown: bool, tags: ThinkTags) -> Self {
        Self { index, shown, body: Body::new(tags), ..Self::default() }
    }

    /// The sink for what it says: one that nobody reads, made where it is wanted, while it is hidden.
    pub(super) fn out<'o>(
        &self,
        out: &'o mut ChunkSink,
        unseen: &'o mut Option<ChunkSink>,
    ) -> &'o mut ChunkSink {
        if self.shown { out } else { unseen.get_or_insert_default() }
    }

    /// Takes a message or a piece of one; within it reasoning comes before text and text before calls.
    pub(super) fn take(&mut self, delta: &Delta<'_>, out: &mut ChunkSink) -> Result<()> {
        if delta.is_result() || self.hosted.as_ref().is_some_and(|hosted| hosted.goes_on_with(delta)) {
            self.body.part_texts();
            return self.hosted.get_or_insert_default().result(delta);
        }
        let (plain, other) = (delta.reasoning_content.get(), delta.reasoning.get());
        self.think(&delta.reasoning_details.0, &delta.thinking_blocks(), plain, other, out);
        self.body.take(&delta.content, !self.reasoning.is_empty(), out);
        if let Some(said) = self.beside.push(delta).as_ref().and_then(Text::get) {
            self.body.speak(said, out);
        }
        if let Some(refusal) = delta.refusal.get() {
            self.refusal.push_str(refusal);
        }
        let together = self.go_on_together(delta);
        let calls = delta.tool_calls.0.iter().filter_map(|call| call.0.as_ref());
        for (place, call) in calls.enumerate() {
            if let Some(first) = together {
                out.push(self.calls.push_to(first + place, &call.piece()));
                continue;
            }
            let is_hosted = delta.is_of_server(call);
            if is_hosted || self.hosted.as_ref().is_some_and(|hosted| hosted.calls_on_with(call)) {
                self.hosted.get_or_insert_default().call(call, delta)?;
                continue;
            }
            if let Some(hosted) = &mut self.hosted {
                hosted.close();
            }
            self.fragment(&call.piece(), call.extra(), out)?;
        }
        if let (Some(function), true) = (&delta.function_call.0, delta.tool_calls.0.is_empty()) {
            self.fragment(&function.whole(), None, out)?;
        }
        if let Some(extra) = delta.extra_content {
            self.extra = Some(extra.to_owned());
        }
        Ok(())
    }

    /// The slot that the first of several pieces goes on with, where none has index, id or name: they are of the calls
    /// that came last, in their order (openai.md D 70).
    fn go_on_together(&self, delta: &Delta<'_>) -> Option<usize> {
        let calls = &delta.tool_calls.0;
        if calls.len() < 2 || self.hosted.is_some() {
            return None;
        }
        let is_blank = |text: Option<&str>| text.is_none_or(|text| text.trim().is_empty());
        let is_bare = |piece: &ToolCallFragment<'_>| {
            piece.index.is_none() && is_blank(piece.id) && is_blank(piece.name)
        };
        let are_bare = calls.iter().all(|call| call.0.as_ref().is_some_and(|call| is_bare(&call.piece())));
        are_bare.then(|| self.calls.len().checked_sub(calls.len())).flatten()
    }

    /// Takes how likely the tokens were. A whole message behind its pieces says it again.
    pub(super) fn likely(&mut self, choice: &Choice<'_>) {
        for (known, given) in self.logprobs.iter_mut().zip([choice.logprobs, choice.reasoning_logprobs]) {
            if let Some(given) = given.filter(|_| known.is_empty() || choice.message.0.is_none()) {
                known.extend(wire::logprobs(given));
            }
        }
    }

    pub(super) fn think(
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
    pub(super) fn complete(&mut self, message: &Delta<'_>, out: &mut ChunkSink) -> Result<()> {
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

    pub(super) fn fragment(
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

    pub(super) fn says_something(&self) -> bool {
        !self.body.is_blank() || !self.refusal().trim().is_empty()
    }

    pub(super) fn refusal(&self) -> &str {
        if self.refusal.is_empty() { self.body.refusal() } else { &self.refusal }
    }
}
