//! Base64 for documents in JSON. (RFC 4648)

use std::sync::LazyLock;

use ::base64::Engine as _;
use ::base64::engine::general_purpose::PAD;
use ::base64::engine::{DecodePaddingMode, Simd};

/// Its making asks the processor for its abilities, and fills tables.
static STANDARD: LazyLock<Simd> = LazyLock::new(|| {
    Simd::standard(
        PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true),
    )
});

/// Encodes `bytes` in the standard alphabet, padded, in one line.
///
/// ```
/// assert_eq!(attache_core::base64::encode("hi"), "aGk=");
/// ```
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let mut text = Vec::new();
    encode_onto(bytes.as_ref(), &mut text);
    // It is ASCII, so that nothing is lost.
    String::from_utf8(text).unwrap_or_default()
}

/// Appends the encoded `bytes` to `text`, as [`encode`] writes them.
pub fn encode_onto(bytes: &[u8], text: &mut Vec<u8>) {
    let (start, length) = (text.len(), bytes.len().div_ceil(3) * 4);
    match text.capacity() {
        // Memory that the allocator has from the system is zero already.
        0 => *text = vec![0; length],
        _ => text.resize(start + length, 0),
    }
    if let Some(room) = text.get_mut(start..) {
        let written = STANDARD.encode_slice(bytes, room);
        debug_assert_eq!(written, Ok(room.len()));
    }
}

/// Decodes base64 as servers, mail programs and models write it: in the standard or the URL-safe alphabet, padded or
/// not, with white space anywhere. Returns `None` if the text is not base64.
///
/// ```
/// use attache_core::base64::decode;
///
/// assert_eq!(decode("aG\r\nk=").as_deref(), Some(&b"hi"[..]));
/// assert_eq!(decode("aGk"), decode("aGk="));
/// assert_eq!(decode("hi!"), None);
/// ```
pub fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let text = text.as_ref();
    STANDARD.decode(text).ok().or_else(|| decode_tidied(text))
}

/// Decodes base64 as [`encode`] writes it: padded, and in one line. Returns `None` for truncated text, and for a piece
/// of it that does not encode whole bytes.
///
/// ```
/// use attache_core::base64::decode_whole;
///
/// assert_eq!(decode_whole("aGk=").as_deref(), Some(&b"hi"[..]));
/// assert_eq!((decode_whole("aGk"), decode_whole("aG k=")), (None, None));
/// ```
pub fn decode_whole(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let text = text.as_ref();
    text.len().is_multiple_of(4).then(|| STANDARD.decode(text).ok())?
}

/// Decodes once more what was written in another way.
fn decode_tidied(text: &[u8]) -> Option<Vec<u8>> {
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let mut tidied: Vec<u8> = text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(standard).collect();
    // Some write more padding than there is to fill.
    let end = tidied.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    tidied.truncate(end);
    STANDARD.decode(tidied).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    const VECTORS: [(&str, &str); 7] = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];

    #[test]
    fn vectors_of_the_standard_hold() {
        for (bytes, text) in VECTORS {
            assert_eq!(encode(bytes), text);
            let mut appended = b"x".to_vec();
            encode_onto(bytes.as_bytes(), &mut appended);
            assert_eq!(appended, format!("x{text}").as_bytes());
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
            assert_eq!(decode_whole(text).as_deref(), Some(bytes.as_bytes()));
            assert_eq!(decode(text.trim_end_matches('=')).as_deref(), Some(bytes.as_bytes()));
        }
    }

    #[test]
    fn text_of_others_is_read() {
        // The four bytes have both characters in which the alphabets differ.
        for text in ["+/++/w==", "-_--_w", " +/++\r\n/w =\t=\n", "+/++/w=", "+/++/w====", "+_-+/x=="] {
            assert_eq!(decode(text).as_deref(), Some(&[0xfb, 0xff, 0xbe, 0xff][..]), "{text:?}");
        }
        assert_eq!(decode(" \n").as_deref(), Some(&b""[..]));
        for text in ["Zg", "Zg=", "Zm8", "Zm9", "Zg==\n", "-_--", "Zg==Zg==", "===="] {
            assert_eq!(decode_whole(text), None, "{text:?}");
        }
        for text in ["A", "AAAAA", "Zg==Zg==", "Zm9v!", "Zm\u{0}9v", "data:,", "ü"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2_000), width in 1_usize..100) {
            let text = encode(&bytes);
            let lines: Vec<&[u8]> = text.as_bytes().chunks(width).collect();
            proptest::prop_assert_eq!(decode(lines.join(&b"\r\n"[..])), Some(bytes.clone()));
            proptest::prop_assert_eq!(decode(text), Some(bytes));
        }
    }
}
