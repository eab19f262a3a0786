//! Text taken apart into what can be quoted: sentences, lines, pairs of label and value, rows of tables.

use crate::pieces::{Form, Passage, Pieces, Table};
use crate::table;
use crate::words::head;

/// The maximum number of characters of one passage; longer text without a sentence's end is cut between words.
const MAX_PASSAGE: usize = 400;

/// Takes a text apart. `file_name` tells tables from prose.
pub(crate) fn read(text: &str, file_name: &str) -> Pieces {
    if let Some(delimiter) = table::delimiter(text, file_name) {
        return table::separated(text, delimiter);
    }
    let lines: Vec<&str> = text.lines().collect();
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut reader = Reader {
        pieces: Pieces::default(),
        page: None,
        heading: String::new(),
        prose: String::new(),
        last_line: 0,
        // A line that ends well before the longest ones was not wrapped.
        wrapped_from: (longest * 6 / 10).clamp(40, 90),
        open: None,
    };
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += reader.line(line, lines.get(at + 1..).unwrap_or_default()).max(1);
    }
    reader.flush();
    reader.pieces
}

struct Reader {
    pieces: Pieces,
    page: Option<u32>,
    heading: String,
    /// The paragraph so far.
    prose: String,
    /// The length of its last line.
    last_line: usize,
    wrapped_from: usize,
    /// The table whose rows come, and how many cells they have.
    open: Option<(usize, usize)>,
}

impl Reader {
    /// Reads a line and yields how many lines it took.
    fn line(&mut self, line: &str, next: &[&str]) -> usize {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            self.flush();
            self.open = None;
            return 1;
        }
        if let Some(page) = page(trimmed) {
            self.flush();
            self.page = Some(page);
            return 1;
        }
        if trimmed.starts_with('|') {
            self.flush();
            return self.markdown_table(line, next);
        }
        let hashes = trimmed.len() - trimmed.trim_start_matches('#').len();
        if (1..=6).contains(&hashes) && trimmed.get(hashes..).is_some_and(|rest| rest.starts_with(' ')) {
            self.flush();
            self.title(trimmed.get(hashes..).unwrap_or_default().trim());
            return 1;
        }
        if trimmed.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '`' | '~')) {
            self.flush();
            return 1;
        }
        let cells = table::cells(line);
        if cells.iter().any(|cell| is_page_number(cell)) {
            self.flush();
            return 1;
        }
        if cells.len() > 1 {
            self.row(trimmed, &cells, next);
            return 1;
        }
        self.open = None;
        let item = item(trimmed);
        // "9. Contacts" above "9.1 | Each party names": the title of clauses, also behind a clause that has no end yet.
        let number = trimmed.split(' ').next().filter(|_| item.is_some());
        let following = next.first().map(|line| table::cells(line)).unwrap_or_default();
        if number.is_some_and(|number| is_above(number, following.first().copied())) {
            self.flush();
            self.title(trimmed);
            return 1;
        }
        // "5. Invoices and payment" is a title, unless a list goes on.
        let listed = item.is_some()
            && (!trimmed.starts_with(|c: char| c.is_ascii_digit())
                || next.first().is_some_and(|line| self::item(line.trim()).is_some()));
        if !listed && self.prose.is_empty() && label_and_value(trimmed).is_none() && is_heading(trimmed, next)
        {
            self.title(trimmed);
            return 1;
        }
        if item.is_some() || self.last_line < self.wrapped_from && !line.starts_with([' ', '\t']) {
            self.flush();
        }
        if self.prose.is_empty()
            && let Some((label, value)) = label_and_value(item.unwrap_or(trimmed))
        {
            self.push(trimmed, Form::Pair { label: label.to_owned(), value: value.to_owned() });
            return 1;
        }
        self.extend(trimmed);
        1
    }

    fn extend(&mut self, line: &str) {
        if !self.prose.is_empty() {
            self.prose.push(' ');
        }
        self.prose.push_str(line);
        self.last_line = line.chars().count();
    }

    fn title(&mut self, text: &str) {
        self.heading = text.to_owned();
        self.push(text, Form::Heading);
    }

    fn push(&mut self, text: &str, form: Form) {
        let text = head(text, 2 * MAX_PASSAGE).to_owned();
        let heading = if form == Form::Heading { String::new() } else { self.heading.clone() };
        self.pieces.passages.push(Passage { text, page: self.page, heading, form });
    }

    /// Cells side by side: a table's row, a numbered clause, or labels with values.
    fn row(&mut self, line: &str, cells: &[&str], next: &[&str]) {
        if let Some((table, columns)) = self.open.filter(|(_, columns)| *columns == cells.len()) {
            self.flush();
            self.open = Some((table, columns));
            let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
            self.push(line, Form::Row { table, cells });
            return;
        }
        self.flush();
        self.open = None;
        let following = next.first().map(|line| table::cells(line)).unwrap_or_default();
        if table::is_header(cells, &following) {
            self.open = Some((self.pieces.tables.len(), cells.len()));
            self.pieces.tables.push(Table::new(cells, line));
            self.push(line, Form::Heading);
            return;
        }
        match cells {
            // "10. | Term and notice" above "10.1 | This agreement begins": the title of clauses.
            [number, text] if is_numbering(number) && is_above(number, following.first().copied()) => {
                self.push(line, Form::Heading);
                self.heading = (*text).to_owned();
            }
            // "4.3 | The warranty period is …": the text of a clause, which may go on in the next line.
            [number, text] if is_numbering(number) => {
                self.prose = format!("{number} | {text}");
                self.last_line = line.chars().count();
            }
            [label, value] => {
                let form = Form::Pair { label: (*label).to_owned(), value: (*value).to_owned() };
                self.push(line, form);
            }
            cells => {
                for pair in cells.windows(2) {
                    let [label, value] = pair else { continue };
                    // The quote is the part of the line that holds both.
                    let (Some(start), Some(end)) = (offset(line, label), offset(line, value)) else {
                        continue;
                    };
                    let quote = line.get(start..end + value.len()).unwrap_or(line).to_owned();
                    self.push(&quote, Form::Pair { label: (*label).to_owned(), value: (*value).to_owned() });
                }
            }
        }
    }

    fn markdown_table(&mut self, first: &str, next: &[&str]) -> usize {
        let rows: Vec<&str> = std::iter::once(first)
            .chain(next.iter().copied().take_while(|line| line.trim().starts_with('|')))
            .collect();
        let has_header = rows.get(1).is_some_and(|line| table::is_rule(line));
        let table = self.pieces.tables.len();
        if let (true, Some(line)) = (has_header, rows.first()) {
            self.pieces.tables.push(Table::new(&table::markdown_cells(line), line.trim()));
        }
        for line in rows.iter().skip(if has_header { 2 } else { 0 }) {
            let cells: Vec<String> = table::markdown_cells(line).into_iter().map(str::to_owned).collect();
            let form = if has_header { Form::Row { table, cells } } else { Form::Prose };
            self.push(line.trim(), form);
        }
        rows.len()
    }

    /// Ends the paragraph: its sentences become passages.
    fn flush(&mut self) {
        self.last_line = 0;
        let prose = std::mem::take(&mut self.prose);
        // A numbered clause that is short stays whole, with its number.
        if prose.len() <= MAX_PASSAGE
            && prose.split_once(" | ").is_some_and(|(number, _)| is_numbering(number))
        {
            self.push(&prose, Form::Prose);
            return;
        }
        for sentence in sentences(&prose) {
            self.push(sentence, Form::Prose);
        }
    }
}

/// The start of `part`, which is a slice of `whole`, in it.
fn offset(whole: &str, part: &str) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (start + part.len() <= whole.len()).then_some(start)
}

/// `[page 2]`, as converters mark pages.
fn page(line: &str) -> Option<u32> {
    let (word, number) = line.strip_prefix('[')?.strip_suffix(']')?.split_once(' ')?;
    if !word.chars().all(char::is_alphabetic) {
        return None;
    }
    number.parse().ok()
}

/// `Page 2 of 3`, as headers and footers say.
fn is_page_number(cell: &str) -> bool {
    let mut words = cell.split_whitespace();
    let named =
        words.next().is_some_and(|word| matches!(word.to_lowercase().as_str(), "page" | "seite" | "p."));
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b == b'/');
    let rest: Vec<&str> = words.collect();
    named && rest.len() <= 3 && rest.first().is_some_and(|word| is_number(word))
}

/// The text after the mark of a list item.
fn item(line: &str) -> Option<&str> {
    if let Some(rest) = ["- ", "* ", "• ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest);
    }
    let (number, rest) = line.split_once(' ')?;
    let digits = number.strip_suffix(['.', ')'])?;
    (digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit()) && !digits.is_empty()).then_some(rest)
}

fn is_numbering(cell: &str) -> bool {
    !cell.is_empty()
        && cell.len() <= 8
        && cell.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '§' | ')' | '('))
}

/// True if the number below is one of those that belong to `number`: 10.1 to 10, and to "10.".
fn is_above(number: &str, below: Option<&str>) -> bool {
    let below = below.and_then(|below| below.strip_prefix(number.trim_end_matches('.')));
    below
        .and_then(|rest| rest.strip_prefix('.'))
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `Due date: 17 May 2026`.
fn label_and_value(line: &str) -> Option<(&str, &str)> {
    let (label, value) = line.split_once(": ")?;
    let (label, value) = (label.trim(), value.trim());
    let words = label.split_whitespace().count();
    ((1..=4).contains(&words) && !value.is_empty() && !label.contains(['.', '?', '!']))
        .then_some((label, value))
}

/// True if a line that starts a paragraph stands above one: short, without a sentence's end, and followed by text.
fn is_heading(line: &str, next: &[&str]) -> bool {
    let short = line.chars().count() <= 60 && line.split_whitespace().count() <= 8;
    let starts = line.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
    let ends = line.ends_with(['.', ',', ';', ':', '!', '?']);
    short && starts && !ends && next.first().is_some_and(|line| !line.trim().is_empty())
}

/// The sentences of a paragraph, none of them longer than a passage may be.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let bounds = text.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '…'));
    for (at, mark) in bounds {
        let end = at + mark.len_utf8();
        let (before, after) = (text.get(start..at).unwrap_or_default(), text.get(end..).unwrap_or_default());
        if ends_sentence(before, mark, after) {
            sentences.push(text.get(start..end).unwrap_or_default());
            start = end;
        }
    }
    sentences.push(text.get(start..).unwrap_or_default());
    sentences.into_iter().map(str::trim).filter(|sentence| !sentence.is_empty()).flat_map(cut).collect()
}

fn ends_sentence(before: &str, mark: char, after: &str) -> bool {
    let mut rest = after.trim_start_matches(['"', '”', '’', '\'', ')', '*']);
    if !rest.starts_with(char::is_whitespace) {
        return false;
    }
    rest = rest.trim_start();
    let next_starts = rest.starts_with(|c: char| !c.is_lowercase());
    if mark != '.' {
        return next_starts;
    }
    let last = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_initial = last.chars().count() == 1 && last.chars().all(char::is_alphabetic);
    // "17. Mai", "5. Invoices"
    let is_ordinal = !last.is_empty() && last.len() <= 2 && last.bytes().all(|b| b.is_ascii_digit());
    next_starts && !is_initial && !is_ordinal && !is_abbreviation(last)
}

fn is_abbreviation(word: &str) -> bool {
    const ABBREVIATIONS: [&str; 24] = [
        "no", "nr", "mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "z.b", "d.h", "ca",
        "approx", "art", "abs", "pos", "fig", "tel", "inc", "vat", "bzw",
    ];
    ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Cuts what is too long for a passage between words.
fn cut(sentence: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = sentence;
    while rest.len() > MAX_PASSAGE {
        let piece = head(rest, MAX_PASSAGE);
        let end = piece.rfind(char::is_whitespace).filter(|end| *end > 0).unwrap_or(piece.len());
        pieces.push(rest.get(..end).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default().trim_start();
        if end == 0 {
            break;
        }
    }
    pieces.push(rest);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests;
