//! PNG, JPEG, GIF and WebP, and drawings.

use super::build::{noise, patched, zlib_run, zlib_stored};
use super::file::HostileFile;

pub(super) const FILES: &[HostileFile] = &[
    HostileFile::new("65535-square.png", PNG, "a header that promises four thousand million pixels", || {
        png(65_535, 65_535, 6, 0, &[(b"IDAT", zlib_stored(&[0; 100]))])
    }),
    HostileFile::new("pixel-bomb.png", PNG, "268 million pixels in a quarter of a megabyte", || {
        // Grey, one bit each: rows of 2,048 bytes and a filter.
        let rows = zlib_run(0, 16_384 * 2_049);
        png_of(16_384, 16_384, 1, 0, 0, &[(b"IDAT", rows)])
    }),
    HostileFile::new("8k-square.png", PNG, "8192 pixels square: large, but an honest image", || {
        png(8_192, 8_192, 2, 0, &[(b"IDAT", zlib_run(0, 8_192 * (8_192 * 3 + 1)))])
    }),
    HostileFile::new("interlaced.png", PNG, "8192 pixels square, in passes that have to be kept", || {
        png(8_192, 8_192, 6, 1, &[(b"IDAT", zlib_run(0, 8_192 * 8_192 * 4 + 8 * 8_192))])
    }),
    HostileFile::new("too-many-rows.png", PNG, "pixels for ten thousand images of its size", || {
        png(100, 100, 2, 0, &[(b"IDAT", zlib_run(0, 1 << 30))])
    }),
    HostileFile::new("profile-bomb.png", PNG, "a colour profile that grows to a gigabyte", || {
        let profile = [b"x\0\0".as_slice(), &zlib_run(0, 1 << 30)].concat();
        png(9_000, 1, 2, 0, &[(b"iCCP", profile), (b"IDAT", zlib_stored(&[0; 27_001]))])
    }),
    HostileFile::new("text-bomb.png", PNG, "a remark that grows to a gigabyte", || {
        let text = [b"x\0\0".as_slice(), &zlib_run(b'a', 1 << 30)].concat();
        png(9_000, 1, 2, 0, &[(b"zTXt", text), (b"IDAT", zlib_stored(&[0; 27_001]))])
    }),
    HostileFile::new("no-pixels.png", PNG, "an image of no width", || {
        png(0, 9, 2, 0, &[(b"IDAT", zlib_stored(&[0]))])
    }),
    HostileFile::new("cut-off.png", PNG, "an image that ends in its pixels", || {
        let mut file = png(9_000, 900, 2, 0, &[(b"IDAT", zlib_run(0, 900 * 27_001))]);
        file.truncate(file.len() / 2);
        file
    }),
    HostileFile::new("chunk-length.png", PNG, "a chunk that is said to be two gigabytes long", || {
        let file = png(9_000, 9, 2, 0, &[(b"IDAT", zlib_stored(&[0; 100]))]);
        patched(file, 33, &0x7fff_ffff_u32.to_be_bytes())
    }),
    HostileFile::new("animation.png", PNG, "an animation of four thousand million frames", || {
        let control = [&u32::MAX.to_be_bytes()[..], &[0; 4]].concat();
        png(9_000, 9, 0, 0, &[(b"acTL", control), (b"IDAT", zlib_run(0, 9 * 9_001))])
    }),
    HostileFile::new("65535-square.jpg", JPEG, "a header that promises four thousand million pixels", || {
        jpeg(0xc0, 65_535, 65_535, &noise(4_096))
    }),
    HostileFile::new("8k-noise.jpg", JPEG, "8192 pixels square of which most are missing", || {
        jpeg(0xc0, 8_192, 8_192, &noise(1 << 20))
    }),
    HostileFile::new(
        "progressive.jpg",
        JPEG,
        "passes over 16,000 pixels square that have to be kept",
        || jpeg(0xc2, 16_000, 16_000, &noise(4_096)),
    ),
    HostileFile::new("many-passes.jpg", JPEG, "ten thousand passes over the same pixels", || {
        let mut file = jpeg(0xc2, 9_000, 2_000, b"");
        file.truncate(file.len() - 2);
        file.extend([SCAN, &[0x55; 64]].concat().repeat(10_000));
        file.extend(b"\xff\xd9");
        file
    }),
    HostileFile::new("no-tables.jpg", JPEG, "pixels without the tables to read them", || {
        [b"\xff\xd8".as_slice(), &frame(0xc0, 9_000, 9), SCAN, &noise(999), b"\xff\xd9"].concat()
    }),
    HostileFile::new("segment-length.jpg", JPEG, "segments that run over the end", || {
        [b"\xff\xd8\xff\xe1\xff\xff".as_slice(), b"Exif\0\0", &noise(99)].concat()
    }),
    HostileFile::new("exif-circle.jpg", JPEG, "EXIF whose directory follows itself", || {
        let exif = b"\xff\xe1\x00\x1eExif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\xff\xff\xff\xff\x08\0\0\0";
        let mut file = jpeg(0xc0, 9_000, 64, &noise(4_096));
        file.splice(2..2, exif.iter().copied());
        file
    }),
    HostileFile::new("100000-frames.gif", GIF, "a hundred thousand frames", || {
        let frame = b"\x21\xf9\x04\0\0\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
        [&gif(9_000, 9)[..], &frame.repeat(100_000), b";"].concat()
    }),
    HostileFile::new("65535-square.gif", GIF, "a canvas of four thousand million pixels", || {
        let frame = b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0";
        [&gif(65_535, 65_535)[..], frame, b";"].concat()
    }),
    HostileFile::new("interlaced.gif", GIF, "200 million pixels in rows that have to be sorted", || {
        let frame = b"\x2c\0\0\0\0\x80\x3e\x80\x3e\x40\x02\x02\x44\x01\0";
        [&gif(16_000, 16_000)[..], frame, b";"].concat()
    }),
    HostileFile::new("noise.gif", GIF, "codes without any order", || {
        let blocks: Vec<u8> = noise(99_000).chunks(250).flat_map(|block| [&[250], block].concat()).collect();
        [&gif(9_000, 9_000)[..], b"\x2c\0\0\0\0\x28\x23\x28\x23\0\x08", &blocks, b"\0;"].concat()
    }),
    HostileFile::new("canvas-lies.webp", WEBP, "a small canvas with a picture of 268 million pixels", || {
        let picture = [b"\x10\x02\x00\x9d\x01\x2a\xff\x3f\xff\x3f".as_slice(), &noise(4_096)].concat();
        let canvas = [0, 0, 0, 0, 0x27, 0x23, 0, 9, 0, 0];
        riff(&[(b"VP8X", &canvas), (b"VP8 ", &picture)])
    }),
    HostileFile::new("16383-square.webp", WEBP, "a picture of 268 million pixels without content", || {
        let picture = [b"\x10\x02\x00\x9d\x01\x2a\xff\x3f\xff\x3f".as_slice(), &noise(4_096)].concat();
        riff(&[(b"VP8 ", &picture)])
    }),
    HostileFile::new("lossless-noise.webp", WEBP, "lossless pixels without any order", || {
        let picture = [b"\x2f\xff\xc7\xff\x01".as_slice(), &noise(1 << 16)].concat();
        riff(&[(b"VP8L", &picture)])
    }),
    HostileFile::new("100000-frames.webp", WEBP, "a hundred thousand frames", || {
        let canvas = [2, 0, 0, 0, 0x27, 0x23, 0, 9, 0, 0];
        let frame = [0; 24];
        let mut chunks: Vec<(&[u8; 4], &[u8])> = vec![(b"VP8X", &canvas), (b"ANIM", &[0; 6])];
        chunks.resize(100_002, (b"ANMF", &frame));
        riff(&chunks)
    }),
    HostileFile::new("chunk-length.webp", WEBP, "a chunk that is said to be four gigabytes long", || {
        let file = riff(&[(b"VP8X", &[0, 0, 0, 0, 0x27, 0x23, 0, 9, 0, 0]), (b"EXIF", &[0; 9])]);
        patched(file, 34, &u32::MAX.to_le_bytes())
    }),
    HostileFile::new("entities.svg", "image/svg+xml", "a drawing that grows by its entities", || {
        let mut file = String::from("<?xml version=\"1.0\"?><!DOCTYPE svg [<!ENTITY a \"aaaaaaaaaa\">");
        for (name, last) in ('b'..='j').zip('a'..) {
            file.push_str(&format!("<!ENTITY {name} \"{}\">", format!("&{last};").repeat(10)));
        }
        file.push_str("]><svg xmlns=\"http://www.w3.org/2000/svg\"><text>&j;</text></svg>");
        file.into_bytes()
    }),
    HostileFile::new("references.svg", "image/svg+xml", "a drawing that uses itself and reads files", || {
        b"<!DOCTYPE svg [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><svg xmlns=\"http://www.w3.org/2000/svg\" \
          xmlns:xlink=\"http://www.w3.org/1999/xlink\"><g id=\"a\"><use xlink:href=\"#a\"/></g><text>&x;</text>\
          <image xlink:href=\"http://127.0.0.1/x.png\"/><script>while(1);</script></svg>"
            .to_vec()
    }),
    HostileFile::new("empty-box.heic", "image/heic", "a container with boxes that hold themselves", || {
        [b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".as_slice(), &b"\xff\xff\xff\xffmeta\0\0\0\0".repeat(99)]
            .concat()
    }),
];

const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";
const GIF: &str = "image/gif";
const WEBP: &str = "image/webp";

/// A PNG of eight bits a sample.
fn png(width: u32, height: u32, colours: u8, interlaced: u8, chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    png_of(width, height, 8, colours, interlaced, chunks)
}

fn png_of(
    width: u32,
    height: u32,
    bits: u8,
    colours: u8,
    interlaced: u8,
    chunks: &[(&[u8; 4], Vec<u8>)],
) -> Vec<u8> {
    let header =
        [&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, colours, 0, 0, interlaced]].concat();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8; 4], data: &[u8]| {
        out.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
        let start = out.len();
        out.extend_from_slice(name);
        out.extend_from_slice(data);
        let sum = crc32fast::hash(out.get(start..).unwrap_or_default());
        out.extend(sum.to_be_bytes());
    };
    chunk(b"IHDR", &header);
    for (name, data) in chunks {
        chunk(name, data);
    }
    chunk(b"IEND", b"");
    out
}

/// The start of a pass over all coefficients of all three components.
const SCAN: &[u8] = b"\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x00\x00";

/// The header of a frame of three components, all sampled alike.
fn frame(marker: u8, width: u16, height: u16) -> Vec<u8> {
    let mut out = vec![0xff, marker, 0, 17, 8];
    out.extend(height.to_be_bytes());
    out.extend(width.to_be_bytes());
    out.extend(b"\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00");
    out
}

/// A JPEG whose one pass has this data; its codes are a bit long and mean no difference, or the end of a block.
fn jpeg(marker: u8, width: u16, height: u16, data: &[u8]) -> Vec<u8> {
    let mut out = b"\xff\xd8\xff\xdb\x00\x43\x00".to_vec();
    out.extend([1; 64]);
    for class in [0x00, 0x10] {
        out.extend([0xff, 0xc4, 0, 20, class, 1]);
        out.extend([0; 15]);
        out.push(0);
    }
    out.extend(frame(marker, width, height));
    out.extend_from_slice(SCAN);
    out.extend(data.iter().map(|byte| byte & 0x7f));
    out.extend(b"\xff\xd9");
    out
}

/// The head of a GIF of two colours.
fn gif(width: u16, height: u16) -> Vec<u8> {
    let mut out = b"GIF89a".to_vec();
    out.extend(width.to_le_bytes());
    out.extend(height.to_le_bytes());
    out.extend(b"\x80\0\0\0\0\0\xff\xff\xff");
    out
}

fn riff(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut body = b"WEBP".to_vec();
    for (name, data) in chunks {
        body.extend_from_slice(*name);
        body.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_le_bytes());
        body.extend_from_slice(data);
        body.resize(body.len().next_multiple_of(2), 0);
    }
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [b"RIFF".as_slice(), &length.to_le_bytes(), &body].concat()
}
