//! Anthropic's Messages: the events of a stream, and the whole answer, by one fold.

use attache_core::{Citation, Usage};

use super::answer::{Answer, BREAK, End, PauseForm, Piece};
use super::location::Citable;
use super::pieces::TellPieces;
use super::{Shown, usage};
use crate::fault::Fault;
use crate::json::{Object, write_json};

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
    citable: Citable,
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
        citable: Citable,
        shown: Shown,
        is_whole: bool,
        pause_form: PauseForm,
    ) -> Self {
        Self {
            id,
            model,
            shown,
            is_whole,
            answer: Answer::telling_pauses(pause_form).whole(is_whole),
            began: false,
            blocks: Vec::new(),
            is_open: false,
            citable,
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

    /// Tells a citation of the last text. Behind other blocks it has one of its own, without text: a stream cannot go back.
    fn citation(&mut self, citation: &Citation, out: &mut Vec<u8>) {
        let mut told = Vec::new();
        self.citable.write(citation, &mut told);
        if self.is_whole {
            let mut texts = self.blocks.iter_mut().rev();
            let last = texts.find_map(|block| match block {
                Block::Text { citations, .. } => Some(citations),
                _ => None,
            });
            if let Some(citations) = last {
                return citations.push(told);
            }
        }
        if !self.is_open || !matches!(self.blocks.last(), Some(Block::Text { .. })) {
            self.open(Block::Text { text: String::new(), citations: Vec::new() }, out);
        }
        self.event("content_block_delta", out, |object| {
            object.with("index", &self.index()).by("delta", |out| {
                Object::begin(out)
                    .with("type", "citations_delta")
                    .by("citation", |out| out.extend_from_slice(&told))
                    .end();
            })
        });
        if let (true, Some(Block::Text { citations, .. })) = (self.is_whole, self.blocks.last_mut()) {
            citations.push(told);
        }
    }
}

fn write(block: &Block, out: &mut Vec<u8>) {
    match block {
        Block::Text { text, citations } => {
            let object = Object::begin(out).with("type", "text").text("text", text);
            match citations.is_empty() {
                true => object.with("citations", &None::<()>),
                false => object.each("citations", citations, |citation, out| out.extend_from_slice(citation)),
            }
            .end();
        }
        Block::Thinking(text) => {
            Object::begin(out).with("type", "thinking").text("thinking", text).with("signature", "").end();
        }
        Block::Call { id, name, arguments } => Object::begin(out)
            .with("type", "tool_use")
            .with("id", id)
            .with("name", name)
            .by("input", |out| write_json(out, arguments))
            .end(),
    }
}

impl TellPieces for Reply {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
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

#[cfg(test)]
mod tests {
    use attache_core::citation::{How, Source};
    use attache_core::{ToolCallId, Usage};

    use super::*;

    /// Tells a text, a call of the client's, and a citation that comes behind it.
    fn told(is_whole: bool) -> (Reply, String) {
        let shown = Shown { details: true, thinking: true };
        let (id, model) = ("msg_1".to_owned(), "papers".to_owned());
        let mut reply = Reply::new(id, model, Citable::default(), shown, is_whole, PauseForm::Never);
        let source = Source::Url { url: "https://example.org".to_owned(), title: None };
        let (citation, call, usage) =
            (Citation::new(source, How::Native), ToolCallId::parse("c").unwrap(), Usage::default());
        let mut out = Vec::new();
        let pieces = [
            Piece::Text("900"),
            Piece::Call { index: 0, id: &call, name: "look", arguments: "{}" },
            Piece::Citation(&citation),
            Piece::End { end: End::Calls, usage: &usage, total: &usage, outcome: None },
        ];
        pieces.into_iter().for_each(|piece| reply.piece(piece, &mut out));
        (reply, String::from_utf8(out).unwrap())
    }

    // A36: a stream cannot go back to a block that was told to its end.
    #[test]
    fn a_citation_behind_its_text_is_told() {
        let (_, events) = told(false);
        let begins = events.find("\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"").unwrap();
        let cites = events.find("\"index\":2,\"delta\":{\"type\":\"citations_delta\"").unwrap();
        assert!(
            begins < cites && events.contains("{\"type\":\"content_block_stop\",\"index\":2}"),
            "{events}"
        );
        let whole = String::from_utf8(told(true).0.finish().unwrap()).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(whole["content"].as_array().unwrap().len(), 2, "{whole}");
        assert_eq!(whole["content"][0]["citations"][0]["url"], "https://example.org");
    }
}
