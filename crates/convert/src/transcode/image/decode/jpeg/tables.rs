//! The tables before the pixels of a JPEG: how they are coded.

use super::super::decoded::MALFORMED;
use super::bits::Codes;
use crate::ConvertError;
use crate::transcode::image::header::be16;

/// The tables that are in force.
#[derive(Default)]
pub(super) struct Tables {
    quantization: [Option<[u16; 64]>; 4],
    /// For the first coefficient of a square, and for the others.
    first: [Option<Codes>; 4],
    others: [Option<Codes>; 4],
    /// After how many units the codes start anew; 0 for never.
    pub(super) restarts: usize,
}

impl Tables {
    pub(super) fn first(&self, number: usize) -> Result<&Codes, ConvertError> {
        self.first.get(number).and_then(Option::as_ref).ok_or(MALFORMED)
    }

    pub(super) fn others(&self, number: usize) -> Result<&Codes, ConvertError> {
        self.others.get(number).and_then(Option::as_ref).ok_or(MALFORMED)
    }

    pub(super) fn steps(&self, number: usize) -> Result<&[u16; 64], ConvertError> {
        self.quantization.get(number).and_then(Option::as_ref).ok_or(MALFORMED)
    }

    pub(super) fn add_quantization(&mut self, mut body: &[u8]) -> Result<(), ConvertError> {
        while let Some((head, rest)) = body.split_first() {
            let wide = head >> 4 != 0;
            let length = if wide { 128 } else { 64 };
            let values = rest.get(..length).ok_or(MALFORMED)?;
            let mut table = [0; 64];
            for (index, value) in table.iter_mut().enumerate() {
                let number =
                    if wide { be16(values, index * 2) } else { values.get(index).copied().map(u32::from) };
                *value = number.and_then(|number| u16::try_from(number).ok()).ok_or(MALFORMED)?;
            }
            *self.quantization.get_mut(usize::from(head & 15)).ok_or(MALFORMED)? = Some(table);
            body = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    pub(super) fn add_codes(&mut self, mut body: &[u8]) -> Result<(), ConvertError> {
        while let Some((head, rest)) = body.split_first() {
            let counts = rest.get(..16).ok_or(MALFORMED)?;
            let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
            let symbols = rest.get(16..16 + total).ok_or(MALFORMED)?;
            let tables = if head >> 4 == 0 { &mut self.first } else { &mut self.others };
            let place = tables.get_mut(usize::from(head & 15)).ok_or(MALFORMED)?;
            *place = Some(Codes::new(counts, symbols)?);
            body = rest.get(16 + total..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The content of a pass over the image.
pub(super) struct Scan {
    /// The components, each with the numbers of its two codes.
    pub(super) parts: Vec<(usize, (usize, usize))>,
    /// The first and the last coefficient, in the order in which they are written.
    pub(super) first: usize,
    pub(super) last: usize,
    /// True if it adds a bit to what an earlier pass brought.
    pub(super) refines: bool,
    /// The number of bits that are left to later passes.
    pub(super) shift: u32,
}

impl Scan {
    /// Reads the header of a pass over components with these names.
    pub(super) fn read(body: &[u8], names: &[Option<u8>], progressive: bool) -> Result<Self, ConvertError> {
        let (count, rest) = body.split_first().ok_or(MALFORMED)?;
        let entries = 2 * usize::from(*count);
        let mut parts = Vec::new();
        for entry in rest.get(..entries).ok_or(MALFORMED)?.chunks_exact(2) {
            let &[name, codes] = entry else { return Err(MALFORMED) };
            let component = names.iter().position(|known| *known == Some(name)).ok_or(MALFORMED)?;
            if parts.iter().any(|(other, _)| *other == component) {
                return Err(MALFORMED);
            }
            parts.push((component, (usize::from(codes >> 4), usize::from(codes & 15))));
        }
        let Some(&[first, last, bits, ..]) = rest.get(entries..) else { return Err(MALFORMED) };
        if parts.is_empty() {
            return Err(MALFORMED);
        }
        if !progressive {
            return Ok(Self { parts, first: 0, last: 63, refines: false, shift: 0 });
        }
        let (first, last) = (usize::from(first), usize::from(last));
        // First coefficients come alone, and others of one component at a time.
        let alone = if first == 0 { last == 0 } else { first <= last && last < 64 && parts.len() == 1 };
        if !alone || bits & 15 > 13 {
            return Err(MALFORMED);
        }
        Ok(Self { parts, first, last, refines: bits >> 4 != 0, shift: u32::from(bits & 15) })
    }
}
