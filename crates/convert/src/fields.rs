//! Fields of binary formats of Office.

/// Numbers with the lowest byte first, where there are enough bytes.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

pub(crate) fn f64_at(bytes: &[u8], at: usize) -> Option<f64> {
    Some(f64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// A number of four bytes as a position.
pub(crate) fn place_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32_at(bytes, at)?).ok()
}

/// Text of two bytes a character.
pub(crate) fn wide(bytes: &[u8]) -> String {
    encoding_rs::UTF_16LE.decode_without_bom_handling(bytes).0.into_owned()
}

/// Text of one byte a character, as Western versions wrote it.
#[cfg(feature = "legacy")]
pub(crate) fn narrow(bytes: &[u8]) -> String {
    encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned()
}

/// A number of a cell in four bytes: an integer or the upper half of a float, perhaps in hundredths.
pub(crate) fn packed(bits: u32) -> f64 {
    let number = if bits & 2 != 0 {
        f64::from(bits.cast_signed() >> 2)
    } else {
        f64::from_bits(u64::from(bits & !3) << 32)
    };
    if bits & 1 != 0 { number / 100.0 } else { number }
}

/// The text of a cell that holds a truth value or an error.
pub(crate) fn logical(value: u8, is_error: bool) -> &'static str {
    match (is_error, value) {
        (false, 0) => "FALSE",
        (false, _) => "TRUE",
        (true, 0x00) => "#NULL!",
        (true, 0x07) => "#DIV/0!",
        (true, 0x0f) => "#VALUE!",
        (true, 0x17) => "#REF!",
        (true, 0x1d) => "#NAME?",
        (true, 0x24) => "#NUM!",
        (true, _) => "#N/A",
    }
}
