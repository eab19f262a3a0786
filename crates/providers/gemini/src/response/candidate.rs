//! One candidate of a reply, put together piece by piece.

use std::borrow::Cow;

use attache_core::{Document, ProviderCallId, StreamChunk, ToolCallId, ToolSet};
use attache_transport::{ChunkSink, made_document};
use serde_json::value::RawValue;

use super::wire::{self, FunctionCall, InlineData, Part, kind_of_part, read};
use crate::error::{Result, malformed, unsupported};

/// The maximum number of parts of a candidate: a reply has one for each run of text, each call and each step of the
/// provider's own tools.
const MAX_PARTS: usize = 10_000;

/// The contents of a candidate, in order.
#[derive(Debug)]
pub(super) enum Piece {
    Text(Words),
    Thought(Words),
    Call(Call),
    /// A document that the model made.
    Document {
        document: Document,
        signature: Option<String>,
    },
    /// Sound without a container, of which a stream brings a piece at a time.
    Sound {
        samples: Vec<u8>,
        media_type: String,
    },
    /// Kept verbatim: parts that only the provider understands, and a signature that stands alone.
    Opaque {
        kind: String,
        raw: Box<RawValue>,
    },
}

/// A run of text. Signed ones are never joined to others.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) signature: Option<String>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) slot: usize,
    pub(super) id: ToolCallId,
    pub(super) provider_id: Option<ProviderCallId>,
    /// On the wire.
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) signature: Option<String>,
}

/// A candidate as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Candidate {
    pub(super) index: u64,
    /// It is handed out as it comes.
    pub(super) shown: bool,
    pub(super) pieces: Vec<Piece>,
    pub(super) calls: usize,
    pub(super) finish: Option<String>,
    /// The provider's message about the end; it may quote the model.
    pub(super) message: Option<String>,
    pub(super) url_context: Option<Box<RawValue>>,
    /// Each part of it as it came.
    pub(super) grounding: Vec<Box<RawValue>>,
    pub(super) citations: Option<Box<RawValue>>,
    /// The likelihood of its tokens, event by event.
    pub(super) logprobs: Vec<Box<RawValue>>,
    /// The harms that it was examined for; the last list that is not empty counts.
    pub(super) ratings: String,
    /// With which a later request goes on with the reply.
    pub(super) continuation: Option<String>,
    /// White space that was not handed out, since no text of this candidate has followed yet. `None` once one has.
    held: Option<String>,
    /// The place of the words of sound among the pieces.
    spoken: Option<usize>,
}

impl Candidate {
    pub(super) fn new(index: u64, shown: bool) -> Self {
        Self { index, shown, held: Some(String::new()), ..Self::default() }
    }

    /// Takes what a chunk says of this candidate.
    pub(super) fn take(
        &mut self,
        given: wire::Candidate<'_>,
        tools: &ToolSet,
        out: &mut ChunkSink,
    ) -> Result<()> {
        for raw in given.content.0.unwrap_or_default().parts.0 {
            self.part(raw, tools, out)?;
        }
        self.finish = given.finish_reason.filled().or_else(|| self.finish.take());
        self.message = given.finish_message.filled().or_else(|| self.message.take());
        self.continuation = given.continuation_token.filled().or_else(|| self.continuation.take());
        for (kept, given) in [
            (&mut self.url_context, given.url_context_metadata),
            (&mut self.citations, given.citation_metadata),
        ] {
            if let Some(given) = given.filter(|raw| !is_empty(raw.get())) {
                *kept = Some(given.to_owned());
            }
        }
        self.rate(given.safety_ratings.map(RawValue::get));
        let is_last = |raw: &RawValue| self.grounding.last().is_some_and(|last| last.get() == raw.get());
        let grounding = given.grounding_metadata.filter(|raw| !is_empty(raw.get()) && !is_last(raw));
        self.grounding.extend(grounding.map(RawValue::to_owned));
        self.logprobs.extend(given.logprobs_result.map(RawValue::to_owned));
        Ok(())
    }

    /// Takes the harms that a chunk names. Each chunk may name them all again.
    pub(super) fn rate(&mut self, ratings: Option<&str>) {
        if let Some(ratings) = ratings.filter(|json| *json != "null" && !is_empty(json)) {
            self.ratings.clear();
            self.ratings.push_str(ratings);
        }
    }

    /// True if it holds an answer or a call.
    pub(super) fn says_something(&self) -> bool {
        let is_document = |piece: &Piece| matches!(piece, Piece::Document { .. } | Piece::Sound { .. });
        self.calls > 0 || self.has_text() || self.pieces.iter().any(is_document)
    }

    /// True if it holds an answer.
    pub(super) fn has_text(&self) -> bool {
        self.pieces.iter().any(Piece::is_text)
    }

    /// True if it holds anything that must not get lost: beside answers and calls, parts of the provider.
    pub(super) fn holds_something(&self) -> bool {
        self.says_something() || self.pieces.iter().any(|piece| matches!(piece, Piece::Opaque { .. }))
    }

    fn part(&mut self, raw: &RawValue, tools: &ToolSet, out: &mut ChunkSink) -> Result<()> {
        let part: Part<'_> = read(raw);
        let signature = part.thought_signature.filled();
        if let Some(call) = part.function_call {
            return self.call(read(call), signature, tools, out);
        }
        let Some(text) = part.text.0 else {
            // One that the model only thinks of is no answer.
            let data = part.inline_data.filter(|_| !part.thought.0).map(read::<InlineData<'_>>);
            let made = data.and_then(|data| {
                let media_type = data.mime_type.filled().unwrap_or_default();
                Some((made_document(&data.data.filled()?, &media_type)?, media_type))
            });
            let spoken = part.audio_transcription.0.filter(|_| !part.thought.0);
            if let Some(spoken) = spoken.and_then(|spoken| spoken.text.filled()) {
                self.speak(&spoken, out);
            }
            if let Some((document, media_type)) = made {
                return match document.bytes() {
                    Some(samples) if signature.is_none() && is_bare_sound(&media_type) => {
                        self.sound(&samples, media_type)
                    }
                    _ => self.add(Piece::Document { document, signature }),
                };
            }
            let Some(kind) = kind_of_part(raw).or_else(|| signature.map(|_| "thoughtSignature".to_owned()))
            else {
                return Ok(());
            };
            return self.add(Piece::Opaque { kind, raw: raw.to_owned() });
        };
        let thought = part.thought.0;
        let Some(signature) = signature else { return self.say(text, thought, out) };
        self.show(&text, thought, out);
        if !thought && text.trim().is_empty() {
            // A text of nothing cannot exist, its signature still goes back to where it stood.
            return self.add(Piece::Opaque { kind: "text".to_owned(), raw: raw.to_owned() });
        }
        self.add(Piece::words(text, thought, Some(signature)))
    }

    /// Takes a piece of a text or of a thought that nothing signs.
    pub(super) fn say(&mut self, text: Cow<'_, str>, thought: bool, out: &mut ChunkSink) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.show(&text, thought, out);
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) if !thought && last.signature.is_none() => last.text.push_str(&text),
            Some(Piece::Thought(last)) if thought && last.signature.is_none() => last.text.push_str(&text),
            _ => return self.add(Piece::words(text, thought, None)),
        }
        Ok(())
    }

    /// Takes the words of sound, which are the text where there is no other. They stand before the sound, whose pieces
    /// stay together.
    fn speak(&mut self, spoken: &str, out: &mut ChunkSink) {
        let others = self.pieces.iter().enumerate().filter(|(at, _)| Some(*at) != self.spoken);
        if others.map(|(_, piece)| piece).any(Piece::is_text) {
            return;
        }
        self.show(spoken, false, out);
        match self.spoken.and_then(|at| self.pieces.get_mut(at)) {
            Some(Piece::Text(words)) => words.text.push_str(spoken),
            _ => {
                let is_made = |piece: &Piece| matches!(piece, Piece::Sound { .. } | Piece::Document { .. });
                let at = self.pieces.iter().position(is_made).unwrap_or(self.pieces.len());
                self.pieces.insert(at, Piece::words(Cow::Borrowed(spoken), false, None));
                self.spoken = Some(at);
            }
        }
    }

    /// Hands out text. White space waits for the text of this candidate that it stands before.
    fn show(&mut self, text: &str, thought: bool, out: &mut ChunkSink) {
        match &mut self.held {
            _ if !self.shown => {}
            _ if thought => out.thinking(text),
            Some(held) if text.trim().is_empty() => held.push_str(text),
            held => out.content(held.take().map_or_else(|| text.to_owned(), |held| held + text)),
        }
    }

    /// A call comes whole, in one part.
    fn call(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<String>,
        tools: &ToolSet,
        out: &mut ChunkSink,
    ) -> Result<()> {
        if call.partial_args.is_some() || call.will_continue.0 {
            return Err(unsupported(
                "arguments that are streamed in pieces are not read; they must be switched off",
            ));
        }
        let name = call.name.filled().unwrap_or_default();
        let call = Call {
            slot: self.calls,
            id: ToolCallId::new(),
            // A word that stands for no id in some languages is none either.
            provider_id: call.id.filled().filter(|id| id != "null").and_then(ProviderCallId::parse),
            name: known_name(&name, tools).to_owned(),
            arguments: call.args.map(|args| args.get().to_owned()).unwrap_or_default(),
            signature,
        };
        if self.shown {
            out.push(call.delta(call.slot));
        }
        self.calls += 1;
        self.add(Piece::Call(call))
    }

    /// Takes samples, which go on where those before them ended.
    fn sound(&mut self, more: &[u8], of: String) -> Result<()> {
        match self.pieces.last_mut() {
            Some(Piece::Sound { samples, media_type }) if *media_type == of => {
                samples.extend_from_slice(more);
                Ok(())
            }
            _ => self.add(Piece::Sound { samples: more.to_vec(), media_type: of }),
        }
    }

    fn add(&mut self, piece: Piece) -> Result<()> {
        if self.pieces.len() >= MAX_PARTS {
            return Err(malformed(format!("the reply has more than {MAX_PARTS} parts")));
        }
        self.pieces.push(piece);
        Ok(())
    }
}

impl Piece {
    fn words(text: Cow<'_, str>, thought: bool, signature: Option<String>) -> Self {
        let words = Words { text: text.into_owned(), signature };
        if thought { Self::Thought(words) } else { Self::Text(words) }
    }

    /// True of a text that says something.
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(words) if !words.text.trim().is_empty())
    }
}

impl Call {
    /// The whole call as one piece, under its slot of the message.
    pub(super) fn delta(&self, slot: usize) -> StreamChunk {
        StreamChunk::ToolCallDelta {
            slot,
            id: self.id.clone(),
            provider_id: self.provider_id.clone(),
            name: (!self.name.is_empty()).then(|| self.name.clone()),
            arguments_delta: self.arguments.clone(),
        }
    }
}

/// The name without the namespace that models put before it, where the rest is a tool's.
fn known_name<'n>(name: &'n str, tools: &ToolSet) -> &'n str {
    let bare = ["default_api.", "default_api:"].into_iter().find_map(|prefix| name.strip_prefix(prefix));
    match bare {
        Some(bare) if !is_known(name, tools) && is_known(bare, tools) => bare,
        _ => name,
    }
}

/// True if a name on the wire is that of a tool.
pub(super) fn is_known(name: &str, tools: &ToolSet) -> bool {
    tools.get(tools.internal_name(name)).is_some()
}

/// True of samples without a container, which can be put together.
fn is_bare_sound(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    ["audio/l16", "audio/pcm"].iter().any(|bare| essence.eq_ignore_ascii_case(bare))
}

/// True of an object or a list without anything.
fn is_empty(json: &str) -> bool {
    let mut bytes = json.bytes().filter(|byte| !byte.is_ascii_whitespace());
    matches!((bytes.next(), bytes.next()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}
