//! An image in the encoding and at the size that a form takes.

use attache_core::MediaType;
use attache_core::converter::MediaLimits;

use super::encode;
use super::header::Kind;
use super::raster::Raster;
use super::scale::scaled;
use crate::ConvertError;
use crate::guarded::Clock;

/// The bytes that PNG may take for a pixel on average: more is a photo, which JPEG makes a tenth of.
const GRAPHIC_BYTES_PER_PIXEL: f64 = 1.0;

/// The qualities that are tried, from what nobody can tell from the original to what can still be read.
const QUALITIES: [u8; 5] = [90, 80, 70, 55, 40];

/// The factor by which an image becomes smaller, along one side, when no quality makes it short enough.
const STEP: f64 = 0.75;

/// Images are not made smaller than this along their longer side: nothing could be seen.
const MIN_SIDE: u32 = 32;

/// The part of a form's allowance that can be made here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encodings {
    pub(super) png: bool,
    pub(super) jpeg: bool,
}

impl Encodings {
    pub(super) fn of(form: &MediaLimits) -> Self {
        let allows = |essence| MediaType::parse(essence).is_some_and(|media| form.allows(&media));
        Self { png: allows("image/png"), jpeg: allows("image/jpeg") }
    }
}

/// An encoded image.
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) size: (u32, u32),
    /// True if it was transparent and is not any more.
    pub(super) flattened: bool,
}

/// Encodes an image as suits it, smaller if that is what it takes.
pub(super) fn make(
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
        raster = scaled(&raster, (smaller(size.0), smaller(size.1)));
    }
}
