//! The charsets of RTF: by code page, and by the number that a font says.

use encoding_rs::{self as e, Encoding};

use crate::symbol_fonts::sign;

/// The number of fonts that hold signs.
pub(super) const SYMBOL: i32 = 2;

/// The charset of a code page of Windows.
pub(crate) fn of_code_page(number: i32) -> Option<&'static Encoding> {
    Some(match number {
        866 => e::IBM866,
        874 => e::WINDOWS_874,
        932 => e::SHIFT_JIS,
        936 => e::GBK,
        949 => e::EUC_KR,
        950 => e::BIG5,
        1250 => e::WINDOWS_1250,
        1251 => e::WINDOWS_1251,
        1252 => e::WINDOWS_1252,
        1253 => e::WINDOWS_1253,
        1254 => e::WINDOWS_1254,
        1255 => e::WINDOWS_1255,
        1256 => e::WINDOWS_1256,
        1257 => e::WINDOWS_1257,
        1258 => e::WINDOWS_1258,
        10_000 => e::MACINTOSH,
        20_866 => e::KOI8_R,
        21_866 => e::KOI8_U,
        28_591 => e::WINDOWS_1252,
        28_592 => e::ISO_8859_2,
        28_595 => e::ISO_8859_5,
        28_597 => e::ISO_8859_7,
        28_599 => e::WINDOWS_1254,
        28_605 => e::ISO_8859_15,
        50_220..=50_222 => e::ISO_2022_JP,
        51_932 => e::EUC_JP,
        51_949 => e::EUC_KR,
        54_936 => e::GB18030,
        65_001 => e::UTF_8,
        _ => return None,
    })
}

/// The charset of a font, by its number in the font table; `None` for that of the document.
pub(super) fn of_font(number: i32) -> Option<&'static Encoding> {
    of_code_page(match number {
        0 => 1252,
        77 => 10_000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

/// Text in a font of signs.
pub(super) fn symbols(font: &str, bytes: &[u8]) -> String {
    bytes.iter().map(|byte| sign(font, 0xf000 | u32::from(*byte))).collect()
}
