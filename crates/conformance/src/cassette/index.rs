//! The index of the recordings: what each answer holds, as an independent parser understood it.

use std::fs;
use std::path::Path;

use attache_transport::cassette::CassetteError;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The index of a folder of recordings. Reading is lenient: what is unknown is skipped, what is absent is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[non_exhaustive]
pub struct CassetteIndex {
    /// The version of the format.
    #[serde(default)]
    pub format: u64,
    /// The recordings.
    #[serde(default)]
    pub files: Vec<IndexedCassette>,
}

impl CassetteIndex {
    /// Reads an index.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or does not hold the format.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let failed = |source| CassetteError::Read { path: path.to_owned(), source };
        Self::parse(&fs::read_to_string(path).map_err(failed)?)
    }

    /// Parses an index.
    ///
    /// # Errors
    ///
    /// When the text does not hold the format.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        Ok(serde_json::from_str(text)?)
    }

    /// The recordings with at least one interaction of that protocol, such as `openai-chat`.
    pub fn with_protocol<'a>(&'a self, protocol: &'a str) -> impl Iterator<Item = &'a IndexedCassette> {
        self.files.iter().filter(move |file| file.protocols.iter().any(|own| own == protocol))
    }
}

/// One recording in the index.
#[derive(Clone, Debug, Default, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct IndexedCassette {
    /// The file, relative to the index.
    pub file: String,
    /// The name of the API, which is also the folder.
    pub api: String,
    /// The protocols its interactions speak.
    pub protocols: Vec<String>,
    /// The models that were asked.
    pub models: Vec<String>,
    /// True if any answer is a stream.
    pub streaming: bool,
    /// The features that the recording shows, such as `parallel_tools`.
    pub features: Vec<String>,
    /// Repository, path and commit it comes from.
    pub source: String,
    /// The licence of the source.
    pub licence: String,
    /// One expectation an interaction, in order.
    pub expect: Vec<Expectation>,
}

/// The content of an interaction's response.
#[derive(Clone, Debug, Default, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Expectation {
    /// `generate`, `error`, `other` or `empty`.
    pub kind: String,
    /// The provider.
    pub provider: Option<String>,
    /// The protocol, such as `openai-chat`; absent where the interaction is no model call.
    pub protocol: Option<String>,
    /// The HTTP status.
    pub status: u16,
    /// True if the response is a stream; for errors, whether one was asked for.
    pub stream: bool,
    /// All answer text in order, without thinking.
    pub text: Option<String>,
    /// The length of the text in code points.
    pub text_len: Option<u64>,
    /// The calls that the client must run, in order.
    pub tool_calls: Vec<ExpectedCall>,
    /// The finish reason as sent.
    pub finish_reason: Option<String>,
    /// The reason why a Responses answer is incomplete.
    pub incomplete_reason: Option<String>,
    /// The reason why the prompt was blocked, in an answer of Gemini.
    pub block_reason: Option<String>,
    /// The stop sequence that ended the answer.
    pub stop_sequence: Option<String>,
    /// The token counts, as the provider counts them.
    pub usage: Option<ExpectedUsage>,
    /// The usage object as sent.
    pub usage_raw: Option<Value>,
    /// The thinking.
    pub thinking: Option<ExpectedThinking>,
    /// The refusal's text.
    pub refusal: Option<String>,
    /// Output that is neither text nor thinking nor a client's tool call.
    pub server_tools: Vec<String>,
    /// The error, where `kind` is `error`.
    pub error: Option<ExpectedError>,
    /// An error inside a 200 answer.
    pub stream_error: Option<ExpectedError>,
    /// The number of events of each kind in a stream.
    pub event_counts: Option<Value>,
    /// True if a stream's terminal event was seen.
    pub done: Option<bool>,
    /// True if a Responses stream's deltas equal its final object.
    pub terminal_agrees: Option<bool>,
    /// The model that answered.
    pub model: Option<String>,
    /// The id of the answer.
    pub id: Option<String>,
    /// The number of choices.
    pub choices: Option<u64>,
}

/// A tool call that the client must run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[non_exhaustive]
#[serde(default)]
pub struct ExpectedCall {
    /// The call's id; absent where none was sent. Of the Responses API, `call_id`.
    pub id: Option<String>,
    /// The item's id, of the Responses API.
    pub item_id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments; absent where what was sent is empty, cut-off or JSON `null`.
    pub arguments: Option<Value>,
    /// The arguments' text as sent, deltas joined; absent where JSON was sent.
    pub arguments_raw: Option<String>,
}

/// Token counts as the provider counts them; what was not sent is absent.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
#[serde(default)]
pub struct ExpectedUsage {
    /// Read: without cached tokens at Anthropic and Bedrock, with them at OpenAI and Gemini.
    pub input: Option<u64>,
    /// Written: without thoughts at Gemini.
    pub output: Option<u64>,
    /// Read from a cache.
    pub cached: Option<u64>,
    /// Written to a cache.
    pub cache_write: Option<u64>,
    /// Spent on reasoning.
    pub reasoning: Option<u64>,
    /// The sum that the provider sent.
    pub total: Option<u64>,
}

/// The thinking of an answer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
#[serde(default)]
pub struct ExpectedThinking {
    /// True if there is any, even an empty one.
    pub present: bool,
    /// Its text.
    pub text: String,
    /// True if a signature or an encrypted blob came with it.
    pub signed: bool,
    /// The number of redacted blocks.
    pub redacted: u64,
}

/// An error as sent.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
#[serde(default)]
pub struct ExpectedError {
    /// The error's type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The error's code; numbers are read as text.
    #[serde(deserialize_with = "code")]
    pub code: Option<String>,
    /// The error's message.
    pub message: Option<String>,
}

fn code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(code) => Some(code),
        other => Some(other.to_string()),
    })
}
