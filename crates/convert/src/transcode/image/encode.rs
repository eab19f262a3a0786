//! Images as PNG and JPEG, no longer than allowed.

use std::io::{self, Write};

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;
use png::{BitDepth, ColorType, Compression};

use super::raster::{Layout, Raster};

/// A writer that refuses to write more than it may, so that nothing is encoded in vain.
struct Limited {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The image as PNG; `None` if it takes more than `most` bytes.
pub(super) fn png(raster: &Raster, most: usize) -> Option<Vec<u8>> {
    let mut out = Limited { bytes: Vec::new(), most };
    {
        let mut encoder = png::Encoder::new(&mut out, raster.width, raster.height);
        encoder.set_color(match raster.layout {
            Layout::Gray => ColorType::Grayscale,
            Layout::GrayAlpha => ColorType::GrayscaleAlpha,
            Layout::Rgb => ColorType::Rgb,
            Layout::Rgba => ColorType::Rgba,
            Layout::Cmyk => return None,
        });
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Balanced);
        let mut writer = encoder.write_header().ok()?;
        // Row by row, so that what does not fit is noticed early.
        let mut stream = writer.stream_writer().ok()?;
        for row in raster.rows() {
            stream.write_all(row).ok()?;
        }
        stream.finish().ok()?;
        // Dropped, it would keep an error to itself.
        writer.finish().ok()?;
    }
    Some(out.bytes)
}

/// The image as JPEG of a quality up to 100; `None` if it takes more than `most` bytes, or has alpha.
pub(super) fn jpeg(raster: &Raster, quality: u8, most: usize) -> Option<Vec<u8>> {
    let colours = match raster.layout {
        Layout::Gray => ExtendedColorType::L8,
        Layout::Rgb => ExtendedColorType::Rgb8,
        Layout::GrayAlpha | Layout::Rgba | Layout::Cmyk => return None,
    };
    let mut out = Limited { bytes: Vec::new(), most };
    let mut encoder = JpegEncoder::new_with_quality(&mut out, quality);
    encoder.encode(&raster.data, raster.width, raster.height, colours).ok()?;
    Some(out.bytes)
}

#[cfg(test)]
mod tests {
    use super::{Layout, Raster, jpeg, png};

    #[test]
    fn nothing_longer_than_allowed_is_made() {
        let data = (0..64 * 64 * 3_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let raster = Raster { width: 64, height: 64, layout: Layout::Rgb, data };
        let whole = png(&raster, usize::MAX).unwrap();
        assert_eq!(png(&raster, whole.len()).as_ref(), Some(&whole));
        assert_eq!(png(&raster, whole.len() - 1), None);
        let fine = jpeg(&raster, 90, usize::MAX).unwrap();
        let coarse = jpeg(&raster, 30, usize::MAX).unwrap();
        assert!(coarse.len() < fine.len());
        assert_eq!(jpeg(&raster, 90, fine.len() - 1), None);
    }
}
