//! The rows of a sheet, of which most of a million may be empty.

use std::fmt::Write;

use crate::output::Output;
use crate::table;

/// Writes the rows of a sheet, each behind its number, so that a cell can be cited.
#[derive(Default)]
pub(crate) struct Grid {
    line: String,
}

impl Grid {
    /// Adds a row by its number, from 1, with its cells by column, from 0. Rows without text are left out.
    pub(crate) fn row<'c>(
        &mut self,
        number: usize,
        cells: impl IntoIterator<Item = (usize, &'c str)>,
        output: &mut Output,
    ) {
        self.line.clear();
        let _ = write!(self.line, "{number}: ");
        let head = self.line.len();
        table::push_row(&mut self.line, cells);
        if self.line.len() > head {
            output.line(&self.line);
        }
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
    fn rows_say_their_numbers() {
        let mut output = Output::new(Unit::Sheet, &Limits::new());
        output.begin("");
        let mut grid = Grid::default();
        // Rows that a program wrote in another order are not lost.
        for row in [1, 3, 4, 9, 1_048_576, 2] {
            grid.row(row, [(0, "x")], &mut output);
        }
        assert_eq!(output.into_text(), "[sheet 1]\n1: x\n3: x\n4: x\n9: x\n1048576: x\n2: x\n");
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
