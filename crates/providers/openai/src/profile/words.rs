//! The words of a profile: quirks that are a choice among several ways.

use attache_core::schema::Subset;
use serde::{Deserialize, Serialize};

/// An API that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Api {
    /// Chat Completions.
    #[default]
    Chat,
    /// Responses.
    Responses,
}

/// How requests are authenticated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct KeyRules {
    /// True if nothing works without a key.
    pub required: bool,
    /// The header that carries it.
    pub header: String,
    /// The word before it in the header.
    pub prefix: String,
    /// The environment variables that may hold it, the preferred one first.
    pub variables: Vec<String>,
    /// The environment variables that may hold a token instead, which goes into `authorization` behind `Bearer`
    /// whatever the header of keys is (openai.md C.11).
    pub token_variables: Vec<String>,
}

/// Which schemas of tools a server takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolSchemas {
    /// Any.
    #[default]
    AsGiven,
    /// As OpenAI does, at most 128: no `anyOf`, `oneOf`, `allOf`, `enum` and `not` at the root, and no array without
    /// `items`. It holds models to strict ones in [`Subset::OpenAi`](attache_core::schema::Subset::OpenAi).
    OpenAi,
    /// As [`OpenAi`](Self::OpenAi), but strict schemas are in [`Subset::Azure`](attache_core::schema::Subset::Azure).
    Azure,
}

impl ToolSchemas {
    /// The subset of JSON Schema in which the server takes what it enforces.
    pub(crate) fn subset(self) -> Subset {
        if self == Self::Azure { Subset::Azure } else { Subset::OpenAi }
    }
}

/// The role of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SystemRole {
    /// `system`, which every server knows.
    #[default]
    System,
    /// `developer`.
    Developer,
}

/// Where instructions may stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SystemPlace {
    /// Anywhere, in several messages.
    #[default]
    Anywhere,
    /// In one message at the start. Those at the start are merged; a later one becomes a user message. (openai.md
    /// D 49, D 51)
    MergedFirst,
}

/// The `content` of an assistant message that holds only calls (openai.md D 62).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptyContent {
    /// `null`.
    #[default]
    Null,
    /// The empty string.
    Empty,
    /// The member is left out.
    Omitted,
}

/// Which ids of tool calls are sent back as they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallIds {
    /// All: a server may read its own ids (openai.md D 13).
    #[default]
    AsReceived,
    /// Those of at most 64 letters, digits, `_` and `-`; others are replaced, on call and result alike. (openai.md
    /// D 19)
    Plain,
    /// Those of nine letters and digits; others are replaced, on call and result alike. (openai.md C.6, D 14)
    Nine,
}

/// Which reasoning goes back to the server that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Replayed {
    /// None.
    #[default]
    Never,
    /// That of turns that call tools.
    WithCalls,
    /// All.
    Always,
}

/// The meaning of `<think>` tags at the start of an answer (openai.md D 64).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkTags {
    /// Text like any other.
    #[default]
    Text,
    /// The limits of reasoning.
    AtStart,
    /// The same, and the opening tag is not sent.
    Opened,
}

/// The name of the limit on output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaxTokens {
    /// `max_tokens`, which imitations know.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

impl MaxTokens {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl Default for KeyRules {
    fn default() -> Self {
        Self {
            required: true,
            header: "authorization".to_owned(),
            prefix: "Bearer ".to_owned(),
            variables: Vec::new(),
            token_variables: Vec::new(),
        }
    }
}

/// How sound stands in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AudioForm {
    /// `{"data": BASE64, "format": …}`. (openai.md A.2)
    #[default]
    Base64,
    /// The same with a data URI for data. (openai.md C.5)
    DataUri,
    /// Base64 alone, in the place of the object. (openai.md C.6)
    Bare,
}

/// How a PDF or another file stands in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileForm {
    /// A part of type `file` with name and data URI. (openai.md A.2)
    #[default]
    File,
    /// A part of type `document_url` with a data URI or an address. (openai.md C.6)
    DocumentUrl,
    /// A part of type `file_url`, which holds addresses only. (openai.md C.2)
    FileUrl,
}

/// How tools are withheld where none may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolsOff {
    /// `tool_choice` is `none`.
    #[default]
    Choice,
    /// They are not offered: the server does not know `none`, or does not keep to it. (openai.md C.2, C.6)
    Dropped,
}

/// How one tool is forced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NamedTool {
    /// `tool_choice` names it.
    #[default]
    Choice,
    /// It alone is offered, and `tool_choice` is `required`: the server takes no names, or takes them for `auto`.
    /// (openai.md C.16, C.17)
    Alone,
}

/// How JSON of any form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonObject {
    /// `json_object`.
    #[default]
    Word,
    /// As the schema of an object without fields. (openai.md C.17, D 53)
    Schema,
}
