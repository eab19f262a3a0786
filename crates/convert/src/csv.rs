//! CSV and TSV to tables in blocks of rows, each with the header.

use std::ops::ControlFlow;

use bytes::Bytes;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::guarded::Clock;
use crate::output::Output;
use crate::plain::{NOT_TEXT, as_it_is};
use crate::{ConvertError, Converted, Limits, Note, Unit, charset, table};

/// Rows of one block.
const BLOCK: usize = 200;

/// Tables with more columns are shown as text.
const MAX_COLUMNS: usize = 16_384;

/// The number of lines that tell the separator of the cells.
const SAMPLED: usize = 100;

/// After how many rows the clock is looked at.
const ROWS_PER_LOOK: usize = 1024;

/// Room that is kept for the line that says what is left out.
const REST: usize = 100;

pub(crate) fn convert(
    bytes: &Bytes,
    charset: Option<&str>,
    tabs: bool,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let decoded = charset::decode(bytes, charset).ok_or(NOT_TEXT)?;
    clock.check()?;
    let notes = decoded.notes();
    // Excel says the separator in a first line of its own.
    let (text, said) = match decoded.text.strip_prefix("sep=").map(|rest| (rest, rest.as_bytes())) {
        Some((rest, [separator, b'\r' | b'\n', ..])) => (rest.get(1..).unwrap_or_default(), Some(*separator)),
        _ => (&*decoded.text, None),
    };
    let separator = said.unwrap_or_else(|| if tabs { b'\t' } else { separator(text) });
    if has_endless_line(text) || !is_table(text, separator) {
        return as_it_is(text, notes.chain([Note::ShownAsText { not: "a table" }]), limits);
    }
    let table = Table { text, separator, clock };
    let mut output = Output::new(Unit::RowBlock, limits);
    notes.for_each(|note| output.note(note));
    table.write(&mut output)?;
    output.finish()
}

struct Table<'t> {
    text: &'t str,
    separator: u8,
    clock: Clock,
}

impl Table<'_> {
    fn rows(&self, mut each: impl FnMut(&Row) -> ControlFlow<()>) -> Result<(), ConvertError> {
        let mut reader = ReaderBuilder::new().delimiter(self.separator).build();
        let mut rest = self.text.as_bytes();
        let mut row = Row::default();
        let mut count = 0_usize;
        while row.read(&mut reader, &mut rest) {
            count += 1;
            if count.is_multiple_of(ROWS_PER_LOOK) {
                self.clock.check()?;
            }
            if each(&row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, output: &mut Output) -> Result<(), ConvertError> {
        let (mut total, mut columns, mut header) = (0_usize, 0, None);
        self.rows(|row| {
            columns = columns.max(row.cells);
            match &mut header {
                None => header = Some(row.clone()),
                Some(_) => total += 1,
            }
            ControlFlow::Continue(())
        })?;
        let Some(header) = header else { return Ok(()) };
        // A table of figures alone has no header to repeat.
        let has_header = total > 0 && names_columns(&header);
        total += usize::from(!has_header);
        output.set_total(total.div_ceil(BLOCK));
        let mut head = String::new();
        if has_header {
            table::push_cells(&mut head, header.iter());
            head.push('\n');
        }

        let (mut at, mut shown) = (0_usize, 0_usize);
        let mut line = String::new();
        let mut skip = has_header;
        self.rows(|row| {
            if std::mem::take(&mut skip) {
                return ControlFlow::Continue(());
            }
            line.clear();
            table::push_cells(&mut line, row.iter());
            let room = if at == 0 { usize::MAX } else { output.room() };
            if at.is_multiple_of(BLOCK) {
                let marker =
                    format!("[rows {}-{} of {total}, {columns} columns]", at + 1, total.min(at + BLOCK));
                if line.len() + head.len() + marker.len() + REST > room || !output.begin_marked(&marker) {
                    return ControlFlow::Break(());
                }
                output.push(&head);
            } else if line.len() + REST > room {
                return ControlFlow::Break(());
            }
            output.line(&line);
            at += 1;
            if !output.is_full() {
                shown = at;
            }
            ControlFlow::Continue(())
        })?;
        if shown < total {
            output.line(&format!("[rows {}-{total} are left out]", shown + 1));
            output.note(Note::RowsLeftOut { shown, total: Some(total) });
            output.truncated();
        }
        Ok(())
    }
}

/// A row, in room that is used again for the next one.
#[derive(Clone, Default)]
struct Row {
    /// The text of its cells, one behind the other, and free room.
    text: Vec<u8>,
    /// Where each cell ends, and free room.
    ends: Vec<usize>,
    cells: usize,
}

impl Row {
    /// Reads the next row; false if there is none.
    fn read(&mut self, reader: &mut Reader, rest: &mut &[u8]) -> bool {
        let (mut written, mut cells) = (0, 0);
        loop {
            let text = self.text.get_mut(written..).unwrap_or_default();
            let ends = self.ends.get_mut(cells..).unwrap_or_default();
            let (result, read, wrote, ended) = reader.read_record(rest, text, ends);
            *rest = rest.get(read..).unwrap_or_default();
            written += wrote;
            cells += ended;
            match result {
                // The next call has no input, which ends the last row.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize((2 * self.text.len()).max(1024), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize((2 * self.ends.len()).max(32), 0),
                ReadRecordResult::Record => {
                    self.cells = cells;
                    return true;
                }
                ReadRecordResult::End => return false,
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let ends = self.ends.get(..self.cells).unwrap_or_default();
        let text = ends.last().and_then(|end| self.text.get(..*end)).unwrap_or_default();
        // Whole UTF-8 split at ASCII is UTF-8 still: nothing can fail.
        let text = str::from_utf8(text).unwrap_or_default();
        let mut start = 0;
        ends.iter().map(move |end| text.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default())
    }
}

/// True if a line is longer than that of any table: a row is held in memory, several times.
fn has_endless_line(text: &str) -> bool {
    const LONGEST: usize = 1 << 20;
    let mut start = 0;
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    ends.any(|end| end - std::mem::replace(&mut start, end) > LONGEST)
}

/// True if a row says what its columns are: words, each once.
fn names_columns(row: &Row) -> bool {
    let figure = |cell: &str| {
        let cell = cell.trim();
        cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | '('))
            && cell.bytes().filter(u8::is_ascii_digit).count() * 2 >= cell.len()
    };
    let named = row.iter().filter(|cell| !cell.trim().is_empty()).count();
    named > 0 && named * 2 >= row.cells && !row.iter().any(figure)
}

/// True if no row has too many cells. Text that looks quoted may be none for the reader, so it counts too, but may be
/// more.
fn is_table(text: &str, separator: u8) -> bool {
    let (mut cells, mut quoted_cells, mut quoted) = (1, 0, false);
    for byte in text.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => (cells, quoted_cells) = (1, 0),
            byte if byte == separator && quoted => quoted_cells += 1,
            byte if byte == separator => cells += 1,
            _ => {}
        }
        if cells > MAX_COLUMNS || quoted_cells > 64 * MAX_COLUMNS {
            return false;
        }
    }
    true
}

/// The separator of the cells: the one that divides most lines into the same number of them.
fn separator(text: &str) -> u8 {
    let mut best = (0, b',');
    for candidate in [b',', b';', b'\t', b'|'] {
        let (mut counts, mut cells, mut quoted) = (Vec::new(), 0_usize, false);
        for byte in text.bytes().take(1 << 20) {
            match byte {
                b'"' => quoted = !quoted,
                b'\n' if !quoted => {
                    counts.push(cells);
                    cells = 0;
                    if counts.len() == SAMPLED {
                        break;
                    }
                }
                byte if byte == candidate && !quoted => cells += 1,
                _ => {}
            }
        }
        if counts.len() < SAMPLED && cells > 0 {
            counts.push(cells);
        }
        // The usual number of separators of a line, and how many lines agree.
        let usual = counts
            .iter()
            .copied()
            .filter(|count| *count > 0)
            .max_by_key(|count| (counts.iter().filter(|other| *other == count).count(), *count));
        let Some(usual) = usual else { continue };
        let agree = counts.iter().filter(|count| **count == usual).count();
        let score = agree * 1000 / counts.len().max(1) * 100 + usual.min(99);
        if score > best.0 {
            best = (score, candidate);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::separator;

    #[test]
    fn separators_are_those_that_most_lines_agree_on() {
        assert_eq!(separator("a,b\n1,2\n"), b',');
        assert_eq!(separator("name;amount\nA;1,50\nB;2,75\n"), b';');
        assert_eq!(separator("a\tb, c\n1\t2, 3, 4\n"), b'\t');
        assert_eq!(separator("\"a;b;c\",d\n\"e;f;\ng\",h\n"), b',');
        assert_eq!(separator("one column\nalone\n"), b',');
    }
}
