//! The text that a converter made of a document, and which of its pages are read or seen.

use std::ops::RangeInclusive;
use std::sync::Arc;

use attache_core::converter::ConvertedText;

/// The text of a document, or why there is none, since an insertion.
#[derive(Clone)]
pub(super) struct Converted {
    pub(super) text: Result<Arc<ConvertedText>, String>,
    pub(super) pages: PageTexts,
    pub(super) since: u64,
}

/// The units of a text, as far as they are read, or seen.
#[derive(Clone, Default)]
pub(super) struct PageTexts {
    /// Runs of those that have text or comments. A run ends behind a unit that is seen as well, so that text and images
    /// of units stay in order.
    pub(super) with: Vec<RangeInclusive<usize>>,
    /// The units that have no text, and those that images cover.
    pub(super) to_see: Vec<usize>,
    /// The units whose image shows their text, too.
    pub(super) seen_whole: Vec<usize>,
    /// True if nothing but images would show any of them.
    pub(super) is_silent: bool,
}

impl PageTexts {
    pub(super) fn of(text: &ConvertedText) -> Self {
        let mut to_see = text.units_without_text();
        let is_in = |pages: &[usize], page: usize| pages.binary_search(&page).is_ok();
        // No image of a page shows its comments, so that they are text that stands beside it.
        let commented = text.units_with_comments();
        let held = text.units.as_ref().map_or(0, |units| units.starts.len());
        let silent: Vec<usize> = to_see.iter().copied().filter(|page| !is_in(&commented, *page)).collect();
        let covered = text.units.iter().flat_map(|units| &units.covered).copied();
        let covered: Vec<usize> = covered.filter(|page| (1..=held).contains(page)).collect();
        to_see.extend(&covered);
        to_see.sort_unstable();
        to_see.dedup();
        let mut with: Vec<RangeInclusive<usize>> = Vec::new();
        for page in (1..=held).filter(|page| !is_in(&silent, *page)) {
            match with.last_mut().filter(|run| *run.end() + 1 == page && !is_in(&to_see, *run.end())) {
                Some(run) => *run = *run.start()..=page,
                None => with.push(page..=page),
            }
        }
        let is_silent = to_see.len() == held;
        let seen_whole = covered.into_iter().filter(|page| !is_in(&commented, *page)).collect();
        Self { with, to_see, seen_whole, is_silent }
    }
}
