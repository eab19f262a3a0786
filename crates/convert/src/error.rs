use std::time::Duration;

use crate::Unit;
use crate::media_type::essence;

/// The reason why a document could not be converted.
///
/// The messages describe the problem without quoting the document, so that they can be used in a note for a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// No converter supports this media type.
    #[error("no converter reads `{media_type}`{}", advice(media_type))]
    Unsupported {
        /// The media type as given, cut after 100 characters.
        media_type: String,
    },
    /// The document opens only with a password, or is protected in a way that is not supported.
    #[error("the document is encrypted: {reason}")]
    Encrypted {
        /// The obstacle.
        reason: &'static str,
    },
    /// The bytes are not a document of this type, or are damaged beyond repair.
    #[error("the document is malformed: {reason}")]
    Malformed {
        /// The fault.
        reason: &'static str,
    },
    /// Neither the media type nor the content shows the type of the document.
    #[error("what the document is cannot be told from its content")]
    UnknownFormat,
    /// The document is in a known format that is not supported.
    #[error(
        "the document is in the format of {format}, which cannot be read; a newer format of the program can"
    )]
    OldFormat {
        /// The owner of the format.
        format: &'static str,
    },
    /// A limit was exceeded before any text could be read.
    #[error("the document is too large: more than {limit} {what}")]
    TooLarge {
        /// The counted unit, in the plural.
        what: &'static str,
        /// The limit that was exceeded.
        limit: usize,
    },
    /// The conversion timed out.
    #[error("the conversion did not end within {limit:?}")]
    TimedOut {
        /// The limit that was exceeded.
        limit: Duration,
    },
    /// The document contains no text: a scan, drawings, or fonts that do not identify their characters.
    #[error("the document holds no text in its {units} {unit}(s){}", if *images { ", only images" } else { "" })]
    NoText {
        /// The units into which the document is divided.
        unit: Unit,
        /// The number of units examined.
        units: usize,
        /// True if images were found, as in a scan.
        images: bool,
    },
    /// No text was read, but parts of the document were left out because they are too large, nested too deeply or
    /// damaged, so that it may contain some.
    #[error("no text could be read: parts of the document's {units} {unit}(s) are too large or damaged")]
    NothingRead {
        /// The units into which the document is divided.
        unit: Unit,
        /// The number of units examined.
        units: usize,
    },
    /// The library that reads this format panicked; the panic was caught.
    #[error("the document could not be read: the converter failed on it")]
    Failed,
    /// Too many earlier conversions that timed out are still running, or no thread could be started.
    #[error("no conversion can be started: earlier ones are still running")]
    Busy,
}

/// Advice about a type that nothing here reads.
fn advice(media_type: &str) -> &'static str {
    match essence(media_type).to_ascii_lowercase().as_str() {
        "image/heic" | "image/heif" | "image/avif" => "; saved as JPEG or PNG it can be shown",
        _ => "",
    }
}
