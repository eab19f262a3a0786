//! Tables without lines around their cells: columns follow from where texts stand, rows from how far apart they
//! stand and from where they were wrapped.

use std::ops::Range;

use super::cells::append;
use super::line::{CELL_SEPARATOR, Cell, Line, lead};
use super::strips::{Entry, MAX_LEADING, Strip, starts};
use crate::ConvertError;
use crate::guarded::Clock;

/// Lines of a table are no further apart than this, relative to their letters.
const MAX_LEAD: f64 = 4.5;

/// So many lines with one wide text only may stand between two lines of a table, and so many with any one.
const MAX_WIDE: usize = 3;
const MAX_SINGLE: usize = 15;

/// The number of lines on each side that a text is held against to see which texts stand over several columns.
const NEIGHBOURS: usize = 24;

/// Columns stand at least so many points apart.
const MIN_GAP: f64 = 2.0;

/// Most columns and lines of a table that is looked for, and most texts of one of its lines.
const MAX_COLUMNS: usize = 64;
const MAX_LINES: usize = 4_000;
const MAX_CELLS: usize = 4 * MAX_COLUMNS;

/// A table has at least so many lines of several texts if one of its columns has one text only.
const MIN_SPARSE: usize = 6;

/// Texts whose sides differ by less than this, relative to their letters, stand in line.
const ALIGNED: f64 = 0.35;

/// A table: which lines it is made of, and which of them begin a row.
pub(super) struct Table {
    pub(super) lines: Range<usize>,
    pub(super) rows: Vec<Row>,
}

/// A row of a table: the lines it is made of, and its cells by columns.
pub(super) struct Row {
    pub(super) lines: Range<usize>,
    pub(super) cells: Vec<(usize, String)>,
}

/// The tables in lines that follow each other. `parted` says whether a line is drawn above the one of this number.
///
/// # Errors
/// The time is over.
pub(super) fn find(
    lines: &[Line],
    parted: &dyn Fn(usize) -> bool,
    clock: Clock,
) -> Result<Vec<Table>, ConvertError> {
    let mut tables = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let len = stretch(lines.get(at..).unwrap_or_default());
        if len >= 2 {
            search(lines, at..at + len, parted, 4, clock, &mut tables)?;
        }
        at += len.max(1);
    }
    Ok(tables)
}

/// The number of lines in a row that may be a table's.
fn stretch(lines: &[Line]) -> usize {
    let (mut end, mut wide, mut width) = (0, 0, 0.0);
    let mut above: Option<&Line> = None;
    for (at, line) in lines.iter().enumerate() {
        let far = above.is_some_and(|above| lead(above, line) > MAX_LEAD);
        let crowded = line.cells.len() > MAX_CELLS;
        if line.table.is_some() || far || crowded || at - end > MAX_SINGLE || wide > MAX_WIDE {
            break;
        }
        let (x, to) = line.span();
        if line.cells.len() > 1 {
            (end, wide, width) = (at + 1, 0, f64::max(width, to - x));
        } else if end == 0 {
            break;
        } else {
            wide += usize::from(2.0 * (to - x) > width);
        }
        above = Some(line);
    }
    end
}

/// Looks for a table in these lines, or for several where they are furthest apart.
fn search(
    lines: &[Line],
    range: Range<usize>,
    parted: &dyn Fn(usize) -> bool,
    depth: usize,
    clock: Clock,
    tables: &mut Vec<Table>,
) -> Result<(), ConvertError> {
    let Some(part) = lines.get(range.clone()).filter(|part| (2..=MAX_LINES).contains(&part.len())) else {
        return Ok(());
    };
    if let Some(columns) = columns(part, clock)? {
        // Prose between tables parts them.
        if depth > 0
            && let Some(at) = part.iter().position(|line| is_prose(line, &columns))
        {
            search(lines, range.start..range.start + at, parted, depth - 1, clock, tables)?;
            return search(lines, range.start + at + 1..range.end, parted, depth - 1, clock, tables);
        }
        // The first row may begin above, and the last one go on below.
        let done = tables.last().map_or(0, |table| table.lines.end);
        let before = lines.get(done..range.start).unwrap_or_default();
        let behind = lines.get(range.end..).unwrap_or_default();
        let head = fitting(part.first(), before.iter().rev(), &columns);
        let tail = fitting(part.last(), behind.iter(), &columns);
        let from = range.start - head;
        let whole = lines.get(from..range.end + tail).unwrap_or(part);
        let strips: Vec<Strip> = whole.iter().map(|line| strip(line, &columns)).collect();
        let starts = starts(&strips, |at| parted(from + at));
        let begins = |at: &usize| starts.get(*at) == Some(&true);
        let first = (0..=head).rev().find(begins).unwrap_or(0);
        let end = (head + part.len()..starts.len()).find(begins).unwrap_or(starts.len());
        let backwards = part.iter().filter(|line| line.reads_backwards()).count() * 2 > part.len();
        let rows = put_together(strips, &starts, first..end, from, backwards.then_some(columns.len()));
        tables.push(Table { lines: from + first..from + end, rows });
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let leads = part.windows(2).enumerate().filter_map(|(at, pair)| match pair {
        [above, below] => Some((at + 1, lead(above, below))),
        _ => None,
    });
    let Some((at, widest)) = leads.max_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(()) };
    if widest > 1.3 {
        let middle = range.start + at;
        search(lines, range.start..middle, parted, depth - 1, clock, tables)?;
        search(lines, middle..range.end, parted, depth - 1, clock, tables)?;
    }
    Ok(())
}

/// The number of lines beside a table that may belong to its outermost row: single texts that stand in one column.
fn fitting<'l>(
    mut beside: Option<&'l Line>,
    lines: impl Iterator<Item = &'l Line>,
    columns: &[(f64, f64)],
) -> usize {
    lines
        .take(MAX_SINGLE)
        .take_while(|line| {
            let near = beside.is_some_and(|beside| {
                let (above, below) = if beside.y > line.y { (beside, *line) } else { (*line, beside) };
                lead(above, below) <= MAX_LEADING
            });
            beside = Some(line);
            let fits = line.cells.iter().all(|cell| covered(cell, columns, 0.2 * line.size).len() == 1);
            line.table.is_none() && line.cells.len() == 1 && near && fits
        })
        .count()
}

/// True if a line is one text that stands over several columns and half of the table.
fn is_prose(line: &Line, columns: &[(f64, f64)]) -> bool {
    let width = columns.last().map_or(0.0, |last| last.1) - columns.first().map_or(0.0, |first| first.0);
    match line.cells.as_slice() {
        [cell] => {
            cell.end - cell.x >= 0.5 * width
                && cell.parts(columns).len() == 1
                && covered(cell, columns, 0.2 * line.size).len() > 1
        }
        _ => false,
    }
}

/// The columns that a text stands over.
fn covered(cell: &Cell, columns: &[(f64, f64)], slack: f64) -> Range<usize> {
    let first = columns.partition_point(|(_, end)| *end < cell.x + slack);
    let behind = columns.partition_point(|(start, _)| *start <= cell.end - slack);
    first..behind.max(first + 1).min(columns.len().max(first))
}

/// The columns of a table, from the left, if the lines are one.
fn columns(lines: &[Line], clock: Clock) -> Result<Option<Vec<(f64, f64)>>, ConvertError> {
    let several: Vec<&Line> = lines.iter().filter(|line| line.cells.len() > 1).collect();
    let mut cells: Vec<(&Cell, f64, bool)> = Vec::new();
    for (at, line) in several.iter().enumerate() {
        clock.check()?;
        let beside = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS).min(several.len());
        let near = several.get(beside).unwrap_or_default();
        for cell in &line.cells {
            cells.push((cell, line.size, spans(cell, line.size, near)));
        }
    }
    cells.sort_by(|a, b| a.0.x.total_cmp(&b.0.x));
    let mut columns: Vec<(f64, f64)> = Vec::new();
    for (cell, size, _) in cells.iter().filter(|(_, _, spans)| !spans) {
        match columns.last_mut() {
            Some(column) if cell.x < column.1 + 0.1 * size => column.1 = column.1.max(cell.end),
            _ => columns.push((cell.x, cell.end)),
        }
    }
    // Parted, they are no fewer.
    if columns.len() > MAX_COLUMNS {
        return Ok(None);
    }
    let columns = parted(&several, &columns);
    if !(2..=MAX_COLUMNS).contains(&columns.len()) {
        return Ok(None);
    }
    let mut of_columns: Vec<Vec<(Cell, f64)>> = columns.iter().map(|_| Vec::new()).collect();
    for line in &several {
        for part in line.cells.iter().flat_map(|cell| cell.parts(&columns)) {
            let over = covered(&part, &columns, 0.2 * line.size);
            if over.len() == 1
                && let Some(own) = of_columns.get_mut(over.start)
            {
                own.push((part, line.size));
            }
        }
    }
    // No line has two texts in one column, but for one now and then.
    let doubled = several
        .iter()
        .filter(|line| {
            let mut seen: Vec<usize> = line
                .cells
                .iter()
                .flat_map(|cell| cell.parts(&columns))
                .map(|part| covered(&part, &columns, 0.2 * line.size))
                .filter(|columns| columns.len() == 1)
                .map(|columns| columns.start)
                .collect();
            seen.sort_unstable();
            seen.windows(2).any(|pair| pair.first() == pair.last())
        })
        .count();
    let lonely = of_columns.iter().filter(|own| own.len() < 2).count();
    let aligned = of_columns.iter().filter(|own| in_line(own)).count();
    let filled: usize = of_columns.iter().map(Vec::len).sum();
    let is_table = doubled * 10 <= several.len()
        && (lonely == 0 || (lonely * 3 <= columns.len() && several.len() >= MIN_SPARSE))
        && aligned * 2 > columns.len()
        && filled * 10 >= several.len() * columns.len() * 3;
    Ok(is_table.then_some(columns))
}

/// Parts columns where narrow gaps of their texts stand above each other.
fn parted(lines: &[&Line], columns: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for &(start, end) in columns {
        let own = || {
            let cells = lines.iter().flat_map(|line| &line.cells);
            cells.filter(move |cell| cell.x >= start && cell.end <= end)
        };
        let mut pieces: Vec<(f64, f64)> = own().flat_map(Cell::pieces).collect();
        pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = out.len();
        for (x, to) in pieces {
            match out.get_mut(first..).and_then(<[(f64, f64)]>::last_mut) {
                Some((_, reached)) if x < *reached + MIN_GAP => *reached = reached.max(to),
                _ => out.push((x, to)),
            }
        }
        // Enough lines have text on both sides.
        let cells = own().count();
        let parts = out.split_off(first);
        for part in parts {
            match out.get_mut(first..).and_then(<[(f64, f64)]>::last_mut) {
                Some(before) => {
                    let gap = (before.1 + part.0) / 2.0;
                    let over = own().filter(|cell| cell.x < gap && gap < cell.end).count();
                    if over >= 3 && over * 8 >= cells { out.push(part) } else { before.1 = part.1 }
                }
                None => out.push(part),
            }
        }
    }
    out
}

/// True if a text stands over several columns: over two texts in many of the lines nearby.
fn spans(cell: &Cell, size: f64, near: &[&Line]) -> bool {
    let (mut over_one, mut over_several) = (0_usize, 0_usize);
    for line in near {
        let slack = 0.2 * size;
        let under = |other: &&Cell| other.end - slack > cell.x && other.x + slack < cell.end;
        match line.cells.iter().filter(under).count() {
            0 => {}
            1 => over_one += 1,
            _ => over_several += 1,
        }
    }
    // It stands over itself.
    over_several >= 2 && over_several + 1 >= over_one
}

/// True if most texts of a column have a side or their middle in line.
fn in_line(cells: &[(Cell, f64)]) -> bool {
    let most = |of: &dyn Fn(&Cell) -> f64| {
        let mut sides: Vec<f64> = cells.iter().map(|(cell, _)| of(cell)).collect();
        sides.sort_by(f64::total_cmp);
        let size = cells.first().map_or(0.0, |(_, size)| *size);
        let mut most = 0;
        let mut first = 0;
        for (at, side) in sides.iter().enumerate() {
            while sides.get(first).is_some_and(|start| side - start > ALIGNED * size) {
                first += 1;
            }
            most = most.max(at + 1 - first);
        }
        most
    };
    let enough = |most: usize| most >= 2 && most * 5 >= cells.len() * 3;
    enough(most(&|cell| cell.x))
        || enough(most(&|cell| cell.end))
        || enough(most(&|cell| (cell.x + cell.end) / 2.0))
}

/// A line with its texts in columns. A text that stands over several is parted where they are, if it can be.
fn strip(line: &Line, columns: &[(f64, f64)]) -> Strip {
    let slack = 0.2 * line.size;
    let mut entries: Vec<Entry> = Vec::new();
    for cell in &line.cells {
        for part in cell.parts(columns) {
            let column = covered(&part, columns, slack).start.min(columns.len().saturating_sub(1));
            match entries.iter_mut().find(|entry| entry.column == column) {
                Some(entry) => {
                    entry.text.push_str(CELL_SEPARATOR);
                    entry.text.push_str(&part.text);
                    (entry.x, entry.end) = (entry.x.min(part.x), entry.end.max(part.end));
                }
                None => entries.push(Entry { column, text: part.text, x: part.x, end: part.end }),
            }
        }
    }
    Strip { y: line.y, size: line.size, entries }
}

/// Rows of some of the lines; columns from the right if their number is given.
fn put_together(
    strips: Vec<Strip>,
    starts: &[bool],
    of: Range<usize>,
    offset: usize,
    reversed: Option<usize>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, (strip, starts)) in strips.into_iter().zip(starts).enumerate().take(of.end).skip(of.start) {
        let line = offset + at;
        if *starts || rows.is_empty() {
            rows.push(Row { lines: line..line, cells: Vec::new() });
        }
        let Some(row) = rows.last_mut() else { continue };
        row.lines.end = line + 1;
        for entry in strip.entries {
            let column = reversed.map_or(entry.column, |all| all.saturating_sub(entry.column + 1));
            match row.cells.iter_mut().find(|(other, _)| *other == column) {
                Some((_, text)) => append(text, &entry.text),
                None => row.cells.push((column, entry.text)),
            }
        }
    }
    for row in &mut rows {
        row.cells.sort_by_key(|(column, _)| *column);
    }
    rows
}
