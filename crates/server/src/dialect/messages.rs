//! Anthropic's Messages: the events of a stream, and the whole answer, by one fold.

use std::sync::Arc;

use attache_core::citation::{Place, Source};
use attache_core::{Citation, DocumentId, Usage};

use super::answer::{Answer, Asking, BREAK, End, Piece};
use super::{Shown, Tell, usage};
use crate::fault::Fault;
use crate::json::{Object, write_json};
use crate::live::{Entry, View};

/// A message while it is told.
pub(crate) struct Reply {
    id: String,
    model: String,
    shown: Shown,
    /// True if the whole message is told at its end, and no events.
    is_whole: bool,
    answer: Answer,
    began: bool,
    blocks: Vec<Block>,
    /// True if the last block is still written.
    is_open: bool,
    /// The documents by their numbers: those of the request, then others as they are cited.
    documents: Vec<DocumentId>,
    end: Option<Result<(&'static str, Usage), Fault>>,
}

/// A block of the content. A stream keeps nothing of texts that were told.
#[derive(Debug)]
enum Block {
    Text { text: String, citations: Vec<Vec<u8>> },
    Thinking(String),
    Call { id: String, name: String, arguments: String },
}

impl Reply {
    pub(crate) fn new(
        id: String,
        model: String,
        documents: Vec<DocumentId>,
        shown: Shown,
        is_whole: bool,
        asking: Asking,
    ) -> Self {
        Self {
            id,
            model,
            shown,
            is_whole,
            answer: Answer::asking(asking),
            began: false,
            blocks: Vec::new(),
            is_open: false,
            documents,
            end: None,
        }
    }

    /// The whole message.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Fault> {
        let (reason, tokens) = self.end.unwrap_or_else(|| Err(Fault::broken()))?;
        let mut out = Vec::with_capacity(1024);
        Object::begin(&mut out)
            .with("id", &self.id)
            .with("type", "message")
            .with("role", "assistant")
            .with("model", &self.model)
            .each("content", &self.blocks, write)
            .with("stop_reason", reason)
            .with("stop_sequence", &None::<()>)
            .by("usage", |out| usage::messages(&tokens, out))
            .end();
        Ok(out)
    }

    fn event(&self, kind: &str, out: &mut Vec<u8>, more: impl for<'o> FnOnce(Object<'o>) -> Object<'o>) {
        if self.is_whole {
            return;
        }
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        more(Object::begin(out).with("type", kind)).end();
        out.extend_from_slice(b"\n\n");
    }

    fn index(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }

    fn delta(&self, kind: &str, name: &str, text: &str, out: &mut Vec<u8>) {
        self.event("content_block_delta", out, |object| {
            object.with("index", &self.index()).by("delta", |out| {
                Object::begin(out).with("type", kind).with(name, text).end();
            })
        });
    }

    fn open(&mut self, block: Block, out: &mut Vec<u8>) {
        self.close(out);
        self.blocks.push(block);
        self.is_open = true;
        self.event("content_block_start", out, |object| {
            object.with("index", &self.index()).by("content_block", |out| match self.blocks.last() {
                Some(Block::Call { id, name, .. }) => {
                    let (id, name, arguments) = (id.clone(), name.clone(), "{}".to_owned());
                    write(&Block::Call { id, name, arguments }, out);
                }
                Some(block) => write(block, out),
                None => out.extend_from_slice(b"null"),
            })
        });
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        if matches!(self.blocks.last(), Some(Block::Thinking(_))) {
            // There is no signature that another API would take.
            self.delta("signature_delta", "signature", "", out);
        }
        self.event("content_block_stop", out, |object| object.with("index", &self.index()));
    }

    fn text(&mut self, piece: &str, out: &mut Vec<u8>) {
        if !self.is_open || !matches!(self.blocks.last(), Some(Block::Text { .. })) {
            self.open(Block::Text { text: String::new(), citations: Vec::new() }, out);
        }
        if let (true, Some(Block::Text { text, .. })) = (self.is_whole, self.blocks.last_mut()) {
            text.push_str(piece);
        }
        self.delta("text_delta", "text", piece, out);
    }

    fn thinking(&mut self, piece: &str, out: &mut Vec<u8>) {
        if !self.is_open || !matches!(self.blocks.last(), Some(Block::Thinking(_))) {
            self.open(Block::Thinking(String::new()), out);
        }
        if let (true, Some(Block::Thinking(text))) = (self.is_whole, self.blocks.last_mut()) {
            text.push_str(piece);
        }
        self.delta("thinking_delta", "thinking", piece, out);
    }

    fn citation(&mut self, citation: &Citation, out: &mut Vec<u8>) {
        let mut told = Vec::new();
        if !self.cite(citation, &mut told) {
            return;
        }
        let last = self.index();
        let at = self.blocks.iter().rposition(|block| matches!(block, Block::Text { .. }));
        let Some(at) = at else { return };
        if let Some(Block::Text { citations, .. }) = self.blocks.get_mut(at) {
            citations.push(told.clone());
        }
        if at == last && self.is_open {
            self.event("content_block_delta", out, |object| {
                object.with("index", &at).by("delta", |out| {
                    Object::begin(out)
                        .with("type", "citations_delta")
                        .by("citation", |out| out.extend_from_slice(&told))
                        .end();
                })
            });
        }
    }

    /// Writes a citation; false where Anthropic's API has no word for its source. All that is known of it stands in the
    /// member `attache`.
    fn cite(&mut self, citation: &Citation, out: &mut Vec<u8>) -> bool {
        let quote = citation.quote.as_deref().unwrap_or_default();
        let object = Object::begin(out);
        let object = match (&citation.source, &citation.place) {
            (Source::Document { id, name }, place) => {
                let known = self.documents.iter().position(|known| known == id);
                let index = known.unwrap_or_else(|| {
                    self.documents.push(id.clone());
                    self.documents.len() - 1
                });
                let (kind, names, start, end) = match (place, citation.in_document) {
                    // The last page is excluded there.
                    (Some(Place::Pages(first, last)), _) => {
                        let names = ("start_page_number", "end_page_number");
                        ("page_location", names, *first, last.saturating_add(1))
                    }
                    (_, span) => {
                        let (start, end) = span.map_or((0, 0), |span| (span.start, span.end));
                        ("char_location", ("start_char_index", "end_char_index"), start, end)
                    }
                };
                object
                    .with("type", kind)
                    .with("cited_text", quote)
                    .with("document_index", &index)
                    .with("document_title", name)
                    .with("file_id", &None::<()>)
                    .with(names.0, &start)
                    .with(names.1, &end)
            }
            (Source::Url { url, title }, _) => object
                .with("type", "web_search_result_location")
                .with("cited_text", quote)
                .with("encrypted_index", "")
                .with("title", title)
                .with("url", url),
            _ => {
                out.clear();
                return false;
            }
        };
        object.with("attache", citation).end();
        true
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            self.event("message_start", out, |object| {
                object.by("message", |out| {
                    Object::begin(out)
                        .with("id", &self.id)
                        .with("type", "message")
                        .with("role", "assistant")
                        .with("model", &self.model)
                        .by("content", |out| out.extend_from_slice(b"[]"))
                        .with("stop_reason", &None::<()>)
                        .with("stop_sequence", &None::<()>)
                        .by("usage", |out| usage::messages(&Usage::default(), out))
                        .end();
                })
            });
        }
        match piece {
            Piece::Text(text) => self.text(text, out),
            Piece::Break => self.text(BREAK, out),
            Piece::Thinking(text) if self.shown.thinking => self.thinking(text, out),
            Piece::Call { id, name, arguments, .. } => {
                let block = Block::Call {
                    id: id.to_string(),
                    name: name.to_owned(),
                    arguments: arguments.to_owned(),
                };
                self.open(block, out);
                self.delta("input_json_delta", "partial_json", arguments, out);
                self.close(out);
            }
            Piece::Citation(citation) => self.citation(citation, out),
            Piece::End { end, usage: tokens, .. } => {
                self.close(out);
                let reason = match end {
                    End::Stop | End::Input | End::Approval => "end_turn",
                    End::Length => "max_tokens",
                    End::Filter | End::Refusal => "refusal",
                    End::Calls => "tool_use",
                };
                self.event("message_delta", out, |object| {
                    object
                        .by("delta", |out| {
                            Object::begin(out)
                                .with("stop_reason", reason)
                                .with("stop_sequence", &None::<()>)
                                .end();
                        })
                        .by("usage", |out| usage::messages(tokens, out))
                });
                self.event("message_stop", out, |object| object);
                self.end = Some(Ok((reason, tokens.clone())));
            }
            Piece::Failed(fault) => {
                self.event("error", out, |object| object.by("error", |out| fault.write_messages(out)));
                self.end = Some(Err(fault));
            }
            _ => {}
        }
    }
}

fn write(block: &Block, out: &mut Vec<u8>) {
    match block {
        Block::Text { text, citations } => {
            let object = Object::begin(out).with("type", "text").with("text", text);
            match citations.is_empty() {
                true => object.with("citations", &None::<()>),
                false => object.each("citations", citations, |citation, out| out.extend_from_slice(citation)),
            }
            .end();
        }
        Block::Thinking(text) => {
            Object::begin(out).with("type", "thinking").with("thinking", text).with("signature", "").end();
        }
        Block::Call { id, name, arguments } => Object::begin(out)
            .with("type", "tool_use")
            .with("id", id)
            .with("name", name)
            .by("input", |out| write_json(out, arguments))
            .end(),
    }
}

impl Tell for Reply {
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>) {
        let mut answer = std::mem::take(&mut self.answer);
        answer.entry(entry, &mut |piece| self.piece(piece, out));
        self.answer = answer;
    }

    fn view(&mut self, view: &View, _: u64, out: &mut Vec<u8>) {
        let mut answer = std::mem::take(&mut self.answer);
        answer.view(view, &mut |piece| self.piece(piece, out));
        self.answer = answer;
    }
}
