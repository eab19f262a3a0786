//! OpenAI's Responses: the events of a stream, and the whole answer. One fold makes both, since the last event of a stream
//! holds the whole answer.

use std::sync::Arc;

use attache_core::{Citation, Usage};
use serde_json::Value;

use super::annotation::plain;
use super::answer::{Answer, BREAK, End, PauseForm, Piece};
use super::response_item::{Item, annotate, part, thinking};
use super::{Shown, Tell, usage};
use crate::fault::Fault;
use crate::json::{Object, write};
use crate::live::{Entry, View};

/// The things that every copy of the response says alike.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) previous: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) is_background: bool,
    /// The members of the request that the response repeats.
    pub(crate) echo: serde_json::Map<String, Value>,
}

/// The members of a request that a response repeats, with what stands where the request has none.
pub(crate) const ECHO: [(&str, &str); 13] = [
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("reasoning", "{\"effort\":null,\"summary\":null}"),
    ("service_tier", "\"default\""),
    ("store", "true"),
    ("temperature", "null"),
    ("text", "{\"format\":{\"type\":\"text\"}}"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("top_p", "null"),
    ("truncation", "\"disabled\""),
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    InProgress,
    Ended(End),
    Cancelled,
    Failed(&'static str, String),
}

/// A response while it is told.
pub(crate) struct Response {
    head: Head,
    shown: Shown,
    answer: Answer,
    items: Vec<Item>,
    /// True if the last item is still written.
    is_open: bool,
    /// The number of the next event.
    sequence: u64,
    began: bool,
    state: State,
    usage: Option<Usage>,
    failure: Option<Fault>,
    /// The events up to that number are not told.
    after: Option<u64>,
    /// True while none is told.
    is_silent: bool,
}

impl Response {
    pub(crate) fn new(head: Head, shown: Shown, pause_form: PauseForm) -> Self {
        Self {
            head,
            shown,
            answer: Answer::telling_pauses(pause_form),
            items: Vec::new(),
            is_open: false,
            sequence: 0,
            began: false,
            state: State::InProgress,
            usage: None,
            failure: None,
            after: None,
            is_silent: false,
        }
    }

    /// Tells the words of a step once it is over, for an answer that is told as a whole.
    pub(crate) fn whole(self) -> Self {
        Self { answer: self.answer.whole(true), ..self }
    }

    /// Tells only the events behind that number.
    pub(crate) fn after(mut self, sequence: Option<u64>) -> Self {
        self.after = sequence;
        self
    }

    /// The body, or the failure.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Fault> {
        match self.failure {
            Some(fault) if fault.code() != "cancelled" => Err(fault),
            _ => Ok(self.body()),
        }
    }

    /// The response as it is.
    pub(crate) fn body(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        self.write(&mut out);
        out
    }

    /// The number that the first items have beside their kind: a response that goes on with a run has others.
    fn item_id(&self, at: usize) -> String {
        let word = self.items.get(at).map_or("msg", Item::word);
        let id = self.head.id.strip_prefix("resp_").unwrap_or(&self.head.id);
        format!("{word}_{id}_{at}")
    }

    fn write(&self, out: &mut Vec<u8>) {
        let status = match &self.state {
            State::InProgress => "in_progress",
            State::Ended(End::Length | End::Filter) => "incomplete",
            State::Ended(_) => "completed",
            State::Cancelled => "cancelled",
            State::Failed(..) => "failed",
        };
        let incomplete = match &self.state {
            State::Ended(End::Length) => Some("max_output_tokens"),
            State::Ended(End::Filter) => Some("content_filter"),
            _ => None,
        };
        let head = &self.head;
        let mut object = Object::begin(out)
            .with("id", &head.id)
            .with("object", "response")
            .with("created_at", &head.created)
            .with("status", status)
            .with("background", &head.is_background)
            .by("error", |out| match &self.state {
                State::Failed(code, message) => {
                    Object::begin(out).with("code", code).text("message", message).end();
                }
                _ => out.extend_from_slice(b"null"),
            })
            .by("incomplete_details", |out| match incomplete {
                Some(reason) => Object::begin(out).text("reason", reason).end(),
                None => out.extend_from_slice(b"null"),
            })
            .with("model", &head.model)
            .with("previous_response_id", &head.previous)
            .by("conversation", |out| match &head.conversation {
                Some(id) => Object::begin(out).with("id", id).end(),
                None => out.extend_from_slice(b"null"),
            })
            .by("output", |out| {
                out.push(b'[');
                for at in 0..self.items.len() {
                    if at > 0 {
                        out.push(b',');
                    }
                    self.item(at, false, out);
                }
                out.push(b']');
            });
        for (name, default) in ECHO {
            object = object.by(name, |out| match head.echo.get(name) {
                Some(value) => write(out, value),
                None => out.extend_from_slice(default.as_bytes()),
            });
        }
        object
            .by("usage", |out| match &self.usage {
                Some(tokens) => usage::responses(tokens, out),
                None => out.extend_from_slice(b"null"),
            })
            .end();
    }

    /// Writes an item, as it begins or as it is.
    fn item(&self, at: usize, begins: bool, out: &mut Vec<u8>) {
        let is_open = self.is_open && at + 1 == self.items.len();
        let status = if begins || is_open { "in_progress" } else { "completed" };
        if let Some(item) = self.items.get(at) {
            item.write(&self.item_id(at), status, begins, out);
        }
    }

    /// Writes an event.
    fn event(
        &mut self,
        kind: &str,
        out: &mut Vec<u8>,
        more: impl for<'o> FnOnce(&Self, Object<'o>) -> Object<'o>,
    ) {
        let sequence = self.sequence;
        self.sequence += 1;
        if self.is_silent || self.after.is_some_and(|after| sequence <= after) {
            return;
        }
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        let object = Object::begin(out).with("type", kind).with("sequence_number", &sequence);
        more(self, object).end();
        out.extend_from_slice(b"\n\n");
    }

    fn whole_event(&mut self, kind: &str, out: &mut Vec<u8>) {
        self.event(kind, out, |response, object| object.by("response", |out| response.write(out)));
    }

    /// The last event, which has all. It is told in any case: the numbers that the client has seen may be those of another
    /// drive of the run, which said it in more pieces.
    fn last_event(&mut self, kind: &str, out: &mut Vec<u8>) {
        self.is_silent = false;
        self.sequence = self.sequence.max(self.after.map_or(0, |after| after.saturating_add(1)));
        self.whole_event(kind, out);
    }

    /// Writes an event of the last item.
    fn item_event(
        &mut self,
        kind: &str,
        out: &mut Vec<u8>,
        more: impl for<'o> FnOnce(&Self, Object<'o>) -> Object<'o>,
    ) {
        self.event(kind, out, |response, object| {
            let at = response.items.len().saturating_sub(1);
            more(response, object.with("item_id", &response.item_id(at)).with("output_index", &at))
        });
    }

    fn open(&mut self, item: Item, out: &mut Vec<u8>) {
        self.close(out);
        self.items.push(item);
        self.is_open = true;
        let at = self.items.len() - 1;
        self.event("response.output_item.added", out, |response, object| {
            object.with("output_index", &at).by("item", |out| response.item(at, true, out))
        });
        match self.items.last() {
            Some(Item::Thinking(_)) => self.item_event("response.content_part.added", out, |_, object| {
                object.with("content_index", &0).by("part", |out| thinking("", out))
            }),
            Some(Item::Message { .. }) => self.item_event("response.content_part.added", out, |_, object| {
                object.with("content_index", &0).by("part", |out| part("", &[], &[], out))
            }),
            Some(Item::Image { .. }) => {
                self.item_event("response.image_generation_call.in_progress", out, |_, object| object);
            }
            _ => {}
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        let at = self.items.len().saturating_sub(1);
        let kind = match self.items.last() {
            Some(Item::Thinking(_)) => "response.reasoning_text.done",
            Some(Item::Message { .. }) => "response.output_text.done",
            Some(Item::Image { .. }) => "response.image_generation_call.completed",
            _ => "response.function_call_arguments.done",
        };
        self.item_event(kind, out, |response, object| match response.items.last() {
            Some(Item::Thinking(text)) => object.with("content_index", &0).text("text", text),
            Some(Item::Message { text, .. }) => {
                object.with("content_index", &0).text("text", text).by("logprobs", |out| {
                    out.extend_from_slice(b"[]");
                })
            }
            Some(Item::Call { name, arguments, .. }) => {
                object.with("name", name).text("arguments", arguments)
            }
            Some(Item::Image { .. }) | None => object,
        });
        if matches!(self.items.last(), Some(Item::Thinking(_) | Item::Message { .. })) {
            self.item_event("response.content_part.done", out, |response, object| {
                object.with("content_index", &0).by("part", |out| match response.items.last() {
                    Some(Item::Thinking(text)) => thinking(text, out),
                    Some(Item::Message { text, annotations, others, .. }) => {
                        part(text, annotations, others, out);
                    }
                    _ => out.extend_from_slice(b"null"),
                })
            });
        }
        self.event("response.output_item.done", out, |response, object| {
            object.with("output_index", &at).by("item", |out| response.item(at, false, out))
        });
    }

    fn is_in_message(&self) -> bool {
        self.is_open && matches!(self.items.last(), Some(Item::Message { .. }))
    }

    fn text(&mut self, piece: &str, out: &mut Vec<u8>) {
        if !self.is_in_message() {
            self.open(Item::message(), out);
        }
        if let Some(Item::Message { text, step, .. }) = self.items.last_mut() {
            text.push_str(piece);
            if piece == BREAK {
                *step = text.len();
            }
        }
        self.item_event("response.output_text.delta", out, |_, object| {
            object.with("content_index", &0).text("delta", piece).by("logprobs", |out| {
                out.extend_from_slice(b"[]");
            })
        });
    }

    fn citation(&mut self, citation: &Citation, out: &mut Vec<u8>) {
        if !self.items.iter().any(|item| matches!(item, Item::Message { .. })) {
            self.open(Item::message(), out);
        }
        let last = self.items.len().saturating_sub(1);
        let mut items = self.items.iter_mut().enumerate().rev();
        let message = items.find_map(|(at, item)| match item {
            Item::Message { text, annotations, others, step } => Some((at, text, annotations, others, step)),
            _ => None,
        });
        let Some((at, text, annotations, others, step)) = message else { return };
        let mut annotation = Vec::new();
        if !annotate(citation, text, *step, &mut annotation) {
            return others.push(plain(citation));
        }
        annotations.push(annotation.clone());
        let index = annotations.len() - 1;
        // The message may be told to its end already; then the whole response alone has it.
        if self.is_open && at == last {
            self.item_event("response.output_text.annotation.added", out, |_, object| {
                object
                    .with("content_index", &0)
                    .with("annotation_index", &index)
                    .by("annotation", |out| out.extend_from_slice(&annotation))
            });
        }
    }

    pub(crate) fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            self.whole_event("response.created", out);
            self.whole_event("response.in_progress", out);
        }
        match piece {
            Piece::Text(text) => self.text(text, out),
            // A message of its own needs none.
            Piece::Break if !self.is_in_message() => {}
            Piece::Break => self.text(BREAK, out),
            Piece::Thinking(text) if self.shown.thinking => {
                if !matches!(self.items.last(), Some(Item::Thinking(_))) || !self.is_open {
                    self.open(Item::Thinking(String::new()), out);
                }
                if let Some(Item::Thinking(told)) = self.items.last_mut() {
                    told.push_str(text);
                }
                self.item_event("response.reasoning_text.delta", out, |_, object| {
                    object.with("content_index", &0).text("delta", text)
                });
            }
            Piece::Call { id, name, arguments, .. } => {
                let (name, arguments) = (name.to_owned(), arguments.to_owned());
                self.open(Item::Call { id: id.clone(), name, arguments }, out);
                self.item_event("response.function_call_arguments.delta", out, |response, object| {
                    match response.items.last() {
                        Some(Item::Call { arguments, .. }) => object.text("delta", arguments),
                        _ => object,
                    }
                });
                self.close(out);
            }
            Piece::Citation(citation) => self.citation(citation, out),
            Piece::Made(document) => {
                if let Some(image) = Item::made(document) {
                    self.open(image, out);
                    self.close(out);
                }
            }
            Piece::End { end, usage, .. } => {
                self.close(out);
                (self.state, self.usage) = (State::Ended(end), Some(usage.clone()));
                let kind = match end {
                    End::Length | End::Filter => "response.incomplete",
                    _ => "response.completed",
                };
                self.last_event(kind, out);
            }
            Piece::Failed(fault) => {
                self.close(out);
                self.state = match fault.code() {
                    "cancelled" => State::Cancelled,
                    _ => State::Failed(fault.responses_code(), fault.message().to_owned()),
                };
                self.failure = Some(fault);
                // There is no event of its own for what was cancelled.
                self.last_event("response.failed", out);
            }
            _ => {}
        }
    }
}

impl Tell for Response {
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>) {
        let mut answer = std::mem::take(&mut self.answer);
        answer.entry(entry, &mut |piece| self.piece(piece, out));
        self.answer = answer;
    }

    fn view(&mut self, view: &View, _: u64, out: &mut Vec<u8>) {
        // A view has the text in one piece, so that the numbers of its events say nothing of what the client has seen.
        let behind = self.after.filter(|after| self.sequence <= *after);
        self.is_silent = behind.is_some();
        let mut answer = std::mem::take(&mut self.answer);
        answer.view(view, &mut |piece| self.piece(piece, out));
        self.answer = answer;
        if let (true, Some(after)) = (std::mem::take(&mut self.is_silent), behind) {
            (self.began, self.sequence) = (true, after.saturating_add(1));
            self.whole_event("response.in_progress", out);
        }
    }
}
