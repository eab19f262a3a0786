//! The differences between the profiles, as data.

use serde::{Deserialize, Serialize};

/// The format of labels and of the lines around them.
///
/// | | `spec` (default) | `refs` |
/// | --- | --- | --- |
/// | tag | `<document tool-name tool-call-id document-short-id filename />` | `<doc toolName toolCallId documentId storeId contentType fileName />` |
/// | of an external document | the same | `<doc toolName toolCallId documentId name />`, or `url` for `documentId` where [`RouteOptions::show_urls`](crate::RouteOptions::show_urls) allows it |
/// | line before the documents of tool results | `Documents extracted from tool call results:` | `Documents extracted from tool calls (<doc /> tag + content pair):` |
/// | line before those of an event | none | `Documents extracted from event data (<doc /> tag + content pair):` |
/// | tabs and line breaks in values | numeric references | as they are |
///
/// In both profiles, the tag of a note has a final attribute `status`, characters forbidden in XML are left out, and
/// values are cut after 2,048 characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LabelProfile {
    /// Short ids and dashed names.
    #[default]
    Spec,
    /// Full ids, with the names used in references of tool results.
    Refs,
}

impl LabelProfile {
    /// The first line of the synthetic message.
    pub fn results_preamble(self) -> &'static str {
        self.form().results_preamble
    }

    /// The line before the documents of an event, in the profiles that have one.
    pub fn event_preamble(self) -> Option<&'static str> {
        self.form().event_preamble
    }

    pub(super) fn form(self) -> &'static Form {
        match self {
            Self::Spec => &SPEC,
            Self::Refs => &REFS,
        }
    }
}

/// One profile.
pub(super) struct Form {
    pub(super) element: &'static str,
    /// The attributes in order.
    pub(super) attributes: &'static [Attribute],
    /// The attributes of an external document in order.
    pub(super) external: &'static [Attribute],
    pub(super) breaks: Breaks,
    results_preamble: &'static str,
    event_preamble: Option<&'static str>,
}

/// An attribute's name and what stands in it.
pub(super) struct Attribute(pub(super) &'static str, pub(super) Value);

#[derive(Clone, Copy)]
pub(super) enum Value {
    ToolName,
    ToolCallId,
    ShortId,
    DocumentId,
    StoreId,
    ContentType,
    FileName,
    /// The URL, where it may be shown.
    Url,
    /// The id where the URL may not be shown: otherwise nothing would tell two external documents apart.
    DocumentIdWithoutUrl,
    Status,
}

/// The treatment of tabs and line breaks in values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    Escaped,
    Kept,
}

const SPEC: Form = Form {
    element: "document",
    attributes: SPEC_ATTRIBUTES,
    external: SPEC_ATTRIBUTES,
    breaks: Breaks::Escaped,
    results_preamble: "Documents extracted from tool call results:",
    event_preamble: None,
};

const SPEC_ATTRIBUTES: &[Attribute] = &[
    Attribute("tool-name", Value::ToolName),
    Attribute("tool-call-id", Value::ToolCallId),
    Attribute("document-short-id", Value::ShortId),
    Attribute("filename", Value::FileName),
    Attribute("status", Value::Status),
];

const REFS: Form = Form {
    element: "doc",
    attributes: &[
        Attribute("toolName", Value::ToolName),
        Attribute("toolCallId", Value::ToolCallId),
        Attribute("documentId", Value::DocumentId),
        Attribute("storeId", Value::StoreId),
        Attribute("contentType", Value::ContentType),
        Attribute("fileName", Value::FileName),
        Attribute("status", Value::Status),
    ],
    external: &[
        Attribute("toolName", Value::ToolName),
        Attribute("toolCallId", Value::ToolCallId),
        Attribute("documentId", Value::DocumentIdWithoutUrl),
        Attribute("url", Value::Url),
        Attribute("name", Value::FileName),
        Attribute("status", Value::Status),
    ],
    breaks: Breaks::Kept,
    results_preamble: "Documents extracted from tool calls (<doc /> tag + content pair):",
    event_preamble: Some("Documents extracted from event data (<doc /> tag + content pair):"),
};
