//! Decoding, row by row where the format allows it, at the size that is wanted.

mod bmp;
mod decoded;
mod gif;
mod jpeg;
mod png;
mod rows;
mod tiff;
mod tiff_file;
mod webp;

use super::header::Kind;
use super::scale::Room;
use crate::ConvertError;
use crate::guarded::Clock;

pub(super) use self::decoded::{Decoded, Parts};

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
