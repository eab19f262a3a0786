//! The message that the candidates of a reply make.

use attache_core::message::{MadeDocument, Metadata, OpaquePart, ReplayData};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, Document, FinishReason, ReasoningPart, TextPart, ToolCall,
};
use attache_transport::{ChunkSink, Reading};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::candidate::{Call, Candidate, Piece, Words, is_known};
use super::{citations, grounding};

/// The members that go back with a part: its signature and, where the part reads differently here, its own text.
#[derive(Serialize)]
struct Replay<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(rename = "thoughtSignature")]
    signature: &'a str,
}

/// The parts of one message, out of one candidate or several.
pub(super) struct Message<'a> {
    reading: &'a Reading,
    parts: Vec<AssistantPart>,
    /// White space that waits for a text to stand with.
    blank: String,
    calls: usize,
    /// Calls of the reply are not to be run.
    stopped: bool,
    /// The model called what it was not to call.
    unexpected: bool,
    has_text: bool,
    logprobs: Vec<Value>,
    metadata: Metadata,
}

impl<'a> Message<'a> {
    pub(super) fn new(reading: &'a Reading, finish: Option<&str>, cut: bool) -> Self {
        let reason = finish.map(finish_reason);
        Self {
            reading,
            parts: Vec::new(),
            blank: String::new(),
            calls: 0,
            stopped: cut || matches!(reason, Some(FinishReason::ContentFilter | FinishReason::Error)),
            unexpected: finish == Some("UNEXPECTED_TOOL_CALL"),
            has_text: false,
            logprobs: Vec::new(),
            metadata: Metadata::new(),
        }
    }

    /// Adds a candidate. Texts of several are joined by line feeds.
    pub(super) fn add(&mut self, candidate: Candidate, out: &mut ChunkSink) {
        let mut separator = if self.has_text { "\n" } else { "" };
        let hidden = !candidate.shown;
        let has_text = candidate.has_text();
        for piece in candidate.pieces {
            match piece {
                // White space alone is no text, and joins none of another candidate.
                Piece::Text(_) if !has_text => {}
                Piece::Text(words) => {
                    let lead = if words.text.trim().is_empty() { "" } else { std::mem::take(&mut separator) };
                    if hidden {
                        out.content([lead, &words.text].concat());
                    }
                    self.blank.push_str(lead);
                    self.text(words);
                }
                Piece::Thought(words) => {
                    if hidden {
                        out.thinking(&*words.text);
                    }
                    self.parts.push(self.thought(words));
                }
                Piece::Call(call) => {
                    if hidden {
                        out.push(call.delta(self.calls));
                    }
                    self.calls += 1;
                    self.parts.push(self.call(call));
                }
                Piece::Document { document, signature } => {
                    let replay = signature.and_then(|signature| signed(self.reading, &signature));
                    let made = MadeDocument::new(document).with_replay(replay);
                    self.parts.push(AssistantPart::Document(made));
                }
                Piece::Sound { samples, media_type } => {
                    self.parts.push(AssistantPart::Document(MadeDocument::new(sound(samples, &media_type))));
                }
                Piece::Opaque { kind, raw } => self.opaque(kind, raw),
            }
        }
        for (kind, raw) in [
            ("urlContextMetadata", candidate.url_context),
            ("groundingMetadata", grounding::merged(candidate.grounding)),
            ("citationMetadata", candidate.citations),
        ] {
            if let Some(raw) = raw {
                self.opaque(kind.to_owned(), raw);
            }
        }
        // A token that came before the end is no place to go on from once the reply is complete.
        let is_open = candidate.finish.as_deref().is_none_or(|word| word == CONTINUATION);
        self.tell("continuationToken", candidate.continuation.filter(|_| is_open).map(Value::String));
        if candidate.finish.as_deref().map(finish_reason) == Some(FinishReason::ContentFilter) {
            self.tell("finishMessage", candidate.message.map(Value::String));
            let ratings = serde_json::from_str(&candidate.ratings).ok();
            self.tell("safetyRatings", ratings);
        }
        self.logprobs
            .extend(candidate.logprobs.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()));
    }

    /// The message. White space that found no text behind it joins the last one, so that the message reads as it was
    /// streamed.
    pub(super) fn into_message(mut self) -> AssistantMessage {
        let blank = std::mem::take(&mut self.blank);
        if !blank.is_empty() {
            let last = self.parts.iter_mut().rev().find_map(|part| match part {
                AssistantPart::Text(text) => Some(text),
                _ => None,
            });
            if let Some(text) = last {
                let signature = text.replay().and_then(|replay| replay.read::<Signed>(&self.reading.family));
                let replay = signature.and_then(|signed| {
                    let own = signed.text.as_deref().unwrap_or(text.text());
                    let replay = Replay { text: Some(own), signature: &signed.signature };
                    Some(self.reading.tag(to_raw_value(&replay).ok()?))
                });
                if let Some(longer) = TextPart::new([text.text(), &blank].concat()) {
                    *text = longer.with_replay(replay);
                }
            }
        }
        let mut message = AssistantMessage::new(self.parts.into_iter().map(Some));
        citations::read(&mut message);
        message.metadata = self.metadata;
        if !self.logprobs.is_empty() {
            message.metadata = message.metadata.with("logprobs", self.logprobs);
        }
        message
    }

    fn tell(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.metadata = std::mem::take(&mut self.metadata).with(name, value);
        }
    }

    fn text(&mut self, words: Words) {
        let Words { text, signature } = words;
        if text.trim().is_empty() {
            self.blank.push_str(&text);
            return;
        }
        let blank = std::mem::take(&mut self.blank);
        let own = (!blank.is_empty()).then_some(&*text);
        let replay = signature.and_then(|signature| {
            Some(self.reading.tag(to_raw_value(&Replay { text: own, signature: &signature }).ok()?))
        });
        self.has_text = true;
        let text = if blank.is_empty() { text } else { blank + &text };
        self.parts.extend(TextPart::new(text).map(|part| AssistantPart::Text(part.with_replay(replay))));
    }

    fn thought(&self, words: Words) -> AssistantPart {
        let replay = words.signature.and_then(|signature| signed(self.reading, &signature));
        AssistantPart::Reasoning(ReasoningPart::new(words.text).with_replay(replay))
    }

    fn call(&self, call: Call) -> AssistantPart {
        let tools = &self.reading.tools;
        // A call of a tool that exists but was off must not run. One of a tool that does not exist cannot, and its
        // result tells the model so.
        let stopped = self.stopped || self.unexpected && is_known(&call.name, tools);
        let arguments =
            if stopped { Arguments::truncated(call.arguments) } else { Arguments::new(call.arguments) };
        let replay = call.signature.and_then(|signature| signed(self.reading, &signature));
        let made = ToolCall::new(tools.internal_name(&call.name), arguments)
            .with_id(call.id)
            .with_provider_id(call.provider_id)
            .with_replay(replay);
        AssistantPart::ToolCall(made)
    }

    fn opaque(&mut self, kind: String, raw: Box<RawValue>) {
        self.parts.push(AssistantPart::Opaque(OpaquePart::new(kind, self.reading.tag(raw))));
    }
}

/// The document of samples without a container. Where their rate is known they get the head of a WAV file, without
/// which nobody can play them: a media type is kept without its parameters. (gemini.md 8)
fn sound(samples: Vec<u8>, media_type: &str) -> Document {
    let parameter = |name: &str| {
        let of = |part: &str| {
            let (key, value) = part.split_once('=')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().parse::<u32>().ok())?
        };
        media_type.split(';').find_map(of).filter(|value| *value > 0)
    };
    let rate = parameter("rate");
    match rate.and_then(|rate| wav(&samples, rate, parameter("channels").unwrap_or(1))) {
        Some(wav) => Document::from_bytes(wav, "audio/wav"),
        None => Document::from_bytes(samples, media_type),
    }
}

/// Samples of 16 bits, the lower byte first, as a WAV file; nothing where its head has no room for the numbers.
fn wav(samples: &[u8], rate: u32, channels: u32) -> Option<Vec<u8>> {
    const HEAD: u32 = 36;
    let length = u32::try_from(samples.len()).ok()?;
    let block = channels.checked_mul(2)?;
    let mut wav = Vec::with_capacity(samples.len().saturating_add(44));
    wav.extend_from_slice(b"RIFF");
    wav.extend_from_slice(&length.checked_add(HEAD)?.to_le_bytes());
    wav.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0");
    wav.extend_from_slice(&u16::try_from(channels).ok()?.to_le_bytes());
    wav.extend_from_slice(&rate.to_le_bytes());
    wav.extend_from_slice(&rate.checked_mul(block)?.to_le_bytes());
    wav.extend_from_slice(&u16::try_from(block).ok()?.to_le_bytes());
    wav.extend_from_slice(b"\x10\0data");
    wav.extend_from_slice(&length.to_le_bytes());
    wav.extend_from_slice(samples);
    Some(wav)
}

/// The data that go back with a part that has this signature.
fn signed(reading: &Reading, signature: &str) -> Option<ReplayData> {
    Some(reading.tag(to_raw_value(&Replay { text: None, signature }).ok()?))
}

/// The members that went into a [`Replay`].
#[derive(serde::Deserialize)]
struct Signed {
    text: Option<String>,
    #[serde(rename = "thoughtSignature")]
    signature: String,
}

/// The reason of a reply that reached the tokens of one request and can be gone on with.
const CONTINUATION: &str = "CONTINUATION";

/// The meaning of a `finishReason`. Unknown ones are kept in the provider's word.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        // The reply hit the limit of one request, and is not complete.
        "MAX_TOKENS" | CONTINUATION => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR"
        | "ESCALATION"
        | "LANGUAGE" => FinishReason::ContentFilter,
        "OTHER" | "TOO_MANY_TOOL_CALLS" | "IMAGE_OTHER" | "NO_IMAGE" | "FINISH_REASON_UNSPECIFIED" => {
            FinishReason::Error
        }
        other => FinishReason::Other(other.to_owned()),
    }
}
