//! Chat Completions: chunks of a stream, and the whole answer.

use std::sync::Arc;

use attache_agent::{EndReason, EventKind, Outcome};
use attache_core::{ToolCallId, Usage};

use super::{Dialect, Shown, event, usage};
use crate::fault::Fault;
use crate::json::{Object, write};
use crate::live::{Block, Broken, CallView, Entry, View, What};

/// The things that a client asked for beside the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The tokens, in a chunk of their own behind the last one.
    pub(crate) usage: bool,
    /// The events of the run, in the member `attache` of chunks.
    pub(crate) events: bool,
    pub(crate) shown: Shown,
}

/// The answer so far, and how it ends: the same for both forms.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The bytes of text that were told.
    text: usize,
    thinking: usize,
    /// The step of the last text.
    step: Option<u32>,
    /// True if text was told in the step under way.
    spoke: bool,
    /// The calls for the client.
    calls: Vec<ToolCallId>,
    usage: Usage,
}

/// A piece of an answer.
pub(crate) enum Piece<'p> {
    Text(&'p str),
    Thinking(&'p str),
    Call { index: usize, id: &'p ToolCallId, name: &'p str, arguments: &'p str },
    End { reason: &'static str, usage: &'p Usage },
    Failed(Fault),
}

/// The break between what a model says in one step and in another. The calls between them are not told here.
const BREAK: &str = "\n\n";

impl Answer {
    /// Takes an entry in, and tells its pieces.
    pub(crate) fn entry(&mut self, entry: &Entry, mut tell: impl FnMut(Piece<'_>)) {
        let event = match &entry.what {
            What::Event(event) => event,
            What::Paused => {
                return tell(Piece::End { reason: "tool_calls", usage: &self.usage });
            }
            What::Broken(Broken::Stopping) => {
                return tell(Piece::Failed(Fault::unavailable("the server stops")));
            }
            What::Broken(Broken::Failed) => return tell(Piece::Failed(Fault::broken())),
        };
        let mut kind = &event.kind;
        while let EventKind::Nested { event, .. } = kind {
            kind = &event.kind;
            // The client answers calls of agents inside, too; the rest is theirs.
            if !matches!(kind, EventKind::ExternalPending { .. } | EventKind::Nested { .. }) {
                return;
            }
        }
        match kind {
            EventKind::Content(piece) => self.say(event.step, piece, &mut tell),
            EventKind::Thinking(piece) => {
                self.thinking += piece.len();
                tell(Piece::Thinking(piece));
            }
            EventKind::StepStarted { .. } => self.spoke = false,
            EventKind::StepFinished { usage, .. } => self.usage.add(usage),
            EventKind::ExternalPending { call } => {
                self.call(&call.id, &call.name, call.arguments.replay_json(), &mut tell);
            }
            EventKind::Finished(Ok(outcome)) => self.end(outcome, &mut tell),
            EventKind::Finished(Err(error)) => tell(Piece::Failed(Fault::from(error))),
            _ => {}
        }
    }

    /// Takes the run so far in, and tells the pieces that were not told.
    pub(crate) fn view(&mut self, view: &View, mut tell: impl FnMut(Piece<'_>)) {
        let (mut text, mut thinking) = (0, 0);
        let mut last = None;
        for block in &view.blocks {
            match block {
                Block::Text { step, text: said } => {
                    for said in [last.map_or("", |last| if last == *step { "" } else { BREAK }), said] {
                        let untold = self.text.saturating_sub(text);
                        text += said.len();
                        if let Some(piece) = said.get(untold..).filter(|piece| !piece.is_empty()) {
                            self.text += piece.len();
                            tell(Piece::Text(piece));
                        }
                    }
                    last = Some(*step);
                }
                Block::Thinking { text: said, .. } => {
                    let untold = self.thinking.saturating_sub(thinking);
                    thinking += said.len();
                    if let Some(piece) = said.get(untold..).filter(|piece| !piece.is_empty()) {
                        self.thinking += piece.len();
                        tell(Piece::Thinking(piece));
                    }
                }
                Block::Call(_) => {}
            }
        }
        (self.step, self.spoke) = (last, view.spoke);
        self.usage = view.usage.clone();
        for CallView { id, name, arguments, .. } in view.client_calls() {
            self.call(id, name, arguments, &mut tell);
        }
        if let Some(end) = &view.end {
            self.entry(end, tell);
        }
    }

    fn say(&mut self, step: u32, piece: &str, tell: &mut impl FnMut(Piece<'_>)) {
        if self.step.is_some_and(|last| last != step) {
            self.text += BREAK.len();
            tell(Piece::Text(BREAK));
        }
        (self.step, self.spoke) = (Some(step), true);
        self.text += piece.len();
        tell(Piece::Text(piece));
    }

    fn call(&mut self, id: &ToolCallId, name: &str, arguments: &str, tell: &mut impl FnMut(Piece<'_>)) {
        if self.calls.contains(id) {
            return;
        }
        tell(Piece::Call { index: self.calls.len(), id, name, arguments });
        self.calls.push(id.clone());
    }

    fn end(&mut self, outcome: &Outcome, tell: &mut impl FnMut(Piece<'_>)) {
        // The output of a tool that is the answer, which no model says.
        let is_output = matches!(outcome.reason, EndReason::ReturnDirect | EndReason::FinishTool);
        let question = outcome.deferred.iter().find_map(|request| request.deferred.prompt.as_deref());
        let unsaid = match question {
            Some(question) => Some(question),
            None => Some(outcome.text.as_str()).filter(|_| is_output || !self.spoke),
        };
        if let Some(unsaid) = unsaid.filter(|text| !text.is_empty()) {
            // It stands apart from what the model said before.
            for piece in [if self.text > 0 { BREAK } else { "" }, unsaid] {
                if !piece.is_empty() {
                    self.text += piece.len();
                    tell(Piece::Text(piece));
                }
            }
        }
        match finish_reason(&outcome.reason, self.text > 0) {
            Some(reason) => tell(Piece::End { reason, usage: &outcome.usage }),
            None => tell(Piece::Failed(Fault::unanswered(&outcome.reason, outcome.detail.as_deref()))),
        }
    }
}

/// The reason why an answer ends, in OpenAI's words; `None` if there is no answer.
fn finish_reason(reason: &EndReason, has_text: bool) -> Option<&'static str> {
    Some(match reason {
        EndReason::Length => "length",
        EndReason::ContentFilter => "content_filter",
        EndReason::Answer
        | EndReason::ReturnDirect
        | EndReason::FinishTool
        | EndReason::Refusal
        | EndReason::InputRequired
        // Somebody has to decide; what about stands in the member `attache`.
        | EndReason::PendingApproval => "stop",
        EndReason::PendingExternal => "tool_calls",
        EndReason::Cancelled => return None,
        _ if has_text => "stop",
        _ => return None,
    })
}

/// The head that all chunks of a stream share, or the answer.
pub(crate) struct Head<'h> {
    pub(crate) id: &'h str,
    pub(crate) created: u64,
    pub(crate) model: &'h str,
}

/// The chunks of a stream.
pub(crate) struct Chunks {
    answer: Answer,
    wanted: Wanted,
    /// Each chunk up to its choices.
    head: Vec<u8>,
    began: bool,
}

impl Chunks {
    pub(crate) fn new(head: &Head<'_>, wanted: Wanted) -> Self {
        let mut bytes = b"data: ".to_vec();
        Object::begin(&mut bytes)
            .with("id", head.id)
            .with("object", "chat.completion.chunk")
            .with("created", &head.created)
            .with("model", head.model);
        Self { answer: Answer::default(), wanted, head: bytes, began: false }
    }

    fn tell(&mut self, out: &mut Vec<u8>, take: impl FnOnce(&mut Answer, &mut dyn FnMut(Piece<'_>))) {
        let Self { answer, wanted, head, began } = self;
        take(answer, &mut |piece| chunk(piece, *wanted, head, began, out));
    }
}

/// Writes a chunk.
fn chunk(piece: Piece<'_>, wanted: Wanted, head: &[u8], began: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::replace(began, true) {
        out.extend_from_slice(head);
        out.extend_from_slice(
            b",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
        );
    }
    let delta = |out: &mut Vec<u8>, write: &mut dyn FnMut(&mut Vec<u8>), reason: Option<&str>| {
        out.extend_from_slice(head);
        out.extend_from_slice(b",\"choices\":[{\"index\":0,\"delta\":{");
        write(out);
        out.extend_from_slice(b"},\"finish_reason\":");
        crate::json::write(out, &reason);
        out.extend_from_slice(b"}]}\n\n");
    };
    match piece {
        Piece::Text(text) => delta(
            out,
            &mut |out| {
                out.extend_from_slice(b"\"content\":");
                write(out, text);
            },
            None,
        ),
        Piece::Thinking(text) if wanted.shown.thinking => delta(
            out,
            &mut |out| {
                out.extend_from_slice(b"\"reasoning_content\":");
                write(out, text);
            },
            None,
        ),
        Piece::Thinking(_) => {}
        Piece::Call { index, id, name, arguments } => {
            for is_first in [true, false] {
                let mut call = |out: &mut Vec<u8>| {
                    out.extend_from_slice(b"\"tool_calls\":[");
                    let object = Object::begin(out).with("index", &index);
                    let object = match is_first {
                        true => object.with("id", id).with("type", "function"),
                        false => object,
                    };
                    let (name, arguments) = if is_first { (Some(name), "") } else { (None, arguments) };
                    object
                        .by("function", |out| {
                            Object::begin(out).maybe("name", name).with("arguments", arguments).end();
                        })
                        .end();
                    out.push(b']');
                };
                delta(out, &mut call, None);
            }
        }
        Piece::End { reason, usage: tokens } => {
            delta(out, &mut |_| {}, Some(reason));
            if wanted.usage {
                out.extend_from_slice(head);
                out.extend_from_slice(b",\"choices\":[],\"usage\":");
                usage::write(tokens, out);
                out.extend_from_slice(b"}\n\n");
            }
            out.extend_from_slice(b"data: [DONE]\n\n");
        }
        // The stream ends behind it, as one that failed.
        Piece::Failed(fault) => {
            out.extend_from_slice(b"data: ");
            Object::begin(out).by("error", |out| fault.write(out)).end();
            out.extend_from_slice(b"\n\n");
        }
    }
}

impl Dialect for Chunks {
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>) {
        let is_text =
            matches!(&entry.what, What::Event(event) if matches!(event.kind, EventKind::Content(_)));
        if self.wanted.events && !is_text {
            let before = out.len();
            out.extend_from_slice(&self.head);
            out.extend_from_slice(
                b",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}],\"attache\":",
            );
            match event::entry(entry, self.wanted.shown, out) {
                Some(_) => out.extend_from_slice(b"}\n\n"),
                None => out.truncate(before),
            }
        }
        self.tell(out, |answer, tell| answer.entry(entry, tell));
    }

    fn view(&mut self, view: &View, last: u64, out: &mut Vec<u8>) {
        if self.wanted.events {
            out.extend_from_slice(&self.head);
            out.extend_from_slice(
                b",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}],\"attache\":",
            );
            event::view(view, last, self.wanted.shown, out);
            out.extend_from_slice(b"}\n\n");
        }
        self.tell(out, |answer, tell| answer.view(view, tell));
    }
}

/// The whole answer while it is gathered.
#[derive(Default)]
pub(crate) struct Whole {
    answer: Answer,
    text: String,
    thinking: String,
    /// The calls for the client, as the array's members.
    calls: Vec<u8>,
    end: Option<Result<(&'static str, Usage), Fault>>,
    last: Option<Arc<Entry>>,
}

impl Whole {
    pub(crate) fn entry(&mut self, entry: &Arc<Entry>) {
        self.take(|answer, tell| answer.entry(entry, tell));
        if entry.is_last() {
            self.last = Some(Arc::clone(entry));
        }
    }

    pub(crate) fn view(&mut self, view: &View) {
        self.take(|answer, tell| answer.view(view, tell));
        self.last.clone_from(&view.end);
    }

    fn take(&mut self, take: impl FnOnce(&mut Answer, &mut dyn FnMut(Piece<'_>))) {
        let Self { answer, text, thinking, calls, end, .. } = self;
        take(answer, &mut |piece| match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Thinking(piece) => thinking.push_str(piece),
            Piece::Call { index, id, name, arguments } => {
                if index > 0 {
                    calls.push(b',');
                }
                Object::begin(calls)
                    .with("id", id)
                    .with("type", "function")
                    .by("function", |out| {
                        Object::begin(out).with("name", name).with("arguments", arguments).end();
                    })
                    .end();
            }
            Piece::End { reason, usage } => *end = Some(Ok((reason, usage.clone()))),
            Piece::Failed(fault) => *end = Some(Err(fault)),
        });
    }

    /// The failure, if there is no answer.
    pub(crate) fn into_failure(self) -> Option<Fault> {
        self.end.and_then(Result::err)
    }

    /// The answer's body.
    pub(crate) fn finish(self, head: &Head<'_>, wanted: Wanted) -> Result<Vec<u8>, Fault> {
        let (reason, tokens) = self.end.unwrap_or_else(|| Err(Fault::broken()))?;
        let mut out = Vec::with_capacity(self.text.len() + 512);
        let content = Some(&self.text).filter(|text| !text.is_empty() || self.calls.is_empty());
        let message = |out: &mut Vec<u8>| {
            let object = Object::begin(out)
                .with("role", "assistant")
                .with("content", &content)
                .with("refusal", &None::<()>);
            let thinking = Some(&self.thinking).filter(|text| wanted.shown.thinking && !text.is_empty());
            let object = object.maybe("reasoning_content", thinking);
            match self.calls.is_empty() {
                true => object,
                false => object.by("tool_calls", |out| {
                    out.push(b'[');
                    out.extend_from_slice(&self.calls);
                    out.push(b']');
                }),
            }
            .end();
        };
        let object = Object::begin(&mut out)
            .with("id", head.id)
            .with("object", "chat.completion")
            .with("created", &head.created)
            .with("model", head.model)
            .by("choices", |out| {
                out.push(b'[');
                Object::begin(out)
                    .with("index", &0)
                    .by("message", message)
                    .with("logprobs", &None::<()>)
                    .with("finish_reason", reason)
                    .end();
                out.push(b']');
            })
            .by("usage", |out| usage::write(&tokens, out));
        let last = self.last.filter(|_| wanted.events);
        match &last {
            Some(last) => object.by("attache", |out| {
                if event::entry(last, wanted.shown, out).is_none() {
                    out.extend_from_slice(b"null");
                }
            }),
            None => object,
        }
        .end();
        Ok(out)
    }
}
