//! Pages of documents as images.

use std::ops::RangeInclusive;

use attache_core::converter::{MediaLimits, PageImage, RenderedPages};
use attache_core::{Document, MediaKind};

use crate::content::pixels;
use crate::materials::transcoded::renamed;

/// Pages of a document to render, and the form of their images.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PageRequest {
    /// The pages, counted from 1, as ascending separate ranges; `1..=usize::MAX` means all pages.
    pub pages: Vec<RangeInclusive<usize>>,
    /// The form of each image. [`MediaLimits::max_pages`] limits their number.
    pub form: MediaLimits,
}

impl PageRequest {
    /// These pages in that form.
    pub(crate) fn new(pages: Vec<RangeInclusive<usize>>, form: MediaLimits) -> Self {
        Self { pages, form }
    }

    fn asks_for(&self, page: usize) -> bool {
        self.pages.iter().any(|range| range.contains(&page))
    }
}

/// The knowledge about pages that were to be rendered.
#[derive(Clone, Debug)]
pub(crate) enum Rendering {
    Done(Rendered),
    Failed(String),
    /// There is nobody who could do it.
    Unknown,
}

/// Pages that were rendered.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// The image of each page, ascending.
    pub(crate) images: Vec<(usize, Document)>,
    pub(crate) total: usize,
    pub(crate) blank: Vec<usize>,
    pub(crate) failed: Vec<usize>,
    pub(crate) partial: Vec<usize>,
    /// The pages that were asked for and left out to keep a limit.
    pub(crate) left_out: Vec<usize>,
}

/// The maximum number of pages that a document is believed to have.
const MOST_PAGES: usize = 1_000_000;

/// The number of a page's image among the documents inside a document begins here; those that converters find are
/// numbered from 1.
const PAGES: usize = 1 << 20;

impl Rendering {
    /// The answer of a converter about `document` and `request`.
    pub(super) fn of(document: &Document, request: &PageRequest, rendered: RenderedPages) -> Self {
        let RenderedPages { images, total, mut blank, mut failed, mut partial, .. } = rendered;
        let form = &request.form;
        let ascending = |numbers: &[usize]| numbers.is_sorted_by(|a, b| a < b);
        let pages: Vec<usize> = images.iter().map(|image| image.page).collect();
        let fits = |image: &PageImage| {
            let side = pixels(&image.bytes).map(|(width, height)| width.max(height));
            let exceeds =
                |size: Option<u64>, most: Option<u64>| size.zip(most).is_some_and(|(size, most)| size > most);
            // Its bytes may say that it is something else.
            let media_type =
                Document::from_bytes(image.bytes.clone(), image.media_type.essence()).media_type().clone();
            media_type.kind() == MediaKind::Image
                && !image.bytes.is_empty()
                && form.allows(&media_type)
                && !exceeds(Some(image.bytes.len() as u64), form.max_bytes)
                && !exceeds(side, form.max_pixels)
                && request.asks_for(image.page)
                && (1..=total).contains(&image.page)
        };
        // A converter is no more trusted with the model's limits than the document's author.
        if total > MOST_PAGES
            || !images.iter().all(fits)
            || !ascending(&pages)
            || form.max_pages.is_some_and(|most| images.len() as u64 > most)
        {
            return Self::Failed("the converter could not bring them into a form that fits".to_owned());
        }
        for numbers in [&mut blank, &mut failed, &mut partial] {
            numbers.retain(|page| (1..=total).contains(page));
            numbers.sort_unstable();
            numbers.dedup();
        }
        let known =
            |page: &usize| [&pages, &blank, &failed].iter().any(|known| known.binary_search(page).is_ok());
        let asked = request.pages.iter().flat_map(|range| *range.start()..=(*range.end()).min(total));
        let left_out = asked.filter(|page| !known(page)).collect();
        let image = |image: PageImage| {
            let made = Document::from_bytes(image.bytes, image.media_type.essence())
                .with_id(document.id().inside(PAGES + image.page));
            let name = document.file_name();
            let made = match name.map(|name| renamed(name, document.media_type(), &image.media_type)) {
                Some(name) => made.with_file_name(name),
                None => made,
            };
            (image.page, made)
        };
        let images = images.into_iter().map(image).collect();
        Self::Done(Rendered { images, total, blank, failed, partial, left_out })
    }
}

#[cfg(test)]
mod tests {
    use attache_core::MediaType;

    use super::*;

    #[test]
    fn an_answer_that_does_not_fit_is_none() {
        let pdf = Document::from_bytes(&b"%PDF-1.7"[..], "application/pdf").with_file_name("scan.pdf");
        let form = MediaLimits::of(["image/png"]).with_max_bytes(12).with_max_pages(2);
        let request = PageRequest::new(vec![2..=3, 5..=usize::MAX], form);
        let of = |images: &[(usize, &str, &'static [u8])], total| {
            let image = |(page, media, bytes): &(usize, &str, &'static [u8])| {
                PageImage::new(*page, *bytes, MediaType::parse(media).unwrap())
            };
            Rendering::of(&pdf, &request, RenderedPages::new(images.iter().map(image).collect(), total))
        };
        const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
        let Rendering::Done(done) = of(&[(2, "image/png", PNG), (6, "image/png", PNG)], 7) else { panic!() };
        assert_eq!(done.left_out, [3, 5, 7]);
        assert_eq!(done.images[0].1.file_name(), Some("scan.png"));
        assert_ne!(done.images[0].1.id(), done.images[1].1.id());
        for wrong in [
            &[(4, "image/png", PNG)][..],
            &[(8, "image/png", PNG)],
            &[(3, "image/png", PNG), (2, "image/png", PNG)],
            &[(2, "image/jpeg", &b"\xff\xd8\xff"[..])],
            &[(2, "image/png", b"\x89PNG\r\n\x1a\n and more")],
            &[(2, "image/png", b"")],
            &[(2, "image/png", PNG), (3, "image/png", PNG), (5, "image/png", PNG)],
        ] {
            assert!(matches!(of(wrong, 7), Rendering::Failed(_)), "{wrong:?}");
        }
    }
}
