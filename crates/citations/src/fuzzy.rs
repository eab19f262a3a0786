//! Finds passages of which a few characters differ: pieces of eight bytes vote for where a passage stands, and the
//! distance to that place decides.

use std::collections::HashMap;

use crate::myers;

/// The bytes that are looked up at once.
const GRAM: usize = 8;
/// Pieces that stand more often than so in a text say nothing.
const RARE: u32 = 64;
/// The width of what votes together, in bytes.
const WIDTH: usize = 32;
/// The maximum number of places of one passage that are measured.
const CANDIDATES: usize = 4;
/// The shortest passage, and the longest, in bytes.
pub(crate) const SHORTEST: usize = 20;
pub(crate) const LONGEST: usize = 4096;
/// The part of a passage that may differ, in per cent.
const EDITS_PER_CENT: usize = 8;

/// A place that a passage may stand at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Near {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) edits: usize,
}

/// The best place in `hay` of each passage, if it has one.
pub(crate) fn nearest(needles: &[&str], hay: &str) -> Vec<Option<Near>> {
    let mut grams: HashMap<[u8; GRAM], Gram> = HashMap::new();
    for (needle, text) in needles.iter().enumerate() {
        for (at, gram) in text.as_bytes().windows(GRAM).enumerate() {
            if let Ok(gram) = <[u8; GRAM]>::try_from(gram) {
                let known = grams.entry(gram).or_default();
                // A gram that many passages share says nothing either.
                if known.places.len() < CANDIDATES * 4 {
                    known.places.push((needle, at));
                }
            }
        }
    }
    let mut votes: HashMap<(usize, usize), u32> = HashMap::new();
    for (at, gram) in hay.as_bytes().windows(GRAM).enumerate() {
        let Some(gram) = <[u8; GRAM]>::try_from(gram).ok().and_then(|gram| grams.get_mut(&gram)) else {
            continue;
        };
        gram.seen += 1;
        if gram.seen > RARE {
            continue;
        }
        for (needle, place) in &gram.places {
            // Shifted by the longest passage, so that none begins before the text.
            let diagonal = at + LONGEST - place;
            *votes.entry((*needle, diagonal / WIDTH)).or_default() += 1;
        }
    }
    let mut ranked: Vec<Vec<(u32, usize)>> = vec![Vec::new(); needles.len()];
    for ((needle, diagonal), count) in &votes {
        let next = votes.get(&(*needle, diagonal + 1)).copied().unwrap_or_default();
        if let Some(of) = ranked.get_mut(*needle) {
            of.push((count + next, *diagonal));
        }
    }
    needles.iter().zip(ranked).map(|(needle, of)| measured(needle, hay, of)).collect()
}

#[derive(Default)]
struct Gram {
    places: Vec<(usize, usize)>,
    seen: u32,
}

/// The place with the fewest edits of those that most pieces voted for; the first of equal ones.
fn measured(needle: &str, hay: &str, mut ranked: Vec<(u32, usize)>) -> Option<Near> {
    let most = needle.len() * EDITS_PER_CENT / 100;
    ranked.sort_unstable_by_key(|(votes, diagonal)| (std::cmp::Reverse(*votes), *diagonal));
    ranked.truncate(CANDIDATES);
    let mut best: Option<Near> = None;
    for (_, diagonal) in ranked {
        let from = (diagonal * WIDTH).saturating_sub(LONGEST + most);
        let from = hay.floor_char_boundary(from.min(hay.len()));
        let to = (diagonal * WIDTH + 2 * WIDTH + needle.len() + most).saturating_sub(LONGEST);
        let to = hay.floor_char_boundary(to.min(hay.len()));
        let Some(window) = hay.get(from..to.max(from)) else { continue };
        let Some((start, end, edits)) = myers::best(needle.as_bytes(), window.as_bytes(), most) else {
            continue;
        };
        let start = hay.floor_char_boundary(from + start);
        let end = hay.ceil_char_boundary(from + end);
        let near = Near { start, end, edits };
        let is_better = |known: Near| (near.edits, near.start) < (known.edits, known.start);
        if best.is_none_or(is_better) {
            best = Some(near);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_passage_with_a_slip_is_found() {
        let hay =
            "in the beginning the tenant shall keep the garden tidy at all times and water it. ".repeat(3);
        let hay = ["x".repeat(5000), hay].concat();
        let needle = "the tenant shal keep the garden tidy at all tims and water it";
        let found = nearest(&[needle], &hay)[0].unwrap();
        assert_eq!(
            &hay[found.start..found.end],
            "the tenant shall keep the garden tidy at all times and water it"
        );
        assert_eq!(found.edits, 2);
        assert!(found.start < 5100, "the first of equal ones");
        assert_eq!(nearest(&["a passage that stands nowhere at all in it"], &hay), [None]);
    }
}
