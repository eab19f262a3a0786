//! Times in the form of ISO 8601.

/// The first millisecond whose year has more than four digits.
const LAST: u64 = 253_402_300_800_000;

/// Milliseconds since 1970 as `2026-01-31T12:00:00.000Z`; `None` for a time that the form does not have.
pub(super) fn iso_time(millis: u64) -> Option<String> {
    if millis >= LAST {
        return None;
    }
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days from 1 March of year 0, in eras of 400 years. (H. Hinnant, chrono-compatible low-level date algorithms)
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_leap_years_are_days() {
        let told = [0, 951_782_400_123, 4_107_542_399_000, LAST - 1, LAST, u64::MAX].map(iso_time);
        let told = told.each_ref().map(Option::as_deref);
        assert_eq!(told[..2], [Some("1970-01-01T00:00:00.000Z"), Some("2000-02-29T00:00:00.123Z")]);
        assert_eq!(told[2..4], [Some("2100-02-28T23:59:59.000Z"), Some("9999-12-31T23:59:59.999Z")]);
        assert_eq!(told[4..], [None, None]);
    }
}
