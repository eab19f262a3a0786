//! Timestamps as protobuf JSON writes them (RFC 3339).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// `2026-11-01T12:00:00.123456Z`.
pub(crate) fn format(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The moment that a text names, with `Z` or an offset; `None` where it names none since 1970.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let separators = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':')];
    if !separators
        .iter()
        .all(|(at, mark)| text.get(*at..at + 1).is_some_and(|found| found.starts_with(*mark)))
    {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut fraction = 0.0;
    if let Some(tail) = rest.strip_prefix('.') {
        let end = tail.find(|digit: char| !digit.is_ascii_digit())?;
        fraction = format!("0.{}", tail.get(..end)?).parse().ok()?;
        rest = tail.get(end..)?;
    }
    let offset = match rest.split_at_checked(1)? {
        ("Z", "") => 0,
        (sign @ ("+" | "-"), zone) => {
            let (hours, minutes) = zone.split_once(':')?;
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            if sign == "+" { seconds } else { -seconds }
        }
        _ => return None,
    };
    let seconds = days_since_epoch(year, month, day)? * DAY + hour * 3600 + minute * 60 + second;
    let seconds = seconds.checked_add_signed(-offset)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + Duration::try_from_secs_f64(fraction).ok()?)
}

/// Year, month and day of the n-th day since 1970, by counting in 400-year cycles that begin in March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + u64::from(month <= 2), month, day)
}

/// The reverse of [`date`]; `None` before 1970.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year.checked_sub(u64::from(month <= 2))?;
    let (cycle, year) = (year / 400, year % 400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (153 * month + 2) / 5 + day - 1;
    (cycle * 146_097 + year * 365 + year / 4 - year / 100 + day).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{format, parse};

    #[test]
    fn moments_are_written_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_793_534_399, "2026-11-01T11:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(format(time), text);
            assert_eq!(parse(text), Some(time), "{text}");
        }
        let with_offset = parse("2026-11-01T13:59:59.5+02:00");
        assert_eq!(with_offset, Some(UNIX_EPOCH + Duration::from_millis(1_793_534_399_500)));
    }

    #[test]
    fn a_text_that_is_no_timestamp_is_refused() {
        for text in ["", "2026-11-01", "2026-13-01T00:00:00Z", "2026-11-01T00:00:00", "2026-11-01 00:00:00Z"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
