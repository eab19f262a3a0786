//! PNG: one bit a pixel, not compressed.

use super::picture::{CELL, Picture};

/// The file.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [picture.width().to_be_bytes(), picture.height().to_be_bytes()].concat();
    // One bit of grey; the usual compression and filters, no interlace.
    header.extend([1, 0, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", &zlib(&lines(picture)));
    chunk(&mut file, *b"IEND", &[]);
    file
}

/// The lines of pixels, each after its filter, which is none. A cell is a byte.
fn lines(picture: &Picture) -> Vec<u8> {
    let mut lines = Vec::new();
    for y in 0..picture.height() {
        lines.push(0);
        let cell = |column| if picture.is_cell_black(column, y / CELL) { 0x00 } else { 0xff };
        lines.extend((0..picture.columns()).map(cell));
    }
    lines
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or_default();
    file.extend(length.to_be_bytes());
    file.extend(name);
    file.extend(data);
    file.extend(crc32(name.iter().chain(data)).to_be_bytes());
}

/// Stored blocks in the frame of zlib.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or_default();
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn crc32<'b>(bytes: impl Iterator<Item = &'b u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| {
                if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
            },
        )
    })
}

fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    (high << 16) | low
}
