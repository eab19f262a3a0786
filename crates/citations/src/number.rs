//! The figures of a text: digits with sign, scale and unit, in the forms of many countries.

use crate::around_digits::{is_about, unit_before, words_behind};
use crate::dates::{self, Date};
use crate::identifier::identifier;
use crate::number_formats::{Reading, groups, read};
use crate::units::Unit;

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
            .or_else(|| {
                let (start, end) = identifier(text, start, at)?;
                Some(Number { start, end, digits: (start, end), unit: None, kind: Kind::Word })
            })
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

#[cfg(test)]
mod tests {
    use super::{Kind, numbers};
    use crate::number_formats::{ONE, Reading};

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
        assert!(!Reading { value: i128::MIN, step: 1, is_signed: true }.is(i128::MAX));
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
