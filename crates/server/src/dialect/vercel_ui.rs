//! The UI message stream of Vercel's AI SDK, in the parts of its versions 5 to 7.

use std::collections::HashSet;

use attache_core::citation::Source;
use attache_core::{Citation, Document, DocumentId, ToolCallId, ToolResult};

use super::answer::{Answer, End, Piece};
use super::event_json as event;
use super::pieces::TellPieces;
use crate::address::Addresses;
use crate::dialect::{Shown, line, usage};
use crate::json::{Object, write_json};

/// A message of the UI while it is told.
pub(crate) struct Ui {
    answer: Answer,
    shown: Shown,
    /// The id of the message.
    message: String,
    documents: Addresses,
    /// The tools of the client.
    own: HashSet<String>,
    /// The calls that the message has already, of an answer before.
    known: HashSet<String>,
    began: bool,
    in_step: bool,
    open: Option<Open>,
    /// The number of the next text or reasoning.
    next: usize,
    /// The calls of tools of the client, which it is to answer.
    calls: Vec<ToolCallId>,
    /// The calls of such tools that are still written.
    writing: Vec<ToolCallId>,
    /// The media types of the documents that were seen.
    kinds: Vec<(DocumentId, String)>,
    sources: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Text(usize),
    Thinking(usize),
}

impl Ui {
    pub(crate) fn new(
        message: String,
        documents: Addresses,
        own: HashSet<String>,
        known: HashSet<String>,
        shown: Shown,
    ) -> Self {
        Self {
            answer: Answer::default(),
            shown,
            message,
            documents,
            own,
            known,
            began: false,
            in_step: false,
            open: None,
            next: 0,
            calls: Vec::new(),
            writing: Vec::new(),
            kinds: Vec::new(),
            sources: 0,
        }
    }

    /// Tells what the client said itself, too: a page that comes back has lost it.
    pub(crate) fn retelling(mut self) -> Self {
        self.answer = self.answer.retelling();
        self
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        let (kind, id) = match self.open.take() {
            None => return,
            Some(Open::Text(id)) => ("text-end", id),
            Some(Open::Thinking(id)) => ("reasoning-end", id),
        };
        part(kind, out, |object| object.with("id", &id.to_string()));
    }

    fn step(&mut self, out: &mut Vec<u8>) {
        self.close(out);
        if self.in_step {
            part("finish-step", out, |object| object);
        }
        self.in_step = false;
    }

    fn delta(&mut self, is_text: bool, text: &str, out: &mut Vec<u8>) {
        let (begin, delta) = match is_text {
            true => ("text-start", "text-delta"),
            false => ("reasoning-start", "reasoning-delta"),
        };
        let id = match self.open {
            Some(Open::Text(id)) if is_text => id,
            Some(Open::Thinking(id)) if !is_text => id,
            _ => {
                self.close(out);
                let id = self.next;
                self.next += 1;
                self.open = Some(if is_text { Open::Text(id) } else { Open::Thinking(id) });
                part(begin, out, |object| object.with("id", &id.to_string()));
                id
            }
        };
        part(delta, out, |object| object.with("id", &id.to_string()).text("delta", text));
    }

    /// A tool that the client knows is one of its own; any other runs here.
    fn tool<'o>(&self, object: Object<'o>, id: &ToolCallId, name: &str) -> Object<'o> {
        let object = object.with("toolCallId", id).with("toolName", name);
        match self.own.contains(name) {
            true => object,
            false => object.with("providerExecuted", &true).with("dynamic", &true),
        }
    }

    fn sees(&self, name: &str) -> bool {
        self.shown.details || self.own.contains(name)
    }

    fn result(&mut self, result: &ToolResult, is_denied: bool, out: &mut Vec<u8>) {
        let id = &result.call_id;
        let is_own = self.calls.contains(id);
        let is_seen = self.shown.details || is_own;
        // One that was never asked for is no longer the client's to answer: it would send the result.
        let is_cut = self.writing.contains(id);
        let ran_here = |object: Object<'_>| match (is_own, is_cut) {
            (true, _) => object.end(),
            (false, true) => object.with("providerExecuted", &true).end(),
            (false, false) => object.with("providerExecuted", &true).with("dynamic", &true).end(),
        };
        if is_denied {
            part("tool-output-denied", out, |object| object.with("toolCallId", id));
        } else if result.is_error() {
            let text = result.tree.model_text();
            let text = if is_seen { &*text } else { "failure" };
            line(out, |out| {
                let object = Object::begin(out).with("type", "tool-output-error").with("toolCallId", id);
                ran_here(object.text("errorText", text));
            });
        } else {
            line(out, |out| {
                let object = Object::begin(out).with("type", "tool-output-available").with("toolCallId", id);
                ran_here(object.by("output", |out| match is_seen {
                    true => write_json(out, result.tree.json()),
                    false => out.extend_from_slice(b"\"success\""),
                }));
            });
        }
        for document in result.tree.shown() {
            self.kinds.push((document.id().clone(), document.media_type().essence().to_owned()));
            if self.shown.details && !result.is_error() {
                self.file(document, out);
            }
        }
    }

    fn file(&self, document: &Document, out: &mut Vec<u8>) {
        let url = self.documents.of(document.id());
        part("file", out, |object| {
            let object = object.with("url", &url).with("mediaType", document.media_type().essence());
            object.by("providerMetadata", |out| {
                let document = |out: &mut Vec<u8>| event::document(document, out);
                Object::begin(out)
                    .by("attache", |out| Object::begin(out).by("document", document).end())
                    .end();
            })
        });
    }

    fn citation(&mut self, citation: &Citation, out: &mut Vec<u8>) {
        let id = format!("{}-source-{}", self.message, self.sources);
        self.sources += 1;
        let known = |object: Object<'_>| {
            object
                .by("providerMetadata", |out| {
                    Object::begin(out)
                        .by("attache", |out| Object::begin(out).with("citation", citation).end())
                        .end();
                })
                .end();
        };
        match &citation.source {
            Source::Url { url, title } => line(out, |out| {
                let object = Object::begin(out).with("type", "source-url").with("sourceId", &id);
                known(object.with("url", url).maybe("title", title.as_ref()));
            }),
            source => {
                let (document, title) = match source {
                    Source::Document { id, name } => (Some(id), name.as_deref().unwrap_or("document")),
                    Source::ToolResult { tool, .. } => (None, tool.as_deref().unwrap_or("tool")),
                    Source::Foreign { title, .. } | Source::Nth { title, .. } => {
                        (None, title.as_deref().unwrap_or("document"))
                    }
                    _ => (None, "message"),
                };
                let kind = self.kinds.iter().find(|(known, _)| Some(known) == document);
                let kind = match (kind, document) {
                    (Some((_, kind)), _) => kind.as_str(),
                    (None, Some(_)) => "application/octet-stream",
                    (None, None) => "text/plain",
                };
                line(out, |out| {
                    let object = Object::begin(out)
                        .with("type", "source-document")
                        .with("sourceId", &id)
                        .with("mediaType", kind)
                        .with("title", title);
                    known(match document {
                        Some(_) => object.with("filename", title),
                        None => object,
                    });
                });
            }
        }
    }
}

/// True for what stands in a step of the message.
fn is_inside(piece: &Piece<'_>) -> bool {
    !matches!(
        piece,
        Piece::End { .. } | Piece::Failed(_) | Piece::Step | Piece::Reply(_) | Piece::Progress { .. }
    )
}

fn part(kind: &str, out: &mut Vec<u8>, more: impl for<'o> FnOnce(Object<'o>) -> Object<'o>) {
    line(out, |out| more(Object::begin(out).with("type", kind)).end());
}

impl TellPieces for Ui {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            part("start", out, |object| object.with("messageId", &self.message));
        }
        // A call that waited is in the message already, in a step that came to its end.
        let is_known = match &piece {
            Piece::Writes { id, .. } | Piece::Arguments { id, .. } | Piece::Written { id, .. } => {
                if self.known.contains(id.as_str()) {
                    return;
                }
                false
            }
            Piece::Result { result, .. } => self.known.contains(result.call_id.as_str()),
            _ => false,
        };
        let is_outside = is_known || !is_inside(&piece);
        if !self.in_step && !is_outside {
            self.in_step = true;
            part("start-step", out, |object| object);
        }
        match piece {
            Piece::Step => self.step(out),
            Piece::Reply(_) => {}
            Piece::Break => self.close(out),
            Piece::Text(text) => self.delta(true, text, out),
            Piece::Thinking(text) if self.shown.thinking => self.delta(false, text, out),
            Piece::Thinking(_) => {}
            Piece::Writes { id, name } => {
                self.close(out);
                if self.own.contains(name) {
                    self.writing.push(id.clone());
                }
                line(out, |out| {
                    self.tool(Object::begin(out).with("type", "tool-input-start"), id, name).end();
                });
            }
            Piece::Arguments { id, delta } if self.shown.details => {
                part("tool-input-delta", out, |object| {
                    object.with("toolCallId", id).text("inputTextDelta", delta)
                });
            }
            Piece::Arguments { .. } => {}
            Piece::Written { id, name, arguments } => {
                if self.own.contains(name) {
                    self.writing.retain(|writing| writing != id);
                    self.calls.push(id.clone());
                }
                let arguments = if self.sees(name) { arguments } else { "{}" };
                line(out, |out| {
                    let object = Object::begin(out).with("type", "tool-input-available");
                    self.tool(object, id, name).by("input", |out| write_json(out, arguments)).end();
                });
            }
            Piece::Call { id, name, arguments, .. } => {
                // The client answers a tool of the agent's, or of an agent inside.
                if !self.own.contains(name) {
                    part("tool-input-available", out, |object| {
                        object
                            .with("toolCallId", id)
                            .with("toolName", name)
                            .by("input", |out| write_json(out, arguments))
                            .with("providerExecuted", &false)
                            .with("dynamic", &true)
                    });
                }
            }
            // The page hears of it, and no message keeps it.
            Piece::Progress { id, progress } => part("data-tool-progress", out, |object| {
                object
                    .by("data", |out| {
                        let object = Object::begin(out).with("toolCallId", id);
                        event::progressed(object, progress, self.shown).end();
                    })
                    .with("transient", &true)
            }),
            Piece::Result { result, is_denied } => self.result(result, is_denied, out),
            Piece::Approval(asked) => {
                self.close(out);
                part("tool-approval-request", out, |object| {
                    object
                        .with("approvalId", &asked.id)
                        .with("toolCallId", &asked.call.id)
                        .maybe("reason", asked.reason.as_ref())
                });
            }
            Piece::Citation(citation) => {
                self.close(out);
                self.citation(citation, out);
            }
            Piece::Made(document) => {
                self.close(out);
                self.file(document, out);
            }
            // A run is one message, which has the tokens of all of it.
            Piece::End { end, total: tokens, outcome, .. } => {
                self.close(out);
                self.step(out);
                let reason = match end {
                    End::Stop | End::Refusal | End::Input => "stop",
                    End::Length => "length",
                    End::Filter => "content-filter",
                    End::Calls | End::Approval => "tool-calls",
                };
                part("finish", out, |object| {
                    object.with("finishReason", reason).by("messageMetadata", |out| {
                        Object::begin(out)
                            .by("usage", |out| usage::plain(tokens, out))
                            .maybe("runId", outcome.map(|outcome| &outcome.run_id))
                            .maybe("reason", outcome.map(|outcome| outcome.reason.as_str()))
                            .end();
                    })
                });
                out.extend_from_slice(b"data: [DONE]\n\n");
            }
            Piece::Failed(fault) => {
                self.step(out);
                match fault.code() {
                    "cancelled" => part("abort", out, |object| object.text("reason", fault.message())),
                    _ => part("error", out, |object| object.text("errorText", fault.message())),
                }
                out.extend_from_slice(b"data: [DONE]\n\n");
            }
        }
    }
}
