//! One answer while it is read.

pub(super) mod item;
pub(super) mod items;
pub(super) mod wire;

use attache_core::assembler::{AssembledCall, ToolCallFragment};
use attache_core::message::Metadata;
use attache_core::{AssistantMessage, Completion, FinishReason, StreamChunk, Usage};
use attache_transport::lenient::RawList;
use attache_transport::{ChunkSink, Reading};
use serde_json::value::RawValue;

use self::item::Field;
use self::items::{Items, MAX_ITEMS, Place};
use self::wire::{CUSTOM_CALL, FUNCTION_CALL, MESSAGE, Part, REASONING, Response, object};
use crate::error::{Result, too_many};
use crate::response::{LOGPROBS, reported, usage};

#[derive(Debug)]
pub(super) struct Reply {
    reading: Reading,
    /// A call of a custom tool is one for the client; otherwise the server has run it.
    pub(super) custom_calls: bool,
    id: Option<String>,
    model: Option<String>,
    usage: Usage,
    items: Items,
    metadata: Metadata,
}

impl Reply {
    pub(super) fn new(reading: Reading, custom_calls: bool) -> Self {
        let (usage, items, metadata) = (Usage::default(), Items::default(), Metadata::new());
        Self { reading, custom_calls, id: None, model: None, usage, items, metadata }
    }

    /// Takes what every state of a response has.
    pub(super) fn header(&mut self, response: &Response<'_>) {
        if let Some(id) = response.id.get() {
            self.id = Some(id.to_owned());
        }
        if let Some(model) = response.model.get() {
            self.model = Some(model.to_owned());
        }
        if let Some(usage) = response.usage.filter(|usage| usage.get() != "null") {
            self.usage = usage::normalise(usage.into(), false);
        }
        for (name, report) in [
            ("inputTransformations", response.input_transformations),
            ("moderation", response.moderation),
            ("promptCacheDiagnostics", response.prompt_cache_diagnostics),
            ("accessPrograms", response.access_programs),
        ] {
            reported(&mut self.metadata, name, report);
        }
    }

    /// Takes a piece of a text.
    pub(super) fn piece(
        &mut self,
        place: Place<'_>,
        field: Field,
        delta: &str,
        out: &mut ChunkSink,
    ) -> Result<()> {
        if delta.is_empty() {
            return Ok(());
        }
        let at = self.items.at(place, field)?;
        match self.items.list.get_mut(at) {
            Some(item) => item.write(field, place.part, delta, out),
            None => Ok(()),
        }
    }

    /// Takes a text that is complete.
    pub(super) fn full(
        &mut self,
        place: Place<'_>,
        field: Field,
        text: &str,
        out: &mut ChunkSink,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let at = self.items.said(place, |_, item| item.takes(field) && item.has(field, text));
        let at = at.map_or_else(|| self.items.at(place, field), Ok)?;
        match self.items.list.get_mut(at) {
            Some(item) => item.complete(field, place.part, text, out),
            None => Ok(()),
        }
    }

    /// Takes a part that is complete.
    pub(super) fn part(&mut self, place: Place<'_>, part: &Part<'_>, out: &mut ChunkSink) -> Result<()> {
        let field = match part.kind.get() {
            Some("summary_text") => Field::Summary,
            Some("reasoning_text") => Field::Thought,
            Some("refusal") => {
                return self.full(place, Field::Refusal, part.refusal.get().unwrap_or_default(), out);
            }
            Some("output_text" | "text") => Field::Text,
            // Others are in the item.
            _ => return Ok(()),
        };
        self.full(place, field, part.text.get().unwrap_or_default(), out)
    }

    /// Takes a piece of a call's arguments.
    pub(super) fn arguments(&mut self, place: Place<'_>, delta: &str, out: &mut ChunkSink) -> Result<()> {
        let at = self.items.at(place, Field::Arguments)?;
        self.call(at, ToolCallFragment::new().with_arguments(delta), out);
        Ok(())
    }

    /// Takes arguments that are complete.
    pub(super) fn full_arguments(
        &mut self,
        place: Place<'_>,
        arguments: &str,
        out: &mut ChunkSink,
    ) -> Result<()> {
        let at = self.items.said(place, |at, item| {
            item.is_call
                && self.items.begins(at, arguments)
                && (place.is_of(item) || self.items.says(at, item))
        });
        let at = at.map_or_else(|| self.items.at(place, Field::Arguments), Ok)?;
        self.complete_arguments(at, arguments, out);
        Ok(())
    }

    /// Takes an item that was begun.
    pub(super) fn begin(&mut self, place: Place<'_>, raw: &RawValue, out: &mut ChunkSink) -> Result<()> {
        let Some(wire) = object::<wire::Item<'_>>(raw.get()) else { return Ok(()) };
        let id = wire.id.get().or(place.id);
        let at =
            self.items.begun(place.index, id, &wire).map_or_else(|| self.items.open(place.index, id), Ok)?;
        self.name(at, &wire, out);
        Ok(())
    }

    /// Takes an item that is complete.
    pub(super) fn end(&mut self, place: Place<'_>, raw: &RawValue, out: &mut ChunkSink) -> Result<()> {
        let Some(wire) = object::<wire::Item<'_>>(raw.get()) else { return Ok(()) };
        let id = wire.id.get().or(place.id);
        let place = Place { id, ..place };
        if self.items.is_repeated(&wire, raw) {
            return Ok(());
        }
        let known = self.items.ended(place, &wire);
        if known.is_none() && self.items.is_said_again(&wire) {
            return Ok(());
        }
        let known = known.or_else(|| self.items.ended_somewhere(place, &wire));
        let at = known.map_or_else(|| self.items.open(place.index, id), Ok)?;
        self.complete(at, &wire, raw, out)
    }

    /// Takes the output of a response: what its events left out, or all of it.
    pub(super) fn output(&mut self, response: &Response<'_>, out: &mut ChunkSink) -> Result<()> {
        let Some(output) = response.output else { return Ok(()) };
        let output = RawList::of(output);
        if output.0.len() > MAX_ITEMS {
            return Err(too_many("items"));
        }
        let items: Vec<_> = output.0.into_iter().filter_map(|raw| Some((raw, object(raw.get())?))).collect();
        let known = self.items.identify(&items);
        for (index, ((raw, wire), known)) in (0_u64..).zip(items.iter().zip(known)) {
            let at = match known {
                Some(at) => at,
                None => self.items.open(None, wire.id.get())?,
            };
            // This is the order that counts.
            let Some(item) = self.items.list.get_mut(at) else { continue };
            item.index = Some(index);
            if item.done.is_none() {
                self.complete(at, wire, raw, out)?;
            }
        }
        Ok(())
    }

    /// Ends the answer, which its last event calls `ended`.
    pub(super) fn finish(&mut self, response: &Response<'_>, ended: &str, out: &mut ChunkSink) {
        // Some servers do not set the status before they send the last event.
        let status = response.status.get().filter(|status| !is_open(status)).unwrap_or(ended);
        let incomplete = response.incomplete_details.0.as_ref().and_then(|details| details.reason.get());
        let reason = match (status, incomplete) {
            (_, Some("max_output_tokens" | "max_tokens" | "length")) => FinishReason::Length,
            (_, Some("content_filter")) => FinishReason::ContentFilter,
            (_, Some(other)) => FinishReason::Other(other.to_owned()),
            ("incomplete", None) => FinishReason::Length,
            _ => FinishReason::Stop,
        };
        let raw = status.to_owned();
        let completion = self.completion(reason, Some(raw), false);
        out.done(completion);
    }

    /// The received part of an answer that was cut or failed.
    pub(super) fn partial(&mut self) -> Completion {
        self.completion(FinishReason::Stop, None, true)
    }

    fn completion(&mut self, reason: FinishReason, raw: Option<String>, cut: bool) -> Completion {
        let cut = cut || matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let calls = std::mem::take(&mut self.items.calls).finish();
        let mut calls: Vec<Option<AssembledCall>> = calls.into_iter().map(Some).collect();
        let mut items = std::mem::take(&mut self.items.list);
        items.sort_by_key(|item| item.index.unwrap_or(u64::MAX));
        let (mut parts, mut logprobs) = (Vec::new(), Vec::new());
        for item in items {
            let call = item.slot.and_then(|slot| calls.get_mut(slot)?.take());
            item.into_parts(call, cut, &self.reading, &mut parts, &mut logprobs);
        }
        let mut message = AssistantMessage::new(parts.into_iter().map(Some));
        message.metadata = std::mem::take(&mut self.metadata);
        if !logprobs.is_empty() {
            message.metadata = message.metadata.with(LOGPROBS, logprobs);
        }
        crate::response::citations::read(&mut message);
        let reason = match reason {
            // Calls of an answer that was cut off are no request to run them.
            FinishReason::Stop => FinishReason::Stop.for_message(message.has_tool_calls()),
            reason => reason,
        };
        let reason = match reason {
            FinishReason::Stop if message.refusal().is_some() => FinishReason::Refusal,
            reason => reason,
        };
        let mut completion = Completion::new(message, reason, std::mem::take(&mut self.usage));
        completion.raw_finish_reason = raw;
        completion.model = self.model.take();
        completion.response_id = self.id.take();
        completion.degradations = self.reading.degradations.clone();
        completion
    }

    /// Takes what an item says of itself as soon as it is begun.
    fn name(&mut self, at: usize, wire: &wire::Item<'_>, out: &mut ChunkSink) {
        self.items.last = at;
        let Some(item) = self.items.list.get_mut(at) else { return };
        if !wire.kind().is_empty() {
            wire.kind().clone_into(&mut item.kind);
            item.is_call = match wire.kind() {
                FUNCTION_CALL => true,
                CUSTOM_CALL => self.custom_calls,
                _ => false,
            };
        }
        if let Some(id) = wire.id.get() {
            item.id = Some(id.to_owned());
        }
        if !item.is_call {
            return;
        }
        // A later event that differs is no other call.
        let id = wire.call_id.get().filter(|_| item.called.id.is_none());
        let name = wire.name.get().filter(|_| item.called.name.is_none());
        item.called.id = id.map(str::to_owned).or_else(|| item.called.id.take());
        item.called.name = name.map(str::to_owned).or_else(|| item.called.name.take());
        if item.slot.is_none() || id.is_some() || name.is_some() {
            self.call(at, ToolCallFragment::new().with_id(id).with_name(name), out);
        }
    }

    fn complete(
        &mut self,
        at: usize,
        wire: &wire::Item<'_>,
        raw: &RawValue,
        out: &mut ChunkSink,
    ) -> Result<()> {
        self.name(at, wire, out);
        if self.items.list.get(at).is_some_and(|item| item.is_call) {
            self.complete_arguments(at, &wire.given(), out);
        }
        let Some(item) = self.items.list.get_mut(at) else { return Ok(()) };
        if matches!(wire.kind(), MESSAGE | REASONING | "") {
            item.take(wire, out)?;
        }
        for (known, given) in [(&mut item.called.id, &wire.call_id), (&mut item.called.name, &wire.name)] {
            *known = given.get().map(str::to_owned).or_else(|| known.take());
        }
        item.incomplete = wire.status.get() == Some("incomplete");
        item.done = Some(raw.to_owned());
        Ok(())
    }

    /// Hands a fragment of the call of an item to the assembler, which knows it by the item's position.
    fn call(&mut self, at: usize, fragment: ToolCallFragment<'_>, out: &mut ChunkSink) {
        let delta = self.items.calls.push(&fragment.with_index(at as u64));
        if let (Some(item), StreamChunk::ToolCallDelta { slot, .. }) = (self.items.list.get_mut(at), &delta) {
            item.slot = Some(*slot);
            if item.kind.is_empty() {
                FUNCTION_CALL.clone_into(&mut item.kind);
                item.is_call = true;
            }
        }
        out.push(delta);
    }

    /// Takes arguments that are complete: where their pieces are their beginning, the rest is handed out. Otherwise
    /// what was handed out cannot be taken back, but the whole is what counts (openai.md B.6).
    fn complete_arguments(&mut self, at: usize, arguments: &str, out: &mut ChunkSink) {
        if arguments.is_empty() {
            return;
        }
        let known = self.items.calls.arguments_of(at as u64).unwrap_or_default();
        match arguments.strip_prefix(known) {
            Some("") => {}
            Some(rest) => self.call(at, ToolCallFragment::new().with_arguments(rest), out),
            None => {
                if let Some(item) = self.items.list.get_mut(at) {
                    item.called.arguments = Some(arguments.to_owned());
                }
            }
        }
    }
}

/// True if a status says that the answer goes on.
pub(super) fn is_open(status: &str) -> bool {
    matches!(status, "queued" | "in_progress")
}
