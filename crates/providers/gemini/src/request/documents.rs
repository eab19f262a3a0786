//! Documents as parts (gemini.md 3, 12).

use attache_core::capability::Place;
use attache_core::files::FileReferences;
use attache_core::{Document, MediaType};
use attache_transport::Fill::{Base64, Text};
use attache_transport::{Codec as _, ItemWriter, Shown, cannot_take, comma, shown, template};

use crate::codec::GenerateCodec;
use crate::error::Result;

/// Writes a document of a user's content as one part.
pub(super) fn part(
    codec: &GenerateCodec,
    files: &FileReferences,
    document: &Document,
    (place, unrouted): (Place, bool),
    item: &mut ItemWriter<'_>,
) -> Result<()> {
    match shown_filled(codec, document, place, unrouted, Some(files))? {
        Shown::Text(bytes) => text(as_text(codec, document, place, &bytes)?, item),
        media => {
            comma(item);
            write_media(document, &media, item);
        }
    }
    Ok(())
}

/// The form in which a document is sent in that place; an empty one is refused.
pub(super) fn shown_filled<'a>(
    codec: &GenerateCodec,
    document: &'a Document,
    place: Place,
    unrouted: bool,
    files: Option<&'a FileReferences>,
) -> Result<Shown<'a>> {
    match shown(codec.model(), codec.capabilities(), document, place, unrouted, files)? {
        Shown::Bytes(bytes) if bytes.is_empty() => {
            Err(cannot_take(codec.model(), document, place, "it is empty"))
        }
        shown => Ok(shown),
    }
}

/// The text of a document that is one.
pub(super) fn as_text<'b>(
    codec: &GenerateCodec,
    document: &Document,
    place: Place,
    bytes: &'b [u8],
) -> Result<&'b str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.trim().is_empty() => Ok(text),
        Ok(_) => Err(cannot_take(codec.model(), document, place, "its text is blank")),
        Err(_) => Err(cannot_take(codec.model(), document, place, "its text is not UTF-8")),
    }
}

/// Writes a part of media; names are left out, which the developer API once refused.
pub(super) fn write_media(document: &Document, shown: &Shown<'_>, item: &mut ItemWriter<'_>) {
    match shown {
        Shown::Address(url) | Shown::File(url) => {
            item.fill(
                template!(r#"{"fileData":{"mimeType":$,"fileUri":$}}"#),
                &[Text(wire_type(document.media_type())), Text(url)],
            );
        }
        Shown::Bytes(bytes) | Shown::Text(bytes) => {
            item.fill(
                template!(r#"{"inlineData":{"mimeType":$,"data":"$"}}"#),
                &[Text(wire_type(document.media_type())), Base64(bytes)],
            );
        }
    }
}

/// The API's word for a media type.
pub(crate) fn wire_type(media_type: &MediaType) -> &str {
    match media_type.essence() {
        "audio/mp4" => "audio/m4a",
        "video/quicktime" => "video/mov",
        "video/x-msvideo" => "video/avi",
        "video/x-ms-wmv" => "video/wmv",
        essence => essence,
    }
}

/// Writes a text part.
pub(super) fn text(text: &str, item: &mut ItemWriter<'_>) {
    comma(item);
    item.fill(template!(r#"{"text":$}"#), &[Text(text)]);
}
