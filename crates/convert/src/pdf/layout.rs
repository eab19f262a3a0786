//! Puts the runs of a page into lines, cells and columns that read as the page does.

use super::rules::{Rule, Rules};
use super::runs::{Run, WORD_GAP};
use super::tables::{Row as TableRow, Table};
use super::{columns, grids, rtl, tables};
use crate::ConvertError;
use crate::guarded::Clock;
use crate::table::push_row;

/// Gaps at least this wide, relative to the letters, part the cells of a line.
const CELL_GAP: f64 = 0.8;

/// Gaps at least this wide part cells where the columns of a table do.
const JOINT_GAP: f64 = 0.38;

/// Words that are stretched to fill a line can stand as far apart as this, at least so many of them alike.
const STRETCHED_GAP: f64 = 2.0;
const STRETCHED_GAPS: usize = 4;

/// What stands between the cells of a line.
pub(super) const CELL_SEPARATOR: &str = " | ";

/// Lines further apart than usual by this factor are separate paragraphs.
const PARAGRAPH_GAP: f64 = 1.4;

/// A line of text, or a whole table whose cells are known.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// From left to right, or from right to left if the line reads so. Not empty; one without text for a table.
    pub(super) cells: Vec<Cell>,
    /// The baseline, for a table the first one.
    pub(super) y: f64,
    /// The last baseline.
    pub(super) low: f64,
    /// The height of its largest letters.
    pub(super) size: f64,
    /// The rows of a table, each ending in `\n`.
    pub(super) table: Option<String>,
}

/// A stretch of a line that is set apart.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) x: f64,
    pub(super) end: f64,
    /// Where it may be parted if it turns out to be several cells.
    joints: Vec<Joint>,
}

/// A wide gap in a cell: where the text behind it begins, and between what it stands.
#[derive(Debug, Clone, Copy)]
struct Joint {
    at: usize,
    end: f64,
    x: f64,
}

impl Line {
    /// A table whose rows are known: where it begins and ends, and its first and last baseline.
    pub(super) fn table(rows: String, (x, end): (f64, f64), (y, low): (f64, f64), size: f64) -> Self {
        let cells = vec![Cell { text: String::new(), x, end, joints: Vec::new() }];
        Self { cells, y, low, size, table: Some(rows) }
    }

    /// The text of all its cells.
    pub(super) fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// From where to where it goes.
    pub(super) fn span(&self) -> (f64, f64) {
        self.cells
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(x, end), cell| (x.min(cell.x), end.max(cell.end)))
    }

    /// Whether its cells stand from right to left.
    pub(super) fn reads_backwards(&self) -> bool {
        match self.cells.as_slice() {
            [first, .., last] => first.x > last.x,
            [only] => rtl::reads_backwards(std::iter::once(only.text.as_str())),
            [] => false,
        }
    }
}

impl Cell {
    /// From where to where its texts go between wide gaps.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (f64, f64)> {
        let starts = std::iter::once(self.x).chain(self.joints.iter().map(|joint| joint.x));
        let ends = self.joints.iter().map(|joint| joint.end).chain(std::iter::once(self.end));
        starts.zip(ends)
    }

    /// The cell, parted where columns part.
    pub(super) fn parts(&self, columns: &[(f64, f64)]) -> Vec<Cell> {
        let between = |joint: &&Joint| {
            let gaps = columns.windows(2);
            gaps.filter_map(|pair| Some((pair.first()?.1, pair.get(1)?.0)))
                .any(|(end, start)| joint.end <= start && joint.x >= end && joint.x > joint.end)
        };
        let mut parts = Vec::new();
        let (mut from, mut x) = (0, self.x);
        for joint in self.joints.iter().filter(between) {
            let text = self.text.get(from..joint.at).unwrap_or_default().trim_end().to_owned();
            parts.push(Cell { text, x, end: joint.end, joints: Vec::new() });
            (from, x) = (joint.at, joint.x);
        }
        let text = self.text.get(from..).unwrap_or_default().to_owned();
        parts.push(Cell { text, x, end: self.end, joints: Vec::new() });
        parts
    }
}

/// The text of runs that have the same direction: lines in reading order, each ending in `\n`, and an empty
/// line between paragraphs.
pub(super) fn text(runs: Vec<Run>, rules: &Rules, clock: Clock) -> Result<String, ConvertError> {
    let (runs, mut lines) = grids::take(runs, rules, clock)?;
    for row in rows(runs, clock)? {
        clock.check()?;
        lines.push(row.into_line());
    }
    lines.sort_by(|a, b| b.y.total_cmp(&a.y));
    let mut parting: Vec<Rule> = rules.level.iter().chain(&rules.edges).copied().collect();
    parting.sort_by(|a, b| b.at.total_cmp(&a.at));
    let mut text = String::new();
    for block in columns::order(lines, clock)? {
        if !text.is_empty() {
            text.push('\n');
        }
        write(&block, &parting, &mut text);
    }
    Ok(text)
}

fn write(lines: &[Line], rules: &[Rule], text: &mut String) {
    let leading = usual_leading(lines);
    let mut tables = tables::find(lines, &|at| is_parted(lines, at, rules)).into_iter().peekable();
    let mut at = 0;
    let mut above: Option<&Line> = None;
    while let Some(line) = lines.get(at) {
        if let Some(table) = tables.next_if(|table| table.lines.start == at) {
            at = table.lines.end;
            write_table(&table, lines, above, leading, text);
            above = lines.get(at.saturating_sub(1));
            continue;
        }
        if above.is_some_and(|above| lead(above, line) > leading * PARAGRAPH_GAP) {
            text.push('\n');
        }
        match &line.table {
            Some(rows) => text.push_str(rows),
            None => {
                for (index, cell) in line.cells.iter().enumerate() {
                    text.push_str(if index > 0 { CELL_SEPARATOR } else { "" });
                    text.push_str(&cell.text);
                }
                text.push('\n');
            }
        }
        above = Some(line);
        at += 1;
    }
}

/// Writes the rows of a table; those that stand further apart than others part it.
fn write_table(table: &Table, lines: &[Line], above: Option<&Line>, leading: f64, text: &mut String) {
    let gap = |row: &TableRow, above: Option<&Line>| Some(lead(above?, lines.get(row.lines.start)?));
    let before = |row: &TableRow| gap(row, row.lines.start.checked_sub(1).and_then(|at| lines.get(at)));
    let mut gaps: Vec<f64> = table.rows.iter().skip(1).filter_map(before).collect();
    gaps.sort_by(f64::total_cmp);
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(leading).max(leading);
    for (index, row) in table.rows.iter().enumerate() {
        let (gap, usual) = if index == 0 { (gap(row, above), leading) } else { (before(row), usual) };
        if gap.is_some_and(|gap| gap > usual * PARAGRAPH_GAP) {
            text.push('\n');
        }
        push_row(text, row.cells.iter().map(|(column, cell)| (*column, cell.as_str())));
        text.push('\n');
    }
}

/// True if a line is drawn above the line of this number that parts it from the one before.
fn is_parted(lines: &[Line], at: usize, rules: &[Rule]) -> bool {
    let Some((above, below)) = at.checked_sub(1).and_then(|above| Some((lines.get(above)?, lines.get(at)?)))
    else {
        return false;
    };
    let (high, low) = (above.low + 0.1 * above.size, below.y + 0.3 * below.size);
    let (a, b) = (above.span(), below.span());
    let width = a.1.max(b.1) - a.0.min(b.0);
    let first = rules.partition_point(|rule| rule.at > high);
    let between = rules.iter().skip(first).take_while(|rule| rule.at >= low);
    between
        .map(|rule| rule.to.min(a.1.max(b.1)) - rule.from.max(a.0.min(b.0)))
        .any(|long| long >= 0.5 * width)
}

/// How far apart two lines are, relative to their letters.
pub(super) fn lead(above: &Line, below: &Line) -> f64 {
    (above.low - below.y) / above.size.max(below.size)
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
pub(super) struct Row {
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
pub(super) fn rows(mut runs: Vec<Run>, clock: Clock) -> Result<Vec<Row>, ConvertError> {
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
    attach_marks(&mut rows);
    Ok(rows)
}

/// Most characters of a raised or lowered text, and most of them in a row.
const MAX_MARK: usize = 4;
const MAX_MARKS: usize = 24;

/// Moves raised and lowered letters that are far off a baseline into the row that they belong to.
fn attach_marks(rows: &mut Vec<Row>) {
    let mut at = 0;
    while at < rows.len() {
        let home = [at.wrapping_sub(1), at + 1].into_iter().find(|home| {
            let pair = rows.get(at).zip(rows.get(*home));
            pair.is_some_and(|(marks, row)| marks.runs.iter().all(|mark| row.has_mark(mark, marks)))
        });
        match home {
            Some(home) => {
                let marks = rows.remove(at);
                let home = if home > at { home - 1 } else { home };
                if let Some(row) = rows.get_mut(home) {
                    row.runs.extend(marks.runs);
                }
                at = home;
            }
            None => at += 1,
        }
    }
}

impl Row {
    fn new(run: Run) -> Self {
        let Run { y, size, .. } = run;
        Self { runs: vec![run], y, size, low: y, high: y, least: size }
    }

    /// True if a run stands on this row: raised and lowered letters do, the next row does not.
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

    /// Whether one of some small texts stands right behind a text of this row, above or below its baseline.
    fn has_mark(&self, mark: &Run, marks: &Row) -> bool {
        mark.size <= 0.8 * self.size
            && marks.runs.len() <= MAX_MARKS
            && self.runs.len() <= 64 * MAX_MARKS
            && mark.text.chars().nth(MAX_MARK).is_none()
            && self.runs.iter().any(|run| {
                let above = mark.y - run.y;
                (mark.x - run.end).abs() <= 0.25 * run.size
                    && mark.size <= 0.8 * run.size
                    && (-0.5 * run.size..=0.9 * run.size).contains(&above)
            })
    }

    fn push(&mut self, run: Run) {
        if run.size > self.size {
            (self.y, self.size) = (run.y, run.size);
        }
        (self.low, self.high) = (self.low.min(run.y), self.high.max(run.y));
        self.least = self.least.min(run.size);
        self.runs.push(run);
    }

    pub(super) fn into_line(mut self) -> Line {
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
        let is_word = |run: &&Run| run.text.chars().filter(|c| c.is_alphabetic()).nth(1).is_some();
        let prose = self.runs.iter().filter(is_word).count() * 2 > self.runs.len();
        let mut cells: Vec<Cell> = Vec::new();
        for (run, gap) in self.runs.iter().zip(gaps) {
            let text = rtl::logical(&run.text);
            match cells.last_mut() {
                Some(cell) if gap < CELL_GAP || (prose && is_stretched(gap, &sorted)) => {
                    // Text over other text is not part of its last word either.
                    if run.spaced || !(-0.5..WORD_GAP).contains(&gap) {
                        cell.text.push(' ');
                    }
                    if gap >= JOINT_GAP && !backwards {
                        cell.joints.push(Joint { at: cell.text.len(), end: cell.end, x: run.x });
                    }
                    cell.text.push_str(&text);
                    cell.x = cell.x.min(run.x);
                    cell.end = cell.end.max(run.end);
                }
                _ => cells.push(Cell { text: text.into_owned(), x: run.x, end: run.end, joints: Vec::new() }),
            }
        }
        Line { cells, y: self.y, low: self.y, size: self.size, table: None }
    }
}

/// True if a wide gap is only one of the stretched spaces of a line, whose gaps are given in order of width.
fn is_stretched(gap: f64, sorted: &[f64]) -> bool {
    let below = |width: f64| sorted.partition_point(|other| *other < width);
    gap < STRETCHED_GAP && below(1.1 * gap) - below(0.9 * gap) >= STRETCHED_GAPS
}

impl Run {
    /// True if the next run is the same text once more, as shadows and poor man's bold are made.
    fn is_printed_again_by(&self, next: &Self) -> bool {
        let near = 0.3 * self.size;
        self.text == next.text && (self.x - next.x).abs() < near && (self.y - next.y).abs() < near
    }
}
