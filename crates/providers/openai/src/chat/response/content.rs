//! The content of one generation: a string, or a list of parts in order.

use attache_core::message::OpaquePart;
use attache_core::{AssistantPart, ReasoningPart};
use attache_transport::{ChunkSink, HandedOut, Reading};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::reasoning::Origin;
use super::think_tags::{Split, TagSplitter};
use super::wire::{Content, Part};
use crate::profile::ThinkTags;

/// Text, reasoning parts and parts of other kinds, in the order of the wire. Neighbouring pieces of one kind are
/// one segment, so that a streamed reply and a whole one come out alike.
#[derive(Debug, Default)]
pub(super) struct Body {
    tags: Option<TagSplitter>,
    /// Reasoning that stood between tags.
    tagged: String,
    segments: Vec<Segment>,
    /// Refusals among the parts.
    refusal: String,
    /// The text so far is that of sound.
    is_spoken: bool,
    /// The number of bytes of text that were taken, tags included.
    taken: usize,
}

#[derive(Debug)]
enum Segment {
    Text {
        text: String,
        /// The number of bytes that were handed out. Blank text waits until something visible follows.
        shown: HandedOut,
    },
    Thinking(Thinking),
    Other {
        kind: String,
        json: Box<RawValue>,
    },
}

#[derive(Debug)]
struct Thinking {
    text: String,
    /// The part as it came, if it came in one piece.
    whole: Option<Box<RawValue>>,
    signature: Option<Box<RawValue>>,
    closed: Option<Box<RawValue>>,
}

impl Body {
    pub(super) fn new(tags: ThinkTags) -> Self {
        let tags = match tags {
            ThinkTags::Text => None,
            ThinkTags::AtStart => Some(TagSplitter::new(false)),
            ThinkTags::Opened => Some(TagSplitter::new(true)),
        };
        Self { tags, ..Self::default() }
    }

    /// Takes the content of a delta or message. `mirrored` says that the reasoning also comes in a member of its
    /// own, so that what stands between tags is a copy (openai.md D 46).
    pub(super) fn take(&mut self, content: &Content<'_>, mirrored: bool, out: &mut ChunkSink) {
        match content {
            Content::None => {}
            Content::Text(text) => self.text(text, mirrored, out),
            Content::Parts(parts) => {
                for part in parts {
                    self.part(part, mirrored, out);
                }
            }
            Content::Part(part) => self.part(part, mirrored, out),
        }
    }

    /// Takes the content of a whole message, of which pieces came: the rest of the text, and parts that are new.
    pub(super) fn complete(&mut self, content: &Content<'_>, mirrored: bool, out: &mut ChunkSink) {
        match content {
            Content::None => {}
            Content::Text(text) => {
                // Nearly always there is no more of it than came.
                if text.len() > self.taken
                    && let Some((known, rest)) = text.split_at_checked(self.taken)
                    && self.ends(known)
                {
                    self.text(rest, mirrored, out);
                }
            }
            Content::Parts(_) | Content::Part(_) => {
                let mut whole = Self { tags: self.tags.as_ref().map(TagSplitter::anew), ..Self::default() };
                let mut unseen = ChunkSink::new();
                whole.take(content, mirrored, &mut unseen);
                whole.finish(mirrored, &mut unseen);
                if let Some(rest) = whole.answer().strip_prefix(&*self.answer()) {
                    self.append(rest, out);
                }
                if self.refusal.is_empty() {
                    self.refusal = whole.refusal;
                }
                let is_text = |segment: &Segment| matches!(segment, Segment::Text { .. });
                if self.segments.iter().all(is_text) {
                    let others = whole.segments.into_iter().filter(|segment| !is_text(segment));
                    let others: Vec<Segment> = others.collect();
                    for other in &others {
                        if let Segment::Thinking(thinking) = other {
                            out.thinking(thinking.text.as_str());
                        }
                    }
                    self.segments.splice(0..0, others);
                }
            }
        }
    }

    /// True if the taken text is the end of `known`, which is as long as all of it.
    fn ends(&self, known: &str) -> bool {
        let held = self.tags.as_ref().map_or("", TagSplitter::held);
        let Some(known) = known.strip_suffix(held) else { return false };
        match self.segments.last() {
            Some(Segment::Text { text, .. }) => known.ends_with(text.as_str()),
            Some(_) => false,
            None => known.contains(self.tagged.as_str()),
        }
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.taken == 0 && self.segments.is_empty() && self.refusal.is_empty()
    }

    /// Takes a piece of the text.
    pub(super) fn text(&mut self, text: &str, mirrored: bool, out: &mut ChunkSink) {
        self.taken += text.len();
        match &mut self.tags {
            None => self.append(text, out),
            Some(tags) => {
                let split = tags.push(text);
                self.split(&split, mirrored, out);
            }
        }
    }

    fn split(&mut self, split: &Split, mirrored: bool, out: &mut ChunkSink) {
        if !mirrored {
            self.tagged.push_str(&split.thinking);
            out.thinking(split.thinking.as_str());
        }
        self.append(&split.text, out);
    }

    /// Takes the text of what is said in sound, which stands for the content where there is none.
    pub(super) fn speak(&mut self, said: &str, out: &mut ChunkSink) {
        if self.is_spoken || self.is_blank() {
            self.is_spoken = true;
            self.append(said, out);
        }
    }

    /// Ends the text so far: what follows is one of its own.
    pub(super) fn part_texts(&mut self) {
        if matches!(self.segments.last(), Some(Segment::Text { text, .. }) if !text.is_empty()) {
            self.segments.push(Segment::Text { text: String::new(), shown: HandedOut::default() });
        }
    }

    fn append(&mut self, piece: &str, out: &mut ChunkSink) {
        if piece.is_empty() {
            return;
        }
        if !matches!(self.segments.last(), Some(Segment::Text { .. })) {
            self.segments.push(Segment::Text { text: String::new(), shown: HandedOut::default() });
        }
        let Some(Segment::Text { text, shown }) = self.segments.last_mut() else { return };
        text.push_str(piece);
        out.content_behind(text, shown);
    }

    fn part(&mut self, json: &RawValue, mirrored: bool, out: &mut ChunkSink) {
        let raw = json.get();
        if raw.starts_with('"') {
            let text: String = serde_json::from_str(raw).unwrap_or_default();
            return self.text(&text, mirrored, out);
        }
        let Ok(part) = serde_json::from_str::<Part<'_>>(raw) else { return };
        match part.kind.get().unwrap_or("text") {
            "text" | "output_text" => {
                if let Some(text) = part.text.get() {
                    self.text(text, mirrored, out);
                }
            }
            "refusal" => self.refusal.push_str(part.refusal.get().unwrap_or_default()),
            "thinking" => {
                let text = thinking_text(&part.thinking);
                out.thinking(text.as_str());
                self.think(json, &part, text);
            }
            kind => self.segments.push(Segment::Other { kind: kind.to_owned(), json: json.to_owned() }),
        }
    }

    fn think(&mut self, json: &RawValue, part: &Part<'_>, text: String) {
        let (signature, closed) = (part.signature.map(ToOwned::to_owned), part.closed.map(ToOwned::to_owned));
        match self.segments.last_mut() {
            Some(Segment::Thinking(open)) => {
                open.text.push_str(&text);
                open.whole = None;
                open.signature = signature.or_else(|| open.signature.take());
                open.closed = closed.or_else(|| open.closed.take());
            }
            _ => {
                let whole = Some(json.to_owned());
                self.segments.push(Segment::Thinking(Thinking { text, whole, signature, closed }));
            }
        }
    }

    /// Ends the content: what was held back is known now.
    pub(super) fn finish(&mut self, mirrored: bool, out: &mut ChunkSink) {
        if let Some(split) = self.tags.as_mut().map(TagSplitter::finish) {
            self.split(&split, mirrored, out);
        }
    }

    /// The answer text, without what is blank.
    pub(super) fn answer(&self) -> String {
        let texts = self.segments.iter().filter_map(|segment| match segment {
            Segment::Text { text, .. } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    pub(super) fn is_blank(&self) -> bool {
        let says =
            |segment: &Segment| matches!(segment, Segment::Text { text, .. } if !text.trim().is_empty());
        !self.segments.iter().any(says)
    }

    pub(super) fn refusal(&self) -> &str {
        &self.refusal
    }

    /// The parts in order, reasoning from tags first.
    pub(super) fn into_parts(self, reading: &Reading) -> Vec<AssistantPart> {
        let mut parts = Vec::with_capacity(self.segments.len() + 1);
        if !self.tagged.is_empty() {
            let (open, close) = self.tags.as_ref().map(TagSplitter::around).unwrap_or_default();
            let origin = Origin::Tags { open: open.to_owned(), close: close.to_owned() };
            parts.push(AssistantPart::Reasoning(origin.part(self.tagged, false, reading)));
        }
        for segment in self.segments {
            parts.extend(match segment {
                Segment::Text { text, .. } => AssistantPart::text(text),
                Segment::Thinking(thinking) => Some(AssistantPart::Reasoning(thinking.part(reading))),
                Segment::Other { kind, json } => {
                    Some(AssistantPart::Opaque(OpaquePart::new(kind, reading.tag(json))))
                }
            });
        }
        parts
    }
}

impl Thinking {
    fn part(self, reading: &Reading) -> ReasoningPart {
        let verbatim = self.whole.and_then(|whole| serde_json::from_str(whole.get()).ok());
        let value = verbatim.unwrap_or_else(|| {
            let mut value = json!({"type": "thinking", "thinking": [{"type": "text", "text": self.text}]});
            for (key, member) in [("signature", self.signature), ("closed", self.closed)] {
                let member = member.and_then(|member| serde_json::from_str::<Value>(member.get()).ok());
                if let (Some(member), Some(object)) = (member, value.as_object_mut()) {
                    object.insert(key.to_owned(), member);
                }
            }
            value
        });
        Origin::Content { value }.part(self.text, false, reading)
    }
}

/// The text of a thinking part, which is a string or a list of texts.
fn thinking_text(content: &Content<'_>) -> String {
    match content {
        Content::None => String::new(),
        Content::Text(text) => text.clone().into_owned(),
        Content::Parts(parts) => parts.iter().filter_map(|part| text_of(part)).collect(),
        Content::Part(part) => text_of(part).unwrap_or_default(),
    }
}

fn text_of(part: &RawValue) -> Option<String> {
    let part: Part<'_> = serde_json::from_str(part.get()).ok()?;
    part.text.get().map(str::to_owned)
}
