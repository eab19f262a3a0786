//! Content blocks of a reply.

use attache_core::citation::{AnswerSpan, Citation, Span};
use attache_core::{
    Arguments, AssistantPart, ErrorKind, FinishReason, ProviderCallId, ProviderError, ReasoningPart,
    StreamChunk, TextPart, ToolCall, ToolCallId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::reading::Reading;
use crate::reply::ChunkSink;

/// A text, with what it rests on.
#[derive(Debug, Default)]
pub struct TextBlock {
    /// The text so far.
    pub text: String,
    /// Citations in the provider's words.
    pub citations: Vec<Box<RawValue>>,
}

/// The texts whose citations were handed out, each when its block ended.
#[derive(Debug, Default)]
pub(super) struct ToldTexts {
    /// The blocks before this one are told.
    blocks: usize,
    /// The place in the answer where the next text begins, with the white space before it.
    begin: usize,
    end: usize,
    /// The place of the last text that was told.
    claim: Option<AnswerSpan>,
    /// Citations of blank blocks before the first text.
    early: Vec<Box<RawValue>>,
}

impl ToldTexts {
    /// Hands out the citations of the text that the block at `at` is, now that it has ended.
    pub(super) fn tell(
        &mut self,
        at: usize,
        block: &TextBlock,
        citation: impl Fn(&Value) -> Citation,
        out: &mut ChunkSink,
    ) {
        if at < self.blocks {
            return;
        }
        self.blocks = at + 1;
        self.end += block.text.len();
        if !block.is_blank() {
            self.claim = Span::new(self.begin, self.end).map(AnswerSpan::Claim);
            self.begin = self.end;
        } else if self.claim.is_none() {
            self.early.extend_from_slice(&block.citations);
            return;
        }
        for raw in std::mem::take(&mut self.early).iter().chain(&block.citations) {
            let Ok(cited) = serde_json::from_str::<Value>(raw.get()) else { continue };
            out.push(StreamChunk::Citation(Box::new(citation(&cited).with_answer_span(self.claim))));
        }
    }
}

/// Thinking, signed once it is complete.
#[derive(Debug, Default)]
pub struct ThinkingBlock {
    /// The text so far.
    pub text: String,
    /// The signature so far.
    pub signature: String,
}

/// A tool call.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallBlock {
    /// Its place among the calls.
    pub slot: usize,
    /// The text of its arguments so far.
    pub arguments: String,
    /// The arguments of its start, which count where no pieces follow.
    pub input: Option<Box<RawValue>>,
    /// The members that the API wants back with it.
    pub replay: Option<Box<RawValue>>,
    id: ToolCallId,
    provider_id: Option<ProviderCallId>,
    name: String,
    /// Its arguments came in pieces.
    streamed: bool,
}

/// Gives the citations of blank blocks to the text before, or else to the first one, as [`ToldTexts`] tells them: web
/// grounding sends its sources in blocks of their own, without a text (bedrock.md 4).
pub(super) fn settle_citations<'b>(texts: impl Iterator<Item = &'b mut TextBlock>) {
    let (mut last, mut early) = (None::<&mut TextBlock>, Vec::new());
    for text in texts {
        if !text.is_blank() {
            if !early.is_empty() {
                early.append(&mut text.citations);
                text.citations = std::mem::take(&mut early);
            }
            last = Some(text);
        } else if let Some(last) = &mut last {
            last.citations.append(&mut text.citations);
        } else {
            early.append(&mut text.citations);
        }
    }
}

impl TextBlock {
    fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    /// The text with the white space before it; nothing, and more white space, if it is blank.
    pub(super) fn into_part(self, blank: &mut String, reading: &Reading) -> Option<AssistantPart> {
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
        let replay = replay.and_then(|replay| to_raw_value(&replay).ok()).map(|raw| reading.tag(raw));
        TextPart::new(text).map(|part| AssistantPart::Text(part.with_replay(replay)))
    }
}

impl ThinkingBlock {
    /// Reasoning that can be replayed if it is signed; its text may be empty then.
    pub(super) fn into_part(self, reading: &Reading) -> Option<AssistantPart> {
        #[derive(Serialize)]
        struct Replay<'a> {
            signature: &'a str,
        }
        if self.text.is_empty() && self.signature.is_empty() {
            return None;
        }
        let signed = !self.signature.trim().is_empty();
        let replay = signed.then(|| to_raw_value(&Replay { signature: &self.signature }).ok()).flatten();
        let part = ReasoningPart::new(self.text).with_replay(replay.map(|raw| reading.tag(raw)));
        Some(AssistantPart::Reasoning(part))
    }
}

impl CallBlock {
    /// A call as it starts.
    pub fn new(slot: usize, provider_id: Option<ProviderCallId>, name: String, arguments: String) -> Self {
        let (id, input, replay) = (ToolCallId::new(), None, None);
        Self { slot, arguments, input, replay, id, provider_id, name, streamed: false }
    }

    /// The chunk that announces the call, with `arguments` that came with its start.
    pub(super) fn start(&self, arguments: String) -> StreamChunk {
        self.delta((!self.name.is_empty()).then(|| self.name.clone()), arguments)
    }

    /// Takes a piece of the arguments; the chunk that hands it out.
    pub(super) fn extend(&mut self, json: String) -> StreamChunk {
        self.streamed = true;
        self.arguments.push_str(&json);
        self.delta(None, json)
    }

    fn delta(&self, name: Option<String>, arguments_delta: String) -> StreamChunk {
        StreamChunk::ToolCallDelta {
            slot: self.slot,
            id: self.id.clone(),
            provider_id: self.provider_id.clone(),
            name,
            arguments_delta,
        }
    }

    /// Hands out the arguments of the start, if no others came.
    pub(super) fn close(&mut self, out: &mut ChunkSink) {
        if self.arguments.is_empty()
            && let Some(input) = self.input.take()
        {
            input.get().clone_into(&mut self.arguments);
            out.push(self.delta(None, self.arguments.clone()));
        }
    }

    /// True if its pieces make a whole object. An input that came at once, or is empty, may stand for one that was cut.
    pub(super) fn is_whole(&self) -> bool {
        let object = || Arguments::new(&*self.arguments).object();
        self.streamed && object().is_ok_and(|members| !members.is_empty())
    }

    /// The call, under the name that the application gave the tool; `cut` if the reply ended in it.
    pub(super) fn into_part(self, cut: bool, reading: &Reading) -> AssistantPart {
        let arguments =
            if cut { Arguments::truncated(self.arguments) } else { Arguments::new(self.arguments) };
        let call = ToolCall::new(reading.tools.internal_name(&self.name), arguments)
            .with_id(self.id)
            .with_provider_id(self.provider_id)
            .with_replay(self.replay.map(|raw| reading.tag(raw)));
        AssistantPart::ToolCall(call)
    }
}

/// Appends white space that found no text behind it to the last text, so that a message reads as it was streamed.
pub(super) fn append_blank(parts: &mut [AssistantPart], blank: &str) {
    if blank.is_empty() {
        return;
    }
    let last = parts.iter_mut().rev().find_map(|part| match part {
        AssistantPart::Text(text) => Some(text),
        _ => None,
    });
    if let Some(text) = last
        && let Some(longer) = TextPart::new([text.text(), blank].concat())
    {
        *text = longer.with_replay(text.replay().cloned());
    }
}

/// The meaning of a reason to stop. Unknown ones are kept in the provider's word; none at all is taken for an end.
pub fn finish_reason(word: Option<&str>) -> FinishReason {
    match word {
        None | Some("end_turn" | "stop_sequence") => FinishReason::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("refusal") => FinishReason::Refusal,
        // Send the turn back, and the provider goes on.
        Some("pause_turn") => FinishReason::Pause,
        Some(other) => FinishReason::Other(other.to_owned()),
    }
}

/// Reads a content block.
///
/// # Errors
/// [`ErrorKind::Malformed`] for one that is not as the API says.
pub fn read_block<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, ProviderError> {
    serde_json::from_str(raw.get()).map_err(|error| {
        ProviderError::new(ErrorKind::Malformed, "a content block is not as the API says").with_source(error)
    })
}
