//! Decoding, row by row where the format allows it, at the size that is wanted.

mod bmp;
mod gif;
mod jpeg;
mod png;
mod tiff;
mod tiff_file;
mod webp;

use image::metadata::Orientation;

use super::gate;
use super::header::Kind;
use super::raster::{Layout, Raster};
use super::scale::{Room, Scaler};
use crate::ConvertError;
use crate::guarded::Clock;

/// Most pixels of an image that is decoded at all.
const MAX_PIXELS: u64 = 1 << 28;

/// Most bytes that may have to be kept of an image while it is decoded, and these with the image itself.
const MAX_KEPT: u64 = 140_000_000;
const MAX_BYTES: u64 = 200_000_000;

/// A decoded image at the size that was wanted.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) raster: Raster,
    /// Its width and height before it was scaled.
    pub(super) original: (u32, u32),
    /// Its colour profile.
    pub(super) profile: Option<Vec<u8>>,
    /// How it has to be turned.
    pub(super) orientation: Orientation,
    /// True if it was compressed with loss, as photos are.
    pub(super) lossy: bool,
    /// What it is the first of.
    pub(super) parts: Parts,
    /// How many of its rows could be read, if not all.
    pub(super) rows_read: Option<u32>,
}

/// What an image may be the first of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    One,
    Frames(u64),
    Pages(u64),
}

impl Decoded {
    fn new(scaler: Scaler, original: (u32, u32), whole: bool) -> Result<Self, ConvertError> {
        let rows = scaler.rows();
        if rows == 0 {
            return Err(MALFORMED);
        }
        Ok(Self {
            raster: scaler.finish(),
            original,
            profile: None,
            orientation: Orientation::NoTransforms,
            lossy: false,
            parts: Parts::One,
            rows_read: (!whole && rows < original.1).then_some(rows),
        })
    }
}

const MALFORMED: ConvertError = ConvertError::Malformed { reason: "it cannot be decoded as an image" };

/// Decodes an image so that it fits into the room.
pub(super) fn decode(kind: Kind, bytes: &[u8], room: Room, clock: Clock) -> Result<Decoded, ConvertError> {
    match kind {
        Kind::Png => png::decode(bytes, room, clock),
        Kind::Jpeg => jpeg::decode(bytes, room, clock),
        Kind::Gif => gif::decode(bytes, room, clock),
        Kind::WebP => webp::decode(bytes, room, clock),
        Kind::Bmp => bmp::decode(bytes, room, clock),
        Kind::Tiff => tiff::decode(bytes, room, clock),
        Kind::Heic | Kind::Avif => Err(ConvertError::Unsupported { media_type: kind.essence().to_owned() }),
    }
}

/// Where the rows of an image go.
struct Rows {
    scaler: Scaler,
    clock: Clock,
    size: (u32, u32),
    /// While an image is decoded that is large, no other such is.
    _pass: Option<gate::Pass>,
}

impl Rows {
    /// Fails for an image that is too large, or has no pixels.
    fn new(layout: Layout, size: (u32, u32), room: Room, clock: Clock) -> Result<Self, ConvertError> {
        let pixels = check_size(size)?;
        let pass = gate::pass(pixels, clock)?;
        let scaler = Scaler::new(layout, size, room.size(size.0, size.1));
        Ok(Self { scaler, clock, size, _pass: pass })
    }

    fn push(&mut self, row: &[u8]) -> Result<(), ConvertError> {
        self.clock.check()?;
        self.scaler.push(row);
        Ok(())
    }

    /// The rows that are left are white.
    fn finish(self) -> Result<Decoded, ConvertError> {
        let whole = self.scaler.rows() == self.size.1;
        Decoded::new(self.scaler, self.size, whole)
    }
}

/// How many pixels an image has, if that is neither none nor too many.
fn check_size((width, height): (u32, u32)) -> Result<u64, ConvertError> {
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
fn check_memory(input: &[u8], kept: u64) -> Result<(), ConvertError> {
    if kept > MAX_KEPT || kept.saturating_add(input.len() as u64) > MAX_BYTES {
        return Err(ConvertError::TooLarge { what: "bytes of memory to decode", limit: MAX_KEPT as usize });
    }
    Ok(())
}
