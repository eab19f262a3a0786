//! The codes of number formats: what stands around a number, and how its digits are written.
//!
//! A format adds and never hides. Currency, units, percent, thousands and decimals are shown as the code says, but
//! where its decimals would change the value, all digits of the value are shown: a model computes with what it reads.
//! A negative number has a minus, whatever the code makes of it, and no sign of another section.

use super::digits::plain;

/// Part of a number that is lost in computing with fifteen digits, and of the last decimal that is shown.
const NOISE: f64 = 1e-12;
const NOISE_OF_DECIMAL: f64 = 1e-9;

/// Decimals of hundredths that are shown at most, where the format has no more.
const PERCENT_DECIMALS: usize = 4;

/// Most decimals and digits that a format asks for.
const MAX_DIGITS: usize = 30;

/// Longest code that adds to texts, and its places for one. Excel takes codes of 255 characters.
const MAX_TEXT_CODE: usize = 1_000;
const MAX_PLACES: usize = 10;

/// Signs and arrows that say on which side of zero a number is.
const SIGNS: [char; 16] =
    ['+', '-', '\u{2212}', '\u{2013}', '▲', '▼', '△', '▽', '↑', '↓', '↗', '↘', '⬆', '⬇', '⇧', '⇩'];

/// Those that say it is negative. The minus of ours stands in front.
const MINUSES: [char; 4] = ['+', '-', '\u{2212}', '\u{2013}'];

/// The way in which numbers are written. The default is how a cell without a format shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pattern {
    before: String,
    after: String,
    /// Digits before the point at least.
    digits: usize,
    /// Digits behind the point at least.
    decimals: usize,
    /// True if thousands are set apart.
    grouped: bool,
    /// The number of hundreds that the number is multiplied by: one for each sign of percent.
    percents: usize,
    /// The number of thousands that the number is divided by.
    thousands: usize,
    /// True if there is a place for digits.
    has_digits: bool,
    /// The forms of negative numbers and of zero, if they are not like others.
    negative: Option<Box<Self>>,
    zero: Option<Box<Self>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Before,
    Integer,
    Decimals,
    After,
}

impl Pattern {
    /// The notation of a number that a cell shows like this, in the notation of whatever country.
    pub(crate) fn of_shown(text: &str, number: f64, percent: bool) -> Self {
        let after = if percent { "%".to_owned() } else { String::new() };
        let percents = usize::from(percent);
        Self::read_shown(text, number, percent).unwrap_or(Self { percents, after, ..Self::default() })
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
            // Before anything is written: a number of many thousand decimals cannot be.
            *decimals <= MAX_DIGITS && {
                let all = format!("{value:.decimals$}").replace('.', "");
                all.trim_start_matches('0') == digits.trim_start_matches('0')
            }
        })?;
        let marks = shown.chars().filter(|c| is_mark(*c)).count();
        let bare = |side: &str| side.replace(['-', '\u{2212}', '(', ')'], "");
        Some(Self {
            before: bare(text.get(..start)?).trim_start().to_owned(),
            after: bare(text.get(end..)?).trim_end().to_owned(),
            decimals,
            grouped: marks > usize::from(decimals > 0),
            percents: usize::from(percent),
            has_digits: true,
            ..Self::default()
        })
    }

    /// The meaning of a code: of most numbers in its first section, of negative ones in its second, and of zero in
    /// its third. Fractions, powers of ten and digits with something between them are shown as plain numbers.
    pub(super) fn of_code(code: &str) -> Self {
        let [first, second, third, _] = sections(code);
        let Some(mut pattern) = Self::read(first) else { return Self::default() };
        let unsigned = pattern.clone().without(&SIGNS);
        // With conditions, sections are for other numbers than these, and a sign may be that of the other side.
        if ["[<", "[>", "[="].iter().any(|condition| code.contains(condition)) {
            return unsigned;
        }
        let negative = match Self::read(second) {
            Some(negative) => negative.without_parentheses().without(&MINUSES),
            None => unsigned.clone(),
        };
        let zero = match Self::read(third).map(Self::without_parentheses) {
            // Often it has no digits but a dash in their place.
            Some(zero) => {
                let Self { before, after, .. } = zero.without(&MINUSES);
                Self { before, after, ..unsigned }
            }
            None => unsigned,
        };
        pattern.negative = (negative != pattern).then(|| Box::new(negative));
        pattern.zero = (zero != pattern).then(|| Box::new(zero));
        pattern
    }

    /// The same without these signs, unless they are part of a word.
    fn without(mut self, signs: &[char]) -> Self {
        let strip = |side: &str| {
            let mut last = ' ';
            side.chars()
                .filter(|c| {
                    let in_word = last.is_alphanumeric();
                    last = *c;
                    in_word || !signs.contains(c)
                })
                .collect::<String>()
        };
        self.before = strip(&self.before).trim_start().to_owned();
        self.after = strip(&self.after).trim_end().to_owned();
        self
    }

    /// The same without parentheses around the number, which stand for a minus.
    fn without_parentheses(mut self) -> Self {
        if self.before.contains('(') && self.after.contains(')') {
            self.before = self.before.replacen('(', "", 1);
            self.after = self.after.replacen(')', "", 1);
        }
        self
    }

    fn read(code: &str) -> Option<Self> {
        let mut pattern = Self::default();
        let (mut place, mut commas) = (Place::Before, 0_usize);
        let mut characters = code.chars().peekable();
        while let Some(c) = characters.next() {
            let mut literal = String::new();
            match c {
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
                'G' | 'g'
                    if characters.clone().take(6).collect::<String>().eq_ignore_ascii_case("eneral") =>
                {
                    characters.by_ref().take(6).for_each(drop);
                    place = Place::After;
                }
                c => self::literal(c, &mut characters, &mut literal),
            }
            pattern.percents += usize::from(c == '%');
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
        let section = match number {
            number if number < 0.0 => self.negative.as_deref(),
            0.0 => self.zero.as_deref(),
            _ => None,
        };
        section.unwrap_or(self).write(number)
    }

    fn write(&self, number: f64) -> String {
        let thousands = 1000_f64.powi(i32::try_from(self.thousands).unwrap_or_default());
        let hundreds = 100_f64.powi(i32::try_from(self.percents).unwrap_or(i32::MAX));
        let value = number.abs() * hundreds / thousands;
        if !value.is_finite() {
            // There is no such number of hundredths.
            return plain(number);
        }
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
        if !self.has_digits && self.percents == 0 || exact.contains('e') && value >= 1.0 {
            return exact;
        }
        let shown = format!("{value:.*}", self.decimals);
        let hidden = shown.parse().map_or(f64::INFINITY, |shown: f64| (value - shown).abs());
        let decimal = 0.1_f64.powi(i32::try_from(self.decimals).unwrap_or_default());
        if hidden <= value * NOISE || hidden < decimal * NOISE_OF_DECIMAL {
            return shown;
        }
        if self.percents == 0 {
            return exact;
        }
        let more = format!("{value:.*}", self.decimals.max(PERCENT_DECIMALS));
        let least = more.len() - (self.decimals.max(PERCENT_DECIMALS) - self.decimals);
        let kept = more.trim_end_matches('0').len().max(least);
        more.get(..kept).unwrap_or_default().trim_end_matches('.').to_owned()
    }
}

/// The words of a code between which a text stands, by the last section that has a place for one.
/// `None` if it adds nothing.
pub(super) fn around_text(code: &str) -> Option<Vec<String>> {
    if !code.contains('@') || code.len() > MAX_TEXT_CODE {
        return None;
    }
    let pieces = sections(code).into_iter().rev().map(pieces).find(|pieces| pieces.len() > 1)?;
    let adds = pieces.len() <= MAX_PLACES && pieces.iter().any(|piece| !piece.trim().is_empty());
    adds.then_some(pieces)
}

/// The words of a section before, between and behind its places for texts.
fn pieces(section: &str) -> Vec<String> {
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    let mut characters = section.chars();
    while let Some(c) = characters.next() {
        match c {
            '@' => pieces.push(std::mem::take(&mut piece)),
            _ => literal(c, &mut characters, &mut piece),
        }
    }
    pieces.push(piece);
    pieces
}

/// Adds what a character of a code shows that is no place for a number or a text.
fn literal(c: char, rest: &mut impl Iterator<Item = char>, into: &mut String) {
    match c {
        '"' => into.extend(rest.take_while(|c| *c != '"')),
        '\\' => into.extend(rest.next()),
        '_' => {
            rest.next();
            into.push(' ');
        }
        '*' => {
            rest.next();
        }
        '[' => {
            let inside: String = rest.take_while(|c| *c != ']').collect();
            // A currency, with the number of a language behind it.
            into.extend(inside.strip_prefix('$').and_then(|currency| currency.split('-').next()));
        }
        c => into.push(c),
    }
}

/// The four sections of a code, empty where there are none.
fn sections(code: &str) -> [&str; 4] {
    let mut found = [""; 4];
    let mut rest = code;
    for section in &mut found {
        let mut characters = rest.char_indices();
        let mut end = None;
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => _ = characters.find(|(_, c)| *c == '"'),
                '[' => _ = characters.find(|(_, c)| *c == ']'),
                '\\' | '_' | '*' => _ = characters.next(),
                ';' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        (*section, rest) =
            end.and_then(|at| Some((rest.get(..at)?, rest.get(at + 1..)?))).unwrap_or((rest, ""));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Pattern, around_text};

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
    fn words_around_texts_are_bounded() {
        assert_eq!(around_text("@\" kg\"").unwrap(), ["", " kg"]);
        assert_eq!(around_text("0;0;0;[$€-407]\\@@*-_)").unwrap(), ["€@", " "]);
        for code in ["@", "0", "\"@\"", "\\@", &"@-".repeat(50), &format!("@{}", "x".repeat(5_000))] {
            assert_eq!(around_text(code), None, "{code}");
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

    #[test]
    fn numbers_take_the_signs_and_words_of_their_own_section() {
        for (code, number, expected) in [
            ("+0.0%;-0.0%;0.0%", 0.125, "+12.5%"),
            ("+0.0%;-0.0%;0.0%", -0.125, "-12.5%"),
            ("+0.0%;-0.0%;0.0%", 0.0, "0.0%"),
            ("\"▲ \"0.0%;\"▼ \"0.0%", 0.125, "▲ 12.5%"),
            ("\"▲ \"0.0%;\"▼ \"0.0%", -0.125, "-▼ 12.5%"),
            ("\"▲ \"0.0%;\"▼ \"0.0%", 0.0, "0.0%"),
            ("-0;0", -5.0, "-5"),
            ("0\" Cr\";(0\" Dr\")", -5.0, "-5 Dr"),
            ("0\" Cr\";(0\" Dr\");\"nil \"0", 0.0, "nil 0"),
            // A section without digits says nothing about others.
            ("+0;\"less\";\"none\"", -5.0, "-5"),
            ("+0;\"less\";\"none\"", 0.0, "0"),
            ("+$0.00", -5.0, "-$5.00"),
            ("\"A-\"0", -5.0, "-A-5"),
            ("\"a;b \"0;\"c;d \"0", -5.0, "-c;d 5"),
            // The value is shown in the scale of its section.
            ("0;0%", -0.5, "-50%"),
            // Sections with conditions are for whatever they say.
            ("[<0]\"▼ \"0;\"▲ \"0", 5.0, "5"),
        ] {
            assert_eq!(show(code, number), expected, "{code} {number}");
        }
    }

    #[test]
    fn every_percent_sign_is_a_hundred_times() {
        assert_eq!(show("0%%", 0.5), "5000%%");
        assert_eq!(show(&format!("0{}", "%".repeat(1_000)), 0.5), "0.5");
    }

    #[test]
    fn numbers_too_large_for_a_percentage_are_shown_plain() {
        assert_eq!(show("0%", 1e307), "1e307");
        assert_eq!(show("0%", -1e307), "-1e307");
        assert_eq!(Pattern::of_shown("1 %", 1e307, true).show(1e307), "1e307");
    }

    #[test]
    fn a_number_shown_with_endless_decimals_is_shown_plain() {
        let shown = format!("0,{}", "5".repeat(70_000));
        assert_eq!(Pattern::of_shown(&shown, 0.5, false).show(0.5), "0.5");
    }
}
