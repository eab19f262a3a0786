//! Dates as numbers, for crates that read what APIs say of time.

/// The days from the first of January 1970 to a date of the Gregorian calendar, whose months count from 1.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The seconds from the first of January 1970 to a moment as RFC 3339 writes it (`2026-11-01T12:00:00.5Z`,
/// `2026-11-01T13:00:00+01:00`), parts of a second left out.
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
