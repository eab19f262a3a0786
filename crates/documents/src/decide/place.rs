//! The fit of a document into a place, as it is or in another form.

use attache_core::capability::Place;
use attache_core::converter::MediaLimits;
use attache_core::{Document, MediaKind, MediaType};

use crate::content::{content_bytes, pixels};
use crate::decide::decider::Decider;
use crate::estimate;
use crate::materials::page_count::Pages;
use crate::materials::{Adapted, Transcoding};

/// The answer of a place to a document.
pub(crate) enum Stand {
    /// It takes it as it is.
    AsIs {
        /// The pages of a PDF, if they are known.
        pages: Option<u64>,
        /// The form to ask a converter about first, if one is there: it may know better.
        check: Option<MediaLimits>,
    },
    /// It takes it in the form that a converter brought it into.
    Transcoded(Adapted),
    /// It would take it in this form, and nobody has tried to bring it there.
    Fits(MediaLimits, Misfit),
    /// It does not take it.
    No(Misfit),
}

/// Why a place does not take a document as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    Type,
    Bytes(u64),
    Pixels {
        width: u64,
        height: u64,
        most: u64,
    },
    Pages {
        pages: u64,
        most: u64,
    },
    /// A converter tried to bring it into the place's form, and says why it could not.
    Unfit(String),
    /// Nobody can say how many pages it has.
    Uncounted {
        most: u64,
    },
}

impl Decider<'_> {
    /// Decides if `place` takes a document whose bytes are in memory.
    pub(crate) fn stand(&self, document: &Document, place: Place, is_author: bool) -> Stand {
        let media = document.media_type();
        let Some(form) = self.form(media, place, is_author) else { return Stand::No(Misfit::Type) };
        let fit = self.materials.transcoding(document, &form);
        let counted = match (fit, media.kind()) {
            // A converter that opened it knows better.
            (Some(Transcoding::AsIs { pages: Some(pages) }), _) => Pages::Counted(*pages),
            (_, MediaKind::Pdf) => self.materials.pages(document),
            _ => Pages::None,
        };
        let misfit = misfit(document, media, &form).or_else(|| self.too_many(counted, place));
        let pages = counted.number();
        match (fit, misfit) {
            (Some(Transcoding::AsIs { .. } | Transcoding::Unknown), None) => {
                Stand::AsIs { pages, check: None }
            }
            (Some(Transcoding::Adapted(adapted)), _) => Stand::Transcoded(adapted.clone()),
            (Some(Transcoding::Failed(why)), _) => Stand::No(Misfit::Unfit(why.clone())),
            // Only who opens a PDF or an image knows whether it opens.
            (None, None) if is_adaptable(media) => Stand::AsIs { pages, check: Some(form) },
            (None, None) => Stand::AsIs { pages, check: None },
            (None, Some(misfit)) if is_adaptable(media) => Stand::Fits(form, misfit),
            (_, Some(misfit)) => Stand::No(misfit),
        }
    }

    /// Why the model does not take a PDF of so many pages in any request. The pages that a budget pays for are no such limit.
    fn too_many(&self, counted: Pages, place: Place) -> Option<Misfit> {
        let limits = [self.capabilities.place(place).max_pages, self.capabilities.files.max_pages];
        let most = limits.into_iter().flatten().min()?;
        match counted {
            Pages::Counted(pages) => (pages > most).then_some(Misfit::Pages { pages, most }),
            Pages::Hidden => Some(Misfit::Uncounted { most }),
            Pages::None => None,
        }
    }

    /// True if `place` may take documents of this type in some form that nobody has failed at.
    pub(crate) fn may_fit(&self, document: &Document, place: Place, is_author: bool) -> bool {
        let media = document.media_type();
        let Some(form) = self.form(media, place, is_author) else { return false };
        let failed = matches!(
            self.materials.transcoding(document, &form),
            Some(Transcoding::Failed(_) | Transcoding::Unknown)
        );
        form.allows(media) || is_adaptable(media) && !failed
    }

    /// The form in which a place takes documents of this kind in this request.
    pub(super) fn form(&self, media: &MediaType, place: Place, is_author: bool) -> Option<MediaLimits> {
        let mut form = self.capabilities.place(place).form(media)?;
        if self.many_images && media.kind() == MediaKind::Image {
            let many = self.capabilities.files.many_images_pixels;
            form.max_pixels = form.max_pixels.into_iter().chain(many).min();
        }
        // An author's document loses no page for an estimate.
        if media.kind() == MediaKind::Pdf && !is_author {
            let budget = self.options.budget.tokens(self.capabilities);
            let paid = budget.map(|tokens| estimate::pages(tokens / 4 * 3, &self.capabilities.files));
            form.max_pages = form.max_pages.into_iter().chain(paid).min();
        }
        Some(form)
    }
}

/// Types that another encoding can stand for.
fn is_adaptable(media: &MediaType) -> bool {
    matches!(media.kind(), MediaKind::Image | MediaKind::Pdf)
}

fn misfit(document: &Document, media: &MediaType, form: &MediaLimits) -> Option<Misfit> {
    if !form.allows(media) {
        return Some(Misfit::Type);
    }
    let bytes = content_bytes(document).unwrap_or_default();
    if let Some(most) = form.max_bytes.filter(|most| bytes.len() as u64 > *most) {
        return Some(Misfit::Bytes(most));
    }
    let (most, (width, height)) = (form.max_pixels?, pixels(bytes)?);
    (width.max(height) > most).then_some(Misfit::Pixels { width, height, most })
}
