//! Documents as parts (gemini.md 3, 12).

use attache_core::{Document, DocumentSource, FileReferences, MediaKind, MediaType, Place, ProviderError};
use attache_transport::{Codec as _, ItemWriter};
use bytes::Bytes;

use crate::codec::GenerateCodec;
use crate::error::{invalid_history, unsupported};

/// A document as the wire takes it.
pub(super) enum Shown {
    /// Read as text.
    Text(Bytes),
    /// At an address that the model may see.
    Address(Box<str>),
    Bytes(Bytes),
}

/// Writes a document of a user's content as one part.
pub(super) fn part(
    codec: &GenerateCodec,
    files: &FileReferences,
    document: &Document,
    (place, unrouted): (Place, bool),
    item: &mut ItemWriter<'_>,
) -> Result<(), ProviderError> {
    if codec.capabilities().place(place).refers(document.media_type())
        && let Some(uri) = files.get(document)
    {
        next(item);
        write_media(document, &Shown::Address(Box::from(uri)), item);
        return Ok(());
    }
    match shown(codec, document, place, unrouted)? {
        Shown::Text(bytes) => text(as_text(codec, document, place, &bytes)?, item),
        media => {
            next(item);
            write_media(document, &media, item);
        }
    }
    Ok(())
}

/// What is sent of a document in that place.
pub(super) fn shown(
    codec: &GenerateCodec,
    document: &Document,
    place: Place,
    unrouted: bool,
) -> Result<Shown, ProviderError> {
    let media = document.media_type();
    let accepted = codec.capabilities().place(place);
    let refuse = |why: &str| Err(cannot_take(codec, document, place, why));
    if !accepted.accepts(media) {
        return refuse("the model does not take this type there");
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
        (DocumentSource::External { .. }, _) if !codec.capabilities().takes_url(place, media) => {
            refuse("an address cannot stand there")
        }
        (DocumentSource::External { url }, _) => Ok(Shown::Address(Box::from(&**url))),
        (_, None) => refuse("its bytes are not loaded"),
        (_, Some(bytes)) if media.kind() == MediaKind::Text => Ok(Shown::Text(bytes)),
        (_, Some(bytes)) if bytes.is_empty() => refuse("it is empty"),
        (_, Some(bytes)) => Ok(Shown::Bytes(bytes)),
    }
}

/// The text of a document that is one.
pub(super) fn as_text<'b>(
    codec: &GenerateCodec,
    document: &Document,
    place: Place,
    bytes: &'b [u8],
) -> Result<&'b str, ProviderError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.trim().is_empty() => Ok(text),
        Ok(_) => Err(cannot_take(codec, document, place, "its text is blank")),
        Err(_) => Err(cannot_take(codec, document, place, "its text is not UTF-8")),
    }
}

/// Writes a part of media; names are left out, which the developer API once refused.
pub(super) fn write_media(document: &Document, shown: &Shown, item: &mut ItemWriter<'_>) {
    match shown {
        Shown::Address(url) => {
            item.raw(r#"{"fileData":{"mimeType":"#);
            item.string(wire_type(document.media_type()));
            item.raw(r#","fileUri":"#);
            item.string(url);
            item.raw("}}");
        }
        Shown::Bytes(bytes) | Shown::Text(bytes) => {
            item.raw(r#"{"inlineData":{"mimeType":"#);
            item.string(wire_type(document.media_type()));
            item.raw(r#","data":""#);
            item.base64(bytes);
            item.raw("\"}}");
        }
    }
}

/// The API's word for a media type.
pub(crate) fn wire_type(media_type: &MediaType) -> &str {
    match media_type.essence() {
        "audio/mp4" => "audio/m4a",
        "video/quicktime" => "video/mov",
        essence => essence,
    }
}

/// Writes a text part.
pub(super) fn text(text: &str, item: &mut ItemWriter<'_>) {
    next(item);
    item.raw(r#"{"text":"#);
    item.string(text);
    item.raw("}");
}

pub(super) fn next(item: &mut ItemWriter<'_>) {
    if !item.is_empty() {
        item.raw(",");
    }
}

pub(super) fn unrouted(place: &str, count: usize) -> ProviderError {
    invalid_history(format!("{place} holds {count} documents that were not routed"))
}

/// What C25 asks for: the document, its type, the model, and why.
fn cannot_take(codec: &GenerateCodec, document: &Document, place: Place, why: &str) -> ProviderError {
    let name = document.file_name().unwrap_or_else(|| document.id().as_str());
    unsupported(format!(
        "{} cannot take the {} {name} ({}) in a {}: {why}",
        codec.model(),
        document.media_type().kind().as_str(),
        document.media_type().essence(),
        place.as_str().replace('_', " ")
    ))
}
