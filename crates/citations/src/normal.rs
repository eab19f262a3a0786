//! Text as it is searched, with a map back to the bytes that it came from.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The maximum number of blanks behind a hyphen that are skipped in the search for the rest of a word.
const MAX_BREAK: usize = 64;
/// The maximum number of characters that are composed with the one before them.
const MAX_MARKS: usize = 32;

/// A text in one case and one form of each character, without hyphens inside words, with single blanks.
///
/// Each byte of the key knows the bytes of the text that it came from.
#[derive(Debug, Default)]
pub(crate) struct Key {
    pub(crate) text: String,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

/// One character of the key, and where it came from.
#[derive(Clone, Copy)]
struct Unit {
    char: char,
    start: u32,
    end: u32,
}

impl Key {
    /// The key of `text`, of which `skipped` pieces, in order, count as white space.
    pub(crate) fn of(text: &str, skipped: &[(usize, usize)]) -> Self {
        let units = units(text, skipped);
        let mut key = Self::default();
        let mut blank: Option<Unit> = None;
        let mut at = 0;
        let mut last: Option<char> = None;
        while let Some(unit) = units.get(at).copied() {
            at += 1;
            if unit.char == ' ' {
                blank = blank.or(Some(unit));
                continue;
            }
            if unit.char == '-' && blank.is_none() && last.is_some_and(char::is_alphabetic) {
                let behind = units.get(at..).unwrap_or_default();
                let gap = behind.iter().take(MAX_BREAK).take_while(|unit| unit.char == ' ').count();
                if behind.get(gap).is_some_and(|unit| unit.char.is_alphabetic()) {
                    at += gap;
                    continue;
                }
            }
            // A run of dashes is one.
            if unit.char == '-' && blank.is_none() && last == Some('-') {
                continue;
            }
            // Emphasis of Markdown.
            if unit.char == '*' {
                let next = units.get(at).map(|unit| unit.char);
                let is_mark =
                    |char: Option<char>| char.is_some_and(|char| char == '*' || char.is_alphabetic());
                if is_mark(last)
                    || is_mark(next)
                    || units.get(at.wrapping_sub(2)).is_some_and(|unit| unit.char == '*')
                {
                    continue;
                }
            }
            if let Some(blank) = blank.take()
                && !key.text.is_empty()
            {
                key.push(blank);
            }
            key.push(unit);
            last = Some(unit.char);
        }
        key
    }

    fn push(&mut self, unit: Unit) {
        self.text.push(unit.char);
        self.starts.resize(self.text.len(), unit.start);
        self.ends.resize(self.text.len(), unit.end);
    }

    /// The piece of the text that a piece of the key, not empty, came from.
    pub(crate) fn source(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        let start = *self.starts.get(start)?;
        let end = *self.ends.get(end.checked_sub(1)?)?;
        Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?)).filter(|(start, end)| start < end)
    }
}

fn units(text: &str, skipped: &[(usize, usize)]) -> Vec<Unit> {
    let mut units = Vec::with_capacity(text.len());
    let mut skipped = skipped.iter().copied().peekable();
    let mut chars = text.char_indices().peekable();
    while let Some((at, first)) = chars.next() {
        while skipped.peek().is_some_and(|(_, end)| *end <= at) {
            skipped.next();
        }
        let is_skipped = skipped.peek().is_some_and(|(start, _)| *start <= at);
        let end = at + first.len_utf8();
        if first.is_ascii() && chars.peek().is_none_or(|(_, next)| next.is_ascii()) || is_skipped {
            let char = if is_skipped { ' ' } else { first };
            push(&mut units, char, at, end);
            continue;
        }
        // A character with its marks is one, however it is written.
        let mut end = end;
        let mut marks = 0;
        while let Some((_, next)) = chars.next_if(|(_, next)| marks < MAX_MARKS && joins(*next)) {
            end += next.len_utf8();
            marks += 1;
        }
        for char in text.get(at..end).unwrap_or_default().nfkc() {
            push(&mut units, char, at, end);
        }
    }
    units
}

fn joins(char: char) -> bool {
    // Vowels and finals of Hangul, which follow a letter.
    is_combining_mark(char) || ('\u{1160}'..='\u{11ff}').contains(&char)
}

fn push(units: &mut Vec<Unit>, char: char, start: usize, end: usize) {
    let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else { return };
    let folded = match char {
        'A'..='Z' => char.to_ascii_lowercase(),
        '\u{ad}' => {
            // A soft hyphen breaks a word, and nothing else: with the line break behind it it is no hyphen.
            '-'
        }
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => return,
        '`'
        | '´'
        | '"'
        | '\u{2018}'..='\u{201f}'
        | '«'
        | '»'
        | '\u{2039}'
        | '\u{203a}'
        | '\u{2032}'
        | '\u{2033}'
        | '\u{2bc}' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' | '\u{fe58}' => '-',
        char if char.is_whitespace() || char.is_control() => ' ',
        char if char.is_ascii() => char,
        char => {
            units.extend(char.to_lowercase().map(|char| Unit { char, start, end }));
            return;
        }
    };
    units.push(Unit { char: folded, start, end });
}

#[cfg(test)]
mod tests {
    use super::Key;
    use proptest::prelude::*;

    fn key(text: &str) -> String {
        Key::of(text, &[]).text
    }

    #[test]
    fn forms_of_one_text_have_one_key() {
        let same = [
            ("efﬁ-\ncient “heating”", "Efficient \"heating\""),
            ("long-term", "long- term"),
            ("co\u{ad}operation", "cooperation"),
            ("Caf\u{65}\u{301}", "café"),
            ("a\u{a0}\r\n b", "A b"),
            ("1–2 — x", "1-2 - x"),
            ("shall **not** sublet", "shall not sublet"),
            ("ＡＢＣ １２", "abc 12"),
            ("a -- b", "a – b"),
            ("한", "\u{1112}\u{1161}\u{11ab}"),
        ];
        for (one, other) in same {
            assert_eq!(key(one), key(other), "{one:?}");
        }
        assert_ne!(key("5-10"), key("510"));
        assert_ne!(key("2*3"), key("23"));
        assert_ne!(key("-5"), key("5"));
    }

    proptest! {
        // Each piece of the key leads to the text that has this key.
        #[test]
        fn pieces_lead_back(text in "[a-zA-Zﬁéé0-9 \\-\u{ad}\n“”'…*]{0,60}", from in 0_usize..60, len in 1_usize..60) {
            let whole = Key::of(&text, &[]);
            let bounds: Vec<usize> = whole.text.char_indices().map(|(at, _)| at).chain([whole.text.len()]).collect();
            let (Some(start), Some(end)) = (bounds.get(from), bounds.get((from + len).min(bounds.len().saturating_sub(1)))) else { return Ok(()) };
            if start >= end { return Ok(()) }
            let (from, to) = whole.source(*start, *end).unwrap();
            prop_assert!(text.is_char_boundary(from) && text.is_char_boundary(to));
            let piece = Key::of(&text[from..to], &[]).text;
            // A character of the text may have several in the key, so that a piece may grow to whole ones.
            prop_assert!(piece.contains(whole.text[*start..*end].trim().trim_matches(['-', '*'])), "{piece:?}");
        }

        #[test]
        fn any_text_has_a_key(text in ".{0,200}") {
            let key = Key::of(&text, &[]);
            prop_assert_eq!(key.starts.len(), key.text.len());
            prop_assert!(key.starts.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
