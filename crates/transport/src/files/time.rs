//! How long a file is kept, by the moments that an API tells.

use crate::calendar::days_since_1970;

/// The whole seconds from one moment to another, both as RFC 3339 writes them (`2026-11-01T12:00:00.5Z`,
/// `2026-11-01T13:00:00+01:00`); `None` if either is none. Negative where the second comes first.
///
/// ```
/// use attache_transport::seconds_between;
/// assert_eq!(seconds_between("2026-02-28T23:59:00Z", "2026-03-01T00:00:00.25Z"), Some(60));
/// assert_eq!(seconds_between("2026-03-01T01:00:00+01:00", "2026-03-01T00:00:01Z"), Some(1));
/// assert_eq!(seconds_between("yesterday", "2026-03-01T00:00:01Z"), None);
/// ```
pub fn seconds_between(from: &str, to: &str) -> Option<i64> {
    Some(seconds(to)? - seconds(from)?)
}

/// The seconds of a moment, counted from any fixed one.
fn seconds(text: &str) -> Option<i64> {
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
            let two = |digits: &str| digits.parse::<u8>().ok().filter(|_| digits.len() == 2).map(i64::from);
            let offset = two(hours)? * 3600 + two(minutes)? * 60;
            if sign == "+" { offset } else { -offset }
        }
        _ => return None,
    };
    let days = days_since_1970(year, month, day);
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}
