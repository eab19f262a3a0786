//! What rendering a request needs whichever API is spoken.

use std::borrow::Cow;
use std::sync::Arc;

use attache_core::{
    AssistantMessage, Document, DocumentSource, ErrorKind, Message, MessageId, ProviderError, ToolResult,
    ToolSet, UserMessage, UserPart,
};
use attache_transport::ItemWriter;
use serde::Serialize;
use serde_json::Value;

/// What the model reads where a failed call left no text.
const FAILED: &str = "the tool failed";

pub(crate) fn invalid(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorKind::InvalidHistory, text)
}

/// The message whose calls the results at `at` answer, and its index.
pub(crate) fn asked(messages: &[Arc<Message>], at: usize) -> Option<(usize, &AssistantMessage)> {
    let before = at.checked_sub(1)?;
    match &**messages.get(before)? {
        Message::Assistant(assistant) => Some((before, assistant)),
        _ => None,
    }
}

pub(crate) fn same<T: PartialEq>(a: &Arc<T>, b: &Arc<T>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// Whether both sets give every tool the same name on the wire.
pub(crate) fn same_names(a: &Arc<ToolSet>, b: &Arc<ToolSet>) -> bool {
    let agree = |names: &ToolSet, other: &ToolSet| {
        names.iter().all(|(wire, definition)| other.wire_name(definition.name()) == wire)
    };
    Arc::ptr_eq(a, b) || agree(a, b) && agree(b, a)
}

pub(crate) fn write_json<T: Serialize + ?Sized>(value: &T, out: &mut String) -> Result<(), ProviderError> {
    let json = serde_json::to_string(value).map_err(|error| {
        ProviderError::new(ErrorKind::Configuration, "the request cannot be written as JSON")
            .with_source(error)
    })?;
    out.push_str(&json);
    Ok(())
}

/// Texts as one JSON string.
pub(crate) fn string<T: AsRef<str>>(
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

pub(crate) fn separate(first: &mut bool, out: &mut ItemWriter<'_>) {
    if !std::mem::take(first) {
        out.raw(",");
    }
}

/// The text of what is not a document.
pub(crate) fn plain_text(content: &UserPart) -> Option<Cow<'_, str>> {
    match content {
        UserPart::Text(text) => Some(Cow::Borrowed(text.text())),
        UserPart::Object(tree) => Some(tree.model_text()),
        _ => None,
    }
}

pub(crate) fn is_blank(content: &UserPart) -> bool {
    matches!(content, UserPart::Object(tree) if tree.is_blank())
}

/// The text of a result up to the quote that would end it. The API has no flag for failures, so a failed result is the
/// JSON object `{"error": …}`. (runtime.md 5)
pub(crate) fn open_result(result: &ToolResult, out: &mut ItemWriter<'_>) {
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
}

/// Refuses documents of a message that routing has not looked at: those inside data, and those whose address nobody
/// has cleared for the model.
pub(crate) fn check_routed(message: &UserMessage) -> Result<(), ProviderError> {
    if message.routed.is_some() {
        return Ok(());
    }
    for part in &message.parts {
        match part {
            UserPart::Object(tree) if !tree.documents().is_empty() => {
                return Err(invalid(format!("message {} holds documents that were not routed", message.id)));
            }
            UserPart::Document(document) if matches!(document.source(), DocumentSource::External { .. }) => {
                return Err(unsupported(document, "its address was not cleared for the model"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The name of a file, which the API demands.
pub(crate) fn file_name(document: &Document) -> Cow<'_, str> {
    let own = document.file_name().filter(|name| !name.trim().is_empty());
    match (own, document.media_type().extension()) {
        (Some(name), _) => Cow::Borrowed(name),
        (None, Some(extension)) => Cow::Owned(format!("document.{extension}")),
        (None, None) => Cow::Borrowed("document"),
    }
}

pub(crate) fn unsupported(document: &Document, why: &str) -> ProviderError {
    let name = document.file_name().unwrap_or_else(|| document.id().short());
    ProviderError::new(
        ErrorKind::Unsupported,
        format!("cannot send {name} ({}): {why}", document.media_type()),
    )
}

/// A part of a kind that is newer than this renderer: it is refused rather than left out.
pub(crate) fn unknown_part(message: &MessageId) -> ProviderError {
    let text = format!("message {message} holds a part that this API does not know");
    ProviderError::new(ErrorKind::Unsupported, text)
}
