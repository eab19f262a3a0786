//! Images in a form that a model takes: PNG or JPEG, no larger than allowed.

#[cfg(feature = "render")]
mod canvas;
mod colour;
mod decode;
mod encode;
mod fitted;
mod gate;
mod header;
mod raster;
mod scale;

use attache_core::MediaType;
use attache_core::converter::{MediaLimits, Transcoded};
use bytes::Bytes;

use crate::guarded::Clock;
use crate::{ConvertError, Limits};
use decode::{Decoded, Parts};
use fitted::{Encodings, Made, make};
use header::{Kind, dimensions, is_whole};
use raster::Raster;
use scale::Room;

#[cfg(feature = "render")]
pub(crate) use canvas::{Canvas, coefficient_bytes, encode_page, large_image, makes_images};

/// Most pixels of an image that is made here. No model is known to look at more; most shrink it further.
const MAX_AREA: u64 = 10 << 20;

/// True if images of this type can be brought into the form, or refused with a reason.
pub(super) fn transcodes(essence: &str, form: &MediaLimits) -> bool {
    let makes = Encodings::of(form);
    Kind::of(essence).is_some() && (makes.png || makes.jpeg)
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

/// The note to the model about the steps that were taken.
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
