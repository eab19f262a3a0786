//! Documents that stand in the window more than once.

use std::collections::HashMap;

use crate::options::Repeats;
use crate::survey::{Occurrence, Origin};
use crate::verdict::{Need, Purpose, Verdict};

/// What of an occurrence's own verdict holds once the others are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// All of it.
    Own,
    /// Its content stands at this earlier occurrence.
    At(usize),
    /// Its content is left out to keep the request small.
    LeftOut(Limit),
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
    /// Not of the request, but of one message in it.
    OfMessage(u64),
}

/// Decides which occurrences refer back.
#[derive(Clone, Copy)]
pub(crate) struct Repeating<'a, 'm> {
    pub(crate) occurrences: &'a [Occurrence<'m>],
    pub(crate) repeats: Repeats,
    pub(crate) purpose: Purpose,
}

impl Repeating<'_, '_> {
    /// Lets later occurrences refer back to the first that shows the content in a form as good as theirs.
    pub(crate) fn refer_back(self, verdicts: &[Verdict]) -> Vec<Standing> {
        // The first showing of each document, and the first in the better form if that came later.
        let mut shown: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut standings = Vec::with_capacity(self.occurrences.len());
        for (at, (occurrence, verdict)) in self.occurrences.iter().zip(verdicts).enumerate() {
            let mut standing = Standing::Own;
            let is_shown = verdict.rank(self.purpose) > 0;
            // What nobody loads, since an address of it was passed before, refers back as well.
            if is_shown || matches!(verdict.need, Some(Need::Load(_))) {
                let earlier = shown.entry(occurrence.identity).or_default();
                match self.earlier(occurrence, verdict, verdicts, earlier) {
                    Some(first) => standing = Standing::At(first),
                    None if is_shown => earlier.push(at),
                    None => {}
                }
            }
            standings.push(standing);
        }
        standings
    }

    /// Leaves the content of one occurrence out. Those that referred to it refer to the next that shows it, or show
    /// it themselves; yields which do that now.
    pub(crate) fn leave_out(
        self,
        left_out: usize,
        limit: Limit,
        verdicts: &[Verdict],
        standings: &mut [Standing],
    ) -> Vec<usize> {
        let (mut shown, mut heirs) = (Vec::new(), Vec::new());
        let identity = self.occurrences.get(left_out).map(|occurrence| occurrence.identity);
        let all = self.occurrences.iter().zip(verdicts).zip(standings).enumerate();
        for (at, ((occurrence, verdict), standing)) in all {
            if Some(occurrence.identity) != identity {
                continue;
            }
            if at == left_out {
                *standing = Standing::LeftOut(limit);
            } else if *standing == Standing::At(left_out) {
                *standing = match self.earlier(occurrence, verdict, verdicts, &shown) {
                    Some(first) => Standing::At(first),
                    None => {
                        heirs.push(at);
                        Standing::Own
                    }
                };
            }
            if *standing == Standing::Own && verdict.rank(self.purpose) > 0 {
                shown.push(at);
            }
        }
        heirs
    }

    /// The first of those that show the content which the occurrence may refer to.
    fn earlier(
        self,
        occurrence: &Occurrence<'_>,
        verdict: &Verdict,
        verdicts: &[Verdict],
        shown: &[usize],
    ) -> Option<usize> {
        if self.repeats == Repeats::Never || matches!(occurrence.origin, Origin::Author { .. }) {
            return None;
        }
        let serves = |first: usize| {
            let apart = self.occurrences.get(first).is_some_and(|first| first.message < occurrence.message);
            let rank = verdicts.get(first).map(|first| first.rank(self.purpose));
            rank >= Some(verdict.rank(self.purpose)) && (apart || self.repeats == Repeats::Everywhere)
        };
        shown.iter().copied().find(|first| serves(*first))
    }
}
