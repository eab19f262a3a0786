//! Numbers as a reader of a sheet sees them: dates, times, and what formats make of others.

use std::collections::HashMap;
use std::rc::Rc;

use super::digits::plain;
use super::format_code::Pattern;

/// Styles of cells that are kept.
const MAX_STYLES: usize = 100_000;

/// The formats of a workbook's cells.
#[derive(Default)]
pub(crate) struct Formats {
    styles: Vec<Rc<Kind>>,
    /// The formats by their numbers.
    kinds: HashMap<u32, Rc<Kind>>,
    since_1904: bool,
}

/// The kind of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Number(Pattern),
    Date,
    Time,
    DateTime,
    /// Hours beyond a day.
    Duration,
}

impl Formats {
    /// No formats yet, in a workbook whose days are counted from 1900, or from 1904.
    pub(crate) fn new(since_1904: bool) -> Self {
        Self { since_1904, ..Self::default() }
    }

    /// The formats of styles by their numbers, with the codes of those that are not built in.
    #[cfg(feature = "legacy")]
    pub(crate) fn of(codes: &HashMap<u32, String>, styles: &[u32], since_1904: bool) -> Self {
        let mut formats = Self::new(since_1904);
        codes.iter().for_each(|(id, code)| formats.add_code(*id, code));
        styles.iter().for_each(|id| formats.add_style(*id));
        formats
    }

    /// Adds a format that is not built in.
    pub(crate) fn add_code(&mut self, id: u32, code: &str) {
        if self.kinds.len() < MAX_STYLES {
            self.kinds.insert(id, Rc::new(of_code(code)));
        }
    }

    /// Adds the next style of cells, which has this format.
    pub(crate) fn add_style(&mut self, format: u32) {
        if self.styles.len() < MAX_STYLES {
            let kind = self.kinds.entry(format).or_insert_with(|| Rc::new(built_in(format)));
            self.styles.push(Rc::clone(kind));
        }
    }

    /// A stored number in the style of its cell.
    pub(crate) fn show(&self, value: &str, style: usize) -> String {
        match value.parse() {
            Ok(number) => self.show_number(number, style),
            Err(_) => value.to_owned(),
        }
    }

    /// A number in the style of its cell.
    pub(crate) fn show_number(&self, number: f64, style: usize) -> String {
        let shown = match self.styles.get(style).map(Rc::as_ref) {
            Some(Kind::Number(pattern)) => Some(pattern.show(number)),
            Some(Kind::Duration) => Some(duration(number)),
            Some(kind) => self.moment(number, kind),
            None => None,
        };
        shown.unwrap_or_else(|| plain(number))
    }

    /// A date or time; `None` if the number is none.
    fn moment(&self, number: f64, kind: &Kind) -> Option<String> {
        if !(0.0..2_958_466.0).contains(&number) {
            return None;
        }
        // Whole seconds; what is less comes from rounding.
        let seconds = (number * 86_400.0).round();
        let days = (seconds / 86_400.0).floor();
        let time = clock_time(seconds - days * 86_400.0);
        // Excel counts a 29th of February 1900 that never was.
        let from_1900 = if number < 61.0 { 25_568.0 } else { 25_569.0 };
        let day = if self.since_1904 { days - 24_107.0 } else { days - from_1900 };
        let date = civil(day);
        Some(match kind {
            Kind::Time if days == 0.0 => time,
            Kind::Date if seconds == days * 86_400.0 => date,
            _ if seconds == days * 86_400.0 && *kind != Kind::Time => date,
            _ => format!("{date} {time}"),
        })
    }
}

fn clock_time(seconds: f64) -> String {
    let (hours, minutes) = ((seconds / 3600.0).floor(), (seconds / 60.0).floor() % 60.0);
    let rest = seconds % 60.0;
    if rest == 0.0 {
        format!("{hours:02}:{minutes:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{rest:02}")
    }
}

fn duration(days: f64) -> String {
    let sign = if days < 0.0 { "-" } else { "" };
    let seconds = (days.abs() * 86_400.0).round();
    let (hours, minutes) = ((seconds / 3600.0).floor(), (seconds / 60.0).floor() % 60.0);
    format!("{sign}{hours}:{minutes:02}:{:02}", seconds % 60.0)
}

/// The date so many days after the first of January 1970.
fn civil(day: f64) -> String {
    // The proleptic Gregorian calendar, in years that begin in March, so that leap days come last.
    let days = day + 719_468.0;
    let era = (days / 146_097.0).floor();
    let of_era = days - era * 146_097.0;
    let year_of_era = ((of_era - (of_era / 1460.0).floor() + (of_era / 36_524.0).floor()
        - (of_era / 146_096.0).floor())
        / 365.0)
        .floor();
    let of_year =
        of_era - (365.0 * year_of_era + (year_of_era / 4.0).floor() - (year_of_era / 100.0).floor());
    let shifted = ((5.0 * of_year + 2.0) / 153.0).floor();
    let day = of_year - ((153.0 * shifted + 2.0) / 5.0).floor() + 1.0;
    let month = if shifted < 10.0 { shifted + 3.0 } else { shifted - 9.0 };
    let year = year_of_era + era * 400.0 + if month <= 2.0 { 1.0 } else { 0.0 };
    format!("{year:04}-{month:02}-{day:02}")
}

/// The formats that every workbook has without saying so.
fn built_in(id: u32) -> Kind {
    match id {
        1 => Kind::Number(Pattern::of_code("0")),
        2 => Kind::Number(Pattern::of_code("0.00")),
        // The currency is that of whoever opens the workbook.
        3 | 5 | 6 | 37 | 38 | 41 | 42 => Kind::Number(Pattern::of_code("#,##0")),
        4 | 7 | 8 | 39 | 40 | 43 | 44 => Kind::Number(Pattern::of_code("#,##0.00")),
        9 => Kind::Number(Pattern::of_code("0%")),
        10 => Kind::Number(Pattern::of_code("0.00%")),
        14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => Kind::Date,
        18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Kind::Time,
        22 => Kind::DateTime,
        46 => Kind::Duration,
        _ => Kind::Number(Pattern::default()),
    }
}

/// The kind that a format makes of a number, by the letters of its first section.
fn of_code(code: &str) -> Kind {
    let (mut date, mut time) = (false, false);
    let mut characters = code.chars();
    while let Some(c) = characters.next() {
        match c.to_ascii_lowercase() {
            '"' => {
                characters.find(|c| *c == '"');
            }
            '\\' | '_' | '*' => {
                characters.next();
            }
            '[' => {
                let inside: String = characters.by_ref().take_while(|c| *c != ']').collect();
                let inside = inside.to_ascii_lowercase();
                if !inside.is_empty() && inside.chars().all(|c| matches!(c, 'h' | 'm' | 's')) {
                    return Kind::Duration;
                }
            }
            ';' => break,
            'y' | 'd' | 'e' | 'b' => date = true,
            'h' | 's' => time = true,
            // A month alone is a date; minutes stand beside hours or seconds.
            'm' if !time => date |= !characters.as_str().to_ascii_lowercase().contains(['s', 'h']),
            // Years of the eras of Japan.
            'g' if !characters.as_str().to_ascii_lowercase().starts_with("eneral") => date = true,
            'g' => break,
            '0' | '#' | '?' if !date && !time => break,
            _ => {}
        }
    }
    match (date, time) {
        (true, true) => Kind::DateTime,
        (true, false) => Kind::Date,
        (false, true) => Kind::Time,
        (false, false) => Kind::Number(Pattern::of_code(code)),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::format_code::Pattern;
    use super::{Formats, Kind, of_code};

    fn show(value: &str, kind: Kind) -> String {
        Formats { styles: vec![Rc::new(kind)], ..Formats::default() }.show(value, 0)
    }

    #[test]
    fn dates_are_iso_dates() {
        assert_eq!(show("46129", Kind::Date), "2026-04-17");
        assert_eq!(show("1", Kind::Date), "1900-01-01");
        assert_eq!(show("60", Kind::Date), "1900-03-01");
        assert_eq!(show("61", Kind::Date), "1900-03-01");
        assert_eq!(show("46129.5", Kind::DateTime), "2026-04-17 12:00");
        assert_eq!(show("46129.999999999", Kind::DateTime), "2026-04-18");
        assert_eq!(show("0.75", Kind::Time), "18:00");
        assert_eq!(show("0.7501157407", Kind::Time), "18:00:10");
        assert_eq!(show("1.5", Kind::Duration), "36:00:00");
        assert_eq!(show("2958465", Kind::Date), "9999-12-31");
        assert_eq!(show("1e300", Kind::Date), "1e300");
        assert_eq!(show("-1", Kind::Date), "-1");
        let old = Formats { styles: vec![Rc::new(Kind::Date)], since_1904: true, ..Formats::default() };
        assert_eq!(old.show("44667", 0), "2026-04-17");
    }

    #[test]
    fn numbers_have_the_digits_that_a_reader_sees() {
        assert_eq!(show("0.30000000000000004", Kind::Number(Pattern::default())), "0.3");
        assert_eq!(show("20904.97", Kind::Number(Pattern::default())), "20904.97");
        assert_eq!(show("1E+25", Kind::Number(Pattern::default())), "1e25");
        assert_eq!(show("n/a", Kind::Date), "n/a");
    }

    #[test]
    fn formats_say_what_is_a_moment() {
        for (code, kind) in [
            ("yyyy\\-mm\\-dd", Kind::Date),
            ("[$-407]d. mmmm yyyy", Kind::Date),
            ("mmm", Kind::Date),
            ("[$-411]ggge\"年\"m\"月\"d\"日\"", Kind::Date),
            ("ge.m.d", Kind::Date),
            ("hh:mm", Kind::Time),
            ("mm:ss.0", Kind::Time),
            ("dd/mm/yyyy hh:mm", Kind::DateTime),
            ("[h]:mm:ss", Kind::Duration),
        ] {
            assert_eq!(of_code(code), kind, "{code}");
        }
        for code in ["General", "#,##0.00 \"EUR\"", "0.00E+00", "[Red]0.0;-0.0", "\"day\" 0", "0.0%", "@"] {
            assert_eq!(of_code(code), Kind::Number(Pattern::of_code(code)), "{code}");
        }
    }
}
