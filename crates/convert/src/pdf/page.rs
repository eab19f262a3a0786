//! A page: its content, and its annotations.

use hayro_font::kurbo::Affine;
use hayro_syntax::page::Page;

use super::annotations;
use super::content::Reader;
use super::font::Fonts;
use super::found::Found;
use super::layers::Layers;
use super::state::State;
use crate::ConvertError;
use crate::guarded::Clock;

/// Reads the text of a page, its annotations included, without that of layers that are off. Streams may take `limit`
/// bytes when decoded.
pub(super) fn read<'a>(
    page: &Page<'a>,
    fonts: &mut Fonts<'a>,
    layers: &Layers,
    limit: usize,
    clock: Clock,
) -> Result<Found, ConvertError> {
    let mut reader = Reader::new(fonts, layers, limit, clock);
    let state = State { ctm: Affine::new(page.initial_transform(false).as_coeffs()), ..State::default() };
    reader.page(page, &state)?;
    annotations::read(&mut reader, page, &state)?;
    let (width, height) = page.render_dimensions();
    reader.found.covered /= f64::from(width) * f64::from(height);
    Ok(reader.found)
}
