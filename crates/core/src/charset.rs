//! Charset detection, for crates that decode text.

/// The name of the declared charset of a text: from its media type, otherwise from the XML declaration.
///
/// Names that cannot be correct also yield `None`: ASCII is ignored, since programs use it for text of unknown charset,
/// and a declaration that can be read byte by byte is not in UTF-16.
///
/// ```
/// use attache_core::charset::named;
/// let xml = b"<?xml version='1.0' encoding='ISO-8859-2'?><a/>";
/// assert_eq!(named(None, xml), Some("ISO-8859-2"));
/// assert_eq!(named(Some("utf-8"), xml), Some("utf-8"));
/// assert_eq!(named(Some("us-ascii"), b"caf\xe9"), None);
/// assert_eq!(named(None, b"<?xml version='1.0' encoding='UTF-16'?><a/>"), None);
/// ```
pub fn named<'a>(declared: Option<&'a str>, bytes: &'a [u8]) -> Option<&'a str> {
    let is = |name: &str, names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let is_wide = |name: &str| {
        let family = name.get(..6).unwrap_or(name);
        is(family, &["utf-16", "ucs-2", "iso-10", "unicod", "csunic"])
    };
    let is_meant = |name: &&str| !is(name, &["us-ascii", "ascii", "ansi_x3.4-1968"]);
    declared.filter(is_meant).or_else(|| in_declaration(bytes).filter(|name| !is_wide(name)).filter(is_meant))
}

/// The charset in the declaration of an XML document.
fn in_declaration(bytes: &[u8]) -> Option<&str> {
    // Most text is none: no more of it than this is looked at.
    let head = bytes.trim_ascii_start().strip_prefix(b"<?xml")?;
    let head = head.get(..head.len().min(200))?;
    let declaration = std::str::from_utf8(head.get(..memchr::memchr(b'>', head)?)?).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value.get(1..)?.split(quote).next()
}

/// True if the bytes are ISO-2022-JP text, which is ASCII with escape sequences for Japanese.
///
/// ```
/// assert!(attache_core::charset::is_iso_2022_jp(b"\x1b$B@A5a=q\x1b(B"));
/// assert!(!attache_core::charset::is_iso_2022_jp(b"\x1b[31mred\x1b[0m"));
/// ```
pub fn is_iso_2022_jp(bytes: &[u8]) -> bool {
    let is_into = |at: usize| {
        let escape = bytes.get(at + 1..at + 3);
        escape.is_some_and(|escape| matches!(escape, b"$@" | b"$B" | b"(J"))
    };
    memchr::memchr_iter(0x1b, bytes).any(is_into) && bytes.is_ascii()
}

/// Decodes UTF-8 with a few damaged bytes or a cut last character, and counts the characters replaced by `U+FFFD`.
/// Returns `None` if the bytes are probably not UTF-8: text in other charsets hardly ever contains a valid multi-byte
/// UTF-8 sequence, and hardly ever has six in seven valid. Any text after the UTF-8 byte order mark, which is removed,
/// is UTF-8.
///
/// ```
/// use attache_core::charset::damaged_utf_8;
/// let cut = &"Größe: 5 €".as_bytes()[..13];
/// assert_eq!(damaged_utf_8(cut), Some(("Größe: 5 \u{fffd}".to_owned(), 1)));
/// assert_eq!(damaged_utf_8(b"Gr\xf6\xdfe"), None);
/// ```
pub fn damaged_utf_8(bytes: &[u8]) -> Option<(String, usize)> {
    let marked = bytes.strip_prefix(b"\xef\xbb\xbf");
    let bytes = marked.unwrap_or(bytes);
    let (mut whole, mut damaged, mut is_cut) = (0_usize, 0_usize, false);
    for chunk in bytes.utf8_chunks() {
        // Each character above ASCII begins with one of these.
        whole += chunk.valid().bytes().filter(|byte| *byte >= 0xc0).count();
        damaged += usize::from(!chunk.invalid().is_empty());
        is_cut = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
    }
    // A text that ends with a letter of Latin-1 ends like one that is cut.
    let is_likely = marked.is_some() || whole >= 6 * damaged || damaged == 1 && is_cut && whole >= 2;
    (damaged > 0 && is_likely).then(|| (String::from_utf8_lossy(bytes).into_owned(), damaged))
}

#[cfg(test)]
mod tests {
    use super::{damaged_utf_8, is_iso_2022_jp, named};

    #[test]
    fn utf_8_of_which_a_few_bytes_are_damaged_is_told_from_other_charsets() {
        let german = "Größe in Zoll … 5 €, für alle Mädchen".as_bytes();
        let damaged = [german, b" f\xfcr"].concat();
        assert_eq!(
            damaged_utf_8(&damaged),
            Some(("Größe in Zoll … 5 €, für alle Mädchen f\u{fffd}r".to_owned(), 1))
        );
        let russian = "Общая сумма".as_bytes();
        assert_eq!(damaged_utf_8(&russian[..russian.len() - 1]), Some(("Общая сумм\u{fffd}".to_owned(), 1)));
        for other in [
            &b"Gr\xf6\xdfe f\xfcr M\xe4dchen"[..],
            b"caf\xe9",
            b"Spa\xdf\x85 caf\xe9",
            b"\xce\xb4\xd6\xaa\xd1\xa1\xcf\xee\xa3\xba%s",
            b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g",
            b"\xcc\xee\xf1\xea\xe2\xe0 \xab\xc0\xbb \xb9 5",
            b"plain",
            "größe".as_bytes(),
            b"",
        ] {
            assert_eq!(damaged_utf_8(other), None, "{}", other.escape_ascii());
        }
    }

    #[test]
    fn declarations_are_read_where_they_can_be_meant() {
        let named = |head: &[u8]| named(None, head).map(str::to_owned);
        assert_eq!(super::named(Some("US-ASCII"), b"<?xml encoding='koi8-r'?>"), Some("koi8-r"));
        assert_eq!(named(b"\n<?xml version = '1.0' encoding = \"koi8-r\" ?>").as_deref(), Some("koi8-r"));
        for nothing in [
            &b"<?xml version='1.0'?><a encoding='koi8-r'/>"[..],
            b"<a encoding='koi8-r'>",
            b"<?xml encoding=koi8-r?>",
            b"<?xml encoding='koi8-r",
            b"<?xml encoding='utf-16le'?>",
            b"<?xml encoding='ISO-10646-UCS-2'?>",
            b"<?xml encoding='US-ASCII'?>",
            b"<?xml encoding='unicode'?>",
            b"",
        ] {
            assert_eq!(named(nothing), None, "{}", nothing.escape_ascii());
        }
    }

    #[test]
    fn escapes_of_terminals_are_no_japanese() {
        assert!(is_iso_2022_jp(b"a \x1b$@F|K\\\x1b(J"));
        for other in [&b"\x1b[1m$B"[..], b"$B \x1b", b"\x1b$B\xff", b"\x1b(B"] {
            assert!(!is_iso_2022_jp(other), "{}", other.escape_ascii());
        }
    }
}
