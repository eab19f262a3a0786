//! Turning documents into forms that a model takes: into text, into a smaller or other encoding of themselves, or
//! into images of their pages.

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

/// Turns documents into what a model can take: text, or another encoding of the same.
///
/// A team plugs in its own (an OCR, a converter service) beside those of `attache-convert`; the first that knows a
/// type serves. A failed conversion is never a failed run: the model reads a note instead.
pub trait Converter: Send + Sync {
    /// True if it makes text of this media type.
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

    /// True if it can bring documents of this media type into `form`, or say that they are in it already.
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

/// The form in which a place of a model takes documents of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MediaLimits {
    /// The media types, as in [`PlaceCapabilities::media`](crate::capability::PlaceCapabilities::media).
    pub media: Vec<String>,
    /// The most bytes.
    pub max_bytes: Option<u64>,
    /// The most pixels along one side.
    pub max_pixels: Option<u64>,
    /// The most pages.
    pub max_pages: Option<u64>,
}

impl MediaLimits {
    /// A form of these media types, without limits.
    pub fn of(media: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { media: media.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Limits the bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Limits the pixels along one side.
    #[must_use]
    pub fn with_max_pixels(mut self, pixels: u64) -> Self {
        self.max_pixels = Some(pixels);
        self
    }

    /// Limits the pages.
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

/// A document in a [`MediaLimits`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transcoded {
    /// The new content and its media type; `None` if the document is in that form as it is.
    pub content: Option<(Bytes, MediaType)>,
    /// The number of pages the document has, if it has pages.
    pub pages: Option<u64>,
    /// The units that the new content holds, from the first, if not all.
    pub pages_held: Option<u64>,
    /// The change, for the model: one line, no full stop, such as `scaled from 9000 × 6000 to 1568 × 1045 pixels`.
    pub note: Option<String>,
}

impl Transcoded {
    /// It fits as it is.
    pub fn unchanged() -> Self {
        Self { content: None, pages: None, pages_held: None, note: None }
    }

    /// It fits with this content instead.
    pub fn changed(bytes: impl Into<Bytes>, media_type: MediaType, note: impl Into<String>) -> Self {
        Self { content: Some((bytes.into(), media_type)), note: Some(note.into()), ..Self::unchanged() }
    }

    /// Says how many pages the document has.
    #[must_use]
    pub fn with_pages(mut self, pages: u64) -> Self {
        self.pages = Some(pages);
        self
    }

    /// Says how many of the document's pages, from the first, the new content holds.
    #[must_use]
    pub fn with_pages_held(mut self, pages: u64) -> Self {
        self.pages_held = Some(pages);
        self
    }
}

/// Pages of a document as images.
///
/// Pages that were asked for and are named nowhere in it were left out to keep a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedPages {
    /// The images, in ascending order of their pages.
    pub images: Vec<PageImage>,
    /// The number of pages the document has.
    pub total: usize,
    /// Pages on which there is nothing to see, ascending.
    pub blank: Vec<usize>,
    /// Pages that could not be rendered, ascending.
    pub failed: Vec<usize>,
    /// Pages among `images` of which something is missing, ascending.
    pub partial: Vec<usize>,
}

impl RenderedPages {
    /// Images of pages of a document that has `total` of them.
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
    /// The image of a page.
    pub fn new(page: usize, bytes: impl Into<Bytes>, media_type: MediaType) -> Self {
        Self { page, bytes: bytes.into(), media_type }
    }
}

/// The text that a converter made of a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConvertedText {
    /// The text.
    pub text: Arc<str>,
    /// Remarks on it for the model, such as `only the first 50 of 80 pages are shown`.
    pub notes: Vec<String>,
    /// The units that its markers count, and the begin of each.
    pub units: Option<Units>,
    /// Documents inside the document, such as the attachments of an e-mail, with their bytes in memory. They are
    /// shown after its text; identities are given to them by whoever asked for the conversion.
    pub attachments: Vec<Document>,
}

/// The pages, sheets or slides of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Units {
    /// The name of one: `page`, `sheet`, `slide`.
    pub name: Cow<'static, str>,
    /// The begin of each in the text, in bytes, its marker included. The first is unit 1.
    pub starts: Vec<usize>,
    /// The number of the document has, whether or not all of them are in the text.
    pub total: usize,
    /// The units, counted from 1 and ascending, that images cover, and whose little text does not say what they show.
    pub covered: Vec<usize>,
}

impl Units {
    /// Units that begin at `starts`, in bytes, in ascending order.
    pub fn new(name: impl Into<Cow<'static, str>>, starts: Vec<usize>, total: usize) -> Self {
        Self { name: name.into(), starts, total, covered: Vec::new() }
    }

    /// Says which of them images cover.
    #[must_use]
    pub fn with_covered(mut self, mut covered: Vec<usize>) -> Self {
        covered.sort_unstable();
        self.covered = covered;
        self
    }
}

impl ConvertedText {
    /// A text without remarks.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), notes: Vec::new(), units: None, attachments: Vec::new() }
    }

    /// Adds a remark for the model: one line, no full stop.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says where its units begin.
    #[must_use]
    pub fn with_units(mut self, units: Units) -> Self {
        self.units = Some(units);
        self
    }

    /// Adds a document that is inside the document.
    #[must_use]
    pub fn with_attachment(mut self, attachment: Document) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// The text of units `first` to `last`, counted from 1, with their markers; `None` if it holds none of them.
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

    /// The units, counted from 1, that hold no text: nothing but lines in brackets, as markers are, and characters that
    /// could not be read.
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

    /// The units, counted from 1, that somebody commented on: lines that begin with `[comment`. A comment is no text of
    /// its unit, and no picture of the unit shows it.
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
