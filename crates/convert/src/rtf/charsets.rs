//! The charsets of RTF, by the number that a font says.

use crate::code_pages::Charset;
use crate::symbol_fonts::sign;

/// The number of fonts that hold signs.
pub(super) const SYMBOL: i32 = 2;

/// The charset of a font, by its number in the font table; `None` for that of the document.
pub(super) fn of_font(number: i32) -> Option<Charset> {
    Charset::of_code_page(match number {
        0 => 1252,
        77 => 10_000,
        78 | 128 => 932,
        79 | 129 => 949,
        80 | 134 => 936,
        81 | 136 => 950,
        85 => 10_006,
        86 => 10_081,
        88 => 10_029,
        89 => 10_007,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        254 => 437,
        255 => 850,
        _ => return None,
    })
}

/// Text in a font of signs.
pub(super) fn symbols(font: &str, bytes: &[u8]) -> String {
    bytes.iter().map(|byte| sign(font, 0xf000 | u32::from(*byte))).collect()
}
