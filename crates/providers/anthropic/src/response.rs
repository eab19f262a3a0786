//! A reply, streamed or whole, put together block by block into one message.

mod block;
mod citations;
mod usage;
mod wire;

use attache_core::message::{Metadata, OpaquePart};
use attache_core::{AssistantMessage, AssistantPart, Completion, FinishReason, TextPart};
use attache_transport::claude::{self, Block, Blocks, Ending, TextBlock};
use attache_transport::lenient::RawList;
pub(crate) use attache_transport::malformed;
use attache_transport::{ChunkSink, JsonStr, Reading};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub(crate) use self::block::FALLBACK;
use self::block::Own;
use self::wire::Content;
pub(crate) use self::wire::{Delta, Envelope};
use crate::capabilities::FAMILY;
use crate::error::Result;

/// The kind of the part that names the container in which the provider ran code. It is no content block.
pub(crate) const CONTAINER: &str = "container";

/// The data of the text in which the API says why the model declined. They are no words of the model's, and stay out of
/// the conversation ([`is_explanation`]).
const EXPLAINED: &str = r#"{"explanation":true}"#;

/// True if a text is the API's, not the model's.
pub(crate) fn is_explanation(part: &TextPart) -> bool {
    part.is_refusal()
        && part.replay().is_some_and(|replay| replay.family() == FAMILY && replay.json() == EXPLAINED)
}

/// A reply as far as it has come.
#[derive(Debug)]
pub(crate) struct Reply {
    reading: Reading,
    id: Option<String>,
    model: Option<String>,
    pub(crate) blocks: Blocks<Own>,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
    container: Option<Box<RawValue>>,
    explanation: Option<String>,
    metadata: Metadata,
}

impl Reply {
    /// An empty reply.
    pub(crate) fn new(reading: Reading) -> Self {
        Self {
            reading,
            id: None,
            model: None,
            blocks: Blocks::new(citations::citation),
            usage: Map::new(),
            stop_reason: None,
            container: None,
            explanation: None,
            metadata: Metadata::new(),
        }
    }

    /// Takes a `message_start`, a whole reply with its blocks, or the `delta` of a `message_delta`.
    pub(crate) fn envelope(&mut self, envelope: Envelope<'_>, out: &mut ChunkSink) -> Result<()> {
        renew(&mut self.id, envelope.id);
        renew(&mut self.model, envelope.model);
        match envelope.content {
            Content::Blocks(RawList(blocks)) => {
                for raw in blocks {
                    self.open(None, raw, out)?;
                    self.blocks.close(None, out);
                }
            }
            Content::Text(text) if !text.is_empty() => {
                self.blocks.open(None, Block::Text(TextBlock { text, citations: Vec::new() }), out)?;
            }
            Content::Text(_) | Content::None => {}
            Content::Other => return Err(malformed("the reply is not a message of the API")),
        }
        renew(&mut self.stop_reason, envelope.stop_reason);
        if let Some(sequence) = envelope.stop_sequence.and_then(JsonStr::into_filled) {
            self.tell("stopSequence", sequence);
        }
        if let Some(container) = envelope.container {
            self.container = Some(container.to_owned());
        }
        self.details(envelope.stop_details);
        self.managed(envelope.context_management);
        self.reported("diagnostics", envelope.diagnostics);
        self.transformed(envelope.input_transformations);
        self.used(envelope.usage);
        Ok(())
    }

    /// Takes what stands behind a refusal: a text for people, and the rest for programs.
    fn details(&mut self, details: Option<&RawValue>) {
        let Some(mut details) = object(details) else { return };
        if let Some(Value::String(text)) = details.shift_remove("explanation") {
            self.explanation = Some(text);
        }
        details.retain(|name, value| name != "type" && !value.is_null());
        if !details.is_empty() {
            self.tell("stopDetails", details);
        }
    }

    /// Takes what was done to the context before the model read it.
    pub(crate) fn managed(&mut self, management: Option<&RawValue>) {
        let edits = object(management).and_then(|mut management| management.shift_remove("applied_edits"));
        if let Some(edits @ Value::Array(_)) = edits.filter(|edits| edits.get(0).is_some()) {
            self.tell("appliedEdits", edits);
        }
    }

    /// Takes what the API changed in the request. A later word of it counts.
    pub(crate) fn transformed(&mut self, changes: Option<&RawValue>) {
        self.reported("inputTransformations", changes);
    }

    /// Takes a report that the caller asked for, as it came.
    fn reported(&mut self, name: &str, report: Option<&RawValue>) {
        let report = report.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        if let Some(report) =
            report.filter(|report| *report != Value::Null && *report != Value::Array(Vec::new()))
        {
            self.tell(name, report);
        }
    }

    fn tell(&mut self, name: &str, value: impl Into<Value>) {
        self.metadata = std::mem::take(&mut self.metadata).with(name, value);
    }

    /// Takes a `content_block_start`.
    pub(crate) fn open(&mut self, index: Option<u64>, raw: &RawValue, out: &mut ChunkSink) -> Result<()> {
        let block = block::read(raw, self.blocks.next_slot())?;
        if let Some(model) = block::fallback(&block) {
            // The model that declined may have been cut off in its calls, and the one behind it knows of none.
            self.blocks.give_up_calls();
            self.model = model.or(self.model.take());
        }
        self.blocks.open(index, block, out)
    }

    /// Counts are cumulative: later ones replace earlier ones, absent and null ones replace nothing.
    pub(crate) fn used(&mut self, usage: Option<&RawValue>) {
        for (name, value) in object(usage).unwrap_or_default() {
            if !value.is_null() || !self.usage.contains_key(&name) {
                self.usage.insert(name, value);
            }
        }
    }

    /// The finished reply; `cut` if it never came to its end. A call that was still open yields its last delta to
    /// `out`. The value that is left is empty.
    pub(crate) fn finish(&mut self, cut: bool, out: &mut ChunkSink) -> Completion {
        let reason = finish_reason(self.stop_reason.as_deref());
        let reading = &self.reading;
        let ending = if cut { Ending::Cut } else { Ending::of(&reason) };
        let mut parts = self.blocks.finish(ending, reading, out);
        if reason == FinishReason::Refusal {
            let explanation = self.explanation.take().and_then(TextPart::new);
            parts.extend(explanation.map(|text| {
                let mark = RawValue::from_string(EXPLAINED.to_owned()).ok();
                AssistantPart::Text(text.into_refusal().with_replay(mark.map(|mark| reading.tag(mark))))
            }));
        }
        if let Some(container) = self.container.take() {
            parts.push(AssistantPart::Opaque(OpaquePart::new(CONTAINER, reading.tag(container))));
        }
        let mut message = AssistantMessage::new(parts.into_iter().map(Some));
        citations::read(&mut message);
        message.metadata = std::mem::take(&mut self.metadata);
        let reason = reason.for_message(message.has_tool_calls());
        let mut completion =
            Completion::new(message, reason, usage::normalised(std::mem::take(&mut self.usage)));
        completion.raw_finish_reason = self.stop_reason.take();
        completion.model = self.model.take();
        completion.response_id = self.id.take();
        completion.degradations = std::mem::take(&mut self.reading.degradations);
        completion
    }
}

fn object(raw: Option<&RawValue>) -> Option<Map<String, Value>> {
    serde_json::from_str(raw?.get()).ok()
}

/// Takes what a later envelope says; an empty text says nothing.
fn renew(known: &mut Option<String>, said: Option<JsonStr<'_>>) {
    if let Some(said) = said.and_then(JsonStr::into_filled) {
        *known = Some(said);
    }
}

/// The meaning of a `stop_reason`.
fn finish_reason(word: Option<&str>) -> FinishReason {
    match word {
        // Send the turn back, and the provider goes on.
        Some("compaction") => FinishReason::Pause,
        word => claude::finish_reason(word),
    }
}
