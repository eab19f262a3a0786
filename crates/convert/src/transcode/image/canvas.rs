//! Images that are drawn here, instead of read.

use attache_core::MediaType;
use attache_core::converter::MediaLimits;

use super::fitted::{Encodings, make};
use super::gate;
use super::header::JpegFrame;
use super::raster::{Layout, Raster};
use crate::ConvertError;
use crate::guarded::Clock;

/// Pixels that were drawn.
#[derive(Debug)]
pub(crate) struct Canvas(Raster);

impl Canvas {
    /// The pixels of an image without transparency, four bytes each; without colour where there is none.
    pub(crate) fn of_rgba((width, height): (u16, u16), rgba: &[u8]) -> Self {
        let (pixels, _) = rgba.as_chunks::<4>();
        let is_grey = pixels.iter().all(|[red, green, blue, _]| red == green && green == blue);
        let (layout, data) = match is_grey {
            true => (Layout::Gray, pixels.iter().map(|[grey, ..]| *grey).collect()),
            false => {
                (Layout::Rgb, pixels.iter().flat_map(|[red, green, blue, _]| [*red, *green, *blue]).collect())
            }
        };
        Self(Raster { width: width.into(), height: height.into(), layout, data })
    }

    /// True if all of it has one colour.
    pub(crate) fn is_uniform(&self) -> bool {
        let mut pixels = self.0.pixels();
        let first = pixels.next();
        pixels.all(|pixel| Some(pixel) == first)
    }
}

/// True if an image can be made in the form.
pub(crate) fn makes_images(form: &MediaLimits) -> bool {
    let makes = Encodings::of(form);
    makes.png || makes.jpeg
}

/// A page in a form, in the encoding that suits it.
pub(crate) fn encode_page(
    Canvas(raster): Canvas,
    form: &MediaLimits,
    clock: Clock,
) -> Result<(Vec<u8>, MediaType), ConvertError> {
    let most = form.max_bytes.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let made = make(raster, false, Encodings::of(form), most, clock)?;
    let media = MediaType::parse(made.kind.essence()).ok_or(ConvertError::Failed)?;
    Ok((made.bytes, media))
}

/// The bytes of memory that the coefficients of a JPEG in passes take; `None` for all others.
pub(crate) fn coefficient_bytes(jpeg: &[u8]) -> Option<u64> {
    JpegFrame::read(jpeg).filter(|frame| frame.in_passes).map(|frame| frame.coefficient_bytes())
}

/// Waits until no other image is decoded that is as large; the right to go on lasts as long as what is yielded.
pub(crate) fn large_image(pixels: u64, clock: Clock) -> Result<Option<impl Sized>, ConvertError> {
    gate::pass(pixels, clock)
}
