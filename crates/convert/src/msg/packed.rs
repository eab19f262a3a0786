//! The compression of formatted bodies ([MS-OXRTFCP]).

use crate::fields::{place_at, u32_at};

/// The text that a reader knows before the first byte.
const KNOWN: &[u8] =
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \
\\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \
\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

/// The ring that keeps the text that was read last.
const WINDOW: usize = 4096;

/// The marks of data that are compressed and of data that are not.
const COMPRESSED: u32 = 0x7546_5a4c;
const PLAIN: u32 = 0x414c_454d;

/// The RTF of a body, at most `limit` bytes; what there is of one that breaks off. `None` if it is none.
pub(super) fn unpack(body: &[u8], limit: usize) -> Option<Vec<u8>> {
    let length = place_at(body, 4)?.min(limit);
    let data = body.get(16..)?;
    match u32_at(body, 8)? {
        PLAIN => Some(data.get(..length).unwrap_or(data).to_vec()),
        COMPRESSED => Some(expand(data, length)),
        _ => None,
    }
}

fn expand(data: &[u8], length: usize) -> Vec<u8> {
    let mut window = [b' '; WINDOW];
    let mut at = 0;
    let mut put = |window: &mut [u8; WINDOW], byte: u8| {
        if let Some(place) = window.get_mut(at) {
            *place = byte;
        }
        at = (at + 1) % WINDOW;
        at
    };
    let mut end = 0;
    for byte in KNOWN {
        end = put(&mut window, *byte);
    }
    let mut out = Vec::new();
    let mut bytes = data.iter().copied();
    while let Some(flags) = bytes.next() {
        for bit in 0..8 {
            if out.len() >= length {
                return out;
            }
            let Some(first) = bytes.next() else { return out };
            if flags & 1 << bit == 0 {
                out.push(first);
                end = put(&mut window, first);
                continue;
            }
            let Some(second) = bytes.next() else { return out };
            let reference = usize::from(first) << 8 | usize::from(second);
            let (from, count) = (reference >> 4, (reference & 15) + 2);
            if from == end {
                return out;
            }
            for offset in 0..count.min(length - out.len()) {
                let byte = window.get((from + offset) % WINDOW).copied().unwrap_or(b' ');
                out.push(byte);
                end = put(&mut window, byte);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, unpack};

    /// The examples of [MS-OXRTFCP] 4.1 and 4.2.
    #[test]
    fn compressed_bodies_are_unpacked() {
        assert_eq!(KNOWN.len(), 207);
        let simple =
            b"\x2d\0\0\0\x2b\0\0\0LZFu\xf1\xc5\xc7\xa7\x03\0\x0a\0rcpg125\x42\x32\x0a\xf3 hel\x09\0 bw\
                       \x05\xb0ld}\x0a\x80\x0f\xa0";
        assert_eq!(unpack(simple, 1000).unwrap(), b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n");
        let crossing = b"\x1a\0\0\0\x1c\0\0\0LZFu\xe2\xd4\x4b\x51\x41\0\x04\x20WXYZ\x0d\x6e\x7d\x01\x0e\xb0";
        assert_eq!(unpack(crossing, 1000).unwrap(), b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}");
        assert_eq!(unpack(crossing, 9).unwrap().len(), 9);
        assert_eq!(unpack(b"\x10\0\0\0\x04\0\0\0MELA\0\0\0\0{\\r}", 1000).unwrap(), b"{\\r}");
        assert_eq!(unpack(b"short", 1000), None);
    }
}
