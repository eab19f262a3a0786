//! One content block of a reply.

use attache_core::{
    Arguments, AssistantPart, OpaquePart, ProviderCallId, ProviderError, ReasoningPart, StreamChunk,
    TextPart, ToolCall, ToolCallId, ToolSet,
};
use attache_transport::ChunkSink;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::splice::with_members;
use super::{Origin, Piece, Text, malformed};

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
    Call(CallBlock),
    /// Any other block: of server tools, and whatever comes to exist.
    Opaque(OpaqueBlock),
}

#[derive(Debug, Default)]
pub(super) struct TextBlock {
    text: String,
    citations: Vec<Box<RawValue>>,
}

#[derive(Debug, Default)]
pub(super) struct ThinkingBlock {
    text: String,
    signature: String,
}

#[derive(Debug)]
pub(super) struct CallBlock {
    slot: usize,
    id: ToolCallId,
    provider_id: Option<ProviderCallId>,
    name: String,
    arguments: String,
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
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct TextStart<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(default)]
    citations: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct ThinkingStart<'a> {
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    signature: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct CallStart<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(default)]
    input: Option<Box<RawValue>>,
    #[serde(default)]
    caller: Option<Box<RawValue>>,
    #[serde(borrow, default)]
    toolset_name: Option<Text<'a>>,
}

impl Block {
    /// The block that `raw` starts, or is. `slot` is the place of the next tool call.
    pub(super) fn open(index: u64, raw: &RawValue, slot: usize) -> Result<Self, ProviderError> {
        let kind = read::<KindOnly<'_>>(raw)?.kind.and_then(Text::into_filled);
        let kind = kind.ok_or_else(|| malformed("a content block without a type"))?;
        let kind = match kind.as_str() {
            "text" => {
                let start: TextStart<'_> = read(raw)?;
                Kind::Text(TextBlock {
                    text: owned(start.text),
                    citations: start.citations.unwrap_or_default(),
                })
            }
            "thinking" => {
                let start: ThinkingStart<'_> = read(raw)?;
                Kind::Thinking(ThinkingBlock {
                    text: owned(start.thinking),
                    signature: owned(start.signature),
                })
            }
            "redacted_thinking" => Kind::Redacted(raw.to_owned()),
            "tool_use" => {
                let start: CallStart<'_> = read(raw)?;
                Kind::Call(CallBlock {
                    slot,
                    id: ToolCallId::new(),
                    provider_id: start.id.and_then(|id| ProviderCallId::parse(id.0)),
                    name: owned(start.name),
                    arguments: String::new(),
                    input: start.input,
                    caller: start.caller,
                    toolset_name: start.toolset_name.and_then(Text::into_filled),
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
            Kind::Call(call) => {
                out.push(call.delta((!call.name.is_empty()).then(|| call.name.clone()), String::new()));
            }
            Kind::Redacted(_) | Kind::Opaque(_) => {}
        }
    }

    /// Takes a piece and hands it out. What does not fit the block is a kind of piece from a later version of
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
                call.arguments.push_str(&json);
                let delta = call.delta(None, json.into_owned());
                out.push(delta);
            }
            (Kind::Opaque(block), piece) => block.extend(piece),
            _ => {}
        }
    }

    /// The end of the block. A call whose pieces were all empty has what its start said.
    pub(super) fn close(&mut self, out: &mut ChunkSink) {
        if let Kind::Call(call) = &mut self.kind
            && call.arguments.is_empty()
            && let Some(input) = call.input.take()
        {
            call.arguments.push_str(input.get());
            let delta = call.delta(None, input.get().to_owned());
            out.push(delta);
        }
    }
}

impl TextBlock {
    /// The text with the white space before it; nothing, and more white space, if it is blank.
    pub(super) fn into_part(self, blank: &mut String, origin: &Origin) -> Option<AssistantPart> {
        #[derive(Serialize)]
        struct Replay {
            citations: Vec<Box<RawValue>>,
        }
        let text = if blank.is_empty() { self.text } else { std::mem::take(blank) + &self.text };
        if text.trim().is_empty() {
            *blank = text;
            return None;
        }
        let replay = (!self.citations.is_empty()).then_some(Replay { citations: self.citations });
        let replay = replay.and_then(|replay| to_raw_value(&replay).ok()).map(|raw| origin.tag(raw));
        TextPart::new(text).map(|part| AssistantPart::Text(part.with_replay(replay)))
    }
}

impl ThinkingBlock {
    /// Reasoning that can be replayed if it is signed; its text may be empty then.
    pub(super) fn into_part(self, origin: &Origin) -> Option<AssistantPart> {
        #[derive(Serialize)]
        struct Replay<'a> {
            signature: &'a str,
        }
        if self.text.is_empty() && self.signature.is_empty() {
            return None;
        }
        let signed = !self.signature.trim().is_empty();
        let replay = signed.then(|| to_raw_value(&Replay { signature: &self.signature }).ok()).flatten();
        let part = ReasoningPart::new(self.text).with_replay(replay.map(|raw| origin.tag(raw)));
        Some(AssistantPart::Reasoning(part))
    }
}

impl CallBlock {
    fn delta(&self, name: Option<String>, arguments_delta: String) -> StreamChunk {
        StreamChunk::ToolCallDelta {
            slot: self.slot,
            id: self.id.clone(),
            provider_id: self.provider_id.clone(),
            name,
            arguments_delta,
        }
    }

    /// The call; `cut` if the reply ended in it.
    pub(super) fn into_part(self, cut: bool, tools: &ToolSet, origin: &Origin) -> AssistantPart {
        #[derive(Serialize)]
        struct Replay {
            #[serde(skip_serializing_if = "Option::is_none")]
            caller: Option<Box<RawValue>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            toolset_name: Option<String>,
        }
        let arguments =
            if cut { Arguments::truncated(self.arguments) } else { Arguments::new(self.arguments) };
        let extra = self.caller.is_some() || self.toolset_name.is_some();
        let replay = Replay { caller: self.caller, toolset_name: self.toolset_name };
        let replay = extra.then(|| to_raw_value(&replay).ok()).flatten().map(|raw| origin.tag(raw));
        let call = ToolCall::new(tools.internal_name(&self.name), arguments)
            .with_id(self.id)
            .with_provider_id(self.provider_id)
            .with_replay(replay);
        AssistantPart::ToolCall(call)
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
    pub(super) fn into_part(self, origin: &Origin) -> AssistantPart {
        let mut members: Vec<(&str, Box<RawValue>)> = Vec::new();
        let input = RawValue::from_string(self.input).ok();
        members.extend(input.map(|input| ("input", input)));
        if !self.text.is_empty() {
            members.extend(to_raw_value(&self.text).ok().map(|text| ("text", text)));
        }
        members.extend(self.content.map(|content| ("content", content)));
        if !self.citations.is_empty() {
            members.extend(to_raw_value(&self.citations).ok().map(|citations| ("citations", citations)));
        }
        let raw = with_members(self.start, &members);
        AssistantPart::Opaque(OpaquePart::new(self.kind, origin.tag(raw)))
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, ProviderError> {
    serde_json::from_str(raw.get())
        .map_err(|error| malformed("a content block is not as the API says").with_source(error))
}

fn owned(text: Option<Text<'_>>) -> String {
    text.map(|text| text.0.into_owned()).unwrap_or_default()
}
