//! The answers of the mock, described once for every API.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::delivery::Delivery;

/// A scripted answer.
///
/// It is neutral: the same reply is rendered as a JSON body or as a stream, for whichever API the request
/// speaks. Parts are sent in the order in which they were added; fault injection is described by the methods
/// from [`writes`](Self::writes) on.
///
/// ```
/// use attache_conformance::{Reply, ReplyUsage};
/// use serde_json::json;
///
/// let reply = Reply::new()
///     .text("Let me see.")
///     .call("call_1", "add", json!({"a": 1, "b": 2}))
///     .usage(ReplyUsage::new(20, 8).with_cached(16));
/// # let _ = reply;
/// ```
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) body: ReplyBody,
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) choices: Vec<ChoiceScript>,
    pub(crate) usage: Option<ReplyUsage>,
    pub(crate) ignores_stream: bool,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) delivery: Delivery,
    /// The reason why the prompt was blocked (Gemini).
    pub(crate) blocked: Option<String>,
    /// Code and message of a response that failed (Responses).
    pub(crate) failed: Option<(String, String)>,
    /// The `details` of an error (Gemini).
    pub(crate) error_details: Option<Value>,
}

/// The source of the body.
#[derive(Clone, Debug)]
pub(crate) enum ReplyBody {
    /// The choices, as the API renders them.
    Model,
    /// An error in the API's envelope.
    Error { status: u16, kind: Option<String>, code: Option<String>, message: String },
    /// Bytes as given; several where the writes are given too.
    Raw { status: u16, content_type: String, events: Vec<Bytes> },
}

/// One choice's parts and end.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChoiceScript {
    pub(crate) parts: Vec<Part>,
    pub(crate) finish: Option<Finish>,
    /// Signatures by the index of their part (Gemini).
    pub(crate) signatures: BTreeMap<usize, String>,
    /// The message about the end (Gemini).
    pub(crate) finish_message: Option<String>,
}

/// One part of an answer; vectors hold the pieces in which it is streamed.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(Vec<String>),
    Thinking { pieces: Vec<String>, signature: Option<String> },
    RedactedThinking(String),
    Call { id: String, name: String, arguments: Vec<String> },
    Refusal(Vec<String>),
    Block(Value),
}

/// The reason why an answer ends; each API writes its own word for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// `stop`, `end_turn`, `completed`, `STOP`: the default without tool calls.
    Stop,
    /// `length`, `max_tokens`, `incomplete` by `max_output_tokens`, `MAX_TOKENS`.
    Length,
    /// `tool_calls`, `tool_use`, `completed`, `STOP`: the default with tool calls.
    ToolCalls,
    /// `content_filter`, `refusal`, `incomplete` by `content_filter`, `SAFETY`, `content_filtered`. Neither Cohere
    /// nor Ollama filters, refuses or pauses.
    ContentFilter,
    /// `stop`, `refusal`, `completed`: Chat Completions and Responses say so by the refusal itself; Gemini has no
    /// such thing.
    Refusal,
    /// `pause_turn`; Messages only.
    Pause,
    /// `stop`, `stop_sequence` with the sequence, `completed`, `STOP`.
    StopSequence(String),
    /// The word as given, on every API. In Responses a status, or else the reason why an answer is `incomplete`.
    Raw(String),
}

impl From<&str> for Finish {
    fn from(word: &str) -> Self {
        Finish::Raw(word.to_owned())
    }
}

/// Token counts as attache normalises them: `input` is everything read, `output` everything written, the rest
/// are parts of these. Each API counts its own way from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyUsage {
    /// Everything the model read, cache reads and writes included.
    pub input: u64,
    /// Everything the model wrote, reasoning included.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Written to a cache.
    pub cache_write: u64,
    /// Spent on reasoning.
    pub reasoning: u64,
}

impl ReplyUsage {
    /// Counts without cache and reasoning.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, cached: 0, cache_write: 0, reasoning: 0 }
    }

    /// Sets how much of the input came from a cache.
    #[must_use]
    pub fn with_cached(mut self, tokens: u64) -> Self {
        self.cached = tokens;
        self
    }

    /// Sets how much of the input was written to a cache.
    #[must_use]
    pub fn with_cache_write(mut self, tokens: u64) -> Self {
        self.cache_write = tokens;
        self
    }

    /// Sets how much of the output was reasoning.
    #[must_use]
    pub fn with_reasoning(mut self, tokens: u64) -> Self {
        self.reasoning = tokens;
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

impl Reply {
    /// An answer of the model, empty as yet, which reports 10 tokens read and 5 written.
    pub fn new() -> Self {
        Self::with_body(ReplyBody::Model)
    }

    /// An error in the API's own envelope, with the `type` the API gives that status.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self::with_body(ReplyBody::Error { status, kind: None, code: None, message: message.into() })
    }

    /// A JSON body as given, whatever the request asked for.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, "application/json", body.to_string())
    }

    /// A body as given.
    pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::with_body(ReplyBody::Raw {
            status,
            content_type: content_type.into(),
            events: vec![body.into()],
        })
    }

    /// An HTML page, such as a gateway or a CDN sends instead of an answer.
    pub fn html(status: u16) -> Self {
        let page = format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>");
        Self::raw(status, "text/html; charset=utf-8", page)
    }

    /// A 200 event stream whose `data:` lines are given, each an event of its own without a name.
    pub fn events<S: AsRef<str>>(data: impl IntoIterator<Item = S>) -> Self {
        let events = data.into_iter().map(|data| format!("data: {}\n\n", data.as_ref()).into()).collect();
        Self::with_body(ReplyBody::Raw {
            status: 200,
            content_type: "text/event-stream; charset=utf-8".to_owned(),
            events,
        })
    }

    fn with_body(body: ReplyBody) -> Self {
        Self {
            body,
            id: None,
            model: None,
            choices: vec![ChoiceScript::default()],
            usage: Some(ReplyUsage::new(10, 5)),
            ignores_stream: false,
            headers: Vec::new(),
            delivery: Delivery::default(),
            blocked: None,
            failed: None,
            error_details: None,
        }
    }

    /// Adds text, streamed word by word.
    #[must_use]
    pub fn text(self, text: impl AsRef<str>) -> Self {
        self.part(Part::Text(words(text.as_ref())))
    }

    /// Adds text, streamed in the given pieces.
    #[must_use]
    pub fn text_pieces<S: Into<String>>(self, pieces: impl IntoIterator<Item = S>) -> Self {
        self.part(Part::Text(pieces.into_iter().map(Into::into).collect()))
    }

    /// Adds thinking without a signature: `reasoning_content` in Chat Completions and `reasoning_text` in
    /// Responses, as compatible servers send it; a `thought` part in Gemini.
    #[must_use]
    pub fn thinking(self, text: impl AsRef<str>) -> Self {
        self.part(Part::Thinking { pieces: words(text.as_ref()), signature: None })
    }

    /// Adds thinking with a signature; the text may be empty. In Responses it is a reasoning item whose summary
    /// has a part for each paragraph (divided by a blank line) and whose encrypted content is the signature.
    /// Chat Completions has none.
    #[must_use]
    pub fn signed_thinking(self, text: impl AsRef<str>, signature: impl Into<String>) -> Self {
        self.part(Part::Thinking { pieces: words(text.as_ref()), signature: Some(signature.into()) })
    }

    /// Adds redacted thinking: in Responses a reasoning item without summary, in Gemini an empty text part with
    /// this signature. Chat Completions has none.
    #[must_use]
    pub fn redacted_thinking(self, data: impl Into<String>) -> Self {
        self.part(Part::RedactedThinking(data.into()))
    }

    /// Adds a tool call, its arguments streamed in pieces of at most eight characters after an empty one; Gemini
    /// sends them whole, and an empty id not at all.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "scripts pass `json!` values, a borrow would only add noise"
    )]
    pub fn call(self, id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        let text: Vec<char> = arguments.to_string().chars().collect();
        let pieces = text.chunks(8).map(|piece| piece.iter().collect::<String>());
        self.call_pieces(id, name, std::iter::once(String::new()).chain(pieces))
    }

    /// Adds a tool call whose arguments are streamed in the given pieces, which need not be JSON.
    #[must_use]
    pub fn call_pieces<S: Into<String>>(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        self.part(Part::Call {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        })
    }

    /// Adds a refusal: the message's `refusal` in Chat Completions, the stop reason with its explanation in
    /// Messages, a refusal part in Responses, a text that ends as `content_filtered` in Converse. Gemini has none.
    #[must_use]
    pub fn refusal(self, text: impl AsRef<str>) -> Self {
        self.part(Part::Refusal(words(text.as_ref())))
    }

    /// Adds a content block, an output item or a part as it is, such as a server tool's call or result. Chat
    /// Completions has none.
    #[must_use]
    pub fn block(self, block: Value) -> Self {
        self.part(Part::Block(block))
    }

    /// Signs the part that was added last, as Gemini signs any part: its `thoughtSignature`. Gemini only.
    #[must_use]
    pub fn part_signature(mut self, signature: impl Into<String>) -> Self {
        if let Some(choice) = self.choices.last_mut()
            && let Some(last) = choice.parts.len().checked_sub(1)
        {
            choice.signatures.insert(last, signature.into());
        }
        self
    }

    /// Begins another choice, or candidate; what is added from here on belongs to it. Chat Completions and
    /// Gemini only; Converse sends the blocks of all choices one after the other in its one message.
    #[must_use]
    pub fn next_choice(mut self) -> Self {
        self.choices.push(ChoiceScript::default());
        self
    }

    /// Sets why the current choice ends. A string is sent as it is.
    #[must_use]
    pub fn finish(mut self, finish: impl Into<Finish>) -> Self {
        if let Some(choice) = self.choices.last_mut() {
            choice.finish = Some(finish.into());
        }
        self
    }

    /// Sets what is said about the end of the current candidate, its `finishMessage`. Gemini only.
    #[must_use]
    pub fn finish_message(mut self, message: impl Into<String>) -> Self {
        if let Some(choice) = self.choices.last_mut() {
            choice.finish_message = Some(message.into());
        }
        self
    }

    /// Answers that the prompt was blocked for this reason, such as `SAFETY`: `promptFeedback` and no
    /// candidates. Gemini only.
    #[must_use]
    pub fn prompt_blocked(mut self, reason: impl Into<String>) -> Self {
        self.blocked = Some(reason.into());
        self
    }

    /// Lets the response fail after what was added: status `failed` with this error, in a stream
    /// `response.failed`. Responses only.
    #[must_use]
    pub fn failed(mut self, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.failed = Some((code.into(), message.into()));
        self
    }

    /// Sets the reported usage.
    #[must_use]
    pub fn usage(mut self, usage: ReplyUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Reports no usage at all.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Sets the response's id; without it one is derived from the request's number. Converse has none.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the response's model; without it the request's comes back. Converse names none.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the `type` of an [`error`](Self::error), its `status` in Gemini.
    #[must_use]
    pub fn error_kind(mut self, kind: impl Into<String>) -> Self {
        if let ReplyBody::Error { kind: slot, .. } = &mut self.body {
            *slot = Some(kind.into());
        }
        self
    }

    /// Sets the `code` of an [`error`](Self::error); Messages, Gemini and Converse have none and leave it out.
    #[must_use]
    pub fn error_code(mut self, code: impl Into<String>) -> Self {
        if let ReplyBody::Error { code: slot, .. } = &mut self.body {
            *slot = Some(code.into());
        }
        self
    }

    /// Sets the `details` of an [`error`](Self::error), such as a list with a `RetryInfo`; only Gemini has them.
    #[must_use]
    pub fn error_details(mut self, details: Value) -> Self {
        self.error_details = Some(details);
        self
    }

    /// Adds a response header, or replaces the one the API sends.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds `retry-after` in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header(http::header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Replaces the content type.
    #[must_use]
    pub fn content_type(self, value: HeaderValue) -> Self {
        self.header(http::header::CONTENT_TYPE, value)
    }

    /// Answers with one JSON body even when the request asked for a stream.
    #[must_use]
    pub fn ignoring_stream(mut self) -> Self {
        self.ignores_stream = true;
        self
    }

    /// The choice of an API that answers with one message of texts, thinking and calls; refuses what it cannot say.
    pub(crate) fn plain_choice(&self, api: &str) -> Result<&ChoiceScript, String> {
        let [choice] = self.choices.as_slice() else {
            return Err(format!("{api} answers with one message"));
        };
        let what = choice.parts.iter().find_map(|part| match part {
            Part::RedactedThinking(_) => Some("redacted thinking"),
            Part::Thinking { signature: Some(_), .. } => Some("thinking with a signature"),
            Part::Refusal(_) => Some("refusals"),
            Part::Block(_) => Some("blocks of other kinds"),
            _ => None,
        });
        let ends = match choice.finish {
            Some(Finish::ContentFilter | Finish::Refusal | Finish::Pause) => Some("such an end"),
            _ => None,
        };
        match what.or(ends) {
            Some(what) => Err(format!("{api} has no {what}")),
            None => Ok(choice),
        }
    }

    fn part(mut self, part: Part) -> Self {
        if let Some(choice) = self.choices.last_mut() {
            choice.parts.push(part);
        }
        self
    }
}

impl ChoiceScript {
    /// All text parts joined, or `None` without any.
    pub(crate) fn text(&self) -> Option<String> {
        let mut text = None;
        for part in &self.parts {
            if let Part::Text(pieces) = part {
                text.get_or_insert_with(String::new).push_str(&pieces.concat());
            }
        }
        text
    }

    /// True if a part was signed or the end commented on, which only Gemini does.
    pub(crate) fn is_annotated(&self) -> bool {
        !self.signatures.is_empty() || self.finish_message.is_some()
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned).collect()
}
