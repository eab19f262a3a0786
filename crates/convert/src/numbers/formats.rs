//! Numbers as a reader of a sheet sees them, by the formats of their cells.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::digits::plain;
use super::format_code::{Pattern, around_text};
use super::serial_dates::Moment;

/// Styles of cells that are kept.
const MAX_STYLES: usize = 100_000;

/// The formats of a workbook's cells.
#[derive(Default)]
pub(crate) struct Formats {
    styles: Vec<Rc<Format>>,
    /// The formats by their numbers.
    by_number: HashMap<u32, Rc<Format>>,
    since_1904: bool,
}

/// A format: what it makes of a number, and the words between which it puts a text.
struct Format {
    kind: Kind,
    around: Option<Vec<String>>,
}

impl From<Kind> for Format {
    fn from(kind: Kind) -> Self {
        Self { kind, around: None }
    }
}

/// The kind of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Number(Pattern),
    Moment(Moment),
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
        if self.by_number.len() < MAX_STYLES {
            self.by_number.insert(id, Rc::new(Format { kind: of_code(code), around: around_text(code) }));
        }
    }

    /// Adds the next style of cells, which has this format.
    pub(crate) fn add_style(&mut self, format: u32) {
        if self.styles.len() < MAX_STYLES {
            let own = self.by_number.entry(format).or_insert_with(|| Rc::new(built_in(format).into()));
            self.styles.push(Rc::clone(own));
        }
    }

    /// A stored number in the style of its cell.
    pub(crate) fn show(&self, value: &str, style: usize) -> String {
        match value.parse() {
            Ok(number) => self.show_number(number, style),
            Err(_) => value.to_owned(),
        }
    }

    /// A text in the style of its cell.
    pub(crate) fn show_text<'t>(&self, text: Cow<'t, str>, style: usize) -> Cow<'t, str> {
        match self.styles.get(style).and_then(|format| format.around.as_ref()) {
            Some(words) if !text.is_empty() => Cow::Owned(words.join(&text)),
            _ => text,
        }
    }

    /// A number in the style of its cell.
    pub(crate) fn show_number(&self, number: f64, style: usize) -> String {
        let shown = match self.styles.get(style).map(|format| &format.kind) {
            Some(Kind::Number(pattern)) => Some(pattern.show(number)),
            Some(Kind::Moment(moment)) => moment.show(number, self.since_1904),
            None => None,
        };
        shown.unwrap_or_else(|| plain(number))
    }
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
        14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => Kind::Moment(Moment::Date),
        18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Kind::Moment(Moment::Time),
        22 => Kind::Moment(Moment::DateTime),
        46 => Kind::Moment(Moment::Duration),
        _ => Kind::Number(Pattern::default()),
    }
}

/// The kind that a format makes of a number, by the letters of its first section.
fn of_code(code: &str) -> Kind {
    let (mut date, mut time) = (false, false);
    let mut characters = code.chars();
    // The last character that is no zero.
    let mut last = ' ';
    while let Some(c) = characters.next() {
        let before = last;
        if c != '0' {
            last = c;
        }
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
                    return Kind::Moment(Moment::Duration);
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
            // Fractions of seconds; other digits are those of a number, whatever letters stand before them.
            '0' if time && matches!(before, '.' | ',') => {}
            '0' | '#' | '?' => return Kind::Number(Pattern::of_code(code)),
            _ => {}
        }
    }
    match (date, time) {
        (true, true) => Kind::Moment(Moment::DateTime),
        (true, false) => Kind::Moment(Moment::Date),
        (false, true) => Kind::Moment(Moment::Time),
        (false, false) => Kind::Number(Pattern::of_code(code)),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::format_code::Pattern;
    use super::{Formats, Kind, Moment, of_code};

    fn show(value: &str, kind: Kind) -> String {
        Formats { styles: vec![Rc::new(kind.into())], ..Formats::default() }.show(value, 0)
    }

    #[test]
    fn dates_are_iso_dates() {
        assert_eq!(show("46129", Kind::Moment(Moment::Date)), "2026-04-17");
        assert_eq!(show("1", Kind::Moment(Moment::Date)), "1900-01-01");
        assert_eq!(show("60", Kind::Moment(Moment::Date)), "1900-03-01");
        assert_eq!(show("61", Kind::Moment(Moment::Date)), "1900-03-01");
        assert_eq!(show("46129.5", Kind::Moment(Moment::DateTime)), "2026-04-17 12:00");
        assert_eq!(show("46129.999999999", Kind::Moment(Moment::DateTime)), "2026-04-18");
        assert_eq!(show("0.75", Kind::Moment(Moment::Time)), "18:00");
        assert_eq!(show("0.7501157407", Kind::Moment(Moment::Time)), "18:00:10");
        assert_eq!(show("1.5", Kind::Moment(Moment::Duration)), "36:00:00");
        assert_eq!(show("2958465", Kind::Moment(Moment::Date)), "9999-12-31");
        assert_eq!(show("1e300", Kind::Moment(Moment::Date)), "1e300");
        assert_eq!(show("-1", Kind::Moment(Moment::Date)), "-1");
        let old = Formats {
            styles: vec![Rc::new(Kind::Moment(Moment::Date).into())],
            since_1904: true,
            ..Formats::default()
        };
        assert_eq!(old.show("44667", 0), "2026-04-17");
    }

    #[test]
    fn numbers_have_the_digits_that_a_reader_sees() {
        assert_eq!(show("0.30000000000000004", Kind::Number(Pattern::default())), "0.3");
        assert_eq!(show("20904.97", Kind::Number(Pattern::default())), "20904.97");
        assert_eq!(show("1E+25", Kind::Number(Pattern::default())), "1e25");
        assert_eq!(show("n/a", Kind::Moment(Moment::Date)), "n/a");
    }

    #[test]
    fn formats_say_what_is_a_moment() {
        for (code, kind) in [
            ("yyyy\\-mm\\-dd", Kind::Moment(Moment::Date)),
            ("[$-407]d. mmmm yyyy", Kind::Moment(Moment::Date)),
            ("mmm", Kind::Moment(Moment::Date)),
            ("[$-411]ggge\"年\"m\"月\"d\"日\"", Kind::Moment(Moment::Date)),
            ("ge.m.d", Kind::Moment(Moment::Date)),
            ("hh:mm", Kind::Moment(Moment::Time)),
            ("mm:ss.0", Kind::Moment(Moment::Time)),
            ("hh:mm:ss.000", Kind::Moment(Moment::Time)),
            ("dd/mm/yyyy hh:mm", Kind::Moment(Moment::DateTime)),
            ("[h]:mm:ss", Kind::Moment(Moment::Duration)),
        ] {
            assert_eq!(of_code(code), kind, "{code}");
        }
        for code in ["General", "#,##0.00 \"EUR\"", "0.00E+00", "[Red]0.0;-0.0", "\"day\" 0", "0.0%", "@"] {
            assert_eq!(of_code(code), Kind::Number(Pattern::of_code(code)), "{code}");
        }
        for (code, expected) in [
            ("USD #,##0.00", "USD 1,234.50"),
            ("CHF 0.00", "CHF 1234.50"),
            ("EUR #,##0.00", "EUR 1,234.50"),
            ("GBP #,##0.00", "GBP 1,234.50"),
            ("0.00 \"h\"", "1234.50 h"),
        ] {
            assert_eq!(show("1234.5", of_code(code)), expected, "{code}");
        }
    }
}
