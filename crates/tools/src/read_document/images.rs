//! Pages of a document as images, where no text of them can be had and the model does not take them as they are.

use std::sync::Arc;

use attache_core::capability::Place;
use attache_core::converter::{MediaLimits, PageImage, RenderedPages};
use attache_core::{Converter, Document, MediaType, ModelCapabilities, ToolError, ToolErrorKind, ToolOutput};
use attache_documents::tame;
use bytes::Bytes;

use super::native::{MAX_PAGES, named_as, output, pages};
use super::ranges::{self, Range};
use super::request::Part;

/// The renderer of pages, and the form in which the model takes their images.
pub(super) type Painter<'c> = (&'c dyn Converter, MediaLimits);

/// The first converter that renders documents of this type for a place where a tool's documents stand.
pub(super) fn painter<'c>(
    capabilities: &ModelCapabilities,
    media_type: &MediaType,
    converters: &'c [Arc<dyn Converter>],
) -> Option<Painter<'c>> {
    let png = MediaType::parse("image/png")?;
    let places = [Place::ToolResult, Place::AfterToolResults];
    let mut forms = places.iter().filter_map(|place| capabilities.place(*place).form(&png));
    forms.find_map(|form| {
        let converter = converters.iter().find(|converter| converter.renders(media_type, &form))?;
        Some((&**converter, form))
    })
}

/// The pages that are asked for, as images. `why` says why there is no text.
///
/// # Errors
/// The model reads that there are no such pages, or that they cannot be rendered.
pub(super) async fn show(
    document: &Document,
    bytes: Bytes,
    part: &Part,
    why: &str,
    (converter, form): Painter<'_>,
) -> Result<ToolOutput, ToolError> {
    let why = tame(why);
    let asked = pages(part, &why)?;
    let wanted: Vec<_> = asked.iter().map(|(first, last)| *first..=*last).collect();
    let form = form.with_max_pages(MAX_PAGES as u64);
    let rendered = converter.render(document, bytes, &wanted, &form).await.map_err(|problem| {
        ToolError::new(format!(
            "this document has no readable text: {why}; its pages cannot be shown as images either: {}",
            tame(&problem.to_string())
        ))
    })?;
    let RenderedPages { images, total, blank, failed, partial, .. } = rendered;
    let shown: Vec<usize> = images.iter().map(|image| image.page).collect();
    let last = [&shown, &blank, &failed].into_iter().filter_map(|pages| pages.last()).max().copied();
    let Some(last) = last else {
        return Err(ToolError::new(format!("this document has {total} pages"))
            .with_kind(ToolErrorKind::InvalidArguments));
    };
    let mut remarks = Vec::new();
    if !shown.is_empty() {
        let pages = ranges::written(&runs(&shown));
        remarks.push(format!("pages {pages} of {total} as images, since they have no readable text: {why}"));
    }
    for (pages, what) in [
        (blank, "there is nothing to see"),
        (partial, "something could not be drawn"),
        (failed, "nothing could be drawn"),
    ] {
        if !pages.is_empty() {
            remarks.push(format!("on pages {} of {total} {what}", ranges::written(&runs(&pages))));
        }
    }
    let mut rest = ranges::within(&ranges::from(&asked, last + 1), total);
    if rest.is_empty() && last < total {
        rest = vec![(last + 1, total)];
    }
    if !rest.is_empty() {
        remarks.push(format!("next: pages {}", ranges::written(&rest)));
    }
    let image = |PageImage { page, bytes, media_type, .. }: PageImage| {
        let extension = media_type.extension().unwrap_or("img");
        let name = named_as(document.file_name(), (page, page), extension);
        Document::from_bytes(bytes, media_type.essence()).with_file_name(name)
    };
    output(remarks.join("; "), images.into_iter().map(image).collect())
}

/// Ascending numbers as ranges.
fn runs(numbers: &[usize]) -> Vec<Range> {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}
