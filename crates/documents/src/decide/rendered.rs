//! Documents whose pages no place takes as they are: those without text as images, the others as text.

use std::ops::RangeInclusive;

use attache_core::capability::Place;
use attache_core::converter::MediaLimits;
use attache_core::{Document, MediaKind, MediaType};

use crate::decide::decider::Decider;
use crate::decide::treatment::{Piece, Shown, Treatment};
use crate::estimate;
use crate::find::{Occurrence, Origin};
use crate::materials::{PageRequest, Rendered, Rendering};
use crate::report::{DocumentOutcome, Reason, ReasonKind};
use crate::text::numbers::numbers;
use crate::text::tame;

/// The prospect of showing a document's pages.
pub(crate) enum Sight {
    /// Nothing of it can be rendered, or needs to be.
    None,
    /// Which pages have no text shows only when text was made of it.
    Convert,
    /// These pages are to be rendered.
    Render(PageRequest),
    /// They were.
    Shown(Box<Treatment>),
    /// They could not be, and here is why.
    Failed(String),
}

impl Decider<'_> {
    /// The prospect of showing pages of a document that no place takes. Its bytes need not be in memory.
    pub(crate) fn sight(&self, occurrence: &Occurrence<'_>, document: &Document, places: &[Place]) -> Sight {
        if document.media_type().kind() != MediaKind::Pdf {
            return Sight::None;
        }
        let Some((place, form)) = self.place_for_images(occurrence, places) else { return Sight::None };
        let document = occurrence.document;
        let without_text = self.materials.pages_without_text(document);
        let pages = match without_text {
            None if self.materials.unconvertible(document).is_some() => vec![1..=usize::MAX],
            None => return Sight::Convert,
            // Text is shown only where it may be, and pages would be nothing without it.
            Some(_) if !self.may_convert(occurrence) && !self.materials.is_without_text(document) => {
                return Sight::None;
            }
            Some([]) => return Sight::None,
            Some(pages) => ranges(pages),
        };
        let request = PageRequest::new(pages, form);
        match self.materials.rendering(document, &request) {
            None => Sight::Render(request),
            Some(Rendering::Unknown) => Sight::None,
            Some(Rendering::Failed(why)) => Sight::Failed(why.clone()),
            Some(Rendering::Done(rendered)) => self.seen(occurrence, place, rendered),
        }
    }

    /// The first place that takes images, and the form in which it does.
    fn place_for_images(
        &self,
        occurrence: &Occurrence<'_>,
        places: &[Place],
    ) -> Option<(Place, MediaLimits)> {
        let png = MediaType::parse("image/png")?;
        // An author's document loses no page for an estimate.
        let is_authors = matches!(occurrence.origin, Origin::Author { .. });
        let form = |place: &Place| Some((*place, self.image_form(&png, *place, is_authors)?));
        places.iter().find_map(form)
    }

    fn image_form(&self, png: &MediaType, place: Place, is_authors: bool) -> Option<MediaLimits> {
        let mut form = self.form(png, place, false)?;
        let rules = &self.capabilities.files;
        let paid =
            self.options.budget.tokens(self.capabilities).map(|tokens| estimate::images(tokens / 4 * 3));
        let paid = paid.filter(|_| !is_authors);
        // One document of many leaves room for the others.
        let most = self.capabilities.place(place).max_count;
        let most = if is_authors { most } else { most.map(|count| count - count / 4) };
        let limits = [most, paid];
        form.max_pages = limits.into_iter().flatten().min();
        // Where many images may not be large, those of pages are not.
        form.max_pixels = form.max_pixels.into_iter().chain(rules.many_images_pixels).min();
        Some(form)
    }

    fn seen(&self, occurrence: &Occurrence<'_>, place: Place, rendered: &Rendered) -> Sight {
        let is_whole = rendered.left_out.is_empty() && rendered.failed.is_empty();
        if rendered.images.is_empty() {
            return Sight::Failed(match rendered.failed.is_empty() {
                true => "there is nothing to see on them".to_owned(),
                false => "they are damaged, or ask for too much".to_owned(),
            });
        }
        // An author's document loses no page.
        let is_current = occurrence.origin == Origin::Author { current: true };
        if is_current && !is_whole {
            let (shown, total) = (rendered.images.len(), rendered.total);
            return Sight::Failed(format!("only {shown} of its {total} pages can be"));
        }
        let text = self.capabilities.place(place).accepts_text();
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        let mut left = self.converted_limit(occurrence);
        let mut tokens = 0_u64;
        let document = occurrence.document;
        let with_text = self.materials.pages_with_text(document);
        let seen_whole = self.materials.pages_seen_whole(document);
        let is_seen = |page: &usize| {
            seen_whole.contains(page) && rendered.images.iter().any(|(shown, _)| shown == page)
        };
        let unshown: Vec<usize> = match text {
            true => Vec::new(),
            false => with_text.iter().cloned().flatten().filter(|page| !is_seen(page)).collect(),
        };
        let is_whole = is_whole && unshown.is_empty();
        for range in with_text.iter().filter(|_| text) {
            let Some(fenced) = self.materials.conversion(document, document.media_type(), range, left) else {
                continue;
            };
            left -= fenced.shown.min(left);
            tokens = tokens.saturating_add(fenced.tokens);
            pieces.push((*range.start(), Piece::Text(fenced)));
        }
        let has_text = !pieces.is_empty();
        let mut is_guess = false;
        for (page, image) in &rendered.images {
            let cost = self.cost(image, None);
            tokens = tokens.saturating_add(cost.tokens);
            is_guess |= cost.is_guess;
            let (page, total) = (*page, rendered.total);
            pieces.push((page, Piece::Image { page, total, document: image.clone() }));
        }
        pieces.sort_by_key(|(page, _)| *page);
        let mut note = self.note_on_pages(document, rendered, has_text);
        if !unshown.is_empty() {
            note.push_str(&format!("; {}, with text that is not shown here", numbers(&unshown)));
        }
        let reason = Reason::new(ReasonKind::Rendered, format!("shown in another form: {note}"));
        let pieces = pieces.into_iter().map(|(_, piece)| piece).collect();
        let shown = Shown::Pages { pieces, note, is_whole };
        let treatment = Treatment::new(DocumentOutcome::Rendered, Some(place), reason, shown);
        Sight::Shown(Box::new(treatment.costing(estimate::Estimate { tokens, is_guess }, None)))
    }

    /// A word on the pages, for the model.
    fn note_on_pages(&self, document: &Document, rendered: &Rendered, has_text: bool) -> String {
        let pages: Vec<usize> = rendered.images.iter().map(|(page, _)| *page).collect();
        let mut note = format!("{} of {} as images", numbers(&pages), rendered.total);
        if has_text {
            note.push_str(", those with text as text");
        }
        for (pages, what) in [
            (&rendered.blank, "on which there is nothing to see"),
            (&rendered.partial, "of which something could not be drawn"),
            (&rendered.failed, "which could not be drawn"),
        ] {
            if !pages.is_empty() {
                note.push_str(&format!("; {}, {what}", numbers(pages)));
            }
        }
        if !rendered.left_out.is_empty() {
            let pages = numbers(&rendered.left_out);
            note.push_str(&format!("; {pages} left out to keep the limits of images"));
        }
        for remark in self.materials.remarks(document) {
            note.push_str(&format!("; {}", tame(remark)));
        }
        note
    }
}

/// Ascending numbers as ranges.
fn ranges(numbers: &[usize]) -> Vec<RangeInclusive<usize>> {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some(*run.first()?..=*run.last()?)).collect()
}
