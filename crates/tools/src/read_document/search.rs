//! Passages that match a query, best first.

use std::ops::Range;

use attache_core::line::one_line;

use super::text::Reading;

/// Words of a query that count.
const MAX_TERMS: usize = 24;
/// A passage is grown up to this many bytes, or to a blank line.
const PASSAGE: usize = 600;

/// Some lines that belong together, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The terms of a query.
pub(super) struct Query {
    terms: Vec<String>,
    phrase: String,
}

impl Query {
    /// The words of a query, each once; `None` if there are none.
    pub(super) fn new(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let mut terms: Vec<String> = Vec::new();
        let mut add = |term: String| {
            if terms.len() < MAX_TERMS && !terms.contains(&term) {
                terms.push(term);
            }
        };
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let letters: Vec<char> = word.chars().collect();
            // Scripts without spaces: neighbours instead of words.
            if letters.len() > 2 && letters.iter().all(|c| is_unspaced(*c)) {
                letters.windows(2).for_each(|pair| add(pair.iter().collect()));
            } else {
                add(word.to_owned());
            }
        }
        let phrase = one_line(&text, usize::MAX);
        (!terms.is_empty()).then_some(Self { terms, phrase })
    }
}

/// Scripts that write no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{abff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The passages in those lines of the text that hold any word of the query: best first, then in order.
pub(super) fn find(reading: &Reading, lines: &[Range<usize>], query: &Query) -> Vec<Passage> {
    let mut seen = 0_usize;
    let mut holding = vec![0_usize; query.terms.len()];
    let mut matches: Vec<(Passage, Vec<u16>, bool)> = Vec::new();
    for passage in lines.iter().flat_map(|lines| passages(reading, lines.clone())) {
        seen += 1;
        let text =
            reading.piece(reading.line(passage.first).start..reading.line(passage.last).end).to_lowercase();
        let counts: Vec<u16> = query.terms.iter().map(|term| count(&text, term)).collect();
        if counts.iter().all(|count| *count == 0) {
            continue;
        }
        for (holding, count) in holding.iter_mut().zip(&counts) {
            *holding += usize::from(*count > 0);
        }
        // Where lines end says nothing about where phrases do.
        let whole = query.terms.len() > 1 && one_line(&text, usize::MAX).contains(&query.phrase);
        matches.push((passage, counts, whole));
    }
    let rarity: Vec<f64> = holding.iter().map(|holding| rarity(seen, *holding)).collect();
    let most: f64 = rarity.iter().sum();
    let mut scored: Vec<(f64, Passage)> = matches
        .into_iter()
        .map(|(passage, counts, whole)| {
            let held = counts.iter().filter(|count| **count > 0).count();
            let words = counts.iter().zip(&rarity).map(|(count, rarity)| {
                let count = f64::from(*count);
                rarity * count * 2.2 / (count + 1.2)
            });
            // All words of a query together tell more than one of them often.
            #[expect(clippy::cast_precision_loss, reason = "a few words")]
            let share = held as f64 / query.terms.len().max(1) as f64;
            (words.sum::<f64>() * (0.5 + share) + if whole { most } else { 0.0 }, passage)
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.first.cmp(&b.1.first)));
    scored.into_iter().map(|(_, passage)| passage).collect()
}

/// The weight of a word that `holding` of `seen` passages hold.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn rarity(seen: usize, holding: usize) -> f64 {
    let (seen, holding) = (seen as f64, holding as f64);
    (1.0 + (seen - holding + 0.5) / (holding + 0.5)).ln()
}

/// How often the text holds the word, at the start of a word where there are spaces. So "rent" finds "rents".
fn count(text: &str, term: &str) -> u16 {
    let anywhere = term.chars().next().is_some_and(is_unspaced);
    let starts = |at: &usize| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        anywhere || !before.is_some_and(char::is_alphanumeric)
    };
    let found = text.match_indices(term).map(|(at, _)| at).filter(starts).take(1_000).count();
    u16::try_from(found).unwrap_or(u16::MAX)
}

/// The lines as passages: they end at a blank line, where a unit begins, or when they are long.
fn passages(reading: &Reading, lines: Range<usize>) -> impl Iterator<Item = Passage> {
    let mut next = lines.start;
    std::iter::from_fn(move || {
        let blank = |line: usize| reading.piece(reading.line(line)).trim().is_empty();
        while next < lines.end && blank(next) {
            next += 1;
        }
        if next >= lines.end {
            return None;
        }
        let first = next;
        let (start, unit) = (reading.line(first).start, reading.unit_at(reading.line(first).start));
        next += 1;
        while next < lines.end
            && !blank(next)
            && reading.line(next).end - start <= PASSAGE
            && reading.unit_at(reading.line(next).start) == unit
        {
            next += 1;
        }
        Some(Passage { first, last: next - 1 })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn found(text: &str, query: &str) -> Vec<(usize, usize)> {
        let reading = Reading::new(Arc::from(text), Vec::new(), 2_000);
        let all = 1..reading.line_count() + 1;
        let query = Query::new(query).unwrap();
        find(&reading, &[all], &query).iter().map(|passage| (passage.first, passage.last)).collect()
    }

    const LEASE: &str = "Lease between the Harbour Trust and Ms. Aoki.\n\nThe rent is due on the first day.\nThe rent \
                         is 1,200 a month.\n\nThe deposit is three rents.\nIt is due with\nthe first rent.\n\nNothing else.\n";

    #[test]
    fn the_best_passage_comes_first() {
        assert_eq!(found(LEASE, "deposit"), [(6, 8)]);
        assert_eq!(found(LEASE, "When is the DEPOSIT due?")[0], (6, 8));
        assert_eq!(found(LEASE, "due with the first rent")[0], (6, 8), "a phrase over a line's end");
        assert_eq!(found(LEASE, "rent"), [(3, 4), (6, 8)], "and its plural");
        assert_eq!(found(LEASE, "ent"), [], "not inside of words");
        assert_eq!(found(LEASE, "zebra"), []);
        assert_eq!(found("Die Kündigungsfrist beträgt drei Monate.\n", "KÜNDIGUNG"), [(1, 1)]);
    }

    #[test]
    fn scripts_without_spaces() {
        let text = "本契約の期間は二〇三一年六月三十日までとする。\n\n賃料は月額十二万円とする。\n";
        assert_eq!(found(text, "賃料月額"), [(3, 3)]);
        assert_eq!(found(text, "契約期間")[0], (1, 1));
    }

    #[test]
    fn what_holds_no_words_asks_for_nothing() {
        assert!(Query::new(" ?! — ").is_none());
        assert_eq!(Query::new(&"a b c ".repeat(1_000)).unwrap().terms.len(), 3);
        let many: String = (0..1_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(Query::new(&many).unwrap().terms.len(), MAX_TERMS);
    }

    // Invariant 9: a document of one endless line, or of nothing but blank lines
    #[test]
    fn passages_are_bounded() {
        let reading = Reading::new(Arc::from("word ".repeat(200_000)), Vec::new(), 2_000);
        let all = 1..reading.line_count() + 1;
        let found = find(&reading, std::slice::from_ref(&all), &Query::new("word").unwrap());
        assert!(found.len() >= 500 && found.iter().all(|passage| passage.first == passage.last));
        assert_eq!(
            super::passages(&Reading::new(Arc::from("\n".repeat(9)), Vec::new(), 9), 1..10).count(),
            0
        );
    }
}
