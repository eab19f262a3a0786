//! BMP. Pixels that are not compressed are read here, row by row; the library takes the rest.

use std::io::Cursor;

use image::codecs::bmp::BmpDecoder;
use image::{ColorType, ImageDecoder, Limits};

use super::decoded::{Decoded, MALFORMED};
use super::rows::{Rows, check_memory, check_size};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::{le16, le32};
use crate::transcode::image::raster::Layout;
use crate::transcode::image::scale::Room;

pub(super) fn decode(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    match Plain::read(bytes) {
        Some(plain) => plain.decode(bytes, room, clock),
        None => by_library(bytes, room, clock),
    }
}

/// A file whose pixels are not compressed.
struct Plain {
    width: u32,
    height: u32,
    from_top: bool,
    /// Where the pixels begin, and how long a row is.
    start: usize,
    stride: usize,
    pixels: Pixels,
}

enum Pixels {
    /// Bits of an index into these colours.
    Indexed(u32, Vec<[u8; 3]>),
    /// Bytes of a pixel, and where its red, green, blue and, if it has some, alpha are.
    Masked(usize, [u32; 4]),
}

impl Plain {
    /// `None` for what the library has to read.
    fn read(bytes: &[u8]) -> Option<Self> {
        let header = le32(bytes, 14)?;
        // OS/2 has a header of its own, with sides of 16 bits and colours of three bytes.
        let old = header == 12;
        if !old && header < 40 {
            return None;
        }
        let (width, height) = if old {
            (le16(bytes, 18)?, le16(bytes, 20)?.cast_signed())
        } else {
            (le32(bytes, 18)?, le32(bytes, 22)?.cast_signed())
        };
        let depth = if old { le16(bytes, 24)? } else { le16(bytes, 28)? };
        let compression = if old { 0 } else { le32(bytes, 30)? };
        // A mask of the alpha is there from the third version of the header on.
        let masks = || {
            let alpha = if header >= 56 { le32(bytes, 66)? } else { 0 };
            Some([le32(bytes, 54)?, le32(bytes, 58)?, le32(bytes, 62)?, alpha])
        };
        let pixels = match (depth, compression) {
            (1 | 2 | 4 | 8, 0) => {
                let said = if old { 0 } else { usize::try_from(le32(bytes, 46)?).ok()? };
                let count = if said == 0 || said > 1 << depth { 1 << depth } else { said };
                let table = bytes.get(14 + usize::try_from(header).ok()?..)?;
                let each = if old { 3 } else { 4 };
                let colours = table.chunks_exact(each).take(count).filter_map(|colour| match colour {
                    [blue, green, red, ..] => Some([*red, *green, *blue]),
                    _ => None,
                });
                Pixels::Indexed(depth, colours.collect())
            }
            (16, 0) => Pixels::Masked(2, [0x7c00, 0x03e0, 0x001f, 0]),
            (24, 0) => Pixels::Masked(3, [0x00ff_0000, 0xff00, 0xff, 0]),
            (32, 0) => Pixels::Masked(4, [0x00ff_0000, 0xff00, 0xff, 0]),
            (16, 3 | 6) => Pixels::Masked(2, masks()?),
            (32, 3 | 6) => Pixels::Masked(4, masks()?),
            _ => return None,
        };
        let stride = u64::from(width).checked_mul(u64::from(depth))?.div_ceil(32).checked_mul(4)?;
        Some(Self {
            width,
            height: height.unsigned_abs(),
            from_top: height < 0,
            start: usize::try_from(le32(bytes, 10)?).ok()?,
            stride: usize::try_from(stride).ok()?,
            pixels,
        })
    }

    fn decode(&self, bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
        check_size((self.width, self.height))?;
        let layout = match self.pixels {
            Pixels::Masked(_, [_, _, _, alpha]) if alpha != 0 => Layout::Rgba,
            _ => Layout::Rgb,
        };
        let mut rows = Rows::new(layout, (self.width, self.height), room, clock)?;
        let data = bytes.get(self.start..).ok_or(MALFORMED)?;
        let mut out = Vec::with_capacity(self.width as usize * layout.channels());
        let white = vec![u8::MAX; self.width as usize * layout.channels()];
        let mut read = 0;
        for index in 0..self.height {
            let line = if self.from_top { index } else { self.height - 1 - index } as usize;
            let place = line.checked_mul(self.stride);
            let row = place.and_then(|place| data.get(place..place.checked_add(self.stride)?));
            let Some(row) = row else {
                // Cut off: the top is missing where rows come from the bottom.
                rows.push(&white)?;
                continue;
            };
            out.clear();
            self.pixels.row(row, self.width as usize, &mut out);
            rows.push(&out)?;
            read += 1;
        }
        if read == 0 {
            return Err(MALFORMED);
        }
        let mut decoded = rows.finish()?;
        decoded.rows_read = (read < self.height).then_some(read);
        Ok(decoded)
    }
}

impl Pixels {
    fn row(&self, row: &[u8], width: usize, out: &mut Vec<u8>) {
        match self {
            Self::Indexed(depth, colours) => {
                let per_byte = 8 / depth;
                let indices = row.iter().flat_map(|byte| {
                    let shifts = (0..per_byte).rev().map(|place| place * depth);
                    shifts.map(|shift| usize::from(*byte) >> shift & ((1 << depth) - 1))
                });
                for index in indices.take(width) {
                    out.extend(colours.get(index).copied().unwrap_or_default());
                }
            }
            Self::Masked(bytes, masks) => {
                let used = if masks.last() == Some(&0) { 3 } else { 4 };
                for pixel in row.chunks_exact(*bytes).take(width) {
                    let value = pixel.iter().rev().fold(0_u32, |value, byte| (value << 8) | u32::from(*byte));
                    out.extend(masks.iter().take(used).map(|mask| channel(value, *mask)));
                }
            }
        }
    }
}

/// The part of a pixel under a mask, as eight bits.
fn channel(value: u32, mask: u32) -> u8 {
    if mask == 0 {
        return 0;
    }
    let most = u64::from(mask >> mask.trailing_zeros());
    let part = u64::from((value & mask) >> mask.trailing_zeros());
    u8::try_from((part * 255 + most / 2) / most).unwrap_or(u8::MAX)
}

/// Compressed pixels, and headers that are rarer still.
fn by_library(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    let mut decoder = BmpDecoder::new(Cursor::new(bytes)).map_err(|_| MALFORMED)?;
    decoder.set_limits(Limits::no_limits()).map_err(|_| MALFORMED)?;
    let size = decoder.dimensions();
    let pixels = check_size(size)?;
    let layout = match decoder.color_type() {
        ColorType::L8 => Layout::Gray,
        ColorType::Rgb8 => Layout::Rgb,
        ColorType::Rgba8 => Layout::Rgba,
        _ => return Err(MALFORMED),
    };
    let kept = pixels * layout.channels() as u64;
    check_memory(bytes, kept)?;
    let mut rows = Rows::new(layout, size, room, clock)?;
    let mut data = vec![0; usize::try_from(kept).map_err(|_| MALFORMED)?];
    decoder.read_image(&mut data).map_err(|_| MALFORMED)?;
    for row in data.chunks_exact(size.0 as usize * layout.channels()) {
        rows.push(row)?;
    }
    drop(data);
    rows.finish()
}
