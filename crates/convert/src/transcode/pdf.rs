//! PDFs cut to some of their pages.

mod write;

use std::ops::RangeInclusive;

use attache_core::MediaType;
use attache_core::converter::{MediaLimits, Transcoded};
use bytes::Bytes;

use crate::guarded::{self, Clock};
use crate::media_type::essence;
use crate::pdf::{Opened, open};
use crate::{ConvertError, Limits};
use write::Writer;

const PDF: &str = "application/pdf";

/// Most bytes of a file that is opened: it stays in memory beside what is made of it.
const MAX_INPUT_BYTES: usize = 100 << 20;

/// Most bytes of a file that is made here: what pages share is written once, but not all that they can share.
const MAX_BYTES: usize = 64 << 20;

/// Some pages of a PDF, as a PDF.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PdfPages {
    /// The new file.
    pub bytes: Bytes,
    /// The number of its first page in the old file, from 1.
    pub first: usize,
    /// The number of its last page in the old file.
    pub last: usize,
    /// The number of pages of the old file.
    pub total: usize,
    /// The pages that could not be read and are blank, by their numbers in the old file.
    pub blank: Vec<usize>,
}

/// Takes pages out of a PDF, counted from 1, as a PDF of its own: as many from the first as there are and as do not
/// make it longer than `max_bytes`. Blocks, at most about as long as `limits` allow.
///
/// Pages look as they did: what they show, fonts, annotations and filled-in fields, is copied with them. Links, the
/// outline and what makes forms work are left out. A file that opens without a password, but is protected otherwise,
/// loses its protection.
///
/// # Errors
///
/// See [`ConvertError`]: the file is encrypted, malformed or too large, has no such pages, not even the first page
/// fits, or it took too long or failed.
///
/// ```
/// use attache_convert::{Limits, pdf_pages};
/// # let pdf = "%PDF-1.4
/// # 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
/// # 2 0 obj << /Type /Pages /Kids [3 0 R 3 0 R 3 0 R] /Count 3 >> endobj
/// # 3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >> endobj
/// # trailer << /Root 1 0 R >>
/// # %%EOF";
///
/// // A document of three pages.
/// let pages = pdf_pages(pdf.into(), 2..=7, None, &Limits::new())?;
/// assert_eq!((pages.first, pages.last, pages.total), (2, 3, 3));
/// assert!(pages.bytes.starts_with(b"%PDF-"));
/// # Ok::<(), attache_convert::ConvertError>(())
/// ```
pub fn pdf_pages(
    bytes: Bytes,
    pages: RangeInclusive<usize>,
    max_bytes: Option<usize>,
    limits: &Limits,
) -> Result<PdfPages, ConvertError> {
    let limits = *limits;
    guarded::run(limits.max_time, move |clock| {
        let opened = open_checked(bytes, &limits, clock)?;
        take(&opened, pages, max_bytes.unwrap_or(usize::MAX), clock)
    })
}

/// The pages of a document for a model, as [`Converter::pages`](attache_core::Converter::pages) wants them.
pub(crate) fn pages_of(
    media_type: &str,
    bytes: Bytes,
    pages: RangeInclusive<usize>,
    limits: &Limits,
) -> Result<Transcoded, ConvertError> {
    if !is_pdf(essence(media_type)) {
        return Err(ConvertError::Unsupported { media_type: media_type.chars().take(100).collect() });
    }
    let taken = pdf_pages(bytes, pages, None, limits)?;
    let media = MediaType::parse(PDF).ok_or(ConvertError::Failed)?;
    let held = taken.last - taken.first + 1;
    let note = match (taken.first, taken.last) {
        (first, last) if first == last => format!("page {first} of {}", taken.total),
        (first, last) => format!("pages {first}–{last} of {}", taken.total),
    };
    let fitted =
        Transcoded::changed(taken.bytes, media, note + &blank(&taken.blank)).with_pages(taken.total as u64);
    Ok(if held < taken.total { fitted.with_pages_held(held as u64) } else { fitted })
}

/// True if a media type without parameters is that of PDFs.
pub(crate) fn is_pdf(essence: &str) -> bool {
    essence.eq_ignore_ascii_case(PDF) || essence.eq_ignore_ascii_case("application/x-pdf")
}

/// The note about pages that could not be read.
fn blank(pages: &[usize]) -> String {
    match pages.len() {
        0 => String::new(),
        count => format!(", {count} of them blank as they could not be read"),
    }
}

/// True if PDFs can be brought into the form.
pub(super) fn transcodes(essence: &str, form: &MediaLimits) -> bool {
    is_pdf(essence) && MediaType::parse(PDF).is_some_and(|media| form.allows(&media))
}

/// Brings a PDF into a form.
pub(super) fn transcode(
    bytes: Bytes,
    form: &MediaLimits,
    limits: &Limits,
    clock: Clock,
) -> Result<Transcoded, ConvertError> {
    let length = bytes.len();
    let opened = open_checked(bytes, limits, clock)?;
    let total = opened.pages.total;
    let number = |limit: Option<u64>| limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let (most_bytes, most_pages) = (number(form.max_bytes), number(form.max_pages));
    if length <= most_bytes && total <= most_pages {
        return Ok(Transcoded::unchanged().with_pages(total as u64));
    }
    if most_pages == 0 {
        return Err(ConvertError::TooLarge { what: "pages", limit: 0 });
    }
    let taken = take(&opened, 1..=most_pages, most_bytes, clock)?;
    let media = MediaType::parse(PDF).ok_or(ConvertError::Failed)?;
    let note = match taken.last {
        last if last == total => "written anew, without what no page shows".to_owned(),
        1 => format!("only page 1 of {total}"),
        last => format!("only pages 1–{last} of {total}"),
    };
    let held = taken.last;
    let fitted =
        Transcoded::changed(taken.bytes, media, note + &blank(&taken.blank)).with_pages(total as u64);
    Ok(if held < total { fitted.with_pages_held(held as u64) } else { fitted })
}

pub(crate) fn open_checked(bytes: Bytes, limits: &Limits, clock: Clock) -> Result<Opened, ConvertError> {
    if bytes.is_empty() {
        return Err(ConvertError::Malformed { reason: "it is empty" });
    }
    let most = limits.max_fit_bytes.min(MAX_INPUT_BYTES);
    if bytes.len() > most {
        return Err(ConvertError::TooLarge { what: "bytes", limit: most });
    }
    open(bytes, limits, clock)
}

/// Copies as many of the pages as there are and as fit.
fn take(
    opened: &Opened,
    pages: RangeInclusive<usize>,
    most_bytes: usize,
    clock: Clock,
) -> Result<PdfPages, ConvertError> {
    let total = opened.pages.total;
    let (first, last) = ((*pages.start()).max(1), (*pages.end()).min(total));
    if first > last {
        return Err(ConvertError::Malformed { reason: "it has no such pages" });
    }
    let most_bytes = most_bytes.min(MAX_BYTES);
    let mut writer = Writer::new(&opened.pdf, clock)?;
    let mut blank = Vec::new();
    let mut held = first - 1;
    for (index, place) in opened.pages.pages().enumerate().take(last).skip(first - 1) {
        clock.check()?;
        let page = place.and_then(|place| opened.pdf.pages().get(place));
        if !writer.page(page, most_bytes)? {
            break;
        }
        if page.is_none() {
            blank.push(index + 1);
        }
        held = index + 1;
    }
    if held < first {
        return Err(ConvertError::TooLarge { what: "bytes in one page alone", limit: most_bytes });
    }
    Ok(PdfPages { bytes: writer.finish().into(), first, last: held, total, blank })
}
