//! One content block of a reply.

use attache_core::message::OpaquePart;
use attache_core::{AssistantPart, ProviderCallId, ReasoningPart};
use attache_transport::claude::{Block, CallBlock, OwnBlock, Piece, TextBlock, ThinkingBlock, read_block};
use attache_transport::{JsonStr, Members, Reading, malformed};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::error::Result;

/// The kind of the block where a model that declined hands the turn over to another.
pub(crate) const FALLBACK: &str = "fallback";

/// The blocks that this API alone has.
#[derive(Debug)]
pub(crate) enum Own {
    /// Reasoning kept verbatim: it comes whole.
    Redacted(Box<RawValue>),
    /// Any other block: of server tools, and whatever comes to exist.
    Opaque(OpaqueBlock),
}

#[derive(Debug)]
pub(crate) struct OpaqueBlock {
    kind: String,
    start: Box<RawValue>,
    /// Pieces that came after the start.
    text: String,
    input: String,
    /// Members that came with their names.
    members: Vec<(&'static str, Box<RawValue>)>,
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

impl CallStart<'_> {
    /// The members that the API wants back with the call.
    fn replay(&self) -> Option<Box<RawValue>> {
        #[derive(Serialize)]
        struct Replay<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            caller: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            toolset_name: Option<&'a str>,
        }
        let toolset_name = self.toolset_name.as_ref().map(|name| &*name.0).filter(|name| !name.is_empty());
        let replay = Replay { caller: self.caller.as_deref(), toolset_name };
        (replay.caller.is_some() || toolset_name.is_some()).then(|| to_raw_value(&replay).ok()).flatten()
    }
}

/// The block that `raw` starts, or is. `slot` is the place of the next tool call.
pub(super) fn read(raw: &RawValue, slot: usize) -> Result<Block<Own>> {
    let kind = read_block::<KindOnly<'_>>(raw)?.kind.and_then(JsonStr::into_filled);
    let kind = kind.ok_or_else(|| malformed("a content block without a type"))?;
    Ok(match kind.as_str() {
        "text" => {
            let start: TextStart<'_> = read_block(raw)?;
            Block::Text(TextBlock {
                text: JsonStr::owned(start.text),
                citations: start.citations.unwrap_or_default(),
            })
        }
        "thinking" => {
            let start: ThinkingStart<'_> = read_block(raw)?;
            Block::Thinking(ThinkingBlock {
                text: JsonStr::owned(start.thinking),
                signature: JsonStr::owned(start.signature),
            })
        }
        "redacted_thinking" => Block::Own(Own::Redacted(raw.to_owned())),
        "tool_use" => {
            let start: CallStart<'_> = read_block(raw)?;
            let replay = start.replay();
            let id = start.id.and_then(|id| ProviderCallId::parse(id.0));
            let mut call = CallBlock::new(slot, id, JsonStr::owned(start.name), String::new());
            (call.input, call.replay) = (start.input, replay);
            Block::Call(call)
        }
        _ => Block::Own(Own::Opaque(OpaqueBlock {
            kind,
            start: raw.to_owned(),
            text: String::new(),
            input: String::new(),
            members: Vec::new(),
            citations: Vec::new(),
        })),
    })
}

/// The model that goes on behind a block, if that is where the one before declined; none if the block does not say.
pub(super) fn fallback(block: &Block<Own>) -> Option<Option<String>> {
    #[derive(Deserialize)]
    struct Fallback {
        to: Model,
    }
    #[derive(Deserialize)]
    struct Model {
        model: String,
    }
    let Block::Own(Own::Opaque(OpaqueBlock { kind, start, .. })) = block else { return None };
    let read = || serde_json::from_str::<Fallback>(start.get()).ok();
    (kind == FALLBACK).then(|| read().map(|fallback| fallback.to.model))
}

impl OwnBlock for Own {
    const LOOSE: bool = false;

    fn implied(_: &Piece<'_>) -> Option<Self> {
        None
    }

    fn takes(&self, _: &Piece<'_>) -> bool {
        true
    }

    fn extend(&mut self, piece: Piece<'_>) {
        if let Self::Opaque(block) = self {
            block.extend(piece);
        }
    }

    fn into_part(self, _: bool, reading: &Reading) -> Option<AssistantPart> {
        Some(match self {
            Self::Redacted(raw) => {
                AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(reading.tag(raw)))
            }
            Self::Opaque(block) => block.into_part(reading),
        })
    }
}

impl OpaqueBlock {
    fn extend(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => self.text.push_str(&text),
            Piece::Json(json) => self.input.push_str(&json),
            Piece::Citation(citation) => self.citations.push(citation.to_owned()),
            Piece::Own(name, value) => {
                self.members.retain(|(known, _)| *known != name);
                self.members.push((name, value.to_owned()));
            }
            Piece::Thinking(_) | Piece::Signature(_) | Piece::Redacted(_) => {}
        }
    }

    /// The block as it came or, where pieces followed, with them in place.
    fn into_part(self, reading: &Reading) -> AssistantPart {
        let mut pieces: Vec<(&str, Box<RawValue>)> = Vec::new();
        let input = RawValue::from_string(self.input).ok();
        pieces.extend(input.map(|input| ("input", input)));
        if !self.text.is_empty() {
            pieces.extend(to_raw_value(&self.text).ok().map(|text| ("text", text)));
        }
        pieces.extend(self.members);
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
