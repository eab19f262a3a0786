//! Values in text: dates, amounts, durations and numbers.

use crate::words::{is_stopword, stem};

/// A date as far as a text gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) year: Option<u16>,
    pub(crate) month: Option<u8>,
    pub(crate) day: Option<u8>,
}

impl Day {
    /// True if nothing that both say differs, and they have something in common.
    pub(crate) fn agrees(&self, other: &Day) -> bool {
        fn same<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<bool> {
            Some(a? == b?)
        }
        let parts = [same(self.year, other.year), same(self.month, other.month), same(self.day, other.day)];
        parts.iter().flatten().count() > 0 && parts.iter().flatten().all(|same| *same)
    }

    /// `YYYY-MM-DD`, if it is a whole date.
    pub(crate) fn iso(&self) -> Option<String> {
        Some(format!("{:04}-{:02}-{:02}", self.year?, self.month?, self.day?))
    }
}

/// A piece of text between white space, without the punctuation around it.
fn pieces(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '|' | '(' | ')' | '"' | ';' | '“' | '”'))
        .map(|piece| {
            piece.trim_matches(|c: char| matches!(c, ',' | '.' | ':' | '!' | '?' | '\'' | '*' | '_'))
        })
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// The dates in a text: `2026-03-11`, `11 March 2026`, `March 11, 2026`, `11.03.2026`, `11. März`, `March 2026`,
/// `March`. Of `03/11/2026`, which is read in two ways, only the year counts.
pub(crate) fn dates(text: &str) -> Vec<Day> {
    let split: Vec<&str> = pieces(text);
    // Cells of CSV stand together without white space.
    let pieces: Vec<&str> =
        split.iter().flat_map(|piece| piece.split(',')).filter(|piece| !piece.is_empty()).collect();
    let mut days = Vec::new();
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        at += 1;
        if let Some(day) = numeric_date(piece) {
            days.push(day);
            continue;
        }
        let Some(month) = month(piece) else { continue };
        let before = at.checked_sub(2).and_then(|at| pieces.get(at)).and_then(|text| day_number(text));
        let mut found = Day { month: Some(month), day: before, year: None };
        if found.day.is_none()
            && let Some(day) = pieces.get(at).and_then(|text| day_number(text))
        {
            found.day = Some(day);
            at += 1;
        }
        if let Some(year) = pieces.get(at).and_then(|text| year(text)) {
            found.year = Some(year);
            at += 1;
        }
        // "may" is a verb far more often than a month, unless something beside it makes it a date.
        if piece.eq_ignore_ascii_case("may") && found.day.is_none() && found.year.is_none() && *piece != "May"
        {
            continue;
        }
        days.push(found);
    }
    days
}

fn numeric_date(text: &str) -> Option<Day> {
    let text = text.split_once('T').map_or(text, |(date, _)| date);
    let separator = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '-' | '.' | '/'))?;
    let mut parts = text.split(separator);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    match (separator, third) {
        ('-' | '/', Some(third)) if first.len() == 4 => Some(Day {
            year: Some(year(first)?),
            month: Some(month_number(second)?),
            day: Some(day_number(third)?),
        }),
        ('-', None) if first.len() == 4 && second.len() == 2 => {
            Some(Day { year: Some(year(first)?), month: Some(month_number(second)?), day: None })
        }
        ('.', Some(third)) => Some(Day {
            day: Some(day_number(first)?),
            month: Some(month_number(second)?),
            year: if third.is_empty() { None } else { Some(year(third)?) },
        }),
        ('/', Some(third)) => {
            day_number(first)?;
            day_number(second)?;
            Some(Day { year: Some(year(third)?), month: None, day: None })
        }
        _ => None,
    }
}

fn year(text: &str) -> Option<u16> {
    (text.len() == 4).then(|| text.parse().ok()).flatten().filter(|year| (1900..2200).contains(year))
}

fn month_number(text: &str) -> Option<u8> {
    (text.len() <= 2).then(|| text.parse().ok()).flatten().filter(|month| (1..=12).contains(month))
}

fn day_number(text: &str) -> Option<u8> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '.');
    let ending = text.get(digits.len()..)?;
    if !matches!(ending, "" | "." | "st" | "nd" | "rd" | "th") || digits.len() > 2 {
        return None;
    }
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// The month that a word names, in English or German, whole or short.
fn month(word: &str) -> Option<u8> {
    const MONTHS: [&[&str]; 12] = [
        &["january", "jan", "januar", "jänner"],
        &["february", "feb", "februar"],
        &["march", "mar", "märz"],
        &["april", "apr"],
        &["may", "mai"],
        &["june", "jun", "juni"],
        &["july", "jul", "juli"],
        &["august", "aug"],
        &["september", "sep", "sept"],
        &["october", "oct", "oktober", "okt"],
        &["november", "nov"],
        &["december", "dec", "dezember", "dez"],
    ];
    if !word.chars().all(char::is_alphabetic) {
        return None;
    }
    let word = word.to_lowercase();
    let at = MONTHS.iter().position(|names| names.contains(&word.as_str()))?;
    u8::try_from(at + 1).ok()
}

/// True if a word is the name of a month.
pub(crate) fn is_month(word: &str) -> bool {
    month(word).is_some()
}

/// A decimal number, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// The digits as a whole number.
    units: i128,
    /// The number of them after the point.
    places: u32,
}

impl Decimal {
    /// Reads `64`, `64.00`, `-538.79`, `4,812.36`, `4.812,36`, `4'812.36`. `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (sign, digits) = match text.strip_prefix(['-', '−']) {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.len() > 24 {
            return None;
        }
        // `4,812` and `1.250` are thousands; `0.125` and `4,812.125` are not.
        let point = digits.rfind(['.', ',']).filter(|at| {
            let (whole, rest) = digits.split_at(*at);
            let other = if rest.starts_with('.') { ',' } else { '.' };
            rest.len() != 4 || whole == "0" || whole.contains(other)
        });
        let (whole, fraction) = match point {
            Some(at) => (digits.get(..at)?, digits.get(at + 1..)?),
            None => (digits, ""),
        };
        let mut units: i128 = 0;
        for c in
            whole.chars().filter(|c| !matches!(c, '.' | ',' | '\'' | '’' | '\u{a0}')).chain(fraction.chars())
        {
            units = units.checked_mul(10)?.checked_add(i128::from(c.to_digit(10)?))?;
        }
        Some(Self { units: sign * units, places: u32::try_from(fraction.len()).ok()? })
    }

    /// The sum, with as many places as the more exact of the two.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        let scaled = |number: Self| number.units.checked_mul(10_i128.checked_pow(places - number.places)?);
        Some(Self { units: scaled(self)?.checked_add(scaled(other)?)?, places })
    }

    /// True if it has places after the point, as amounts of money do.
    pub(crate) fn has_places(self) -> bool {
        self.places > 0
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = usize::try_from(self.places).unwrap_or(usize::MAX);
        let digits = format!("{:0>width$}", self.units.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let sign = if self.units < 0 { "-" } else { "" };
        if fraction.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{fraction}") }
    }
}

const CURRENCIES: [&str; 17] = [
    "eur", "euro", "euros", "usd", "gbp", "chf", "jpy", "cny", "cad", "aud", "sek", "nok", "dkk", "pln",
    "dollars", "pounds", "francs",
];

/// True if a word names a currency.
pub(crate) fn is_currency(word: &str) -> bool {
    CURRENCIES.contains(&word.to_lowercase().as_str())
}

/// True if a text holds an amount of money: a number beside a currency, or one with two places.
pub(crate) fn has_amount(text: &str) -> bool {
    let is_number = |piece: &str| Decimal::parse(piece).is_some();
    let mut before_is_currency = false;
    let mut before_is_number = false;
    for piece in pieces(text)
        .into_iter()
        .flat_map(|piece| if has_two_places(piece) { vec![piece] } else { piece.split(',').collect() })
    {
        let bare = piece.trim_matches(['€', '$', '£', '¥']);
        let currency = is_currency(piece) || matches!(piece, "€" | "$" | "£" | "¥");
        let number = is_number(bare) && numeric_date(bare).is_none();
        if number && (bare.len() < piece.len() || before_is_currency || has_two_places(bare)) {
            return true;
        }
        if currency && before_is_number {
            return true;
        }
        (before_is_currency, before_is_number) = (currency, number);
    }
    false
}

fn has_two_places(text: &str) -> bool {
    let point = text.rfind(['.', ',']);
    point.is_some_and(|at| text.len() - at == 3) && Decimal::parse(text).is_some()
}

/// True if a text holds a number, in digits or as a small number word.
pub(crate) fn has_number(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) || pieces(text).iter().any(|word| is_number_word(word))
}

fn is_number_word(word: &str) -> bool {
    const WORDS: [&str; 26] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
        "twenty", "thirty", "sixty", "ninety", "hundred", "zwei", "drei", "vier", "fünf", "sechs", "sieben",
        "acht", "neun", "zehn",
    ];
    WORDS.contains(&word.to_lowercase().as_str())
}

/// True if a text holds a span of time: `30 days`, `five years`, `zwei Wochen`.
pub(crate) fn has_duration(text: &str) -> bool {
    const UNITS: [&str; 14] = [
        "second", "minute", "hour", "day", "week", "month", "year", "tag", "tage", "woche", "monat", "jahr",
        "stunde", "h",
    ];
    let units: Vec<String> = UNITS.iter().map(|unit| stem(unit)).collect();
    let pieces = pieces(text);
    pieces.iter().enumerate().any(|(at, piece)| {
        let is_number = Decimal::parse(piece).is_some() || is_number_word(piece);
        // An adjective may stand between: "ten working days".
        is_number && pieces.iter().skip(at + 1).take(2).any(|next| units.contains(&stem(next)))
    })
}

/// True if a text seems to name somebody: two capitalised words in a row, or one after `by` or a title.
pub(crate) fn has_name(text: &str) -> bool {
    let capital = |word: &&str| {
        word.chars().next().is_some_and(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase)
    };
    let pieces = pieces(text);
    pieces.windows(2).any(|pair| match pair {
        [a, b] => {
            capital(b)
                && (capital(a) && !is_stopword(a)
                    || ["by", "from", "von", "Mr", "Ms", "Mrs", "Dr", "Herr", "Frau"].contains(a))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(year: u16, month: u8, day: u8) -> Day {
        let some = |number: u8| (number > 0).then_some(number);
        Day { year: (year > 0).then_some(year), month: some(month), day: some(day) }
    }

    #[test]
    fn dates_of_all_forms() {
        for (text, expected) in [
            ("2026-03-11,Harbour Cabs", day(2026, 3, 11)),
            ("due on 17 May 2026.", day(2026, 5, 17)),
            ("(March 11th, 2026)", day(2026, 3, 11)),
            ("am 17.05.2026 fällig", day(2026, 5, 17)),
            ("17. Mai 2026", day(2026, 5, 17)),
            ("in March?", day(0, 3, 0)),
            ("Due date | 3 Sept", day(0, 9, 3)),
            ("2026-03", day(2026, 3, 0)),
            ("at 2026-03-11T09:00:00Z", day(2026, 3, 11)),
            ("03/11/2026", day(2026, 0, 0)),
            ("in May", day(0, 5, 0)),
        ] {
            assert_eq!(dates(text), [expected], "{text}");
        }
        for text in
            ["you may pay", "4.3", "10:30", "2026-0417", "1.2.3.4", "31/32/2026", "the 45th", "marching"]
        {
            assert_eq!(dates(text), [], "{text}");
        }
        assert_eq!(dates("from 1 March to 3 April 2026"), [day(0, 3, 1), day(2026, 4, 3)]);
    }

    #[test]
    fn dates_agree_in_what_both_say() {
        assert!(day(2026, 3, 11).agrees(&day(0, 3, 0)) && !day(2026, 3, 11).agrees(&day(2025, 3, 0)));
        assert!(!day(0, 0, 0).agrees(&day(2026, 3, 1)) && !day(2026, 0, 0).agrees(&day(0, 3, 0)));
    }

    #[test]
    fn decimals_are_exact() {
        let sum = |texts: &[&str]| {
            let numbers = texts.iter().map(|text| Decimal::parse(text).unwrap());
            numbers.reduce(|a, b| a.plus(b).unwrap()).unwrap().to_string()
        };
        assert_eq!(sum(&["64.00", "188.00"]), "252.00");
        assert_eq!(sum(&["4,812.36", "-538.79", "1"]), "4274.57");
        assert_eq!(sum(&["4.812,36", "0,64"]), "4813.00");
        assert_eq!(sum(&["1,250", "1.250"]), "2500");
        assert_eq!(sum(&["-0.05", "0.01"]), "-0.04");
        assert_eq!(sum(&["0.125", "4,812.125"]), "4812.250");
        for text in ["", "x", "1x", "-", "12.3.x", "2026-03-11", &"9".repeat(60)] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_and_durations() {
        for text in [
            "Total due | EUR 20,904.97",
            "€5",
            "5 €",
            "1.234,50",
            "a,64.00,12.80,paid",
            "EUR 180 for each trip",
        ] {
            assert!(has_amount(text), "{text}");
        }
        for text in ["17 May 2026", "clause 4.3", "2026-03-11", "12 pc", "EUR"] {
            assert!(!has_amount(text), "{text}");
        }
        for text in ["within 30 days", "five years", "ten working days", "zwei Jahre", "3 months before"] {
            assert!(has_duration(text), "{text}");
        }
        assert!(!has_duration("on 3 May") && !has_duration("days"));
        assert!(
            has_name("Signed by Maria Keller")
                && has_name("for Mr Smith")
                && !has_name("The Customer signs it")
        );
    }
}
