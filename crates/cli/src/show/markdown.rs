//! Markdown as it streams, set for a terminal.
//!
//! A word is written once it is whole; text in emphasis, code and links once it is closed, or the line ends. Nothing is
//! dropped: marks that close nothing stand as they are, and so does what is not known here.

mod marks;

use self::marks::{Kind, Mark, mark};
use super::style::Style;
use super::table::Table;
use super::width::{LEAST, columns, columns_of};

/// A mark that nothing closes within so many bytes is a character like others.
const MAX_SPAN: usize = 2_000;

/// Sets a text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Markdown {
    style: Style,
    width: usize,
    /// The line that is being read, as far as it is not written.
    pending: String,
    /// `None` before the kind of the line is known.
    line: Option<Line>,
    /// The fence of the code that the text stands in.
    fence: Option<String>,
    /// The rows of a table so far, as they were written.
    rows: Vec<String>,
    column: usize,
    word: Word,
}

/// A line whose beginning was written.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The columns that further lines of it begin with.
    indent: usize,
    is_heading: bool,
    /// The character before what is pending.
    before: Option<char>,
}

/// A word as far as it was read.
#[derive(Debug, Default)]
struct Word {
    text: String,
    columns: usize,
    /// True if a space stands before it.
    is_spaced: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Look {
    bold: bool,
    italic: bool,
    code: bool,
}

impl Markdown {
    pub(crate) fn new(style: Style, width: usize) -> Self {
        Self {
            style,
            width: width.max(LEAST),
            pending: String::new(),
            line: None,
            fence: None,
            rows: Vec::new(),
            column: 0,
            word: Word::default(),
        }
    }

    /// Sets the width of what is to come.
    #[cfg(feature = "chat")]
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width.max(LEAST);
    }

    /// The next piece of the text, as far as it can be written.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for piece in text.split_inclusive('\n') {
            self.pending.push_str(piece.strip_suffix('\n').unwrap_or(piece));
            self.read(piece.ends_with('\n'), &mut out);
        }
        out
    }

    /// The rest, with a line break behind it.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.pending.is_empty() || self.line.is_some() {
            self.read(true, &mut out);
        }
        self.end_table(&mut out);
        self.fence = None;
        out
    }

    fn read(&mut self, is_whole: bool, out: &mut String) {
        if self.fence.is_some() {
            if is_whole {
                self.code_line(out);
            }
            return;
        }
        if self.line.is_none() {
            let is_row = self.pending.trim_start().starts_with('|');
            if is_row && is_whole {
                self.rows.push(std::mem::take(&mut self.pending));
                return;
            }
            if is_row || !(is_whole || begins(&self.pending)) {
                return;
            }
            self.end_table(out);
            if self.begin(is_whole, out) {
                return;
            }
        }
        self.inline(is_whole, out);
        if is_whole {
            self.put_word(out);
            out.push('\n');
            (self.line, self.column) = (None, 0);
            self.pending.clear();
        }
    }

    /// Writes what a line begins with. True if that is the whole line.
    fn begin(&mut self, is_whole: bool, out: &mut String) -> bool {
        let text = self.pending.clone();
        let trimmed = text.trim_start();
        let indent = text.len() - trimmed.len();
        if let Some(fence) = fence(trimmed) {
            // The rest of the line names the language.
            if !is_whole {
                return true;
            }
            self.pending.clear();
            self.fence = Some(fence.to_owned());
            return true;
        }
        let is_rule = |mark: char| {
            let bare = trimmed.chars().filter(|c| !c.is_whitespace());
            trimmed.chars().filter(|c| *c == mark).count() >= 3 && bare.clone().all(|c| c == mark)
        };
        if is_whole && ['-', '*', '_'].into_iter().any(is_rule) {
            out.push_str(&self.style.dim("─".repeat(self.width.min(40))));
            out.push('\n');
            self.pending.clear();
            return true;
        }
        let (first, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        let mut line = Line::default();
        let margin = " ".repeat(indent.min(self.width / 2));
        let mark = match first {
            "" => String::new(),
            _ if first.len() <= 6 && first.bytes().all(|b| b == b'#') => {
                line.is_heading = true;
                String::new()
            }
            "-" | "*" | "+" => "• ".to_owned(),
            ">" => self.style.dim("│ "),
            _ if is_number(first) => format!("{first} "),
            _ => {
                line.indent = margin.len();
                out.push_str(&margin);
                self.column = margin.len();
                self.pending = trimmed.to_owned();
                self.line = Some(line);
                return false;
            }
        };
        let room = if first == ">" || first.len() == 1 && !line.is_heading { 2 } else { columns(&mark) };
        line.indent = margin.len() + room;
        out.push_str(&margin);
        out.push_str(&mark);
        self.column = line.indent;
        self.pending = rest.trim_start().to_owned();
        self.line = Some(line);
        false
    }

    fn code_line(&mut self, out: &mut String) {
        let line = std::mem::take(&mut self.pending);
        let closes = self.fence.as_deref().is_some_and(|open| {
            let line = line.trim();
            line.starts_with(open) && line.chars().all(|c| open.starts_with(c))
        });
        if closes {
            self.fence = None;
            return;
        }
        // Code is not wrapped: whoever copies it copies what was written.
        out.push_str("  ");
        out.push_str(&self.style.code(line));
        out.push('\n');
    }

    fn end_table(&mut self, out: &mut String) {
        let rows = std::mem::take(&mut self.rows);
        let lines = rows;
        let rows: Vec<Vec<String>> = lines.iter().map(|row| cells(row)).collect();
        let is_rule =
            |cell: &String| cell.contains('-') && cell.bytes().all(|b| matches!(b, b'-' | b':' | b' '));
        let (heads, body) = match rows.as_slice() {
            [heads, rule, body @ ..] if !body.is_empty() && rule.iter().all(is_rule) => (heads, body),
            // Lines that begin like a table and are none.
            _ => {
                lines.iter().for_each(|line| out.extend([line.as_str(), "\n"]));
                return;
            }
        };
        let columns = body.iter().map(Vec::len).max().unwrap_or_default().max(heads.len());
        let beyond = (heads.len()..columns).map(|_| String::new());
        let mut table = Table::new(heads.iter().map(|cell| plain(cell)).chain(beyond));
        for row in body {
            table.row(row.iter().map(|cell| plain(cell)));
        }
        out.push_str(&table.render(self.width));
    }

    /// Writes as much of the line as is known.
    fn inline(&mut self, is_whole: bool, out: &mut String) {
        let Some(mut line) = self.line else { return };
        let text = std::mem::take(&mut self.pending);
        let look = Look { bold: line.is_heading, ..Look::default() };
        let (read, before) = self.spans(&text, look, line, is_whole, out);
        line.before = before;
        self.pending = text.get(read..).unwrap_or_default().to_owned();
        self.line = Some(line);
    }

    /// Writes spans, and says how much of the text was read, and the character before the rest.
    fn spans(
        &mut self,
        text: &str,
        look: Look,
        line: Line,
        is_whole: bool,
        out: &mut String,
    ) -> (usize, Option<char>) {
        let (mut at, mut before) = (0, line.before);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(c) = rest.chars().next() else { break };
            let near = rest.get(..rest.floor_char_boundary(MAX_SPAN)).unwrap_or(rest);
            let found = match c {
                '`' | '*' | '_' | '[' | '\\' if !look.code => mark(near, before),
                _ => Mark::None,
            };
            match found {
                Mark::Open if !is_whole && rest.len() < MAX_SPAN => break,
                Mark::Span { inner, len, kind } => {
                    let look = match kind {
                        Kind::Bold => Look { bold: true, ..look },
                        Kind::Italic => Look { italic: true, ..look },
                        Kind::Code => Look { code: true, ..look },
                        Kind::Plain => look,
                    };
                    let inside = Line { before: None, ..line };
                    self.spans(inner, look, inside, true, out);
                    at += len;
                    before = rest.get(..len).and_then(|span| span.chars().next_back());
                }
                Mark::Link { text: shown, url, len } => {
                    let inside = Line { before: None, ..line };
                    if shown != url {
                        self.spans(shown, look, inside, true, out);
                        self.put_word(out);
                        self.word.is_spaced = true;
                    }
                    let code = Look { code: true, ..Look::default() };
                    self.spans(
                        &if shown == url { url.to_owned() } else { format!("({url})") },
                        code,
                        inside,
                        true,
                        out,
                    );
                    at += len;
                    before = Some(')');
                }
                Mark::Open | Mark::None => {
                    self.put(c, look, line, out);
                    at += c.len_utf8();
                    before = Some(c);
                }
                Mark::Escaped(c, len) => {
                    self.put(c, look, line, out);
                    at += len;
                    before = Some(c);
                }
            }
        }
        (at, before)
    }

    /// Adds a character to the word, and writes the word if it ends there.
    fn put(&mut self, c: char, look: Look, line: Line, out: &mut String) {
        if c.is_whitespace() {
            self.put_word(out);
            self.word.is_spaced = true;
            return;
        }
        let wide = columns_of(c) > 1;
        // Scripts without spaces break between characters, and so does what no line holds.
        if wide || line.indent + self.word.columns + columns_of(c) > self.width {
            self.put_word(out);
        }
        let styled = match (look.code, look.bold, look.italic) {
            (true, ..) => self.style.code(c),
            (_, true, _) if line.is_heading => self.style.heading(c),
            (_, true, _) => self.style.bold(c),
            (_, _, true) => self.style.italic(c),
            _ => c.to_string(),
        };
        self.word.text = joined(&self.word.text, &styled);
        self.word.columns += columns_of(c);
        if wide {
            self.put_word(out);
        }
    }

    fn put_word(&mut self, out: &mut String) {
        let word = std::mem::take(&mut self.word);
        if word.columns == 0 && word.text.is_empty() {
            self.word.is_spaced = word.is_spaced;
            return;
        }
        let indent = self.line.map_or(0, |line| line.indent);
        let space = usize::from(word.is_spaced && self.column > indent);
        if self.column > indent && self.column + space + word.columns > self.width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            self.column = indent;
        } else if space > 0 {
            out.push(' ');
            self.column += 1;
        }
        out.push_str(&word.text);
        self.column += word.columns;
    }
}

/// Two pieces of one style as one.
fn joined(text: &str, piece: &str) -> String {
    const END: &str = "\x1b[0m";
    let style = piece.find('m').filter(|_| piece.starts_with('\x1b')).and_then(|end| piece.get(..=end));
    let Some((style, open)) = style.zip(text.strip_suffix(END)) else { return format!("{text}{piece}") };
    let last = open.rfind('\x1b').and_then(|at| open.get(at..)).unwrap_or_default();
    match last.starts_with(style) {
        true => format!("{open}{}", piece.get(style.len()..).unwrap_or_default()),
        false => format!("{text}{piece}"),
    }
}

/// True if the kind of a line shows: a word of it is whole.
fn begins(text: &str) -> bool {
    let text = text.trim_start();
    let (first, _) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // A rule, or a fence whose language is still being written, shows at the end of the line.
    let may_be_rule = ["-", "*", "_", "`", "~"]
        .iter()
        .any(|mark| text.len() >= 3 && text.chars().all(|c| mark.starts_with(c) || c.is_whitespace()));
    let is_long = first.chars().count() > 8 || first.chars().any(|c| columns_of(c) > 1);
    (text.contains(char::is_whitespace) || is_long) && !may_be_rule && fence(text).is_none()
}

/// The marks that begin code.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = line.len() - line.trim_start_matches(mark).len();
    let (fence, rest) = line.split_at_checked(len)?;
    (len >= 3 && !rest.contains(mark)).then_some(fence)
}

/// True for `1.` and `12)`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['.', ')']).unwrap_or_default();
    (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The cells of a row.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in row.chars() {
        match c {
            '|' if !escaped => cells.push(String::new()),
            c => cells.iter_mut().last().into_iter().for_each(|cell| cell.push(c)),
        }
        escaped = c == '\\' && !escaped;
    }
    cells.iter().map(|cell| cell.trim().replace("\\|", "|")).collect()
}

/// A text without its marks.
fn plain(text: &str) -> String {
    let mut markdown = Markdown::new(Style::default(), usize::MAX);
    let mut out = String::new();
    markdown.line = Some(Line::default());
    markdown.spans(text, Look::default(), Line::default(), true, &mut out);
    markdown.put_word(&mut out);
    out
}

#[cfg(test)]
mod tests;
