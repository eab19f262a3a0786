//! Conversion of documents into another form of the same type.

#[cfg(feature = "images")]
mod image;
#[cfg(feature = "pdf")]
mod pdf;

use attache_core::converter::{MediaLimits, Transcoded};
use bytes::Bytes;

use crate::media_type::essence;
use crate::{ConvertError, Limits, guarded};

#[cfg(feature = "render")]
pub(crate) use image::{Canvas, coefficient_bytes, encode_page, large_image, makes_images};
#[cfg(feature = "render")]
pub(crate) use pdf::is_pdf;
#[cfg(feature = "pdf")]
pub(crate) use pdf::open_checked;
#[cfg(feature = "pdf")]
pub(crate) use pdf::pages_of;
#[cfg(feature = "pdf")]
pub use pdf::{PdfPages, pdf_pages};

/// True if [`transcode`] can bring documents of this media type into `form`, or report why it cannot. Parameters and
/// case are ignored.
///
/// ```
/// use attache_convert::can_transcode;
/// use attache_core::converter::MediaLimits;
///
/// let form = MediaLimits::of(["image/png", "image/jpeg"]);
/// assert!(can_transcode("image/bmp", &form));
/// assert!(!can_transcode("application/pdf", &form));
/// ```
pub fn can_transcode(media_type: &str, form: &MediaLimits) -> bool {
    Subject::of(media_type, form).is_some()
}

/// Brings a document into a form: an image re-encoded or scaled, a PDF cut to its first pages. It blocks, at most for
/// about as long as `limits` allow.
///
/// A document that already fits is not changed; for an image this is decided from its first bytes. An image becomes PNG
/// if it is transparent or a drawing, and JPEG if it is a photo; the result is upright, in sRGB, and has at most 10
/// million pixels. [`Transcoded::note`] describes the change.
///
/// # Errors
///
/// See [`ConvertError`]: the conversion is not supported, the document is encrypted, malformed or too large, or it took
/// too long or failed.
///
/// ```
/// use attache_convert::{Limits, transcode};
/// use attache_core::converter::MediaLimits;
/// use bytes::Bytes;
///
/// // A red dot, as small as they come.
/// let bmp = Bytes::from_static(
///     b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0\0\0\0\0\
///       \x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\0",
/// );
/// let fitted = transcode("image/bmp", bmp, &MediaLimits::of(["image/png"]), &Limits::new())?;
/// let (png, media_type) = fitted.content.unwrap();
/// assert!(png.starts_with(b"\x89PNG"));
/// assert_eq!(media_type.essence(), "image/png");
/// assert_eq!(fitted.note.as_deref(), Some("re-encoded from image/bmp"));
/// # Ok::<(), attache_convert::ConvertError>(())
/// ```
#[cfg_attr(
    not(feature = "images"),
    allow(
        unused_variables,
        clippy::needless_pass_by_value,
        reason = "PDFs need less, and nothing needs nothing"
    )
)]
pub fn transcode(
    media_type: &str,
    bytes: Bytes,
    form: &MediaLimits,
    limits: &Limits,
) -> Result<Transcoded, ConvertError> {
    let Some(subject) = Subject::of(media_type, form) else {
        return Err(ConvertError::Unsupported { media_type: media_type.chars().take(100).collect() });
    };
    if bytes.is_empty() {
        return Err(ConvertError::Malformed { reason: "it is empty" });
    }
    let essence: String = essence(media_type).chars().take(100).collect();
    let (form, limits) = (form.clone(), *limits);
    guarded::run(limits.max_time, move |clock| match subject {
        #[cfg(feature = "images")]
        Subject::Image => image::transcode(&essence, bytes, &form, &limits, clock),
        #[cfg(feature = "pdf")]
        Subject::Pdf => pdf::transcode(bytes, &form, &limits, clock),
    })
}

/// Nothing takes pages out of documents without the feature `pdf`.
#[cfg(not(feature = "pdf"))]
pub(crate) fn pages_of(
    media_type: &str,
    _: Bytes,
    _: std::ops::RangeInclusive<usize>,
    _: &Limits,
) -> Result<Transcoded, ConvertError> {
    Err(ConvertError::Unsupported { media_type: media_type.chars().take(100).collect() })
}

/// The kinds of documents that can be brought into another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    #[cfg(feature = "images")]
    Image,
    #[cfg(feature = "pdf")]
    Pdf,
}

impl Subject {
    fn of(media_type: &str, form: &MediaLimits) -> Option<Self> {
        let essence = essence(media_type);
        #[cfg(feature = "images")]
        if image::transcodes(essence, form) {
            return Some(Self::Image);
        }
        #[cfg(feature = "pdf")]
        if pdf::transcodes(essence, form) {
            return Some(Self::Pdf);
        }
        let _ = (essence, form);
        None
    }
}
