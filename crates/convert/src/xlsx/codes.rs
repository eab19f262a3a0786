//! The codes of number formats: what stands around a number, and how its digits are written.
//!
//! A format adds and never hides. Currency, units, percent, thousands and decimals are shown as the code says, but
//! where its decimals would change the value, all digits of the value are shown: a model computes with what it reads.
//! A negative number has a minus, whatever the code makes of it.

use super::numbers::plain;

/// Part of a number that is lost in computing with fifteen digits, and of the last decimal that is shown.
const NOISE: f64 = 1e-12;
const NOISE_OF_DECIMAL: f64 = 1e-9;

/// Decimals of hundredths that are shown at most, where the format has no more.
const PERCENT_DECIMALS: usize = 4;

/// Most decimals and digits that a format asks for.
const MAX_DIGITS: usize = 30;

/// How numbers are written. The default is how a cell without a format shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pattern {
    before: String,
    after: String,
    /// Digits before the point at least.
    digits: usize,
    /// Digits behind the point at least.
    decimals: usize,
    /// Whether thousands are set apart.
    grouped: bool,
    percent: bool,
    /// How many thousands the number is divided by.
    thousands: usize,
    /// Whether there is a place for digits.
    has_digits: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Before,
    Integer,
    Decimals,
    After,
}

impl Pattern {
    /// How a number is written that a cell shows like this, in the notation of whatever country.
    pub(crate) fn of_shown(text: &str, number: f64, percent: bool) -> Self {
        let after = if percent { "%".to_owned() } else { String::new() };
        Self::read_shown(text, number, percent).unwrap_or(Self { percent, after, ..Self::default() })
    }

    fn read_shown(text: &str, number: f64, percent: bool) -> Option<Self> {
        let is_digit = |c: char| c.is_ascii_digit();
        let is_mark = |c: char| matches!(c, '.' | ',' | '\'' | '\u{2019}' | ' ' | '\u{a0}' | '\u{202f}');
        let (start, end) = (text.find(is_digit)?, text.rfind(is_digit)? + 1);
        let shown = text.get(start..end)?;
        shown.chars().all(|c| is_digit(c) || is_mark(c)).then_some(())?;
        let digits: String = shown.chars().filter(|c| is_digit(*c)).collect();
        let value = number.abs() * if percent { 100.0 } else { 1.0 };
        // The last mark sets decimals apart, or thousands.
        let behind = shown.rfind(['.', ',']).map(|mark| shown.len() - mark - 1);
        let decimals = behind.into_iter().chain([0]).find(|decimals| {
            let all = format!("{value:.decimals$}").replace('.', "");
            *decimals <= MAX_DIGITS && all.trim_start_matches('0') == digits.trim_start_matches('0')
        })?;
        let marks = shown.chars().filter(|c| is_mark(*c)).count();
        let bare = |side: &str| side.replace(['-', '\u{2212}', '(', ')'], "");
        Some(Self {
            before: bare(text.get(..start)?).trim_start().to_owned(),
            after: bare(text.get(end..)?).trim_end().to_owned(),
            decimals,
            grouped: marks > usize::from(decimals > 0),
            percent,
            has_digits: true,
            ..Self::default()
        })
    }

    /// What the first section of a code says. Fractions, powers of ten and digits with something between them are
    /// shown as plain numbers.
    pub(super) fn of_code(code: &str) -> Self {
        Self::read(code).unwrap_or_default()
    }

    fn read(code: &str) -> Option<Self> {
        let mut pattern = Self::default();
        let (mut place, mut commas) = (Place::Before, 0_usize);
        let mut characters = code.chars().peekable();
        while let Some(c) = characters.next() {
            let mut literal = String::new();
            match c {
                ';' => break,
                '"' => literal.extend(characters.by_ref().take_while(|c| *c != '"')),
                '\\' => literal.extend(characters.next()),
                '_' => {
                    characters.next();
                    literal.push(' ');
                }
                '*' => {
                    characters.next();
                }
                '[' => {
                    let inside: String = characters.by_ref().take_while(|c| *c != ']').collect();
                    // A currency, with the number of a language behind it.
                    literal.extend(inside.strip_prefix('$').and_then(|currency| currency.split('-').next()));
                }
                '0' | '#' | '?' => {
                    if place == Place::After {
                        // Thousands set apart by a space.
                        (pattern.decimals == 0
                            && pattern.after.trim().is_empty()
                            && !pattern.after.is_empty())
                        .then(|| pattern.after.clear())?;
                        place = Place::Integer;
                        commas = 1;
                    }
                    if place != Place::Decimals {
                        place = Place::Integer;
                        pattern.grouped |= commas > 0;
                    }
                    commas = 0;
                    pattern.has_digits = true;
                    let count =
                        if place == Place::Decimals { &mut pattern.decimals } else { &mut pattern.digits };
                    *count = (*count + usize::from(c == '0')).min(MAX_DIGITS);
                }
                ',' if matches!(place, Place::Integer | Place::Decimals) => commas += 1,
                '.' if matches!(place, Place::Before | Place::Integer) => {
                    pattern.thousands += std::mem::take(&mut commas);
                    place = Place::Decimals;
                }
                'E' | 'e' if matches!(characters.peek(), Some('+' | '-')) => return None,
                '/' if place != Place::Before => return None,
                '@' => return None,
                'G' | 'g' => {
                    // The word General.
                    characters.by_ref().take(6).for_each(drop);
                    place = Place::After;
                }
                c => literal.push(c),
            }
            pattern.percent |= c == '%';
            if literal.is_empty() {
                continue;
            }
            if matches!(place, Place::Integer | Place::Decimals) {
                pattern.thousands += std::mem::take(&mut commas);
                place = Place::After;
            }
            let side = if place == Place::Before { &mut pattern.before } else { &mut pattern.after };
            side.push_str(&literal);
        }
        pattern.thousands = (pattern.thousands + commas).min(MAX_DIGITS);
        // Words alone stand for a number in a section of its own.
        (place != Place::Before).then_some(())?;
        pattern.before = pattern.before.trim_start().to_owned();
        pattern.after.truncate(pattern.after.trim_end().len());
        Some(pattern)
    }

    /// A number as it is written.
    pub(crate) fn show(&self, number: f64) -> String {
        if !number.is_finite() {
            return plain(number);
        }
        let thousands = 1000_f64.powi(i32::try_from(self.thousands).unwrap_or_default());
        let value = number.abs() * if self.percent { 100.0 } else { 1.0 } / thousands;
        let mut digits = self.digits_of(value);
        let (whole, decimals) = digits.split_at(digits.find(['.', 'e']).unwrap_or(digits.len()));
        let mut whole = format!("{whole:0>width$}", width = self.digits);
        if self.grouped && !decimals.starts_with('e') {
            let mut at = whole.len();
            while at > 3 {
                at -= 3;
                whole.insert(at, ',');
            }
        }
        digits = whole + decimals;
        let is_zero = !digits.contains(|c: char| ('1'..='9').contains(&c));
        let sign = if number < 0.0 && !is_zero { "-" } else { "" };
        format!("{sign}{}{digits}{}", self.before, self.after)
    }

    fn digits_of(&self, value: f64) -> String {
        let exact = plain(value);
        if !self.has_digits && !self.percent || exact.contains('e') && value >= 1.0 {
            return exact;
        }
        let shown = format!("{value:.*}", self.decimals);
        let hidden = shown.parse().map_or(f64::INFINITY, |shown: f64| (value - shown).abs());
        let decimal = 0.1_f64.powi(i32::try_from(self.decimals).unwrap_or_default());
        if hidden <= value * NOISE || hidden < decimal * NOISE_OF_DECIMAL {
            return shown;
        }
        if !self.percent {
            return exact;
        }
        let more = format!("{value:.*}", self.decimals.max(PERCENT_DECIMALS));
        let least = more.len() - (self.decimals.max(PERCENT_DECIMALS) - self.decimals);
        let kept = more.trim_end_matches('0').len().max(least);
        more.get(..kept).unwrap_or_default().trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[track_caller]
    fn show(code: &str, number: f64) -> String {
        Pattern::of_code(code).show(number)
    }

    #[test]
    fn currency_units_and_decimals_are_shown() {
        for (code, number, expected) in [
            ("0.00", 741.200_000_000_001, "741.20"),
            ("0.00", 741.2, "741.20"),
            ("\"€\"#,##0.00", 741.2, "€741.20"),
            ("#,##0.00\\ \"€\"", 1_234_567.5, "1,234,567.50 €"),
            (
                "_-* #,##0.00\\ [$€-407]_-;\\-* #,##0.00\\ [$€-407]_-;_-* \"-\"??\\ [$€-407]_-;_-@_-",
                -12.5,
                "-12.50 €",
            ),
            ("_($* #,##0.00_);_($* (#,##0.00);_($* \"-\"??_);_(@_)", 0.0, "$0.00"),
            ("$#,##0_);[Red]($#,##0)", -4950.0, "-$4,950"),
            ("0.00;[Red]0.00", -1.5, "-1.50"),
            ("#,##0", 4950.0, "4,950"),
            ("# ##0", 4_950_000.0, "4,950,000"),
            ("#,##0", 999.0, "999"),
            ("00000", 1234.0, "01234"),
            ("0\" kg\"", 12.0, "12 kg"),
            ("General\" m²\"", 12.25, "12.25 m²"),
            ("\"day\" 0", 3.0, "day 3"),
            ("0.0%", 0.125, "12.5%"),
            ("0.00%", 0.5, "50.00%"),
            ("0%", 1.0, "100%"),
            ("#.##", 0.5, "0.5"),
            ("0.0,,\"M\"", 1_200_000.0, "1.2M"),
            ("#,##0,", 5_432_000.0, "5,432"),
            ("0.00", 5.551_115_123_125_783e-17, "0.00"),
            ("0.00", -1e-15, "0.00"),
            ("@", 7.5, "7.5"),
            ("General", 1e25, "1e25"),
        ] {
            assert_eq!(show(code, number), expected, "{code} {number}");
        }
    }

    #[test]
    fn formats_hide_no_digits() {
        for (code, number, expected) in [
            ("0.00", 4.333_333_333_333_33, "4.33333333333333"),
            ("#,##0", 1234.5, "1,234.5"),
            ("0", 0.4, "0.4"),
            ("0", -0.4, "-0.4"),
            ("0%", 0.613_564_9, "61.3565%"),
            ("0.0,,\"M\"", 1_234_567.0, "1.234567M"),
            ("\"yes\";\"yes\";\"no\"", 1.0, "1"),
            (";;;", 7.0, "7"),
            ("0.00E+00", 12345.678, "12345.678"),
            ("# ?/?", 0.5, "0.5"),
            ("000\\-00\\-0000", 123_456_789.0, "123456789"),
            ("0.00", 1e-10, "1e-10"),
            ("0.00", 1e22, "1e22"),
        ] {
            assert_eq!(show(code, number), expected, "{code} {number}");
        }
    }
}
