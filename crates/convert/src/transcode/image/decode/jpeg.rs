//! JPEG: grey, colour, and the inks of printers.

mod bits;
mod small;
mod square;
mod tables;

use image::metadata::Orientation;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::decoded::{Decoded, MALFORMED};
use super::rows::{Rows, check_memory, check_size};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::JpegFrame;
use crate::transcode::image::raster::Layout;
use crate::transcode::image::scale::Room;

pub(super) fn decode(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    let frame = JpegFrame::read(bytes).ok_or(MALFORMED)?;
    let pixels = check_size((frame.width, frame.height))?;
    let components = frame.sampling.len();
    let (colours, layout) = match components {
        1 => (ColorSpace::Luma, Layout::Gray),
        3 => (ColorSpace::RGB, Layout::Rgb),
        4 => (ColorSpace::CMYK, Layout::Cmyk),
        _ => return Err(MALFORMED),
    };
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX)
        .jpeg_set_out_colorspace(colours);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|_| MALFORMED)?;
    // Our reading of the header and the decoder's must be one.
    if decoder.dimensions() != Some((frame.width as usize, frame.height as usize)) {
        return Err(MALFORMED);
    }
    let stored = decoder.input_colorspace().ok_or(MALFORMED)?;
    let coefficients = if frame.in_passes { frame.coefficient_bytes() } else { 0 };
    let mut decoded = if check_memory(bytes, coefficients + pixels * components as u64).is_ok() {
        if layout == Layout::Cmyk {
            // Inks as they are: what colours they make, the profile says.
            decoder.set_options(options.jpeg_set_out_colorspace(stored));
        }
        if decoder.output_buffer_size() != Some(pixels as usize * components) {
            return Err(MALFORMED);
        }
        let mut rows = Rows::new(layout, (frame.width, frame.height), room, clock)?;
        let mut samples = decoder.decode().map_err(|_| MALFORMED)?;
        for row in samples.chunks_exact_mut(frame.width as usize * components) {
            if layout == Layout::Cmyk {
                inks(row, stored == ColorSpace::YCCK, frame.adobe);
            }
            rows.push(row)?;
        }
        drop(samples);
        rows.finish()?
    } else {
        large(bytes, &frame, stored, layout, room, clock)?
    };
    decoded.lossy = true;
    decoded.profile = decoder.icc_profile();
    let exif = decoder.exif().map(Vec::as_slice);
    decoded.orientation = exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms);
    Ok(decoded)
}

/// Decodes an image that would be too much as a whole, at the smallest size that still fills the room.
fn large(
    bytes: &[u8],
    frame: &JpegFrame,
    stored: ColorSpace,
    layout: Layout,
    room: Room,
    clock: Clock,
) -> Result<Decoded, ConvertError> {
    let original = (frame.width, frame.height);
    let wanted = room.size(original.0, original.1);
    let fits = |kept: &usize| check_memory(bytes, small::memory(frame, *kept)).is_ok();
    let fills = |kept: &usize| small::size(frame, *kept).0 >= wanted.0;
    let kept = [1, 2, 4].into_iter().find(|kept| fits(kept) && fills(kept));
    let Some(kept) = kept.or_else(|| [4, 2, 1].into_iter().find(fits)) else {
        return Err(check_memory(bytes, small::memory(frame, 1)).err().unwrap_or(MALFORMED));
    };
    let mut rows = Rows::new(layout, small::size(frame, kept), room, clock)?;
    let whole = small::decode(bytes, frame, kept, &mut rows, &|row| match layout {
        Layout::Cmyk => inks(row, stored == ColorSpace::YCCK, frame.adobe),
        Layout::Rgb if stored == ColorSpace::YCbCr => {
            for pixel in row.chunks_exact_mut(3) {
                if let [y, cb, cr] = pixel {
                    [*y, *cb, *cr] = rgb_of(*y, *cb, *cr);
                }
            }
        }
        _ => {}
    })?;
    let mut decoded = rows.finish()?;
    // Its rows stand for more of them.
    let rows_read = decoded.rows_read.map(|rows| rows * 8 / u32::try_from(kept).unwrap_or(8));
    decoded.rows_read = rows_read.or((!whole).then_some(original.1)).map(|rows| rows.min(original.1));
    decoded.original = original;
    Ok(decoded)
}

/// Makes inks of what a JPEG of four components stores: inks, or three of them as brightness and colour, and, as
/// Adobe's programs do, inverted.
fn inks(row: &mut [u8], as_brightness: bool, inverted: bool) {
    for pixel in row.chunks_exact_mut(4) {
        if let [a, b, c, _] = pixel
            && as_brightness
        {
            let [red, green, blue] = rgb_of(*a, *b, *c);
            [*a, *b, *c] = [255 - red, 255 - green, 255 - blue];
        }
        if inverted {
            pixel.iter_mut().for_each(|ink| *ink = 255 - *ink);
        }
    }
}

/// Brightness and two colour differences as JFIF defines them.
pub(super) fn rgb_of(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (f32::from(y), f32::from(cb) - 128.0, f32::from(cr) - 128.0);
    let byte = |value: f32| (value + 0.5).clamp(0.0, 255.0) as u8;
    [byte(y + 1.402 * cr), byte(y - 0.344_136 * cb - 0.714_136 * cr), byte(y + 1.772 * cb)]
}

#[cfg(test)]
mod tests {
    use super::{decode, large};
    use crate::guarded::Clock;
    use crate::transcode::image::header::JpegFrame;
    use crate::transcode::image::raster::{Layout, Raster};
    use crate::transcode::image::scale::Room;
    use std::time::Duration;
    use zune_jpeg::zune_core::colorspace::ColorSpace;

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/tests/fixtures/images/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn clock() -> Clock {
        Clock::start(Duration::from_secs(60))
    }

    /// The mean difference of two rasters, sample by sample.
    fn difference(a: &Raster, b: &Raster) -> f64 {
        assert_eq!((a.width, a.height, a.layout), (b.width, b.height, b.layout));
        let sum: u64 = a.data.iter().zip(&b.data).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        sum as f64 / a.data.len() as f64
    }

    #[test]
    fn large_images_look_as_the_whole_ones_do_when_they_are_scaled() {
        for (name, stored, layout) in [
            ("baseline-444.jpg", ColorSpace::YCbCr, Layout::Rgb),
            ("baseline-420.jpg", ColorSpace::YCbCr, Layout::Rgb),
            ("baseline-422-restarts.jpg", ColorSpace::YCbCr, Layout::Rgb),
            ("progressive-444.jpg", ColorSpace::YCbCr, Layout::Rgb),
            ("progressive-420.jpg", ColorSpace::YCbCr, Layout::Rgb),
            ("grey.jpg", ColorSpace::Luma, Layout::Gray),
            ("grey-progressive.jpg", ColorSpace::Luma, Layout::Gray),
            ("cmyk.jpg", ColorSpace::CMYK, Layout::Cmyk),
        ] {
            let bytes = fixture(name);
            let frame = JpegFrame::read(&bytes).unwrap();
            // Colours may be stored coarser than brightness, and are coarser still then.
            let (sides, most) =
                if name.contains("42") { (&[48, 24][..], 8.0) } else { (&[48, 24, 12][..], 4.0) };
            for &side in sides {
                let room = Room { side, area: u64::MAX };
                let whole = decode(&bytes, room, clock()).unwrap();
                let small = large(&bytes, &frame, stored, layout, room, clock()).unwrap();
                let apart = difference(&whole.raster, &small.raster);
                assert!(apart < most, "{name} at {side}: {apart}");
                assert_eq!((small.original, small.rows_read), ((96, 64), None), "{name}");
            }
        }
    }

    #[test]
    fn of_a_large_image_that_is_cut_off_the_rest_is_shown() {
        let room = Room { side: 48, area: u64::MAX };
        for name in ["baseline-420.jpg", "progressive-420.jpg"] {
            let mut bytes = fixture(name);
            bytes.truncate(bytes.len() * 3 / 4);
            let frame = JpegFrame::read(&bytes).unwrap();
            let small = large(&bytes, &frame, ColorSpace::YCbCr, Layout::Rgb, room, clock()).unwrap();
            assert!(small.rows_read.is_some(), "{name}");
            // The black corner at the top is there.
            assert!(small.raster.data[..9].iter().all(|sample| *sample < 40), "{name}");
        }
    }

    #[test]
    fn changed_large_images_are_images_or_errors() {
        let room = Room { side: 48, area: u64::MAX };
        let mut state = 7_u32;
        let mut next = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        let mut shown = 0;
        for name in
            ["baseline-420.jpg", "baseline-422-restarts.jpg", "progressive-420.jpg", "grey-progressive.jpg"]
        {
            let whole = fixture(name);
            for _ in 0..2_000 {
                let mut bytes = whole.clone();
                for _ in 0..=next(3) {
                    let at = next(bytes.len());
                    bytes[at] = [0, 1, 0x7f, 0xff, next(256) as u8][next(5)];
                }
                let Some(frame) = JpegFrame::read(&bytes).filter(|frame| frame.width.max(frame.height) < 500)
                else {
                    continue;
                };
                let layout = if frame.sampling.len() == 1 { Layout::Gray } else { Layout::Rgb };
                if matches!(frame.sampling.len(), 1 | 3) {
                    shown +=
                        u32::from(large(&bytes, &frame, ColorSpace::YCbCr, layout, room, clock()).is_ok());
                }
            }
        }
        assert!(shown > 2_000, "{shown}");
    }
}
