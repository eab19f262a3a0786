//! The figures of a text: digits with sign, scale and unit, in the forms of many countries.

use crate::dates::{self, Date};
use crate::units::{self, Unit};

/// Values are counted in billionths.
pub(crate) const ONE: i128 = 1_000_000_000;
const DECIMALS: usize = 9;
/// The most digits before the decimals; what has more is a name, not a number.
const MAX_DIGITS: usize = 18;
/// The most groups of digits of one figure.
const MAX_GROUPS: usize = 12;

/// A figure of a text.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    /// Where it stands, with sign, scale and unit.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The place of its digits.
    pub(crate) digits: (usize, usize),
    pub(crate) unit: Option<Unit>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// The values that it may have.
    Amount(Vec<Reading>),
    /// The days that it may be.
    Date(Vec<Date>),
    /// Part of a word or of an identifier: `INV-2024-17`.
    Word,
    /// `1.2.3`
    Version,
}

/// One value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// In billionths.
    pub(crate) value: i128,
    /// The value of one in the last digit that is shown.
    pub(crate) step: i128,
    pub(crate) is_signed: bool,
}

impl Number {
    pub(crate) fn readings(&self) -> &[Reading] {
        match &self.kind {
            Kind::Amount(readings) => readings,
            _ => &[],
        }
    }

    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The figures of a text, in order.
pub(crate) fn numbers(text: &str) -> Vec<Number> {
    let bytes = text.as_bytes();
    let mut numbers: Vec<Number> = Vec::new();
    let mut at = 0;
    while let Some(offset) = next_digit(text.get(at..)) {
        let start = at + offset;
        let number = dates::read(text, start, at)
            .map(|(from, end, days)| Number {
                start: from,
                end,
                digits: (from, end),
                unit: None,
                kind: Kind::Date(days),
            })
            .or_else(|| word(text, start, at))
            .unwrap_or_else(|| amount(text, start, at, true));
        at = number.end.max(start + 1);
        while bytes.get(at).is_some_and(u8::is_ascii_digit) && number.digits.1 > at {
            at += 1;
        }
        numbers.push(number);
    }
    numbers
}

fn next_digit(rest: Option<&str>) -> Option<usize> {
    rest?.find(|char: char| char.is_ascii_digit())
}

/// The figures of a row that single blanks part, which may as well be the thousands of one: `412 398 377`. Empty if
/// no such blank stands in it.
pub(crate) fn parts(text: &str, number: &Number) -> Vec<Number> {
    let (from, to) = number.digits;
    let is_row = !matches!(number.kind, Kind::Date(_) | Kind::Word)
        && text.get(from..to).is_some_and(|digits| digits.contains(' '));
    let mut parts: Vec<Number> = Vec::new();
    let mut at = number.start;
    while is_row && at < to {
        let Some(start) = next_digit(text.get(at..to)).map(|offset| at + offset) else { break };
        let part = amount(text, start, at, false);
        at = part.end.max(part.digits.1);
        parts.push(part);
    }
    parts
}

/// An identifier around digits: letters stand directly before them, or behind them without being a unit.
fn word(text: &str, digit: usize, from: usize) -> Option<Number> {
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
    (start <= digit && end > digit).then_some(Number {
        start,
        end,
        digits: (start, end),
        unit: None,
        kind: Kind::Word,
    })
}

fn letters_are_scale_and_unit(letters: &str) -> bool {
    let lower = letters.to_lowercase();
    let mut splits = lower.char_indices().skip(1).map(|(at, _)| lower.split_at(at));
    splits.any(|(scale, unit)| units::scale(scale).is_some() && units::unit(unit).is_some())
}

/// The most characters of a word that is looked up; longer ones are no units.
const MAX_WORD: usize = 16;

/// The characters of a kind that a text begins with, so many as a unit may have: scripts without blanks write on and on.
fn run(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let end = text.char_indices().take(MAX_WORD).take_while(|(_, char)| is_part(*char)).last();
    text.get(..end.map_or(0, |(at, char)| at + char.len_utf8())).unwrap_or_default()
}

/// The digits from `start` on, with what stands around them; with those behind plain blanks, if `joins` says so.
fn amount(text: &str, start: usize, from: usize, joins: bool) -> Number {
    let (groups, end) = groups(text, start, joins);
    let mut readings = read(&groups);
    let is_version = readings.is_empty();
    let before = text.get(from..start).unwrap_or_default();
    let (mut unit, mut zeros, mut begin) = unit_before(before, from).unwrap_or((None, 0, start));
    let mut stop = end;
    let behind = text.get(end..).unwrap_or_default();
    // `(1,234)` is negative in accounts.
    let bracketed = before.ends_with('(') && behind.starts_with(')');
    let sign_at = text.get(from..begin).unwrap_or_default();
    // A dash behind a word, another number or its unit is none.
    let before_sign =
        text.get(..begin).unwrap_or_default().trim_end_matches(['-', '−', '–']).chars().next_back();
    let is_minus = sign_at.ends_with(['-', '−']) && !before_sign.is_some_and(ends_figure)
        || before.ends_with(['-', '−']) && begin < start;
    let is_plus = sign_at.ends_with('+');
    if is_minus && sign_at.ends_with(['-', '−']) || is_plus {
        begin -= sign_at.chars().next_back().map_or(0, char::len_utf8);
    }
    let (scaled, found, behind_end) = words_behind(text, end, unit);
    zeros += scaled;
    if unit.is_none() {
        unit = found;
    }
    stop = stop.max(behind_end);
    let factor = 10_i128.checked_pow(zeros).unwrap_or(1);
    for reading in &mut readings {
        reading.value = reading.value.saturating_mul(factor);
        reading.step = reading.step.saturating_mul(factor);
        if is_minus {
            reading.value = -reading.value;
        }
        reading.is_signed = is_minus || is_plus;
    }
    if is_about(before) {
        readings.iter_mut().for_each(Reading::loosen);
    }
    if bracketed {
        let negative: Vec<Reading> =
            readings.iter().map(|reading| Reading { value: -reading.value, ..*reading }).collect();
        readings.extend(negative);
    }
    let kind = if is_version { Kind::Version } else { Kind::Amount(readings) };
    Number { start: begin, end: stop, digits: (start, end), unit, kind }
}

fn ends_figure(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, ')' | '%' | '‰' | '°' | '€' | '$' | '£' | '¥' | '₹' | '²' | '³')
}

impl Reading {
    /// Zeros at the end of a number that is about right say nothing, up to a tenth of it.
    fn loosen(&mut self) {
        let most = self.value.saturating_abs() / 5;
        while self.value != 0 && self.step < most && self.value % self.step.saturating_mul(10) == 0 {
            self.step = self.step.saturating_mul(10).min(most);
            if self.step == most {
                break;
            }
        }
    }

    /// True if a value is this one, rounded to the digits that are shown.
    pub(crate) fn is(&self, value: i128) -> bool {
        let value =
            if self.is_signed || (value < 0) == (self.value < 0) { value } else { value.saturating_neg() };
        let distance = value.saturating_sub(self.value).unsigned_abs();
        distance.saturating_mul(2) <= self.step.unsigned_abs() && (distance == 0 || self.step > 1)
    }

    /// The number of digits that say something.
    pub(crate) fn significant(&self) -> u32 {
        let mut value = self.value.unsigned_abs();
        while value != 0 && value.is_multiple_of(10) {
            value /= 10;
        }
        value.checked_ilog10().map_or(1, |digits| digits + 1)
    }
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

fn is_about(before: &str) -> bool {
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

/// The digits and what stands between them.
fn groups(text: &str, start: usize, joins: bool) -> (Vec<(char, &str)>, usize) {
    let mut groups: Vec<(char, &str)> = Vec::new();
    let mut at = start;
    let mut separator = '\0';
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let len = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        let group = rest.get(..len).unwrap_or_default();
        groups.push((separator, group));
        at += len;
        let mut behind = text.get(at..).unwrap_or_default().chars();
        let (next, then) = (behind.next(), behind.next());
        let goes_on = groups.len() < MAX_GROUPS && then.is_some_and(|char| char.is_ascii_digit());
        let Some(next) = next.filter(|_| goes_on) else { break };
        let blank = matches!(next, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}');
        let tail = text.get(at + next.len_utf8()..).unwrap_or_default();
        let tail = tail.find(|char: char| !char.is_ascii_digit()).unwrap_or(tail.len());
        let fits = match next {
            _ if blank => {
                (joins || next != ' ')
                    && tail == 3
                    && group.len() <= 3
                    && groups
                        .iter()
                        .skip(1)
                        .all(|(separator, group)| is_blank(*separator) && group.len() == 3)
            }
            '.' | ',' => true,
            '\'' | '’' => tail == 3,
            _ => false,
        };
        if !fits {
            break;
        }
        separator = next;
        at += next.len_utf8();
    }
    (groups, at)
}

fn is_blank(separator: char) -> bool {
    matches!(separator, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// The values of groups of digits; none for versions and the like.
fn read(groups: &[(char, &str)]) -> Vec<Reading> {
    let digits: Vec<&str> = groups.iter().map(|(_, digits)| *digits).collect();
    let mut readings = Vec::new();
    let Some(((_, first), rest)) = groups.split_first() else { return readings };
    let Some(((last_mark, last), middle)) = rest.split_last() else {
        readings.extend(value(first, ""));
        return readings;
    };
    let marks: Vec<char> = rest.iter().map(|(mark, _)| *mark).collect();
    let is_decimal_mark = matches!(last_mark, '.' | ',');
    let inner = digits.get(..digits.len() - 1).unwrap_or_default();
    // The last mark is another one than those before it, which part thousands.
    let decimal = is_decimal_mark
        && (middle.is_empty()
            || !marks.iter().rev().skip(1).any(|mark| mark == last_mark) && thousands(inner));
    // All are one mark.
    let whole = marks.iter().all(|mark| mark == last_mark || is_blank(*mark) && is_blank(*last_mark))
        && thousands(&digits);
    if whole && *first != "0" {
        readings.extend(value(&digits.concat(), ""));
    }
    let is_grouped = !middle.is_empty() || !whole || last.len() == 3;
    if decimal && is_grouped {
        readings.extend(value(&inner.concat(), last));
    }
    readings.dedup();
    readings
}

/// `1|234|567`, and `12|34|567` as India writes it.
fn thousands(groups: &[&str]) -> bool {
    let Some((first, rest)) = groups.split_first() else { return false };
    let Some((last, middle)) = rest.split_last() else { return true };
    (1..=3).contains(&first.len())
        && last.len() == 3
        && (middle.iter().all(|group| group.len() == 3)
            || first.len() <= 2 && middle.iter().all(|group| group.len() == 2))
}

pub(crate) fn value(whole: &str, decimals: &str) -> Option<Reading> {
    let kept = decimals.get(..decimals.len().min(DECIMALS))?;
    if whole.len() > MAX_DIGITS {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let power = u32::try_from(kept.len()).ok()?;
    let step = ONE / 10_i128.pow(power);
    let decimals: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    Some(Reading { value: whole * ONE + decimals * step, step, is_signed: false })
}

/// `EUR 900`, `€900`, `TEUR 5`: the unit, its zeros, and where it begins.
fn unit_before(before: &str, from: usize) -> Option<(Option<Unit>, u32, usize)> {
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
    if word.is_empty() {
        return None;
    }
    if let Some((unit, zeros)) = units::scaled_currency(&word) {
        return Some((Some(unit), zeros, from + start));
    }
    let unit = units::unit(&word).filter(|unit| units::is_currency(unit))?;
    Some((Some(unit), 0, from + start))
}

/// `1.2 Mio. €`, `5kg`, `20-year`: the zeros, the unit, and where they end.
fn words_behind(text: &str, end: usize, known: Option<Unit>) -> (u32, Option<Unit>, usize) {
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

#[cfg(test)]
mod tests {
    use super::{Kind, ONE, numbers};

    fn values(text: &str) -> Vec<i128> {
        let all = numbers(text);
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        all[0].readings().iter().map(|reading| reading.value * 1000 / ONE).collect()
    }

    // Each with its values in thousandths.
    #[test]
    fn forms_of_many_countries() {
        let cases: &[(&str, &[i128])] = &[
            ("900", &[900_000]),
            ("1.234,50", &[1_234_500]),
            ("1,234.50", &[1_234_500]),
            ("1 234,50", &[1_234_500]),
            ("1\u{202f}234,50", &[1_234_500]),
            ("1'234.50", &[1_234_500]),
            ("12,34,567", &[1_234_567_000]),
            ("1.234.567", &[1_234_567_000]),
            ("1.234", &[1_234_000, 1_234]),
            ("1,234", &[1_234_000, 1_234]),
            ("0.125", &[125]),
            ("12,5", &[12_500]),
            ("(1,234.00)", &[1_234_000, -1_234_000]),
            ("-5", &[-5_000]),
            ("−5,5", &[-5_500]),
            ("1.2 million", &[1_200_000_000]),
            ("1,2 Mio. €", &[1_200_000_000]),
            ("EUR 1.2m", &[1_200_000_000]),
            ("20k", &[20_000_000]),
            ("TEUR 5", &[5_000_000]),
            ("3 Mrd. Euro", &[3_000_000_000_000]),
            ("$5 M", &[5_000_000_000]),
            ("EUR 1.2 M", &[1_200_000_000]),
            ("USD 3 B", &[3_000_000_000_000]),
        ];
        for (text, expected) in cases {
            assert_eq!(values(text), *expected, "{text}");
        }
    }

    #[test]
    fn units_stand_before_or_behind() {
        let cases = [
            ("€900", Some("EUR")),
            ("900 €", Some("EUR")),
            ("EUR 900", Some("EUR")),
            ("US$ 5", Some("USD")),
            ("12,5 %", Some("%")),
            ("5 per cent", Some("%")),
            ("a 20-year lease", Some("year")),
            ("80 m²", Some("m²")),
            ("5kg", Some("kg")),
            ("three 12 rooms", None),
            ("1.2 m", Some("m")),
        ];
        for (text, unit) in cases {
            assert_eq!(numbers(text)[0].unit, unit, "{text}");
        }
        assert_eq!(numbers("costs -EUR 5 now")[0].text("costs -EUR 5 now"), "-EUR 5");
    }

    #[test]
    fn a_dash_behind_a_unit_is_no_sign() {
        for text in ["5%-10%", "900 €-1.200 €", "5°-10°", "$5-$10"] {
            let all = numbers(text);
            assert!(all[1].readings().iter().all(|reading| reading.value > 0), "{text}: {all:?}");
        }
        assert!(numbers("at -5 %")[0].readings()[0].value < 0);
    }

    #[test]
    fn about_a_round_number_is_a_tenth_of_it_at_most() {
        let reading = numbers("about 1,000")[0].readings()[0];
        assert!(reading.is(1_100 * ONE) && reading.is(900 * ONE));
        assert!(!reading.is(1_101 * ONE) && !reading.is(501 * ONE));
        assert!(!numbers("about 1,234")[0].readings()[0].is(1_235 * ONE));
        // So far apart that their distance has no number.
        assert!(!super::Reading { value: i128::MIN, step: 1, is_signed: true }.is(i128::MAX));
    }

    #[test]
    fn a_row_of_figures_has_parts() {
        let row = "412 398 377 EUR";
        let parts = super::parts(row, &numbers(row)[0]);
        let said: Vec<&str> = parts.iter().map(|part| part.text(row)).collect();
        assert_eq!(said, ["412", "398", "377 EUR"]);
        assert!(super::parts("1\u{a0}234", &numbers("1\u{a0}234")[0]).is_empty());
    }

    #[test]
    fn names_versions_and_ranges() {
        let kinds: Vec<String> = numbers("INV-2024-17, Q3, 1.2.3, 5-10, Mid-2024, 3rd, 4B2")
            .iter()
            .map(|number| match &number.kind {
                Kind::Word => "word".to_owned(),
                Kind::Version => "version".to_owned(),
                Kind::Date(_) => "date".to_owned(),
                Kind::Amount(readings) => (readings[0].value / ONE).to_string(),
            })
            .collect();
        assert_eq!(kinds, ["word", "word", "version", "5", "10", "2024", "3", "word"]);
    }
}
