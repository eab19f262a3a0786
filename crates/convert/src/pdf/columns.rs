//! Tells columns of prose, which are read one after the other, from tables, which are read row by row.

use std::collections::VecDeque;

use super::line::{Cell, Line, lead};
use crate::ConvertError;
use crate::guarded::Clock;

/// Fewest lines of a column of prose, and its least width in letter heights.
const MIN_LINES: usize = 5;
const MIN_WIDTH: f64 = 10.0;

/// Lines of prose fill this part of their column, but for the last ones of paragraphs.
const FILLED: f64 = 0.75;

/// A cell of prose has at least this many characters; those of tables are shorter.
const WORDY: usize = 20;

/// Pages with more lines are no pages of prose.
const MAX_LINES: usize = 2_000;

/// Columns in columns, as in a page of three.
const MAX_DEPTH: usize = 4;

/// Lines this far apart, relative to their letters, may belong to different parts of a page.
const APART: f64 = 1.6;

/// Lines of columns of prose have no more cells than this.
const MAX_CELLS: usize = 16;

/// Most places at which columns are tried to end.
const MAX_ENDS: usize = 8;

/// Fewest rows of tables that stand beside each other, and most lines that are looked at for them.
const MIN_ROWS: usize = 3;
const MAX_BESIDE: usize = 200;

/// Orders lines for reading, in blocks whose lines follow each other.
pub(super) fn order(lines: Vec<Line>, clock: Clock) -> Result<Vec<Vec<Line>>, ConvertError> {
    let mut blocks = Vec::new();
    if lines.len() > MAX_LINES {
        blocks.push(lines);
    } else {
        split(lines, 0, clock, &mut blocks)?;
    }
    Ok(blocks)
}

fn split(
    lines: Vec<Line>,
    depth: usize,
    clock: Clock,
    blocks: &mut Vec<Vec<Line>>,
) -> Result<(), ConvertError> {
    let mut plain = Vec::new();
    let mut rest = VecDeque::from(lines);
    while !rest.is_empty() {
        clock.check()?;
        if depth < MAX_DEPTH
            && let Some((middle, len)) =
                gutter(rest.make_contiguous()).or_else(|| drift(rest.make_contiguous()))
        {
            if !plain.is_empty() {
                blocks.push(std::mem::take(&mut plain));
            }
            let (left, right) = cut(rest.drain(..len), middle);
            split(left, depth + 1, clock, blocks)?;
            split(right, depth + 1, clock, blocks)?;
        } else {
            plain.extend(rest.pop_front());
        }
    }
    if !plain.is_empty() {
        blocks.push(plain);
    }
    Ok(())
}

/// Where columns part that begin with the first line, and for how many lines.
fn gutter(lines: &[Line]) -> Option<(f64, usize)> {
    let first = lines.first().filter(|line| line.cells.len() <= MAX_CELLS)?;
    first.cells.windows(2).find_map(|pair| {
        let [a, b] = pair else { return None };
        // A line that reads backwards has its cells the other way around.
        let mut gap = if a.x <= b.x { (a.end, b.x) } else { (b.end, a.x) };
        // A line that follows columns may leave the gutter free as well, but stands apart from them.
        let mut ends = Vec::new();
        let mut above = first;
        for (len, line) in lines.iter().enumerate() {
            let Some(narrower) = narrow(line, gap) else {
                ends.push((len, gap));
                break;
            };
            if lead(above, line) > APART {
                ends.push((len, gap));
            }
            (gap, above) = (narrower, line);
            if len + 1 == lines.len() {
                ends.push((len + 1, gap));
            }
        }
        ends.iter().take(MAX_ENDS).find_map(|&(len, gap)| {
            let band = lines.get(..len)?;
            let middle = (gap.0 + gap.1) / 2.0;
            let columns =
                is_prose(band, |cell| cell.end <= middle) && is_prose(band, |cell| cell.x >= middle);
            columns.then_some((middle, len))
        })
    })
}

/// Where tables part that stand beside each other with lines of their own, and for how many lines.
fn drift(lines: &[Line]) -> Option<(f64, usize)> {
    let mut len = usize::from(lines.first()?.table.is_none());
    let mut beside = 0;
    for pair in lines.windows(2).take(MAX_BESIDE) {
        let [above, below] = pair else { break };
        let lead = lead(above, below);
        if lead > APART || below.table.is_some() {
            break;
        }
        beside += usize::from(lead < 0.95);
        len += 1;
    }
    if beside < 2 || len < 2 * MIN_ROWS {
        return None;
    }
    let band = lines.get(..len)?;
    let mut spans: Vec<(f64, f64)> =
        band.iter().flat_map(|line| &line.cells).map(|cell| (cell.x, cell.end)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut reached = spans.first()?.1;
    let size = band.iter().map(|line| line.size).fold(0.0, f64::max);
    let mut gaps = Vec::new();
    for (x, end) in spans {
        if x - reached >= 2.0 * size {
            gaps.push((reached + x) / 2.0);
        }
        reached = reached.max(end);
    }
    gaps.into_iter().find_map(|middle| {
        let cells = |line: &Line| {
            let left = line.cells.iter().filter(|cell| cell.end <= middle).count();
            (left, line.cells.len() - left)
        };
        let one_sided = band.iter().filter(|line| cells(line).0 == 0 || cells(line).1 == 0).count();
        let left = band.iter().filter(|line| cells(line).0 > 1).count();
        let right = band.iter().filter(|line| cells(line).1 > 1).count();
        (one_sided * 3 >= len * 2 && left >= MIN_ROWS && right >= MIN_ROWS).then_some((middle, len))
    })
}

/// The part of a gap that a line leaves free, unless the line crosses it.
fn narrow(line: &Line, gap: (f64, f64)) -> Option<(f64, f64)> {
    let mut free = gap;
    for cell in &line.cells {
        if cell.end <= (free.0 + free.1) / 2.0 {
            free.0 = free.0.max(cell.end);
        } else {
            free.1 = free.1.min(cell.x);
        }
    }
    (free.1 - free.0 >= 0.5 * line.size).then_some(free)
}

/// True if the cells on one side are lines of prose: many, wordy, and for the most part as wide as the column.
fn is_prose(band: &[Line], on_side: impl Fn(&Cell) -> bool) -> bool {
    let mut spans = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut cells, mut wordy) = (0_usize, 0_usize);
    let mut size = 0.0_f64;
    for line in band {
        let (mut start, mut end) = (f64::INFINITY, f64::NEG_INFINITY);
        for cell in line.cells.iter().filter(|cell| on_side(cell)) {
            cells += 1;
            wordy += usize::from(cell.text.chars().nth(WORDY - 1).is_some());
            (start, end) = (start.min(cell.x), end.max(cell.end));
        }
        if start < end {
            (low, high) = (low.min(start), high.max(end));
            size = size.max(line.size);
            spans.push(end - start);
        }
    }
    let width = high - low;
    let full = spans.iter().filter(|span| **span >= FILLED * width).count();
    spans.len() >= MIN_LINES && width >= MIN_WIDTH * size && full * 2 >= spans.len() && wordy * 3 >= cells * 2
}

/// Parts lines at a gutter.
fn cut(lines: impl Iterator<Item = Line>, middle: f64) -> (Vec<Line>, Vec<Line>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for mut line in lines {
        let cells = std::mem::take(&mut line.cells);
        let (before, after): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.end <= middle);
        if !before.is_empty() && !after.is_empty() {
            left.push(Line { cells: before, table: None, ..line });
            right.push(Line { cells: after, ..line });
        } else if !before.is_empty() {
            left.push(Line { cells: before, ..line });
        } else {
            right.push(Line { cells: after, ..line });
        }
    }
    (left, right)
}
