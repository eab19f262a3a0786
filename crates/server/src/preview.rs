//! Documents as people look at them: by the readers that make text and images for models.

mod note;

use std::time::Duration;

use attache_convert::{ConvertError, Converted, Limits, PageArea, Unit, convert, passage_areas, render_page};
use attache_core::Document;
use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;

use crate::fault::Fault;
use crate::json::Object;

/// Previews that are made side by side, in this process: each takes a core.
static PLACES: Semaphore = Semaphore::const_new(2);
/// The longest that a preview waits for others.
const PATIENCE: Duration = Duration::from_secs(20);

/// The limits of a preview: a person waits for it.
const LIMITS: Limits = Limits::new().with_max_time(Duration::from_secs(15));

/// The place of a preview that is made.
pub(crate) struct Place(#[expect(dead_code, reason = "it ends with the preview")] SemaphorePermit<'static>);

/// Waits for a place.
pub(crate) async fn place() -> Result<Place, Fault> {
    match tokio::time::timeout(PATIENCE, PLACES.acquire()).await {
        Ok(Ok(permit)) => Ok(Place(permit)),
        _ => Err(busy()),
    }
}

/// Work that blocks its thread. One that nobody waits for any more ends by its limits, and has its place until then.
async fn apart<T: Send + 'static>(
    place: Place,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let done = spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    done.await.map_err(|error| Fault::internal(&error))
}

/// The text of a document as JSON: all pages, or the one that is asked for.
pub(crate) async fn text(
    place: Place,
    document: Document,
    bytes: Bytes,
    page: Option<usize>,
) -> Result<Vec<u8>, Fault> {
    apart(place, move || {
        let mut body = Vec::new();
        let media_type = document.media_type().to_string();
        let head = Object::begin(&mut body)
            .with("mediaType", document.media_type().essence())
            .with("fileName", &document.file_name());
        match convert(&media_type, bytes, &LIMITS) {
            Ok(converted) => {
                let pages = pages(&converted);
                if page.is_some_and(|page| pages.iter().all(|shown| shown.number != page)) {
                    return Err(Fault::not_found("page"));
                }
                head.with("unit", converted.unit.name())
                    .with("count", &converted.units)
                    .with("truncated", &converted.truncated)
                    .each("notes", &converted.notes, note::write)
                    .each(
                        "pages",
                        pages.iter().filter(|shown| page.is_none_or(|page| shown.number == page)),
                        write,
                    )
                    .end();
            }
            // A scan is no failure: its pages have images.
            Err(error @ ConvertError::NoText { unit, units, .. }) => {
                head.with("unit", unit.name())
                    .with("count", &units)
                    .with("truncated", &false)
                    .each("notes", [error.to_string()], |text, out| {
                        Object::begin(out).with("kind", "no_text").text("text", &text).end();
                    })
                    .each("pages", std::iter::empty::<Page<'_>>(), |_, _| {})
                    .end();
            }
            Err(error) => return Err(fault(&error)),
        }
        Ok(body)
    })
    .await?
}

/// A page of a PDF as a PNG.
pub(crate) async fn page(
    place: Place,
    document: &Document,
    bytes: Bytes,
    page: usize,
    width: u16,
) -> Result<Bytes, Fault> {
    has_pages(document)?;
    let drawn = apart(place, move || render_page(bytes, page, width, &LIMITS)).await?;
    drawn.map_err(|error| fault(&error))?.ok_or_else(|| Fault::not_found("page"))
}

/// The places of a passage on a page of a PDF as JSON.
pub(crate) async fn passage(
    place: Place,
    document: &Document,
    bytes: Bytes,
    page: usize,
    passage: String,
) -> Result<Vec<u8>, Fault> {
    has_pages(document)?;
    let found = apart(place, move || passage_areas(bytes, page, &passage, &LIMITS)).await?;
    let areas = found.map_err(|error| fault(&error))?.ok_or_else(|| Fault::not_found("page"))?;
    let mut body = Vec::new();
    Object::begin(&mut body).with("page", &page).each("areas", &areas, write_area).end();
    Ok(body)
}

fn write_area(area: &PageArea, out: &mut Vec<u8>) {
    // No page has as many points.
    let part = |of_page: f64| (of_page * 1e5).round() / 1e5;
    Object::begin(out)
        .with("left", &part(area.left))
        .with("top", &part(area.top))
        .with("width", &part(area.width))
        .with("height", &part(area.height))
        .end();
}

fn has_pages(document: &Document) -> Result<(), Fault> {
    let kind = document.media_type().essence();
    if kind == "application/pdf" {
        return Ok(());
    }
    Err(Fault::no_preview(format!("a document of the type {kind} has no images of pages")))
}

/// The longest that those before take, about.
fn busy() -> Fault {
    Fault::unavailable("too many documents are being read at once: try again")
        .after(LIMITS.max_time.as_secs())
        .beyond("previews")
}

fn fault(error: &ConvertError) -> Fault {
    match error {
        ConvertError::Busy => busy(),
        error => Fault::no_preview(error.to_string()),
    }
}

/// A page of a text.
#[derive(Debug, PartialEq, Eq)]
struct Page<'t> {
    number: usize,
    /// The marker of the page, which may have its name: `sheet 2: Budget`.
    label: Option<&'t str>,
    /// The name that the document gives it.
    name: Option<&'t str>,
    /// True if the document does not show it.
    is_hidden: bool,
    text: &'t str,
}

fn write(page: &Page<'_>, out: &mut Vec<u8>) {
    Object::begin(out)
        .with("number", &page.number)
        .with("label", &page.label)
        .maybe("name", page.name)
        .maybe("hidden", page.is_hidden.then_some(&true))
        .text("text", page.text)
        .end();
}

/// The pages of a text. Each begins with its marker, a line of its own.
fn pages(converted: &Converted) -> Vec<Page<'_>> {
    let text = converted.text.as_str();
    if converted.starts.is_empty() {
        return vec![Page { number: 1, label: None, name: None, is_hidden: false, text }];
    }
    let ends = converted.starts.iter().skip(1).copied().chain([text.len()]);
    let cut = converted.starts.iter().zip(ends).enumerate();
    cut.filter_map(|(at, (start, end))| {
        let whole = text.get(*start..end)?;
        let (marker, text) = whole.split_once('\n').unwrap_or((whole, ""));
        // A blank line stands before the next marker.
        let text = text.strip_suffix('\n').filter(|text| text.ends_with('\n')).unwrap_or(text);
        let label = marker.strip_prefix('[').and_then(|marker| marker.strip_suffix(']'));
        let number = match converted.unit {
            // Their markers count rows.
            Unit::RowBlock => None,
            _ => label.and_then(numbered),
        };
        let told = converted.labels.get(at);
        let name = told.map(|told| told.name.as_str()).filter(|name| !name.is_empty());
        let is_hidden = told.is_some_and(|told| told.is_hidden);
        Some(Page { number: number.unwrap_or(at + 1), label, name, is_hidden, text })
    })
    .collect()
}

/// The number in `page 3` or `sheet 2: Budget`.
fn numbered(label: &str) -> Option<usize> {
    let (_, rest) = label.split_once(' ')?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_whole_texts_have_pages_too() {
        let csv = format!("day,rain\n{}", "1,2\n".repeat(450));
        let converted = convert("text/csv", csv.into(), &LIMITS).unwrap();
        let numbers: Vec<usize> = pages(&converted).iter().map(|page| page.number).collect();
        assert_eq!(numbers, (1..=converted.units).collect::<Vec<_>>());
        let plain = convert("text/plain", "[page 7]\nhi\n".into(), &LIMITS).unwrap();
        let whole = Page { number: 1, label: None, name: None, is_hidden: false, text: "[page 7]\nhi\n" };
        assert_eq!(pages(&plain), [whole]);
        assert_eq!(numbered("sheet 12: 2026"), Some(12));
        assert_eq!(numbered("page"), None);
    }
}
