//! WebP, lossy and lossless, and the first picture of an animated one.

use std::borrow::Cow;
use std::io::Cursor;

use image::metadata::Orientation;
use image_webp::WebPDecoder;
use image_webp::vp8::{Frame, Vp8Decoder};

use super::decoded::{Decoded, MALFORMED, Parts};
use super::rows::{Rows, check_memory, check_size};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::{Kind, dimensions, le32};
use crate::transcode::image::raster::Layout;
use crate::transcode::image::scale::Room;

/// Most bytes of a profile or of EXIF that are read.
const SIDE_BYTES: usize = 4 << 20;

/// Bytes that the decoder keeps for a pixel: the planes of a lossy picture, and what it makes of them.
const PLANES: f64 = 1.6;

pub(super) fn decode(bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    let size = dimensions(Kind::WebP, bytes).ok_or(MALFORMED)?;
    let pixels = check_size(size)?;
    let mut file = open(bytes)?;
    if file.dimensions() != size {
        return Err(MALFORMED);
    }
    let (lossy, animated, alpha) = (file.is_lossy(), file.is_animated(), file.has_alpha());
    check_pictures(bytes, size)?;
    let keeps = |bytes_per_pixel: f64| check_memory(bytes, (pixels as f64 * bytes_per_pixel) as u64);

    let mut decoded = if animated {
        // The canvas, the picture, and the planes it is made of.
        keeps(if alpha { 8.0 } else { 10.0 } + PLANES)?;
        whole(&mut file, size, alpha, room, clock)?
    } else if lossy && !alpha {
        if keeps(3.0 + PLANES).is_ok() {
            whole(&mut file, size, alpha, room, clock)?
        } else {
            keeps(PLANES)?;
            let (_, data) = chunks(bytes, 12).find(|(name, _)| name == b"VP8 ").ok_or(MALFORMED)?;
            planes(data, size, room, clock)?
        }
    } else if lossy {
        keeps(9.0 + PLANES)?;
        whole(&mut file, size, alpha, room, clock)?
    } else if alpha {
        keeps(4.0)?;
        whole(&mut file, size, alpha, room, clock)?
    } else if keeps(7.0).is_ok() {
        whole(&mut file, size, alpha, room, clock)?
    } else {
        // Without the copy that the decoder makes to leave the alpha out.
        keeps(4.0 + bytes.len() as f64 / pixels as f64)?;
        let claimed = with_alpha(bytes).ok_or(MALFORMED)?;
        whole(&mut open(&claimed)?, size, false, room, clock)?
    };
    decoded.lossy = lossy;
    let exif = file.exif_metadata().ok().flatten();
    let orientation = exif.as_deref().and_then(Orientation::from_exif_chunk);
    decoded.orientation = orientation.unwrap_or(Orientation::NoTransforms);
    decoded.profile = file.icc_profile().ok().flatten();
    if animated && file.num_frames() > 1 {
        decoded.parts = Parts::Frames(u64::from(file.num_frames()));
    }
    Ok(decoded)
}

fn open(bytes: &[u8]) -> Result<WebPDecoder<Cursor<&[u8]>>, ConvertError> {
    let mut file = WebPDecoder::new(Cursor::new(bytes)).map_err(|_| MALFORMED)?;
    file.set_memory_limit(SIDE_BYTES);
    Ok(file)
}

/// Decodes all at once. Alpha that is not wanted is left out.
fn whole(
    file: &mut WebPDecoder<Cursor<&[u8]>>,
    size: (u32, u32),
    alpha: bool,
    room: Room,
    clock: Clock,
) -> Result<Decoded, ConvertError> {
    let layout = if alpha { Layout::Rgba } else { Layout::Rgb };
    let mut rows = Rows::new(layout, size, room, clock)?;
    let channels = if file.has_alpha() { 4 } else { 3 };
    let mut pixels = vec![0; size.0 as usize * size.1 as usize * channels];
    file.read_image(&mut pixels).map_err(|_| MALFORMED)?;
    for row in pixels.chunks_exact(size.0 as usize * channels) {
        let row = if channels == layout.channels() {
            Cow::Borrowed(row)
        } else {
            row.chunks_exact(4).flat_map(|pixel| pixel.iter().take(3)).copied().collect()
        };
        rows.push(&row)?;
    }
    drop(pixels);
    rows.finish()
}

/// Decodes a lossy picture to its planes, and only these: half of what its pixels take.
fn planes(data: &[u8], size: (u32, u32), room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    if picture_size(data) != Some(size) {
        return Err(MALFORMED);
    }
    let mut rows = Rows::new(Layout::Rgb, size, room, clock)?;
    let frame = Vp8Decoder::decode_frame(data).map_err(|_| MALFORMED)?;
    let mut row = Vec::with_capacity(size.0 as usize * 3);
    for y in 0..usize::from(frame.height) {
        row.clear();
        row_of(&frame, y, &mut row).ok_or(MALFORMED)?;
        rows.push(&row)?;
    }
    rows.finish()
}

/// A row of a picture, in the colours of ITU-R BT.601 as VP8 has them.
fn row_of(frame: &Frame, y: usize, row: &mut Vec<u8>) -> Option<()> {
    let width = usize::from(frame.width);
    let stride = width.next_multiple_of(16);
    let brightness = frame.ybuf.get(y * stride..y * stride + width)?;
    let chroma = y / 2 * (stride / 2);
    let blue = frame.ubuf.get(chroma..chroma + stride / 2)?;
    let red = frame.vbuf.get(chroma..chroma + stride / 2)?;
    let byte = |value: f32| (value + 0.5).clamp(0.0, 255.0) as u8;
    for (x, light) in brightness.iter().enumerate() {
        let light = (f32::from(*light) - 16.0) * 1.164_383;
        let blue = f32::from(*blue.get(x / 2)?) - 128.0;
        let red = f32::from(*red.get(x / 2)?) - 128.0;
        row.push(byte(light + 1.596_027 * red));
        row.push(byte(light - 0.391_762 * blue - 0.812_968 * red));
        row.push(byte(light + 2.017_232 * blue));
    }
    Some(())
}

/// Fails if a lossy picture inside says that it is larger than the canvas: the decoder looks only afterwards.
fn check_pictures(bytes: &[u8], size: (u32, u32)) -> Result<(), ConvertError> {
    for (name, data) in chunks(bytes, 12) {
        // A picture of an animation begins with where and how long it is shown.
        let inside = chunks(data, 16).take_while(|_| name == *b"ANMF");
        for (name, data) in inside.chain([(name, data)]) {
            if name == *b"VP8 " && picture_size(data).is_none_or(|(w, h)| w > size.0 || h > size.1) {
                return Err(MALFORMED);
            }
        }
    }
    Ok(())
}

/// The size that a lossy picture says.
fn picture_size(data: &[u8]) -> Option<(u32, u32)> {
    let said = le32(data, 6)?;
    Some((said & 0x3fff, (said >> 16) & 0x3fff))
}

/// The chunks of a file, or of a chunk, from a place on.
fn chunks(bytes: &[u8], mut at: usize) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let name = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let length = usize::try_from(le32(bytes, at + 4)?).ok()?;
        let data = bytes.get(at + 8..)?;
        at = at.checked_add(8)?.checked_add(length.checked_next_multiple_of(2)?)?;
        Some((name, data.get(..length).unwrap_or(data)))
    })
}

/// A lossless file that says it has alpha.
fn with_alpha(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut claimed = bytes.to_vec();
    match bytes.get(12..16)? {
        b"VP8L" => *claimed.get_mut(24)? |= 0x10,
        b"VP8X" => *claimed.get_mut(20)? |= 0x10,
        _ => return None,
    }
    Some(claimed)
}

#[cfg(test)]
mod tests {
    use super::{MALFORMED, check_pictures, chunks, open, planes, whole, with_alpha};
    use crate::guarded::Clock;
    use crate::transcode::image::scale::Room;
    use std::time::Duration;

    const SIZE: (u32, u32) = (96, 64);

    fn fixture(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/tests/fixtures/images/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn the_ways_that_spare_memory_show_the_same() {
        let (room, clock) = (Room { side: 96, area: u64::MAX }, Clock::start(Duration::from_secs(60)));
        let lossy = fixture("lossy.webp");
        let usual = whole(&mut open(&lossy).unwrap(), SIZE, false, room, clock).unwrap().raster;
        let (_, data) = chunks(&lossy, 12).find(|(name, _)| name == b"VP8 ").unwrap();
        let spared = planes(data, SIZE, room, clock).unwrap().raster;
        let apart: u64 = usual.data.iter().zip(&spared.data).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        assert!(apart < 3 * usual.data.len() as u64, "{apart}");

        let lossless = fixture("lossless.webp");
        let usual = whole(&mut open(&lossless).unwrap(), SIZE, false, room, clock).unwrap().raster;
        let claimed = with_alpha(&lossless).unwrap();
        let spared = whole(&mut open(&claimed).unwrap(), SIZE, false, room, clock).unwrap().raster;
        assert_eq!(usual, spared);
    }

    #[test]
    fn pictures_larger_than_their_canvas_are_refused() {
        let lossy = fixture("lossy.webp");
        assert_eq!(check_pictures(&lossy, SIZE), Ok(()));
        assert_eq!(check_pictures(&lossy, (95, 64)), Err(MALFORMED));
        // The same in an animation.
        let (_, data) = chunks(&lossy, 12).next().unwrap();
        let length = |data: &[u8]| u32::try_from(data.len()).unwrap().to_le_bytes();
        let picture = [b"VP8 ".as_slice(), &length(data), data].concat();
        let frame = [&[0; 16], picture.as_slice()].concat();
        let animation = [&[0; 12], b"ANMF".as_slice(), &length(&frame), &frame].concat();
        assert_eq!(check_pictures(&animation, SIZE), Ok(()));
        assert_eq!(check_pictures(&animation, (96, 63)), Err(MALFORMED));
    }
}
