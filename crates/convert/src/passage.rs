//! The places of a passage on the pages of a PDF.

use bytes::Bytes;

use crate::transcode::open_checked;
use crate::{ConvertError, Limits, PageArea, guarded, pdf};

/// Finds the position of a passage on a page of a PDF, counted from 1: one area for each piece of a line, in reading
/// order. Returns `None` if there is no such page, and no areas if the passage is not on it. It blocks, at most for
/// about as long as `limits` allow.
///
/// Letters and digits must match, ignoring case; spaces, hyphens and other signs are ignored. If the whole passage is
/// not found, its lines and sentences are searched, since it may continue on another page or leave out words. If there
/// are several matches, the first is used. Areas refer to text: a scanned page has none.
///
/// # Errors
///
/// See [`ConvertError`]: the document is not a PDF, encrypted, malformed or too large, or reading the page took too
/// long or failed.
///
/// ```
/// use attache_convert::{Limits, passage_areas};
/// # let pdf = "%PDF-1.4
/// # 1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
/// # 2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
/// # 3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 400 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj
/// # 4 0 obj << /Length 51 >> stream
/// # BT /F1 20 Tf 100 600 Td (Total due: EUR 900) Tj ET
/// # endstream endobj
/// # 5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
/// # trailer << /Root 1 0 R >>
/// # %%EOF";
/// // A page on which these words begin a quarter from the left and stand on a line a quarter from the top.
/// let areas = passage_areas(pdf.into(), 1, "total  due", &Limits::new())?.expect("a page");
/// assert_eq!(areas.len(), 1);
/// assert!((areas[0].left - 0.25).abs() < 0.01 && areas[0].top < 0.25);
/// assert!(areas[0].top + areas[0].height > 0.25);
/// # Ok::<(), attache_convert::ConvertError>(())
/// ```
pub fn passage_areas(
    bytes: Bytes,
    page: usize,
    passage: &str,
    limits: &Limits,
) -> Result<Option<Vec<PageArea>>, ConvertError> {
    let (passage, limits) = (passage.to_owned(), *limits);
    guarded::run(limits.max_time, move |clock| {
        let opened = open_checked(bytes, &limits, clock)?;
        let Some(place) = page.checked_sub(1).and_then(|at| opened.pages.pages().nth(at)) else {
            return Ok(None);
        };
        match place.and_then(|place| opened.pdf.pages().get(place)) {
            Some(found) => pdf::areas(&opened.pdf, found, &passage, &limits, clock).map(Some),
            // A page that cannot be read has nothing on it.
            None => Ok(Some(Vec::new())),
        }
    })
}
