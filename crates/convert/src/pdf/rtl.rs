//! Scripts that are written from right to left.
//!
//! Pages hold their characters in the order in which they stand from left to right. Runs of such a script are
//! turned around, numbers and words of other scripts among them stay as they are.

use std::borrow::Cow;
use std::ops::Range;

/// A word of the other direction with no more letters is the unit of a number beside it.
const MAX_UNIT: usize = 3;

fn is_backward(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}') && !is_number(c)
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '\u{0660}'..='\u{0669}' | '\u{06F0}'..='\u{06F9}')
}

fn is_forward(c: char) -> bool {
    c.is_alphanumeric() && !is_backward(c)
}

/// True if most letters of a line belong to such scripts.
pub(super) fn reads_backwards<'t>(texts: impl Iterator<Item = &'t str>) -> bool {
    let (mut backward, mut letters) = (0_usize, 0_usize);
    for c in texts.flat_map(str::chars).filter(|c| c.is_alphabetic()) {
        letters += 1;
        backward += usize::from(is_backward(c));
    }
    backward * 2 > letters
}

/// The stretches of texts in a line that are read against it. The texts are given as the line reads.
///
/// Numbers belong to the words on both sides of them. Right before words that are read against a line from right to
/// left, `Office 365` and `365 Office` look alike: the number is taken as the end of the words, and as their beginning
/// if they are only a unit, as in `12.50 EUR`.
pub(super) fn against<'t>(texts: impl Iterator<Item = &'t str>, backwards: bool) -> Vec<Range<usize>> {
    let mut found: Vec<(Range<usize>, bool)> = Vec::new();
    let (mut open, mut number) = (false, false);
    for (at, text) in texts.enumerate() {
        let reads_back = text.chars().any(is_backward);
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        if !reads_back && letters == 0 {
            number = !open && text.chars().any(is_number);
            continue;
        }
        let is_against = reads_back != backwards;
        match found.last_mut().filter(|_| open) {
            Some((stretch, is_unit)) if is_against => {
                (stretch.end, *is_unit) = (at + 1, false);
            }
            _ if is_against => {
                let from = at - usize::from(number && backwards);
                found.push((from..at + 1, letters <= MAX_UNIT));
            }
            _ => {}
        }
        (open, number) = (is_against, false);
    }
    found.retain(|(stretch, is_unit)| stretch.len() > 1 && !is_unit);
    found.into_iter().map(|(stretch, _)| stretch).collect()
}

/// Turns a run from the order in which its characters stand to the one in which they are read, and a text back.
pub(super) fn logical(run: &str) -> Cow<'_, str> {
    if !run.chars().any(is_backward) {
        return Cow::Borrowed(run);
    }
    let turned: Vec<char> = run.chars().rev().map(mirrored).collect();
    let mut out = String::with_capacity(run.len());
    let mut rest = turned.as_slice();
    while let Some(&c) = rest.first() {
        if !is_forward(c) {
            out.push(c);
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        // A number or a foreign word, with the signs inside it, is turned back.
        let within = |c: &char| is_forward(*c) || matches!(c, '.' | ',' | ':' | '/' | '-' | '%' | '\'');
        let longest = rest.iter().take_while(|c| within(c)).count();
        let (word, _) = rest.split_at(longest);
        let len = word.iter().rposition(|c| is_forward(*c)).map_or(1, |last| last + 1);
        let (word, after) = rest.split_at(len);
        out.extend(word.iter().rev());
        rest = after;
    }
    Cow::Owned(out)
}

fn mirrored(c: char) -> char {
    match c {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '<' => '>',
        '>' => '<',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::{Range, against, logical, reads_backwards};

    #[test]
    fn backward_runs_are_turned_and_numbers_stay() {
        assert_eq!(logical("Total 12.50"), "Total 12.50");
        assert_eq!(logical("םולש"), "שלום");
        assert_eq!(logical("12.50:כהס"), "סהכ:12.50");
        assert_eq!(logical("(abc) םולש"), "שלום (abc)");
        for text in ["שלום עולם", "סהכ: 12.50 EUR", "שלום (abc), -5%"] {
            assert_eq!(logical(&logical(text)), text);
        }
    }

    #[test]
    fn stretches_of_the_other_direction_are_found() {
        let of = |texts: &[&str], backwards| against(texts.iter().copied(), backwards);
        let whole = |from: usize, to: usize| vec![Range { start: from, end: to }];
        assert_eq!(of(&["said", "םלוע", "12", "םולש", "today"], false), whole(1, 4));
        assert_eq!(of(&["12", "םולש", "12", "a", "b"], false), []);
        assert_eq!(of(&["ןוישר", "365", "Office", "Microsoft", "הנשל"], true), whole(1, 4));
        assert_eq!(of(&["ןוישר", "-", "Office", "Microsoft"], true), whole(2, 4));
        assert_eq!(of(&["ןוישר", "365", "Office"], true), whole(1, 3));
        assert_eq!(of(&["םוכס", "1,250.00", "EUR", "דע", "17.5.2026", "3"], true), []);
    }

    #[test]
    fn the_majority_decides_the_direction_of_a_line() {
        assert!(reads_backwards(["םולש", "42"].into_iter()));
        assert!(!reads_backwards(["a long text", "םולש"].into_iter()));
        assert!(!reads_backwards(["42"].into_iter()));
    }
}
