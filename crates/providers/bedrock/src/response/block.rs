//! One content block of a reply.

use std::collections::BTreeMap;

use attache_core::{
    Arguments, AssistantPart, OpaquePart, ProviderCallId, ProviderError, ReasoningPart, StreamChunk,
    TextPart, ToolCall, ToolCallId, ToolSet,
};
use attache_transport::ChunkSink;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

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
    Redacted(RedactedBlock),
    Call(CallBlock),
    /// Any other block: of server tools, images, and whatever comes to exist.
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

/// Reasoning that the provider hides.
#[derive(Debug, Default)]
pub(super) struct RedactedBlock {
    /// Base64, of each piece for itself.
    pieces: Vec<String>,
}

#[derive(Debug)]
pub(super) struct CallBlock {
    slot: usize,
    id: ToolCallId,
    provider_id: Option<ProviderCallId>,
    name: String,
    arguments: String,
}

#[derive(Debug)]
pub(super) struct OpaqueBlock {
    kind: String,
    /// The member of the union, and what it held at the start.
    member: String,
    start: Box<RawValue>,
    /// What came after the start.
    input: String,
    results: Vec<Box<RawValue>>,
    images: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse<'a> {
    #[serde(borrow, default)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reasoning<'a> {
    #[serde(borrow, default)]
    reasoning_text: Option<ReasoningText<'a>>,
    #[serde(borrow, default)]
    redacted_content: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ReasoningText<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    signature: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Cited<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<CitedText<'a>>>,
    #[serde(default)]
    citations: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct CitedText<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
}

/// The members of the union that are known, in the order in which one is looked for. Unknown ones may stand beside it.
const MEMBERS: [&str; 7] =
    ["text", "toolUse", "reasoningContent", "citationsContent", "toolResult", "image", "searchResult"];

impl Block {
    /// The block of a whole reply, or nothing if it is an empty union. `slot` is the place of the next tool call.
    pub(super) fn whole(index: u64, raw: &RawValue, slot: usize) -> Result<Option<Self>, ProviderError> {
        let Some((member, value)) = member(raw)? else { return Ok(None) };
        let kind = match &*member {
            "text" => Kind::Text(TextBlock { text: owned(Some(read(value)?)), citations: Vec::new() }),
            "citationsContent" => {
                let Cited { content, citations } = read(value)?;
                let texts = content.into_iter().flatten().map(|content| owned(content.text));
                Kind::Text(TextBlock { text: texts.collect(), citations: citations.unwrap_or_default() })
            }
            "reasoningContent" => match read(value)? {
                Reasoning { redacted_content: Some(data), .. } => {
                    Kind::Redacted(RedactedBlock { pieces: vec![data.0.into_owned()] })
                }
                Reasoning { reasoning_text: Some(ReasoningText { text, signature }), .. } => {
                    Kind::Thinking(ThinkingBlock { text: owned(text), signature: owned(signature) })
                }
                // A kind of reasoning of a later version of the API.
                Reasoning { .. } => Kind::Opaque(OpaqueBlock::new(None, &member, value)),
            },
            _ => Kind::started(&member, value, slot)?,
        };
        Ok(Some(Self { index, kind }))
    }

    /// The block that the `start` of an event begins, or nothing if it is an empty union.
    pub(super) fn open(index: u64, start: &RawValue, slot: usize) -> Result<Option<Self>, ProviderError> {
        let Some((member, value)) = member(start)? else { return Ok(None) };
        Ok(Some(Self { index, kind: Kind::started(&member, value, slot)? }))
    }

    /// The block that a piece without a start belongs to, where the piece says what it is.
    pub(super) fn implied(index: u64, piece: &Piece<'_>) -> Option<Self> {
        let kind = match piece {
            Piece::Text(_) | Piece::Citation(_) => Kind::Text(TextBlock::default()),
            Piece::Thinking(_) | Piece::Signature(_) => Kind::Thinking(ThinkingBlock::default()),
            Piece::Redacted(_) => Kind::Redacted(RedactedBlock::default()),
            _ => return None,
        };
        Some(Self { index, kind })
    }

    /// Hands out what the block holds from its start.
    pub(super) fn announce(&self, out: &mut ChunkSink) {
        match &self.kind {
            Kind::Text(block) => out.content(&*block.text),
            Kind::Thinking(block) => out.thinking(&*block.text),
            Kind::Call(call) => {
                let name = (!call.name.is_empty()).then(|| call.name.clone());
                out.push(call.delta(name, call.arguments.clone()));
            }
            Kind::Redacted(_) | Kind::Opaque(_) => {}
        }
    }

    /// Whether the piece is of this kind of block.
    pub(super) fn takes(&self, piece: &Piece<'_>) -> bool {
        match &self.kind {
            Kind::Text(_) => matches!(piece, Piece::Text(_) | Piece::Citation(_)),
            Kind::Thinking(_) => matches!(piece, Piece::Thinking(_) | Piece::Signature(_)),
            Kind::Redacted(_) => matches!(piece, Piece::Redacted(_)),
            Kind::Call(_) => matches!(piece, Piece::Json(_)),
            Kind::Opaque(_) => matches!(piece, Piece::Json(_) | Piece::Results(_) | Piece::Image(_)),
        }
    }

    /// Takes a piece that it takes, and hands it out.
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
            (Kind::Thinking(block), Piece::Signature(signature)) => block.signature.push_str(&signature),
            (Kind::Redacted(block), Piece::Redacted(data)) => block.pieces.push(data.into_owned()),
            (Kind::Call(call), Piece::Json(json)) if !json.is_empty() => {
                call.arguments.push_str(&json);
                let delta = call.delta(None, json.into_owned());
                out.push(delta);
            }
            (Kind::Opaque(block), piece) => block.extend(piece),
            _ => {}
        }
    }
}

impl Kind {
    /// A block that has a start: a call, or what only the provider understands.
    fn started(member: &str, value: &RawValue, slot: usize) -> Result<Self, ProviderError> {
        if member != "toolUse" {
            return Ok(Self::Opaque(OpaqueBlock::new(None, member, value)));
        }
        let start: ToolUse<'_> = read(value)?;
        let kind = start.kind.and_then(Text::into_filled);
        Ok(match kind.filter(|kind| kind.contains("server")) {
            // The provider runs it.
            Some(kind) => Self::Opaque(OpaqueBlock::new(Some(kind), member, value)),
            None => Self::Call(CallBlock {
                slot,
                id: ToolCallId::new(),
                provider_id: start.tool_use_id.and_then(|id| ProviderCallId::parse(id.0)),
                name: owned(start.name),
                arguments: start.input.map(|input| input.get().to_owned()).unwrap_or_default(),
            }),
        })
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

impl RedactedBlock {
    pub(super) fn into_part(self, origin: &Origin) -> Option<AssistantPart> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Replay {
            redacted_content: String,
        }
        let raw = to_raw_value(&Replay { redacted_content: joined(self.pieces) }).ok()?;
        Some(AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(origin.tag(raw))))
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
    pub(super) fn into_part(self, cut: bool, tools: &ToolSet) -> AssistantPart {
        let arguments =
            if cut { Arguments::truncated(self.arguments) } else { Arguments::new(self.arguments) };
        let call = ToolCall::new(tools.internal_name(&self.name), arguments)
            .with_id(self.id)
            .with_provider_id(self.provider_id);
        AssistantPart::ToolCall(call)
    }
}

impl OpaqueBlock {
    /// A block that is, or starts with, the union's `member`.
    fn new(kind: Option<String>, member: &str, value: &RawValue) -> Self {
        Self {
            kind: kind.unwrap_or_else(|| member.to_owned()),
            member: member.to_owned(),
            start: value.to_owned(),
            input: String::new(),
            results: Vec::new(),
            images: Vec::new(),
        }
    }

    fn extend(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Json(json) => self.input.push_str(&json),
            Piece::Results(list) => {
                self.results
                    .extend(serde_json::from_str::<Vec<Box<RawValue>>>(list.get()).unwrap_or_default());
            }
            Piece::Image(image) => self.images.push(image.to_owned()),
            _ => {}
        }
    }

    /// The block as it came or, where pieces followed, as it would have come whole.
    pub(super) fn into_part(self, origin: &Origin) -> AssistantPart {
        let mut value = self.start.get().trim().to_owned();
        let mut add = |name: &str, json: &str| {
            if value.ends_with('}') {
                value.pop();
                value.truncate(value.trim_end().len());
                let comma = if value.ends_with('{') { "" } else { "," };
                value.push_str(&format!("{comma}\"{name}\":{json}}}"));
            }
        };
        if RawValue::from_string(self.input.clone()).is_ok() {
            add("input", &self.input);
        }
        if let Some(results) = Some(&self.results).filter(|results| !results.is_empty()) {
            let results: Vec<&str> = results.iter().map(|result| result.get()).collect();
            add("content", &format!("[{}]", results.join(",")));
        }
        if let Some(source) = image_source(&self.images) {
            add("source", &source);
        }
        // The name of a member is plain, and everything else was JSON.
        let raw = RawValue::from_string(format!("{{\"{}\":{value}}}", self.member)).unwrap_or(self.start);
        AssistantPart::Opaque(OpaquePart::new(self.kind, origin.tag(raw)))
    }
}

/// The source of an image that came in pieces.
fn image_source(pieces: &[Box<RawValue>]) -> Option<String> {
    #[derive(Deserialize)]
    struct Image {
        #[serde(default)]
        source: Option<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    struct Source {
        #[serde(default)]
        bytes: Option<String>,
    }
    let sources = pieces.iter().filter_map(|raw| serde_json::from_str::<Image>(raw.get()).ok()?.source);
    let sources: Vec<_> = sources.collect();
    let bytes = sources.iter().filter_map(|raw| serde_json::from_str::<Source>(raw.get()).ok()?.bytes);
    match (bytes.collect::<Vec<_>>(), sources.last()) {
        (bytes, Some(last)) if bytes.is_empty() => Some(last.get().to_owned()),
        (bytes, Some(_)) => Some(format!("{{\"bytes\":{}}}", serde_json::to_string(&joined(bytes)).ok()?)),
        (_, None) => None,
    }
}

/// Pieces that are base64 each for itself, as one.
fn joined(mut pieces: Vec<String>) -> String {
    if pieces.len() <= 1 {
        return pieces.pop().unwrap_or_default();
    }
    let decoded = pieces.iter().map(|piece| base64_simd::STANDARD.decode_to_vec(piece));
    match decoded.collect::<Result<Vec<_>, _>>() {
        Ok(decoded) => base64_simd::STANDARD.encode_to_string(decoded.concat()),
        Err(_) => pieces.concat(),
    }
}

/// The member of a union that is set, and its value. Unknown ones may stand beside a known one.
fn member(raw: &RawValue) -> Result<Option<(String, &RawValue)>, ProviderError> {
    let mut members: BTreeMap<String, Option<&RawValue>> = read(raw)?;
    for known in MEMBERS {
        if let Some(Some(value)) = members.remove(known) {
            return Ok(Some((known.to_owned(), value)));
        }
    }
    Ok(members.into_iter().find_map(|(name, value)| value.map(|value| (name, value))))
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, ProviderError> {
    serde_json::from_str(raw.get())
        .map_err(|error| malformed("a content block is not as the API says").with_source(error))
}

fn owned(text: Option<Text<'_>>) -> String {
    text.map(|text| text.0.into_owned()).unwrap_or_default()
}
