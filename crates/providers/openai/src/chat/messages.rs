//! Messages in the form of Chat Completions (openai.md A.2).

use std::borrow::Cow;

use attache_core::{
    AssistantMessage, Content, Document, DocumentSource, ErrorKind, MediaKind, MessageId, ModelCapabilities,
    PlaceCapabilities, ProviderError, SystemMessage, TextPart, ToolResult, ToolResultsMessage, ToolSet,
    UserMessage, UserOrigin,
};
use attache_transport::{ItemWriter, wire_ids};
use serde_json::Value;

use super::ids::legal;
use super::request::invalid;
use crate::profile::{Profile, SystemRole};

/// What the model reads where a failed call left no text.
const FAILED: &str = "the tool failed";

/// Writes messages for one profile and model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renderer<'a> {
    pub(super) profile: &'a Profile,
    pub(super) model: &'a str,
    pub(super) capabilities: &'a ModelCapabilities,
    pub(super) tools: &'a ToolSet,
}

impl Renderer<'_> {
    /// The word for the role of instructions.
    pub(super) fn system_role(&self) -> &'static str {
        match self.profile.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
        }
    }

    /// Writes instructions under a role; `false` if there are none.
    pub(super) fn system(&self, message: &SystemMessage, role: &str, out: &mut ItemWriter<'_>) -> bool {
        if message.parts.is_empty() {
            return false;
        }
        open(role, out);
        string(message.parts.iter().map(TextPart::text), "\n\n", out);
        out.raw("}");
        true
    }

    /// Writes a message of the user's side; `false` if it says nothing.
    pub(super) fn user(
        &self,
        message: &UserMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool, ProviderError> {
        let unrouted = |part: &Content| matches!(part, Content::Object(tree) if !tree.documents().is_empty());
        if message.routed.is_none() && message.parts.iter().any(unrouted) {
            return Err(invalid(format!("message {} holds documents that were not routed", message.id)));
        }
        let place = match message.origin {
            UserOrigin::ToolCallDocuments => &self.capabilities.beside_result,
            _ => &self.capabilities.user,
        };
        let parts: Vec<_> = message.shown().iter().filter(|part| !is_blank(part)).collect();
        if parts.is_empty() {
            return Ok(false);
        }
        open("user", out);
        let texts: Option<Vec<_>> = parts.iter().map(|part| plain_text(part)).collect();
        match texts {
            Some(texts) if texts.len() == 1 || self.profile.joined_texts => string(texts, "\n", out),
            _ => {
                for (at, part) in parts.into_iter().enumerate() {
                    out.raw(if at == 0 { "[" } else { "," });
                    match (part, plain_text(part)) {
                        (Content::Document(document), _) => self.document(document, place, out)?,
                        (_, Some(text)) => text_part(&text, out),
                        (_, None) => return Err(unknown_part(&message.id)),
                    }
                }
                out.raw("]");
            }
        }
        out.raw("}");
        Ok(true)
    }

    fn document(
        &self,
        document: &Document,
        place: &PlaceCapabilities,
        out: &mut ItemWriter<'_>,
    ) -> Result<(), ProviderError> {
        let media = document.media_type();
        if !place.accepts(media) {
            return Err(unsupported(document, "the model does not take this media type here"));
        }
        if let (DocumentSource::External { url }, MediaKind::Image, Some(true)) =
            (document.source(), media.kind(), self.capabilities.files.urls)
        {
            out.raw(r#"{"type":"image_url","image_url":{"url":"#);
            out.string(url);
            out.raw("}}");
            return Ok(());
        }
        let bytes = document.bytes().filter(|bytes| !bytes.is_empty());
        let bytes = bytes.ok_or_else(|| unsupported(document, "its content is not in memory"))?;
        match (media.kind(), media.essence()) {
            (MediaKind::Text, _) => match std::str::from_utf8(&bytes) {
                Ok(text) if !text.trim().is_empty() => text_part(text, out),
                _ => return Err(unsupported(document, "it is not readable as text")),
            },
            (MediaKind::Image, essence) => {
                out.raw(r#"{"type":"image_url","image_url":{"url":"data:"#);
                out.escaped(essence);
                out.raw(";base64,");
                out.base64(&bytes);
                out.raw("\"}}");
            }
            (MediaKind::Audio, essence @ ("audio/wav" | "audio/mpeg")) => {
                out.raw(r#"{"type":"input_audio","input_audio":{"data":""#);
                out.base64(&bytes);
                out.raw(if essence == "audio/wav" {
                    r#"","format":"wav"}}"#
                } else {
                    r#"","format":"mp3"}}"#
                });
            }
            (MediaKind::Pdf | MediaKind::Other, essence) => {
                out.raw(r#"{"type":"file","file":{"filename":"#);
                out.string(&file_name(document));
                out.raw(r#","file_data":"data:"#);
                out.escaped(essence);
                out.raw(";base64,");
                out.base64(&bytes);
                out.raw("\"}}");
            }
            _ => return Err(unsupported(document, "the API has no part for this media type")),
        }
        Ok(())
    }

    /// Writes the results of the calls of `asked`, in call order; `false` if there are none.
    pub(super) fn results(
        &self,
        message: &ToolResultsMessage,
        asked: &AssistantMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool, ProviderError> {
        let calls: Vec<_> = asked.tool_calls().collect();
        let ids = wire_ids(&calls, |id| legal(id, self.profile.call_ids));
        let mut first = true;
        for (call, id) in calls.iter().zip(ids) {
            let Some(result) = message.results.iter().find(|result| result.call_id == call.id) else {
                continue;
            };
            separate(&mut first, out);
            out.raw(r#"{"role":"tool","tool_call_id":"#);
            out.string(&id);
            out.raw(r#","content":"#);
            result_content(result, out)?;
            out.raw("}");
        }
        Ok(!first)
    }
}

/// The content of a tool message, which is text: no other part is known there (openai.md A.2).
///
/// The API has no flag for failures, so a failed result is the JSON object `{"error": …}` (runtime.md 5). What
/// follows the text stands on lines of its own.
fn result_content(result: &ToolResult, out: &mut ItemWriter<'_>) -> Result<(), ProviderError> {
    if result.is_unrouted() {
        return Err(invalid(format!(
            "the result of call {} holds documents that were not routed",
            result.call_id
        )));
    }
    if result.is_error() {
        out.raw("\"");
        out.escaped(r#"{"error":"#);
        if result.tree.is_blank() {
            out.escaped(&Value::from(FAILED).to_string());
        } else {
            out.escaped(result.tree.json());
        }
        out.escaped("}");
    } else {
        let literal = result.tree.model_text_literal();
        out.raw(literal.strip_suffix('"').unwrap_or(&literal));
    }
    for content in result.attached() {
        if is_blank(content) {
            continue;
        }
        let Some(text) = plain_text(content) else {
            let text = format!(
                "the result of call {} has a document, and tool messages take only text",
                result.call_id
            );
            return Err(ProviderError::new(ErrorKind::Unsupported, text));
        };
        out.escaped("\n");
        out.escaped(&text);
    }
    out.raw("\"");
    Ok(())
}

/// The text of what is not a document.
fn plain_text(content: &Content) -> Option<Cow<'_, str>> {
    match content {
        Content::Text(text) => Some(Cow::Borrowed(text.text())),
        Content::Object(tree) => Some(tree.model_text()),
        _ => None,
    }
}

fn is_blank(content: &Content) -> bool {
    matches!(content, Content::Object(tree) if tree.is_blank())
}

fn open(role: &str, out: &mut ItemWriter<'_>) {
    out.raw("{\"role\":\"");
    out.raw(role);
    out.raw("\",\"content\":");
}

pub(super) fn separate(first: &mut bool, out: &mut ItemWriter<'_>) {
    if !std::mem::take(first) {
        out.raw(",");
    }
}

pub(super) fn text_part(text: &str, out: &mut ItemWriter<'_>) {
    out.raw(r#"{"type":"text","text":"#);
    out.string(text);
    out.raw("}");
}

/// Texts as one JSON string.
pub(super) fn string<T: AsRef<str>>(
    texts: impl IntoIterator<Item = T>,
    separator: &str,
    out: &mut ItemWriter<'_>,
) {
    out.raw("\"");
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            out.escaped(separator);
        }
        out.escaped(text.as_ref());
    }
    out.raw("\"");
}

/// The name of a file, which the API demands.
fn file_name(document: &Document) -> Cow<'_, str> {
    match (document.file_name(), document.media_type().extension()) {
        (Some(name), _) => Cow::Borrowed(name),
        (None, Some(extension)) => Cow::Owned(format!("document.{extension}")),
        (None, None) => Cow::Borrowed("document"),
    }
}

fn unsupported(document: &Document, why: &str) -> ProviderError {
    let name = document.file_name().unwrap_or_else(|| document.id().short());
    ProviderError::new(
        ErrorKind::Unsupported,
        format!("cannot send {name} ({}): {why}", document.media_type()),
    )
}

/// A part of a kind that is newer than this renderer: it is refused rather than left out.
pub(super) fn unknown_part(message: &MessageId) -> ProviderError {
    let text = format!("message {message} holds a part that this API does not know");
    ProviderError::new(ErrorKind::Unsupported, text)
}
