//! The cells of a sheet, row by row.

use std::borrow::Cow;

use super::bounds::{MAX_CELL, MAX_COLUMNS, MAX_ROWS};
use super::comments::Comments;
use super::escapes::unescaped;
use super::records::{Records, rich_text, text_at};
use super::strings::Strings;
use crate::fields::{f64_at, logical, packed, place_at, u32_at};
use crate::grid::{Grid, place};
use crate::guarded::Clock;
use crate::numbers::Formats;
use crate::output::Output;
use crate::xml::{Node, Stop, Xml};

/// Bytes of one row.
const MAX_ROW: usize = 4 << 20;

/// Numbers of records.
const ROW: u32 = 0;
const COLUMNS: u32 = 60;
const RICH_TEXT: u32 = 62;
const END_OF_CELLS: u32 = 146;

/// Writes the cells of a sheet.
pub(super) struct Cells<'a> {
    pub(super) formats: &'a Formats,
    pub(super) strings: &'a Strings,
    pub(super) comments: Comments,
    pub(super) clock: Clock,
    pub(super) formulas: usize,
    /// True if a shared text is not there.
    pub(super) lost: bool,
}

/// A cell while it is read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    value: Option<String>,
    formula: Option<String>,
    text: String,
    comment: Option<String>,
}

/// A row while it is read: all its texts in one.
#[derive(Default)]
struct Row {
    number: usize,
    hidden: bool,
    texts: String,
    cells: Vec<(usize, usize)>,
}

impl Row {
    /// Adds a cell with its comment; whether there was room for it.
    fn add(&mut self, column: usize, text: &str, comment: Option<String>) -> bool {
        let start = self.texts.len();
        if start > MAX_ROW || self.cells.len() >= MAX_COLUMNS {
            return false;
        }
        self.texts.push_str(text);
        if let Some(comment) = comment {
            let space = if text.is_empty() { "" } else { " " };
            self.texts.push_str(&format!("{space}[comment: {comment}]"));
        }
        if self.texts.len() > start {
            self.cells.push((column, self.texts.len()));
        }
        true
    }

    fn write(&self, grid: &mut Grid, output: &mut Output) {
        let cells = self.cells.iter().scan(0, |from, (column, to)| {
            let text = self.texts.get(*from..*to).unwrap_or_default();
            *from = *to;
            Some((*column, text))
        });
        grid.row(self.number, self.hidden, cells, output);
    }
}

impl Cells<'_> {
    /// Writes the rows of a sheet of XLSX.
    pub(super) fn read(&mut self, xml: &mut Xml<'_>, output: &mut Output) -> Result<(), Stop> {
        let mut grid = Grid::default();
        let mut row = Row::default();
        let mut cell = Cell::default();
        let mut next_column = 0;
        loop {
            if output.is_full() {
                return Ok(());
            }
            let mut wanted = None;
            let node = match xml.next() {
                Ok(node) => node,
                Err(stop) => {
                    grid.finish(output);
                    return Err(stop);
                }
            };
            match node {
                Node::Open(tag) => match tag.name() {
                    "row" => {
                        let number = tag.number("r").unwrap_or(row.number + 1).clamp(1, MAX_ROWS);
                        row = Row { number, hidden: tag.is_on("hidden"), ..Row::default() };
                        next_column = 0;
                    }
                    "col" if tag.is_on("hidden") => {
                        let number =
                            |name: &str| tag.number(name).map(|number: usize| number.saturating_sub(1));
                        if let Some((first, last)) = number("min").zip(number("max")) {
                            grid.hide_columns(first..=last);
                        }
                    }
                    "c" => {
                        let at = tag.attr("r").as_deref().and_then(place);
                        let (column, line) = at.unwrap_or((next_column, row.number));
                        let column = column.min(MAX_COLUMNS - 1);
                        next_column = column + 1;
                        cell = Cell {
                            column,
                            kind: tag.attr("t").unwrap_or_default(),
                            style: tag.number("s").unwrap_or(0),
                            comment: self.comments.take(line, column),
                            ..Cell::default()
                        };
                    }
                    "v" => wanted = Some("v"),
                    "f" => wanted = Some("f"),
                    "t" => wanted = Some("t"),
                    "rPh" => wanted = Some("rPh"),
                    _ => {}
                },
                Node::Close(name) => match &*name {
                    "c" => self.add(&mut cell, &mut row),
                    "row" => {
                        self.clock.check()?;
                        row.write(&mut grid, output);
                        row = Row { number: row.number, ..Row::default() };
                    }
                    "sheetData" => {
                        grid.finish(output);
                        return Ok(());
                    }
                    _ => {}
                },
                Node::End => {
                    grid.finish(output);
                    return Ok(());
                }
                _ => {}
            }
            match wanted {
                Some("v") => cell.value = Some(xml.text(MAX_CELL)?),
                Some("f") => cell.formula = Some(xml.text(MAX_CELL)?),
                Some("t") => cell.text.push_str(&unescaped(&xml.text(MAX_CELL)?)),
                Some(_) => xml.skip()?,
                None => {}
            }
        }
    }

    /// Adds a cell to its row.
    fn add(&mut self, cell: &mut Cell, row: &mut Row) {
        let cell = std::mem::take(cell);
        let text = |text| self.formats.show_text(text, cell.style);
        let value = cell.value.as_ref().filter(|value| !value.trim().is_empty() || cell.kind == "str");
        let text = match (value, &cell.formula) {
            (Some(value), _) => match cell.kind.as_str() {
                "s" => match value.trim().parse().ok().and_then(|at| self.strings.get(at)) {
                    Some(shared) => text(Cow::Borrowed(shared)),
                    None => {
                        self.lost = true;
                        Cow::Borrowed("\u{fffd}")
                    }
                },
                "b" => Cow::Borrowed(if matches!(value.trim(), "1" | "true") { "TRUE" } else { "FALSE" }),
                "str" | "inlineStr" => text(unescaped(value)),
                "e" => unescaped(value),
                "d" => Cow::Borrowed(value.trim()),
                _ => Cow::Owned(self.formats.show(value.trim(), cell.style)),
            },
            (None, Some(formula)) if !formula.trim().is_empty() || cell.text.is_empty() => {
                self.formulas += 1;
                // Cells that share a formula have it in the first of them alone.
                let formula = Some(formula.trim()).filter(|formula| !formula.is_empty()).unwrap_or("…");
                Cow::Owned(format!("={formula}"))
            }
            _ => text(Cow::Borrowed(cell.text.as_str())),
        };
        self.lost |= !row.add(cell.column, &text, cell.comment);
    }

    /// Writes the rows of a sheet of XLSB.
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
                    let hidden = data.get(11).is_some_and(|flags| flags & 0x10 != 0);
                    row = Row { number, hidden, ..Row::default() };
                    next_column = 0;
                }
                COLUMNS if data.get(16).is_some_and(|flags| flags & 1 != 0) => {
                    if let Some((first, last)) = place_at(data, 0).zip(place_at(data, 4)) {
                        grid.hide_columns(first..=last);
                    }
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
        grid.finish(output);
        ended
    }

    fn add_binary(&mut self, kind: u32, style: u32, body: &[u8], column: usize, row: &mut Row) {
        let style = usize::try_from(style).unwrap_or(usize::MAX);
        let number = |number: Option<f64>| number.map(|number| self.formats.show_number(number, style));
        let words = |text: Option<String>| Some(self.formats.show_text(text?.into(), style).into_owned());
        let logical = |is_error| body.first().map(|value| logical(*value, is_error).to_owned());
        let text = match kind {
            2 => number(u32_at(body, 0).map(packed)),
            3 | 11 => logical(true),
            4 | 10 => logical(false),
            5 | 9 => number(f64_at(body, 0)),
            6 | 8 => words(text_at(body, 0).map(|(text, _)| text)),
            7 => words(place_at(body, 0).and_then(|at| self.strings.get(at)).map(str::to_owned)),
            RICH_TEXT => words(rich_text(body)),
            _ => Some(String::new()),
        };
        let text = text.filter(|text| text.len() <= MAX_CELL).unwrap_or_else(|| {
            self.lost = true;
            char::REPLACEMENT_CHARACTER.to_string()
        });
        let comment = self.comments.take(row.number, column);
        self.lost |= !row.add(column, &text, comment);
    }
}
