//! Which converter reads which format.

use bytes::Bytes;

#[cfg(feature = "office")]
use crate::Unit;
use crate::format::Format;
use crate::guarded::Clock;
use crate::{ConvertError, Converted, Limits};

/// Converts a document of this format.
pub(crate) fn convert(
    format: Format,
    bytes: &Bytes,
    charset: Option<&str>,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    match format {
        #[cfg(feature = "pdf")]
        Format::Pdf => crate::pdf::convert(bytes.clone(), limits, clock),
        #[cfg(feature = "office")]
        Format::Docx => crate::docx::convert(bytes, limits, clock),
        #[cfg(feature = "office")]
        Format::Xlsx => crate::xlsx::convert(bytes, limits, clock),
        #[cfg(feature = "office")]
        Format::Pptx => crate::pptx::convert(bytes, limits, clock),
        #[cfg(feature = "office")]
        Format::OpenText => crate::odf::convert(bytes, Unit::Whole, limits, clock),
        #[cfg(feature = "office")]
        Format::OpenSheet => crate::odf::convert(bytes, Unit::Sheet, limits, clock),
        #[cfg(feature = "office")]
        Format::OpenSlides => crate::odf::convert(bytes, Unit::Slide, limits, clock),
        #[cfg(feature = "epub")]
        Format::Epub => crate::epub::convert(bytes, limits, clock),
        #[cfg(feature = "office")]
        Format::Rtf => crate::rtf::convert(bytes, limits, clock),
        #[cfg(feature = "legacy")]
        Format::Doc => crate::doc::convert(bytes, limits, clock),
        #[cfg(feature = "legacy")]
        Format::Xls => crate::xls::convert(bytes, limits, clock),
        #[cfg(feature = "legacy")]
        Format::Ppt => crate::ppt::convert(bytes, limits, clock),
        #[cfg(feature = "legacy")]
        Format::Msg => crate::msg::convert(bytes, limits, clock),
        #[cfg(feature = "legacy")]
        Format::Encrypted => Err(crate::protected::LOCKED),
        #[cfg(feature = "html")]
        Format::Html => crate::html::convert(bytes, charset, crate::html::Form::Html, limits, clock),
        #[cfg(feature = "html")]
        Format::Xhtml => crate::html::convert(bytes, charset, crate::html::Form::Xhtml, limits, clock),
        #[cfg(feature = "email")]
        Format::Email => crate::email::convert(bytes, limits, clock),
        Format::Csv => crate::csv::convert(bytes, charset, false, limits, clock),
        Format::Tsv => crate::csv::convert(bytes, charset, true, limits, clock),
        Format::Json => crate::json::convert(bytes, charset, limits, clock),
        Format::JsonLines => crate::json::convert_lines(bytes, charset, limits, clock),
        Format::Text => crate::plain::convert(bytes, charset, limits, clock),
        Format::Zip => crate::listing::convert(bytes, limits, clock),
        Format::Tar => crate::tar::convert(bytes, limits, clock),
        // Packed twice.
        Format::Gzip | Format::Office | Format::Unknown => Err(ConvertError::UnknownFormat),
    }
}
