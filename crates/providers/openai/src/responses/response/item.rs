//! One item of an answer while it is read.

use attache_core::assembler::AssembledCall;
use attache_core::message::{MadeDocument, OpaquePart, ReplayData};
use attache_core::{Arguments, AssistantPart, ProviderCallId, ReasoningPart, TextPart, ToolCall};
use attache_transport::lenient::{List, Object, Text};
use attache_transport::{ChunkSink, HandedOut, Members, Reading, made_document, made_document_of_uri};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::wire::{self, FUNCTION_CALL, MESSAGE, Part, REASONING};
use crate::error::{Result, too_many};
use crate::response::LOGPROBS;

/// The maximum number of parts of an item.
const MAX_PARTS: usize = 1024;

/// The field that a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Text,
    Refusal,
    /// A summary of reasoning.
    Summary,
    /// Reasoning itself.
    Thought,
    /// The arguments of a call.
    Arguments,
}

impl Field {
    fn is_reasoning(self) -> bool {
        matches!(self, Self::Summary | Self::Thought)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    /// Empty as long as only pieces of it came.
    pub(crate) kind: String,
    /// It asks the client to run a tool.
    pub(crate) is_call: bool,
    pieces: Vec<Written>,
    /// Its call's place among the calls.
    pub(crate) slot: Option<usize>,
    /// The call as the whole item has it, which wins over the pieces.
    pub(crate) called: Called,
    pub(crate) incomplete: bool,
    /// The whole item, once it is known.
    pub(crate) done: Option<Box<RawValue>>,
}

/// A call, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Called {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<String>,
}

/// A text of an item.
#[derive(Debug)]
struct Written {
    field: Field,
    part: u64,
    text: String,
    /// The number of bytes that were handed out. Blank text waits until something visible follows.
    shown: HandedOut,
    /// It was said as a whole.
    done: bool,
}

impl Item {
    pub(crate) fn new(index: Option<u64>, id: Option<&str>) -> Self {
        Self { index, id: id.map(str::to_owned), ..Self::default() }
    }

    /// True if a piece may belong to it, by what is known of it.
    pub(crate) fn takes(&self, field: Field) -> bool {
        match field {
            Field::Arguments => self.is_call || self.is_blank(),
            Field::Text | Field::Refusal => !self.is_call && self.kind != REASONING,
            Field::Summary | Field::Thought => !self.is_call,
        }
    }

    /// True if it may turn out to be of this kind.
    pub(crate) fn may_be(&self, kind: &str) -> bool {
        let reasons = || self.pieces.iter().all(|piece| piece.field.is_reasoning());
        self.kind == kind
            || kind.is_empty()
            || self.is_blank()
            || self.kind.is_empty()
                && match kind {
                    MESSAGE => true,
                    REASONING => reasons(),
                    _ => false,
                }
    }

    fn is_blank(&self) -> bool {
        self.kind.is_empty() && self.pieces.is_empty()
    }

    /// Takes a piece of a text.
    pub(crate) fn write(&mut self, field: Field, part: u64, delta: &str, out: &mut ChunkSink) -> Result<()> {
        let open = |piece: &Written| piece.field == field && piece.part == part && !piece.done;
        let at = match self.pieces.iter().rposition(open) {
            Some(at) => at,
            None if self.pieces.len() >= MAX_PARTS => return Err(too_many("parts")),
            None => {
                self.pieces.push(Written {
                    field,
                    part,
                    text: String::new(),
                    shown: HandedOut::default(),
                    done: false,
                });
                self.pieces.len() - 1
            }
        };
        if let Some(piece) = self.pieces.get_mut(at) {
            piece.text.push_str(delta);
            piece.show(out);
        }
        Ok(())
    }

    /// Takes a text that is complete. It completes the pieces that are its beginning, whichever part they were said to
    /// be of, and is new only where none came of its part.
    pub(crate) fn complete(
        &mut self,
        field: Field,
        part: u64,
        text: &str,
        out: &mut ChunkSink,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let own = |piece: &Written| piece.field == field && piece.part == part;
        let known = self.like(field, part, text, &[]);
        match known.or_else(|| self.pieces.iter().rposition(own)) {
            Some(at) => {
                // One that was complete before is said otherwise now. The whole item will tell.
                let piece = self.pieces.get_mut(at).filter(|piece| known.is_some() || !piece.done);
                if let Some(piece) = piece {
                    piece.complete(text, out);
                }
                Ok(())
            }
            None => self.new_whole(field, part, text, out),
        }
    }

    fn new_whole(&mut self, field: Field, part: u64, text: &str, out: &mut ChunkSink) -> Result<()> {
        self.write(field, part, text, out)?;
        if let Some(piece) = self.pieces.last_mut() {
            piece.done = true;
        }
        Ok(())
    }

    /// Of the pieces that are not taken, those that are the beginning of a whole text, or else its end, which is all
    /// that came where a stream was taken up again. Those of its part are looked at first.
    fn like(&self, field: Field, part: u64, text: &str, taken: &[bool]) -> Option<usize> {
        let find = |sign: &dyn Fn(&Written) -> bool| {
            let mut pieces = self.pieces.iter().enumerate();
            let found = pieces
                .find(|(at, piece)| piece.field == field && taken.get(*at) != Some(&true) && sign(piece));
            found.map(|(at, _)| at)
        };
        find(&|piece| piece.part == part && piece.begins(text))
            .or_else(|| find(&|piece| piece.begins(text)))
            .or_else(|| find(&|piece| !piece.done && text.ends_with(piece.text.as_str())))
    }

    /// True if pieces of it are the beginning of a whole text.
    pub(crate) fn has(&self, field: Field, text: &str) -> bool {
        self.pieces.iter().any(|piece| piece.field == field && piece.begins(text))
    }

    /// True if all of its pieces are in a whole item.
    pub(crate) fn fits(&self, wire: &wire::Item<'_>) -> bool {
        let given = self.texts(wire);
        let is_in = |piece: &Written| {
            given.iter().any(|(field, _, text)| *field == piece.field && piece.begins(text))
        };
        self.pieces.iter().all(is_in)
    }

    /// True if a text of it came.
    pub(crate) fn has_texts(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The texts of a whole item, with what they are and where they stand.
    fn texts<'w>(&self, wire: &'w wire::Item<'_>) -> Vec<(Field, u64, &'w str)> {
        let mut texts = Vec::new();
        for (part, summary) in (0_u64..).zip(&wire.summary.0) {
            let summary = summary.0.as_ref().and_then(|summary| summary.text.get());
            texts.extend(summary.map(|text| (Field::Summary, part, text)));
        }
        for (part, content) in (0_u64..).zip(&wire.content.0) {
            let Some(content) = &content.0 else { continue };
            let field = match content.kind.get() {
                Some("summary_text") => Field::Summary,
                Some("reasoning_text") => Field::Thought,
                _ if self.kind == REASONING => Field::Thought,
                _ => Field::Text,
            };
            texts.extend(content.refusal.get().map(|text| (Field::Refusal, part, text)));
            texts.extend(content.text.get().map(|text| (field, part, text)));
        }
        texts
    }

    /// Takes what the events left out of a message or of reasoning that is complete now. A text of it is the one that
    /// reads the same as far as it came, or else the next of its kind: what was handed out cannot be taken back, but
    /// the whole is what counts (openai.md B.6).
    pub(crate) fn take(&mut self, wire: &wire::Item<'_>, out: &mut ChunkSink) -> Result<()> {
        let count = |list: &List<Object<Part<'_>>>| list.0.len();
        if count(&wire.content).saturating_add(count(&wire.summary)) > MAX_PARTS {
            return Err(too_many("parts"));
        }
        let given = self.texts(wire);
        let mut taken = vec![false; self.pieces.len()];
        let mut known: Vec<Option<usize>> = vec![None; given.len()];
        for alike in [true, false] {
            for (known, (field, part, text)) in known.iter_mut().zip(&given) {
                if known.is_some() {
                    continue;
                }
                *known = if alike {
                    self.like(*field, *part, text, &taken)
                } else {
                    let next =
                        self.pieces.iter().zip(&taken).position(|(piece, taken)| {
                            !taken && piece.field == *field && piece.part == *part
                        });
                    next.or_else(|| {
                        let mut pieces = self.pieces.iter().zip(&taken);
                        pieces.position(|(piece, taken)| !taken && piece.field == *field)
                    })
                };
                if let Some(taken) = known.and_then(|at| taken.get_mut(at)) {
                    *taken = true;
                }
            }
        }
        for (known, (field, part, text)) in known.into_iter().zip(given) {
            match known.and_then(|at| self.pieces.get_mut(at)) {
                Some(piece) => {
                    // The citations beside the texts are found by this number.
                    piece.part = part;
                    piece.complete(text, out);
                }
                None => self.new_whole(field, part, text, out)?,
            }
        }
        Ok(())
    }

    /// The parts that it is in a message. `call` is what its pieces made of its call; `cut` says that the answer
    /// ended before its end.
    pub(crate) fn into_parts(
        self,
        call: Option<AssembledCall>,
        cut: bool,
        reading: &Reading,
        parts: &mut Vec<AssistantPart>,
        logprobs: &mut Vec<Value>,
    ) {
        let replay = |json: Box<RawValue>| reading.tag(json);
        if let Some(call) = call {
            parts.push(AssistantPart::ToolCall(self.call(call, cut, reading, replay)));
            return;
        }
        match self.kind.as_str() {
            REASONING => self.reasoning(replay, parts),
            MESSAGE | "" => self.message(replay, parts, logprobs),
            // Whatever else the server did stands where it stood.
            _ => match self.made(&replay) {
                Some(made) => parts.push(made),
                None => {
                    let drawn = self.drawn(&replay);
                    parts.extend(self.opaque(replay));
                    parts.extend(drawn);
                }
            },
        }
    }

    fn call(
        self,
        call: AssembledCall,
        cut: bool,
        reading: &Reading,
        replay: impl Fn(Box<RawValue>) -> ReplayData,
    ) -> ToolCall {
        let given = self.called.arguments.map_or(call.arguments, Arguments::new);
        let is_complete = given.json().is_ok() && !given.raw().trim().is_empty();
        let cut = (cut || self.incomplete) && !is_complete;
        let arguments = if cut { Arguments::truncated(given.raw()) } else { given };
        let name = self.called.name.unwrap_or(call.name);
        let name = reading.tools.internal_name(&name).to_owned();
        let id = self.called.id.as_deref().and_then(ProviderCallId::parse).or(call.provider_id);
        // A call of a custom tool goes back as one of a function, to which its members do not belong.
        let json = self.done.filter(|_| self.kind == FUNCTION_CALL);
        ToolCall::new(name, arguments).with_id(call.id).with_provider_id(id).with_replay(json.map(replay))
    }

    /// A part for each of its texts; what goes back stands with the last.
    fn reasoning(self, replay: impl Fn(Box<RawValue>) -> ReplayData, parts: &mut Vec<AssistantPart>) {
        let mut texts: Vec<String> = self.pieces.into_iter().map(|piece| piece.text).collect();
        let last = texts.pop();
        parts.extend(texts.into_iter().map(|text| AssistantPart::Reasoning(ReasoningPart::new(text))));
        if last.is_some() || self.done.is_some() {
            let last = ReasoningPart::new(last.unwrap_or_default()).with_replay(self.done.map(replay));
            parts.push(AssistantPart::Reasoning(last));
        }
    }

    fn message(
        self,
        replay: impl Fn(Box<RawValue>) -> ReplayData,
        parts: &mut Vec<AssistantPart>,
        logprobs: &mut Vec<Value>,
    ) {
        let shell = self.done.as_deref().and_then(|done| Shell::of(done.get()));
        if let Some(shell) = &shell {
            let lists = shell.logprobs.iter().filter_map(|list| serde_json::from_str(list.get()).ok());
            logprobs.extend(lists.flat_map(|list: Vec<Value>| list));
        }
        let is_blank = self.pieces.iter().all(|piece| piece.text.trim().is_empty());
        if is_blank && shell.as_ref().is_some_and(|shell| shell.strange.is_some()) {
            // Without a text it is kept for the parts that nobody here understands.
            parts.extend(self.opaque(replay));
            return;
        }
        let mut pieces = self.pieces;
        pieces.sort_by_key(|piece| piece.part);
        for piece in pieces {
            if piece.field.is_reasoning() {
                parts.push(AssistantPart::Reasoning(ReasoningPart::new(piece.text)));
            } else if let Some(text) = TextPart::new(piece.text) {
                let text = if piece.field == Field::Refusal { text.into_refusal() } else { text };
                let json = shell.as_ref().and_then(|shell| shell.around(piece.part));
                parts.push(AssistantPart::Text(text.with_replay(json.map(&replay))));
            }
        }
    }

    /// An image that the server's own tool made. The item without its bytes goes back beside it. One of OpenRouter may
    /// have them under a name of its own (openai.md C.9).
    fn made(&self, replay: &impl Fn(Box<RawValue>) -> ReplayData) -> Option<AssistantPart> {
        let is_image = IMAGE_CALLS.contains(&self.kind.as_str());
        let mut members = Members::of(self.done.as_deref().filter(|_| is_image)?.get())?;
        let format = members.get("output_format").map(|format| wire::text(format.get()));
        let media_type = image_type(format.as_deref());
        let image = |name: &str| made_document(&wire::text(members.get(name)?.get()), &media_type);
        let document = image(RESULT).or_else(|| image(OWN_RESULT))?;
        members.remove(RESULT);
        members.remove(OWN_RESULT);
        let beside = to_raw_value(&members).ok().map(replay);
        MadeDocument::new(document).with_replay(beside).into()
    }

    /// The images that code of the model drew. They go back inside the item, so that there is nothing beside them.
    fn drawn(&self, replay: &impl Fn(Box<RawValue>) -> ReplayData) -> Vec<AssistantPart> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Ran<'a> {
            #[serde(borrow)]
            outputs: List<Object<Output<'a>>>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Output<'a> {
            #[serde(borrow)]
            url: Text<'a>,
        }
        let ran = self.done.as_deref().filter(|_| self.kind == CODE_CALL);
        let outputs = ran.and_then(|ran| wire::object::<Ran<'_>>(ran.get())).unwrap_or_default().outputs.0;
        let images = outputs.iter().take(MAX_PARTS).filter_map(|output| {
            let image = made_document_of_uri(output.0.as_ref()?.url.get()?)?;
            let nothing = RawValue::from_string("{}".to_owned()).ok().map(replay);
            Some(AssistantPart::Document(MadeDocument::new(image).with_replay(nothing)))
        });
        images.collect()
    }

    fn opaque(self, replay: impl Fn(Box<RawValue>) -> ReplayData) -> Option<AssistantPart> {
        let json = self.done?;
        Some(AssistantPart::Opaque(OpaquePart::new(self.kind, replay(json))))
    }
}

impl Written {
    /// True if it is the beginning of a whole text, or all of it once it is complete.
    fn begins(&self, whole: &str) -> bool {
        if self.done { self.text == whole } else { whole.starts_with(self.text.as_str()) }
    }

    /// Takes what it is as a whole: the rest is handed out where it is the beginning.
    fn complete(&mut self, whole: &str, out: &mut ChunkSink) {
        self.done = true;
        match whole.strip_prefix(self.text.as_str()) {
            Some("") => {}
            Some(rest) => {
                self.text.push_str(rest);
                self.show(out);
            }
            None => {
                whole.clone_into(&mut self.text);
                self.shown.all(&self.text);
            }
        }
    }

    /// Hands out what was not, once it is visible.
    fn show(&mut self, out: &mut ChunkSink) {
        match self.field {
            Field::Text => return out.content_behind(&self.text, &mut self.shown),
            Field::Summary | Field::Thought => {
                out.thinking(self.shown.rest(&self.text));
            }
            Field::Refusal | Field::Arguments => {}
        }
        self.shown.all(&self.text);
    }
}

/// The part of a message that does not stand in its texts, and goes back beside them.
struct Shell<'a> {
    /// The message without its content.
    members: Members<'a>,
    /// The citations of its parts.
    annotations: Vec<Option<&'a RawValue>>,
    /// The likelihood of the tokens of its parts, where it says so. Only applications read it.
    logprobs: Vec<&'a RawValue>,
    /// Its parts of unknown kinds, if it has any.
    strange: Option<Box<RawValue>>,
}

impl<'a> Shell<'a> {
    fn of(json: &'a str) -> Option<Self> {
        let mut members = Members::of(json)?;
        let content: Vec<&RawValue> =
            members.get(CONTENT).and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default();
        members.remove(CONTENT);
        let mut annotations = Vec::with_capacity(content.len());
        let (mut logprobs, mut strange) = (Vec::new(), Vec::new());
        for raw in content {
            let part = Members::of(raw.get()).unwrap_or_default();
            let filled = |name: &str| part.get(name).filter(|list| !matches!(list.get(), "null" | "[]"));
            annotations.push(filled(ANNOTATIONS));
            logprobs.extend(filled(LOGPROBS));
            if part.get("type").is_some_and(|kind| !TEXTS.contains(&wire::text(kind.get()).as_str())) {
                strange.push(raw);
            }
        }
        let strange = if strange.is_empty() { None } else { to_raw_value(&strange).ok() };
        Some(Self { members, annotations, logprobs, strange })
    }

    /// The data that goes back beside the text of a part.
    fn around(&self, part: u64) -> Option<Box<RawValue>> {
        let cited = usize::try_from(part).ok().and_then(|part| self.annotations.get(part).copied().flatten());
        let more = [(CONTENT, self.strange.as_deref()), (ANNOTATIONS, cited)];
        let more = more.into_iter().filter_map(|(name, value)| Some((name, value?)));
        to_raw_value(&self.members.with(more)).ok()
    }
}

const IMAGE_CALLS: [&str; 2] = ["image_generation_call", "openrouter:image_generation"];
const CODE_CALL: &str = "code_interpreter_call";
pub(crate) const RESULT: &str = "result";
const OWN_RESULT: &str = "imageB64";
const CONTENT: &str = "content";
const ANNOTATIONS: &str = "annotations";
/// The kinds of parts whose texts are read.
const TEXTS: [&str; 4] = ["output_text", "text", "refusal", "reasoning_text"];

/// The media type of an `output_format`.
fn image_type(format: Option<&str>) -> String {
    match format {
        Some("svg") => "image/svg+xml".to_owned(),
        format => format!("image/{}", format.unwrap_or("png")),
    }
}
