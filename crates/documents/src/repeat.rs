//! Documents that stand in the window more than once.

use std::collections::HashMap;

use crate::options::Repeats;
use crate::survey::{Occurrence, Origin};
use crate::verdict::{Purpose, Verdict};

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
}

/// Lets later occurrences refer back to the first that shows the content in a form as good as theirs.
pub(crate) fn refer_back(
    occurrences: &[Occurrence<'_>],
    verdicts: &[Verdict],
    repeats: Repeats,
    purpose: Purpose,
) -> Vec<Standing> {
    // The first showing of each document, and the first in the better form if that came later.
    let mut shown: HashMap<usize, Vec<usize>> = HashMap::new();
    let refers = |at: usize, occurrence: &Occurrence<'_>, verdict: &Verdict, shown: &[usize]| {
        let earlier = shown.iter().copied().find(|first| {
            let apart = || occurrences.get(*first).is_some_and(|first| first.message < occurrence.message);
            let as_good =
                verdicts.get(*first).is_some_and(|first| first.rank(purpose) >= verdict.rank(purpose));
            *first < at && as_good && (repeats == Repeats::Everywhere || apart())
        });
        earlier.filter(|_| repeats != Repeats::Never && !matches!(occurrence.origin, Origin::Author { .. }))
    };
    let mut standings = Vec::with_capacity(occurrences.len());
    for (at, (occurrence, verdict)) in occurrences.iter().zip(verdicts).enumerate() {
        if verdict.rank(purpose) == 0 {
            standings.push(Standing::Own);
            continue;
        }
        let known = shown.entry(occurrence.identity).or_default();
        match refers(at, occurrence, verdict, known) {
            Some(first) => standings.push(Standing::At(first)),
            None => {
                known.push(at);
                standings.push(Standing::Own);
            }
        }
    }
    standings
}
