//! The squares of eight by eight pixels that a JPEG consists of.

use std::f32::consts::PI;

use super::super::decoded::MALFORMED;
use super::bits::Bits;
use super::tables::{Scan, Tables};
use crate::ConvertError;

/// The row and the column of each coefficient of a square, in the order in which they are written.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const ZIGZAG: [(usize, usize); 64] = {
    let mut order = [(0, 0); 64];
    let (mut row, mut column, mut index) = (0, 0, 0);
    while index < 64 {
        order[index] = (row, column);
        let up = (row + column) % 2 == 0;
        if (up && column == 7) || (!up && column == 0 && row != 7) {
            row += 1;
        } else if (up && row == 0) || (!up && row == 7) {
            column += 1;
        } else if up {
            row -= 1;
            column += 1;
        } else {
            row += 1;
            column -= 1;
        }
        index += 1;
    }
    order
};

/// A pass that is being read.
pub(super) struct Reader<'b, 't> {
    pub(super) bits: Bits<'b>,
    pub(super) tables: &'t Tables,
    pub(super) scan: &'t Scan,
    progressive: bool,
    /// The number of squares that have nothing more in this pass.
    run: u32,
    until_restart: usize,
}

impl<'b, 't> Reader<'b, 't> {
    pub(super) fn new(bits: Bits<'b>, tables: &'t Tables, scan: &'t Scan, progressive: bool) -> Self {
        Self { bits, tables, scan, progressive, run: 0, until_restart: tables.restarts }
    }

    /// Starts anew where the file says that it does; `true` if so.
    pub(super) fn restart(&mut self) -> bool {
        if self.tables.restarts == 0 {
            return false;
        }
        let due = self.until_restart == 0;
        if due {
            self.bits.restart();
            (self.run, self.until_restart) = (0, self.tables.restarts);
        }
        self.until_restart -= 1;
        due
    }
}

/// The coefficients of the squares of one component, the coarsest of each.
pub(super) struct Squares {
    /// The number that is kept of each, both ways.
    kept: usize,
    coefficients: Vec<i16>,
    /// Which coefficients of each square, of all of them, are not zero; empty if nobody will ask.
    known: Vec<u64>,
    /// The first coefficient of the last square.
    last: i32,
}

impl Squares {
    pub(super) fn new(count: usize, kept: usize, remembered: bool) -> Self {
        Self {
            kept,
            coefficients: vec![0; count * kept * kept],
            known: vec![0; if remembered { count } else { 0 }],
            last: 0,
        }
    }

    /// Forgets the first coefficient of the last square, as at the start of a pass.
    pub(super) fn start(&mut self) {
        self.last = 0;
    }

    pub(super) fn clear(&mut self) {
        self.coefficients.fill(0);
    }

    /// Reads what a pass brings for a square.
    pub(super) fn read(
        &mut self,
        square: usize,
        codes: (usize, usize),
        reader: &mut Reader<'_, '_>,
    ) -> Result<(), ConvertError> {
        let scan = reader.scan;
        if scan.first == 0 {
            if scan.refines {
                if reader.bits.bit() {
                    self.change(square, 0, |value| value | 1 << scan.shift);
                }
            } else {
                let length = reader.bits.symbol(reader.tables.first(codes.0)?)?;
                // Held in bounds that sound files do not reach, so that damaged ones cannot count on and on.
                let last = self.last + reader.bits.signed(u32::from(length.min(15)));
                self.last = last.clamp(-(1 << 16), 1 << 16);
                let value = self.last << scan.shift;
                self.change(square, 0, |_| value);
            }
        }
        match (reader.progressive, scan.last, scan.refines) {
            (_, 0, _) => Ok(()),
            (_, _, false) => self.read_others(square, codes.1, reader),
            (_, _, true) => self.refine_others(square, codes.1, reader),
        }
    }

    fn read_others(
        &mut self,
        square: usize,
        codes: usize,
        reader: &mut Reader<'_, '_>,
    ) -> Result<(), ConvertError> {
        if reader.run > 0 {
            reader.run -= 1;
            return Ok(());
        }
        let codes = reader.tables.others(codes)?;
        let mut index = reader.scan.first.max(1);
        while index <= reader.scan.last {
            let symbol = reader.bits.symbol(codes)?;
            let (zeros, length) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if length == 0 && zeros < 15 {
                reader.run = if reader.progressive { (1 << zeros) - 1 + reader.bits.take(zeros) } else { 0 };
                break;
            }
            index += zeros as usize;
            if length > 0 {
                if index > 63 {
                    return Err(MALFORMED);
                }
                let value = reader.bits.signed(length) << reader.scan.shift;
                self.change(square, index, |_| value);
            }
            index += 1;
        }
        Ok(())
    }

    fn refine_others(
        &mut self,
        square: usize,
        codes: usize,
        reader: &mut Reader<'_, '_>,
    ) -> Result<(), ConvertError> {
        let step = 1 << reader.scan.shift;
        let mut index = reader.scan.first;
        while reader.run == 0 && index <= reader.scan.last {
            let symbol = reader.bits.symbol(reader.tables.others(codes)?)?;
            let (mut zeros, length) = (u32::from(symbol >> 4), symbol & 15);
            if length == 0 && zeros < 15 {
                reader.run = (1 << zeros) + reader.bits.take(zeros);
                break;
            }
            let value = match length {
                0 => 0,
                _ if reader.bits.bit() => step,
                _ => -step,
            };
            // Those that are not zero get their bit on the way.
            while index <= reader.scan.last {
                if self.is_known(square, index) {
                    self.refine(square, index, step, &mut reader.bits);
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                index += 1;
            }
            if value != 0 && index <= reader.scan.last {
                self.change(square, index, |_| value);
            }
            index += 1;
        }
        if reader.run > 0 {
            for index in index..=reader.scan.last {
                if self.is_known(square, index) {
                    self.refine(square, index, step, &mut reader.bits);
                }
            }
            reader.run -= 1;
        }
        Ok(())
    }

    fn refine(&mut self, square: usize, index: usize, step: i32, bits: &mut Bits<'_>) {
        if bits.bit() {
            self.change(square, index, |value| if value < 0 { value - step } else { value + step });
        }
    }

    fn is_known(&self, square: usize, index: usize) -> bool {
        self.known.get(square).is_some_and(|known| known >> index & 1 == 1)
    }

    /// Changes a coefficient, if it is one that is kept.
    fn change(&mut self, square: usize, index: usize, new: impl FnOnce(i32) -> i32) {
        if let Some(known) = self.known.get_mut(square) {
            *known |= 1 << index;
        }
        let Some(&(row, column)) = ZIGZAG.get(index) else { return };
        if row < self.kept && column < self.kept {
            let place = (square * self.kept + row) * self.kept + column;
            if let Some(value) = self.coefficients.get_mut(place) {
                let changed = new(i32::from(*value)).clamp(i32::from(i16::MIN), i32::from(i16::MAX));
                *value = i16::try_from(changed).unwrap_or_default();
            }
        }
    }

    /// Makes the pixels of a square, as many both ways as coefficients are kept, row by row.
    pub(super) fn pixels(&self, square: usize, steps: &[u16; 64], waves: &Waves, out: &mut [u8]) {
        let kept = self.kept;
        let from = square * kept * kept;
        let Some(coefficients) = self.coefficients.get(from..from + kept * kept) else { return };
        let mut scaled = [0.0; 16];
        for (step, &(row, column)) in steps.iter().zip(&ZIGZAG) {
            if row < kept
                && column < kept
                && let (Some(to), Some(value)) =
                    (scaled.get_mut(row * kept + column), coefficients.get(row * kept + column))
            {
                *to = f32::from(*value) * f32::from(*step);
            }
        }
        let mut across = [0.0; 16];
        for (to, line) in across.chunks_exact_mut(kept).zip(scaled.chunks_exact(kept)) {
            for (to, wave) in to.iter_mut().zip(waves.0.chunks_exact(kept)) {
                *to = line.iter().zip(wave).map(|(value, part)| value * part).sum();
            }
        }
        for (to, wave) in out.chunks_exact_mut(kept).zip(waves.0.chunks_exact(kept)) {
            for (column, to) in to.iter_mut().enumerate() {
                let values = across.chunks_exact(kept).filter_map(|line| line.get(column));
                let sum: f32 = values.zip(wave).map(|(value, part)| value * part).sum();
                *to = (sum + 128.5).clamp(0.0, 255.0) as u8;
            }
        }
    }
}

/// The share of each wave in each pixel, pixel by pixel.
pub(super) struct Waves(Vec<f32>);

impl Waves {
    /// Of a square of which so many coefficients are kept both ways.
    pub(super) fn new(kept: usize) -> Self {
        let side = kept as f32;
        let part = |pixel: usize, wave: usize| {
            let height = if wave == 0 { 1.0 } else { 2.0_f32.sqrt() };
            // The waves of a smaller square are higher: of eight pixels each is the mean.
            height / 8.0_f32.sqrt() * ((2 * pixel + 1) as f32 * wave as f32 * PI / (2.0 * side)).cos()
        };
        Self((0..kept).flat_map(|pixel| (0..kept).map(move |wave| part(pixel, wave))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::ZIGZAG;

    #[test]
    fn coefficients_are_in_the_order_of_the_standard() {
        // ITU-T T.81, figure 5.
        assert_eq!(
            ZIGZAG[..10],
            [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (0, 2), (0, 3), (1, 2), (2, 1), (3, 0)]
        );
        assert_eq!(ZIGZAG[34..37], [(6, 1), (7, 0), (7, 1)]);
        assert_eq!(ZIGZAG[61..], [(6, 7), (7, 6), (7, 7)].map(|place| place));
    }
}
