//! PNG, and the still image of an animated one.

use std::io::Cursor;

use image::metadata::Orientation;
use png::{ColorType, Limits, Reader, Transformations};

use super::decoded::{Decoded, MALFORMED, Parts};
use super::rows::{Rows, check_memory, check_size};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::{Kind, dimensions};
use crate::transcode::image::raster::{Layout, Raster};
use crate::transcode::image::scale::Room;

/// Most bytes that the decoder may take for what is not pixels.
const SIDE_BYTES: usize = 16 << 20;

/// Where the passes of an interlaced image begin, and how far apart their pixels are.
const PASSES: [(u32, u32, u32, u32); 7] =
    [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)];

/// After five passes every second pixel of every second row is there.
const HALF: usize = 5;

pub(super) fn decode(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    let size = dimensions(Kind::Png, bytes).ok_or(MALFORMED)?;
    check_size(size)?;
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: SIDE_BYTES });
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    let mut reader = decoder.read_info().map_err(|_| MALFORMED)?;
    let layout = match reader.output_color_type().0 {
        ColorType::Grayscale => Layout::Gray,
        ColorType::GrayscaleAlpha => Layout::GrayAlpha,
        ColorType::Rgb | ColorType::Indexed => Layout::Rgb,
        ColorType::Rgba => Layout::Rgba,
    };
    let mut decoded = if reader.info().interlaced {
        interlaced(&mut reader, bytes, layout, size, room, clock)?
    } else {
        let mut rows = Rows::new(layout, size, room, clock)?;
        while let Ok(Some(row)) = reader.next_row() {
            rows.push(row.data())?;
        }
        rows.finish()?
    };
    let info = reader.info();
    decoded.profile = info.icc_profile.as_deref().map(<[u8]>::to_vec);
    let exif = info.exif_metadata.as_deref();
    decoded.orientation = exif.and_then(Orientation::from_exif_chunk).unwrap_or(Orientation::NoTransforms);
    if let Some(frames) = info.animation_control.map(|control| control.num_frames).filter(|n| *n > 1) {
        decoded.parts = Parts::Frames(u64::from(frames));
    }
    Ok(decoded)
}

/// All of an interlaced image has to be kept, or, if that is too much, its half in both directions.
fn interlaced(
    reader: &mut Reader<Cursor<&[u8]>>,
    bytes: &[u8],
    layout: Layout,
    (width, height): (u32, u32),
    room: Room,
    clock: Clock,
) -> Result<Decoded, ConvertError> {
    let channels = layout.channels();
    let whole = u64::from(width) * u64::from(height) * channels as u64;
    let (passes, step) = if check_memory(bytes, whole).is_ok() { (PASSES.len(), 1) } else { (HALF, 2) };
    let (kept_width, kept_height) = (width.div_ceil(step), height.div_ceil(step));
    check_memory(bytes, u64::from(kept_width) * u64::from(kept_height) * channels as u64)?;
    let mut rows = Rows::new(layout, (kept_width, kept_height), room, clock)?;

    let stride = kept_width as usize * channels;
    let mut data = vec![u8::MAX; stride * kept_height as usize];
    let mut rows_read = kept_height;
    'passes: for &(x, y, across, down) in PASSES.get(..passes).unwrap_or_default() {
        if x >= width {
            continue;
        }
        for line in (y..height).step_by(down as usize) {
            clock.check()?;
            let Ok(Some(row)) = reader.next_row() else {
                rows_read = line / step;
                break 'passes;
            };
            let start = (line / step) as usize * stride;
            let Some(target) = data.get_mut(start..start + stride) else { continue };
            let places = target.chunks_exact_mut(channels).skip((x / step) as usize);
            let every = (across / step).max(1) as usize;
            for (place, pixel) in places.step_by(every).zip(row.data().chunks_exact(channels)) {
                place.copy_from_slice(pixel);
            }
        }
    }
    if rows_read == 0 {
        return Err(MALFORMED);
    }
    let kept = Raster { width: kept_width, height: kept_height, layout, data };
    for row in kept.rows() {
        rows.push(row)?;
    }
    let mut decoded = rows.finish()?;
    decoded.original = (width, height);
    decoded.rows_read = (rows_read < kept_height).then(|| rows_read * step);
    Ok(decoded)
}
