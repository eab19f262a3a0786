//! Rows of tables as lines: cells separated by ` | `.

/// So many empty cells in a row are written out; beyond, the next cell says its column.
const MAX_GAP: usize = 12;

/// Adds a row. Each cell stands at its column, counted from 0 and ascending; empty ones at the end are left out.
pub(crate) fn push_row<'c>(into: &mut String, cells: impl IntoIterator<Item = (usize, &'c str)>) {
    let mut column = 0;
    let mut first = true;
    for (at, text) in cells {
        let text = text.trim();
        if text.is_empty() || (!first && at < column) {
            continue;
        }
        let gap = at.saturating_sub(column);
        if gap > MAX_GAP {
            into.push_str(if first { "" } else { " | " });
            into.push_str(&format!("[column {}] ", column_name(at)));
        } else {
            for _ in 0..gap {
                into.push_str(if first { "" } else { " | " });
                first = false;
            }
            into.push_str(if first { "" } else { " | " });
        }
        push_cell(into, text);
        first = false;
        column = at + 1;
    }
}

/// Adds a row of adjacent cells.
pub(crate) fn push_cells<'c>(into: &mut String, cells: impl IntoIterator<Item = &'c str>) {
    push_row(into, cells.into_iter().enumerate());
}

/// A cell on one line, which nothing in it divides.
pub(crate) fn push_cell(into: &mut String, text: &str) {
    let mut lines = text
        .split(['\n', '\r', '\x0b', '\u{2028}', '\u{2029}'])
        .map(str::trim)
        .filter(|line| !line.is_empty());
    if let Some(line) = lines.next() {
        push_line(into, line);
    }
    for line in lines {
        into.push_str(" / ");
        push_line(into, line);
    }
}

fn push_line(into: &mut String, line: &str) {
    for c in line.chars() {
        match c {
            '|' => into.push_str("\\|"),
            c if c.is_control() => into.push(' '),
            c => into.push(c),
        }
    }
}

/// The letters of a column, counted from 0: `A`, `Z`, `AA`.
pub(crate) fn column_name(at: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = at + 1;
    while rest > 0 {
        let digit = u32::try_from((rest - 1) % 26).unwrap_or_default();
        letters.push(char::from_u32('A' as u32 + digit).unwrap_or('A'));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::{column_name, push_row};

    fn row(cells: &[(usize, &str)]) -> String {
        let mut out = String::new();
        push_row(&mut out, cells.iter().copied());
        out
    }

    #[test]
    fn cells_stand_at_their_columns() {
        assert_eq!(row(&[(0, "a"), (1, "b")]), "a | b");
        assert_eq!(row(&[(1, "b"), (3, "d"), (5, " ")]), " | b |  | d");
        assert_eq!(row(&[(0, "a"), (16_383, "z")]), "a | [column XFD] z");
        assert_eq!(row(&[(100, "z"), (101, "y")]), "[column CW] z | y");
        assert_eq!(row(&[(0, "a\n b|c\t\r\nd")]), "a / b\\|c / d");
        assert_eq!(row(&[]), "");
    }

    #[test]
    fn columns_have_letters() {
        assert_eq!([0, 25, 26, 701, 702, 16_383].map(column_name), ["A", "Z", "AA", "ZZ", "AAA", "XFD"]);
    }
}
