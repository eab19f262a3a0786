//! The rows of a sheet, of which most of a million may be empty.

use crate::output::Output;
use crate::table;

/// After so many rows, the number of the next one is said again.
const ROWS_PER_MARK: usize = 100;

/// So many empty rows are shown as empty lines.
const MAX_BLANK: usize = 3;

/// Writes the rows of a sheet: where rows are left out, or many have gone by, the number of the next is said.
#[derive(Default)]
pub(crate) struct Grid {
    /// The number of the last row, from 1.
    last: usize,
    since_mark: usize,
    line: String,
}

impl Grid {
    /// Adds a row by its number, from 1, with its cells by column, from 0.
    pub(crate) fn row<'c>(
        &mut self,
        number: usize,
        cells: impl IntoIterator<Item = (usize, &'c str)>,
        output: &mut Output,
    ) {
        self.line.clear();
        table::push_row(&mut self.line, cells);
        if self.line.is_empty() || number <= self.last {
            return;
        }
        let gap = number - self.last - 1;
        if gap > MAX_BLANK || self.since_mark >= ROWS_PER_MARK {
            output.line(&format!("[row {number}]"));
            self.since_mark = 0;
        } else {
            for _ in 0..gap {
                output.line("");
            }
        }
        output.line(&self.line);
        self.last = number;
        self.since_mark += 1;
    }
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
    fn rows_say_their_numbers_where_some_are_missing() {
        let mut output = Output::new(Unit::Sheet, &Limits::new());
        output.begin("");
        let mut grid = Grid::default();
        for row in [1, 3, 4, 9, 1_048_576] {
            grid.row(row, [(0, "x")], &mut output);
        }
        assert_eq!(output.into_text(), "[sheet 1]\nx\n\nx\nx\n[row 9]\nx\n[row 1048576]\nx\n");
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
