//! Runs on one baseline, put together to lines.

use std::ops::Range;

use super::line::{Cell, Joint, Line};
use super::rtl;
use super::runs::{Run, WORD_GAP};
use crate::ConvertError;
use crate::guarded::Clock;

/// Gaps at least this wide, relative to the letters, part the cells of a line.
const CELL_GAP: f64 = 0.8;

/// Gaps at least this wide part cells where the columns of a table do.
const JOINT_GAP: f64 = 0.38;

/// Words that are stretched to fill a line can stand as far apart as this, at least so many of them alike.
const STRETCHED_GAP: f64 = 2.0;
const STRETCHED_GAPS: usize = 4;

/// Texts of one word overlap by less than this part of their letters. Japanese is set with half a letter taken back.
const MAX_BACK: f64 = 0.55;

/// The distance that letters reach below and above their baseline, relative to their size.
const BELOW: f64 = 0.2;
const ABOVE: f64 = 0.7;

/// Most characters of a raised or lowered text, and most of them in a row.
const MAX_MARK: usize = 4;
const MAX_MARKS: usize = 24;

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
    Ok(attach_marks(rows))
}

/// Moves raised and lowered letters that are far off a baseline into the row that they belong to.
fn attach_marks(rows: Vec<Row>) -> Vec<Row> {
    let mut done: Vec<Row> = Vec::with_capacity(rows.len());
    let mut rest = rows.into_iter().peekable();
    let mut next = rest.next();
    while let Some(row) = next {
        let is_home = |home: Option<&Row>| {
            home.is_some_and(|home| row.runs.iter().all(|mark| home.has_mark(mark, &row)))
        };
        let home = if is_home(done.last()) {
            done.pop()
        } else if is_home(rest.peek()) {
            rest.next()
        } else {
            None
        };
        next = match home {
            // It is looked at again: it may be the marks of another one.
            Some(mut home) => {
                home.runs.extend(row.runs);
                Some(home)
            }
            None => {
                done.push(row);
                rest.next()
            }
        };
    }
    done
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

    /// True if one of some small texts stands right behind a text of this row, above or below its baseline.
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

    /// The runs in the order in which they are read.
    pub(super) fn into_runs(mut self) -> Vec<Run> {
        let backwards = self.put_in_order();
        for stretch in against(&self.runs, backwards) {
            if let Some(runs) = self.runs.get_mut(stretch) {
                runs.reverse();
            }
        }
        self.runs
    }

    /// Puts the runs in the order of their row, whatever some of them read; true if that is from right to left.
    fn put_in_order(&mut self) -> bool {
        let backwards = rtl::reads_backwards(self.runs.iter().map(|run| run.text.as_str()));
        self.runs.sort_by(|a, b| span(a, backwards).0.total_cmp(&span(b, backwards).0));
        self.runs.dedup_by(|next, run| run.is_printed_again_by(next));
        backwards
    }

    pub(super) fn into_line(mut self) -> Line {
        let backwards = self.put_in_order();
        let mut reached = f64::NEG_INFINITY;
        let mut above = 0.0;
        // The distance of each run from the one before it, relative to its letters.
        let gaps: Vec<f64> = self
            .runs
            .iter()
            .map(|run| {
                let (start, end) = span(run, backwards);
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
        let (mut runs, mut gaps) = (self.runs.as_slice(), gaps.as_slice());
        while !runs.is_empty() {
            let goes_on = |gap: &&f64| **gap < CELL_GAP || (prose && is_stretched(**gap, &sorted));
            let len = (1 + gaps.iter().skip(1).take_while(goes_on).count()).min(runs.len());
            let (own, behind) = runs.split_at(len);
            cells.extend(cell(own, gaps, backwards));
            (runs, gaps) = (behind, gaps.get(len..).unwrap_or_default());
        }
        Line { cells, y: self.y, low: self.y, size: self.size, table: None }
    }
}

/// Runs that stand beside each other, and their gaps, as the text of a cell.
fn cell(runs: &[Run], gaps: &[f64], backwards: bool) -> Option<Cell> {
    let first = runs.first()?;
    let mut cell = Cell { text: String::new(), x: first.x, end: first.end, joints: Vec::new() };
    let mut stretches = against(runs, backwards).into_iter().peekable();
    let mut before: Option<&Run> = None;
    for at in 0..runs.len() {
        stretches.next_if(|stretch| stretch.end <= at);
        // Inside a stretch that is read against the line, the last run comes first, and each gap with it.
        let turned = stretches.peek().filter(|stretch| stretch.start <= at);
        let own = turned.map_or(at, |stretch| stretch.end - 1 - (at - stretch.start));
        let inside = turned.is_some_and(|stretch| stretch.start < at);
        let (Some(run), Some(standing)) = (runs.get(own), runs.get(at)) else { break };
        let gap = gaps.get(if inside { own + 1 } else { at }).copied().unwrap_or_default();
        if let Some(before) = before.replace(run) {
            // Text over other text is not part of its last word either.
            if run.spaced || !(-MAX_BACK..WORD_GAP).contains(&gap) {
                cell.text.push(' ');
            } else if run.is_raised_number_of(before) {
                cell.text.push('^');
            }
            if gap >= JOINT_GAP && !backwards && !inside {
                cell.joints.push(Joint { at: cell.text.len(), end: cell.end, x: standing.x });
            }
        }
        cell.text.push_str(&rtl::logical(&run.text));
        (cell.x, cell.end) = (cell.x.min(run.x), cell.end.max(run.end));
    }
    Some(cell)
}

/// The stretches of runs that are read against their line.
fn against(runs: &[Run], backwards: bool) -> Vec<Range<usize>> {
    rtl::against(runs.iter().map(|run| run.text.as_str()), backwards)
}

/// From where to where a run goes. Mirrored, a line that reads backwards is treated as any other.
fn span(run: &Run, backwards: bool) -> (f64, f64) {
    if backwards { (-run.end, -run.x) } else { (run.x, run.end) }
}

/// True if a wide gap is only one of the stretched spaces of a line, whose gaps are given in order of width.
fn is_stretched(gap: f64, sorted: &[f64]) -> bool {
    let below = |width: f64| sorted.partition_point(|other| *other < width);
    gap < STRETCHED_GAP && below(1.1 * gap) - below(0.9 * gap) >= STRETCHED_GAPS
}
