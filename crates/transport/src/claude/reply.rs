//! The content blocks of a reply, put together as their pieces come.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use attache_core::citation::Citation;
use attache_core::{AssistantPart, FinishReason, ProviderError};
use serde_json::Value;
use serde_json::value::RawValue;

use super::blocks::{CallBlock, TextBlock, ThinkingBlock, ToldTexts, append_blank, settle_citations};
use crate::error::malformed;
use crate::reading::Reading;
use crate::reply::ChunkSink;

/// The maximum number of content blocks of a reply. A cited answer has hundreds.
const MAX_BLOCKS: usize = 10_000;

/// The content of a block; `O` is that which one API alone has.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a codec makes each kind, so that a new one is for it to see")]
pub enum Block<O> {
    /// Text.
    Text(TextBlock),
    /// Reasoning.
    Thinking(ThinkingBlock),
    /// A tool call.
    Call(CallBlock),
    /// Any other block.
    Own(O),
}

/// One piece of a block.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a codec reads each kind, so that a new one is for it to see")]
pub enum Piece<'a> {
    /// Of a text.
    Text(Cow<'a, str>),
    /// Of reasoning.
    Thinking(Cow<'a, str>),
    /// Of the signature of reasoning.
    Signature(Cow<'a, str>),
    /// Of reasoning that only the provider can read.
    Redacted(Cow<'a, str>),
    /// Of the text of a JSON object.
    Json(Cow<'a, str>),
    /// A citation.
    Citation(&'a RawValue),
    /// The value of a member that one API alone has.
    Own(&'static str, &'a RawValue),
}

/// The blocks that one API alone has.
pub trait OwnBlock: fmt::Debug + Sized {
    /// Blocks need no start, and a piece goes to the block that takes its kind; signatures come in pieces. Otherwise a
    /// piece that its block does not take says nothing, and a signature is whole.
    const LOOSE: bool;

    /// The block that a piece without a start begins.
    fn implied(piece: &Piece<'_>) -> Option<Self>;

    /// True if the piece can be one of this block.
    fn takes(&self, piece: &Piece<'_>) -> bool;

    /// Takes a piece.
    fn extend(&mut self, piece: Piece<'_>);

    /// Ends the block.
    fn close(&mut self) {}

    /// The part of the message that the block becomes; the reply broke off in one that is `cut`.
    fn into_part(self, cut: bool, reading: &Reading) -> Option<AssistantPart>;
}

/// The end of a reply, which tells if its last block is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a codec makes each kind, so that a new one is for it to see")]
pub enum Ending {
    /// The model said everything.
    Complete,
    /// The model came to a limit of tokens, in its last block. If that is a call whose pieces make a whole object, the
    /// call is complete.
    AtLimit,
    /// The reply broke off in its last block.
    Cut,
}

impl Ending {
    /// The ending of a reply that has a reason.
    pub fn of(reason: &FinishReason) -> Self {
        match reason {
            FinishReason::Length => Self::AtLimit,
            FinishReason::ContentFilter | FinishReason::Refusal => Self::Cut,
            _ => Self::Complete,
        }
    }
}

/// The blocks of a reply so far, in order.
#[derive(Debug)]
pub struct Blocks<O> {
    list: Vec<(u64, Block<O>)>,
    /// The last block of each index, where blocks take turns.
    by_index: BTreeMap<u64, usize>,
    calls: usize,
    /// Calls before this block were given up.
    given_up: usize,
    told: ToldTexts,
    citation: fn(&Value) -> Citation,
}

impl<O: OwnBlock> Blocks<O> {
    /// None yet. `citation` reads the citations of the API.
    pub fn new(citation: fn(&Value) -> Citation) -> Self {
        let (list, by_index, told) = (Vec::new(), BTreeMap::new(), ToldTexts::default());
        Self { list, by_index, calls: 0, given_up: 0, told, citation }
    }

    /// The place of the next tool call among the calls.
    pub fn next_slot(&self) -> usize {
        self.calls
    }

    /// Gives up the calls so far: they are no part of the message, though pieces of them were handed out.
    pub fn give_up_calls(&mut self) {
        self.given_up = self.list.len();
    }

    /// Begins the block of that index, or the next one.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](attache_core::ErrorKind::Malformed) if there are too many.
    pub fn open(
        &mut self,
        index: Option<u64>,
        block: Block<O>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        if self.list.len() >= MAX_BLOCKS {
            return Err(malformed(format!("the reply has more than {MAX_BLOCKS} content blocks")));
        }
        match &block {
            Block::Text(text) => out.content(&*text.text),
            Block::Thinking(thinking) => out.thinking(&*thinking.text),
            Block::Call(call) => {
                self.calls += 1;
                out.push(call.start(call.arguments.clone()));
            }
            Block::Own(_) => {}
        }
        let next = || self.list.last().map_or(0, |(index, _)| index.saturating_add(1));
        let index = index.unwrap_or_else(next);
        self.by_index.insert(index, self.list.len());
        self.list.push((index, block));
        Ok(())
    }

    /// Takes a piece of the block of that index, or of the last one. Where the start of the block is missing, text and
    /// reasoning can do without.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](attache_core::ErrorKind::Malformed) for a piece of a call without its start, and for
    /// too many blocks.
    #[inline]
    pub fn piece(
        &mut self,
        index: Option<u64>,
        piece: Piece<'_>,
        out: &mut ChunkSink,
    ) -> Result<(), ProviderError> {
        let takes = |(at, block): &(u64, Block<O>)| {
            index.is_none_or(|index| *at == index) && (!O::LOOSE || block.takes(&piece))
        };
        let at = match self.list.last() {
            Some(last) if takes(last) => Some(self.list.len() - 1),
            _ => index.and_then(|index| {
                let known = self.by_index.get(&index).copied();
                let known = known.filter(|at| self.list.get(*at).is_some_and(takes));
                // Another kind of block has the index now.
                known.or_else(|| if O::LOOSE { self.list.iter().rposition(takes) } else { None })
            }),
        };
        if let Some((_, block)) = at.and_then(|at| self.list.get_mut(at)) {
            block.extend(piece, out);
            return Ok(());
        }
        let block = match &piece {
            Piece::Text(_) | Piece::Citation(_) => Block::Text(TextBlock::default()),
            Piece::Thinking(_) | Piece::Signature(_) => Block::Thinking(ThinkingBlock::default()),
            Piece::Json(json) if !json.is_empty() => {
                return Err(malformed("a piece of a tool call without its start"));
            }
            other => match O::implied(other) {
                Some(own) => Block::Own(own),
                None => return Ok(()),
            },
        };
        self.open(index, block, out)?;
        if let Some((_, block)) = self.list.last_mut() {
            block.extend(piece, out);
        }
        Ok(())
    }

    /// Ends the block of that index, or the last one: what its start said and no piece did is handed out now, and its
    /// citations.
    pub fn close(&mut self, index: Option<u64>, out: &mut ChunkSink) {
        let at = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.list.len().checked_sub(1),
        };
        let Some(at) = at else { return };
        match self.list.get_mut(at) {
            Some((_, Block::Text(text))) => self.told.tell(at, text, self.citation, out),
            Some((_, Block::Call(call))) => call.close(out),
            Some((_, Block::Own(own))) => own.close(),
            _ => {}
        }
    }

    /// The parts of the message. A call that was still open yields its last delta to `out`. No block is left.
    pub fn finish(&mut self, ending: Ending, reading: &Reading, out: &mut ChunkSink) -> Vec<AssistantPart> {
        self.by_index.clear();
        let last = self.list.len().saturating_sub(1);
        settle_citations(self.list.iter_mut().filter_map(|(_, block)| match block {
            Block::Text(text) => Some(text),
            _ => None,
        }));
        let mut parts = Vec::with_capacity(self.list.len());
        // White space that fills a whole block cannot be sent back. It joins the text that follows, or the last
        // one, so that the message still reads as it was streamed.
        let mut blank = String::new();
        for (at, (_, block)) in self.list.drain(..).enumerate() {
            parts.extend(match block {
                Block::Text(text) => text.into_part(&mut blank, reading),
                Block::Thinking(thinking) => thinking.into_part(reading),
                Block::Call(_) if at < self.given_up => None,
                Block::Call(mut call) => {
                    call.close(out);
                    let cut = match ending {
                        Ending::Complete => false,
                        Ending::AtLimit => at == last && !call.is_whole(),
                        Ending::Cut => at == last,
                    };
                    Some(call.into_part(cut, reading))
                }
                Block::Own(own) => own.into_part(at == last && ending != Ending::Complete, reading),
            });
        }
        append_blank(&mut parts, &blank);
        parts
    }
}

impl<O: OwnBlock> Block<O> {
    fn takes(&self, piece: &Piece<'_>) -> bool {
        match self {
            Self::Text(_) => matches!(piece, Piece::Text(_) | Piece::Citation(_)),
            Self::Thinking(_) => matches!(piece, Piece::Thinking(_) | Piece::Signature(_)),
            Self::Call(_) => matches!(piece, Piece::Json(_)),
            Self::Own(own) => own.takes(piece),
        }
    }

    fn extend(&mut self, piece: Piece<'_>, out: &mut ChunkSink) {
        match (self, piece) {
            (Self::Text(block), Piece::Text(text)) => {
                block.text.push_str(&text);
                out.content(text);
            }
            (Self::Text(block), Piece::Citation(citation)) => block.citations.push(citation.to_owned()),
            (Self::Thinking(block), Piece::Thinking(text)) => {
                block.text.push_str(&text);
                out.thinking(text);
            }
            (Self::Thinking(block), Piece::Signature(piece)) if O::LOOSE => block.signature.push_str(&piece),
            (Self::Thinking(block), Piece::Signature(whole)) if !whole.is_empty() => {
                block.signature = whole.into_owned();
            }
            (Self::Call(call), Piece::Json(json)) if !json.is_empty() => {
                out.push(call.extend(json.into_owned()));
            }
            (Self::Own(own), piece) => own.extend(piece),
            _ => {}
        }
    }
}
