//! Days, as many countries write them.

/// Year, month, day.
pub(crate) type Date = (u16, u8, u8);

const MONTHS: [&[&str]; 12] = [
    &["january", "jan", "januar", "jänner", "janvier", "enero", "gennaio"],
    &["february", "feb", "februar", "février", "febrero", "febbraio"],
    &["march", "mar", "märz", "maerz", "mars", "marzo"],
    &["april", "apr", "avril", "abril", "aprile"],
    &["may", "mai", "mayo", "maggio"],
    &["june", "jun", "juni", "juin", "junio", "giugno"],
    &["july", "jul", "juli", "juillet", "julio", "luglio"],
    &["august", "aug", "août", "agosto"],
    &["september", "sep", "sept", "septembre", "septiembre", "settembre"],
    &["october", "oct", "oktober", "okt", "octobre", "octubre", "ottobre"],
    &["november", "nov", "novembre", "noviembre"],
    &["december", "dec", "dezember", "dez", "décembre", "diciembre", "dicembre"],
];

/// The date whose digits begin at `digit`, with the name of a month before it if that stands behind `from`: where it
/// begins and ends, and the days that it may be.
pub(crate) fn read(text: &str, digit: usize, from: usize) -> Option<(usize, usize, Vec<Date>)> {
    if text.get(from..digit)?.chars().next_back().is_some_and(|char| char.is_alphanumeric()) {
        return None;
    }
    let rest = text.get(digit..)?;
    let found = digits_alone(rest)
        .map(|(len, days)| (digit, digit + len, days))
        .or_else(|| day_month(rest).map(|(len, day)| (digit, digit + len, vec![day])))
        .or_else(|| month_day(text, digit, from))?;
    let (start, end, days) = found;
    let end = end + time(text.get(end..)?);
    let goes_on = text.get(end..)?.chars().next().is_some_and(char::is_alphanumeric);
    (!goes_on && !days.is_empty()).then_some((start, end, days))
}

/// The length of the time behind a date of ISO 8601: `T10:15`, `T10:15:00.250+01:00`, `Z`; 0 without one.
fn time(behind: &str) -> usize {
    let Some(time) = behind.strip_prefix(['T', 't']) else {
        return usize::from(behind.starts_with('Z'));
    };
    if !time.starts_with(|char: char| char.is_ascii_digit()) {
        return 0;
    }
    let is_clock = |char: char| char.is_ascii_digit() || matches!(char, ':' | '.' | ',');
    let clock = time.trim_start_matches(is_clock);
    let zone = match clock.strip_prefix(['Z', 'z']) {
        Some(rest) => rest,
        None => match clock.strip_prefix(['+', '-']) {
            Some(zone) if zone.starts_with(|char: char| char.is_ascii_digit()) => {
                zone.trim_start_matches(|char: char| char.is_ascii_digit() || char == ':')
            }
            _ => clock,
        },
    };
    // The mark of the sentence around it.
    let len = behind.len() - zone.len();
    behind.get(..len).map_or(0, |time| time.trim_end_matches(['.', ',', ':']).len())
}

/// `2026-11-23`, `23.11.2026`, `04/05/2026`, `23.11.26`.
fn digits_alone(rest: &str) -> Option<(usize, Vec<Date>)> {
    let (one, len) = number(rest)?;
    let mark = rest.get(len.0..)?.chars().next().filter(|char| matches!(char, '-' | '.' | '/'))?;
    let second = rest.get(len.0 + 1..)?;
    let blank = usize::from(mark == '.' && second.starts_with(' '));
    let (two, two_len) = number(second.get(blank..)?)?;
    let third = second.get(blank + two_len.0..)?.strip_prefix(mark)?;
    let blank_too = usize::from(mark == '.' && third.starts_with(' '));
    let (three, three_len) = number(third.get(blank_too..)?)?;
    let end = len.0 + 1 + blank + two_len.0 + 1 + blank_too + three_len.0;
    // More parts make no date.
    if rest
        .get(end..)?
        .strip_prefix(mark)
        .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
    {
        return None;
    }
    let mut days = Vec::new();
    match (len.0, three_len.0) {
        (4, 1..=2) => days.extend(day(one, two, three)),
        (1..=2, 4 | 2) if mark != '-' || three_len.0 == 4 => {
            let year = if three_len.0 == 2 { 2000 + three } else { three };
            days.extend(day(year, two, one));
            if mark != '.' {
                days.extend(day(year, one, two));
            }
        }
        _ => {}
    }
    days.dedup();
    (!days.is_empty()).then_some((end, days))
}

/// `23 November 2026`, `23. Nov. 2026`, `1st of May 2026`.
fn day_month(rest: &str) -> Option<(usize, Date)> {
    let (of_month, len) = number(rest)?;
    let mut at = len.0;
    for suffix in ["st", "nd", "rd", "th", "er", "."] {
        if rest.get(at..)?.starts_with(suffix) {
            at += suffix.len();
            break;
        }
    }
    at += blanks(rest.get(at..)?)?;
    for word in ["of ", "de "] {
        at += if rest.get(at..)?.starts_with(word) { word.len() } else { 0 };
    }
    let (month, word) = month(rest.get(at..)?)?;
    at += word;
    at += rest.get(at..)?.len() - rest.get(at..)?.trim_start_matches(['.', ',']).len();
    at += blanks(rest.get(at..)?)?;
    at += if rest.get(at..)?.starts_with("de ") { 3 } else { 0 };
    let (year, year_len) = number(rest.get(at..)?)?;
    (year_len.0 == 4).then(|| Some((at + 4, day(year, month, of_month)?)))?
}

/// `November 23, 2026`.
fn month_day(text: &str, digit: usize, from: usize) -> Option<(usize, usize, Vec<Date>)> {
    let before = text.get(from..digit)?.trim_end_matches([' ', '\u{a0}', '.']);
    let start = before
        .rfind(|char: char| !char.is_alphabetic())
        .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    let (month, word) = month(before.get(start..)?)?;
    if word != before.len() - start {
        return None;
    }
    let rest = text.get(digit..)?;
    let (of_month, len) = number(rest)?;
    let mut at = len.0;
    for suffix in ["st", "nd", "rd", "th"] {
        at += if rest.get(at..)?.starts_with(suffix) { 2 } else { 0 };
    }
    at += usize::from(rest.get(at..)?.starts_with(','));
    at += blanks(rest.get(at..)?)?;
    let (year, year_len) = number(rest.get(at..)?)?;
    let day = day(year, month, of_month).filter(|_| year_len.0 == 4)?;
    Some((from + start, digit + at + 4, vec![day]))
}

#[derive(Clone, Copy)]
struct Digits(usize);

fn number(text: &str) -> Option<(u32, Digits)> {
    let len = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    if len == 0 || len > 4 {
        return None;
    }
    Some((text.get(..len)?.parse().ok()?, Digits(len)))
}

/// One to three blanks.
fn blanks(text: &str) -> Option<usize> {
    let len = text.len() - text.trim_start_matches([' ', '\u{a0}', '\n']).len();
    (1..=3).contains(&len).then_some(len)
}

fn month(text: &str) -> Option<(u32, usize)> {
    let len = text.find(|char: char| !char.is_alphabetic()).unwrap_or(text.len());
    if len > 20 {
        return None;
    }
    let word = text.get(..len)?.to_lowercase();
    let at = MONTHS.iter().position(|names| names.contains(&word.as_str()))?;
    Some((u32::try_from(at).ok()? + 1, len))
}

fn day(year: u32, month: u32, day: u32) -> Option<Date> {
    let fits = (1000..3000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let date = (u16::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?);
    fits.then_some(date)
}

#[cfg(test)]
mod tests {
    use crate::number::{Kind, numbers};

    #[test]
    fn days_of_many_countries() {
        let day = [(2026, 11, 23)];
        for text in [
            "2026-11-23",
            "23.11.2026",
            "23. 11. 2026",
            "11/23/2026",
            "23 November 2026",
            "23. Nov. 2026",
            "November 23, 2026",
            "Nov 23rd, 2026",
            "23 de noviembre de 2026",
            "le 23 novembre 2026",
            "2026-11-23T10:15:00Z",
            "2026-11-23T10:15:00.250+01:00",
            "2026-11-23T10:15,",
            "2026-11-23Z",
        ] {
            let all = numbers(text);
            let Kind::Date(days) = &all[0].kind else { panic!("{text}: {all:?}") };
            assert_eq!((days.as_slice(), all.len()), (&day[..], 1), "{text}");
        }
        let all = numbers("04/05/2026");
        assert!(matches!(&all[0].kind, Kind::Date(days) if *days == [(2026, 5, 4), (2026, 4, 5)]));
        assert!(!matches!(numbers("1.2.3")[0].kind, Kind::Date(_)));
        assert!(!matches!(numbers("2026-11-23Ta")[0].kind, Kind::Date(_)));
        assert!(!matches!(numbers("10.20.30.40")[0].kind, Kind::Date(_)));
        assert!(!matches!(numbers("in 2026")[0].kind, Kind::Date(_)));
    }
}
