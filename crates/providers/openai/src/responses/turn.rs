//! One answer while it is read.

use std::sync::Arc;

use attache_core::{
    Arguments, AssembledCall, AssistantMessage, AssistantPart, Completion, Degradation, ErrorKind,
    FinishReason, OpaquePart, ProviderError, ReasoningPart, ReplayData, TextPart, ToolCall,
    ToolCallAssembler, ToolCallFragment, ToolSet, Usage,
};
use attache_transport::ChunkSink;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::wire::{Item as WireItem, Part, Response, object};
use crate::lenient::{List, Object};
use crate::usage;

/// The most items of an answer.
const MAX_ITEMS: usize = 4096;
/// The most parts of an item.
const MAX_PARTS: usize = 1024;

/// What an answer is read with.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// The profile, and the model that was asked: what goes back is tagged with them.
    pub(super) family: Arc<str>,
    pub(super) model: Arc<str>,
    /// They map wire names back.
    pub(super) tools: Arc<ToolSet>,
    pub(super) degradations: Vec<Degradation>,
}

/// Where a piece belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// The item's index; some servers leave it out.
    pub(super) index: Option<u64>,
    /// The item's id; some servers change it on the way.
    pub(super) id: Option<&'a str>,
    /// The part of its content, or of its summary.
    pub(super) part: u64,
}

/// What a piece is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Text,
    Refusal,
    /// A summary of reasoning.
    Summary,
    /// Reasoning itself.
    Thought,
}

impl Field {
    fn is_reasoning(self) -> bool {
        matches!(self, Self::Summary | Self::Thought)
    }
}

#[derive(Debug)]
pub(super) struct Turn {
    reading: Reading,
    id: Option<String>,
    model: Option<String>,
    usage: Usage,
    items: Vec<Item>,
    calls: ToolCallAssembler,
    /// The item that was written to last.
    last: usize,
}

#[derive(Debug, Default)]
struct Item {
    index: Option<u64>,
    id: Option<String>,
    kind: String,
    pieces: Vec<Written>,
    is_call: bool,
    incomplete: bool,
    /// The whole item, once it is known.
    done: Option<Box<RawValue>>,
    /// The annotations of its texts, by part.
    annotations: Vec<(u64, Box<RawValue>)>,
}

/// A text of an item.
#[derive(Debug)]
struct Written {
    field: Field,
    part: u64,
    text: String,
}

impl Turn {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            reading,
            id: None,
            model: None,
            usage: Usage::default(),
            items: Vec::new(),
            calls: ToolCallAssembler::new(),
            last: 0,
        }
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
        let at = self.at(place)?;
        let Some(item) = self.items.get_mut(at) else { return Ok(()) };
        item.write(field, place.part, delta, out)
    }

    /// Takes a text that is complete: what its pieces left out.
    pub(super) fn full(
        &mut self,
        place: Place<'_>,
        field: Field,
        text: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let at = self.at(place)?;
        let Some(item) = self.items.get_mut(at) else { return Ok(()) };
        item.complete(field, place.part, text, out)
    }

    /// Takes a piece of a call's arguments.
    pub(super) fn arguments(
        &mut self,
        place: Place<'_>,
        delta: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let at = self.at(place)?;
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
        let at = self.at(place)?;
        self.rest_of_arguments(at, arguments, out);
        Ok(())
    }

    /// Takes an item that was begun or, if `done`, is complete.
    pub(super) fn item(
        &mut self,
        place: Place<'_>,
        raw: &RawValue,
        done: bool,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let Some(wire) = object::<WireItem<'_>>(raw.get()) else { return Ok(()) };
        let at = self.at_item(place.index, wire.id.get().or(place.id), done)?;
        self.last = at;
        let Some(item) = self.items.get_mut(at) else { return Ok(()) };
        if let Some(kind) = wire.kind.get() {
            kind.clone_into(&mut item.kind);
        }
        if item.id.is_none() || done {
            item.id = wire.id.get().map(str::to_owned).or_else(|| item.id.take());
        }
        match item.kind.as_str() {
            "function_call" => {
                let opening = ToolCallFragment::new().with_id(wire.call_id.get()).with_name(wire.name.get());
                item.is_call = true;
                self.call(at, opening, out);
                let arguments = wire.arguments.map(|raw| given(raw.get())).unwrap_or_default();
                if done {
                    self.rest_of_arguments(at, &arguments, out);
                }
            }
            "message" | "reasoning" if done => item.take(&wire, out)?,
            _ => {}
        }
        if done && let Some(item) = self.items.get_mut(at) {
            item.incomplete = wire.status.get() == Some("incomplete");
            item.done = Some(raw.to_owned());
        }
        Ok(())
    }

    /// Takes the output of a response: what its events left out, or all of it.
    pub(super) fn output(
        &mut self,
        response: &Response<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let Some(output) = response.output else { return Ok(()) };
        let items: List<&RawValue> = serde_json::from_str(output.get()).unwrap_or_default();
        if items.0.len() > MAX_ITEMS {
            return Err(too_many("items"));
        }
        for (index, raw) in (0_u64..).zip(items.0) {
            let id = object::<WireItem<'_>>(raw.get()).and_then(|wire| wire.id.get().map(str::to_owned));
            let known = self.known(Some(index), id.as_deref()).and_then(|at| self.items.get_mut(at));
            let is_done = known.is_some_and(|item| {
                item.index = Some(index);
                item.done.is_some()
            });
            if !is_done {
                self.item(Place { index: Some(index), id: None, part: 0 }, raw, true, out)?;
            }
        }
        Ok(())
    }

    /// Ends the answer.
    pub(super) fn finish(&mut self, response: &Response<'_>, out: &mut ChunkSink) {
        let status = response.status.get().unwrap_or("completed");
        let incomplete = response.incomplete_details.0.as_ref().and_then(|details| details.reason.get());
        let reason = match (status, incomplete) {
            (_, Some("max_output_tokens" | "max_tokens")) => FinishReason::Length,
            (_, Some("content_filter")) => FinishReason::ContentFilter,
            (_, Some(other)) => FinishReason::Other(other.to_owned()),
            ("incomplete", None) => FinishReason::Length,
            _ => FinishReason::Stop,
        };
        let completion = self.completion(reason, Some(status.to_owned()), false);
        out.done(completion);
    }

    /// What has come of an answer that was cut or failed.
    pub(super) fn partial(&mut self) -> Completion {
        self.completion(FinishReason::Stop, None, true)
    }

    fn completion(&mut self, reason: FinishReason, raw: Option<String>, cut: bool) -> Completion {
        let cut = cut || matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
        let mut calls: Vec<Option<AssembledCall>> =
            std::mem::take(&mut self.calls).finish().into_iter().map(Some).collect();
        let mut items: Vec<(usize, Item)> = std::mem::take(&mut self.items).into_iter().enumerate().collect();
        // The slots of calls are in the order in which their items appeared.
        let slots: Vec<usize> = items.iter().filter(|(_, item)| item.is_call).map(|(at, _)| *at).collect();
        items.sort_by_key(|(at, item)| (item.index.unwrap_or(u64::MAX), *at));
        let mut parts = Vec::new();
        for (at, item) in items {
            let slot = slots.iter().position(|slot| *slot == at);
            let call = slot.and_then(|slot| calls.get_mut(slot)?.take());
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

    /// The item of a piece: by its index, else by its id, else the one that was written to last.
    fn at(&mut self, place: Place<'_>) -> Result<usize, ProviderError> {
        // Nearly always the last one.
        if let Some(item) = self.items.get(self.last)
            && item.index.is_some()
            && item.index == place.index
        {
            return Ok(self.last);
        }
        let at = match (self.known(place.index, place.id), self.items.is_empty()) {
            (Some(at), _) => at,
            (None, false) if place.index.is_none() && place.id.is_none() => self.last,
            _ => self.open(place.index, place.id)?,
        };
        self.last = at;
        Ok(at)
    }

    /// The place of an item: a known one that is not complete, or a new one.
    fn at_item(&mut self, index: Option<u64>, id: Option<&str>, done: bool) -> Result<usize, ProviderError> {
        let known = self.known(index, id);
        match known.filter(|at| self.items.get(*at).is_some_and(|item| item.done.is_none())) {
            Some(at) => Ok(at),
            None if done && index.is_none() && id.is_none() && !self.items.is_empty() => Ok(self.last),
            None => self.open(index, id),
        }
    }

    /// The item of an index, or of an id where no index was told. Ids of one item may differ, indices do not.
    fn known(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let by_index = index.and_then(|_| self.items.iter().rposition(|item| item.index == index));
        by_index.or_else(|| {
            let is_it = |item: &Item| item.id.as_deref() == id && (index.is_none() || item.index.is_none());
            id.and_then(|_| self.items.iter().rposition(is_it))
        })
    }

    fn open(&mut self, index: Option<u64>, id: Option<&str>) -> Result<usize, ProviderError> {
        if self.items.len() >= MAX_ITEMS {
            return Err(too_many("items"));
        }
        self.items.push(Item { index, id: id.map(str::to_owned), ..Item::default() });
        Ok(self.items.len() - 1)
    }

    /// Hands a fragment of the call of an item to the assembler, which knows it by the item's position.
    fn call(&mut self, at: usize, fragment: ToolCallFragment<'_>, out: &mut ChunkSink) {
        if let Some(item) = self.items.get_mut(at) {
            item.is_call = true;
        }
        out.push(self.calls.push(&fragment.with_index(at as u64)));
    }

    /// What the pieces left out of arguments that are complete now.
    fn rest_of_arguments(&mut self, at: usize, arguments: &str, out: &mut ChunkSink) {
        let known = self.calls.arguments_of(at as u64).unwrap_or_default();
        let Some(rest) = arguments.strip_prefix(known).filter(|rest| !rest.is_empty()) else { return };
        let rest = rest.to_owned();
        self.call(at, ToolCallFragment::new().with_arguments(rest.as_str()), out);
    }
}

impl Item {
    fn write(
        &mut self,
        field: Field,
        part: u64,
        delta: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let at = match self.pieces.iter().rposition(|piece| piece.field == field && piece.part == part) {
            Some(at) => at,
            None if self.pieces.len() >= MAX_PARTS => return Err(too_many("parts")),
            None => {
                self.pieces.push(Written { field, part, text: String::new() });
                self.pieces.len() - 1
            }
        };
        let Some(piece) = self.pieces.get_mut(at) else { return Ok(()) };
        let was_blank = piece.text.trim_start().is_empty();
        piece.text.push_str(delta);
        match field {
            // White space alone is no text of the message, so it waits for what it stands before.
            Field::Text if was_blank && piece.text.trim_start().is_empty() => {}
            Field::Text if was_blank => out.content(piece.text.as_str()),
            Field::Text => out.content(delta),
            Field::Summary | Field::Thought => out.thinking(delta),
            Field::Refusal => {}
        }
        Ok(())
    }

    /// A text that is complete: where its pieces are its beginning, the rest is written; otherwise what was handed
    /// out stays.
    fn complete(
        &mut self,
        field: Field,
        part: u64,
        text: &str,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let known = self.pieces.iter().find(|piece| piece.field == field && piece.part == part);
        let known = known.map_or("", |piece| piece.text.as_str());
        let rest = text.strip_prefix(known).unwrap_or_default().to_owned();
        if rest.is_empty() { Ok(()) } else { self.write(field, part, &rest, out) }
    }

    /// What the events left out of a message or of reasoning that is complete now.
    fn take(&mut self, wire: &WireItem<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        let is_reasoning = self.kind == "reasoning";
        let parts = |list: &List<Object<Part<'_>>>| list.0.len();
        if parts(&wire.content).saturating_add(parts(&wire.summary)) > MAX_PARTS {
            return Err(too_many("parts"));
        }
        for (part, summary) in (0_u64..).zip(&wire.summary.0) {
            if let Some(text) = summary.0.as_ref().and_then(|summary| summary.text.get()) {
                self.complete(Field::Summary, part, text, out)?;
            }
        }
        for (part, content) in (0_u64..).zip(&wire.content.0) {
            let Some(content) = &content.0 else { continue };
            if let Some(refusal) = content.refusal.get() {
                self.complete(Field::Refusal, part, refusal, out)?;
            }
            let field = if is_reasoning || content.kind.get() == Some("reasoning_text") {
                Field::Thought
            } else {
                Field::Text
            };
            if let Some(text) = content.text.get() {
                self.complete(field, part, text, out)?;
            }
            if let Some(annotations) = content.annotations.filter(|list| !matches!(list.get(), "[]" | "null"))
            {
                self.annotations.push((part, annotations.to_owned()));
            }
        }
        Ok(())
    }

    fn into_parts(
        self,
        call: Option<AssembledCall>,
        cut: bool,
        reading: &Reading,
        parts: &mut Vec<AssistantPart>,
    ) {
        let replay = |json: Box<RawValue>| {
            ReplayData::new(Arc::clone(&reading.family), Arc::clone(&reading.model), json)
        };
        if let Some(call) = call {
            let complete = call.arguments.json().is_ok() && !call.arguments.raw().trim().is_empty();
            let arguments = if (cut || self.incomplete) && !complete {
                Arguments::truncated(call.arguments.raw())
            } else {
                call.arguments
            };
            let name = reading.tools.internal_name(&call.name).to_owned();
            let call = ToolCall::new(name, arguments).with_id(call.id).with_provider_id(call.provider_id);
            parts.push(AssistantPart::ToolCall(call.with_replay(self.done.map(replay))));
            return;
        }
        match self.kind.as_str() {
            "reasoning" => self.reasoning(replay, parts),
            "message" | "" => self.texts(replay, parts),
            _ => {
                // Whatever else the server did stands where it stood.
                if let Some(json) = self.done {
                    parts.push(AssistantPart::Opaque(OpaquePart::new(self.kind, replay(json))));
                }
            }
        }
    }

    /// A part for each of its texts; what goes back stands with the last.
    fn reasoning(self, replay: impl Fn(Box<RawValue>) -> ReplayData, parts: &mut Vec<AssistantPart>) {
        let mut pieces = self.pieces;
        let last = pieces.pop().map(|piece| piece.text).unwrap_or_default();
        parts
            .extend(pieces.into_iter().map(|piece| AssistantPart::Reasoning(ReasoningPart::new(piece.text))));
        let last = ReasoningPart::new(last).with_replay(self.done.map(replay));
        parts.push(AssistantPart::Reasoning(last));
    }

    fn texts(self, replay: impl Fn(Box<RawValue>) -> ReplayData, parts: &mut Vec<AssistantPart>) {
        let shell = self.done.as_deref().and_then(|done| shell(done.get()));
        let mut pieces = self.pieces;
        pieces.sort_by_key(|piece| piece.part);
        for piece in pieces {
            if piece.field.is_reasoning() {
                parts.push(AssistantPart::Reasoning(ReasoningPart::new(piece.text)));
                continue;
            }
            let Some(text) = TextPart::new(piece.text) else { continue };
            let annotations = self.annotations.iter().find(|(part, _)| *part == piece.part);
            let json = shell.as_ref().and_then(|shell| {
                let mut shell = shell.clone();
                if let Some((_, list)) = annotations {
                    shell.insert("annotations".to_owned(), serde_json::from_str(list.get()).ok()?);
                }
                serde_json::value::to_raw_value(&shell).ok()
            });
            let text = if piece.field == Field::Refusal { text.as_refusal() } else { text };
            parts.push(AssistantPart::Text(text.with_replay(json.map(&replay))));
        }
    }
}

/// A message without its content: what goes back beside its texts.
fn shell(json: &str) -> Option<Map<String, Value>> {
    let mut shell: Map<String, Value> = serde_json::from_str(json).ok()?;
    shell.remove("content");
    Some(shell)
}

/// Arguments as text, also where a server sends an object.
fn given(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) => text,
        Err(_) if json == "null" => String::new(),
        Err(_) => json.to_owned(),
    }
}

fn too_many(what: &str) -> ProviderError {
    ProviderError::new(ErrorKind::Malformed, format!("the reply has too many {what}"))
}
