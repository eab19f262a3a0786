//! Numbers of pages and lines, as models write them.

/// Numbers from 1, both ends included; an open end reaches to the end of the document.
pub(super) type Range = (usize, usize);

/// The maximum number of ranges in one request.
const MAX_RANGES: usize = 50;

/// Reads `3`, `3-5`, `2,7-9`, `10-`, `all`; words such as "pages" and other dashes are forgiven. The ranges are
/// ascending and apart. The error says what is wrong with the text.
pub(super) fn parse(text: &str) -> Result<Vec<Range>, String> {
    let text = text.to_lowercase().replace("...", "-").replace("..", "-");
    let text = text.replace(" to ", "-").replace(" and ", ",");
    let mut ranges = Vec::new();
    for part in text.split([',', ';', '&', '+']) {
        let part = part.trim_matches(|c: char| c.is_whitespace() || "\"'`[]()#".contains(c));
        if part.is_empty() {
            continue;
        }
        if ranges.len() == MAX_RANGES {
            return Err(format!("has more than {MAX_RANGES} parts"));
        }
        ranges.push(range(part)?);
    }
    if ranges.is_empty() {
        return Err("names no numbers".to_owned());
    }
    Ok(merged(ranges))
}

fn range(part: &str) -> Result<Range, String> {
    let bare = without_word(part);
    if matches!(bare, "all" | "*" | "") {
        return Ok((1, usize::MAX));
    }
    let dash = |c: char| matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | ':' | '~' | '/');
    let (first, last) = match bare.split_once(dash) {
        Some((first, last)) => {
            let first = without_word(first);
            let last = without_word(last);
            let open = matches!(last, "" | "end" | "last" | "*");
            (if first.is_empty() { 1 } else { number(first)? }, if open { usize::MAX } else { number(last)? })
        }
        None => number(bare).map(|number| (number, number))?,
    };
    Ok((first.min(last), first.max(last)))
}

/// Without what it counts, in front.
fn without_word(text: &str) -> &str {
    const WORDS: [&str; 12] =
        ["pages", "page", "pp.", "pp", "p.", "p", "sheets", "sheet", "slides", "slide", "lines", "line"];
    let text = text.trim();
    WORDS.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text).trim()
}

fn number(text: &str) -> Result<usize, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("must be numbers, such as \"3\", \"3-5\" or \"2,7-9\"".to_owned());
    }
    // A number that is too large to be read is behind any end.
    match text.parse().unwrap_or(usize::MAX) {
        0 => Err("is counted from 1".to_owned()),
        number => Ok(number),
    }
}

fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut apart: Vec<Range> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match apart.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => apart.push((first, last)),
        }
    }
    apart
}

/// The parts of the ranges that lie within 1 and `end`.
pub(super) fn within(ranges: &[Range], end: usize) -> Vec<Range> {
    let inside = ranges.iter().filter(|(first, _)| *first <= end);
    inside.map(|(first, last)| (*first, (*last).min(end))).collect()
}

/// The parts of the ranges that lie at `from` or behind it.
pub(super) fn from(ranges: &[Range], from: usize) -> Vec<Range> {
    let behind = ranges.iter().filter(|(_, last)| *last >= from);
    behind.map(|(first, last)| ((*first).max(from), *last)).collect()
}

/// The ranges as they can be asked for: `2,7-9`.
pub(super) fn written(ranges: &[Range]) -> String {
    let one = |(first, last): &Range| match (first == last, *last) {
        (true, _) => first.to_string(),
        (false, usize::MAX) => format!("{first}-"),
        (false, last) => format!("{first}-{last}"),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_models_write() {
        let read = |text: &str| parse(text).map(|ranges| written(&ranges));
        for (text, meant) in [
            ("3", "3"),
            (" 3-5 ", "3-5"),
            ("2,7-9", "2,7-9"),
            ("9-7, 2", "2,7-9"),
            ("1,2,3,5", "1-3,5"),
            ("[3, 4]", "3-4"),
            ("pages 3\u{2013}5", "3-5"),
            ("p. 3 to p. 5", "3-5"),
            ("Page 3 and page 9", "3,9"),
            ("sheet 2", "2"),
            ("3..5", "3-5"),
            ("10-", "10-"),
            ("10-end", "10-"),
            ("-4", "1-4"),
            ("all", "1-"),
            ("3-99999999999999999999999", "3-"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(meant), "{text}");
        }
        for text in ["", ",", "zero", "0", "0-3", "3-x", "1e3", "\u{0663}"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"1,".repeat(40)).is_ok() && read(&"1,".repeat(60)).is_err());
    }

    proptest! {
        #[test]
        fn ranges_are_ascending_and_apart(text in "[0-9,\\- pages.]{0,60}|\\PC{0,40}") {
            let Ok(ranges) = parse(&text) else { return Ok(()) };
            prop_assert!(ranges.iter().all(|(first, last)| 1 <= *first && first <= last));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0 - 1));
            prop_assert_eq!(parse(&written(&ranges)).unwrap(), ranges);
        }
    }
}
