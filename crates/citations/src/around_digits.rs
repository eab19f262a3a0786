//! The words and signs around digits: units, scales, and words such as "about".

use crate::units::{self, Unit};

/// The maximum number of characters of a word that is looked up; longer ones are no units.
const MAX_WORD: usize = 16;

/// The characters of a kind that a text begins with, so many as a unit may have: scripts without blanks write on and on.
pub(crate) fn run(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let end = text.char_indices().take(MAX_WORD).take_while(|(_, char)| is_part(*char)).last();
    text.get(..end.map_or(0, |(at, char)| at + char.len_utf8())).unwrap_or_default()
}

pub(crate) fn letters_are_scale_and_unit(letters: &str) -> bool {
    let lower = letters.to_lowercase();
    let mut splits = lower.char_indices().skip(1).map(|(at, _)| lower.split_at(at));
    splits.any(|(scale, unit)| units::scale(scale).is_some() && units::unit(unit).is_some())
}

const ABOUT: [&str; 16] = [
    "about",
    "around",
    "approximately",
    "approx.",
    "roughly",
    "nearly",
    "almost",
    "circa",
    "ca.",
    "rund",
    "etwa",
    "ungefähr",
    "knapp",
    "environ",
    "~",
    "≈",
];

pub(crate) fn is_about(before: &str) -> bool {
    let head = before.trim_end_matches(|char: char| char.is_whitespace() || matches!(char, '€' | '$' | '£'));
    let head = ["EUR", "USD", "GBP", "CHF"]
        .iter()
        .find_map(|code| head.strip_suffix(code))
        .unwrap_or(head)
        .trim_end();
    let tail = head
        .get(head.floor_char_boundary(head.len().saturating_sub(16))..)
        .unwrap_or_default()
        .to_lowercase();
    ABOUT.iter().any(|word| tail.ends_with(word))
}

/// `EUR 900`, `€900`, `TEUR 5`: the unit, its zeros, and where it begins.
pub(crate) fn unit_before(before: &str, from: usize) -> Option<(Option<Unit>, u32, usize)> {
    let head = before.trim_end_matches(['-', '−', '+']);
    let head = head.trim_end_matches([' ', '\u{a0}', '\u{202f}', '(']);
    // A blank or a bracket may stand between, a line may not.
    if before.len() - head.len() > 6 {
        return None;
    }
    let start = head
        .trim_end_matches(|char: char| char.is_alphabetic() || matches!(char, '€' | '$' | '£' | '¥' | '₹'))
        .len();
    let word = head.get(start..)?.to_lowercase();
    // The end of a name, such as that of the column `net_eur`, is no unit of the figure behind it.
    if word.is_empty() || head.get(..start)?.ends_with('_') {
        return None;
    }
    if let Some((unit, zeros)) = units::scaled_currency(&word) {
        return Some((Some(unit), zeros, from + start));
    }
    let unit = units::unit(&word).filter(|unit| units::is_currency(unit))?;
    Some((Some(unit), 0, from + start))
}

/// `1.2 Mio. €`, `5kg`, `20-year`: the zeros, the unit, and where they end.
pub(crate) fn words_behind(text: &str, end: usize, known: Option<Unit>) -> (u32, Option<Unit>, usize) {
    let mut zeros = 0;
    let (mut at, mut stop) = (end, end);
    for _ in 0..2 {
        let rest = text.get(at..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches([' ', '\u{a0}', '\u{202f}', '\u{2009}']).len();
        let hyphen = usize::from(blank == 0 && rest.starts_with('-'));
        if blank > 4 {
            break;
        }
        let rest = rest.get(blank + hyphen..).unwrap_or_default();
        let is_part = |char: char| {
            char.is_alphabetic() || matches!(char, '%' | '€' | '$' | '£' | '¥' | '₹' | '°' | '²' | '³' | '‰')
        };
        let word = run(rest, is_part);
        let len = word.len();
        if word.is_empty() {
            break;
        }
        let lower = word.to_lowercase();
        let attached = blank == 0 && hyphen == 0;
        let behind = rest.get(len..).unwrap_or_default();
        let has_currency = known.is_some_and(units::is_currency) || next_is_currency(behind);
        // One letter is a scale where it stands with money, or is written large.
        let scale = match word {
            "m" | "b" if has_currency => Some(if word == "m" { 6 } else { 9 }),
            "M" if attached || has_currency => Some(6),
            "B" if attached || has_currency => Some(9),
            "mm" if !has_currency => None,
            _ => units::scale(&lower).filter(|_| lower != "k" || attached || has_currency),
        };
        if let Some(scale) = scale.filter(|_| zeros == 0) {
            zeros = scale;
            at += blank + hyphen + len;
            stop = at;
            // `Mio.`
            let dot = behind.starts_with('.') && matches!(lower.as_str(), "mio" | "mrd" | "tsd" | "bio");
            at += usize::from(dot);
            continue;
        }
        if let Some((unit, scale)) = units::scaled_currency(&lower).filter(|_| known.is_none()) {
            return (zeros + scale, Some(unit), at + blank + hyphen + len);
        }
        // `5kEUR`
        if attached && units::unit(&lower).is_none() && letters_are_scale_and_unit(word) {
            let split = lower.char_indices().skip(1).find_map(|(at, _)| {
                let (scale, unit) = lower.split_at(at);
                Some((units::scale(scale)?, units::unit(unit)?))
            });
            if let Some((scale, unit)) = split {
                return (zeros + scale, Some(unit), at + blank + len);
            }
        }
        let two_words = lower == "per"
            && behind.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("cent"));
        if two_words {
            return (zeros, Some("%"), at + blank + len + (behind.len() - behind.trim_start().len()) + 4);
        }
        if known.is_none()
            && let Some(unit) =
                units::unit(&lower).filter(|_| lower != "s" && lower != "t" || attached || blank == 1)
        {
            return (zeros, Some(unit), at + blank + hyphen + len);
        }
        break;
    }
    (zeros, None, stop)
}

fn next_is_currency(behind: &str) -> bool {
    let rest = behind.trim_start_matches([' ', '\u{a0}', '\u{202f}', '.']);
    let word = run(rest, |char| char.is_alphabetic() || matches!(char, '€' | '$' | '£' | '¥'));
    units::unit(&word.to_lowercase()).is_some_and(units::is_currency)
}
