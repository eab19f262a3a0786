//! RTF to text: paragraphs, tables, notes and comments. Deleted and hidden text is left out.

mod charsets;
mod words;

use std::collections::HashMap;

use bytes::Bytes;
use encoding_rs::{Encoding, WINDOWS_1252};

use crate::flow::Flow;
use crate::guarded::Clock;
use crate::output::Output;
use crate::{ConvertError, Converted, Limits, Note, Unit};

/// Groups inside each other that are told apart; in deeper ones nothing is read.
const MAX_GROUPS: usize = 1000;

/// Fonts whose charsets are kept.
const MAX_FONTS: usize = 10_000;

/// Cells of one row.
const MAX_CELLS: usize = 1000;

/// Edges of cells this close are the same, in twentieths of a point.
const NEAR: i32 = 30;

/// After how many tokens the clock is looked at.
const TOKENS_PER_LOOK: u32 = 1024;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    if !bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Err(ConvertError::Malformed { reason: "it cannot be read as RTF" });
    }
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    render(bytes, &mut output, clock)?;
    output.finish()
}

/// Writes the text of a document.
///
/// # Errors
/// The time is over.
pub(crate) fn render(bytes: &[u8], output: &mut Output, clock: Clock) -> Result<(), ConvertError> {
    let mut reader = Reader::new(Flow::new(output));
    reader.read(bytes, clock)?;
    let (asides, objects) = (std::mem::take(&mut reader.asides), std::mem::take(&mut reader.objects));
    let (unreadable, whole) = (reader.unreadable, reader.depth == 0);
    reader.flow.finish();
    for aside in asides {
        output.line(&aside);
    }
    for (index, digits) in objects.iter().enumerate() {
        clock.check()?;
        crate::embedded::of_digits(digits, &format!("object{}", index + 1), output);
    }
    if unreadable > 0 {
        output.note(Note::UnreadableCharacters { count: unreadable });
    }
    if !whole {
        output.note(Note::EndsEarly);
        output.truncated();
    }
    Ok(())
}

/// What is set for a group, and comes back when it ends.
#[derive(Clone)]
struct Group {
    /// Nothing in it is text.
    skipped: bool,
    /// Its text is hidden or deleted.
    hidden: bool,
    /// The next text is raised, so that `10` and a raised `6` are not read as 106.
    raised: bool,
    in_table: bool,
    heading: Option<usize>,
    font: i32,
    /// How many characters stand in for each one in Unicode.
    stand_ins: usize,
    kind: Kind,
    /// The paragraph that goes on behind a note.
    saved: Option<String>,
}

/// What becomes of the text of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Fonts,
    /// It stands in brackets with this name, in the middle of the paragraph.
    Note(&'static str),
    /// It stands behind the text.
    Aside(&'static str),
    /// The name of who comments.
    Author,
    Styles,
    /// The number or mark of a list.
    Label,
    /// An object that another program made, in hexadecimal digits.
    Object,
}

struct Reader<'o> {
    flow: Flow<'o>,
    group: Group,
    outer: Vec<Group>,
    depth: usize,
    /// Bytes of text in the charset of the font.
    pending: Vec<u8>,
    encoding: &'static Encoding,
    fonts: HashMap<i32, i32>,
    /// The next destination may be unknown.
    starred: bool,
    /// Nothing of the group has been read yet: only here a destination begins.
    at_start: bool,
    /// A destination without a group of its own is passed over, up to the next paragraph.
    stray: bool,
    /// Characters that stand in for one that was read, and are passed over.
    to_skip: usize,
    high_surrogate: Option<u16>,

    table_open: bool,
    cells: Vec<String>,
    /// True if these cells are said to stand in a table.
    cells_in_table: bool,
    /// The levels of the headings that styles make.
    styles: HashMap<i32, usize>,
    style: i32,
    /// Where the cells of the row end, and where those of the row with the most.
    edges: Vec<i32>,
    grid: Vec<i32>,
    author: String,
    asides: Vec<String>,
    /// The digits of the objects.
    objects: Vec<Vec<u8>>,
    object: Vec<u8>,
    unreadable: usize,
}

impl<'o> Reader<'o> {
    fn new(flow: Flow<'o>) -> Self {
        let group = Group {
            skipped: false,
            hidden: false,
            raised: false,
            in_table: false,
            heading: None,
            font: -1,
            stand_ins: 1,
            kind: Kind::Text,
            saved: None,
        };
        Self {
            flow,
            group,
            outer: Vec::new(),
            depth: 0,
            pending: Vec::new(),
            encoding: WINDOWS_1252,
            fonts: HashMap::new(),
            starred: false,
            at_start: false,
            stray: false,
            to_skip: 0,
            high_surrogate: None,
            table_open: false,
            cells: Vec::new(),
            cells_in_table: false,
            styles: HashMap::new(),
            style: 0,
            edges: Vec::new(),
            grid: Vec::new(),
            author: String::new(),
            asides: Vec::new(),
            objects: Vec::new(),
            object: Vec::new(),
            unreadable: 0,
        }
    }

    fn read(&mut self, bytes: &[u8], clock: Clock) -> Result<(), ConvertError> {
        let mut rest = bytes;
        let (mut tokens, mut in_table) = (0_u32, false);
        while let Some((first, after)) = rest.split_first() {
            tokens = tokens.wrapping_add(1);
            if tokens.is_multiple_of(TOKENS_PER_LOOK) {
                clock.check()?;
                if self.flow.is_full() {
                    self.depth = 0;
                    break;
                }
            }
            rest = after;
            match first {
                b'{' => {
                    self.open();
                    self.at_start = true;
                }
                b'}' => {
                    in_table = self.group.in_table;
                    self.close();
                    if self.depth == 0 {
                        break;
                    }
                }
                b'\\' => rest = self.control(after),
                b'\r' | b'\n' | 0 => {}
                _ if self.to_skip > 0 => self.to_skip -= 1,
                _ => {
                    self.at_start = false;
                    self.byte(*first);
                }
            }
        }
        self.flush();
        // A row that nothing ends.
        if !self.cells.is_empty() {
            if (in_table || self.group.in_table) && !self.flow.is_blank() {
                self.cell();
            }
            self.row();
        }
        self.end_paragraph();
        Ok(())
    }

    fn open(&mut self) {
        self.flush();
        self.to_skip = 0;
        self.depth += 1;
        if self.outer.len() < MAX_GROUPS {
            let inner = Group { saved: None, kind: self.inner_kind(), ..self.group.clone() };
            self.outer.push(std::mem::replace(&mut self.group, inner));
        }
    }

    /// A group inside a note is a part of it, and does not end it.
    fn inner_kind(&self) -> Kind {
        match self.group.kind {
            Kind::Note(_) | Kind::Aside(_) => Kind::Text,
            kind => kind,
        }
    }

    fn close(&mut self) {
        self.flush();
        self.to_skip = 0;
        self.starred = false;
        self.depth = self.depth.saturating_sub(1);
        if self.depth >= self.outer.len() {
            return;
        }
        let Some(outer) = self.outer.pop() else { return };
        let ended = std::mem::replace(&mut self.group, outer);
        if ended.kind == Kind::Object && self.group.kind != Kind::Object {
            self.objects.push(std::mem::take(&mut self.object));
        }
        let Some(saved) = ended.saved else { return };
        let text = self.flow.take();
        self.flow.put_back(saved);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match ended.kind {
            Kind::Author => self.author = text,
            _ if text.is_empty() => {}
            Kind::Note("comment") if !self.author.is_empty() => {
                let author = std::mem::take(&mut self.author);
                self.flow.text(&format!(" [comment by {author}: {text}]"));
            }
            Kind::Note(name) => self.flow.text(&format!(" [{name}: {text}]")),
            Kind::Aside(name) => {
                let aside = format!("[{name}: {text}]");
                if !self.asides.contains(&aside) && self.asides.len() < 100 {
                    self.asides.push(aside);
                }
            }
            Kind::Text | Kind::Label | Kind::Fonts | Kind::Styles | Kind::Object => self.flow.text(&text),
        }
    }

    /// Reads a control word or symbol; what is behind it.
    fn control<'b>(&mut self, text: &'b [u8]) -> &'b [u8] {
        let Some((first, after)) = text.split_first() else { return text };
        if !first.is_ascii_alphabetic() {
            return self.symbol(*first, after);
        }
        let end = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len()).min(32);
        let (word, mut rest) = text.split_at(end);
        let mut value = None;
        let digits = usize::from(rest.first() == Some(&b'-'));
        let count = rest.iter().skip(digits).take(10).take_while(|b| b.is_ascii_digit()).count();
        if count > 0 {
            let (number, after) = rest.split_at(digits + count);
            value = std::str::from_utf8(number).ok().and_then(|number| number.parse::<i64>().ok());
            rest = after;
        }
        if let [b' ', after @ ..] = rest {
            rest = after;
        }
        if word == b"bin" {
            // So many bytes of anything.
            let length = usize::try_from(value.unwrap_or(0)).unwrap_or(0);
            return rest.get(length..).unwrap_or(rest);
        }
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return rest;
        }
        let value = value.map(|value| i32::try_from(value).unwrap_or(i32::MAX));
        self.word(std::str::from_utf8(word).unwrap_or_default(), value);
        rest
    }

    fn symbol<'b>(&mut self, symbol: u8, after: &'b [u8]) -> &'b [u8] {
        if symbol == b'\'' {
            let (digits, rest) = after.split_at(after.len().min(2));
            let byte = std::str::from_utf8(digits).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
            if self.to_skip > 0 {
                self.to_skip -= 1;
            } else if let Some(byte) = byte {
                self.byte(byte);
            }
            return rest;
        }
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return after;
        }
        self.at_start &= symbol == b'*';
        match symbol {
            b'*' => self.starred = true,
            b'~' => self.text(" "),
            b'_' => self.text("-"),
            b'\r' | b'\n' => self.paragraph(),
            b'\\' | b'{' | b'}' => self.byte(symbol),
            _ => {}
        }
        after
    }

    /// Whether text here is to be seen.
    fn is_text(&self) -> bool {
        !self.group.skipped
            && !self.group.hidden
            && self.depth <= MAX_GROUPS
            && !matches!(self.group.kind, Kind::Fonts | Kind::Styles | Kind::Object)
    }

    fn byte(&mut self, byte: u8) {
        if self.group.kind == Kind::Object {
            self.object.push(byte);
            return;
        }
        if self.is_text() {
            self.pending.push(byte);
            // Enough for one go; a character is never torn, as the rest goes on in the same charset.
            if self.pending.len() >= 1 << 16 && byte.is_ascii() {
                self.flush();
            }
        }
    }

    /// Text that is in Unicode already.
    fn text(&mut self, text: &str) {
        if self.is_text() {
            self.flush();
            self.flow.text(text);
        }
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.group.raised) && !self.flow.ends_blank() {
            self.flow.text("^");
        }
        let charset = self.fonts.get(&self.group.font).copied().unwrap_or(1);
        if charset == charsets::SYMBOL {
            let text = charsets::symbols(&bytes);
            self.unreadable += text.matches(char::REPLACEMENT_CHARACTER).count();
            self.flow.text(&text);
            return;
        }
        let encoding = charsets::of_font(charset).unwrap_or(self.encoding);
        let (text, _) = encoding.decode_without_bom_handling(&bytes);
        self.unreadable += text.matches(char::REPLACEMENT_CHARACTER).count();
        self.flow.text(&text);
    }

    /// A character in Unicode, as a signed number of 16 bits.
    fn unicode(&mut self, value: i32) {
        self.to_skip = self.group.stand_ins;
        if !self.is_text() {
            return;
        }
        let unit = u16::try_from(value.rem_euclid(0x1_0000)).unwrap_or_default();
        let high = self.high_surrogate.take();
        let text = match (high, unit) {
            (_, 0xD800..=0xDBFF) => {
                self.high_surrogate = Some(unit);
                return;
            }
            (Some(high), _) => String::from_utf16_lossy(&[high, unit]),
            // Signs of the font Symbol, moved to where they collide with nothing.
            (None, 0xF020..=0xF0FF) => charsets::symbols(&[(unit & 0xff).to_le_bytes()[0]]),
            (None, _) => String::from_utf16_lossy(&[unit]),
        };
        self.unreadable += text.matches(char::REPLACEMENT_CHARACTER).count();
        if text != "\0" {
            self.text(&text);
        }
    }

    fn paragraph(&mut self) {
        self.flush();
        if !self.is_text() {
            return;
        }
        let in_note = self.outer.iter().any(|group| group.saved.is_some()) || self.group.saved.is_some();
        if in_note || self.group.in_table {
            self.flow.text("\n");
        } else {
            self.end_paragraph();
        }
    }

    fn end_paragraph(&mut self) {
        if self.cells_in_table && !self.cells.is_empty() {
            self.row();
        }
        if self.table_open {
            let paragraph = self.flow.take();
            self.flow.close_table();
            self.flow.put_back(paragraph);
            self.table_open = false;
        }
        match self.group.heading {
            Some(level) => self.flow.end_heading(level),
            None => self.flow.end_paragraph(),
        }
    }

    fn cell(&mut self) {
        self.flush();
        let text = self.flow.take();
        self.cells_in_table = self.group.in_table;
        if self.cells.len() < MAX_CELLS {
            self.cells.push(text);
        } else {
            self.flow.put_back(text);
        }
    }

    fn row(&mut self) {
        self.flush();
        let cells = std::mem::take(&mut self.cells);
        let rest = self.flow.take();
        if !self.table_open {
            self.flow.open_table();
            self.table_open = true;
            self.grid.clear();
        }
        if self.edges.len() > self.grid.len() {
            self.grid.clone_from(&self.edges);
        }
        self.flow.open_row();
        let mut from = i32::MIN;
        for (at, cell) in cells.iter().enumerate() {
            // A cell spans the columns that end before it does.
            let to = self.edges.get(at).copied().unwrap_or(i32::MAX);
            let within = |edge: &&i32| **edge > from && **edge <= to.saturating_add(NEAR);
            let columns = self.grid.iter().filter(within).count();
            self.flow.open_cell(if to == i32::MAX { 1 } else { columns.max(1) }, 1);
            self.flow.text(cell);
            from = to.saturating_add(NEAR);
        }
        self.flow.close_row();
        self.flow.put_back(rest);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::convert;
    use crate::guarded::Clock;
    use crate::{ConvertError, Limits, Note};

    #[track_caller]
    fn text(rtf: &str) -> String {
        let bytes = rtf.to_owned().into_bytes().into();
        convert(&bytes, &Limits::new(), Clock::start(Duration::from_secs(60))).unwrap().text
    }

    #[test]
    fn charsets_fonts_and_unicode() {
        assert_eq!(text(r"{\rtf1\ansi\ansicpg1252 gr\'f6\'dfe\par x}"), "größe\nx\n");
        assert_eq!(
            text(r"{\rtf1{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f1\'cf\'f0\f0\'e9}"),
            "Прé\n"
        );
        assert_eq!(text(r"{\rtf1\uc1 \u8364?5 \u-10179?\u-8704?\uc2\u233 xxz}"), "€5 😀éz\n");
        assert_eq!(text(r"{\rtf1{\fonttbl{\f3\fcharset2 Symbol;}}{\f3\'b7} item}"), "• item\n");
        assert_eq!(text(r"{\rtf1{\fonttbl{\f1\fcharset128 M;}}\f1\'93\'fa\'96\'7b}"), "日本\n");
    }

    #[test]
    fn tables_notes_and_what_is_not_text() {
        let table = r"{\rtf1 before\par\trowd\intbl a\cell b\par c\cell\row\trowd\intbl 1\cell 2\cell\row\pard after\par}";
        assert_eq!(text(table), "before\n\na | b / c\n1 | 2\n\nafter\n");
        let notes = r"{\rtf1 one{\footnote\pard see {\b two}\par} three{\*\atnauthor Ann}{\*\annotation {\*\annotationdate 1}why?}\par
            {\header Head\par}{\*\unknown gone}{\v hidden}{\deleted old}{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}}";
        assert_eq!(
            text(notes),
            "one [footnote: see two] three [comment by Ann: why?]\nlink\n[header: Head]\n"
        );
        assert_eq!(
            text(r"{\rtf1\bin5 }}}}}x\par{\pict\bin3 {{{00}\outlinelevel1 Head\par}"),
            "x\n\n## Head\n"
        );
    }

    #[test]
    fn what_ends_early_is_shown_with_a_note() {
        let bytes = br"{\rtf1 text {\b bold".to_vec().into();
        let converted = convert(&bytes, &Limits::new(), Clock::start(Duration::from_secs(60))).unwrap();
        assert_eq!((converted.text.as_str(), converted.notes), ("text bold\n", vec![Note::EndsEarly]));
        let bytes = b"no rtf".to_vec().into();
        let result = convert(&bytes, &Limits::new(), Clock::start(Duration::from_secs(60)));
        assert!(matches!(result, Err(ConvertError::Malformed { .. })));
    }

    #[test]
    fn cells_that_no_row_ends_are_kept() {
        let row = r"\trowd\cellx1000\cellx2000\intbl 1\cell 2\cell\row";
        assert_eq!(text(&format!(r"{{\rtf1{row}\trowd\intbl a\cell b\cell}}")), "1 | 2\na | b\n");
        assert_eq!(text(&format!(r"{{\rtf1{row}\trowd\intbl a\cell b}}")), "1 | 2\na | b\n");
        let before_text = format!(r"{{\rtf1{row}\trowd\intbl a\cell b\cell\pard after\par more}}");
        assert_eq!(text(&before_text), "1 | 2\na | b\n\nafter\nmore\n");
        assert_eq!(text(r"{\rtf1\trowd a\cell b\cell"), "a | b\n");
    }

    #[test]
    fn a_destination_without_a_group_does_not_hide_the_document() {
        for word in
            [r"\*\nosuchword", r"\*\nosuchword7 ", r"\tc ", r"\private", r"\bin99999999 ", r"\*\background "]
        {
            let expected =
                if word.starts_with(r"\tc") || word.starts_with(r"\p") { "more\n" } else { "text\nmore\n" };
            assert_eq!(text(&format!(r"{{\rtf1\ansi{word} text\par more}}")), expected, "{word}");
            let inside = format!(r"{{\rtf1\ansi {{\b bold{word} text}}\par more}}");
            assert!(text(&inside).contains("more\n"), "{word}");
        }
        assert_eq!(text(r"{\rtf1 {\b bold\info text} more}"), "boldtext more\n");
        assert_eq!(text(r"{\rtf1\fonttbl{\f0\fswiss Arial;}\pard text\par}"), "text\n");
        assert_eq!(text(r"{\rtf1\stylesheet{\s0 Normal;}\pard text\par}"), "text\n");
        assert_eq!(text(r"{\rtf1\pict\wmetafile8 0100ff\par text}"), "text\n");
        assert_eq!(text(r"{\rtf1{\*\nosuchword hidden}{\info{\title x}}text}"), "text\n");
    }

    #[test]
    fn groups_without_end_are_bounded() {
        let deep = format!(r"{{\rtf1 text{}deep{}tail}}", "{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(text(&deep), "texttail\n");
    }
}
