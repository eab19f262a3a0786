//! Lossless WebP: one bit a pixel.

use super::bits::LowFirst;
use super::picture::Picture;

/// The file.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let mut data = lossless(picture);
    let length = u32::try_from(data.len()).unwrap_or_default();
    if !data.len().is_multiple_of(2) {
        data.push(0);
    }
    let whole = u32::try_from(data.len() + 12).unwrap_or_default();
    let mut file = [&b"RIFF"[..], &whole.to_le_bytes(), b"WEBPVP8L", &length.to_le_bytes()].concat();
    file.extend(data);
    file
}

fn lossless(picture: &Picture) -> Vec<u8> {
    let mut bits = LowFirst::default();
    bits.put(0x2f, 8);
    bits.put(picture.width() - 1, 14);
    bits.put(picture.height() - 1, 14);
    // Nothing is transparent; version 0.
    bits.put(0, 4);
    // One transformation: red and blue are differences from green. Then none follow.
    bits.put(0b101, 3);
    bits.put(0, 1);
    // No cache of colours, one set of codes.
    bits.put(0, 2);
    // Green is 0 or 255, in one bit.
    bits.put(0b011, 3);
    bits.put(0, 1);
    bits.put(255, 8);
    // Red and blue are always 0, alpha is always 255, and there are no distances; all in no bit.
    only_zero(&mut bits);
    only_zero(&mut bits);
    bits.put(0b101, 3);
    bits.put(255, 8);
    only_zero(&mut bits);
    for black in picture.pixels() {
        bits.put(u32::from(!black), 1);
    }
    bits.finish()
}

/// A code for the single symbol 0: simple, one symbol, of one bit.
fn only_zero(bits: &mut LowFirst) {
    bits.put(0b0001, 4);
}
