//! Tables that fit a width, and lists of blocks where no table does.

use super::width::{LEAST, columns as length};
use super::wrap::wrap;
use crate::output::harmless;

/// The space between two columns.
const GAP: usize = 2;

/// Rows of cells under heads.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heads: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { heads: heads.into_iter().map(|head| cleaned(&head.into())).collect(), rows: Vec::new() }
    }

    /// Adds a row. A line break in a cell stays one.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        self.rows.push(cells.into_iter().map(|cell| cleaned(cell.as_ref())).collect());
    }

    /// The table in lines of at most `width` characters; a block for each row where its columns would be too narrow.
    pub(crate) fn render(&self, width: usize) -> String {
        match self.widths(width) {
            Some(widths) => self.side_by_side(&widths),
            None => self.stacked(width),
        }
    }

    /// True if each row can stand on one line.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let needs: usize = (0..self.heads.len()).map(|column| self.needs(column)).sum();
        needs + GAP * self.heads.len().saturating_sub(1) <= width
    }

    /// The width that the longest line of a column has.
    fn needs(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).chain(self.heads.get(column));
        cells.flat_map(|cell| cell.lines()).map(length).max().unwrap_or_default()
    }

    /// The width of each column: what its longest line needs, the wide ones made narrower alike until all fit.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = (0..self.heads.len()).map(|column| self.needs(column)).collect();
        let room = width.checked_sub(GAP * widths.len().saturating_sub(1))?;
        let mut over = widths.iter().sum::<usize>().saturating_sub(room);
        while over > 0 {
            let widest = widths.iter_mut().max()?;
            if *widest <= LEAST {
                return None;
            }
            *widest -= 1;
            over -= 1;
        }
        Some(widths)
    }

    fn side_by_side(&self, widths: &[usize]) -> String {
        let mut text = String::new();
        let mut put = |cells: &[String]| {
            let wrapped: Vec<Vec<String>> =
                cells.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect();
            let lines = wrapped.iter().map(Vec::len).max().unwrap_or_default();
            for at in 0..lines {
                let mut line = String::new();
                for (cell, width) in wrapped.iter().zip(widths) {
                    let piece = cell.get(at).map_or("", String::as_str);
                    line.push_str(piece);
                    line.push_str(&" ".repeat(width.saturating_sub(length(piece)) + GAP));
                }
                text.push_str(line.trim_end());
                text.push('\n');
            }
            lines > 1
        };
        put(&self.heads);
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        put(&rules);
        // Rows of several lines run into each other without a space between them.
        let tall = self
            .rows
            .iter()
            .any(|row| row.iter().zip(widths).any(|(cell, width)| wrap(cell, *width).len() > 1));
        let spaced = tall && self.rows.iter().all(|row| row.iter().any(|cell| cell.contains('\n')));
        for (at, row) in self.rows.iter().enumerate() {
            put(row);
            if spaced && at + 1 < self.rows.len() {
                put(&[String::new()]);
            }
        }
        text
    }

    /// The first cell as it is, the others below it under their heads.
    fn stacked(&self, width: usize) -> String {
        let mut blocks = Vec::new();
        for row in &self.rows {
            let mut block = String::new();
            for (at, (head, cell)) in self.heads.iter().zip(row).enumerate() {
                let (text, indent) = match at {
                    0 => (cell.clone(), 0),
                    _ => (format!("{head}: {cell}"), 2),
                };
                for (line, piece) in
                    wrap(&text, width.saturating_sub(indent + 2).max(LEAST)).iter().enumerate()
                {
                    let indent = if line > 0 { indent + 2 } else { indent };
                    block.push_str(format!("{}{piece}", " ".repeat(indent)).trim_end());
                    block.push('\n');
                }
            }
            blocks.push(block);
        }
        blocks.join("\n")
    }
}

/// A text in lines of at most `width` characters, each ended.
pub(crate) fn filled(text: &str, width: usize) -> String {
    wrap(&cleaned(text), width.max(LEAST)).iter().map(|line| format!("{line}\n")).collect()
}

/// Names, each with a text beside it, or below it where the width leaves little room.
#[cfg(feature = "chat")]
pub(crate) fn named<N: AsRef<str>, T: AsRef<str>>(entries: &[(N, T)], width: usize) -> String {
    /// The columns that the text has at least.
    const TEXT: usize = 30;
    let names = entries.iter().map(|(name, _)| length(name.as_ref().trim_end())).max().unwrap_or_default();
    let beside = GAP + names + GAP;
    let mut text = String::new();
    for (name, about) in entries {
        let name = name.as_ref().trim_end();
        let is_beside = width.saturating_sub(beside) >= TEXT;
        let indent = if is_beside { beside } else { 2 * GAP };
        let mut head = format!("{}{name}", " ".repeat(GAP));
        if !is_beside {
            text.push_str(&std::mem::take(&mut head));
            text.push('\n');
        }
        for line in wrap(about.as_ref(), width.saturating_sub(indent).max(LEAST)) {
            let gap = indent.saturating_sub(length(&head));
            text.push_str(&format!("{}{}{line}\n", std::mem::take(&mut head), " ".repeat(gap)));
        }
    }
    text
}

fn cleaned(cell: &str) -> String {
    harmless(cell).replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["name", "what became of it"]);
        table.row(["lease.pdf", "shown as converted text, the first 12 of 300 bytes"]);
        table.row(["a\x1b[2Jb", "native"]);
        table
    }

    #[test]
    fn wide_enough_it_stands_side_by_side() {
        let text = table().render(80);
        assert_eq!(
            text,
            "name       what became of it\n---------  --------------------------------------------------\n\
             lease.pdf  shown as converted text, the first 12 of 300 bytes\na\u{fffd}[2Jb     native\n"
        );
    }

    #[test]
    fn every_width_is_kept() {
        for width in [16, 20, 24, 30, 40, 55, 80, 200] {
            let text = table().render(width);
            assert!(text.lines().all(|line| length(line) <= width.max(LEAST + 4)), "{width}: {text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            for word in ["shown", "converted", "native"] {
                assert!(words.contains(&word), "{width}: {text}");
            }
        }
    }

    #[test]
    fn where_no_table_fits_there_are_blocks() {
        let text = table().render(24);
        assert!(text.starts_with("lease.pdf\n  what became of it:\n"), "{text}");
        assert!(text.contains("\n\na\u{fffd}[2Jb\n"), "{text}");
    }
}
