//! Tables: separated values, Markdown, and cells side by side on a line.

use crate::pieces::{Form, Passage, Pieces, Table};
use crate::words::head;

/// The maximum number of rows that are read of one table.
const MAX_ROWS: usize = 20_000;
/// The maximum number of bytes of one row.
const MAX_ROW: usize = 4_000;

/// The character between the values, if the text is a table of such: by its file name, or because its first lines
/// fall into equally many cells.
pub(crate) fn delimiter(text: &str, file_name: &str) -> Option<char> {
    let extension = file_name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let first: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(6).collect();
    let cells = |line: &str, delimiter: char| split(line, delimiter).len();
    let likely = |delimiter: &char, least: usize| {
        let mut counts = first.iter().map(|line| cells(line, *delimiter));
        let width = counts.next().unwrap_or(0);
        width >= least && counts.all(|count| count == width)
    };
    match extension.as_str() {
        "tsv" | "tab" => Some('\t'),
        "csv" => [',', ';', '\t', '|'].into_iter().max_by_key(|delimiter| {
            (likely(delimiter, 2), first.first().map_or(0, |line| cells(line, *delimiter)))
        }),
        "" | "txt" | "dat" if first.len() >= 3 => {
            [';', '\t', ','].into_iter().find(|delimiter| likely(delimiter, 3))
        }
        _ => None,
    }
}

/// Rows of separated values. Quoted values may hold line breaks.
pub(crate) fn separated(text: &str, delimiter: char) -> Pieces {
    let mut pieces = Pieces::default();
    let mut lines = text.lines();
    let mut rows = 0;
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let mut row = line.to_owned();
        while row.matches('"').count() % 2 == 1 && row.len() < MAX_ROW {
            let Some(more) = lines.next() else { break };
            row.push('\n');
            row.push_str(more);
        }
        let cells: Vec<String> = split(&row, delimiter);
        if rows == 0 {
            let columns: Vec<&str> = cells.iter().map(String::as_str).collect();
            let named = columns.len() > 1 && columns.iter().all(|name| is_name(name));
            pieces.tables.push(Table::new(if named { &columns } else { &[] }, if named { line } else { "" }));
            rows = 1;
            if named {
                continue;
            }
        }
        rows += 1;
        if rows > MAX_ROWS {
            pieces.cut = Some(format!("only its first {MAX_ROWS} rows were looked at"));
            break;
        }
        let text = head(&row, MAX_ROW).trim().to_owned();
        pieces.passages.push(Passage { text, form: Form::Row { table: 0, cells }, ..Passage::default() });
    }
    pieces
}

fn is_name(cell: &str) -> bool {
    cell.chars().any(char::is_alphabetic) && !cell.starts_with(|c: char| c.is_ascii_digit())
}

/// The values of one row.
fn split(row: &str, delimiter: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(cell) = cells.last_mut() else { break };
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted || cell.trim().is_empty() => {
                // White space before an opening quote is none of the value.
                if cell.trim().is_empty() {
                    cell.clear();
                }
                quoted = !quoted;
            }
            c if c == delimiter && !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells.iter_mut().for_each(|cell| *cell = cell.trim().to_owned());
    cells
}

/// The cells of a line: what ` | `, tabs or several spaces hold apart. One, if nothing does.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    if line.contains(" | ") {
        return line.split(" | ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    }
    let mut cells = Vec::new();
    let (mut start, mut spaces) = (0, 0);
    for (at, c) in line.char_indices() {
        match c {
            '\t' => spaces += 2,
            ' ' | '\u{a0}' => spaces += 1,
            _ => {
                // Two spaces may follow a sentence; three do not.
                if spaces >= 3
                    || spaces == 2
                        && !line.get(..at).is_some_and(|text| text.trim_end().ends_with(['.', '!', '?', ':']))
                {
                    cells.push(line.get(start..at).unwrap_or_default().trim());
                    start = at;
                }
                spaces = 0;
            }
        }
    }
    cells.push(line.get(start..).unwrap_or_default().trim());
    cells.retain(|cell| !cell.is_empty());
    cells
}

/// True if cells name the columns of the rows that follow: at least three, none with digits, and as many below,
/// some of them with digits.
pub(crate) fn is_header(cells: &[&str], following: &[&str]) -> bool {
    let digits = |cell: &&str| cell.bytes().any(|b| b.is_ascii_digit());
    cells.len() >= 3
        && cells.len() == following.len()
        && !cells.iter().any(digits)
        && following.iter().any(digits)
}

/// The cells of a Markdown row.
pub(crate) fn markdown_cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    inner.strip_suffix('|').unwrap_or(inner).split('|').map(str::trim).collect()
}

/// True if a line is the rule below a Markdown table's head.
pub(crate) fn is_rule(line: &str) -> bool {
    let cells = markdown_cells(line);
    !cells.is_empty()
        && cells.iter().all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':' | ' ')))
}
