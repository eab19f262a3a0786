//! The converters as an implementation of the core's trait.

use attache_core::blocking::on_thread;
use attache_core::converter::{
    ConvertedText, ConverterError, ConverterErrorKind, MediaLimits, Transcoded, Units,
};
use attache_core::{BoxFuture, Converter, Document, MediaType};
use bytes::Bytes;

use crate::transcode::pages_of;
use crate::{ConvertError, Limits, Note, can_convert, can_transcode, convert, transcode};

/// All converters of this crate as one [`Converter`], for an agent.
///
/// Each conversion runs on its own thread, so that no async worker is blocked. Dropping the future does not stop the
/// thread; [`Limits`] do.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentConverter {
    limits: Limits,
}

impl DocumentConverter {
    /// Creates the converters with these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits }
    }
}

impl Converter for DocumentConverter {
    fn converts(&self, media_type: &MediaType) -> bool {
        can_convert(media_type.essence())
    }

    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        let media_type = document.media_type().to_string();
        let limits = self.limits;
        Box::pin(apart(move || text(&media_type, bytes, &limits)))
    }

    fn transcodes(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        can_transcode(media_type.essence(), form)
    }

    fn transcode<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        let media_type = document.media_type().essence().to_owned();
        let (form, limits) = (form.clone(), self.limits);
        Box::pin(apart(move || transcode(&media_type, bytes, &form, &limits).map_err(refusal)))
    }

    fn pages<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        first: usize,
        last: usize,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        let media_type = document.media_type().essence().to_owned();
        let limits = self.limits;
        Box::pin(apart(move || pages_of(&media_type, bytes, first..=last, &limits).map_err(refusal)))
    }

    #[cfg(feature = "render")]
    fn renders(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        crate::can_render(media_type.essence(), form)
    }

    #[cfg(feature = "render")]
    fn render<'a>(
        &'a self,
        _: &'a Document,
        bytes: Bytes,
        pages: &'a [std::ops::RangeInclusive<usize>],
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<attache_core::converter::RenderedPages, ConverterError>> {
        let (pages, form, limits) = (pages.to_vec(), form.clone(), self.limits);
        Box::pin(apart(move || crate::render_pages(bytes, &pages, &form, &limits).map_err(refusal)))
    }
}

/// Why a document was not brought into another form.
fn refusal(error: ConvertError) -> ConverterError {
    match error {
        ConvertError::Encrypted { reason } => {
            ConverterError::new(ConverterErrorKind::Encrypted, format!("it is encrypted: {reason}"))
        }
        error => error.into(),
    }
}

impl From<ConvertError> for ConverterError {
    fn from(error: ConvertError) -> Self {
        let kind = match error {
            ConvertError::Unsupported { .. }
            | ConvertError::UnknownFormat
            | ConvertError::OldFormat { .. } => ConverterErrorKind::Unsupported,
            ConvertError::Encrypted { .. } => ConverterErrorKind::Encrypted,
            ConvertError::Malformed { .. } | ConvertError::NothingRead { .. } => {
                ConverterErrorKind::Malformed
            }
            ConvertError::TooLarge { .. } => ConverterErrorKind::TooLarge,
            ConvertError::NoText { .. } => ConverterErrorKind::Empty,
            ConvertError::TimedOut { .. } => ConverterErrorKind::TimedOut,
            ConvertError::Busy => ConverterErrorKind::Busy,
            ConvertError::Failed => ConverterErrorKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

/// Does `work` on a thread of its own, and waits for it without holding up anybody.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ConverterError> + Send + 'static,
) -> Result<T, ConverterError> {
    let ended = on_thread("attache-convert", work).await;
    ended.unwrap_or_else(|error| {
        // A thread that panicked is none of the system's errors; one that could not be had may be later.
        let kind = match error.kind() {
            std::io::ErrorKind::Other => ConverterErrorKind::Failed,
            _ => ConverterErrorKind::Busy,
        };
        Err(ConverterError::new(kind, error.to_string()))
    })
}

fn text(media_type: &str, bytes: Bytes, limits: &Limits) -> Result<ConvertedText, ConverterError> {
    let converted = convert(media_type, bytes, limits)?;
    let mut text = ConvertedText::new(converted.text);
    if !converted.starts.is_empty() {
        let units = Units::new(converted.unit.name(), converted.starts, converted.units);
        let covered = converted.notes.iter().find_map(|note| match note {
            Note::CoveredByImages { numbers, .. } => Some(numbers.clone()),
            _ => None,
        });
        text = text.with_units(units.with_covered(covered.unwrap_or_default()));
    }
    for note in converted.notes {
        text = text.with_note(note.to_string());
    }
    for attachment in converted.attachments {
        let document = Document::from_bytes(attachment.bytes, &attachment.media_type);
        text = text.with_attachment(match attachment.file_name {
            Some(name) => document.with_file_name(name),
            None => document,
        });
    }
    Ok(text)
}
