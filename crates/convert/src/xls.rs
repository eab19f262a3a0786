//! XLS to text: the workbooks of Excel 5 to 2003, record by record, so that a sheet takes no more memory than a row.

mod margins;

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use crate::code_pages::Charset;
use crate::compound::Compound;
use crate::fields::{f64_at, logical, packed, place_at, u16_at, u32_at, wide};
use crate::grid::Grid;
use crate::guarded::Clock;
use crate::numbers::Formats;
use crate::output::Output;
use crate::{ConvertError, Converted, Limits, Unit};

/// Sheets of one workbook that are listed, formats and styles that are kept.
const MAX_SHEETS: usize = 10_000;
const MAX_STYLES: usize = 1 << 16;

/// Columns that a sheet can have.
const MAX_COLUMNS: usize = 16_384;

/// Records between two looks at the clock.
const BETWEEN_CHECKS: usize = 1 << 10;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let mut file = Compound::open(bytes, limits)?;
    let stream = ["/Workbook", "/Book"].into_iter().find_map(|name| file.stream(name));
    let mut stream = stream.ok_or(ConvertError::Malformed { reason: "it has no workbook inside" })?;
    crate::protected::open_workbook(&mut stream)?;
    let book = Book::read(&stream, clock)?;
    let mut output = Output::new(Unit::Sheet, limits);
    output.set_total(book.sheets.len());
    for sheet in &book.sheets {
        clock.check()?;
        if !output.begin_labelled(&sheet.name, sheet.hidden) {
            break;
        }
        let Some(records) = stream.get(sheet.at..) else {
            output.unread();
            continue;
        };
        if sheet.is_chart {
            output.not_shown("chart");
        } else {
            book.sheet(records, clock, &mut output)?;
        }
        crate::margins::write(&book.margins(records), &sheet.name, &mut output);
    }
    let objects = file.entries("/").into_iter().filter(|entry| !entry.is_stream);
    for object in objects.filter(|entry| entry.name.starts_with("MBD")) {
        clock.check()?;
        crate::embedded::storage(&mut file, &format!("/{}", object.name), &mut output);
    }
    output.finish()
}

/// A record: its number and its data.
struct Record<'b> {
    id: u16,
    data: &'b [u8],
}

/// The records of a stream, as far as they are whole.
fn records(stream: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (id, len) = (u16_at(stream, at)?, usize::from(u16_at(stream, at + 2)?));
        let data = stream.get(at + 4..at + 4 + len)?;
        at += 4 + len;
        Some(Record { id, data })
    })
}

struct Listed {
    name: String,
    at: usize,
    hidden: bool,
    is_chart: bool,
}

/// The state that all sheets share.
struct Book {
    sheets: Vec<Listed>,
    strings: Vec<String>,
    formats: Formats,
    /// The charset of texts, if they are of one byte a character, as before Excel 97.
    old: Option<Charset>,
}

impl Book {
    fn read(stream: &[u8], clock: Clock) -> Result<Self, ConvertError> {
        let mut records = records(stream).peekable();
        let mut old = match records.next() {
            Some(Record { id: 0x0809, data }) => u16_at(data, 0)
                .is_some_and(|version| version < 0x0600)
                .then_some(Charset::Web(encoding_rs::WINDOWS_1252)),
            _ => return Err(ConvertError::Malformed { reason: "it has no workbook inside" }),
        };
        let mut sheets = Vec::new();
        let mut strings = Vec::new();
        let mut codes: HashMap<u32, String> = HashMap::new();
        let mut styles: Vec<u32> = Vec::new();
        let mut since_1904 = false;
        while let Some(Record { id, data }) = records.next() {
            match id {
                0x000a => break,
                0x0022 => since_1904 = u16_at(data, 0) == Some(1),
                0x0042 if old.is_some() => old = u16_at(data, 0).and_then(charset).or(old),
                0x0085 if sheets.len() < MAX_SHEETS => {
                    let (Some(at), Some(&hidden), Some(&kind)) =
                        (place_at(data, 0), data.get(4), data.get(5))
                    else {
                        continue;
                    };
                    let name = data.get(6..).unwrap_or_default();
                    let name = old.map_or_else(|| text(name, 1), |charset| short(name, charset));
                    sheets.push(Listed { name, at, hidden: hidden & 3 != 0, is_chart: kind == 2 });
                }
                0x041e if codes.len() < MAX_STYLES => {
                    let code = data.get(2..).unwrap_or_default();
                    let code = old.map_or_else(|| text(code, 2), |charset| short(code, charset));
                    codes.insert(u16_at(data, 0).unwrap_or(0).into(), code);
                }
                0x00e0 if styles.len() < MAX_STYLES => styles.push(u16_at(data, 2).unwrap_or(0).into()),
                0x00fc => {
                    let mut parts = vec![data];
                    while let Some(more) = records.next_if(|record| record.id == 0x003c) {
                        parts.push(more.data);
                    }
                    strings = shared(&parts, clock)?;
                }
                _ => {}
            }
        }
        let formats = Formats::of(&codes, &styles, since_1904);
        Ok(Self { sheets, strings, formats, old })
    }

    /// Writes the rows of a sheet, whose records begin here.
    fn sheet(&self, stream: &[u8], clock: Clock, output: &mut Output) -> Result<(), ConvertError> {
        let mut grid = Grid::default();
        let mut row: Vec<(usize, String)> = Vec::new();
        let mut number = 0_usize;
        // Rows come before their cells, many at a time.
        let mut hidden: HashSet<usize> = HashSet::new();
        // The cell whose text comes in the next record.
        let mut formula = None;
        let (mut depth, mut ended, mut lost) = (0_usize, false, false);
        for (count, Record { id, data }) in records(stream).enumerate() {
            if count % BETWEEN_CHECKS == 0 {
                clock.check()?;
                if output.is_full() {
                    return Ok(());
                }
            }
            match id {
                0x0809 => {
                    depth += 1;
                    // A chart within the sheet.
                    if depth == 2 {
                        output.not_shown("chart");
                    }
                }
                0x000a => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        ended = true;
                        break;
                    }
                }
                _ if depth > 1 => {}
                0x0207 => {
                    if let Some((column, style)) = formula.take() {
                        row.push((column, self.words(self.label(data), style)));
                    }
                }
                0x0203 | 0x027e | 0x00bd | 0x00fd | 0x0204 | 0x00d6 | 0x0205 | 0x0006 => {
                    let (Some(at), Some(column)) = (u16_at(data, 0), u16_at(data, 2)) else { continue };
                    if usize::from(at) != number {
                        write_row(&mut grid, number, hidden.contains(&number), &mut row, output);
                        number = usize::from(at);
                    }
                    let column = usize::from(column);
                    formula = self.cell(id, data, column, &mut row);
                    if row.len() > MAX_COLUMNS {
                        lost = true;
                        row.clear();
                    }
                }
                // A row, and columns.
                0x0208 if data.get(12).is_some_and(|flags| flags & 0x20 != 0) => {
                    hidden.extend(u16_at(data, 0).map(usize::from));
                }
                0x007d if data.get(8).is_some_and(|flags| flags & 1 != 0) => {
                    if let Some((first, last)) = u16_at(data, 0).zip(u16_at(data, 2)) {
                        grid.hide_columns(first.into()..=last.into());
                    }
                }
                0x01b6 => output.not_shown("text box"),
                _ => {}
            }
        }
        write_row(&mut grid, number, hidden.contains(&number), &mut row, output);
        grid.finish(output);
        if lost || !ended {
            output.partial();
        }
        Ok(())
    }

    /// A text in the style of its cell.
    fn words(&self, text: String, style: usize) -> String {
        self.formats.show_text(text.into(), style).into_owned()
    }

    /// Adds the cells of a record; the column and the style of one whose text is still to come.
    fn cell(
        &self,
        id: u16,
        data: &[u8],
        column: usize,
        row: &mut Vec<(usize, String)>,
    ) -> Option<(usize, usize)> {
        let style = usize::from(u16_at(data, 4).unwrap_or(0));
        let number = |number: f64, style: usize| self.formats.show_number(number, style);
        let text = match id {
            0x0203 => number(f64_at(data, 6)?, style),
            0x027e => number(packed(u32_at(data, 6)?), style),
            0x00bd => {
                let cells = data.get(4..data.len().saturating_sub(2)).unwrap_or_default();
                for (offset, cell) in cells.chunks_exact(6).enumerate() {
                    let style = usize::from(u16_at(cell, 0)?);
                    row.push((column + offset, number(packed(u32_at(cell, 2)?), style)));
                }
                return None;
            }
            0x00fd => match self.strings.get(place_at(data, 6)?) {
                Some(text) => self.words(text.clone(), style),
                None => char::REPLACEMENT_CHARACTER.to_string(),
            },
            0x0204 | 0x00d6 => self.words(self.label(data.get(6..)?), style),
            0x0205 => logical(*data.get(6)?, *data.get(7)? != 0).to_owned(),
            _ => match data.get(6..14)? {
                [0, .., 0xff, 0xff] => return Some((column, style)),
                [1, _, value, .., 0xff, 0xff] => logical(*value, false).to_owned(),
                [2, _, value, .., 0xff, 0xff] => logical(*value, true).to_owned(),
                [_, .., 0xff, 0xff] => return None,
                _ => number(f64_at(data, 6)?, style),
            },
        };
        row.push((column, text));
        None
    }

    /// The text of a header or footer, whose length has one byte before Excel 97.
    fn margin(&self, data: &[u8]) -> String {
        self.old.map_or_else(|| text(data, 2), |charset| short(data, charset))
    }

    /// A text with its length in two bytes.
    fn label(&self, data: &[u8]) -> String {
        let Some(charset) = self.old else { return text(data, 2) };
        let len = usize::from(u16_at(data, 0).unwrap_or(0));
        let text = data.get(2..).map(|text| text.get(..len).unwrap_or(text)).unwrap_or_default();
        charset.decode(text).into_owned()
    }
}

fn write_row(
    grid: &mut Grid,
    number: usize,
    is_hidden: bool,
    row: &mut Vec<(usize, String)>,
    output: &mut Output,
) {
    row.sort_by_key(|(column, _)| *column);
    grid.row(number + 1, is_hidden, row.iter().map(|(column, text)| (*column, text.as_str())), output);
    row.clear();
}

/// A text of one byte a character with its length in one byte.
fn short(data: &[u8], charset: Charset) -> String {
    let len = data.first().copied().map_or(0, usize::from);
    let text = data.get(1..).map(|text| text.get(..len).unwrap_or(text)).unwrap_or_default();
    charset.decode(text).into_owned()
}

/// The charset of a code page as workbooks name it.
fn charset(code_page: u16) -> Option<Charset> {
    Charset::of_code_page(match code_page {
        0x8000 => 10_000,
        0x8001 => 1252,
        number => number.into(),
    })
}

/// A text whose length takes so many bytes, in one record.
fn text(data: &[u8], len_bytes: usize) -> String {
    let mut parts = Parts { parts: &[data], at: 0 };
    let low = usize::from(parts.byte().unwrap_or(0));
    let high = if len_bytes == 2 { usize::from(parts.byte().unwrap_or(0)) << 8 } else { 0 };
    parts.string(low | high).unwrap_or_default()
}

/// The texts that cells share. They go on from record to record.
fn shared(parts: &[&[u8]], clock: Clock) -> Result<Vec<String>, ConvertError> {
    let mut parts = Parts { parts, at: 8 };
    let mut strings = Vec::new();
    while let Some(len) = parts.number() {
        if strings.len() % BETWEEN_CHECKS == 0 {
            clock.check()?;
        }
        match parts.string(len) {
            Some(text) => strings.push(text),
            None => break,
        }
    }
    Ok(strings)
}

/// The data of records that belong together.
struct Parts<'p, 'b> {
    parts: &'p [&'b [u8]],
    /// Where the next byte stands in the first of them.
    at: usize,
}

impl<'b> Parts<'_, 'b> {
    /// Goes on to the next record if this one is over; whether it did.
    fn turn(&mut self) -> bool {
        let over = matches!(self.parts, [first, _, ..] if self.at >= first.len());
        if over {
            self.at -= self.parts.first().map_or(0, |first| first.len());
            self.parts = self.parts.get(1..).unwrap_or_default();
        }
        over
    }

    fn byte(&mut self) -> Option<u8> {
        while self.turn() {}
        let byte = self.parts.first()?.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<usize> {
        Some(usize::from(self.byte()?) | usize::from(self.byte()?) << 8)
    }

    fn skip(&mut self, len: usize) {
        self.at = self.at.saturating_add(len);
        while self.turn() {}
    }

    /// A text of so many characters, with what says how they are stored before them.
    fn string(&mut self, mut left: usize) -> Option<String> {
        let flags = self.byte()?;
        let runs = if flags & 8 != 0 { self.number()? } else { 0 };
        let extra = if flags & 4 != 0 { self.number()? | self.number()? << 16 } else { 0 };
        let mut is_wide = flags & 1 != 0;
        let mut text = String::new();
        while left > 0 {
            // Where a text goes on in the next record, that says anew how its characters are stored.
            if self.turn() {
                is_wide = self.byte()? & 1 != 0;
            }
            let rest: &'b [u8] = self.parts.first()?.get(self.at..)?;
            let width = if is_wide { 2 } else { 1 };
            let len = left.min(rest.len() / width);
            if len == 0 {
                return None;
            }
            let bytes = rest.get(..len * width)?;
            // The bytes of narrow texts are the first 256 characters of Unicode.
            if is_wide {
                text.push_str(&wide(bytes));
            } else {
                text.extend(bytes.iter().map(|byte| char::from(*byte)));
            }
            self.at += len * width;
            left -= len;
        }
        self.skip(4 * runs + extra);
        Some(text)
    }
}
