//! TIFF and BMP: what scanners and old programs write, and no provider takes.

use super::build::{noise, patched, zlib_run, zlib_stored};
use super::file::HostileFile;

pub(super) const FILES: &[HostileFile] = &[
    HostileFile::new("directory-circle.tiff", TIFF, "pages that follow each other in a circle", || {
        let file = tiff(&[(256, 9), (257, 9), (258, 8), (262, 1), (273, 0), (279, 81)], &[7; 81]);
        patched(file, 10 + 6 * 12, &8_u32.to_le_bytes())
    }),
    HostileFile::new("10000-pages.tiff", TIFF, "ten thousand pages without anything on them", || {
        let mut file = b"II*\0\x08\0\0\0".to_vec();
        for page in 1..=10_000_u32 {
            file.extend(b"\x01\0\x00\x01\x04\0\x01\0\0\0\x09\0\0\0");
            file.extend((8 + 18 * page).to_le_bytes());
        }
        file
    }),
    HostileFile::new("16383-square.tiff", TIFF, "268 million pixels in one strip", || {
        tiff(
            &[
                (256, 16_383),
                (257, 16_383),
                (258, 8),
                (259, 8),
                (262, 1),
                (273, 0),
                (278, 16_383),
                (279, 999),
            ],
            &zlib_run(0, 1 << 20),
        )
    }),
    HostileFile::new("strip-bomb.tiff", TIFF, "a strip of a few rows that grows to a gigabyte", || {
        let strip = zlib_run(0, 1 << 30);
        let length = u32::try_from(strip.len()).unwrap_or(u32::MAX);
        tiff(
            &[(256, 99), (257, 99), (258, 8), (259, 8), (262, 1), (273, 0), (278, 99), (279, length)],
            &strip,
        )
    }),
    HostileFile::new("huge-tiles.tiff", TIFF, "tiles far larger than the image", || {
        tiff(
            &[
                (256, 9),
                (257, 9),
                (258, 8),
                (259, 8),
                (262, 1),
                (322, 0x7fff_fff0),
                (323, 0x7fff_fff0),
                (324, 0),
                (325, 99),
            ],
            &zlib_stored(&[0; 81]),
        )
    }),
    HostileFile::new("jpeg-inside.tiff", TIFF, "a strip that is a JPEG of 268 million pixels", || {
        let mut jpeg =
            b"\xff\xd8\xff\xc0\x00\x11\x08\x3f\xff\x3f\xff\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00".to_vec();
        jpeg.extend(b"\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00");
        jpeg.extend(noise(999));
        let length = u32::try_from(jpeg.len()).unwrap_or(u32::MAX);
        tiff(
            &[
                (256, 99),
                (257, 99),
                (258, 8),
                (259, 7),
                (262, 6),
                (273, 0),
                (277, 3),
                (278, 99),
                (279, length),
            ],
            &jpeg,
        )
    }),
    HostileFile::new("fax-noise.tiff", TIFF, "a fax without any order", || {
        tiff(
            &[(256, 9_999), (257, 9_999), (258, 1), (259, 4), (262, 0), (273, 0), (278, 9_999), (279, 9_999)],
            &noise(9_999),
        )
    }),
    HostileFile::new("many-values.tiff", TIFF, "a tag of four thousand million values", || {
        let file = tiff(&[(256, 9), (257, 9), (258, 8), (262, 1), (273, 0), (279, 81)], &[7; 81]);
        // The count of the places of the strips.
        patched(file, 10 + 4 * 12 + 4, &u32::MAX.to_le_bytes())
    }),
    HostileFile::new("offset-nowhere.tiff", TIFF, "a directory beyond the end", || {
        b"MM\0*\xff\xff\xff\xf0".to_vec()
    }),
    HostileFile::new(
        "upside-down.bmp",
        BMP,
        "rows from the top, which is what a negative height means",
        || bmp(9, -9, 24, 0, &[128; 9 * 28]),
    ),
    HostileFile::new("lowest-height.bmp", BMP, "a height that has no positive", || {
        bmp(9, i32::MIN, 24, 0, &[128; 999])
    }),
    HostileFile::new("negative-width.bmp", BMP, "a width below zero", || bmp(-9, 9, 24, 0, &[128; 999])),
    HostileFile::new("run-bomb.bmp", BMP, "runs for 268 million pixels in a few bytes", || {
        bmp(16_384, 16_384, 8, 1, &[b"\xff\x01".repeat(99).as_slice(), b"\0\x01"].concat())
    }),
    HostileFile::new("8k-bits.bmp", BMP, "8192 pixels square of a bit each", || {
        bmp(8_192, 8_192, 1, 0, &noise(8_192 * 1_024))
    }),
    HostileFile::new("pixels-nowhere.bmp", BMP, "pixels beyond the end", || {
        patched(bmp(9, 9, 24, 0, &[1; 252]), 10, &u32::MAX.to_le_bytes())
    }),
];

const TIFF: &str = "image/tiff";
const BMP: &str = "image/bmp";

/// A page with these tags, each one number of 32 bits, and its data behind them, whose place is what is said of the
/// tags 273 and 324.
fn tiff(tags: &[(u16, u32)], data: &[u8]) -> Vec<u8> {
    let count = u16::try_from(tags.len()).unwrap_or(u16::MAX);
    let place = 8 + 2 + 12 * u32::from(count) + 4;
    let mut out = b"II*\0\x08\0\0\0".to_vec();
    out.extend(count.to_le_bytes());
    for &(tag, value) in tags {
        out.extend(tag.to_le_bytes());
        out.extend(4_u16.to_le_bytes());
        out.extend(1_u32.to_le_bytes());
        out.extend(if matches!(tag, 273 | 324) { place } else { value }.to_le_bytes());
    }
    out.extend([0; 4]);
    out.extend_from_slice(data);
    out
}

fn bmp(width: i32, height: i32, bits: u16, compression: u32, pixels: &[u8]) -> Vec<u8> {
    let colours = if bits <= 8 { 1_usize << bits } else { 0 };
    let start = u32::try_from(54 + 4 * colours).unwrap_or(u32::MAX);
    let mut out = b"BM\0\0\0\0\0\0\0\0".to_vec();
    out.extend(start.to_le_bytes());
    out.extend(40_u32.to_le_bytes());
    out.extend(width.to_le_bytes());
    out.extend(height.to_le_bytes());
    out.extend(1_u16.to_le_bytes());
    out.extend(bits.to_le_bytes());
    out.extend(compression.to_le_bytes());
    out.extend([0; 20]);
    out.extend((0..colours).flat_map(|colour| [colour.to_le_bytes()[0]; 4]));
    out.extend_from_slice(pixels);
    out
}
