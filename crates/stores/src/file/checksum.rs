//! Lines of JSON that carry a checksum of themselves.
//!
//! A sealed line begins with `{"crc":"1c291ca3",`: the CRC-32 (IEEE) of all bytes behind that comma, the line's end left
//! out, in lower-case hexadecimal digits.

const HEAD: &str = "{\"crc\":\"";
const EMPTY: &str = "{\"crc\":\"00000000\",";

/// Begins a line at the end of `text`; its members follow. Yields where it begins, for [`finish`].
pub(super) fn begin(text: &mut Vec<u8>) -> usize {
    let start = text.len();
    text.extend_from_slice(EMPTY.as_bytes());
    start
}

/// Seals the line that began at `start`, and ends it.
pub(super) fn finish(text: &mut Vec<u8>, start: usize) {
    let members = text.get(start + EMPTY.len()..).unwrap_or_default();
    let crc = format!("{:08x}", crc32fast::hash(members));
    let digits = start + HEAD.len();
    if let Some(place) = text.get_mut(digits..digits + crc.len()) {
        place.copy_from_slice(crc.as_bytes());
    }
    text.push(b'\n');
}

/// True if a line, without its end, is as it was sealed.
pub(super) fn holds(line: &[u8]) -> bool {
    let Some((head, members)) = line.split_at_checked(EMPTY.len()) else {
        return false;
    };
    let expected = format!("{HEAD}{:08x}\",", crc32fast::hash(members));
    head == expected.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The CRC is that of zlib and PNG, so that other programs can check a line.
    #[test]
    fn a_sealed_line_carries_its_crc() {
        let mut text = b"before\n".to_vec();
        let start = begin(&mut text);
        text.extend_from_slice(b"123456789");
        finish(&mut text, start);
        assert_eq!(text, b"before\n{\"crc\":\"cbf43926\",123456789\n");
        assert!(holds(&text[start..text.len() - 1]));
        assert!(!holds(b"") && !holds(&text[start..start + 18]));
    }

    #[test]
    fn every_flipped_bit_shows() {
        let mut text = Vec::new();
        let start = begin(&mut text);
        text.extend_from_slice(br#""line":1,"left":0,"claim":1}"#);
        finish(&mut text, start);
        text.pop();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[at] ^= 1 << bit;
                assert!(!holds(&flipped), "bit {bit} of byte {at}");
            }
        }
    }
}
