//! The first picture of a GIF.

use std::iter::repeat_n;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use super::decoded::{Decoded, MALFORMED, Parts};
use super::rows::{Rows, check_memory, check_size};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::gif_frames;
use crate::transcode::image::raster::Layout;
use crate::transcode::image::scale::Room;

pub(super) fn decode(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    // Nothing is kept for the decoder to limit: rows are read one by one.
    options.set_memory_limit(MemoryLimit::Unlimited);
    let mut reader = options.read_info(bytes).map_err(|_| MALFORMED)?;
    let frame = reader.next_frame_info().map_err(|_| MALFORMED)?.ok_or(MALFORMED)?.clone();
    let (frame_width, frame_height) = (usize::from(frame.width), usize::from(frame.height));
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    // A canvas of no size is as large as the picture.
    let canvas = |side: u16, needed: usize| if side == 0 { needed } else { usize::from(side) };
    let width = canvas(reader.width(), left + frame_width);
    let height = canvas(reader.height(), top + frame_height);
    let size = (u32::try_from(width).unwrap_or(u32::MAX), u32::try_from(height).unwrap_or(u32::MAX));
    check_size(size)?;
    if frame.interlaced {
        check_memory(bytes, frame_width as u64 * frame_height as u64)?;
    }

    let palette = reader.palette().map_err(|_| MALFORMED)?.to_vec();
    let covers = left == 0 && top == 0 && frame_width >= width && frame_height >= height;
    let layout = if covers && frame.transparent.is_none() { Layout::Rgb } else { Layout::Rgba };
    let channels = layout.channels();
    let colours: Vec<[u8; 4]> = (0..=u8::MAX)
        .map(|index| match palette.get(usize::from(index) * 3..usize::from(index) * 3 + 3) {
            Some(&[red, green, blue]) => {
                let alpha = if frame.transparent == Some(index) { 0 } else { u8::MAX };
                [red, green, blue, alpha]
            }
            _ => [0, 0, 0, u8::MAX],
        })
        .collect();

    let mut rows = Rows::new(layout, size, room, clock)?;
    let mut out = Vec::with_capacity(width * channels);
    for _ in 0..top.min(height) {
        out.clear();
        out.resize(width * channels, 0);
        rows.push(&out)?;
    }
    let mut show = |indices: &[u8]| {
        out.clear();
        out.extend(repeat_n(0, left.min(width) * channels));
        for index in indices.iter().take(width.saturating_sub(left)) {
            let colour = colours.get(usize::from(*index)).copied().unwrap_or_default();
            out.extend(colour.iter().take(channels));
        }
        out.resize(width * channels, 0);
        rows.push(&out)
    };
    let mut whole = true;
    if frame.interlaced {
        let mut indices = vec![0; frame_width * frame_height];
        whole = reader.read_into_buffer(&mut indices).is_ok();
        for row in indices.chunks_exact(frame_width.max(1)) {
            show(row)?;
        }
    } else {
        let mut indices = vec![0; frame_width];
        for _ in 0..frame_height {
            if !matches!(reader.fill_buffer(&mut indices), Ok(true)) {
                whole = false;
                break;
            }
            show(&indices)?;
        }
    }
    if whole {
        let below = vec![0; width * channels];
        for _ in (top + frame_height)..height {
            rows.push(&below)?;
        }
    }
    let mut decoded = rows.finish()?;
    if !whole && decoded.rows_read.is_none() {
        decoded.rows_read = Some(decoded.original.1);
    }
    let frames = gif_frames(bytes);
    if frames > 1 {
        decoded.parts = Parts::Frames(frames);
    }
    Ok(decoded)
}
