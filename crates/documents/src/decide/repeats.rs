//! Documents that stand in the window more than once, and contents that are left out.

use crate::decide::treatment::{Need, Purpose, Treatment};
use crate::find::{Occurrence, Origin};
use crate::options::BackReferences;

/// The part of an occurrence's own treatment that holds once the others are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All of it.
    Own,
    /// Its content stands at an earlier occurrence.
    Back,
    /// Its content is left out to keep the request small.
    LeftOut(Limit),
}

/// Which occurrences show their content, which refer back and which are left out.
pub(crate) struct Standings<'a, 'm> {
    occurrences: &'a [Occurrence<'m>],
    back_references: BackReferences,
    standings: Vec<Standing>,
    candidates: Vec<Candidate>,
    /// By identity.
    shown: Vec<Shown>,
}

/// The properties of an occurrence that matter for those of the same document.
#[derive(Clone, Copy, Default)]
struct Candidate {
    /// How good the form is in which it shows its content: 0 where it does not.
    rank: u8,
    /// If true, it may refer back: it shows its content, or nobody loads it since its address was passed before.
    may_refer: bool,
    /// The next occurrence of the same document.
    next: Option<usize>,
}

/// Where a document is shown: first, and first in the better form, if that came later. A reference back needs no other.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    at_all: Option<usize>,
    better: Option<usize>,
}

impl Shown {
    fn add(&mut self, at: usize, rank: u8) {
        if rank > 0 {
            self.at_all.get_or_insert(at);
        }
        if rank > 1 {
            self.better.get_or_insert(at);
        }
    }

    /// The first that shows it in a form at least as good.
    fn first(&self, rank: u8) -> Option<usize> {
        if rank > 1 { self.better } else { self.at_all }
    }
}

impl<'a, 'm> Standings<'a, 'm> {
    /// Lets later occurrences refer back to the first that shows the content in a form as good as theirs.
    pub(crate) fn new(
        occurrences: &'a [Occurrence<'m>],
        treatments: &[Treatment],
        back_references: BackReferences,
        purpose: Purpose,
    ) -> Self {
        let candidate = |treatment: &Treatment| {
            let rank = treatment.rank(purpose);
            let may_refer = rank > 0 || matches!(treatment.need, Some(Need::Load(_)));
            Candidate { rank, may_refer, next: None }
        };
        let mut candidates: Vec<_> = treatments.iter().map(candidate).collect();
        let documents =
            occurrences.iter().map(|occurrence| occurrence.identity + 1).max().unwrap_or_default();
        let mut last: Vec<Option<usize>> = vec![None; documents];
        for (at, occurrence) in occurrences.iter().enumerate() {
            let before = last.get_mut(occurrence.identity).and_then(|last| last.replace(at));
            if let Some(before) = before.and_then(|before| candidates.get_mut(before)) {
                before.next = Some(at);
            }
        }
        let standings = vec![Standing::Own; occurrences.len()];
        let mut all = Self { occurrences, back_references, standings, candidates, shown: Vec::new() };
        let served = all.served();
        for (standing, first) in all.standings.iter_mut().zip(served) {
            if first.is_some() {
                *standing = Standing::Back;
            }
        }
        all.shown = all.all_shown(documents);
        all
    }

    pub(crate) fn get(&self, at: usize) -> Standing {
        self.standings.get(at).copied().unwrap_or(Standing::Own)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Standing> + ExactSizeIterator {
        self.standings.iter().copied()
    }

    /// Where the content of each stands that refers back.
    pub(crate) fn served(&self) -> Vec<Option<usize>> {
        let mut shown: Vec<Shown> = Vec::new();
        let mut served = Vec::with_capacity(self.occurrences.len());
        for (at, (occurrence, candidate)) in self.occurrences.iter().zip(&self.candidates).enumerate() {
            let mut first = None;
            if candidate.may_refer && !matches!(self.get(at), Standing::LeftOut(_)) {
                if shown.len() <= occurrence.identity {
                    shown.resize(occurrence.identity + 1, Shown::default());
                }
                if let Some(shown) = shown.get_mut(occurrence.identity) {
                    first = shown.first(candidate.rank).filter(|first| self.serves(*first, occurrence));
                    if first.is_none() {
                        shown.add(at, candidate.rank);
                    }
                }
            }
            served.push(first);
        }
        served
    }

    fn all_shown(&self, documents: usize) -> Vec<Shown> {
        let mut all = vec![Shown::default(); documents];
        for (at, (occurrence, candidate)) in self.occurrences.iter().zip(&self.candidates).enumerate() {
            if self.get(at) == Standing::Own
                && let Some(shown) = all.get_mut(occurrence.identity)
            {
                shown.add(at, candidate.rank);
            }
        }
        all
    }

    /// True if an occurrence may refer to the first that shows its content.
    fn serves(&self, first: usize, occurrence: &Occurrence<'_>) -> bool {
        let refers = self.back_references != BackReferences::Never
            && !matches!(occurrence.origin, Origin::Author { .. });
        refers && self.reaches(first, occurrence)
    }

    /// True if all that may refer to the first, from that occurrence on, do.
    fn reaches(&self, first: usize, occurrence: &Occurrence<'_>) -> bool {
        self.back_references != BackReferences::AcrossMessages
            || self.occurrences.get(first).is_some_and(|first| first.message < occurrence.message)
    }

    /// Leaves the content of one occurrence out. Those that referred to it refer to the next that shows it, or show it
    /// themselves; yields which do that now. Where nothing may come in its place, they are left out with it.
    ///
    /// Only what comes after it is looked at, up to what takes its place.
    pub(crate) fn leave_out(&mut self, at: usize, limit: Limit, replace: bool) -> Vec<usize> {
        let mut heirs = Vec::new();
        self.set(at, Standing::LeftOut(limit));
        let Some(identity) = self.occurrences.get(at).map(|occurrence| occurrence.identity) else {
            return heirs;
        };
        let Some(known) = self.shown.get(identity).copied() else { return heirs };
        let lost = |first: Option<usize>| first == Some(at);
        if !lost(known.at_all) && !lost(known.better) {
            return heirs;
        }
        let keep = |first: Option<usize>| first.filter(|first| *first != at);
        let mut shown = Shown { at_all: keep(known.at_all), better: keep(known.better) };
        let mut next = self.candidates.get(at).and_then(|candidate| candidate.next);
        while let Some(here) = next {
            let (Some(occurrence), Some(candidate)) =
                (self.occurrences.get(here), self.candidates.get(here).copied())
            else {
                break;
            };
            next = candidate.next;
            let settled = |first: Option<usize>, was: Option<usize>| {
                !lost(was) || first.is_some_and(|first| self.reaches(first, occurrence))
            };
            if settled(shown.at_all, known.at_all) && settled(shown.better, known.better) {
                break;
            }
            let standing = self.get(here);
            if !candidate.may_refer || matches!(standing, Standing::LeftOut(_)) {
                continue;
            }
            let is_served = shown.first(candidate.rank).is_some_and(|first| self.serves(first, occurrence));
            match standing {
                Standing::Back if is_served => continue,
                Standing::Back if !replace => {
                    self.set(here, Standing::LeftOut(limit));
                    continue;
                }
                Standing::Back => {
                    self.set(here, Standing::Own);
                    heirs.push(here);
                }
                Standing::Own | Standing::LeftOut(_) => {}
            }
            shown.add(here, candidate.rank);
        }
        if let Some(known) = self.shown.get_mut(identity) {
            *known = shown;
        }
        heirs
    }

    fn set(&mut self, at: usize, standing: Standing) {
        if let Some(known) = self.standings.get_mut(at) {
            *known = standing;
        }
    }
}

/// The limit that a request would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Documents(u64),
    Bytes(u64),
    /// Pages of PDFs.
    Pages(u64),
    /// Estimated tokens.
    Tokens(u64),
    /// Images, if one of them has more pixels on a side than this.
    Images(u64, u64),
    /// Documents that are no images, no sound and no video.
    Files(u64),
}
