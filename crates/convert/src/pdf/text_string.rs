//! Text strings: what is said to people, not shown on a page.

/// Decodes a text string: UTF-16 or UTF-8 with their marks, else one byte a character.
pub(super) fn text_string(bytes: &[u8]) -> String {
    let decoded = match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units = rest.as_chunks().0.iter().map(|unit| u16::from_be_bytes(*unit));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|&byte| char::from(byte)).collect::<String>(),
    };
    decoded.chars().filter(|c| !c.is_control() && *c != '\u{00AD}').collect()
}
