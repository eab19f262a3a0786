//! Numbers as a reader of a sheet sees them: dates, times, shares of a hundred, and plain numbers.

use std::collections::HashMap;

use crate::ConvertError;
use crate::ooxml::{Package, References, of_kind};
use crate::xml::{Node, Stop, Xml};

/// Styles of cells that are kept.
const MAX_STYLES: usize = 100_000;

/// The formats of a workbook's cells.
#[derive(Default)]
pub(crate) struct Formats {
    styles: Vec<Kind>,
    since_1904: bool,
}

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    Plain,
    Percent,
    Date,
    Time,
    DateTime,
    /// Hours beyond a day.
    Duration,
}

impl Formats {
    /// The formats of styles by their numbers, with the codes of those that are not built in.
    #[cfg(feature = "legacy")]
    pub(crate) fn of(codes: &HashMap<u32, String>, styles: &[u32], since_1904: bool) -> Self {
        let kind = |id: &u32| codes.get(id).map_or_else(|| built_in(*id), |code| of_code(code));
        Self { styles: styles.iter().map(kind).collect(), since_1904 }
    }

    pub(super) fn read(
        package: &Package<'_>,
        references: &References,
        since_1904: bool,
    ) -> Result<Self, ConvertError> {
        let mut formats = Self { since_1904, ..Self::default() };
        for name in of_kind(references, "styles") {
            let Some(Ok(xml)) = package.xml(name) else { continue };
            match formats.add(xml) {
                Err(Stop::Over(error)) => return Err(error),
                // Without its format a number is shown as a number.
                Ok(()) | Err(Stop::Damaged) => {}
            }
        }
        Ok(formats)
    }

    fn add(&mut self, mut xml: Xml<'_>) -> Result<(), Stop> {
        let mut codes: HashMap<u32, Kind> = HashMap::new();
        let mut in_cells = false;
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "numFmt" if codes.len() < MAX_STYLES => {
                        if let (Some(id), Some(code)) = (tag.number("numFmtId"), tag.attr("formatCode")) {
                            codes.insert(id, of_code(&code));
                        }
                    }
                    "cellXfs" => in_cells = true,
                    "xf" if in_cells && self.styles.len() < MAX_STYLES => {
                        let id = tag.number("numFmtId").unwrap_or(0);
                        self.styles.push(codes.get(&id).copied().unwrap_or_else(|| built_in(id)));
                    }
                    _ => {}
                },
                Node::Close(name) if name == "cellXfs" => in_cells = false,
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// A stored number in the style of its cell.
    pub(super) fn show(&self, value: &str, style: usize) -> String {
        match value.parse() {
            Ok(number) => self.show_number(number, style),
            Err(_) => value.to_owned(),
        }
    }

    /// A number in the style of its cell.
    pub(crate) fn show_number(&self, number: f64, style: usize) -> String {
        let kind = self.styles.get(style).copied().unwrap_or_default();
        let shown = match kind {
            Kind::Plain => None,
            Kind::Percent => Some(format!("{}%", plain((number * 100.0 * 1e4).round() / 1e4))),
            Kind::Duration => Some(duration(number)),
            Kind::Date | Kind::Time | Kind::DateTime => self.moment(number, kind),
        };
        shown.unwrap_or_else(|| plain(number))
    }

    /// A date or time; `None` if the number is none.
    fn moment(&self, number: f64, kind: Kind) -> Option<String> {
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
            _ if seconds == days * 86_400.0 && kind != Kind::Time => date,
            _ => format!("{date} {time}"),
        })
    }
}

/// A number with the fifteen digits that Excel shows and no more.
pub(crate) fn plain(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    if rounded == 0.0 {
        return "0".to_owned();
    }
    let magnitude: f64 = f64::abs(rounded);
    if (1e-7..1e21).contains(&magnitude) { format!("{rounded}") } else { format!("{rounded:e}") }
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
        9 | 10 => Kind::Percent,
        14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => Kind::Date,
        18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Kind::Time,
        22 => Kind::DateTime,
        46 => Kind::Duration,
        _ => Kind::Plain,
    }
}

/// What a format makes of a number, by the letters of its first section.
fn of_code(code: &str) -> Kind {
    let (mut date, mut time, mut percent) = (false, false, false);
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
            '%' => percent = true,
            // Years of the eras of Japan.
            'g' if !characters.as_str().to_ascii_lowercase().starts_with("eneral") => date = true,
            'g' => return Kind::Plain,
            '0' | '#' | '?' if !date && !time => {
                return if code.contains('%') { Kind::Percent } else { Kind::Plain };
            }
            _ => {}
        }
    }
    match (date, time, percent) {
        (true, true, _) => Kind::DateTime,
        (true, false, _) => Kind::Date,
        (false, true, _) => Kind::Time,
        (false, false, true) => Kind::Percent,
        (false, false, false) => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::{Formats, Kind, of_code, plain};

    fn show(value: &str, kind: Kind) -> String {
        Formats { styles: vec![kind], since_1904: false }.show(value, 0)
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
        let old = Formats { styles: vec![Kind::Date], since_1904: true };
        assert_eq!(old.show("44667", 0), "2026-04-17");
    }

    #[test]
    fn numbers_have_the_digits_that_a_reader_sees() {
        assert_eq!(show("0.30000000000000004", Kind::Plain), "0.3");
        assert_eq!(show("20904.97", Kind::Plain), "20904.97");
        assert_eq!(show("1E+25", Kind::Plain), "1e25");
        assert_eq!(show("0.125", Kind::Percent), "12.5%");
        assert_eq!(show("n/a", Kind::Date), "n/a");
        assert_eq!(plain(-0.0), "0");
        assert_eq!(plain(1e20), "100000000000000000000");
    }

    #[test]
    fn formats_say_what_a_number_is() {
        for (code, kind) in [
            ("General", Kind::Plain),
            ("#,##0.00 \"EUR\"", Kind::Plain),
            ("0.00E+00", Kind::Plain),
            ("[Red]0.0;-0.0", Kind::Plain),
            ("\"day\" 0", Kind::Plain),
            ("0.0%", Kind::Percent),
            ("yyyy\\-mm\\-dd", Kind::Date),
            ("[$-407]d. mmmm yyyy", Kind::Date),
            ("mmm", Kind::Date),
            ("[$-411]ggge\"年\"m\"月\"d\"日\"", Kind::Date),
            ("ge.m.d", Kind::Date),
            ("hh:mm", Kind::Time),
            ("mm:ss.0", Kind::Time),
            ("dd/mm/yyyy hh:mm", Kind::DateTime),
            ("[h]:mm:ss", Kind::Duration),
            ("@", Kind::Plain),
        ] {
            assert_eq!(of_code(code), kind, "{code}");
        }
    }
}
