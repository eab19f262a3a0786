//! The bits of a JPEG's pixels, and the codes they are written in.

use crate::ConvertError;

use super::super::decoded::MALFORMED;

/// Reads bits, first bit highest, up to the next marker; behind that, zeros.
pub(super) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    held: u64,
    count: u32,
    /// The number of bits that were read behind the end.
    missing: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at, held: 0, count: 0, missing: 0 }
    }

    fn fill(&mut self) {
        while self.count <= 48 {
            let byte = match (self.data.get(self.at), self.data.get(self.at + 1)) {
                (Some(0xff), Some(0)) => {
                    self.at += 2;
                    0xff
                }
                (Some(0xff), _) | (None, _) => {
                    self.missing += 8;
                    0
                }
                (Some(byte), _) => {
                    self.at += 1;
                    *byte
                }
            };
            self.held = (self.held << 8) | u64::from(byte);
            self.count += 8;
        }
    }

    fn peek(&mut self) -> usize {
        if self.count < 16 {
            self.fill();
        }
        (self.held >> (self.count - 16) & 0xffff) as usize
    }

    /// The next bits, at most 16.
    pub(super) fn take(&mut self, count: u32) -> u32 {
        if count == 0 {
            return 0;
        }
        if self.count < count {
            self.fill();
        }
        self.count -= count;
        (self.held >> self.count) as u32 & ((1 << count) - 1)
    }

    pub(super) fn bit(&mut self) -> bool {
        self.take(1) == 1
    }

    /// The next number of so many bits, of which half of the values are negative.
    pub(super) fn signed(&mut self, count: u32) -> i32 {
        let value = self.take(count).cast_signed();
        if count > 0 && value < 1 << (count - 1) { value - (1 << count) + 1 } else { value }
    }

    pub(super) fn symbol(&mut self, codes: &Codes) -> Result<u8, ConvertError> {
        let (length, symbol) = codes.table.get(self.peek()).copied().unwrap_or_default();
        if length == 0 {
            return Err(MALFORMED);
        }
        self.count -= u32::from(length);
        Ok(symbol)
    }

    /// True if bits were used that are not there.
    pub(super) fn is_over(&self) -> bool {
        self.missing > self.count
    }

    /// Goes on behind a restart marker, if one is next.
    pub(super) fn restart(&mut self) {
        (self.held, self.count, self.missing) = (0, 0, 0);
        while let Some(rest) = self.data.get(self.at..) {
            match rest {
                [0xff, 0xd0..=0xd7, ..] => {
                    self.at += 2;
                    return;
                }
                // Fill bytes, and what a broken stretch left over.
                [0xff, 0xff, ..] | [0xff, 0, ..] => self.at += 1,
                [0xff, ..] | [] => return,
                _ => self.at += 1,
            }
        }
    }

    /// Where the next marker is.
    pub(super) fn end(&self) -> usize {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let is_marker =
            |pair: &[u8]| matches!(pair, [0xff, second] if !matches!(second, 0 | 0xff | 0xd0..=0xd7));
        rest.windows(2).position(is_marker).map_or(self.data.len(), |place| self.at + place)
    }
}

/// A Huffman code: for the next sixteen bits, how many of them are a symbol's, and which symbol it is.
#[derive(Clone)]
pub(super) struct Codes {
    table: Vec<(u8, u8)>,
}

impl Codes {
    /// The number of codes of each length from one bit on, and the symbols in order.
    pub(super) fn new(counts: &[u8], symbols: &[u8]) -> Result<Self, ConvertError> {
        let mut table = Vec::with_capacity(1 << 16);
        let mut symbols = symbols.iter();
        for (length, count) in (1_u8..).zip(counts) {
            for symbol in symbols.by_ref().take(usize::from(*count)) {
                table.extend(std::iter::repeat_n((length, *symbol), 1 << (16 - length)));
                if table.len() > 1 << 16 {
                    return Err(MALFORMED);
                }
            }
        }
        table.resize(1 << 16, (0, 0));
        Ok(Self { table })
    }
}

#[cfg(test)]
mod tests {
    use super::{Bits, Codes};

    #[test]
    fn codes_and_numbers_are_read() {
        // The codes 0, 10 and 110.
        let mut counts = [0; 16];
        counts[..3].copy_from_slice(&[1, 1, 1]);
        let codes = Codes::new(&counts, &[7, 8, 9]).unwrap();
        // 0 10 110, then 3 bits 011, then a stuffed byte, then a marker.
        let data = [0b0101_1001, 0b1000_0000, 0xff, 0x00, 0xff, 0xd9];
        let mut bits = Bits::new(&data, 0);
        let symbols: Vec<_> = (0..3).map(|_| bits.symbol(&codes).unwrap()).collect();
        assert_eq!(symbols, [7, 8, 9]);
        assert_eq!(bits.signed(3), -4);
        assert_eq!(bits.take(7), 0);
        assert_eq!((bits.take(8), bits.is_over()), (0xff, false));
        assert!(!bits.bit() && bits.is_over());
        assert_eq!(bits.end(), 4);
        // No code begins with three ones.
        assert!(Bits::new(&[0xe0], 0).symbol(&codes).is_err());
        assert!(Codes::new(&[3], &[1, 2, 3]).is_err());
    }

    #[test]
    fn restarts_are_found_behind_what_is_left_over() {
        let mut bits = Bits::new(&[0x12, 0xff, 0xff, 0xd3, 0x80], 0);
        assert_eq!(bits.take(4), 1);
        bits.restart();
        assert!(bits.bit());
    }
}
