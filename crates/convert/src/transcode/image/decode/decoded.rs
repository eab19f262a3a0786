//! A decoded image, and what is to be said of it.

use image::metadata::Orientation;

use crate::ConvertError;
use crate::transcode::image::raster::Raster;
use crate::transcode::image::scale::Scaler;

/// An image that cannot be decoded.
pub(super) const MALFORMED: ConvertError =
    ConvertError::Malformed { reason: "it cannot be decoded as an image" };

/// A decoded image at the size that was wanted.
#[derive(Debug)]
pub(in crate::transcode::image) struct Decoded {
    pub(in crate::transcode::image) raster: Raster,
    /// Its width and height before it was scaled.
    pub(in crate::transcode::image) original: (u32, u32),
    /// Its colour profile.
    pub(in crate::transcode::image) profile: Option<Vec<u8>>,
    /// The turn that it needs.
    pub(in crate::transcode::image) orientation: Orientation,
    /// True if it was compressed with loss, as photos are.
    pub(in crate::transcode::image) lossy: bool,
    /// The series that it is the first of.
    pub(in crate::transcode::image) parts: Parts,
    /// The number of its rows that could be read, if not all.
    pub(in crate::transcode::image) rows_read: Option<u32>,
}

/// A series that an image may be the first of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transcode::image) enum Parts {
    One,
    Frames(u64),
    Pages(u64),
}

impl Decoded {
    pub(super) fn new(scaler: Scaler, original: (u32, u32), whole: bool) -> Result<Self, ConvertError> {
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
