//! Text strings: what is said to people, not shown on a page.

use super::font::plain;

/// PDFDocEncoding where it is not Latin-1: from 0x18 on, and from 0x80 on.
const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
const HIGH: [char; 33] = [
    '•',
    '†',
    '‡',
    '…',
    '—',
    '–',
    'ƒ',
    '⁄',
    '‹',
    '›',
    '−',
    '‰',
    '„',
    '“',
    '”',
    '‘',
    '’',
    '‚',
    '™',
    'ﬁ',
    'ﬂ',
    'Ł',
    'Œ',
    'Š',
    'Ÿ',
    'Ž',
    'ı',
    'ł',
    'œ',
    'š',
    'ž',
    char::REPLACEMENT_CHARACTER,
    '€',
];

/// Decodes a text string as one line.
pub(super) fn text_string(bytes: &[u8]) -> String {
    plain(decoded(bytes).chars())
}

/// The lines of a text string that are not blank.
pub(super) fn lines(bytes: &[u8]) -> Vec<String> {
    let text = decoded(bytes);
    let lines =
        text.split(['\n', '\r', '\u{2028}', '\u{2029}']).map(|line| plain(line.chars()).trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// UTF-16 or UTF-8 with their marks, else one byte a character.
fn decoded(bytes: &[u8]) -> String {
    let wide = |units: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = units.as_chunks().0.iter().map(|bytes| unit(*bytes));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|byte| character(*byte)).collect(),
    }
}

fn character(byte: u8) -> char {
    let special = match byte {
        0x18..=0x1f => LOW.get(usize::from(byte - 0x18)),
        0x80..=0xa0 => HIGH.get(usize::from(byte - 0x80)),
        _ => None,
    };
    special.copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::{lines, text_string};

    #[test]
    fn text_strings_are_read_in_their_encodings() {
        assert_eq!(text_string(b"100 \xa0 \x84 \x8dx\x8e \x92 \x18 \xe9"), "100 € — “x” ™ ˘ é");
        assert_eq!(text_string(b"\xfe\xff\x20\xac\0\xad"), "€-");
        assert_eq!(text_string(b"\xff\xfe\xac\x20"), "€");
        assert_eq!(text_string(b"\xef\xbb\xbf\xe2\x82\xac"), "€");
        assert_eq!(text_string(b"a\tb\r\nc\x01"), "a b  c");
        assert_eq!(lines(b"a\tb\r\n \rc"), ["a b", "c"]);
        assert_eq!(lines(b"\xfe\xff\0a\0\r\0b"), ["a", "b"]);
        assert_eq!(lines("\u{feff}a\u{2028}b".as_bytes()), ["a", "b"]);
    }
}
