//! Encoded words in headers (RFC 2047), and bytes in a charset that a header names.

use encoding_rs::{Encoding, ISO_2022_JP};

use super::transfer;
use crate::charset::{self, Decoded};

/// Longer names of charsets are no names.
const MAX_LABEL: usize = 60;

/// A text with its encoded words decoded, wherever they stand. Broken ones stay as they are.
///
/// Some programs divide characters between words, so adjacent words of one charset are decoded together.
pub(super) fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run: Option<Run<'_>> = None;
    let (mut done, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("=?")) {
        let start = at + found;
        let Some(word) = text.get(start + 2..).and_then(Word::read) else {
            at = start + 2;
            continue;
        };
        let end = start + 2 + word.len;
        let between = text.get(done..start).unwrap_or_default();
        let adjacent = run.is_some() && between.trim().is_empty();
        match &mut run {
            Some(run) if adjacent && run.label.eq_ignore_ascii_case(word.label) => {
                run.bytes.extend(word.bytes);
                run.end = end;
            }
            _ => {
                if let Some(run) = run.take() {
                    run.push_to(&mut out, text);
                }
                if !adjacent {
                    out.push_str(between);
                }
                let start = if adjacent { done } else { start };
                run = Some(Run { label: word.label, bytes: word.bytes, start, end });
            }
        }
        (done, at) = (end, end);
    }
    if let Some(run) = run {
        run.push_to(&mut out, text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Adjacent words of one charset.
struct Run<'t> {
    label: &'t str,
    bytes: Vec<u8>,
    /// Where they begin, with the blanks behind words of another charset.
    start: usize,
    end: usize,
}

impl Run<'_> {
    fn push_to(&self, out: &mut String, text: &str) {
        match in_charset(&self.bytes, self.label) {
            Some(decoded) => out.push_str(&decoded),
            None => out.push_str(text.get(self.start..self.end).unwrap_or_default()),
        }
    }
}

/// One encoded word.
struct Word<'t> {
    label: &'t str,
    bytes: Vec<u8>,
    /// Its length without the `=?` at its start.
    len: usize,
}

impl<'t> Word<'t> {
    /// The word that begins here, behind its `=?`.
    fn read(text: &'t str) -> Option<Self> {
        let (label, rest) = text.split_once('?')?;
        // A language may follow the charset (RFC 2231, section 5).
        let name = label.split('*').next().unwrap_or_default();
        if name.len() > MAX_LABEL || !label.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        let (kind, rest) = rest.split_at_checked(2)?;
        let quoted = match kind {
            "Q?" | "q?" => true,
            "B?" | "b?" => false,
            _ => return None,
        };
        let length = length(rest.as_bytes(), quoted)?;
        let content = rest.get(..length)?;
        let bytes = if quoted { unquote(content) } else { unbase(content)? };
        Some(Self { label: name, bytes, len: label.len() + 3 + length + 2 })
    }
}

/// The length of the text of a word. Words of some programs hold blanks and question marks, but none holds the start
/// of another: that is where a broken one is given up.
fn length(text: &[u8], quoted: bool) -> Option<usize> {
    memchr::memchr_iter(b'?', text)
        .map(|at| (at, at.checked_sub(1).and_then(|before| text.get(before)), text.get(at + 1)))
        .find_map(|(at, before, behind)| match behind {
            Some(b'=') if quoted && is_bare(text.get(at + 2..).unwrap_or_default()) => None,
            Some(b'=') => Some(Some(at)),
            _ if before == Some(&b'=') => Some(None),
            _ => None,
        })
        .flatten()
}

/// True if a `?=` ends no word: it is a question mark and an escape, and the word ends behind them.
fn is_bare(behind: &[u8]) -> bool {
    let end = memchr::memchr(b'?', behind).filter(|end| behind.get(end + 1) == Some(&b'='));
    let between = end.and_then(|end| behind.get(..end)).unwrap_or_default();
    let escape = between.get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    escape && !between.iter().any(u8::is_ascii_whitespace)
}

fn unquote(content: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len());
    transfer::escapes(content.replace('_', " ").as_bytes(), b'=', &mut bytes);
    bytes
}

fn unbase(content: &str) -> Option<Vec<u8>> {
    let known = |b: u8| b.is_ascii_alphanumeric() || b"+/-_= ".contains(&b);
    let bytes = content.bytes().all(known).then(|| crate::base64::base64(content.as_bytes()))?;
    (content.is_empty() || !bytes.is_empty()).then(|| bytes.into())
}

/// Bytes in a charset as text. They are guessed at if the charset is unknown or none of its text; `None` if no guess
/// fits.
pub(super) fn in_charset(bytes: &[u8], label: &str) -> Option<String> {
    if is_utf_7(label) {
        return Some(utf_7(bytes));
    }
    let Some(encoding) = Encoding::for_label_no_replacement(label.as_bytes()) else {
        let text = charset::decode(bytes, None)?.text;
        // So do texts look whose charset switches by controls.
        return (!text.contains(char::is_control)).then(|| text.into_owned());
    };
    let bytes = if encoding == ISO_2022_JP { &*without_idle_escapes(bytes) } else { bytes };
    let text = match charset::decode(bytes, Some(label)) {
        Some(decoded) if decoded.guessed.is_none() => decoded.text,
        guess => {
            let (text, ..) = encoding.decode(bytes);
            // Characters that are cut are no reason to guess.
            let inner = text.trim_matches(char::REPLACEMENT_CHARACTER);
            let lies = inner.contains(char::REPLACEMENT_CHARACTER)
                && !inner.contains(|c: char| !c.is_ascii() && c != char::REPLACEMENT_CHARACTER);
            guess.filter(|_| lies).map_or(text, |guess| guess.text)
        }
    };
    Some(text.into_owned())
}

/// ISO-2022-JP without escapes that another follows, as where words are joined: for decoders they are faults.
fn without_idle_escapes(bytes: &[u8]) -> Vec<u8> {
    const ESCAPE: u8 = 0x1b;
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        if *first == ESCAPE && rest.get(3) == Some(&ESCAPE) {
            rest = rest.get(3..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = behind;
        }
    }
    out
}

/// Bytes as text: in UTF-7, which nothing but e-mails is in, or as [`charset::decode`] reads them.
pub(super) fn text_in<'b>(bytes: &'b [u8], label: Option<&str>) -> Option<Decoded<'b>> {
    match label.is_some_and(is_utf_7) {
        true => Some(Decoded::known(utf_7(bytes))),
        false => charset::decode(bytes, label),
    }
}

fn is_utf_7(label: &str) -> bool {
    let label = label.trim();
    label.eq_ignore_ascii_case("utf-7") || label.eq_ignore_ascii_case("unicode-1-1-utf-7")
}

/// UTF-7 (RFC 2152): UTF-16 in base64 between `+` and what is no base64.
fn utf_7(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((plain, behind)) = rest.split_once('+') {
        out.push_str(plain);
        let digits = behind.len()
            - behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/').len();
        let (digits, behind) = behind.split_at(digits);
        let bytes = crate::base64::base64(digits.as_bytes());
        let units =
            bytes.chunks_exact(2).map(|pair| pair.iter().fold(0, |unit, b| unit << 8 | u16::from(*b)));
        out.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
        if digits.is_empty() {
            out.push('+');
        }
        rest = behind.strip_prefix('-').unwrap_or(behind);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::decode;

    /// Headers as programs write them, and their texts as Python's `email.header.decode_header` has them.
    #[test]
    fn words_are_decoded_as_python_does() {
        for (written, text) in [
            ("=?iso-8859-1?Q?Rechnung_f=FCr_M=E4rz?=", "Rechnung für März"),
            ("=?ISO-8859-1?q?a?= =?ISO-8859-1?q?b?=", "ab"),
            ("=?ISO-8859-1?Q?a_b?= c", "a b c"),
            ("=?ISO-8859-1?Q?a?= =?ISO-8859-2?Q?_b?=", "a b"),
            ("Re: =?utf-8?b?R3LDtsOfZQ==?= (2)", "Re: Größe (2)"),
            ("a@example.com (=?ISO-8859-1?Q?a?=   =?ISO-8859-1?Q?b?=)", "a@example.com (ab)"),
            (
                "=?utf-8?B?SsO8cmdlbg==?= =?utf-8?Q?_M=C3=BCller?= <jm@example.com>",
                "Jürgen Müller <jm@example.com>",
            ),
            // Characters that are divided, also between the two encodings.
            ("=?UTF-8?B?R3LD?= =?UTF-8?B?tsOfZQ==?=", "Größe"),
            ("=?UTF-8?Q?Gr=C3?= =?utf-8?Q?=B6=C3=9Fe?=", "Größe"),
            ("=?utf-8?Q?=E2=82?= =?utf-8?B?rCA1MA==?=", "€ 50"),
            // Charsets.
            ("=?GB2312?B?t6LGsdLRv6o=?=", "发票已开"),
            ("=?Shift_JIS?B?kL+LgY+R?=", "請求書"),
            ("=?KOI8-R?B?896j1CDawSDNwdLU?=", "Счёт за март"),
            ("=?windows-1251?Q?=D1=F7=B8=F2?=", "Счёт"),
            ("=?ks_c_5601-1987?B?w7uxuLyt?=", "청구서"),
            ("=?big5?B?tW+yvA==?=", "發票"),
            ("=?us-ascii?Q?plain?=", "plain"),
            ("=??Q?abc?=", "abc"),
            ("=?utf-7?Q?Kosten_+AOQ-nderung_+- 1?=", "Kosten änderung + 1"),
            // Each word as the rule is, and one text that is cut anywhere.
            ("=?ISO-2022-JP?B?GyRCQEE1YT1xJE43bxsoQg==?=", "請求書の件"),
            ("=?ISO-2022-JP?B?GyRCQEE1YT1xGyhC?= =?ISO-2022-JP?B?GyRCJE43bxsoQg==?=", "請求書の件"),
            ("=?ISO-2022-JP?B?GyRCQEE1?= =?ISO-2022-JP?B?YT1xJE43bxsoQg==?=", "請求書の件"),
            // Words that the rules forbid.
            ("=?utf-8?Q?Was_nun??=", "Was nun?"),
            ("=?utf-8?Q?two words?=", "two words"),
            ("=?utf-8?B?R3LDtsOfZQ?=", "Größe"),
            ("=?utf-8?Q?=C3=A4?==?utf-8?Q?=C3=B6?=", "äö"),
            ("=?utf-8?Q?a=3Fb=5F_c?=", "a?b_ c"),
            ("=?utf-8?Q?100=_5=zz?=", "100= 5=zz"),
            ("=?utf-8?Q??= x", " x"),
            ("=?utf-8?Q?foo =?utf-8?Q?b=C3=A4r?=", "=?utf-8?Q?foo bär"),
            // Broken words.
            ("=?utf-8?X?abc?=", "=?utf-8?X?abc?="),
            ("=?utf-8?Q?abc", "=?utf-8?Q?abc"),
            ("=?utf-8?Q?abc?", "=?utf-8?Q?abc?"),
            ("1 =? 2 ?= 3", "1 =? 2 ?= 3"),
        ] {
            assert_eq!(decode(written), text, "{written}");
        }
    }

    /// Where Python's older reader fails or adds blanks, its newer one (`email.policy.default`) has these.
    #[test]
    fn words_are_decoded_as_the_newer_reader_of_python_does() {
        for (written, text) in [
            ("=?utf-8*de?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
            ("Re:=?utf-8?Q?=C3=A4?=:x", "Re:ä:x"),
            ("\"=?utf-8?Q?M=C3=BCller=2C_J?=\" <j@example.com>", "\"Müller, J\" <j@example.com>"),
            ("=?unknown-8bit?Q?caf=C3=A9?=", "café"),
            ("=?x-none?Q?plain_words?=", "plain words"),
        ] {
            assert_eq!(decode(written), text, "{written}");
        }
    }

    /// Where Python is of no help, for the reasons given.
    #[test]
    fn words_that_lie_are_read_as_they_were_meant() {
        // It takes ISO 8859-1 at its word. Programs mean windows-1252, and the standard of encodings says so.
        assert_eq!(decode("=?iso-8859-1?Q?=80_=93x=94?="), "€ “x”");
        // It refuses characters of GBK in GB 2312, which programs mean by it.
        assert_eq!(decode("=?gb2312?B?6EbCtw==?="), "鐵路");
        // It puts a replacement character for each byte that is not in the charset.
        assert_eq!(decode("=?utf-8?Q?M=FCller_und_S=F6hne?="), "Müller und Söhne");
        assert_eq!(decode("=?utf-8?Q?Gr=C3=B6_=C3_?="), "Grö \u{fffd} ");
        assert_eq!(decode("=?utf-8?Q?=B6_and_Gr=C3?="), "\u{fffd} and Gr\u{fffd}", "characters are cut");
        // It ends the word at an escape behind a question mark, and leaves the rest undecoded.
        assert_eq!(decode("=?utf-8?Q?wann?=20und_wo?=20?="), "wann? und wo? ");
        // It passes over what is no base64, and makes up text.
        assert_eq!(decode("=?utf-8?B?no base64!?="), "=?utf-8?B?no base64!?=");
        assert_eq!(decode("=?utf-8?B?====?="), "=?utf-8?B?====?=");
        assert_eq!(decode("=?utf-8?Q?a?= =?hz-gb-2312?B?AQI=?="), "a =?hz-gb-2312?B?AQI=?=");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn plain_text_stays_as_it_is(text in "[^=]{0,60}") {
            prop_assert_eq!(decode(&text), text);
        }

        /// Half a megabyte of any pattern: steps that grow with the square of its length would take minutes.
        #[test]
        fn patterns_of_words_take_no_time(
            pattern in proptest::collection::vec(
                prop_oneof!["[=?QB_ a4+]", Just("=?utf-8?Q?".to_owned()), Just("=?iso-2022-jp?B?".to_owned()),
                    Just("?=".to_owned()), Just("=?u?q?a?=20".to_owned()), Just("\u{1b}$B".to_owned()),
                    Just("=?utf-7?Q?+".to_owned())],
                1..6,
            ),
            start in "(=\\?utf-8\\?Q\\?)?",
        ) {
            let pattern = pattern.concat();
            let text = format!("{start}{}", pattern.repeat((512 << 10) / pattern.len()));
            let begun = std::time::Instant::now();
            let _ = decode(&text);
            prop_assert!(begun.elapsed().as_secs() < 20, "{}", pattern);
        }
    }
}
