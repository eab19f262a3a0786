//! Puts the runs of a page into lines, cells and columns that read as the page does.

use super::columns;
use super::rtl;
use super::runs::{Run, WORD_GAP};
use crate::ConvertError;
use crate::guarded::Clock;

/// Gaps at least this wide, relative to the letters, part the cells of a line.
const CELL_GAP: f64 = 0.8;

/// Words that are stretched to fill a line can stand as far apart as this, at least so many of them alike.
const STRETCHED_GAP: f64 = 2.0;
const STRETCHED_GAPS: usize = 4;

/// What stands between the cells of a line.
const CELL_SEPARATOR: &str = " | ";

/// Lines further apart than usual by this factor are separate paragraphs.
const PARAGRAPH_GAP: f64 = 1.4;

/// A line of text.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// From left to right, or from right to left if the line reads so. Not empty.
    pub(super) cells: Vec<Cell>,
    /// The baseline.
    pub(super) y: f64,
    /// The height of its largest letters.
    pub(super) size: f64,
}

/// A stretch of a line that is set apart.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) x: f64,
    pub(super) end: f64,
}

/// The text of runs that have the same direction: lines in reading order, each ending in `\n`, and an empty
/// line between paragraphs.
pub(super) fn text(runs: Vec<Run>, clock: Clock) -> Result<String, ConvertError> {
    let mut lines = Vec::new();
    for row in rows(runs, clock)? {
        clock.check()?;
        lines.push(row.into_line());
    }
    let mut text = String::new();
    for block in columns::order(lines, clock)? {
        if !text.is_empty() {
            text.push('\n');
        }
        write(&block, &mut text);
    }
    Ok(text)
}

fn write(lines: &[Line], text: &mut String) {
    let leading = usual_leading(lines);
    let mut above: Option<&Line> = None;
    for line in lines {
        if above.is_some_and(|above| lead(above, line) > leading * PARAGRAPH_GAP) {
            text.push('\n');
        }
        for (index, cell) in line.cells.iter().enumerate() {
            if index > 0 {
                text.push_str(CELL_SEPARATOR);
            }
            text.push_str(&cell.text);
        }
        text.push('\n');
        above = Some(line);
    }
}

/// How far apart two lines are, relative to their letters.
pub(super) fn lead(above: &Line, below: &Line) -> f64 {
    (above.y - below.y) / above.size.max(below.size)
}

fn usual_leading(lines: &[Line]) -> f64 {
    let mut leads: Vec<f64> = lines
        .windows(2)
        .filter_map(|pair| match pair {
            [above, below] => Some(lead(above, below)),
            _ => None,
        })
        .collect();
    leads.sort_by(f64::total_cmp);
    leads.get(leads.len() / 2).copied().unwrap_or(1.2).clamp(1.1, 2.5)
}

/// Runs on one baseline, in no order yet.
struct Row {
    runs: Vec<Run>,
    /// Baseline and size of the largest letters; the others are held against these.
    y: f64,
    size: f64,
    /// The lowest and the highest baseline, and the smallest size.
    low: f64,
    high: f64,
    least: f64,
}

/// How far letters reach below and above their baseline, relative to their size.
const BELOW: f64 = 0.2;
const ABOVE: f64 = 0.7;

/// Groups runs by baseline, from the top.
fn rows(mut runs: Vec<Run>, clock: Clock) -> Result<Vec<Row>, ConvertError> {
    runs.sort_by(|a, b| b.y.total_cmp(&a.y).then(a.x.total_cmp(&b.x)));
    let mut rows: Vec<Row> = Vec::new();
    for run in runs {
        clock.check()?;
        let nearby = rows.len().saturating_sub(2);
        let home = rows.iter_mut().skip(nearby).find(|row| row.takes(&run));
        match home {
            Some(row) => row.push(run),
            None => rows.push(Row::new(run)),
        }
    }
    rows.sort_by(|a, b| b.y.total_cmp(&a.y));
    Ok(rows)
}

impl Row {
    fn new(run: Run) -> Self {
        let Run { y, size, .. } = run;
        Self { runs: vec![run], y, size, low: y, high: y, least: size }
    }

    /// Whether a run stands on this row: raised and lowered letters do, the next row does not.
    fn takes(&self, run: &Run) -> bool {
        let low = (self.y - BELOW * self.size).max(run.y - BELOW * run.size);
        let high = (self.y + ABOVE * self.size).min(run.y + ABOVE * run.size);
        let height = (BELOW + ABOVE) * self.size.min(run.size);
        if high - low < 0.5 * height {
            return false;
        }
        if (run.y - self.low).max(self.high - run.y) <= 0.3 * self.least.min(run.size) {
            return true;
        }
        let off = |other: &Run| (other.y - run.y).abs() > 0.3 * other.size.min(run.size);
        let covers = |other: &Run| other.end.min(run.end) - other.x.max(run.x) > 0.2 * run.size;
        // Small lines beside one of large letters stand above each other.
        !self.runs.iter().any(|other| off(other) && covers(other))
    }

    fn push(&mut self, run: Run) {
        if run.size > self.size {
            (self.y, self.size) = (run.y, run.size);
        }
        (self.low, self.high) = (self.low.min(run.y), self.high.max(run.y));
        self.least = self.least.min(run.size);
        self.runs.push(run);
    }

    fn into_line(mut self) -> Line {
        let backwards = rtl::reads_backwards(self.runs.iter().map(|run| run.text.as_str()));
        // Mirrored, a line that reads backwards is treated as any other.
        let span = |run: &Run| if backwards { (-run.end, -run.x) } else { (run.x, run.end) };
        self.runs.sort_by(|a, b| span(a).0.total_cmp(&span(b).0));
        self.runs.dedup_by(|next, run| run.is_printed_again_by(next));
        let mut reached = f64::NEG_INFINITY;
        let mut above = 0.0;
        // How far each run stands from what comes before it, relative to its letters.
        let gaps: Vec<f64> = self
            .runs
            .iter()
            .map(|run| {
                let (start, end) = span(run);
                let gap = (start - reached) / run.size.max(above);
                reached = reached.max(end);
                above = run.size;
                gap
            })
            .collect();
        let mut sorted = gaps.clone();
        sorted.sort_by(f64::total_cmp);
        let mut cells: Vec<Cell> = Vec::new();
        for (run, gap) in self.runs.iter().zip(gaps) {
            let text = rtl::logical(&run.text);
            match cells.last_mut() {
                Some(cell) if gap < CELL_GAP || is_stretched(gap, &sorted) => {
                    // Text over other text is not part of its last word either.
                    if !(-0.5..WORD_GAP).contains(&gap) {
                        cell.text.push(' ');
                    }
                    cell.text.push_str(&text);
                    cell.x = cell.x.min(run.x);
                    cell.end = cell.end.max(run.end);
                }
                _ => cells.push(Cell { text: text.into_owned(), x: run.x, end: run.end }),
            }
        }
        Line { cells, y: self.y, size: self.size }
    }
}

/// Whether a wide gap is only one of the stretched spaces of a line, whose gaps are given in order of width.
fn is_stretched(gap: f64, sorted: &[f64]) -> bool {
    let below = |width: f64| sorted.partition_point(|other| *other < width);
    gap < STRETCHED_GAP && below(1.1 * gap) - below(0.9 * gap) >= STRETCHED_GAPS
}

impl Run {
    /// Whether the next run is the same text once more, as shadows and poor man's bold are made.
    fn is_printed_again_by(&self, next: &Self) -> bool {
        let near = 0.3 * self.size;
        self.text == next.text && (self.x - next.x).abs() < near && (self.y - next.y).abs() < near
    }
}
