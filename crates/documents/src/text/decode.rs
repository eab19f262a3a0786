//! Text from outside: bytes of documents, decoded honestly, and remarks, made harmless.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Decoded text, and the charset if it is neither UTF-8 nor what the document declares.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    pub(crate) guessed: Option<&'static str>,
}

/// Decodes by the byte order mark, else the declared charset, else as UTF-8, else as windows-1252 if that is
/// plausible. `None` if nothing fits: a replacement character is never made up, and what holds NUL is no text.
pub(crate) fn decode<'b>(bytes: &'b [u8], declared: Option<&str>) -> Option<Decoded<'b>> {
    let (text, guessed) = match exact(bytes, declared) {
        Some(text) => (text, None),
        None => (guess(bytes)?, Some(WINDOWS_1252.name())),
    };
    (!text.contains('\0')).then_some(Decoded { text, guessed })
}

fn exact<'b>(bytes: &'b [u8], declared: Option<&str>) -> Option<Cow<'b, str>> {
    let strict = |encoding: &'static Encoding, bytes: &'b [u8]| {
        encoding.decode_without_bom_handling_and_without_replacement(bytes)
    };
    let marked =
        || Encoding::for_bom(bytes).and_then(|(encoding, mark)| strict(encoding, bytes.get(mark..)?));
    let declared = || Encoding::for_label_no_replacement(declared?.as_bytes()).and_then(|e| strict(e, bytes));
    marked().or_else(declared).or_else(|| strict(UTF_8, bytes))
}

/// Windows-1252 maps nearly every byte to something, so bytes that Western text does not hold, or too many above
/// ASCII, speak against it.
fn guess(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let foreign = |b: &u8| matches!(b, 0..=8 | 0xb | 0xe..=0x1a | 0x1c..=0x1f | 0x7f | 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
    let high = bytes.iter().filter(|b| !b.is_ascii()).count();
    if bytes.iter().any(foreign) || high > bytes.len() / 4 {
        return None;
    }
    WINDOWS_1252.decode_without_bom_handling_and_without_replacement(bytes)
}

/// One line of at most 300 characters without control characters or brackets, so that a remark from outside can
/// imitate neither a label nor a fence.
pub(crate) fn harmless_line(text: &str) -> String {
    let tame = text.trim().chars().take(300).map(|c| match c {
        '<' | '[' => '(',
        '>' | ']' => ')',
        c if c.is_control() => ' ',
        c => c,
    });
    let line: String = tame.collect();
    if line.is_empty() { "no reason is known".to_owned() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], declared: Option<&str>) -> Option<(String, Option<&'static str>)> {
        decode(bytes, declared).map(|decoded| (decoded.text.into_owned(), decoded.guessed))
    }

    fn known(text: &str) -> Option<(String, Option<&'static str>)> {
        Some((text.to_owned(), None))
    }

    // documents.md 9.2 D21
    #[test]
    fn the_charset_is_honoured() {
        assert_eq!(text("größe".as_bytes(), None), known("größe"));
        assert_eq!(text(b"\xef\xbb\xbfa", Some("iso-8859-1")), known("a"), "a mark beats the declaration");
        assert_eq!(text(b"\xff\xfea\0b\0", None), known("ab"));
        assert_eq!(text(b"\xfe\xff\0a\0b", Some("utf-8")), known("ab"));
        assert_eq!(text(b"gr\xf6\xdfe", Some("iso-8859-1")), known("größe"));
        assert_eq!(text(b"\xcf\xf0\xe8\xe2\xe5\xf2", Some("windows-1251")), known("Привет"));
        assert_eq!(text(b"\x93\xfa\x96\x7b", Some("shift_jis")), known("日本"));
        assert_eq!(text("é".as_bytes(), Some("klingon")), known("é"), "an unknown name declares nothing");
        assert_eq!(text("é".as_bytes(), Some("iso-2022-kr")), known("é"), "neither does an unsafe one");
    }

    #[test]
    fn a_guess_is_said_to_be_one() {
        assert_eq!(
            text(b"Stra\xdfe und H\xe4user, \x80 5", None),
            Some(("Straße und Häuser, € 5".to_owned(), Some("windows-1252")))
        );
        assert_eq!(
            text(b"caf\xe9 au lait", Some("utf-8")),
            Some(("café au lait".to_owned(), Some("windows-1252")))
        );
    }

    #[test]
    fn what_is_no_text_is_not_decoded() {
        assert_eq!(text(b"a\0b", None), None);
        assert_eq!(text(b"\x01\x02\xff", None), None);
        assert_eq!(text(b"\xcf\xf0\xe8\xe2\xe5\xf2", None), None, "mostly above ASCII");
        assert_eq!(text(b"\xff\xfea", None), None, "half a character");
    }
}
