//! Large JPEGs at a half, a quarter or an eighth of their size, read without ever being whole in memory.
//!
//! A JPEG keeps the coarse and the fine of each square of eight by eight pixels apart. A decoder that leaves the finest
//! out gets a smaller image, and needs to keep only the rest.

use super::super::decoded::MALFORMED;
use super::super::rows::Rows;
use super::bits::Bits;
use super::square::{Reader, Squares, Waves};
use super::tables::{Scan, Tables};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::transcode::image::header::{JpegFrame, be16};

/// The number of bytes that the decoder keeps of an image of which so many coefficients of each square are kept both
/// ways.
pub(super) fn memory(frame: &JpegFrame, kept: usize) -> u64 {
    if frame.in_passes { frame.coefficient_bytes() / 128 * (kept * kept * 2 + 8) as u64 } else { 0 }
}

/// The size of such an image.
pub(super) fn size(frame: &JpegFrame, kept: usize) -> (u32, u32) {
    let kept = u32::try_from(kept).unwrap_or(8);
    ((frame.width * kept).div_ceil(8), (frame.height * kept).div_ceil(8))
}

/// Decodes an image, keeping 1, 2 or 4 coefficients of each square both ways. Samples come as they are stored, those
/// of a pixel together, into `convert`, which makes of them what the rows take. `true` if nothing was missing.
pub(super) fn decode(
    bytes: &[u8],
    frame: &JpegFrame,
    kept: usize,
    rows: &mut Rows,
    convert: &dyn Fn(&mut [u8]),
) -> Result<bool, ConvertError> {
    let mut image = Image::new(frame, kept);
    let mut tables = Tables::default();
    let mut missing = false;
    let mut ended = false;
    let mut at = 2;
    while let Some([0xff, marker, ..]) = bytes.get(at..) {
        rows.clock.check()?;
        match marker {
            // Fill bytes may stand before a marker.
            0xff => {
                at += 1;
                continue;
            }
            0x01 | 0xd0..=0xd8 => {
                at += 2;
                continue;
            }
            0xd9 => {
                ended = true;
                break;
            }
            _ => {}
        }
        let Some(length) = be16(bytes, at + 2) else { break };
        let end = at + 2 + length as usize;
        let Some(body) = bytes.get(at + 4..end) else { break };
        at = end;
        match marker {
            0xdb => tables.add_quantization(body)?,
            0xc4 => tables.add_codes(body)?,
            0xdd => tables.restarts = be16(body, 0).ok_or(MALFORMED)? as usize,
            0xc0..=0xc2 => image.name(body, *marker == 0xc2)?,
            // Other ways of coding.
            0xc3 | 0xc5..=0xcf => return Err(MALFORMED),
            0xda => {
                let names: Vec<_> = image.components.iter().map(|component| component.name).collect();
                let scan = Scan::read(body, &names, image.progressive)?;
                let mut reader = Reader::new(Bits::new(bytes, end), &tables, &scan, image.progressive);
                if !frame.in_passes {
                    return image.stream(&mut reader, rows, convert);
                }
                // The squares of a broken pass are better than nothing.
                missing |= image.pass(&mut reader, rows.clock)?;
                at = reader.bits.end();
            }
            _ => {}
        }
    }
    for line in 0..image.lines {
        image.show(line, line, &tables, rows, convert)?;
    }
    Ok(ended && !missing)
}

/// The image under construction.
struct Image {
    kept: usize,
    waves: Waves,
    progressive: bool,
    size: (u32, u32),
    /// Units of squares, in which all components are together: across and down.
    columns: usize,
    lines: usize,
    /// Squares of a unit of the component that has most.
    widest: usize,
    highest: usize,
    components: Vec<Component>,
}

struct Component {
    name: Option<u8>,
    steps: usize,
    /// Squares of a unit.
    across: usize,
    down: usize,
    /// Squares that a pass over this component alone has.
    own_columns: usize,
    own_lines: usize,
    /// Squares of a line, those included that only fill up a unit.
    stride: usize,
    squares: Squares,
}

impl Image {
    fn new(frame: &JpegFrame, kept: usize) -> Self {
        // A component alone has units of one square, whatever its header says.
        let alone = frame.sampling.len() == 1;
        let factors =
            |&(across, down): &(u32, u32)| if alone { (1, 1) } else { (across.max(1), down.max(1)) };
        let widest = frame.sampling.iter().map(|sampling| factors(sampling).0).max().unwrap_or(1);
        let highest = frame.sampling.iter().map(|sampling| factors(sampling).1).max().unwrap_or(1);
        let columns = frame.width.div_ceil(8 * widest) as usize;
        let lines = frame.height.div_ceil(8 * highest) as usize;
        let components = frame.sampling.iter().map(|sampling| {
            let (across, down) = factors(sampling);
            let stride = columns * across as usize;
            let count = stride * down as usize * if frame.in_passes { lines } else { 1 };
            Component {
                name: None,
                steps: 0,
                across: across as usize,
                down: down as usize,
                own_columns: (frame.width * across).div_ceil(8 * widest) as usize,
                own_lines: (frame.height * down).div_ceil(8 * highest) as usize,
                stride,
                squares: Squares::new(count, kept, frame.in_passes),
            }
        });
        Self {
            kept,
            waves: Waves::new(kept),
            progressive: false,
            size: size(frame, kept),
            columns,
            lines,
            widest: widest as usize,
            highest: highest as usize,
            components: components.collect(),
        }
    }

    /// Takes the names of the components and of their tables from the header of the frame.
    fn name(&mut self, body: &[u8], progressive: bool) -> Result<(), ConvertError> {
        let count = usize::from(*body.get(5).ok_or(MALFORMED)?);
        // Samples of twelve bits are for physicians.
        if body.first() != Some(&8) || count != self.components.len() {
            return Err(MALFORMED);
        }
        self.progressive = progressive;
        let entries = body.get(6..).unwrap_or_default().chunks_exact(3);
        for (component, entry) in self.components.iter_mut().zip(entries) {
            let &[name, _, steps] = entry else { return Err(MALFORMED) };
            (component.name, component.steps) = (Some(name), usize::from(steps));
        }
        Ok(())
    }

    /// Reads a pass, and keeps what it brings; `true` if something is missing.
    fn pass(&mut self, reader: &mut Reader<'_, '_>, clock: Clock) -> Result<bool, ConvertError> {
        self.start();
        let lines = match reader.scan.parts.as_slice() {
            [(alone, _)] => self.components.get(*alone).map_or(0, |component| component.own_lines),
            _ => self.lines,
        };
        for line in 0..lines {
            clock.check()?;
            let read = match reader.scan.parts.as_slice() {
                &[(alone, codes)] => self.own_line(alone, codes, line, reader),
                _ => self.line(line, reader),
            };
            if read.is_err() || reader.bits.is_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the only pass of an image, and shows each line of units at once; `true` if nothing is missing.
    fn stream(
        &mut self,
        reader: &mut Reader<'_, '_>,
        rows: &mut Rows,
        convert: &dyn Fn(&mut [u8]),
    ) -> Result<bool, ConvertError> {
        self.start();
        for line in 0..self.lines {
            self.components.iter_mut().for_each(|component| component.squares.clear());
            if self.line(0, reader).is_err() || reader.bits.is_over() {
                return Ok(false);
            }
            self.show(line, 0, reader.tables, rows, convert)?;
        }
        Ok(true)
    }

    fn start(&mut self) {
        self.components.iter_mut().for_each(|component| component.squares.start());
    }

    /// Reads a line of units in which several components are together, or the only one is.
    fn line(&mut self, line: usize, reader: &mut Reader<'_, '_>) -> Result<(), ConvertError> {
        for column in 0..self.columns {
            if reader.restart() {
                self.start();
            }
            for &(index, codes) in &reader.scan.parts {
                let component = self.components.get_mut(index).ok_or(MALFORMED)?;
                for down in 0..component.down {
                    let first = (line * component.down + down) * component.stride + column * component.across;
                    for square in first..first + component.across {
                        component.squares.read(square, codes, reader)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a line of squares of one component.
    fn own_line(
        &mut self,
        index: usize,
        codes: (usize, usize),
        line: usize,
        reader: &mut Reader<'_, '_>,
    ) -> Result<(), ConvertError> {
        let component = self.components.get_mut(index).ok_or(MALFORMED)?;
        for column in 0..component.own_columns {
            if reader.restart() {
                component.squares.start();
            }
            component.squares.read(line * component.stride + column, codes, reader)?;
        }
        Ok(())
    }

    /// Makes the rows of a line of units, whose squares are kept as those of the line `kept_line`.
    fn show(
        &self,
        line: usize,
        kept_line: usize,
        tables: &Tables,
        rows: &mut Rows,
        convert: &dyn Fn(&mut [u8]),
    ) -> Result<(), ConvertError> {
        let mut planes = Vec::new();
        for component in &self.components {
            planes.push(component.plane(kept_line, self.kept, tables, &self.waves)?);
        }
        let height = self.highest * self.kept;
        let left = (self.size.1 as usize).saturating_sub(line * height);
        let mut row = vec![0; self.size.0 as usize * planes.len()];
        for y in 0..height.min(left) {
            for (index, (component, plane)) in self.components.iter().zip(&planes).enumerate() {
                let stride = component.stride * self.kept;
                let from = y * component.down / self.highest * stride;
                let samples = plane.get(from..from + stride).unwrap_or_default();
                for (x, to) in row.iter_mut().skip(index).step_by(planes.len()).enumerate() {
                    *to = samples.get(x * component.across / self.widest).copied().unwrap_or_default();
                }
            }
            convert(&mut row);
            rows.push(&row)?;
        }
        Ok(())
    }
}

impl Component {
    /// The samples of a line of units.
    fn plane(
        &self,
        line: usize,
        kept: usize,
        tables: &Tables,
        waves: &Waves,
    ) -> Result<Vec<u8>, ConvertError> {
        let steps = tables.steps(self.steps)?;
        let stride = self.stride * kept;
        let mut plane = vec![0; stride * self.down * kept];
        let mut square = [0; 16];
        let square = square.get_mut(..kept * kept).ok_or(MALFORMED)?;
        for (down, band) in plane.chunks_exact_mut((stride * kept).max(1)).enumerate() {
            for column in 0..self.stride {
                let index = (line * self.down + down) * self.stride + column;
                self.squares.pixels(index, steps, waves, square);
                for (row, pixels) in band.chunks_exact_mut(stride).zip(square.chunks_exact(kept)) {
                    if let Some(to) = row.get_mut(column * kept..(column + 1) * kept) {
                        to.copy_from_slice(pixels);
                    }
                }
            }
        }
        Ok(plane)
    }
}
