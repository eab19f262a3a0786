//! JPEG: grey, colour, and the inks of printers.

use image::metadata::Orientation;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{Decoded, MALFORMED, Rows, check_memory, check_size};
use crate::ConvertError;
use crate::fit::image::header::JpegFrame;
use crate::fit::image::raster::Layout;
use crate::fit::image::scale::Room;
use crate::guarded::Clock;

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
    let kept = if frame.in_passes { frame.coefficient_bytes() } else { 0 };
    check_memory(bytes, kept + pixels * components as u64)?;
    let mut rows = Rows::new(layout, (frame.width, frame.height), room, clock)?;

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
    if layout == Layout::Cmyk {
        // Inks as they are: what colours they make, the profile says.
        decoder.set_options(options.jpeg_set_out_colorspace(stored));
    }
    if decoder.output_buffer_size() != Some(pixels as usize * components) {
        return Err(MALFORMED);
    }
    let mut samples = decoder.decode().map_err(|_| MALFORMED)?;
    for row in samples.chunks_exact_mut(frame.width as usize * components) {
        if layout == Layout::Cmyk {
            inks(row, stored == ColorSpace::YCCK, frame.adobe);
        }
        rows.push(row)?;
    }
    drop(samples);
    let mut decoded = rows.finish()?;
    decoded.lossy = true;
    decoded.profile = decoder.icc_profile();
    let exif = decoder.exif().map(Vec::as_slice);
    decoded.orientation = exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms);
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
