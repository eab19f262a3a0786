//! Chat Completions: chunks of a stream, and the whole answer.

use std::sync::Arc;

use attache_agent::EventKind;
use attache_core::Usage;

use super::annotation::Annotations;
use super::answer::{Answer, BREAK, End, PauseForm, Piece};
use super::chat_documents::Made;
use super::event_json as event;
use crate::address::Addresses;
use crate::dialect::{Shown, Tell, usage};
use crate::fault::Fault;
use crate::json::{Object, write};
use crate::live::{Entry, View, What};

/// The things that a client asked for beside the answer.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The tokens, in a chunk of their own behind the last one.
    pub(crate) usage: bool,
    /// The events of the run, in the member `attache` of chunks.
    pub(crate) events: bool,
    pub(crate) pause_form: PauseForm,
    pub(crate) shown: Shown,
    /// The addresses of documents, where a session keeps them.
    pub(crate) documents: Option<Addresses>,
}

/// The reason why an answer ends, in OpenAI's words.
fn finish_reason(end: End) -> &'static str {
    match end {
        End::Length => "length",
        End::Filter => "content_filter",
        End::Calls => "tool_calls",
        End::Stop | End::Refusal | End::Input | End::Approval => "stop",
    }
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
    annotations: Annotations,
    made: Made,
}

impl Chunks {
    pub(crate) fn new(head: &Head<'_>, wanted: Wanted) -> Self {
        let mut bytes = b"data: ".to_vec();
        Object::begin(&mut bytes)
            .with("id", head.id)
            .with("object", "chat.completion.chunk")
            .with("created", &head.created)
            .with("model", head.model);
        Self {
            answer: Answer::telling_pauses(wanted.pause_form),
            wanted,
            head: bytes,
            began: false,
            annotations: Annotations::default(),
            made: Made::default(),
        }
    }

    fn tell(&mut self, out: &mut Vec<u8>, take: impl FnOnce(&mut Answer, &mut dyn FnMut(Piece<'_>))) {
        let Self { answer, wanted, head, began, annotations, made } = self;
        take(answer, &mut |piece| chunk(piece, wanted, head, began, annotations, made, out));
    }
}

/// Writes a chunk.
fn chunk(
    piece: Piece<'_>,
    wanted: &Wanted,
    head: &[u8],
    began: &mut bool,
    annotations: &mut Annotations,
    made: &mut Made,
    out: &mut Vec<u8>,
) {
    let piece = match piece {
        Piece::Text(text) => {
            annotations.say(text);
            Piece::Text(text)
        }
        Piece::Break => {
            annotations.end_step();
            Piece::Text(BREAK)
        }
        Piece::Citation(citation) => return annotations.cite(citation, wanted.documents.as_ref()),
        Piece::Made(document) => return made.add(document, wanted.documents.as_ref()),
        // The agent's own tools are its own business.
        Piece::Step
        | Piece::Reply(_)
        | Piece::Writes { .. }
        | Piece::Arguments { .. }
        | Piece::Written { .. }
        | Piece::Progress { .. }
        | Piece::Result { .. }
        | Piece::Approval(_) => return,
        piece => piece,
    };
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
                            Object::begin(out).maybe("name", name).text("arguments", arguments).end();
                        })
                        .end();
                    out.push(b']');
                };
                delta(out, &mut call, None);
            }
        }
        Piece::End { end, usage: tokens, .. } => {
            beside(head, annotations, made, out);
            delta(out, &mut |_| {}, Some(finish_reason(end)));
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
        _ => {}
    }
}

/// Writes what stands beside the text of an answer. Apart, since each piece of text passes through its caller.
#[inline(never)]
fn beside(head: &[u8], annotations: &Annotations, made: &Made, out: &mut Vec<u8>) {
    if !annotations.is_empty() || !made.is_empty() {
        out.extend_from_slice(head);
        out.extend_from_slice(b",\"choices\":[{\"index\":0,\"delta\":");
        made.members(annotations.members(Object::begin(out))).end();
        out.extend_from_slice(b",\"finish_reason\":null}]}\n\n");
    }
}

impl Tell for Chunks {
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

impl Tell for Whole {
    fn entry(&mut self, entry: &Arc<Entry>, _: &mut Vec<u8>) {
        self.take(|answer, tell| answer.entry(entry, tell));
        if entry.is_last() {
            self.last = Some(Arc::clone(entry));
        }
    }

    fn view(&mut self, view: &View, _: u64, _: &mut Vec<u8>) {
        self.take(|answer, tell| answer.view(view, tell));
        self.last.clone_from(&view.end);
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
    annotations: Annotations,
    made: Made,
    documents: Option<Addresses>,
    end: Option<Result<(&'static str, Usage), Fault>>,
    last: Option<Arc<Entry>>,
}

impl Whole {
    pub(crate) fn new(wanted: &Wanted) -> Self {
        let documents = wanted.documents.clone();
        Self { answer: Answer::telling_pauses(wanted.pause_form).whole(true), documents, ..Self::default() }
    }

    fn take(&mut self, take: impl FnOnce(&mut Answer, &mut dyn FnMut(Piece<'_>))) {
        let Self { answer, text, thinking, calls, annotations, made, documents, end, .. } = self;
        take(answer, &mut |piece| match piece {
            Piece::Text(piece) => {
                annotations.say(piece);
                text.push_str(piece);
            }
            Piece::Citation(citation) => annotations.cite(citation, documents.as_ref()),
            Piece::Made(document) => made.add(document, documents.as_ref()),
            Piece::Thinking(piece) => thinking.push_str(piece),
            Piece::Call { index, id, name, arguments } => {
                if index > 0 {
                    calls.push(b',');
                }
                Object::begin(calls)
                    .with("id", id)
                    .with("type", "function")
                    .by("function", |out| {
                        Object::begin(out).with("name", name).text("arguments", arguments).end();
                    })
                    .end();
            }
            Piece::End { end: at, usage, .. } => *end = Some(Ok((finish_reason(at), usage.clone()))),
            Piece::Failed(fault) => *end = Some(Err(fault)),
            Piece::Break => {
                annotations.end_step();
                text.push_str(BREAK);
            }
            _ => {}
        });
    }

    /// The answer's body.
    pub(crate) fn finish(self, head: &Head<'_>, wanted: &Wanted) -> Result<Vec<u8>, Fault> {
        let (reason, tokens) = self.end.unwrap_or_else(|| Err(Fault::broken()))?;
        let mut out = Vec::with_capacity(self.text.len() + 512);
        let speaks = !self.text.is_empty() || self.calls.is_empty();
        let message = |out: &mut Vec<u8>| {
            let object = Object::begin(out).with("role", "assistant");
            let object = match speaks {
                true => object.text("content", &self.text),
                false => object.with("content", &None::<()>),
            };
            let object = object.with("refusal", &None::<()>);
            let thinking = Some(&self.thinking).filter(|text| wanted.shown.thinking && !text.is_empty());
            let object = object.maybe("reasoning_content", thinking);
            let object = self.made.members(self.annotations.members(object));
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
