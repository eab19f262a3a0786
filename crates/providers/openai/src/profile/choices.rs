//! The words of a profile: quirks that are a choice among several ways.

use attache_core::schema::Subset;
use serde::{Deserialize, Serialize};

/// Enums of the words that a field of a profile takes, in snake case, the first of which holds where none is said.
macro_rules! words {
    ($($(#[$about:meta])* $name:ident {
        $(#[$about_first:meta])* $first:ident, $($(#[$about_other:meta])* $other:ident,)*
    })+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name { $(#[$about_first])* #[default] $first, $($(#[$about_other])* $other,)* }
    )+ };
}

words! {
    /// An API that a server speaks.
    Api {
        /// Chat Completions.
        Chat,
        /// Responses.
        Responses,
    }

    /// Which schemas of tools a server takes.
    ToolSchemas {
        /// Any.
        AsGiven,
        /// As OpenAI does, at most 128: no `anyOf`, `oneOf`, `allOf`, `enum` and `not` at the root, and no array without
        /// `items`. It holds models to strict ones in [`Subset::OpenAi`](attache_core::schema::Subset::OpenAi).
        OpenAi,
        /// As [`OpenAi`](Self::OpenAi), but strict schemas are in [`Subset::Azure`](attache_core::schema::Subset::Azure).
        Azure,
    }

    /// The role of instructions.
    SystemRole {
        /// `system`, which every server knows.
        System,
        /// `developer`.
        Developer,
    }

    /// Where instructions may stand.
    SystemPlace {
        /// Anywhere, in several messages.
        Anywhere,
        /// In one message at the start. Those at the start are merged; a later one becomes a user message. (openai.md
        /// D 49, D 51)
        MergedFirst,
    }

    /// The `content` of an assistant message that holds only calls (openai.md D 62).
    EmptyContent {
        /// `null`.
        Null,
        /// The empty string.
        Empty,
        /// The member is left out.
        Omitted,
    }

    /// Which ids of tool calls are sent back as they came.
    CallIds {
        /// All: a server may read its own ids (openai.md D 13).
        AsReceived,
        /// Those of at most 64 letters, digits, `_` and `-`; others are replaced, on call and result alike. (openai.md
        /// D 19)
        Plain,
        /// Those of nine letters and digits; others are replaced, on call and result alike. (openai.md C.6, D 14)
        Nine,
    }

    /// Which reasoning goes back to the server that made it.
    Replayed {
        /// None.
        Never,
        /// That of turns that call tools.
        WithCalls,
        /// All.
        Always,
    }

    /// The meaning of `<think>` and `<thought>` tags at the start of an answer (openai.md C.18, D 64).
    ThinkTags {
        /// Text like any other.
        Text,
        /// The limits of reasoning.
        AtStart,
        /// The same, and the opening tag is not sent.
        Opened,
    }

    /// The name of the limit on output.
    MaxTokens {
        /// `max_tokens`, which imitations know.
        MaxTokens,
        /// `max_completion_tokens`.
        MaxCompletionTokens,
    }

    /// The form of sound in a message.
    AudioForm {
        /// `{"data": BASE64, "format": …}`. (openai.md A.2)
        Base64,
        /// The same with a data URI for data. (openai.md C.5)
        DataUri,
        /// Base64 alone, in the place of the object. (openai.md C.6)
        Bare,
    }

    /// The form of a PDF or another file in a message.
    FileForm {
        /// A part of type `file` with name and data URI. (openai.md A.2)
        File,
        /// A part of type `document_url` with a data URI or an address. (openai.md C.6)
        DocumentUrl,
        /// A part of type `file_url`, which holds addresses only. (openai.md C.2)
        FileUrl,
    }

    /// The way to withhold tools where none may be called.
    ToolsOff {
        /// `tool_choice` is `none`.
        Choice,
        /// They are not offered: the server does not know `none`, or does not keep to it. (openai.md C.2, C.6)
        Dropped,
    }

    /// The way to force one tool.
    NamedTool {
        /// `tool_choice` names it.
        Choice,
        /// It alone is offered, and `tool_choice` is `required`: the server takes no names, or takes them for `auto`.
        /// (openai.md C.16, C.17)
        Alone,
    }

    /// The way to ask for JSON of any form.
    JsonObject {
        /// `json_object`.
        Word,
        /// As the schema of an object without fields. (openai.md C.17, D 53)
        Schema,
    }

    /// Which reasoning goes back to the model that made it.
    ReasoningItems {
        /// That which is encrypted, or whose answer is kept at the server, and right before what it produced: OpenAI refuses
        /// any other. (openai.md B.7)
        Paired,
        /// All, as it came: in plain text, in a row, or behind its answer. (openai.md C.1, C.8, C.9)
        AsReceived,
    }

    /// Which items of answers go back with the ids that they came with. Others go back without an id.
    ItemIds {
        /// Reasoning, and with it what it produced. (openai.md B.7)
        WithReasoning,
        /// Reasoning alone.
        Reasoning,
        /// None: they are placeholders. (openai.md C.9)
        Never,
    }
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

impl ToolSchemas {
    /// The subset of JSON Schema in which the server takes what it enforces.
    pub(crate) fn subset(self) -> Subset {
        if self == Self::Azure { Subset::Azure } else { Subset::OpenAi }
    }
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

impl SystemRole {
    /// The word on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
        }
    }
}
