//! One content block of a reply.

use std::collections::BTreeMap;

use attache_core::{AssistantPart, OpaquePart, ProviderCallId, ProviderError, ReasoningPart};
use attache_transport::claude::{CallBlock, TextBlock, ThinkingBlock, read_block};
use attache_transport::{ChunkSink, JsonStr, Reading};
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
    Redacted(RedactedBlock),
    Call(CallBlock),
    /// Any other block: of server tools, images, and whatever comes to exist.
    Opaque(OpaqueBlock),
}

/// Reasoning that the provider hides.
#[derive(Debug, Default)]
pub(super) struct RedactedBlock {
    /// Base64, of each piece for itself.
    pieces: Vec<String>,
}

#[derive(Debug)]
pub(super) struct OpaqueBlock {
    kind: String,
    /// The member of the union, and what it held at the start.
    member: String,
    start: Box<RawValue>,
    /// The pieces after the start.
    input: String,
    results: Vec<Box<RawValue>>,
    images: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse<'a> {
    #[serde(borrow)]
    tool_use_id: Option<JsonStr<'a>>,
    name: Option<JsonStr<'a>>,
    #[serde(rename = "type")]
    kind: Option<JsonStr<'a>>,
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thought<'a> {
    #[serde(borrow)]
    reasoning_text: Option<ReasoningText<'a>>,
    redacted_content: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct ReasoningText<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
    signature: Option<JsonStr<'a>>,
}

#[derive(Deserialize)]
struct Cited<'a> {
    #[serde(borrow)]
    content: Option<Vec<CitedText<'a>>>,
    citations: Option<Vec<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct CitedText<'a> {
    #[serde(borrow)]
    text: Option<JsonStr<'a>>,
}

/// The members of the union that are known, in the order in which one is looked for. Unknown ones may stand beside it.
const MEMBERS: [&str; 7] =
    ["text", "toolUse", "reasoningContent", "citationsContent", "toolResult", "image", "searchResult"];

impl Block {
    /// The block of a whole reply, or nothing if it is an empty union. `slot` is the place of the next tool call.
    pub(super) fn whole(index: u64, raw: &RawValue, slot: usize) -> Result<Option<Self>, ProviderError> {
        let Some((member, value)) = member(raw)? else { return Ok(None) };
        let kind = match &*member {
            "text" => Kind::Text(TextBlock {
                text: JsonStr::owned(Some(read_block(value)?)),
                citations: Vec::new(),
            }),
            "citationsContent" => {
                let Cited { content, citations } = read_block(value)?;
                let texts = content.into_iter().flatten().map(|content| JsonStr::owned(content.text));
                Kind::Text(TextBlock { text: texts.collect(), citations: citations.unwrap_or_default() })
            }
            "reasoningContent" => match read_block(value)? {
                Thought { redacted_content: Some(data), .. } => {
                    Kind::Redacted(RedactedBlock { pieces: vec![data.0.into_owned()] })
                }
                Thought { reasoning_text: Some(ReasoningText { text, signature }), .. } => {
                    Kind::Thinking(ThinkingBlock {
                        text: JsonStr::owned(text),
                        signature: JsonStr::owned(signature),
                    })
                }
                // A kind of reasoning of a later version of the API.
                Thought { .. } => Kind::Opaque(OpaqueBlock::new(None, &member, value)),
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
            Kind::Call(call) => out.push(call.start(call.arguments.clone())),
            Kind::Redacted(_) | Kind::Opaque(_) => {}
        }
    }

    /// True if the piece is of this kind of block.
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
                out.push(call.extend(json.into_owned()));
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
        let start: ToolUse<'_> = read_block(value)?;
        let kind = start.kind.and_then(JsonStr::into_filled);
        Ok(match kind.filter(|kind| kind.contains("server")) {
            // The provider runs it.
            Some(kind) => Self::Opaque(OpaqueBlock::new(Some(kind), member, value)),
            None => {
                let id = start.tool_use_id.and_then(|id| ProviderCallId::parse(id.0));
                let arguments = start.input.map(|input| input.get().to_owned()).unwrap_or_default();
                Self::Call(CallBlock::new(slot, id, JsonStr::owned(start.name), arguments))
            }
        })
    }
}

impl RedactedBlock {
    pub(super) fn into_part(self, reading: &Reading) -> Option<AssistantPart> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Replay {
            redacted_content: String,
        }
        let raw = to_raw_value(&Replay { redacted_content: joined(self.pieces) }).ok()?;
        Some(AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(reading.tag(raw))))
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
    pub(super) fn into_part(self, reading: &Reading) -> AssistantPart {
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
        AssistantPart::Opaque(OpaquePart::new(self.kind, reading.tag(raw)))
    }
}

/// The source of an image that came in pieces.
fn image_source(pieces: &[Box<RawValue>]) -> Option<String> {
    #[derive(Deserialize)]
    struct Image {
        source: Option<Box<RawValue>>,
    }
    #[derive(Deserialize)]
    struct Source {
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
    let mut members: BTreeMap<String, Option<&RawValue>> = read_block(raw)?;
    for known in MEMBERS {
        if let Some(Some(value)) = members.remove(known) {
            return Ok(Some((known.to_owned(), value)));
        }
    }
    Ok(members.into_iter().find_map(|(name, value)| value.map(|value| (name, value))))
}
