//! A line of text with its cells.

use super::rtl;

/// The separator of the cells of a line.
pub(super) const CELL_SEPARATOR: &str = " | ";

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
    pub(super) joints: Vec<Joint>,
}

/// A wide gap in a cell: where the text behind it begins, and between what it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joint {
    pub(super) at: usize,
    pub(super) end: f64,
    pub(super) x: f64,
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

    /// True if its cells stand from right to left.
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

/// The distance of two lines, relative to their letters.
pub(super) fn lead(above: &Line, below: &Line) -> f64 {
    (above.low - below.y) / above.size.max(below.size)
}
