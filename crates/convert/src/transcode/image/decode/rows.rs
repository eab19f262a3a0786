//! Where the rows of an image go while it is decoded, and how large it may be.

use super::decoded::Decoded;
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::gate;
use crate::transcode::image::raster::Layout;
use crate::transcode::image::scale::{Room, Scaler};

/// Most pixels of an image that is decoded at all.
const MAX_PIXELS: u64 = 1 << 28;

/// Most bytes that may have to be kept of an image while it is decoded, and these with the image itself.
const MAX_KEPT: u64 = 140_000_000;
const MAX_BYTES: u64 = 200_000_000;

/// Where the rows of an image go.
pub(super) struct Rows {
    scaler: Scaler,
    pub(super) clock: Clock,
    size: (u32, u32),
    /// While an image is decoded that is large, no other such is.
    _pass: Option<gate::Pass>,
}

impl Rows {
    /// Fails for an image that is too large, or has no pixels.
    pub(super) fn new(
        layout: Layout,
        size: (u32, u32),
        room: Room,
        clock: Clock,
    ) -> Result<Self, ConvertError> {
        let pixels = check_size(size)?;
        let pass = gate::pass(pixels, clock)?;
        let scaler = Scaler::new(layout, size, room.size(size.0, size.1));
        Ok(Self { scaler, clock, size, _pass: pass })
    }

    pub(super) fn push(&mut self, row: &[u8]) -> Result<(), ConvertError> {
        self.clock.check()?;
        self.scaler.push(row);
        Ok(())
    }

    /// The rows that are left are white.
    pub(super) fn finish(self) -> Result<Decoded, ConvertError> {
        let whole = self.scaler.rows() == self.size.1;
        Decoded::new(self.scaler, self.size, whole)
    }
}

/// The number of pixels of an image, if that is neither none nor too many.
pub(super) fn check_size((width, height): (u32, u32)) -> Result<u64, ConvertError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(ConvertError::Malformed { reason: "it has no pixels" });
    }
    if pixels > MAX_PIXELS {
        return Err(ConvertError::TooLarge { what: "pixels", limit: MAX_PIXELS as usize });
    }
    Ok(pixels)
}

/// Fails if the image and what has to be kept while it is decoded are too much.
pub(super) fn check_memory(input: &[u8], kept: u64) -> Result<(), ConvertError> {
    if kept > MAX_KEPT || kept.saturating_add(input.len() as u64) > MAX_BYTES {
        return Err(ConvertError::TooLarge { what: "bytes of memory to decode", limit: MAX_KEPT as usize });
    }
    Ok(())
}
