//! Images of 8192 pixels square and of 7680 by 4320, in little memory.
//!
//! The one test here is a process of its own, so that its peak of memory is that of one image.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::Cursor;

use attache_convert::{Limits, transcode};
use attache_core::converter::MediaLimits;
use bytes::Bytes;
use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;
use tiff::encoder::{TiffEncoder, colortype};

/// The most bytes that the process may take, the image and its results included.
const MEMORY: u64 = 300_000_000;

/// The colours of an image: a slope both ways.
fn colours(width: u32, height: u32) -> Vec<u8> {
    let mut data = Vec::with_capacity(width as usize * height as usize * 3);
    for y in 0..height {
        for x in 0..width {
            data.extend([(x * 255 / width) as u8, (y * 255 / height) as u8, 128]);
        }
    }
    data
}

fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = &mut JpegEncoder::new_with_quality(&mut out, 85);
    encoder.encode(&colours(width, height), width, height, ExtendedColorType::Rgb8).unwrap();
    out
}

fn tiff(width: u32, height: u32) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut out).unwrap().with_compression(tiff::encoder::Compression::Lzw);
    let mut image = encoder.new_image::<colortype::RGB8>(width, height).unwrap();
    image.rows_per_strip(64).unwrap();
    image.write_data(&colours(width, height)).unwrap();
    out.into_inner()
}

fn lossless_webp(width: u32, height: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = image_webp::WebPEncoder::new(&mut out);
    encoder.encode(&colours(width, height), width, height, image_webp::ColorType::Rgb8).unwrap();
    out
}

fn bmp(width: u32, height: u32) -> Vec<u8> {
    let pixels = width as usize * height as usize * 3;
    let mut out = Vec::with_capacity(54 + pixels);
    out.extend(b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0");
    out.extend(width.to_le_bytes());
    out.extend(height.to_le_bytes());
    out.extend(b"\x01\0\x18\0");
    out.resize(54, 0);
    out.resize(54 + pixels, 77);
    out
}

/// A media type, what makes such an image, its width and height, and what is done with it.
type Case = (&'static str, fn(u32, u32) -> Vec<u8>, u32, u32, &'static str);

#[test]
fn large_images_are_fitted_in_little_memory() {
    // The limits of Anthropic.
    let form = MediaLimits::of(["image/png", "image/jpeg"]).with_max_pixels(8_000).with_max_bytes(10 << 20);
    let cases: [Case; 6] = [
        ("image/jpeg", jpeg, 8_192, 8_192, "scaled from 8192 × 8192 to 3238 × 3238 pixels"),
        (
            "image/bmp",
            bmp,
            8_192,
            8_192,
            "scaled from 8192 × 8192 to 3238 × 3238 pixels, re-encoded from image/bmp",
        ),
        (
            "image/bmp",
            bmp,
            7_680,
            4_320,
            "scaled from 7680 × 4320 to 4318 × 2429 pixels, re-encoded from image/bmp",
        ),
        (
            "image/tiff",
            tiff,
            8_192,
            8_192,
            "scaled from 8192 × 8192 to 3238 × 3238 pixels, re-encoded from image/tiff",
        ),
        (
            "image/webp",
            lossless_webp,
            7_680,
            4_320,
            "scaled from 7680 × 4320 to 4318 × 2429 pixels, re-encoded from image/webp",
        ),
        ("image/jpeg", jpeg, 12_000, 9_000, "scaled from 12000 × 9000 to 3739 × 2804 pixels"),
    ];
    for (media_type, make, width, height, note) in cases {
        let bytes = Bytes::from(make(width, height));
        forget_peak();
        let start = std::time::Instant::now();
        let fitted = transcode(media_type, bytes, &form, &Limits::new()).unwrap();
        let peak = peak();
        println!("{:>4} MB {:>6?} {media_type} {width} × {height}", peak / 1_000_000, start.elapsed());
        assert_eq!(fitted.note.as_deref(), Some(note));
        assert!(fitted.content.unwrap().0.len() <= 10 << 20);
        assert!(peak < MEMORY, "{media_type} {width} × {height}: {peak}");
    }
}

/// The peak of memory so far, in bytes; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Lets the peak begin anew, where the system can.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
