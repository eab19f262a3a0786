//! One content block of a reply.

use std::collections::BTreeMap;

use attache_core::message::{MadeDocument, OpaquePart};
use attache_core::{AssistantPart, ProviderCallId, ReasoningPart};
use attache_transport::claude::{Block, CallBlock, OwnBlock, Piece, TextBlock, ThinkingBlock, read_block};
use attache_transport::{JsonStr, Members, Reading, made_document};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::wire::{AUDIO, IMAGE, RESULTS};
use crate::error::Result;

/// The blocks that this API alone has.
#[derive(Debug)]
pub(crate) enum Own {
    /// Reasoning that only the provider can read, in pieces.
    Redacted(Vec<String>),
    /// Any other block: of server tools, and whatever comes to exist.
    Opaque(OpaqueBlock),
}

#[derive(Debug)]
pub(crate) struct OpaqueBlock {
    kind: String,
    /// The member of the union, and what it held at the start.
    member: String,
    start: Box<RawValue>,
    /// The pieces after the start.
    input: String,
    results: Vec<Box<RawValue>>,
    images: Vec<Box<RawValue>>,
    /// It came to its end.
    closed: bool,
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
const MEMBERS: [&str; 8] = [
    "text",
    "toolUse",
    "reasoningContent",
    "citationsContent",
    "toolResult",
    "image",
    "audio",
    "searchResult",
];

/// The block of a whole reply, or nothing if it is an empty union. `slot` is the place of the next tool call.
pub(super) fn whole(raw: &RawValue, slot: usize) -> Result<Option<Block<Own>>> {
    let Some((member, value)) = member(raw)? else { return Ok(None) };
    Ok(Some(match &*member {
        "text" => {
            Block::Text(TextBlock { text: JsonStr::owned(Some(read_block(value)?)), citations: Vec::new() })
        }
        "citationsContent" => {
            let Cited { content, citations } = read_block(value)?;
            let texts = content.into_iter().flatten().map(|content| JsonStr::owned(content.text));
            Block::Text(TextBlock { text: texts.collect(), citations: citations.unwrap_or_default() })
        }
        "reasoningContent" => match read_block(value)? {
            Thought { redacted_content: Some(data), .. } => {
                Block::Own(Own::Redacted(vec![data.0.into_owned()]))
            }
            Thought { reasoning_text: Some(ReasoningText { text, signature }), .. } => {
                Block::Thinking(ThinkingBlock {
                    text: JsonStr::owned(text),
                    signature: JsonStr::owned(signature),
                })
            }
            // A kind of reasoning of a later version of the API.
            Thought { .. } => OpaqueBlock::block(None, &member, value),
        },
        _ => begun(&member, value, slot)?,
    }))
}

/// The block that the `start` of an event begins, or nothing if it is an empty union.
pub(super) fn started(start: &RawValue, slot: usize) -> Result<Option<Block<Own>>> {
    let Some((member, value)) = member(start)? else { return Ok(None) };
    begun(&member, value, slot).map(Some)
}

fn begun(member: &str, value: &RawValue, slot: usize) -> Result<Block<Own>> {
    if member != "toolUse" {
        return Ok(OpaqueBlock::block(None, member, value));
    }
    let start: ToolUse<'_> = read_block(value)?;
    let kind = start.kind.and_then(JsonStr::into_filled);
    Ok(match kind.filter(|kind| kind.contains("server")) {
        // The provider runs it.
        Some(kind) => OpaqueBlock::block(Some(kind), member, value),
        None => {
            let id = start.tool_use_id.and_then(|id| ProviderCallId::parse(id.0));
            let arguments = start.input.map(|input| input.get().to_owned()).unwrap_or_default();
            Block::Call(CallBlock::new(slot, id, JsonStr::owned(start.name), arguments))
        }
    })
}

impl OwnBlock for Own {
    const LOOSE: bool = true;

    fn implied(piece: &Piece<'_>) -> Option<Self> {
        matches!(piece, Piece::Redacted(_)).then(|| Self::Redacted(Vec::new()))
    }

    fn takes(&self, piece: &Piece<'_>) -> bool {
        match self {
            Self::Redacted(_) => matches!(piece, Piece::Redacted(_)),
            Self::Opaque(_) => matches!(piece, Piece::Json(_) | Piece::Own(..)),
        }
    }

    fn extend(&mut self, piece: Piece<'_>) {
        match (self, piece) {
            (Self::Redacted(pieces), Piece::Redacted(data)) => pieces.push(data.into_owned()),
            (Self::Opaque(block), piece) => block.extend(piece),
            _ => {}
        }
    }

    fn close(&mut self) {
        if let Self::Opaque(block) = self {
            block.closed = true;
        }
    }

    fn into_part(self, cut: bool, reading: &Reading) -> Option<AssistantPart> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Replay {
            redacted_content: String,
        }
        match self {
            Self::Redacted(pieces) => {
                let raw = to_raw_value(&Replay { redacted_content: joined(pieces) }).ok()?;
                Some(AssistantPart::Reasoning(ReasoningPart::redacted().with_replay(reading.tag(raw))))
            }
            Self::Opaque(block) => Some(block.into_part(cut, reading)),
        }
    }
}

impl OpaqueBlock {
    /// A block that is, or starts with, the union's `member`.
    fn block(kind: Option<String>, member: &str, value: &RawValue) -> Block<Own> {
        Block::Own(Own::Opaque(Self {
            kind: kind.unwrap_or_else(|| member.to_owned()),
            member: member.to_owned(),
            start: value.to_owned(),
            input: String::new(),
            results: Vec::new(),
            images: Vec::new(),
            closed: false,
        }))
    }

    fn extend(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Json(json) => self.input.push_str(&json),
            Piece::Own(RESULTS, list) => {
                self.results
                    .extend(serde_json::from_str::<Vec<Box<RawValue>>>(list.get()).unwrap_or_default());
            }
            Piece::Own(_, image) => self.images.push(image.to_owned()),
            _ => {}
        }
    }

    /// The block as it came or, where pieces followed or none came, as it would have come whole. An image that broke
    /// off, or that could not be made, is no document.
    fn into_part(self, cut: bool, reading: &Reading) -> AssistantPart {
        let mut value = self.start.get().trim().to_owned();
        let mut add = |name: &str, json: &str| {
            if value.ends_with('}') {
                value.pop();
                value.truncate(value.trim_end().len());
                let comma = if value.ends_with('{') { "" } else { "," };
                value.push_str(&format!("{comma}\"{name}\":{json}}}"));
            }
        };
        let lacks = |member: &str, name: &str| {
            let start = Members::of(self.start.get()).filter(|_| self.member == member);
            start.is_some_and(|start| start.get(name).is_none())
        };
        if RawValue::from_string(self.input.clone()).is_ok() {
            add("input", &self.input);
        } else if lacks("toolUse", "input") {
            add("input", "{}");
        }
        if self.results.is_empty() && lacks("toolResult", "content") {
            add("content", "[]");
        }
        if let Some(results) = Some(&self.results).filter(|results| !results.is_empty()) {
            let results: Vec<&str> = results.iter().map(|result| result.get()).collect();
            add("content", &format!("[{}]", results.join(",")));
        }
        if let Some(source) = image_source(&self.images) {
            add("source", &source);
        }
        let error = image_error(&self.images);
        if let Some(error) = &error {
            add("error", error.get());
        }
        let is_whole = error.is_none() && (self.closed || self.images.is_empty() || !cut);
        if is_whole && let Some(made) = made(&self.member, &value) {
            return made;
        }
        // The name of a member is plain, and everything else was JSON.
        let raw = RawValue::from_string(format!("{{\"{}\":{value}}}", self.member)).unwrap_or(self.start);
        AssistantPart::Opaque(OpaquePart::new(self.kind, reading.tag(raw)))
    }
}

/// An image or sound, or a piece of an image.
#[derive(Deserialize)]
struct Media {
    format: Option<String>,
    source: Option<Box<RawValue>>,
    /// It could not be made.
    error: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Source {
    bytes: Option<String>,
}

/// The document of an image or sound that the model made. An address of one is none.
fn made(member: &str, json: &str) -> Option<AssistantPart> {
    let is_media = matches!(member, IMAGE | AUDIO);
    let Media { format, source, .. } = serde_json::from_str(Some(json).filter(|_| is_media)?).ok()?;
    let source: Source = serde_json::from_str(source?.get()).ok()?;
    let media_type = match (member, format.as_deref()) {
        (IMAGE, format) => format!("image/{}", format.unwrap_or("png")),
        // (bedrock.md 4)
        (_, Some("mp3" | "mpeg" | "mpga") | None) => "audio/mpeg".to_owned(),
        (_, Some("m4a")) => "audio/mp4".to_owned(),
        (_, Some("mka" | "mkv")) => "audio/x-matroska".to_owned(),
        (_, Some("x-aac")) => "audio/aac".to_owned(),
        (_, Some(format)) => format!("audio/{format}"),
    };
    MadeDocument::new(made_document(&source.bytes?, &media_type)?).into()
}

/// The source of an image that came in pieces.
fn image_source(pieces: &[Box<RawValue>]) -> Option<String> {
    let sources = pieces.iter().filter_map(|raw| serde_json::from_str::<Media>(raw.get()).ok()?.source);
    let sources: Vec<_> = sources.collect();
    let bytes = sources.iter().filter_map(|raw| serde_json::from_str::<Source>(raw.get()).ok()?.bytes);
    match (bytes.collect::<Vec<_>>(), sources.last()) {
        (bytes, Some(last)) if bytes.is_empty() => Some(last.get().to_owned()),
        (bytes, Some(_)) => Some(format!("{{\"bytes\":{}}}", serde_json::to_string(&joined(bytes)).ok()?)),
        (_, None) => None,
    }
}

/// The reason why an image could not be made.
fn image_error(pieces: &[Box<RawValue>]) -> Option<Box<RawValue>> {
    pieces.iter().rev().find_map(|raw| serde_json::from_str::<Media>(raw.get()).ok()?.error)
}

/// Pieces that are base64 each for itself, as one.
fn joined(mut pieces: Vec<String>) -> String {
    if pieces.len() <= 1 {
        return pieces.pop().unwrap_or_default();
    }
    let decoded = pieces.iter().map(attache_core::base64::decode_whole);
    match decoded.collect::<Option<Vec<_>>>() {
        Some(decoded) => attache_core::base64::encode(decoded.concat()),
        None => pieces.concat(),
    }
}

/// The member of a union that is set, and its value. Unknown ones may stand beside a known one.
fn member(raw: &RawValue) -> Result<Option<(String, &RawValue)>> {
    let mut members: BTreeMap<String, Option<&RawValue>> = read_block(raw)?;
    for known in MEMBERS {
        if let Some(Some(value)) = members.remove(known) {
            return Ok(Some((known.to_owned(), value)));
        }
    }
    Ok(members.into_iter().find_map(|(name, value)| value.map(|value| (name, value))))
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn pieces_are_joined_as_they_were_written() {
        let joined = |pieces: &[&str]| joined(pieces.iter().map(|piece| (*piece).to_owned()).collect());
        // Each for itself, as botocore decodes and we read them.
        assert_eq!(joined(&["AAE=", "AgM="]), "AAECAw==");
        // One text that was cut where it stands for no whole bytes, or in the midst of its alphabet.
        assert_eq!(joined(&["AAE", "CAw=="]), "AAECAw==");
        assert_eq!(joined(&["AAEC", "Aw=="]), "AAECAw==");
        assert_eq!(joined(&["AAECAw"]), "AAECAw");
    }
}
