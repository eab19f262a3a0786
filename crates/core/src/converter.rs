//! Conversion of documents into forms that a model accepts: text, a smaller or different encoding, or images of their
//! pages.

mod error;

use std::borrow::Cow;
use std::future::ready;
use std::ops::RangeInclusive;
use std::sync::Arc;

use bytes::Bytes;

use crate::document::Document;
use crate::future::BoxFuture;
use crate::media::MediaType;

pub use error::{ConverterError, ConverterErrorKind};

/// Converts documents into a form that a model accepts: text, another encoding, or images of pages.
///
/// You can add your own converters (OCR, a conversion service) to those of `attache-convert`; the first one that
/// supports a type is used. A failed conversion never fails a run: the model reads a note instead.
pub trait Converter: Send + Sync {
    /// True if it can convert this media type to text.
    fn converts(&self, media_type: &MediaType) -> bool;

    /// The text of a document whose bytes are at hand, with markers (pages, sheets) that a model can cite.
    ///
    /// # Errors
    /// [`ConverterError`] says why.
    fn convert<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>>;

    /// True if it can bring documents of this media type into `form`, or confirm that they are already in it.
    fn transcodes(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        let _ = (media_type, form);
        false
    }

    /// Brings a document whose bytes are at hand into `form`: an image re-encoded or scaled, a PDF cut to its first
    /// pages.
    ///
    /// # Errors
    /// [`ConverterError`] says why.
    fn transcode<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        let _ = (document, bytes, form);
        Box::pin(ready(Err(unsupported("it cannot be brought into another form"))))
    }

    /// Makes a document of pages `first` to `last` of one whose bytes are at hand, counted from 1, in its own media
    /// type; where `last` is behind its end, up to that. [`Transcoded::pages`] says how many pages the whole has,
    /// [`Transcoded::pages_held`] how many are held from `first` on, if not all.
    ///
    /// # Errors
    /// It has no page `first`, or its pages cannot be taken out.
    fn pages<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        first: usize,
        last: usize,
    ) -> BoxFuture<'a, Result<Transcoded, ConverterError>> {
        let _ = (document, bytes, first, last);
        Box::pin(ready(Err(unsupported("its pages cannot be taken out"))))
    }

    /// True if it can render pages of documents of this media type as images in `form`.
    fn renders(&self, media_type: &MediaType, form: &MediaLimits) -> bool {
        let _ = (media_type, form);
        false
    }

    /// Renders pages of a document whose bytes are at hand as images, each in `form`.
    ///
    /// `pages` are counted from 1, ascending and apart; `1..=usize::MAX` stands for all of them. Of these it renders as
    /// many, from the first, as [`MediaLimits::max_pages`] and its own limits allow.
    ///
    /// # Errors
    /// No page can be rendered.
    fn render<'a>(
        &'a self,
        document: &'a Document,
        bytes: Bytes,
        pages: &'a [RangeInclusive<usize>],
        form: &'a MediaLimits,
    ) -> BoxFuture<'a, Result<RenderedPages, ConverterError>> {
        let _ = (document, bytes, pages, form);
        Box::pin(ready(Err(unsupported("its pages cannot be rendered"))))
    }
}

fn unsupported(message: &str) -> ConverterError {
    ConverterError::new(ConverterErrorKind::Unsupported, message)
}

/// The form in which a model accepts documents of one kind in a certain place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MediaLimits {
    /// The media types, as in [`PlaceCapabilities::media`](crate::capability::PlaceCapabilities::media).
    pub media: Vec<String>,
    /// The maximum number of bytes.
    pub max_bytes: Option<u64>,
    /// The maximum number of pixels along one side.
    pub max_pixels: Option<u64>,
    /// The maximum number of pages.
    pub max_pages: Option<u64>,
}

impl MediaLimits {
    /// Creates a form of these media types, without limits.
    pub fn of(media: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { media: media.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets the maximum number of bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Sets the maximum number of pixels along one side.
    #[must_use]
    pub fn with_max_pixels(mut self, pixels: u64) -> Self {
        self.max_pixels = Some(pixels);
        self
    }

    /// Sets the maximum number of pages.
    #[must_use]
    pub fn with_max_pages(mut self, pages: u64) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// True if it allows the media type.
    pub fn allows(&self, media_type: &MediaType) -> bool {
        self.media.iter().any(|pattern| media_type.matches(pattern))
    }
}

/// The result of bringing a document into the form of a [`MediaLimits`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transcoded {
    /// The new content and its media type; `None` if the document is already in that form.
    pub content: Option<(Bytes, MediaType)>,
    /// The number of pages of the document, if it has pages.
    pub pages: Option<u64>,
    /// The number of units in the new content, counted from the first, if not all.
    pub pages_held: Option<u64>,
    /// The change, for the model: one line, no full stop, such as `scaled from 9000 × 6000 to 1568 × 1045 pixels`.
    pub note: Option<String>,
}

impl Transcoded {
    /// The document already fits.
    pub fn unchanged() -> Self {
        Self { content: None, pages: None, pages_held: None, note: None }
    }

    /// The document fits with this new content.
    pub fn changed(bytes: impl Into<Bytes>, media_type: MediaType, note: impl Into<String>) -> Self {
        Self { content: Some((bytes.into(), media_type)), note: Some(note.into()), ..Self::unchanged() }
    }

    /// Sets the number of pages of the document.
    #[must_use]
    pub fn with_pages(mut self, pages: u64) -> Self {
        self.pages = Some(pages);
        self
    }

    /// Sets how many of the document's pages, counted from the first, are in the new content.
    #[must_use]
    pub fn with_pages_held(mut self, pages: u64) -> Self {
        self.pages_held = Some(pages);
        self
    }
}

/// Pages of a document as images.
///
/// Requested pages that appear in none of the lists were left out because of a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedPages {
    /// The images, in ascending order of their pages.
    pub images: Vec<PageImage>,
    /// The number of pages of the document.
    pub total: usize,
    /// Blank pages, in ascending order.
    pub blank: Vec<usize>,
    /// Pages that could not be rendered, in ascending order.
    pub failed: Vec<usize>,
    /// Pages in `images` that are incomplete, in ascending order.
    pub partial: Vec<usize>,
}

impl RenderedPages {
    /// Creates the images of pages of a document with `total` pages.
    pub fn new(images: Vec<PageImage>, total: usize) -> Self {
        Self { images, total, ..Self::default() }
    }
}

/// A page as an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageImage {
    /// The number of the page, from 1.
    pub page: usize,
    /// The image.
    pub bytes: Bytes,
    /// Its media type.
    pub media_type: MediaType,
}

impl PageImage {
    /// Creates the image of a page.
    pub fn new(page: usize, bytes: impl Into<Bytes>, media_type: MediaType) -> Self {
        Self { page, bytes: bytes.into(), media_type }
    }
}

/// The text that a converter extracted from a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConvertedText {
    /// The text.
    pub text: Arc<str>,
    /// Remarks for the model, such as `only the first 50 of 80 pages are shown`.
    pub notes: Vec<String>,
    /// The pages, sheets or slides in the text, and where each begins.
    pub units: Option<Units>,
    /// Documents inside the document, such as the attachments of an e-mail, with their bytes in memory. They are shown
    /// after its text; the caller of the conversion assigns their ids.
    pub attachments: Vec<Document>,
}

/// The pages, sheets or slides of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Units {
    /// The name of a unit: `page`, `sheet`, `slide`.
    pub name: Cow<'static, str>,
    /// The byte offset of each unit in the text, including its marker. The first is unit 1.
    pub starts: Vec<usize>,
    /// The total number of units in the document, even if the text does not contain all of them.
    pub total: usize,
    /// The units, counted from 1 and ascending, that consist mostly of images and whose little text does not describe
    /// them.
    pub covered: Vec<usize>,
}

impl Units {
    /// Creates units that begin at the byte offsets `starts`, in ascending order.
    pub fn new(name: impl Into<Cow<'static, str>>, starts: Vec<usize>, total: usize) -> Self {
        Self { name: name.into(), starts, total, covered: Vec::new() }
    }

    /// Sets the units that consist mostly of images.
    #[must_use]
    pub fn with_covered(mut self, mut covered: Vec<usize>) -> Self {
        covered.sort_unstable();
        self.covered = covered;
        self
    }
}

impl ConvertedText {
    /// Creates a text without remarks.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), notes: Vec::new(), units: None, attachments: Vec::new() }
    }

    /// Adds a remark for the model: one line, no full stop.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Sets the units of the text.
    #[must_use]
    pub fn with_units(mut self, units: Units) -> Self {
        self.units = Some(units);
        self
    }

    /// Adds a document that is contained in the document.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Document) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// The text of units `first` to `last`, counted from 1, with their markers; `None` if the text contains none of
    /// them.
    ///
    /// ```
    /// use attache_core::converter::{ConvertedText, Units};
    /// let text = ConvertedText::new("[page 1]\none\n[page 2]\ntwo\n").with_units(Units::new("page", vec![0, 13], 2));
    /// assert_eq!(text.units(2, 9), Some("[page 2]\ntwo\n"));
    /// assert_eq!(text.units(3, 3), None);
    /// ```
    pub fn units(&self, first: usize, last: usize) -> Option<&str> {
        let starts = &self.units.as_ref()?.starts;
        let from = *starts.get(first.checked_sub(1)?)?;
        let to = starts.get(last).copied().unwrap_or(self.text.len());
        self.text.get(from..to.max(from))
    }

    /// The units, counted from 1, without text: they contain only lines in brackets, such as markers, and unreadable
    /// characters.
    ///
    /// ```
    /// use attache_core::converter::{ConvertedText, Units};
    /// let text = ConvertedText::new("[page 1]\none\n[page 2]\n\n").with_units(Units::new("page", vec![0, 13], 2));
    /// assert_eq!(text.units_without_text(), [2]);
    /// ```
    pub fn units_without_text(&self) -> Vec<usize> {
        let unread = |c: char| c.is_whitespace() || c == char::REPLACEMENT_CHARACTER;
        let says_nothing = |line: &str| {
            let line = line.trim();
            line.starts_with('[') && line.ends_with(']') || line.chars().all(unread)
        };
        self.units_where(|unit| unit.lines().all(says_nothing))
    }

    /// The units, counted from 1, with comments: lines that begin with `[comment`. A comment is not part of the unit's
    /// own text, and an image of the unit does not show it.
    ///
    /// ```
    /// use attache_core::converter::{ConvertedText, Units};
    /// let text = "[page 1]\n[comment by the notary: sign here]\n";
    /// let text = ConvertedText::new(text).with_units(Units::new("page", vec![0], 1));
    /// assert_eq!((text.units_without_text(), text.units_with_comments()), (vec![1], vec![1]));
    /// ```
    pub fn units_with_comments(&self) -> Vec<usize> {
        self.units_where(|unit| unit.lines().any(|line| line.starts_with("[comment")))
    }

    fn units_where(&self, is_one: impl Fn(&str) -> bool) -> Vec<usize> {
        let count = self.units.as_ref().map_or(0, |units| units.starts.len());
        (1..=count).filter(|number| self.units(*number, *number).is_none_or(&is_one)).collect()
    }
}
