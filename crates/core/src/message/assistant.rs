//! The replies of the model.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::citation::Citation;
use crate::document::Document;
use crate::id::{MessageId, ProviderCallId, ToolCallId};
use crate::message::part::{Metadata, ReplayData, TextPart};

/// One reply of the model, with its parts in the order the provider sent them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AssistantMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The parts in order.
    pub parts: Vec<AssistantPart>,
    /// The passages that the provider cites as sources; spans in the answer refer to [`text`](Self::text). They are
    /// never sent back: data that the provider needs back is in the parts.
    pub citations: Vec<Citation>,
    /// The metadata.
    pub metadata: Metadata,
}

impl AssistantMessage {
    /// Creates a reply from `parts`; `None` stands for a blank part.
    pub fn new(parts: impl IntoIterator<Item = Option<AssistantPart>>) -> Self {
        Self {
            id: MessageId::new(),
            parts: parts.into_iter().flatten().collect(),
            citations: Vec::new(),
            metadata: Metadata::default(),
        }
    }

    /// All texts in order, refusals excluded. They are joined without a separator.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text(text) if !text.is_refusal() => Some(text.text()),
            _ => None,
        });
        texts.collect()
    }

    /// The text of the model's refusal, if it refused.
    pub fn refusal(&self) -> Option<String> {
        let texts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text(text) if text.is_refusal() => Some(text.text()),
            _ => None,
        });
        Some(texts.collect()).filter(|text: &String| !text.is_empty())
    }

    /// All readable reasoning, in order.
    pub fn thinking(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(reasoning) => Some(reasoning.text()),
            _ => None,
        });
        texts.collect()
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The documents that the model generated, in order.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Document(made) => Some(&made.document),
            _ => None,
        })
    }

    /// True if the reply calls a tool.
    pub fn has_tool_calls(&self) -> bool {
        self.tool_calls().next().is_some()
    }
}

/// One part of a reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AssistantPart {
    /// An answer text, or a refusal.
    Text(TextPart),
    /// Reasoning, readable or not.
    Reasoning(ReasoningPart),
    /// A call of a tool that the caller runs.
    ToolCall(ToolCall),
    /// A provider-specific block that only the provider understands, kept verbatim and in place.
    Opaque(OpaquePart),
    /// A document that the model generated, such as an image or audio.
    Document(MadeDocument),
}

impl AssistantPart {
    /// Creates a text part, or `None` if `text` is blank.
    pub fn text(text: impl Into<String>) -> Option<Self> {
        TextPart::new(text).map(Self::Text)
    }
}

impl From<ToolCall> for Option<AssistantPart> {
    fn from(call: ToolCall) -> Self {
        Some(AssistantPart::ToolCall(call))
    }
}

/// Reasoning of the model. The text may be empty if the provider sends only a signature or an encrypted blob.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReasoningPart {
    text: Arc<str>,
    redacted: bool,
    replay: Option<Arc<ReplayData>>,
}

impl ReasoningPart {
    /// Creates readable reasoning.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: Arc::from(text.into()), redacted: false, replay: None }
    }

    /// Creates reasoning that the provider hides; [`with_replay`](Self::with_replay) adds the data that the provider
    /// needs back.
    pub fn redacted() -> Self {
        Self { redacted: true, ..Self::new("") }
    }

    /// Adds the data that the provider needs back with it.
    #[must_use]
    pub fn with_replay(mut self, replay: impl Into<Option<ReplayData>>) -> Self {
        self.replay = replay.into().map(Arc::new);
        self
    }

    /// The readable text, possibly empty.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if the provider hides the text.
    pub fn is_redacted(&self) -> bool {
        self.redacted
    }

    /// The data that the provider needs back with it.
    pub fn replay(&self) -> Option<&ReplayData> {
        self.replay.as_deref()
    }
}

/// A document that the model generated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MadeDocument {
    /// The document.
    pub document: Document,
    /// The data that is sent back beside the document's bytes, which it does not repeat.
    pub replay: Option<ReplayData>,
}

impl MadeDocument {
    /// Creates a document without replay data.
    pub fn new(document: Document) -> Self {
        Self { document, replay: None }
    }

    /// Sets the data that is sent back beside it.
    #[must_use]
    pub fn with_replay(mut self, replay: impl Into<Option<ReplayData>>) -> Self {
        self.replay = replay.into();
        self
    }
}

impl From<MadeDocument> for Option<AssistantPart> {
    fn from(made: MadeDocument) -> Self {
        Some(AssistantPart::Document(made))
    }
}

/// A block that only its provider understands: server-side tool use, citations, safety data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpaquePart {
    /// The provider's name for its kind.
    pub kind: String,
    /// The block, byte for byte.
    pub replay: ReplayData,
}

impl OpaquePart {
    /// Creates a block of `kind`.
    pub fn new(kind: impl Into<String>, replay: ReplayData) -> Self {
        Self { kind: kind.into(), replay }
    }
}

/// A call of a tool that the caller runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Our id: unique and always present.
    pub id: ToolCallId,
    /// The provider's id, if it sent one.
    pub provider_id: Option<ProviderCallId>,
    /// The tool's internal name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The data that the provider needs back with the call.
    pub replay: Option<Arc<ReplayData>>,
}

impl ToolCall {
    /// Creates a call with a fresh id.
    pub fn new(name: impl Into<String>, arguments: Arguments) -> Self {
        Self { id: ToolCallId::new(), provider_id: None, name: name.into(), arguments, replay: None }
    }

    /// Sets our id.
    #[must_use]
    pub fn with_id(mut self, id: ToolCallId) -> Self {
        self.id = id;
        self
    }

    /// Sets the provider's id.
    #[must_use]
    pub fn with_provider_id(mut self, id: impl Into<Option<ProviderCallId>>) -> Self {
        self.provider_id = id.into();
        self
    }

    /// Adds the data that the provider needs back with the call.
    #[must_use]
    pub fn with_replay(mut self, replay: impl Into<Option<ReplayData>>) -> Self {
        self.replay = replay.into().map(Arc::new);
        self
    }
}

/// The reason why arguments are not a JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// The reply ended before the arguments were complete. Such a call must never be executed.
    #[error("the arguments were cut off before they were complete")]
    Truncated,
    /// The arguments are not JSON.
    #[error("the arguments are not valid JSON: {0}")]
    Malformed(String),
    /// The arguments are JSON, but not an object.
    #[error("the arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
}

/// The arguments of a call: the text as the model wrote it, with the result of parsing it as a JSON object.
///
/// Empty text, white space and `null` mean no arguments and are read as `{}`; an object inside a JSON string is
/// unwrapped once. The text is kept for replay; invalid text is replayed as `{}`, so that it cannot break later
/// requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    raw: Arc<str>,
    state: Result<Form, ArgumentsError>,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// `raw` is the object.
    Object,
    /// The object, where `raw` is something that stands for it.
    Normalised(Arc<str>),
}

impl Arguments {
    /// Reads the arguments from the text that the model wrote.
    pub fn new(raw: impl Into<String>) -> Self {
        let raw: Arc<str> = Arc::from(raw.into());
        let state = form(&raw);
        Self { raw, state }
    }

    /// Creates arguments that were cut off.
    pub fn truncated(raw: impl Into<String>) -> Self {
        Self { raw: Arc::from(raw.into()), state: Err(ArgumentsError::Truncated) }
    }

    /// The text as the model wrote it.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The JSON object as text.
    ///
    /// # Errors
    /// [`ArgumentsError`] if the arguments are not a JSON object.
    pub fn json(&self) -> Result<&str, &ArgumentsError> {
        match &self.state {
            Ok(Form::Object) => Ok(self.raw.trim()),
            Ok(Form::Normalised(json)) => Ok(json),
            Err(error) => Err(error),
        }
    }

    /// The JSON object to send back to a provider: [`json`](Self::json), or `{}` if the arguments are not an object.
    pub fn replay_json(&self) -> &str {
        self.json().unwrap_or("{}")
    }

    /// The object as a map.
    ///
    /// # Errors
    /// [`ArgumentsError`] if the arguments are not a JSON object.
    pub fn object(&self) -> Result<Map<String, Value>, ArgumentsError> {
        let json = self.json().map_err(Clone::clone)?;
        serde_json::from_str(json).map_err(|error| ArgumentsError::Malformed(error.to_string()))
    }
}

impl From<&Map<String, Value>> for Arguments {
    fn from(object: &Map<String, Value>) -> Self {
        Self::new(serde_json::to_string(object).unwrap_or_default())
    }
}

fn form(raw: &str) -> Result<Form, ArgumentsError> {
    let text = raw.trim_start_matches('\u{feff}').trim();
    if text.is_empty() || text == "null" {
        return Ok(Form::Normalised(Arc::from("{}")));
    }
    match check(text) {
        Ok(()) if text.len() == raw.trim().len() => Ok(Form::Object),
        Ok(()) => Ok(Form::Normalised(Arc::from(text))),
        Err(ArgumentsError::NotAnObject("a string")) => {
            let inner: String = serde_json::from_str(text).map_err(|error| malformed(&error))?;
            let inner = inner.trim();
            if inner.is_empty() {
                return Ok(Form::Normalised(Arc::from("{}")));
            }
            check(inner).map_err(|_| ArgumentsError::NotAnObject("a string"))?;
            Ok(Form::Normalised(Arc::from(inner)))
        }
        Err(error) => Err(error),
    }
}

fn check(text: &str) -> Result<(), ArgumentsError> {
    let _: &RawValue = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    match text.as_bytes().first() {
        Some(b'{') => Ok(()),
        Some(b'[') => Err(ArgumentsError::NotAnObject("an array")),
        Some(b'"') => Err(ArgumentsError::NotAnObject("a string")),
        Some(b't' | b'f') => Err(ArgumentsError::NotAnObject("a boolean")),
        _ => Err(ArgumentsError::NotAnObject("a number")),
    }
}

fn malformed(error: &serde_json::Error) -> ArgumentsError {
    if error.is_eof() { ArgumentsError::Truncated } else { ArgumentsError::Malformed(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // runtime.md 4, openai.md D 32, 33
    #[test]
    fn what_stands_for_an_object() {
        let json = |raw: &str| Arguments::new(raw).json().map(str::to_owned).map_err(Clone::clone);
        for empty in ["", "  \n", "null", "\u{feff}", "\"\""] {
            assert_eq!(json(empty).as_deref(), Ok("{}"), "{empty:?}");
        }
        assert_eq!(json("{\"a\": 1}").as_deref(), Ok("{\"a\": 1}"), "kept byte for byte");
        assert_eq!(json(r#""{\"a\":1}""#).as_deref(), Ok(r#"{"a":1}"#));
        assert_eq!(json("[1]"), Err(ArgumentsError::NotAnObject("an array")));
        assert_eq!(json("\"[1]\""), Err(ArgumentsError::NotAnObject("a string")));
        assert_eq!(json("3"), Err(ArgumentsError::NotAnObject("a number")));
        assert_eq!(json("{\"a\":"), Err(ArgumentsError::Truncated));
        assert!(matches!(json("{a:1}"), Err(ArgumentsError::Malformed(_))));
        assert!(matches!(json("{}{}"), Err(ArgumentsError::Malformed(_))));
    }

    #[test]
    fn invalid_arguments_replay_as_no_arguments() {
        let arguments = Arguments::new("{\"a\":");
        assert_eq!((arguments.replay_json(), arguments.raw()), ("{}", "{\"a\":"));
        assert_eq!(Arguments::truncated("{}").replay_json(), "{}");
        assert!(Arguments::truncated("{}").json().is_err(), "a truncated call is never executed");
    }

    // E17
    #[test]
    fn blank_text_is_no_part() {
        assert!(AssistantPart::text(" \n").is_none());
        let message = AssistantMessage::new([
            AssistantPart::text(""),
            AssistantPart::text("a"),
            AssistantPart::text("b"),
        ]);
        assert_eq!((message.parts.len(), message.text()), (2, "ab".to_owned()));
    }
}
