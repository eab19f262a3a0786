//! Documents to text.

use bytes::Bytes;

use crate::format::Format;
#[cfg(feature = "legacy")]
use crate::protected;
use crate::{ConvertError, Converted, Limits, Note, detection, dispatch, guarded, gzip, media_type};

/// True if [`convert`] supports this media type. Parameters and case are ignored.
pub fn can_convert(media_type: &str) -> bool {
    Format::of(media_type).is_some()
}

/// Converts a document to text. It blocks, at most for about as long as `limits` allow.
///
/// The same document and limits give the same text, apart from the time limit. The bytes are not copied.
///
/// # Errors
///
/// See [`ConvertError`]: the media type is not supported, the document is encrypted, malformed, too large or
/// without text, or reading it took too long or failed.
pub fn convert(media_type: &str, bytes: Bytes, limits: &Limits) -> Result<Converted, ConvertError> {
    let Some(format) = Format::of(media_type) else {
        return Err(ConvertError::Unsupported { media_type: media_type.chars().take(100).collect() });
    };
    if bytes.is_empty() {
        return Err(ConvertError::Malformed { reason: "it is empty" });
    }
    if bytes.len() > limits.max_input_bytes {
        return Err(ConvertError::TooLarge { what: "bytes", limit: limits.max_input_bytes });
    }
    let limits = *limits;
    let charset = media_type::charset(media_type);
    guarded::run(limits.max_time, move |clock| {
        let found = detection::resolve(format, &bytes)?;
        let (format, bytes, found, is_whole) = if found == Format::Gzip {
            let (inside, format, is_whole) = gzip::open(&bytes, &limits)?;
            let found = detection::resolve(format, &inside)?;
            (format, inside, found, is_whole)
        } else {
            (format, bytes, found, true)
        };
        #[cfg(feature = "legacy")]
        let (bytes, found, is_intact) = if found == Format::Encrypted {
            let (inside, is_intact) = protected::open_package(&bytes, &limits, clock)?;
            let found = detection::resolve(format, &inside)?;
            (inside, found, is_intact)
        } else {
            (bytes, found, true)
        };
        let mut converted = dispatch::convert(found, &bytes, charset.as_deref(), &limits, clock)?;
        converted.notes.extend(found.differs_from(format));
        if !is_whole {
            converted.notes.push(Note::EndsEarly);
            converted.truncated = true;
        }
        #[cfg(feature = "legacy")]
        converted.notes.extend((!is_intact).then_some(Note::Altered));
        Ok(converted)
    })
}
