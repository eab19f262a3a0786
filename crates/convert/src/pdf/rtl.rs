//! Scripts that are written from right to left.
//!
//! Pages hold their characters in the order in which they stand from left to right. Runs of such a script are
//! turned around, numbers and words of other scripts among them stay as they are.

use std::borrow::Cow;

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

/// The characters of a run in the order in which they are read.
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
    use super::{logical, reads_backwards};

    #[test]
    fn backward_runs_are_turned_and_numbers_stay() {
        assert_eq!(logical("Total 12.50"), "Total 12.50");
        assert_eq!(logical("םולש"), "שלום");
        assert_eq!(logical("12.50:כהס"), "סהכ:12.50");
        assert_eq!(logical("(abc) םולש"), "שלום (abc)");
    }

    #[test]
    fn the_majority_decides_the_direction_of_a_line() {
        assert!(reads_backwards(["םולש", "42"].into_iter()));
        assert!(!reads_backwards(["a long text", "םולש"].into_iter()));
        assert!(!reads_backwards(["42"].into_iter()));
    }
}
