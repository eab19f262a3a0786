//! Bytes of documents, decoded.

use std::borrow::Cow;

use attache_core::charset;
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, WINDOWS_1252};

/// Decoded text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// The charset, if it is neither UTF-8 nor what the document declares.
    pub(crate) guessed: Option<&'static str>,
    /// The number of characters that stand as `U+FFFD` because their bytes are damaged.
    pub(crate) unreadable: usize,
}

impl<'b> Decoded<'b> {
    /// Text whose charset is no question.
    pub(crate) fn known(text: impl Into<Cow<'b, str>>) -> Self {
        Self { text: text.into(), guessed: None, unreadable: 0 }
    }
}

/// Decodes by the byte order mark, else as the media type or an XML declaration says, else as ISO-2022-JP or UTF-8, else as
/// windows-1252 if that is plausible. A declared ISO-8859-1 or windows-1252 counts only where UTF-8 does not fit, and ASCII
/// does not count. `None` if nothing fits: a replacement character is made up for damaged UTF-8 alone, and what holds NUL is
/// no text.
pub(crate) fn decode<'b>(bytes: &'b [u8], declared: Option<&str>) -> Option<Decoded<'b>> {
    let named =
        charset::named(declared, bytes).and_then(|name| Encoding::for_label_no_replacement(name.as_bytes()));
    // Every byte fits windows-1252, by whose names programs call what they do not know.
    // Nothing else begins with the mark of UTF-8, also where it is damaged.
    let sure = named.filter(|named| *named != WINDOWS_1252 && !bytes.starts_with(b"\xef\xbb\xbf"));
    let decoded = match marked(bytes).or_else(|| strict(sure?, bytes)) {
        Some(text) => Decoded::known(text),
        None => unsure(bytes, named)?,
    };
    (!decoded.text.contains('\0')).then_some(decoded)
}

fn strict<'b>(encoding: &'static Encoding, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
    encoding.decode_without_bom_handling_and_without_replacement(bytes)
}

fn marked(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let (encoding, mark) = Encoding::for_bom(bytes)?;
    strict(encoding, bytes.get(mark..)?)
}

/// Decodes what is in no charset that can be told for sure.
fn unsure<'b>(bytes: &'b [u8], named: Option<&'static Encoding>) -> Option<Decoded<'b>> {
    if charset::is_iso_2022_jp(bytes)
        && let Some(text) = strict(ISO_2022_JP, bytes)
    {
        return Some(Decoded { guessed: Some(ISO_2022_JP.name()), ..Decoded::known(text) });
    }
    if let Some(text) = strict(UTF_8, bytes) {
        return Some(Decoded::known(text));
    }
    if let Some((text, unreadable)) = charset::damaged_utf_8(bytes) {
        let guessed = (named != Some(UTF_8)).then(|| UTF_8.name());
        return Some(Decoded { text: text.into(), guessed, unreadable });
    }
    if let Some(text) = named.filter(|named| *named == WINDOWS_1252).and_then(|named| strict(named, bytes)) {
        return Some(Decoded::known(text));
    }
    Some(Decoded { guessed: Some(WINDOWS_1252.name()), ..Decoded::known(guess(bytes)?) })
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
    fn damaged_utf_8_stays_what_it_is() {
        let read = |bytes: &[u8], declared| {
            decode(bytes, declared)
                .map(|Decoded { text, guessed, unreadable }| (text.into_owned(), guessed, unreadable))
        };
        for sample in ["Größe in Zoll … 5 €, für alle Mädchen", "Общая сумма счёта", "請求書の合計金額"]
        {
            let stray = [sample.as_bytes(), b" f\xfcr"].concat();
            let expected = (format!("{sample} f\u{fffd}r"), 1);
            for (declared, guessed) in
                [(None, Some("UTF-8")), (Some("iso-8859-1"), Some("UTF-8")), (Some("utf-8"), None)]
            {
                let (text, count) = expected.clone();
                assert_eq!(read(&stray, declared), Some((text, guessed, count)), "{sample} {declared:?}");
            }
            let last = sample.rfind(|c: char| !c.is_ascii()).unwrap();
            let cut = format!("{}\u{fffd}", &sample[..last]);
            assert_eq!(read(&sample.as_bytes()[..=last], None), Some((cut, Some("UTF-8"), 1)));
        }
        let marked = ["\u{feff}Größe …".as_bytes(), b"\xfc", " 5 €".as_bytes()].concat();
        assert_eq!(read(&marked, None), Some(("Größe …\u{fffd} 5 €".to_owned(), Some("UTF-8"), 1)));
        assert_eq!(text(b"caf\xe9", Some("utf-8")), Some(("café".to_owned(), Some("windows-1252"))));
    }

    #[test]
    fn names_of_charsets_that_fit_anything_are_believed_last() {
        for declared in ["us-ascii", "ASCII", "iso-8859-1", "windows-1252"] {
            assert_eq!(text("größe 5 €".as_bytes(), Some(declared)), known("größe 5 €"), "{declared}");
        }
        assert_eq!(text(b"gr\xf6\xdfe", Some("windows-1252")), known("größe"));
        assert_eq!(text(b"Stra\xdfe", Some("us-ascii")).unwrap().1, Some("windows-1252"));
    }

    #[test]
    fn declarations_of_xml_and_escapes_of_japanese_are_read() {
        let xml = b"<?xml version='1.0' encoding='windows-1251'?><a>\xcf\xf0\xe8\xe2\xe5\xf2</a>";
        assert!(text(xml, None).unwrap().0.ends_with("<a>Привет</a>"));
        let wide = "<?xml version='1.0' encoding='utf-16'?><a>größe</a>";
        assert_eq!(text(wide.as_bytes(), None), known(wide));
        assert_eq!(text(b"\x1b$B@A5a=q\x1b(B 5", None), Some(("請求書 5".to_owned(), Some("ISO-2022-JP"))));
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
