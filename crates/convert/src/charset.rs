//! Bytes to text: what charset they are in, by mark, declaration, or an honest guess.

use std::borrow::Cow;

use attache_core::charset::{damaged_utf_8, is_iso_2022_jp, named};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::Note;

/// The number of bytes that a guess looks at.
const GUESSED_FROM: usize = 1 << 20;

/// Decoded text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// The charset, if neither a mark nor a declaration nor UTF-8 says it.
    pub(crate) guessed: Option<&'static str>,
    /// The number of characters that stand as `U+FFFD` because their bytes are damaged.
    pub(crate) unreadable: usize,
}

impl<'b> Decoded<'b> {
    /// Text whose charset is no question.
    pub(crate) fn known(text: impl Into<Cow<'b, str>>) -> Self {
        Self { text: text.into(), guessed: None, unreadable: 0 }
    }

    /// Text whose charset is a guess.
    fn guessed(text: impl Into<Cow<'b, str>>, encoding: &'static Encoding) -> Self {
        Self { guessed: Some(encoding.name()), ..Self::known(text) }
    }

    /// The notes to a reader about the charset, and about what it does not fit.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> + use<> {
        let guessed = self.guessed.map(|charset| Note::Charset { charset });
        let unreadable =
            (self.unreadable > 0).then_some(Note::UnreadableCharacters { count: self.unreadable });
        guessed.into_iter().chain(unreadable)
    }
}

/// Decodes by the byte order mark, else as the media type or an XML declaration says, else as ISO-2022-JP or UTF-8, else by
/// a guess. A declared ISO-8859-1 or windows-1252 counts only where UTF-8 does not fit, and ASCII does not count. `None` if nothing fits: a
/// replacement character is made up for damaged UTF-8 and UTF-16 alone, and what holds control characters that text does
/// not hold is no text.
pub(crate) fn decode<'b>(bytes: &'b [u8], declared: Option<&str>) -> Option<Decoded<'b>> {
    let named = named(declared, bytes).and_then(|name| Encoding::for_label_no_replacement(name.as_bytes()));
    let (whole, mut bytes) = (bytes, bytes);
    let bom = Encoding::for_bom(bytes);
    if let Some((encoding, mark)) = bom {
        bytes = bytes.get(mark..).unwrap_or_default();
        match exact(encoding, bytes) {
            Some(text) => return Some(Decoded::known(text)),
            // Nothing but UTF-16 begins with its mark.
            None if encoding != UTF_8 => return damaged_utf_16(bytes, encoding),
            None => {}
        }
    }
    // Every byte fits windows-1252, by whose names programs call what they do not know.
    let sure = named.filter(|encoding| *encoding != WINDOWS_1252 && bom.is_none());
    if let Some(text) = sure.and_then(|encoding| exact(encoding, bytes)) {
        return Some(Decoded::known(text));
    }
    if is_iso_2022_jp(bytes)
        && let Some(text) = exact(ISO_2022_JP, bytes)
    {
        return Some(Decoded::guessed(text, ISO_2022_JP));
    }
    if let Some(text) = exact(UTF_8, bytes) {
        return Some(Decoded::known(text));
    }
    if let Some((text, unreadable)) = damaged_utf_8(whole).filter(|(text, _)| !text.contains('\0')) {
        let guessed = (named != Some(UTF_8)).then(|| UTF_8.name());
        return Some(Decoded { text: text.into(), guessed, unreadable });
    }
    if named == Some(WINDOWS_1252)
        && let Some(text) = exact(WINDOWS_1252, bytes)
    {
        return Some(Decoded::known(text));
    }
    let encoding = wide(bytes).or_else(|| narrow(bytes))?;
    let text = exact(encoding, bytes).filter(|text| is_text(text))?;
    Some(Decoded::guessed(text, encoding))
}

fn exact<'b>(encoding: &'static Encoding, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
    encoding.decode_without_bom_handling_and_without_replacement(bytes).filter(|text| !text.contains('\0'))
}

/// Text behind the mark of UTF-16 of which a few characters are damaged, or the last one is cut.
fn damaged_utf_16<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Option<Decoded<'b>> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    let unreadable = text.matches(char::REPLACEMENT_CHARACTER).count();
    // Of noise a thirtieth is no character.
    let (characters, damaged) = (text.chars().count(), unreadable.saturating_sub(1));
    let is_text = unreadable < characters && damaged * 100 <= characters && !text.contains('\0');
    is_text.then(|| Decoded { unreadable, ..Decoded::known(text) })
}

/// True if bytes of unknown type are text: they fit a charset, and hold no controls that text does not hold.
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    let is_foreign =
        |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c' | '\x1b' | '\u{85}');
    decode(bytes, None).is_some_and(|decoded| !decoded.text.contains(is_foreign))
}

/// UTF-16 without its mark: every other byte is hardly ever zero in anything else.
fn wide(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let sample = bytes.get(..bytes.len().min(GUESSED_FROM)).unwrap_or_default();
    let (mut low, mut high) = (0_usize, 0_usize);
    for pair in sample.chunks_exact(2) {
        if let [first, second] = pair {
            low += usize::from(*first == 0 && *second != 0);
            high += usize::from(*second == 0 && *first != 0);
        }
    }
    // A third of the units in Latin, spaces and digits included, is little for text of any script.
    let enough = sample.len() / 6;
    match (low, high) {
        (low, high) if high > enough && low * 20 < high => Some(UTF_16LE),
        (low, high) if low > enough && high * 20 < low => Some(UTF_16BE),
        _ => None,
    }
}

/// A charset of bytes, by what words and letters look like.
fn narrow(bytes: &[u8]) -> Option<&'static Encoding> {
    let sample = bytes.get(..bytes.len().min(GUESSED_FROM)).unwrap_or_default();
    // Binary formats hold these in nearly every stretch; ISO-2022 alone uses escapes in text.
    let foreign = |b: &u8| matches!(b, 0..=8 | 0xe..=0x1a | 0x1c..=0x1f | 0x7f);
    if sample.iter().any(foreign) {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == bytes.len());
    Some(detector.guess(None, Utf8Detection::Deny))
}

/// True if a guessed text looks like text: no controls that only a wrong charset makes, and hardly any private
/// characters.
fn is_text(text: &str) -> bool {
    let control =
        |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\0'..='\x08' | '\x0e'..='\x1a' | '\x1c'..='\x1f');
    let odd =
        |c: &char| matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{FFFE}' | '\u{FFFF}' | '\u{FDD0}'..='\u{FDEF}');
    !text.contains(control)
        && text.chars().filter(odd).count() * 50 <= text.len()
        && !text.trim().is_empty()
        && letters(text)
}

/// True if the characters above ASCII are mostly letters, as in every language, and not mostly signs, as in noise.
fn letters(text: &str) -> bool {
    let (mut letters, mut signs) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| !c.is_ascii()) {
        if c.is_alphanumeric() { letters += 1 } else { signs += 1 }
    }
    signs <= letters + 16 + text.len() / 50
}

#[cfg(test)]
mod tests {
    use super::{Decoded, decode};
    use encoding_rs::{EUC_KR, GBK, ISO_8859_2, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

    fn text(bytes: &[u8], declared: Option<&str>) -> Option<(String, Option<&'static str>)> {
        decode(bytes, declared).map(|decoded| (decoded.text.into_owned(), decoded.guessed))
    }

    fn known(text: &str) -> Option<(String, Option<&'static str>)> {
        Some((text.to_owned(), None))
    }

    // documents.md 9.2 D21
    #[test]
    fn marks_and_declarations_hold() {
        assert_eq!(text("größe".as_bytes(), None), known("größe"));
        assert_eq!(text(b"\xef\xbb\xbfa", Some("iso-8859-1")), known("a"));
        assert_eq!(text(b"\xff\xfea\0b\0", None), known("ab"));
        assert_eq!(text(b"gr\xf6\xdfe", Some("iso-8859-1")), known("größe"));
        assert_eq!(text(b"\x93\xfa\x96\x7b", Some("shift_jis")), known("日本"));
        assert_eq!(text("é".as_bytes(), Some("klingon")), known("é"));
    }

    // documents.md 9.2 D21
    #[test]
    fn charsets_are_guessed_and_said_to_be() {
        let japanese = "請求書の合計金額は一万二千円です。お支払い期限は五月十七日です。カタカナもあります。";
        let russian = "Общая сумма счёта составляет двадцать тысяч рублей. Оплатить до семнадцатого мая.";
        let korean = "청구서의 총액은 이만 원입니다. 지불 기한은 오월 십칠일입니다.";
        let chinese = "发票总金额为一万二千元，付款期限为五月十七日。请按时付款。";
        let german = "Die Straße führt über den Hügel; der Betrag von 5 € ist fällig.";
        let polish = "Zażółć gęślą jaźń. Łączna kwota wynosi tysiąc złotych, płatna do końca miesiąca.";
        for (encoding, sample) in [
            (SHIFT_JIS, japanese),
            (WINDOWS_1251, russian),
            (KOI8_R, russian),
            (EUC_KR, korean),
            (GBK, chinese),
            (WINDOWS_1252, german),
            (ISO_8859_2, polish),
        ] {
            let (bytes, _, lossy) = encoding.encode(sample);
            assert!(!lossy, "{}", encoding.name());
            let decoded = text(&bytes, Some("utf-8")).map(|(text, guessed)| (text, guessed.is_some()));
            assert_eq!(decoded, Some((sample.to_owned(), true)), "{}", encoding.name());
        }
    }

    #[test]
    fn damaged_utf_8_stays_what_it_is() {
        for sample in ["Größe in Zoll … 5 €, für alle Mädchen", "Общая сумма счёта", "請求書の合計金額"]
        {
            let stray = [sample.as_bytes(), b" f\xfcr"].concat();
            for (declared, guessed) in
                [(None, Some("UTF-8")), (Some("iso-8859-1"), Some("UTF-8")), (Some("utf-8"), None)]
            {
                let expected =
                    Decoded { text: format!("{sample} f\u{fffd}r").into(), guessed, unreadable: 1 };
                assert_eq!(decode(&stray, declared), Some(expected), "{sample} {declared:?}");
            }
            let last = sample.rfind(|c: char| !c.is_ascii()).unwrap();
            let cut = format!("{}\u{fffd}", &sample[..last]);
            let expected = Decoded { text: cut.into(), guessed: Some("UTF-8"), unreadable: 1 };
            assert_eq!(decode(&sample.as_bytes()[..=last], None), Some(expected), "{sample}");
        }
        let wide: Vec<u8> = "\u{feff}Größe 5 €, für alle".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let expected = Decoded { unreadable: 1, ..Decoded::known("Größe 5 €, für all\u{fffd}") };
        assert_eq!(decode(&wide[..wide.len() - 1], None), Some(expected));
    }

    #[test]
    fn names_of_charsets_that_fit_anything_are_believed_last() {
        for declared in ["us-ascii", "ASCII", "iso-8859-1", "windows-1252"] {
            assert_eq!(text("größe 5 €".as_bytes(), Some(declared)), known("größe 5 €"), "{declared}");
        }
        assert_eq!(text(b"gr\xf6\xdfe", Some("windows-1252")), known("größe"));
        let (bytes, _, _) = SHIFT_JIS.encode("請求書の合計金額は一万二千円です。");
        assert_eq!(text(&bytes, Some("us-ascii")).unwrap().1, Some("Shift_JIS"));
    }

    #[test]
    fn escapes_into_japanese_are_read_without_a_declaration() {
        let mail = b"\x1b$B@A5a=q\x1b(B 5";
        assert_eq!(text(mail, None), Some(("請求書 5".to_owned(), Some("ISO-2022-JP"))));
        assert_eq!(text(mail, Some("iso-2022-jp")), known("請求書 5"));
        assert_eq!(text(b"\x1b[31mred\x1b[0m", None), known("\x1b[31mred\x1b[0m"));
    }

    #[test]
    fn utf_16_is_known_without_its_mark() {
        let sample = "Invoice 2026-0417: größe, 20.904,97 €\n";
        let little: Vec<u8> = sample.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = sample.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(text(&little, None), Some((sample.to_owned(), Some("UTF-16LE"))));
        assert_eq!(text(&big, Some("utf-8")), Some((sample.to_owned(), Some("UTF-16BE"))));
    }

    #[test]
    fn what_is_no_text_is_not_decoded() {
        assert_eq!(text(b"a\0b", None), None);
        assert_eq!(text(b"\x01\x02\xff", None), None);
        assert_eq!(text(&[0; 100], None), None);
        assert_eq!(text(b"\xff\xfea", None), None, "half a character");
        let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(text(&noise, None), None);
        let high: Vec<u8> = noise.iter().map(|b| b | 0x80).collect();
        assert_eq!(text(&high, None), None);
    }
}
