//! Images in a form that a model takes: PNG or JPEG, no larger than allowed.

#[cfg(feature = "render")]
mod canvas;
mod colour;
mod decode;
mod encode;
mod gate;
mod header;
mod raster;
mod scale;

use attache_core::{MediaLimits, MediaType, Transcoded};
use bytes::Bytes;

use crate::guarded::Clock;
use crate::{ConvertError, Limits};
use decode::{Decoded, Parts};
use header::{Kind, dimensions, is_whole};
use raster::Raster;
use scale::Room;

#[cfg(feature = "render")]
pub(crate) use canvas::{Canvas, coefficient_bytes, encode_page, large_image, makes_images};

/// Most pixels of an image that is made here. No model is known to look at more; most shrink it further.
const MAX_AREA: u64 = 10 << 20;

/// What PNG may take for a pixel on average: more is a photo, which JPEG makes a tenth of.
const GRAPHIC_BYTES_PER_PIXEL: f64 = 1.0;

/// The qualities that are tried, from what nobody can tell from the original to what can still be read.
const QUALITIES: [u8; 5] = [90, 80, 70, 55, 40];

/// How much smaller an image becomes, along one side, when no quality makes it short enough.
const STEP: f64 = 0.75;

/// Images are not made smaller than this along their longer side: nothing could be seen.
const MIN_SIDE: u32 = 32;

/// Whether images of this type can be brought into the form, or refused with a reason.
pub(super) fn transcodes(essence: &str, form: &MediaLimits) -> bool {
    let makes = Encodings::of(form);
    Kind::of(essence).is_some() && (makes.png || makes.jpeg)
}

/// What a form allows that can be made here.
#[derive(Debug, Clone, Copy)]
struct Encodings {
    png: bool,
    jpeg: bool,
}

impl Encodings {
    fn of(form: &MediaLimits) -> Self {
        let allows = |essence| MediaType::parse(essence).is_some_and(|media| form.allows(&media));
        Self { png: allows("image/png"), jpeg: allows("image/jpeg") }
    }
}

/// Brings an image into a form.
pub(super) fn transcode(
    essence: &str,
    bytes: Bytes,
    form: &MediaLimits,
    limits: &Limits,
    clock: Clock,
) -> Result<Transcoded, ConvertError> {
    let Some(kind) = Kind::sniff(&bytes) else {
        return Err(ConvertError::Malformed { reason: "it is no image of a known kind" });
    };
    let declared = Kind::of(essence);
    let media = MediaType::parse(kind.essence()).ok_or(ConvertError::Failed)?;
    let most_side = form.max_pixels.map_or(u32::MAX, |side| u32::try_from(side).unwrap_or(u32::MAX));
    let most_bytes = form.max_bytes.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let small_enough = match dimensions(kind, &bytes) {
        Some((width, height)) => width.max(height) <= most_side,
        // Of these nobody reads the size without opening them; of the others the header is broken.
        None => matches!(kind, Kind::Bmp | Kind::Tiff | Kind::Heic | Kind::Avif) && form.max_pixels.is_none(),
    };
    let is_whole = is_whole(kind, &bytes);
    if form.allows(&media) && bytes.len() <= most_bytes && small_enough && is_whole {
        if declared == Some(kind) {
            return Ok(Transcoded::unchanged());
        }
        let note = format!("it is {}, not {essence}", kind.essence());
        return Ok(Transcoded::changed(bytes, media, note));
    }
    if matches!(kind, Kind::Heic | Kind::Avif) {
        return Err(ConvertError::Unsupported { media_type: kind.essence().to_owned() });
    }
    if bytes.len() > limits.max_fit_bytes {
        return Err(ConvertError::TooLarge { what: "bytes", limit: limits.max_fit_bytes });
    }

    let room = Room { side: most_side, area: MAX_AREA };
    let mut decoded = decode::decode(kind, &bytes, room, clock)?;
    drop(bytes);
    let raster = colour::to_srgb(decoded.raster, decoded.profile.as_deref()).upright(decoded.orientation);
    decoded.raster = Raster { width: 0, height: 0, layout: raster.layout, data: Vec::new() };
    let made = make(raster, decoded.lossy, Encodings::of(form), most_bytes, clock)?;
    let mut note = note(kind, &made, &decoded);
    if !is_whole && decoded.rows_read.is_none() {
        note.push_str(", damaged: the file ends early");
    }
    let media = MediaType::parse(made.kind.essence()).ok_or(ConvertError::Failed)?;
    Ok(Transcoded::changed(made.bytes, media, note))
}

/// An encoded image.
struct Made {
    bytes: Vec<u8>,
    kind: Kind,
    size: (u32, u32),
    /// True if it was transparent and is not any more.
    flattened: bool,
}

/// Encodes an image as suits it, smaller if that is what it takes.
fn make(
    mut raster: Raster,
    lossy: bool,
    encodings: Encodings,
    most: usize,
    clock: Clock,
) -> Result<Made, ConvertError> {
    let transparent = raster.is_transparent();
    if !transparent {
        raster = raster.on_white();
    }
    if encodings.png && (transparent || !lossy || !encodings.jpeg) {
        let pixels = f64::from(raster.width) * f64::from(raster.height);
        // A few kilobytes are no reason to give up what PNG keeps.
        let graphic = (pixels * GRAPHIC_BYTES_PER_PIXEL) as usize + (64 << 10);
        let png_most = if transparent || !encodings.jpeg { most } else { most.min(graphic) };
        clock.check()?;
        if let Some(bytes) = encode::png(&raster, png_most) {
            return Ok(Made {
                bytes,
                kind: Kind::Png,
                size: (raster.width, raster.height),
                flattened: false,
            });
        }
    }
    let mut flattened = false;
    if encodings.jpeg {
        flattened = transparent;
        raster = raster.on_white();
    }
    loop {
        let size = (raster.width, raster.height);
        if encodings.jpeg {
            for quality in QUALITIES {
                clock.check()?;
                if let Some(bytes) = encode::jpeg(&raster, quality, most) {
                    return Ok(Made { bytes, kind: Kind::Jpeg, size, flattened });
                }
            }
        } else {
            clock.check()?;
            if let Some(bytes) = encode::png(&raster, most) {
                return Ok(Made { bytes, kind: Kind::Png, size, flattened });
            }
        }
        if size.0.max(size.1) <= MIN_SIDE {
            return Err(ConvertError::TooLarge { what: "bytes, however small it is made", limit: most });
        }
        let smaller = |side: u32| ((f64::from(side) * STEP).round() as u32).max(1);
        raster = raster.scaled((smaller(size.0), smaller(size.1)));
    }
}

/// What was done, for the model.
fn note(kind: Kind, made: &Made, decoded: &Decoded) -> String {
    let mut parts = Vec::new();
    let turned = matches!(decoded.orientation.to_exif(), 5..=8);
    let (width, height) = decoded.original;
    let original = if turned { (height, width) } else { (width, height) };
    if made.size != original {
        parts.push(format!(
            "scaled from {} × {} to {} × {} pixels",
            original.0, original.1, made.size.0, made.size.1
        ));
    }
    if made.kind != kind || parts.is_empty() {
        parts.push(format!("re-encoded from {}", kind.essence()));
    }
    match decoded.parts {
        Parts::One => {}
        Parts::Frames(count) => parts.push(format!("only the first of {count} frames")),
        Parts::Pages(count) => parts.push(format!("only the first of {count} pages")),
    }
    if made.flattened {
        parts.push("what was transparent is white".to_owned());
    }
    if let Some(rows) = decoded.rows_read {
        parts.push(match decoded.original.1 {
            height if rows >= height => "damaged".to_owned(),
            height => format!("damaged: only {rows} of its {height} rows could be read"),
        });
    }
    parts.join(", ")
}
