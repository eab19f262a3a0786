//! Content as it was before it was made fit for transport.

use bytes::Bytes;

/// Undoes quoted-printable; what is no valid escape stands for itself.
pub(super) fn quoted_printable(bytes: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        let (text, joined) = match text.strip_suffix(b"=") {
            Some(text) => (text, true),
            None => (text, false),
        };
        escapes(text, b'=', &mut out);
        if !joined && line.ends_with(b"\n") {
            out.extend_from_slice(if line.ends_with(b"\r\n") { b"\r\n" } else { b"\n" });
        }
    }
    out.into()
}

/// Adds bytes without escapes, each a mark and two digits; what is no valid escape stands for itself.
pub(super) fn escapes(bytes: &[u8], mark: u8, out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == mark).then(|| after.get(..2).and_then(hex)).flatten();
        match escaped {
            Some(byte) => {
                out.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
}

fn hex(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::quoted_printable;

    #[test]
    fn quoted_printable_is_undone() {
        assert_eq!(&quoted_printable(b"gr=C3=B6=\r\n=C3=9fe  \r\nx=3D=")[..], "größe\r\nx=".as_bytes());
        assert_eq!(&quoted_printable(b"a=zz =\n b=+1=4")[..], b"a=zz  b=+1=4");
    }
}
