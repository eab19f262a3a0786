//! One answer while it is read.

use attache_core::{
    AssembledCall, AssistantMessage, Completion, ErrorKind, FinishReason, ProviderError, StreamChunk,
    ToolCallAssembler, ToolCallFragment, Usage,
};
use attache_transport::lenient::List;
use attache_transport::{ChunkSink, Reading};
use serde_json::value::RawValue;

use super::output::{Field, Item};
use super::wire::{self, CUSTOM_CALL, FUNCTION_CALL, MESSAGE, Part, REASONING, Response, object};
use crate::usage;

/// The most items of an answer.
const MAX_ITEMS: usize = 4096;

/// Where a piece belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// The item's index. Some servers leave it out, others give every item the same.
    pub(super) index: Option<u64>,
    /// The item's id. Some servers change it on the way, others give every item the same.
    pub(super) id: Option<&'a str>,
    /// The part of its content, or of its summary.
    pub(super) part: u64,
}

impl Place<'_> {
    /// True if it is said to be in this item.
    fn is_of(&self, item: &Item) -> bool {
        self.has_id_of(item) || self.has_index_of(item)
    }

    fn has_id_of(&self, item: &Item) -> bool {
        self.id.is_some() && item.id.as_deref() == self.id
    }

    fn has_index_of(&self, item: &Item) -> bool {
        self.index.is_some() && item.index == self.index
    }
}

#[derive(Debug, Default)]
pub(super) struct Reply {
    reading: Reading,
    id: Option<String>,
    model: Option<String>,
    usage: Usage,
    items: Vec<Item>,
    calls: ToolCallAssembler,
    /// The item that was written to last.
    last: usize,
}

impl Reply {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, ..Self::default() }
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
            self.usage = usage::normalise(usage.get(), false);
        }
    }

    /// Takes a piece of a text.
    pub(super) fn piece(
        &mut self,
        place: Place<'_>,
        field: Field,
        delta: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        if delta.is_empty() {
            return Ok(());
        }
        let at = self.at(place, field)?;
        match self.items.get_mut(at) {
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
    ) -> Result<(), ProviderError> {
        if text.is_empty() {
            return Ok(());
        }
        let at = self.said(place, |_, item| item.takes(field) && item.has(field, text));
        let at = at.map_or_else(|| self.at(place, field), Ok)?;
        match self.items.get_mut(at) {
            Some(item) => item.complete(field, place.part, text, out),
            None => Ok(()),
        }
    }

    /// Takes a part that is complete.
    pub(super) fn part(
        &mut self,
        place: Place<'_>,
        part: &Part<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
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
    pub(super) fn arguments(
        &mut self,
        place: Place<'_>,
        delta: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let at = self.at(place, Field::Arguments)?;
        self.call(at, ToolCallFragment::new().with_arguments(delta), out);
        Ok(())
    }

    /// Takes arguments that are complete.
    pub(super) fn full_arguments(
        &mut self,
        place: Place<'_>,
        arguments: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let at = self.said(place, |at, item| {
            item.is_call() && self.begins(at, arguments) && (place.is_of(item) || self.says(at, item))
        });
        let at = at.map_or_else(|| self.at(place, Field::Arguments), Ok)?;
        self.complete_arguments(at, arguments, out);
        Ok(())
    }

    /// Takes an item that was begun.
    pub(super) fn begin(
        &mut self,
        place: Place<'_>,
        raw: &RawValue,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let Some(wire) = object::<wire::Item<'_>>(raw.get()) else { return Ok(()) };
        let id = wire.id.get().or(place.id);
        let at = self.begun(place.index, id, &wire).map_or_else(|| self.open(place.index, id), Ok)?;
        self.name(at, &wire, out);
        Ok(())
    }

    /// Takes an item that is complete.
    pub(super) fn end(
        &mut self,
        place: Place<'_>,
        raw: &RawValue,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let Some(wire) = object::<wire::Item<'_>>(raw.get()) else { return Ok(()) };
        let id = wire.id.get().or(place.id);
        let place = Place { id, ..place };
        if self.is_repeated(&wire, raw) {
            return Ok(());
        }
        let known = self.ended(place, &wire);
        if known.is_none() && self.is_said_again(&wire) {
            return Ok(());
        }
        let known = known.or_else(|| self.ended_somewhere(place, &wire));
        let at = known.map_or_else(|| self.open(place.index, id), Ok)?;
        self.complete(at, &wire, raw, out)
    }

    /// Takes the output of a response: what its events left out, or all of it.
    pub(super) fn output(
        &mut self,
        response: &Response<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let Some(output) = response.output else { return Ok(()) };
        let output: List<&RawValue> = serde_json::from_str(output.get()).unwrap_or_default();
        if output.0.len() > MAX_ITEMS {
            return Err(too_many("items"));
        }
        let items: Vec<_> = output.0.into_iter().filter_map(|raw| Some((raw, object(raw.get())?))).collect();
        let known = self.identify(&items);
        for (index, ((raw, wire), known)) in (0_u64..).zip(items.iter().zip(known)) {
            let at = match known {
                Some(at) => at,
                None => self.open(None, wire.id.get())?,
            };
            // This is the order that counts.
            let Some(item) = self.items.get_mut(at) else { continue };
            item.index = Some(index);
            if item.done.is_none() {
                self.complete(at, wire, raw, out)?;
            }
        }
        Ok(())
    }

    /// Which of the items of the final output are known: those of the same id, those that read the same as far as they
    /// came or, since ids may differ, the next of the same kind.
    fn identify(&self, items: &[(&RawValue, wire::Item<'_>)]) -> Vec<Option<usize>> {
        type Sign<'s> = &'s dyn Fn(usize, &Item, &wire::Item<'_>) -> bool;
        let mut known = vec![None; items.len()];
        let mut taken = vec![false; self.items.len()];
        let mut find = |sign: Sign<'_>| {
            for (slot, (_, wire)) in known.iter_mut().zip(items).filter(|(slot, _)| slot.is_none()) {
                let mut all = self.items.iter().zip(&mut taken).enumerate();
                if let Some((at, (_, taken))) =
                    all.find(|(at, (item, taken))| !**taken && sign(*at, item, wire))
                {
                    *taken = true;
                    *slot = Some(at);
                }
            }
        };
        find(&|at, item, wire| item.is_identified_by(wire) && self.fits(at, item, wire));
        find(&|_, item, wire| item.is_identified_by(wire));
        find(&|at, item, wire| self.says(at, item) && self.fits(at, item, wire));
        find(&|_, item, wire| item.may_be(wire.kind()));
        known
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

    /// What has come of an answer that was cut or failed.
    pub(super) fn partial(&mut self) -> Completion {
        self.completion(FinishReason::Stop, None, true)
    }

    fn completion(&mut self, reason: FinishReason, raw: Option<String>, cut: bool) -> Completion {
        let cut = cut || matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let calls = std::mem::take(&mut self.calls).finish();
        let mut calls: Vec<Option<AssembledCall>> = calls.into_iter().map(Some).collect();
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_key(|item| item.index.unwrap_or(u64::MAX));
        let mut parts = Vec::new();
        for item in items {
            let call = item.slot.and_then(|slot| calls.get_mut(slot)?.take());
            item.into_parts(call, cut, &self.reading, &mut parts);
        }
        let message = AssistantMessage::new(parts.into_iter().map(Some));
        let reason = match reason {
            // Calls of an answer that was cut off are no request to run them.
            FinishReason::Stop => FinishReason::Stop.for_message(message.has_tool_calls()),
            reason => reason,
        };
        let reason = match reason {
            FinishReason::Stop if message.refusal().is_some() => FinishReason::Refusal,
            reason => reason,
        };
        let mut completion = Completion::new(message, reason, self.usage.clone());
        completion.raw_finish_reason = raw;
        completion.model = self.model.clone();
        completion.response_id = self.id.clone();
        completion.degradations = self.reading.degradations.clone();
        completion
    }

    /// The item of a piece.
    fn at(&mut self, place: Place<'_>, field: Field) -> Result<usize, ProviderError> {
        // Nearly always the last one.
        if let Some(item) = self.items.get(self.last)
            && place.index.is_some()
            && item.index == place.index
            && (place.id.is_none() || item.id.as_deref() == place.id)
            && item.takes(field)
        {
            return Ok(self.last);
        }
        let known = self.written(place, field);
        let at = known.map_or_else(|| self.open(place.index, place.id), Ok)?;
        self.last = at;
        Ok(at)
    }

    /// The item that a piece may be of, by the most reliable sign first.
    fn written(&self, place: Place<'_>, field: Field) -> Option<usize> {
        let find = |sign: &dyn Fn(&Item) -> bool| {
            self.items.iter().rposition(|item| item.takes(field) && sign(item))
        };
        let by_id = |item: &Item| place.has_id_of(item);
        let by_index = |item: &Item| place.has_index_of(item);
        find(&|item| by_id(item) && by_index(item))
            .or_else(|| find(&|item| by_id(item) && item.done.is_none()))
            .or_else(|| find(&by_index))
            // A piece without an index, of an id that is unknown: that of an item which was begun was changed.
            .or_else(|| {
                let is_open = |item: &Item| {
                    item.done.is_none() && (place.id.is_none() || !item.kind.is_empty() || item.id.is_none())
                };
                if place.index.is_none() { find(&is_open) } else { None }
            })
    }

    /// The item that is begun now, where pieces opened it before or it is begun once more.
    fn begun(&self, index: Option<u64>, id: Option<&str>, wire: &wire::Item<'_>) -> Option<usize> {
        let call = wire.call_id.get();
        self.items.iter().rposition(|item| {
            let same_id = item.id.is_none() || id.is_none() || item.id.as_deref() == id;
            let opened = item.kind.is_empty() && item.may_be(wire.kind()) && item.index == index && same_id;
            opened || item.done.is_none() && call.is_some() && item.called.id.as_deref() == call
        })
    }

    /// The item of something that is whole now, among those that `reads` finds it in, by the most reliable sign first.
    /// Indexes of such events may differ from those of the pieces.
    fn said(&self, place: Place<'_>, reads: impl Fn(usize, &Item) -> bool) -> Option<usize> {
        let find = |sign: &dyn Fn(&Item) -> bool| {
            let mut items = self.items.iter().enumerate().rev();
            items.find(|(at, item)| sign(item) && reads(*at, item)).map(|(at, _)| at)
        };
        let by_id = |item: &Item| place.has_id_of(item);
        let by_index = |item: &Item| place.has_index_of(item);
        find(&|item| by_id(item) && by_index(item))
            .or_else(|| find(&by_id))
            .or_else(|| find(&by_index))
            .or_else(|| find(&|_| true))
    }

    /// The item that is complete now, where it reads the same as far as it came.
    fn ended(&self, place: Place<'_>, wire: &wire::Item<'_>) -> Option<usize> {
        self.said(place, |at, item| {
            item.done.is_none()
                && (item.is_identified_by(wire) || place.is_of(item) || self.says(at, item))
                && self.fits(at, item, wire)
        })
    }

    /// The item that is complete now by its id or index, whatever it says.
    fn ended_somewhere(&self, place: Place<'_>, wire: &wire::Item<'_>) -> Option<usize> {
        let is_open = |item: &Item| item.done.is_none() && item.may_be(wire.kind());
        let find =
            |sign: &dyn Fn(&Item) -> bool| self.items.iter().rposition(|item| is_open(item) && sign(item));
        let by_id =
            |item: &Item| item.is_identified_by(wire) || place.id.is_some() && item.id.as_deref() == place.id;
        let by_index = |item: &Item| place.index.is_some() && item.index == place.index;
        find(&|item| by_id(item) && by_index(item))
            .or_else(|| find(&by_id))
            .or_else(|| find(&by_index))
            .or_else(|| if place.index.is_none() { find(&|_| true) } else { None })
    }

    /// True if an item that is complete comes once more as it was.
    fn is_repeated(&self, wire: &wire::Item<'_>, raw: &RawValue) -> bool {
        let same = |item: &Item| item.done.as_deref().is_some_and(|done| done.get() == raw.get());
        wire.id.get().or(wire.call_id.get()).is_some() && self.items.iter().any(same)
    }

    /// The same in other words.
    fn is_said_again(&self, wire: &wire::Item<'_>) -> bool {
        self.items.iter().enumerate().any(|(at, item)| {
            item.done.is_some()
                && item.is_identified_by(wire)
                && self.says(at, item)
                && self.fits(at, item, wire)
        })
    }

    /// True if the pieces of an item are in a whole one.
    fn fits(&self, at: usize, item: &Item, wire: &wire::Item<'_>) -> bool {
        let same =
            |known: Option<&str>, given: Option<&str>| known.is_none() || given.is_none() || known == given;
        item.may_be(wire.kind())
            && if item.is_call() {
                same(item.called.id.as_deref(), wire.call_id.get())
                    && same(item.called.name.as_deref(), wire.name.get())
                    && self.begins(at, &wire.given())
            } else {
                item.fits(wire)
            }
    }

    /// True if anything came of an item that tells it from others.
    fn says(&self, at: usize, item: &Item) -> bool {
        item.has_texts()
            || item.called.id.is_some()
            || self.calls.arguments_of(at as u64).is_some_and(|own| !own.is_empty())
    }

    /// True if the arguments of a call so far are the beginning of `whole`.
    fn begins(&self, at: usize, whole: &str) -> bool {
        whole.starts_with(self.calls.arguments_of(at as u64).unwrap_or_default())
    }

    fn open(&mut self, index: Option<u64>, id: Option<&str>) -> Result<usize, ProviderError> {
        if self.items.len() >= MAX_ITEMS {
            return Err(too_many("items"));
        }
        self.items.push(Item::new(index, id));
        Ok(self.items.len() - 1)
    }

    /// Takes what an item says of itself as soon as it is begun.
    fn name(&mut self, at: usize, wire: &wire::Item<'_>, out: &mut ChunkSink) {
        self.last = at;
        let Some(item) = self.items.get_mut(at) else { return };
        if !wire.kind().is_empty() {
            wire.kind().clone_into(&mut item.kind);
        }
        if let Some(id) = wire.id.get() {
            item.id = Some(id.to_owned());
        }
        if !item.is_call() {
            return;
        }
        // What a later event says otherwise is no other call.
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
    ) -> Result<(), ProviderError> {
        self.name(at, wire, out);
        if matches!(wire.kind(), FUNCTION_CALL | CUSTOM_CALL) {
            self.complete_arguments(at, &wire.given(), out);
        }
        let Some(item) = self.items.get_mut(at) else { return Ok(()) };
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
        let delta = self.calls.push(&fragment.with_index(at as u64));
        if let (Some(item), StreamChunk::ToolCallDelta { slot, .. }) = (self.items.get_mut(at), &delta) {
            item.slot = Some(*slot);
            if item.kind.is_empty() {
                FUNCTION_CALL.clone_into(&mut item.kind);
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
        let known = self.calls.arguments_of(at as u64).unwrap_or_default();
        match arguments.strip_prefix(known) {
            Some("") => {}
            Some(rest) => self.call(at, ToolCallFragment::new().with_arguments(rest), out),
            None => {
                if let Some(item) = self.items.get_mut(at) {
                    item.called.arguments = Some(arguments.to_owned());
                }
            }
        }
    }
}

impl Item {
    /// True if both have the same id, or are the same call.
    fn is_identified_by(&self, wire: &wire::Item<'_>) -> bool {
        let same = |known: &Option<String>, given: Option<&str>| given.is_some() && known.as_deref() == given;
        self.may_be(wire.kind())
            && (same(&self.id, wire.id.get()) || same(&self.called.id, wire.call_id.get()))
    }
}

/// True if a status says that the answer goes on.
pub(super) fn is_open(status: &str) -> bool {
    matches!(status, "queued" | "in_progress")
}

pub(super) fn too_many(what: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Malformed, format!("the reply has too many {what}"))
}
