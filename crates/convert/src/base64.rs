//! Bytes that are written in base64.

use bytes::Bytes;

/// Undoes base64. Other bytes are passed over; padding ends a piece, as some programs join pieces that were
/// encoded one by one.
pub(crate) fn base64(bytes: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                (held, bits) = (0, 0);
                continue;
            }
            _ => continue,
        };
        held = (held << 6 | u32::from(digit)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits).to_le_bytes()[0]);
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_undone_whatever_stands_in_it() {
        assert_eq!(&base64(b"SGVsbG8h")[..], b"Hello!");
        assert_eq!(&base64(b"SGVs\r\n bG8=")[..], b"Hello");
        assert_eq!(&base64(b"SGVsbG8")[..], b"Hello");
        assert_eq!(&base64(b"SGU=SGU=\n!!")[..], b"HeHe");
        assert_eq!(&base64(b"====")[..], b"");
    }
}
