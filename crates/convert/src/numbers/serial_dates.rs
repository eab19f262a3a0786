//! Dates and times, which sheets store as numbers of days since 1900 or 1904.

/// A number that says when something is, or how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Date,
    Time,
    DateTime,
    /// Hours beyond a day.
    Duration,
}

impl Moment {
    /// The date or time of a serial number, in a workbook whose days are counted from 1900, or from 1904; `None` if the
    /// number is none.
    pub(super) fn show(self, number: f64, since_1904: bool) -> Option<String> {
        if self == Self::Duration {
            return Some(duration(number));
        }
        if !(0.0..2_958_466.0).contains(&number) {
            return None;
        }
        // Whole seconds; what is less comes from rounding.
        let seconds = (number * 86_400.0).round();
        let days = (seconds / 86_400.0).floor();
        let time = clock_time(seconds - days * 86_400.0);
        // Excel counts a 29th of February 1900 that never was.
        let from_1900 = if number < 61.0 { 25_568.0 } else { 25_569.0 };
        let day = if since_1904 { days - 24_107.0 } else { days - from_1900 };
        let date = civil(day);
        Some(match self {
            Self::Time if days == 0.0 => time,
            Self::Date if seconds == days * 86_400.0 => date,
            _ if seconds == days * 86_400.0 && self != Self::Time => date,
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
