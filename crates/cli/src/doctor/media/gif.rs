//! GIF in two colours.

use std::collections::HashMap;

use super::bits::LowFirst;
use super::picture::Picture;

/// The least that GIF knows, though one bit a pixel would do.
const BITS: u8 = 2;
const CLEAR: u32 = 1 << BITS;
const END: u32 = CLEAR + 1;
/// The codes that a table can hold.
const MOST: u32 = 4096;

/// The file.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let size = |pixels: u32| u16::try_from(pixels).unwrap_or_default().to_le_bytes();
    let (width, height) = (size(picture.width()), size(picture.height()));
    // A table of two colours, white and black, for all of it.
    let mut file = [&b"GIF89a"[..], &width, &height, &[0x80, 0, 0, 255, 255, 255, 0, 0, 0]].concat();
    file.extend([&[0x2c, 0, 0, 0, 0][..], &width, &height, &[0, BITS]].concat());
    for block in compressed(picture.pixels().map(u32::from)).chunks(255) {
        file.push(u8::try_from(block.len()).unwrap_or_default());
        file.extend(block);
    }
    file.extend([0, 0x3b]);
    file
}

/// Lempel-Ziv-Welch with codes that grow.
fn compressed(mut pixels: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut out = LowFirst::default();
    let mut table = Table::new();
    out.put(CLEAR, table.width);
    let Some(mut run) = pixels.next() else { return out.finish() };
    for pixel in pixels {
        if let Some(longer) = table.codes.get(&(run, pixel)) {
            run = *longer;
            continue;
        }
        out.put(run, table.width);
        table.add(Some((run, pixel)));
        if table.next == MOST {
            out.put(CLEAR, table.width);
            table = Table::new();
        }
        run = pixel;
    }
    out.put(run, table.width);
    table.add(None);
    out.put(END, table.width);
    out.finish()
}

/// The runs of pixels that have a code.
struct Table {
    codes: HashMap<(u32, u32), u32>,
    next: u32,
    width: u32,
}

impl Table {
    fn new() -> Self {
        Self { codes: HashMap::new(), next: END + 1, width: u32::from(BITS) + 1 }
    }

    /// Takes the next code, as a reader does after each code that it reads.
    fn add(&mut self, run: Option<(u32, u32)>) {
        self.codes.extend(run.map(|run| (run, self.next)));
        // The reader is one code behind.
        if self.next == 1 << self.width {
            self.width += 1;
        }
        self.next += 1;
    }
}
