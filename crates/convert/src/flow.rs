//! Running text: paragraphs, headings, lists and tables, one after the other and inside each other.

use std::borrow::Cow;

use crate::output::Output;
use crate::table;

/// Columns and rows that one cell may span.
const MAX_SPAN: usize = 1000;

/// Columns that cells from rows above can reach into.
const MAX_COVERED: usize = 16 * MAX_SPAN;

/// Tables inside each other; what is deeper stands in the cell of the last one.
const MAX_TABLES: usize = 20;

/// True if a number in the text would go on in the formula behind it.
pub(crate) fn runs_on(text: &str, formula: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    text.ends_with(digit) && formula.starts_with(digit)
}

/// A part of a formula, in brackets unless it is one sign, a number or a name.
pub(crate) fn grouped(part: &str) -> Cow<'_, str> {
    let is_one = part.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | ',' | '′'));
    if is_one || part.chars().nth(1).is_none() { part.into() } else { format!("({part})").into() }
}

/// Running text on its way into an output.
pub(crate) struct Flow<'o> {
    pub(crate) output: &'o mut Output,
    /// The paragraph that has begun.
    paragraph: String,
    tables: Vec<Table>,
    /// The number of open tables that are too deep to be told apart.
    deeper: usize,
    /// The number of bytes that the open tables hold.
    held: usize,
}

/// A table whose rows wait for its end. Its texts stand in one, as there may be very many of them.
#[derive(Default)]
struct Table {
    text: String,
    /// The cells that hold text.
    cells: Vec<Cell>,
    /// Behind which cell each row ends.
    rows: Vec<usize>,
    /// The cell that is open.
    open: Option<Open>,
    /// The column behind the last cell of this row.
    column: usize,
    /// For each column, how many further rows a cell above reaches into.
    covered: Vec<usize>,
    /// True if it only arranges things on a page: it holds other tables.
    layout: bool,
}

/// A cell: its column, and where its text ends.
struct Cell {
    column: u32,
    end: u32,
}

/// A cell that is open: its column, and where its text begins.
#[derive(Clone, Copy)]
struct Open {
    column: usize,
    start: usize,
}

impl Table {
    /// Ends the cell that is open.
    fn close_cell(&mut self) {
        if let Some(open) = self.open.take()
            && self.text.len() > open.start
        {
            let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            self.cells.push(Cell { column: number(open.column), end: number(self.text.len()) });
        }
    }

    /// The rows with their cells: columns and texts.
    fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = (usize, &str)> + Clone> {
        let mut first = 0;
        self.rows.iter().map(move |end| {
            let from = std::mem::replace(&mut first, *end);
            (from..*end).filter_map(|at| {
                let offset = |cell: &Cell| usize::try_from(cell.end).unwrap_or(usize::MAX);
                let start = at.checked_sub(1).and_then(|before| self.cells.get(before)).map_or(0, offset);
                let cell = self.cells.get(at)?;
                Some((
                    usize::try_from(cell.column).unwrap_or(usize::MAX),
                    self.text.get(start..offset(cell))?,
                ))
            })
        })
    }
}

impl<'o> Flow<'o> {
    pub(crate) fn new(output: &'o mut Output) -> Self {
        Self { output, paragraph: String::new(), tables: Vec::new(), deeper: 0, held: 0 }
    }

    /// True if nothing more is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.output.is_full()
    }

    /// True if the present paragraph holds nothing yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.paragraph.trim().is_empty()
    }

    /// True if a paragraph has no more than blank space at its end, so that more of it means nothing.
    pub(crate) fn ends_blank(&self) -> bool {
        self.paragraph.is_empty() || self.paragraph.ends_with([' ', '\n'])
    }

    /// Adds a formula. One that begins with a digit stands apart from a number before it: 2 and a half is not 21 halves.
    pub(crate) fn formula(&mut self, formula: &str) {
        if runs_on(&self.paragraph, formula) {
            self.text(" ");
        }
        self.text(formula);
    }

    /// True if a number may go on at the end of the paragraph.
    #[cfg(feature = "html")]
    pub(crate) fn ends_in_digit(&self) -> bool {
        self.paragraph.ends_with(|c: char| c.is_ascii_digit())
    }

    /// The length of the paragraph so far, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.paragraph.len()
    }

    /// Takes off what the paragraph holds behind so many bytes.
    #[cfg(feature = "office")]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.paragraph.truncate(self.paragraph.floor_char_boundary(len));
    }

    /// Adds to the paragraph.
    pub(crate) fn text(&mut self, text: &str) {
        if self.paragraph.len() + self.held + text.len() <= self.output.room() {
            self.paragraph.push_str(text);
        } else if !self.output.is_full() {
            let rest = self.output.room().saturating_sub(self.paragraph.len() + self.held);
            self.paragraph.push_str(text.get(..text.floor_char_boundary(rest)).unwrap_or_default());
            self.give_up();
        }
    }

    /// Adds to the paragraph, every stretch of blank space as one space.
    pub(crate) fn collapsed(&mut self, text: &str) {
        let mut out = String::with_capacity(text.len());
        let mut blank = self.ends_blank();
        for c in text.chars() {
            let is_blank = matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
            match c {
                // Marks of where a word may be broken, and fillers of previews, are no part of a text.
                '\u{ad}' | '\u{200b}' | '\u{feff}' | '\u{34f}' => continue,
                '\u{a0}' => out.push(' '),
                _ if is_blank && blank => {}
                _ if is_blank => out.push(' '),
                c => out.push(c),
            }
            blank = is_blank;
        }
        self.text(&out);
    }

    /// Writes what there is and takes no more.
    fn give_up(&mut self) {
        self.deeper = 0;
        while !self.tables.is_empty() {
            self.close_table();
        }
        self.end("", "");
        self.output.cut();
    }

    /// The paragraph so far, taken out of the text.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.paragraph)
    }

    /// Puts back what was taken.
    pub(crate) fn put_back(&mut self, paragraph: String) {
        self.paragraph = paragraph;
    }

    /// Ends the paragraph.
    pub(crate) fn end_paragraph(&mut self) {
        self.end("", "");
    }

    /// Ends the paragraph, which is a heading.
    pub(crate) fn end_heading(&mut self, level: usize) {
        if self.is_blank() {
            self.paragraph.clear();
            return;
        }
        if self.tables.is_empty() {
            self.output.blank();
        }
        let mark = "#".repeat(level.clamp(1, 6)) + " ";
        self.end(&mark, "  ");
    }

    /// Ends the paragraph, with a mark before its first line and indentation before the others.
    pub(crate) fn end(&mut self, mark: &str, indent: &str) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let text = paragraph.trim_matches(['\n', ' ', '\r', '\t']);
        if text.is_empty() {
            return;
        }
        let mut lines = String::with_capacity(mark.len() + text.len());
        for (at, line) in text.split('\n').enumerate() {
            lines.push_str(if at == 0 { mark } else { "\n" });
            if at > 0 && !line.trim().is_empty() {
                lines.push_str(indent);
            }
            lines.push_str(line.trim_end());
        }
        self.lines(&lines);
    }

    /// Adds text that begins and ends with a line of its own.
    fn lines(&mut self, lines: &str) {
        let Some(table) = self.tables.last_mut() else {
            self.output.end_line();
            self.output.line(lines);
            return;
        };
        self.held += lines.len() + 1;
        match table.open {
            Some(open) => {
                if table.text.len() > open.start {
                    table.text.push('\n');
                }
                table.text.push_str(lines);
            }
            // Beside the cells, such as a caption: a row of its own.
            None => {
                table.open = Some(Open { column: 0, start: table.text.len() });
                table.text.push_str(lines);
                table.close_cell();
                table.rows.push(table.cells.len());
            }
        }
    }

    pub(crate) fn open_table(&mut self) {
        self.end_paragraph();
        if self.tables.len() >= MAX_TABLES {
            self.deeper += 1;
            return;
        }
        if let Some(table) = self.tables.last_mut() {
            table.layout = true;
        }
        self.tables.push(Table::default());
    }

    pub(crate) fn open_row(&mut self) {
        self.close_row();
    }

    /// Begins a cell that spans so many columns and rows.
    pub(crate) fn open_cell(&mut self, columns: usize, rows: usize) {
        self.close_cell();
        let Some(table) = self.tables.last_mut().filter(|_| self.deeper == 0) else { return };
        let mut column = table.column;
        while table.covered.get(column).is_some_and(|rows| *rows > 0) {
            column += 1;
        }
        let rows = rows.clamp(1, MAX_SPAN);
        let columns = columns.clamp(1, MAX_SPAN);
        let end = (column + columns).min(MAX_COVERED);
        if rows > 1 {
            if table.covered.len() < end {
                table.covered.resize(end, 0);
            }
            // One more than there are below, as the end of this row takes one off.
            table.covered.get_mut(column..end).unwrap_or_default().fill(rows);
        }
        table.open = Some(Open { column, start: table.text.len() });
        table.column = column + columns;
    }

    pub(crate) fn close_cell(&mut self) {
        self.end_paragraph();
        if let Some(table) = self.tables.last_mut().filter(|_| self.deeper == 0) {
            table.close_cell();
        }
    }

    pub(crate) fn close_row(&mut self) {
        self.close_cell();
        let Some(table) = self.tables.last_mut().filter(|_| self.deeper == 0) else { return };
        if table.column > 0 {
            for rows in &mut table.covered {
                *rows = rows.saturating_sub(1);
            }
            table.rows.push(table.cells.len());
            table.column = 0;
        }
    }

    pub(crate) fn close_table(&mut self) {
        if self.deeper > 0 {
            self.end_paragraph();
            self.deeper -= 1;
            return;
        }
        self.close_row();
        let Some(table) = self.tables.pop() else { return };
        let alone = table.rows().all(|row| row.count() <= 1);
        self.held = self.held.saturating_sub(table.text.len() + table.cells.len());
        let mut lines = String::new();
        for row in table.rows() {
            let start = lines.len();
            if table.layout || alone {
                for (_, text) in row {
                    if lines.len() > start {
                        lines.push('\n');
                    }
                    lines.push_str(text);
                }
            } else {
                table::push_row(&mut lines, row);
            }
            if lines.len() > start {
                lines.push('\n');
            }
        }
        let lines = lines.trim_end_matches('\n');
        if lines.is_empty() {
            return;
        }
        let outermost = self.tables.is_empty() && !table.layout && !alone;
        if outermost {
            self.output.blank();
        }
        self.lines(lines);
        if outermost {
            self.output.push("\n");
        }
    }

    /// Ends everything that is open.
    pub(crate) fn finish(mut self) {
        self.deeper = 0;
        while !self.tables.is_empty() {
            self.close_table();
        }
        self.end_paragraph();
    }
}

#[cfg(test)]
mod tests {
    use super::Flow;
    use crate::output::Output;
    use crate::{Limits, Unit};

    fn flow(write: impl FnOnce(&mut Flow<'_>)) -> String {
        let mut output = Output::new(Unit::Whole, &Limits::new().with_max_output_bytes(1000));
        output.begin("");
        let mut flow = Flow::new(&mut output);
        write(&mut flow);
        flow.finish();
        output.finish().unwrap().text
    }

    fn cell(flow: &mut Flow<'_>, columns: usize, rows: usize, text: &str) {
        flow.open_cell(columns, rows);
        flow.text(text);
    }

    #[test]
    fn spanning_cells_keep_the_others_in_their_columns() {
        let text = flow(|flow| {
            flow.open_table();
            flow.open_row();
            cell(flow, 2, 1, "wide");
            cell(flow, 1, 2, "tall");
            cell(flow, 1, 1, "end");
            flow.open_row();
            cell(flow, 1, 1, "a");
            cell(flow, 1, 1, "b");
            cell(flow, 1, 1, "c");
            flow.close_table();
        });
        assert_eq!(text, "wide |  | tall | end\na | b |  | c\n");
    }

    #[test]
    fn tables_that_hold_tables_arrange_and_those_inside_are_tables() {
        let text = flow(|flow| {
            flow.open_table();
            flow.open_row();
            cell(flow, 1, 1, "menu");
            flow.open_cell(1, 1);
            flow.text("before");
            flow.open_table();
            flow.open_row();
            cell(flow, 1, 1, "a|");
            cell(flow, 1, 1, "b");
            flow.close_table();
            flow.text("after");
            flow.close_table();
        });
        assert_eq!(text, "menu\nbefore\na\\| | b\nafter\n");
    }

    #[test]
    fn tables_without_end_are_bounded() {
        let text = flow(|flow| {
            for _ in 0..100 {
                flow.open_table();
                flow.open_row();
                cell(flow, 9_999_999, 9_999_999, "text");
            }
            for _ in 0..200 {
                flow.close_table();
            }
        });
        assert_eq!(text.matches("text").count(), 100);
        let text = flow(|flow| {
            flow.open_table();
            for _ in 0..1000 {
                cell(flow, 1, 1, "text");
                flow.close_row();
            }
        });
        assert!(text.len() <= 1000 && text.matches("text").count() > 150, "{text}");
    }

    #[test]
    fn headings_and_lists_have_marks() {
        let text = flow(|flow| {
            flow.text("one");
            flow.end_paragraph();
            flow.text("two");
            flow.end_heading(2);
            flow.text("three\nfour");
            flow.end("- ", "  ");
        });
        assert_eq!(text, "one\n\n## two\n- three\n  four\n");
    }
}
