//! Digits that are part of a word or of an identifier: `INV-2024-17`.

use crate::around_digits::{letters_are_scale_and_unit, run};
use crate::units;

/// The place of an identifier around digits: letters stand directly before them, or behind them without being a unit.
pub(crate) fn identifier(text: &str, digit: usize, from: usize) -> Option<(usize, usize)> {
    let joins = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '/' | '.');
    let before = text.get(from..digit)?;
    let head = before.trim_end_matches(joins).len();
    let prefix = before.get(head..)?;
    let rest = text.get(digit..)?;
    let digits_end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    let suffix = rest.get(digits_end..)?;
    let letters = run(suffix, char::is_alphanumeric);
    let attached = prefix.chars().next_back().is_some_and(char::is_alphabetic);
    let known = |word: &str| {
        let word = word.to_lowercase();
        units::is_unit(&word) || units::scaled_currency(&word).is_some()
    };
    let is_unit_before =
        attached && known(prefix.rsplit(|char: char| !char.is_alphabetic()).next().unwrap_or_default());
    // `Mid-2024`, `May-2024`
    let is_year = digits_end == 4
        && !suffix.starts_with(['-', '/', '_'])
        && prefix.strip_suffix('-').is_some_and(|word| {
            word.chars().all(char::is_alphabetic) && word.chars().any(char::is_lowercase)
        });
    let hyphened = prefix.ends_with(['-', '_', '/'])
        && !is_year
        && prefix.chars().any(char::is_uppercase)
        && !known(prefix.trim_end_matches(['-', '_', '/']));
    let ordinal =
        matches!(letters.to_lowercase().as_str(), "st" | "nd" | "rd" | "th" | "er" | "e" | "º" | "ª");
    let goes_on = letters.chars().next().is_some_and(char::is_alphabetic)
        && !known(letters.trim_end_matches(|char: char| char.is_ascii_digit()))
        && !known(letters)
        && !letters_are_scale_and_unit(letters)
        && !ordinal;
    // CJK writes units behind digits without a blank.
    let is_script = letters.chars().next().is_some_and(|char| !crate::search::is_word(char));
    if !(attached && !is_unit_before || hyphened || goes_on && !is_script) {
        return None;
    }
    if attached && prefix.chars().next_back().is_some_and(|char| !crate::search::is_word(char)) {
        return None;
    }
    let start = from + head;
    let end = rest.find(|char| !joins(char)).map_or(text.len(), |end| digit + end);
    let whole = text.get(start..end)?;
    let end = start + whole.trim_end_matches(['.', '-', '/', '_']).len();
    let start = start + (whole.len() - whole.trim_start_matches(['.', '-', '/', '_']).len());
    (start <= digit && end > digit).then_some((start, end))
}
