//! Conversion of dates, for crates that read and write times of APIs.

/// The days from 1 January 1970 to a date of the Gregorian calendar, with months counted from 1.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The year, month and day of the Gregorian calendar, the given number of days after 1 January 1970, with months
/// counted from 1.
///
/// ```
/// assert_eq!(attache_core::calendar::date_of(11_016), (2000, 2, 29));
/// ```
pub fn date_of(days: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day at the end, and 400 of them have as many days as the next 400.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// Formats a time in milliseconds since 1970 as RFC 3339 in UTC. Returns `None` for years of more than four digits,
/// which RFC 3339 does not support.
///
/// ```
/// assert_eq!(attache_core::calendar::to_rfc3339(86_400_123).as_deref(), Some("1970-01-02T00:00:00.123Z"));
/// ```
pub fn to_rfc3339(millis: u64) -> Option<String> {
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let (days, rest) = (i64::try_from(seconds / 86_400).ok()?, seconds % 86_400);
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    let text = || format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z");
    (year <= 9_999).then(text)
}

/// Parses an RFC 3339 time into seconds since 1 January 1970 (`2026-11-01T12:00:00.5Z`, `2026-11-01T13:00:00+01:00`),
/// ignoring fractions of a second.
///
/// ```
/// assert_eq!(attache_core::calendar::rfc3339("1970-01-02T01:00:00.5+01:00"), Some(86_400));
/// ```
pub fn rfc3339(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let marks = [(4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")];
    let fits = |(at, mark): (usize, &str)| text.get(at..at + 1).is_some_and(|found| mark.contains(found));
    if !marks.into_iter().all(fits) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign @ ("+" | "-"), rest) => {
            let (hours, minutes) = rest.split_once(':')?;
            let two = |digits: &str| -> Option<i64> {
                let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
                is_plain.then(|| digits.parse().ok())?
            };
            let offset = two(hours)? * 3600 + two(minutes)? * 60;
            if sign == "+" { offset } else { -offset }
        }
        _ => return None,
    };
    let days = days_since_1970(year, month, day);
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_those_of_the_calendar() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (19_782, (2024, 2, 29)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
            (-719_468, (0, 3, 1)),
        ] {
            let (year, month, day) = date;
            assert_eq!((date_of(days), days_since_1970(year, month, day)), (date, days));
        }
        for days in (-800_000..800_000).step_by(13) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_since_1970(year, month, day), days);
        }
    }

    #[test]
    fn moments_are_written_as_they_are_read() {
        const LAST: u64 = 253_402_300_800_000;
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_795_000_000_123, "2026-11-18T11:06:40.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (LAST - 1, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(to_rfc3339(millis).as_deref(), Some(text));
            assert_eq!(rfc3339(text), i64::try_from(millis / 1_000).ok());
        }
        assert_eq!((to_rfc3339(LAST), to_rfc3339(u64::MAX)), (None, None));
    }
}
