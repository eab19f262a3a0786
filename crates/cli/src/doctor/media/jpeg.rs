//! Baseline JPEG in grey. Each block is of one colour, so it has a mean and nothing else.

use super::picture::Picture;

/// The divisor of a block's mean: with it black is -128 and white 127.
const QUANTUM: u8 = 8;
const BLACK: i32 = -128;
const WHITE: i32 = 127;

/// The file.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let mut file = vec![0xff, 0xd8];
    segment(&mut file, 0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    segment(&mut file, 0xdb, &[&[0][..], &[QUANTUM; 64]].concat());
    let size = |pixels: u32| u16::try_from(pixels).unwrap_or_default().to_be_bytes();
    let frame = [&[8][..], &size(picture.height()), &size(picture.width()), &[1, 1, 0x11, 0]].concat();
    segment(&mut file, 0xc0, &frame);
    // Differences of means: code 0 says none, 10 one of eight bits, 110 one of seven.
    segment(&mut file, 0xc4, &[&[0x00][..], &counts([1, 1, 1]), &[0, 8, 7]].concat());
    // Everything else of a block: code 0 says that there is nothing.
    segment(&mut file, 0xc4, &[&[0x10][..], &counts([1, 0, 0]), &[0]].concat());
    segment(&mut file, 0xda, &[1, 1, 0x00, 0, 63, 0]);
    file.extend(scan(picture));
    file.extend([0xff, 0xd9]);
    file
}

/// The number of codes of each length from 1 to 16 bits.
fn counts(shortest: [u8; 3]) -> [u8; 16] {
    let mut counts = [0; 16];
    for (slot, count) in counts.iter_mut().zip(shortest) {
        *slot = count;
    }
    counts
}

fn segment(file: &mut Vec<u8>, marker: u8, data: &[u8]) {
    file.extend([0xff, marker]);
    file.extend(u16::try_from(data.len() + 2).unwrap_or_default().to_be_bytes());
    file.extend(data);
}

fn scan(picture: &Picture) -> Vec<u8> {
    let mut bits = HighFirst::default();
    let mut last = 0;
    for row in 0..picture.rows() {
        for column in 0..picture.columns() {
            let mean = if picture.is_cell_black(column, row) { BLACK } else { WHITE };
            difference(&mut bits, mean - last);
            last = mean;
            bits.put(0, 1);
        }
    }
    bits.finish()
}

/// The code for how many bits the difference has, and these; a negative one is less by one.
fn difference(bits: &mut HighFirst, difference: i32) {
    let size = u32::BITS - difference.unsigned_abs().leading_zeros();
    match size {
        0 => bits.put(0b0, 1),
        7 => bits.put(0b110, 3),
        _ => bits.put(0b10, 2),
    }
    let low = if difference < 0 { difference - 1 } else { difference };
    bits.put(low.cast_unsigned() & ((1 << size) - 1), size);
}

/// Writes the highest bit first; a byte of ones is followed by one of zeros.
#[derive(Debug, Default)]
struct HighFirst {
    bytes: Vec<u8>,
    held: u8,
    count: u32,
}

impl HighFirst {
    fn put(&mut self, value: u32, bits: u32) {
        for bit in (0..bits).rev() {
            self.held = (self.held << 1) | u8::from((value >> bit) & 1 == 1);
            self.count += 1;
            if self.count == 8 {
                self.bytes.push(self.held);
                if self.held == 0xff {
                    self.bytes.push(0);
                }
                (self.held, self.count) = (0, 0);
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        while self.count > 0 {
            self.put(1, 1);
        }
        self.bytes
    }
}
