//! The rows of a sheet, of which most of a million may be empty.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::output::Output;
use crate::table;

/// Hidden rows that are kept.
const MAX_HIDDEN: usize = 1 << 16;

/// Ranges of hidden columns that are kept.
const MAX_RANGES: usize = 256;

/// Ranges of them that are told.
const MAX_TOLD: usize = 50;

/// Writes the rows of a sheet, each behind its number, so that a cell can be cited.
#[derive(Default)]
pub(crate) struct Grid {
    line: String,
    /// The columns that are hidden, from 0, and those of them that hold text.
    columns: Vec<RangeInclusive<usize>>,
    hidden_columns: BTreeSet<usize>,
    /// The rows that are hidden and hold text.
    hidden_rows: BTreeSet<usize>,
}

impl Grid {
    /// Adds a row by its number, from 1, with its cells by column, from 0. Rows without text are left out.
    pub(crate) fn row<'c>(
        &mut self,
        number: usize,
        is_hidden: bool,
        cells: impl IntoIterator<Item = (usize, &'c str)>,
        output: &mut Output,
    ) {
        self.line.clear();
        let _ = write!(self.line, "{number}: ");
        let head = self.line.len();
        let Self { line, columns, hidden_columns, .. } = self;
        let cells = cells.into_iter().inspect(|(column, text)| {
            if columns.iter().any(|range| range.contains(column)) && !text.trim().is_empty() {
                hidden_columns.insert(*column);
            }
        });
        table::push_row(line, cells);
        if self.line.len() > head {
            output.line(&self.line);
            if is_hidden && self.hidden_rows.len() < MAX_HIDDEN {
                self.hidden_rows.insert(number);
            }
        }
    }

    /// Takes down that columns are hidden, from 0.
    pub(crate) fn hide_columns(&mut self, columns: RangeInclusive<usize>) {
        if self.columns.len() < MAX_RANGES {
            self.columns.push(columns);
        }
    }

    /// Tells which of the rows and columns above are hidden.
    pub(crate) fn finish(&mut self, output: &mut Output) {
        let (rows, columns) =
            (std::mem::take(&mut self.hidden_rows), std::mem::take(&mut self.hidden_columns));
        let rows = told("rows", &rows, |row| row.to_string());
        let columns = told("columns", &columns, table::column_name);
        let told: Vec<String> = rows.into_iter().chain(columns).collect();
        if !told.is_empty() {
            output.line(&format!("[hidden: {}]", told.join("; ")));
        }
    }
}

/// Numbers as ranges, such as `rows 3, 5-9`.
fn told(what: &str, numbers: &BTreeSet<usize>, name: impl Fn(usize) -> String) -> Option<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let more = ranges.len().saturating_sub(MAX_TOLD);
    let range = |(first, last): &(usize, usize)| {
        if first == last { name(*first) } else { format!("{}-{}", name(*first), name(*last)) }
    };
    let mut told: Vec<String> = ranges.iter().take(MAX_TOLD).map(range).collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    (!told.is_empty()).then(|| format!("{what} {}", told.join(", ")))
}

/// The column and the row of a cell such as `B12`, both counted from 0 and 1.
pub(crate) fn place(reference: &str) -> Option<(usize, usize)> {
    let digits = reference.find(|c: char| c.is_ascii_digit())?;
    let (letters, row) = reference.split_at(digits);
    let mut column = 0_usize;
    if letters.is_empty() || letters.len() > 4 {
        return None;
    }
    for letter in letters.bytes() {
        let digit = letter.to_ascii_uppercase().checked_sub(b'A').filter(|digit| *digit < 26)?;
        column = column * 26 + usize::from(digit) + 1;
    }
    Some((column - 1, row.parse().ok().filter(|row| *row > 0)?))
}

#[cfg(test)]
mod tests {
    use super::{Grid, place};
    use crate::output::Output;
    use crate::{Limits, Unit};

    #[test]
    fn rows_say_their_numbers() {
        let mut output = Output::new(Unit::Sheet, &Limits::new());
        output.begin("");
        let mut grid = Grid::default();
        // Rows that a program wrote in another order are not lost.
        for row in [1, 3, 4, 9, 1_048_576, 2] {
            grid.row(row, false, [(0, "x")], &mut output);
        }
        assert_eq!(output.into_text(), "[sheet 1]\n1: x\n3: x\n4: x\n9: x\n1048576: x\n2: x\n");
    }

    #[test]
    fn hidden_rows_and_columns_are_told_behind_them() {
        let mut output = Output::new(Unit::Sheet, &Limits::new());
        output.begin("");
        let mut grid = Grid::default();
        grid.hide_columns(1..=1);
        grid.hide_columns(25..=16_383);
        for number in 1..=8 {
            // A hidden row without text is none to speak of.
            let text = if number == 5 { "" } else { "x" };
            grid.row(number, number > 2 && number != 7, [(0, text), (1, text)], &mut output);
        }
        grid.row(9, false, [(0, "x"), (26, "y"), (27, "z")], &mut output);
        grid.finish(&mut output);
        let text = output.into_text();
        assert!(text.ends_with("\n[hidden: rows 3-4, 6, 8; columns B, AA-AB]\n"), "{text}");
        assert!(text.contains("\n3: x | x\n"), "{text}");
    }

    #[test]
    fn places() {
        assert_eq!(place("A1"), Some((0, 1)));
        assert_eq!(place("XFD1048576"), Some((16_383, 1_048_576)));
        assert_eq!(place("1A"), None);
        assert_eq!(place("A0"), None);
        assert_eq!(place("ZZZZZZZZZZZZZZ1"), None);
    }
}
