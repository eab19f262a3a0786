//! Documents and other contents as they are sent.

use std::borrow::Cow;

use attache_core::capability::Place;
use attache_core::files::FileReferences;
use attache_core::message::UserOrigin;
use attache_core::{
    Document, DocumentSource, ErrorKind, MediaKind, MessageId, ModelCapabilities, ProviderError, ToolResult,
    UserMessage, UserPart,
};
use bytes::Bytes;

/// The form in which a document is sent.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a codec must write every way, so that a new one is for it to see"
)]
pub enum Shown<'a> {
    /// It is read as text.
    Text(Bytes),
    /// The reference under which the provider keeps it.
    File(&'a str),
    /// An address that the model may see.
    Address(&'a str),
    /// Its bytes.
    Bytes(Bytes),
}

/// The form in which a document is sent in that place to a model, as a reference if `files` has one. An address is sent only if
/// routing looked at it, which `unrouted` denies.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for what the model does not take there, or what is not loaded.
pub fn shown<'a>(
    model: &str,
    capabilities: &ModelCapabilities,
    document: &'a Document,
    place: Place,
    unrouted: bool,
    files: Option<&'a FileReferences>,
) -> Result<Shown<'a>, ProviderError> {
    let media = document.media_type();
    let accepted = capabilities.place(place);
    let refuse = |why: &str| Err(cannot_take(model, document, place, why));
    if !accepted.accepts(media) {
        return refuse("the model does not take this type there");
    }
    if let Some(file) = files.and_then(|files| files.get(document)).filter(|_| accepted.refers(media)) {
        return Ok(Shown::File(file));
    }
    if let (Some(size), Some(limit)) = (document.size(), accepted.byte_limit(media))
        && size > limit
    {
        return refuse(&format!("it has {size} bytes, the limit is {limit}"));
    }
    match (document.source(), document.bytes()) {
        // Showing an address is a decision of routing, so one that nobody looked at is not sent.
        (DocumentSource::External { .. }, _) if unrouted => {
            refuse("its address was not cleared for the model")
        }
        (DocumentSource::External { .. }, _) if !capabilities.takes_url(place, media) => {
            refuse("an address cannot stand there")
        }
        (DocumentSource::External { url }, _) => Ok(Shown::Address(url)),
        (_, None) => refuse("its bytes are not loaded"),
        (_, Some(bytes)) if media.kind() == MediaKind::Text => Ok(Shown::Text(bytes)),
        (_, Some(bytes)) => Ok(Shown::Bytes(bytes)),
    }
}

/// The error names the document, its type, the model and the reason (C25).
pub fn cannot_take(model: &str, document: &Document, place: Place, why: &str) -> ProviderError {
    let name = document.file_name().unwrap_or_else(|| document.id().as_str());
    let message = format!(
        "{model} cannot take the {} {name} ({}) in a {}: {why}",
        document.media_type().kind().as_str(),
        document.media_type().essence(),
        place.as_str().replace('_', " ")
    );
    ProviderError::new(ErrorKind::Unsupported, message)
}

/// The place of what a message of the user's side shows.
pub fn place_of_user(message: &UserMessage) -> Place {
    match message.origin {
        UserOrigin::ToolCallDocuments => Place::AfterToolResults,
        _ => Place::User,
    }
}

/// The place of what is attached to a result.
pub fn place_of_result(result: &ToolResult) -> Place {
    if result.is_error() { Place::FailedResult } else { Place::ToolResult }
}

/// Refuses a message with data whose documents routing has not looked at.
///
/// # Errors
/// [`ErrorKind::InvalidHistory`] names the message.
pub fn check_routed(message: &UserMessage) -> Result<(), ProviderError> {
    if message.routed.is_some() {
        return Ok(());
    }
    let counts = message.parts.iter().map(|part| match part {
        UserPart::Object(tree) => tree.documents().len(),
        _ => 0,
    });
    match counts.into_iter().find(|count| *count > 0) {
        Some(count) => Err(not_routed(&format!("the message {}", message.id), count)),
        None => Ok(()),
    }
}

/// Refuses a result whose documents routing has not looked at.
///
/// # Errors
/// [`ErrorKind::InvalidHistory`] names the result.
pub fn check_result_routed(result: &ToolResult) -> Result<(), ProviderError> {
    if result.is_unrouted() {
        let place = format!("the result of {}", result.call_id);
        return Err(not_routed(&place, result.documents.len()));
    }
    Ok(())
}

fn not_routed(place: &str, count: usize) -> ProviderError {
    let message = format!("{place} holds {count} documents that were not routed");
    ProviderError::new(ErrorKind::InvalidHistory, message)
}

/// The text of what is no document.
pub fn plain_text(content: &UserPart) -> Option<Cow<'_, str>> {
    match content {
        UserPart::Text(text) => Some(Cow::Borrowed(text.text())),
        UserPart::Object(tree) => Some(tree.model_text()),
        _ => None,
    }
}

/// True if nothing is said: of blank text none can be made, so that is a blank object.
pub fn is_blank(content: &UserPart) -> bool {
    matches!(content, UserPart::Object(tree) if tree.is_blank())
}

/// The bytes of a document, unless it is empty.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if there are none.
pub fn bytes_of(document: &Document) -> Result<Bytes, ProviderError> {
    let bytes = document.bytes().filter(|bytes| !bytes.is_empty());
    bytes.ok_or_else(|| cannot_send(document, "its content is not in memory"))
}

/// Hands on the text of a document that reads as text.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if it does not, or says nothing.
pub fn with_text_of(document: &Document, write: impl FnOnce(&str)) -> Result<(), ProviderError> {
    match std::str::from_utf8(&bytes_of(document)?) {
        Ok(text) if !text.trim().is_empty() => write(text),
        _ => return Err(cannot_send(document, "it is not readable as text")),
    }
    Ok(())
}

/// A document that an API does not take.
pub fn cannot_send(document: &Document, why: &str) -> ProviderError {
    let name = document.file_name().unwrap_or_else(|| document.id().short());
    ProviderError::new(
        ErrorKind::Unsupported,
        format!("cannot send {name} ({}): {why}", document.media_type()),
    )
}

/// A part of a kind that is newer than a codec: it is refused rather than left out.
pub fn unknown_part(message: &MessageId) -> ProviderError {
    let text = format!("message {message} holds a part that this API does not know");
    ProviderError::new(ErrorKind::Unsupported, text)
}
