//! Bytes to text: what charset they are in, by mark, declaration, or an honest guess.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::Note;

/// The number of bytes that a guess looks at.
const GUESSED_FROM: usize = 1 << 20;

/// Decoded text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// The charset, if neither a mark nor a declaration nor UTF-8 says it.
    pub(crate) guessed: Option<&'static str>,
}

impl Decoded<'_> {
    /// The note to a reader about the charset.
    pub(crate) fn note(&self) -> Option<Note> {
        self.guessed.map(|charset| Note::Charset { charset })
    }
}

/// Decodes by the byte order mark, else as declared, else as UTF-8, else by a guess. `None` if nothing fits: a
/// replacement character is never made up, and what holds control characters that text does not hold is no text.
pub(crate) fn decode<'b>(bytes: &'b [u8], declared: Option<&str>) -> Option<Decoded<'b>> {
    let exact = |encoding: &'static Encoding, bytes: &'b [u8]| {
        encoding
            .decode_without_bom_handling_and_without_replacement(bytes)
            .filter(|text| !text.contains('\0'))
    };
    let known = |text| Decoded { text, guessed: None };
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let text = exact(encoding, bytes.get(mark..).unwrap_or_default());
        // Nothing but UTF-16 begins with its mark.
        if text.is_some() || encoding != UTF_8 {
            return text.map(known);
        }
    }
    let declared = declared.and_then(|name| Encoding::for_label_no_replacement(name.as_bytes()));
    if let Some(text) = declared.and_then(|encoding| exact(encoding, bytes)).or_else(|| exact(UTF_8, bytes)) {
        return Some(known(text));
    }
    let encoding = wide(bytes).or_else(|| narrow(bytes))?;
    let text = exact(encoding, bytes).filter(|text| is_text(text))?;
    Some(Decoded { text, guessed: Some(encoding.name()) })
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
    use super::decode;
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
