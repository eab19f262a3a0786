//! The binary records of XLSB, in which Excel keeps what XLSX has as XML ([MS-XLSB]).

use std::collections::HashMap;
use std::io::{BufReader, Read};

use super::{
    Book, Cells, Formats, Listed, MAX_CELL, MAX_COLUMNS, MAX_COMMENTS, MAX_ROWS, MAX_SHEETS, Row, Strings,
};
use crate::fields::{f64_at, logical, packed, place_at, u16_at, u32_at, wide};
use crate::grid::Grid;
use crate::guarded::Clock;
use crate::ooxml::Package;
use crate::output::Output;
use crate::table::column_name;
use crate::xml::Stop;

/// Longest record that is read.
const MAX_RECORD: usize = 4 << 20;

/// Records between two looks at the clock.
const BETWEEN_CHECKS: u32 = 1 << 10;

/// Numbers of records.
const ROW: u32 = 0;
const SHARED_TEXT: u32 = 19;
const FORMAT: u32 = 44;
const STYLE: u32 = 47;
const RICH_TEXT: u32 = 62;
const END_OF_CELLS: u32 = 146;
const BOOK: u32 = 153;
const SHEET: u32 = 156;
const STYLES: u32 = 617;
const END_OF_STYLES: u32 = 618;
const COMMENT: u32 = 635;
const COMMENT_TEXT: u32 = 637;

/// The records of a part.
pub(super) struct Records<'r> {
    source: BufReader<Box<dyn Read + 'r>>,
    data: Vec<u8>,
    count: u32,
    clock: Clock,
}

impl<'r> Records<'r> {
    /// The records of a part; `None` if it is not there or cannot be read.
    pub(super) fn open(package: &'r Package<'_>, name: &str) -> Option<Self> {
        let part = package.archive.part(name)?.ok()?;
        Some(Self {
            source: BufReader::new(Box::new(part)),
            data: Vec::new(),
            count: 0,
            clock: package.clock,
        })
    }

    /// The number of the next record and its data; `None` at the end.
    fn next(&mut self) -> Result<Option<(u32, &[u8])>, Stop> {
        self.count = self.count.wrapping_add(1);
        if self.count.is_multiple_of(BETWEEN_CHECKS) {
            self.clock.check()?;
        }
        let mut first = [0];
        if self.source.read(&mut first)? == 0 {
            return Ok(None);
        }
        let id = self.number(first, 2)?;
        let mut first = [0];
        self.source.read_exact(&mut first)?;
        let len = usize::try_from(self.number(first, 4)?).map_err(|_| Stop::Damaged)?;
        if len > MAX_RECORD {
            return Err(Stop::Damaged);
        }
        self.data.resize(len, 0);
        self.source.read_exact(&mut self.data)?;
        Ok(Some((id, &self.data)))
    }

    /// A number of at most so many bytes, each of which says whether another follows.
    fn number(&mut self, mut byte: [u8; 1], most: u32) -> Result<u32, Stop> {
        let mut number = u32::from(byte[0] & 0x7f);
        for at in 1..most {
            if byte[0] & 0x80 == 0 {
                break;
            }
            self.source.read_exact(&mut byte)?;
            number |= u32::from(byte[0] & 0x7f) << (7 * at);
        }
        Ok(number)
    }
}

/// A text with its length in characters before it, and where it ends.
fn text_at(data: &[u8], at: usize) -> Option<(String, usize)> {
    let len = place_at(data, at).filter(|len| *len != 0xffff_ffff).unwrap_or(0);
    let end = (at + 4).checked_add(len.checked_mul(2)?)?;
    Some((wide(data.get(at + 4..end)?), end))
}

/// A text that says how it is formatted.
fn rich_text(data: &[u8]) -> Option<String> {
    text_at(data, 1).map(|(text, _)| text)
}

impl Book {
    pub(super) fn read_binary(&mut self, records: &mut Records<'_>) -> Result<(), Stop> {
        while let Some((id, data)) = records.next()? {
            match id {
                BOOK => self.since_1904 = data.first().is_some_and(|flags| flags & 1 != 0),
                SHEET if self.sheets.len() < MAX_SHEETS => {
                    let (id, end) = text_at(data, 8).ok_or(Stop::Damaged)?;
                    let (name, _) = text_at(data, end).ok_or(Stop::Damaged)?;
                    let hidden = u32_at(data, 0) != Some(0);
                    self.sheets.push(Listed { name, id, hidden });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Formats {
    pub(super) fn read_binary(&mut self, records: &mut Records<'_>) -> Result<(), Stop> {
        let mut in_cells = false;
        let two = |data: &[u8], at| u16_at(data, at).map(u32::from);
        while let Some((id, data)) = records.next()? {
            match id {
                FORMAT => {
                    if let (Some(id), Some((code, _))) = (two(data, 0), text_at(data, 2)) {
                        self.add_code(id, &code);
                    }
                }
                STYLES => in_cells = true,
                END_OF_STYLES => in_cells = false,
                STYLE if in_cells => self.add_style(two(data, 2).unwrap_or(0)),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Strings {
    pub(super) fn read_binary(&mut self, records: &mut Records<'_>, limit: usize) -> Result<(), Stop> {
        while let Some((id, data)) = records.next()? {
            if id == SHARED_TEXT {
                self.push(&rich_text(data).ok_or(Stop::Damaged)?, limit)?;
            }
        }
        Ok(())
    }
}

/// Adds the comments of a sheet by their cells.
pub(super) fn comments(records: &mut Records<'_>, found: &mut HashMap<String, String>) -> Result<(), Stop> {
    let mut cell = None;
    while let Some((id, data)) = records.next()? {
        match id {
            COMMENT => {
                let place =
                    place_at(data, 12).zip(place_at(data, 4)).filter(|(column, _)| *column < MAX_COLUMNS);
                cell = place.map(|(column, row)| format!("{}{}", column_name(column), row.saturating_add(1)));
            }
            COMMENT_TEXT if found.len() < MAX_COMMENTS => {
                if let (Some(cell), Some(text)) = (cell.take(), rich_text(data)) {
                    found.insert(cell, text.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl Cells<'_> {
    /// Writes the rows of a sheet.
    pub(super) fn read_binary(&mut self, records: &mut Records<'_>, output: &mut Output) -> Result<(), Stop> {
        let (mut grid, mut row, mut next_column) = (Grid::default(), Row::default(), 0);
        let ended = loop {
            if output.is_full() {
                break Ok(());
            }
            let (id, data) = match records.next() {
                Ok(Some((END_OF_CELLS, _))) => break Ok(()),
                Ok(Some(record)) => record,
                Ok(None) => break Err(Stop::Damaged),
                Err(stop) => break Err(stop),
            };
            match id {
                ROW => {
                    row.write(&mut grid, output);
                    let number = place_at(data, 0).unwrap_or(0).saturating_add(1).min(MAX_ROWS);
                    row = Row { number, ..Row::default() };
                    next_column = 0;
                }
                // Cells that stand behind the one before have no column of their own.
                1..=18 | RICH_TEXT => {
                    let short = (12..=18).contains(&id);
                    let column = if short { Some(next_column) } else { place_at(data, 0) };
                    let head = if short { 4 } else { 8 };
                    let (Some(column), Some(style)) = (column, u32_at(data, head - 4)) else { continue };
                    let column = column.min(MAX_COLUMNS - 1);
                    next_column = column + 1;
                    let kind = if short { id - 11 } else { id };
                    let body = data.get(head..).unwrap_or_default();
                    self.add_binary(kind, style & 0xff_ffff, body, column, &mut row);
                }
                _ => {}
            }
        };
        row.write(&mut grid, output);
        ended
    }

    fn add_binary(&mut self, kind: u32, style: u32, body: &[u8], column: usize, row: &mut Row) {
        let style = usize::try_from(style).unwrap_or(usize::MAX);
        let number = |number: Option<f64>| number.map(|number| self.formats.show_number(number, style));
        let logical = |is_error| body.first().map(|value| logical(*value, is_error).to_owned());
        let text = match kind {
            2 => number(u32_at(body, 0).map(packed)),
            3 | 11 => logical(true),
            4 | 10 => logical(false),
            5 | 9 => number(f64_at(body, 0)),
            6 | 8 => text_at(body, 0).map(|(text, _)| text),
            7 => place_at(body, 0).and_then(|at| self.strings.get(at)).map(str::to_owned),
            RICH_TEXT => rich_text(body),
            _ => Some(String::new()),
        };
        let text = text.filter(|text| text.len() <= MAX_CELL).unwrap_or_else(|| {
            self.lost = true;
            char::REPLACEMENT_CHARACTER.to_string()
        });
        let comment = self.comments.remove(&format!("{}{}", column_name(column), row.number));
        self.lost |= !row.add(column, &text, comment);
    }
}
