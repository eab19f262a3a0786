//! Helpers of rendering a request, whichever API is spoken.

pub(crate) mod head;
pub(crate) mod options;
pub(crate) mod tools;

use std::borrow::Cow;

use attache_core::{Document, DocumentSource, ToolResult, UserMessage, UserPart};
use attache_transport::Fill::Bare;
use attache_transport::{ItemWriter, cannot_send, template};

use crate::error::Result;

pub(crate) use attache_transport::invalid_history as invalid;

/// The text that the model reads where a failed call left none.
const FAILED: &str = "\"the tool failed\"";

/// The text of a result up to the quote that would end it. The API has no flag for failures, so a failed result is the
/// JSON object `{"error": …}`. (runtime.md 5)
pub(crate) fn open_result(result: &ToolResult, out: &mut ItemWriter<'_>) {
    if result.is_error() {
        let problem = if result.tree.is_blank() { FAILED } else { result.tree.json() };
        out.fill(template!(r#""{\"error\":$}"#), &[Bare(problem)]);
    } else {
        let literal = result.tree.model_text_literal();
        out.raw(literal.strip_suffix('"').unwrap_or(&literal));
    }
}

/// Refuses documents of a message that routing has not looked at: those inside data, and those whose address nobody
/// has cleared for the model.
pub(crate) fn check_routed(message: &UserMessage) -> Result<()> {
    if message.routed.is_some() {
        return Ok(());
    }
    attache_transport::check_routed(message)?;
    let uncleared = message.parts.iter().find_map(|part| match part {
        UserPart::Document(document) if matches!(document.source(), DocumentSource::External { .. }) => {
            Some(document)
        }
        _ => None,
    });
    match uncleared {
        Some(document) => Err(cannot_send(document, "its address was not cleared for the model")),
        None => Ok(()),
    }
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
