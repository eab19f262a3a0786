//! One content block of a reply.

use attache_core::{AssistantPart, OpaquePart, ProviderCallId, ProviderError};
use attache_transport::claude::{CallBlock, TextBlock, ThinkingBlock, read_block};
use attache_transport::{ChunkSink, JsonStr, Members, Reading, malformed};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::wire::Piece;

/// A block and its place.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: u64,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Text(TextBlock),
    Thinking(ThinkingBlock),
    /// Kept verbatim: it comes whole.
    Redacted(Box<RawValue>),
    Call(Call),
    /// Any other block: of server tools, and whatever comes to exist.
    Opaque(OpaqueBlock),
}

/// A call, and what the API wants back with it.
#[derive(Debug)]
pub(super) struct Call {
    block: CallBlock,
    /// The `input` of the start, which counts where no pieces follow.
    input: Option<Box<RawValue>>,
    caller: Option<Box<RawValue>>,
    toolset_name: Option<String>,
}

#[derive(Debug)]
pub(super) struct OpaqueBlock {
    kind: String,
    start: Box<RawValue>,
    /// Pieces that came after the start.
    text: String,
    input: String,
    content: Option<Box<RawValue>>,
    citations: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct KindOnly<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct TextStart<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    citations: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct ThinkingStart<'a> {
    #[serde(borrow)]
    thinking: Option<JsonStr<'a>>,
    signature: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct CallStart<'a> {
    #[serde(borrow)]
    id: Option<JsonStr<'a>>,
    name: Option<JsonStr<'a>>,
    input: Option<Box<RawValue>>,
    caller: Option<Box<RawValue>>,
    toolset_name: Option<JsonStr<'a>>,
}

impl Block {
    /// The block that `raw` starts, or is. `slot` is the place of the next tool call.
    pub(super) fn open(index: u64, raw: &RawValue, slot: usize) -> Result<Self, ProviderError> {
        let kind = read_block::<KindOnly<'_>>(raw)?.kind.and_then(JsonStr::into_filled);
        let kind = kind.ok_or_else(|| malformed("a content block without a type"))?;
        let kind = match kind.as_str() {
            "text" => {
                let start: TextStart<'_> = read_block(raw)?;
                Kind::Text(TextBlock {
                    text: JsonStr::owned(start.text),
                    citations: start.citations.unwrap_or_default(),
                })
            }
            "thinking" => {
                let start: ThinkingStart<'_> = read_block(raw)?;
                Kind::Thinking(ThinkingBlock {
                    text: JsonStr::owned(start.thinking),
                    signature: JsonStr::owned(start.signature),
                })
            }
            "redacted_thinking" => Kind::Redacted(raw.to_owned()),
            "tool_use" => {
                let start: CallStart<'_> = read_block(raw)?;
                let id = start.id.and_then(|id| ProviderCallId::parse(id.0));
                Kind::Call(Call {
                    block: CallBlock::new(slot, id, JsonStr::owned(start.name), String::new()),
                    input: start.input,
                    caller: start.caller,
                    toolset_name: start.toolset_name.and_then(JsonStr::into_filled),
                })
            }
            _ => Kind::Opaque(OpaqueBlock {
                kind,
                start: raw.to_owned(),
                text: String::new(),
                input: String::new(),
                content: None,
                citations: Vec::new(),
            }),
        };
        Ok(Self { index, kind })
    }

    /// The block that a piece without a start belongs to, where the piece says what it is.
    pub(super) fn implied(index: u64, piece: &Piece<'_>) -> Option<Self> {
        let kind = match piece {
            Piece::Text(_) => Kind::Text(TextBlock::default()),
            Piece::Thinking(_) => Kind::Thinking(ThinkingBlock::default()),
            _ => return None,
        };
        Some(Self { index, kind })
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Call(_))
    }

    /// Hands out what the start of the block holds already.
    pub(super) fn announce(&self, out: &mut ChunkSink) {
        match &self.kind {
            Kind::Text(block) => out.content(&*block.text),
            Kind::Thinking(block) => out.thinking(&*block.text),
            Kind::Call(call) => out.push(call.block.start(String::new())),
            Kind::Redacted(_) | Kind::Opaque(_) => {}
        }
    }

    /// Takes a piece and hands it out. A piece that does not fit the block is of a kind from a later version of
    /// the API, and skipped.
    pub(super) fn extend(&mut self, piece: Piece<'_>, out: &mut ChunkSink) {
        match (&mut self.kind, piece) {
            (Kind::Text(block), Piece::Text(text)) => {
                block.text.push_str(&text);
                out.content(text);
            }
            (Kind::Text(block), Piece::Citation(citation)) => block.citations.push(citation.to_owned()),
            (Kind::Thinking(block), Piece::Thinking(text)) => {
                block.text.push_str(&text);
                out.thinking(text);
            }
            (Kind::Thinking(block), Piece::Signature(signature)) if !signature.is_empty() => {
                block.signature = signature.into_owned();
            }
            (Kind::Call(call), Piece::Json(json)) if !json.is_empty() => {
                out.push(call.block.extend(json.into_owned()));
            }
            (Kind::Opaque(block), piece) => block.extend(piece),
            _ => {}
        }
    }

    /// The end of the block. A call whose pieces were all empty has what its start said.
    pub(super) fn close(&mut self, out: &mut ChunkSink) {
        if let Kind::Call(call) = &mut self.kind
            && call.block.arguments.is_empty()
            && let Some(input) = call.input.take()
        {
            out.push(call.block.extend(input.get().to_owned()));
        }
    }
}

impl Call {
    /// The call; `cut` if the reply ended in it.
    pub(super) fn into_part(self, cut: bool, reading: &Reading) -> AssistantPart {
        #[derive(Serialize)]
        struct Replay {
            #[serde(skip_serializing_if = "Option::is_none")]
            caller: Option<Box<RawValue>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            toolset_name: Option<String>,
        }
        let extra = self.caller.is_some() || self.toolset_name.is_some();
        let replay = Replay { caller: self.caller, toolset_name: self.toolset_name };
        let replay = extra.then(|| to_raw_value(&replay).ok()).flatten().map(|raw| reading.tag(raw));
        AssistantPart::ToolCall(self.block.into_call(cut, &reading.tools).with_replay(replay))
    }
}

impl OpaqueBlock {
    fn extend(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => self.text.push_str(&text),
            Piece::Json(json) => self.input.push_str(&json),
            Piece::Citation(citation) => self.citations.push(citation.to_owned()),
            Piece::Content(content) => self.content = Some(content.to_owned()),
            Piece::Thinking(_) | Piece::Signature(_) => {}
        }
    }

    /// The block as it came or, where pieces followed, with them in place.
    pub(super) fn into_part(self, reading: &Reading) -> AssistantPart {
        let mut pieces: Vec<(&str, Box<RawValue>)> = Vec::new();
        let input = RawValue::from_string(self.input).ok();
        pieces.extend(input.map(|input| ("input", input)));
        if !self.text.is_empty() {
            pieces.extend(to_raw_value(&self.text).ok().map(|text| ("text", text)));
        }
        pieces.extend(self.content.map(|content| ("content", content)));
        if !self.citations.is_empty() {
            pieces.extend(to_raw_value(&self.citations).ok().map(|citations| ("citations", citations)));
        }
        let members = Members::of(self.start.get()).filter(|_| !pieces.is_empty());
        let whole = members.and_then(|mut members| {
            pieces.iter().for_each(|(name, value)| members.set(name, value));
            to_raw_value(&members).ok()
        });
        let raw = whole.unwrap_or(self.start);
        AssistantPart::Opaque(OpaquePart::new(self.kind, reading.tag(raw)))
    }
}
