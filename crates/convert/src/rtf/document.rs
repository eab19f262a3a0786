//! A document while it is read: its groups, fonts and styles, and the text, tables and notes that it makes.

use std::collections::HashMap;

use encoding_rs::WINDOWS_1252;

use super::charsets;
use super::form::Form;
use super::group::{Group, Kind, NO_FONT};
use super::instructions::Instructions;
use crate::Note;
use crate::code_pages::Charset;
use crate::flow::Flow;
use crate::output::one_line;

/// Groups inside each other that are told apart; in deeper ones nothing is read.
const MAX_GROUPS: usize = 1000;

/// Longest name of a font of signs, in characters.
const MAX_NAME: usize = 100;

/// Cells of one row.
pub(super) const MAX_CELLS: usize = 1000;

/// Edges of cells this close are the same, in twentieths of a point.
const NEAR: i32 = 30;

/// A font of the table of fonts.
pub(super) struct Font {
    pub(super) charset: i32,
    /// That of its code page, if it names one.
    pub(super) code_page: Option<Charset>,
    /// The name of a font of signs.
    pub(super) name: String,
}

/// A document that is being read.
pub(super) struct Document<'o> {
    pub(super) flow: Flow<'o>,
    pub(super) group: Group,
    outer: Vec<Group>,
    pub(super) depth: usize,
    /// Bytes of text in the charset of the font.
    pending: Vec<u8>,
    pub(super) charset: Charset,
    /// True if the charset that the document names is not known.
    pub(super) is_unknown: bool,
    pub(super) fonts: HashMap<i32, Font>,
    /// The font of text whose font is not said.
    pub(super) default_font: i32,
    /// The next destination may be unknown.
    pub(super) starred: bool,
    /// Nothing of the group has been read yet: only here a destination begins.
    pub(super) at_start: bool,
    /// A destination without a group of its own is passed over, up to the next paragraph.
    stray: bool,
    /// Characters that stand in for one that was read, and are passed over.
    pub(super) to_skip: usize,
    high_surrogate: Option<u16>,

    table_open: bool,
    cells: Vec<String>,
    /// True if these cells are said to stand in a table.
    cells_in_table: bool,
    /// The levels of the headings that styles make.
    pub(super) styles: HashMap<i32, usize>,
    pub(super) style: i32,
    /// Where the cells of the row end, and where those of the row with the most.
    pub(super) edges: Vec<i32>,
    grid: Vec<i32>,
    author: String,
    /// True if the property of a shape whose name was read last is the words that it draws.
    pub(super) draws_words: bool,
    pub(super) asides: Vec<String>,
    /// The digits of the objects.
    pub(super) objects: Vec<Vec<u8>>,
    object: Vec<u8>,
    pub(super) form: Form,
    pub(super) instructions: Instructions,
}

impl<'o> Document<'o> {
    pub(super) fn new(flow: Flow<'o>) -> Self {
        Self {
            flow,
            group: Group::outermost(),
            outer: Vec::new(),
            depth: 0,
            pending: Vec::new(),
            charset: Charset::Web(WINDOWS_1252),
            is_unknown: false,
            fonts: HashMap::new(),
            default_font: NO_FONT,
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
            draws_words: false,
            asides: Vec::new(),
            objects: Vec::new(),
            object: Vec::new(),
            form: Form::default(),
            instructions: Instructions::default(),
        }
    }

    pub(super) fn open(&mut self) {
        self.flush();
        self.to_skip = 0;
        self.depth += 1;
        if self.outer.len() < MAX_GROUPS {
            let inner = Group { saved: None, kind: self.group.inner_kind(), ..self.group.clone() };
            self.outer.push(std::mem::replace(&mut self.group, inner));
        }
    }

    pub(super) fn close(&mut self) {
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
        // Behind the last cell of a table nothing stands.
        let text = one_line(&text).trim_end_matches(" |").to_owned();
        match ended.kind {
            Kind::Author => self.author = text,
            Kind::Property => self.draws_words = text == "gtextUNICODE",
            _ if text.is_empty() => {}
            Kind::Note("comment") if !self.author.is_empty() => {
                let author = std::mem::take(&mut self.author);
                self.flow.text(&format!(" [comment by {author}: {text}]"));
            }
            Kind::Note(name) => self.flow.text(&format!(" [{name}: {text}]")),
            Kind::Words => self.flow.text(&format!(" {text} ")),
            Kind::Aside(name) => {
                let aside = format!("[{name}: {text}]");
                if !self.asides.contains(&aside) && self.asides.len() < 100 {
                    self.asides.push(aside);
                }
            }
            _ => self.flow.text(&text),
        }
    }

    /// True if text here is to be seen.
    pub(super) fn is_text(&self) -> bool {
        !self.group.skipped
            && !self.group.hidden
            && self.depth <= MAX_GROUPS
            && !matches!(
                self.group.kind,
                Kind::Fonts | Kind::Styles | Kind::Object | Kind::Choice | Kind::Instructions
            )
    }

    pub(super) fn byte(&mut self, byte: u8) {
        if self.group.kind == Kind::Object {
            self.object.push(byte);
            return;
        }
        if self.group.kind == Kind::Choice {
            self.form.push(byte);
            return;
        }
        if self.group.kind == Kind::Instructions {
            if !self.group.skipped {
                self.instructions.byte(byte);
            }
            return;
        }
        if self.group.kind == Kind::Fonts && !self.group.skipped {
            let font = self.fonts.get_mut(&self.group.font).filter(|font| font.charset == charsets::SYMBOL);
            if let Some(font) = font.filter(|font| font.name.len() < MAX_NAME && byte != b';') {
                font.name.push(char::from(byte));
            }
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
    pub(super) fn text(&mut self, text: &str) {
        if self.is_text() {
            self.flush();
            self.flow.text(text);
        }
    }

    pub(super) fn flush(&mut self) {
        if self.group.kind == Kind::Instructions {
            self.instructions.decode(self.font_charset().unwrap_or(self.charset));
        }
        if self.pending.is_empty() {
            return;
        }
        let bytes = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.group.raised) && !self.flow.ends_blank() {
            self.flow.text("^");
        }
        let font = self.fonts.get(&self.group.font);
        let charset = self.font_charset();
        let text = match font {
            Some(Font { charset: charsets::SYMBOL, name, .. }) => charsets::symbols(name, &bytes).into(),
            _ => charset.unwrap_or(self.charset).decode(&bytes),
        };
        if self.is_unknown && charset.is_none() && !bytes.is_ascii() {
            self.flow.output.note(Note::Charset { charset: WINDOWS_1252.name() });
        }
        self.flow.output.unreadable(&text);
        self.flow.text(&text);
    }

    /// The charset of the font, if that tells it.
    fn font_charset(&self) -> Option<Charset> {
        let font = self.fonts.get(&self.group.font)?;
        font.code_page.or_else(|| charsets::of_font(font.charset))
    }

    /// Takes the charset of a code page; whether it is known.
    pub(super) fn set_code_page(&mut self, number: i32) -> bool {
        self.flush();
        let charset = Charset::of_code_page(number);
        self.charset = charset.unwrap_or(self.charset);
        charset.is_some()
    }

    /// A character in Unicode, as a signed number of 16 bits.
    pub(super) fn unicode(&mut self, value: i32) {
        self.to_skip = self.group.stand_ins;
        let is_code = self.group.kind == Kind::Instructions && !self.group.skipped;
        if !self.is_text() && !is_code {
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
            // Signs of a font, moved to where they collide with nothing.
            (None, 0xF020..=0xF0FF) => {
                let font = self.fonts.get(&self.group.font).map_or("", |font| font.name.as_str());
                charsets::symbols(font, &[(unit & 0xff).to_le_bytes()[0]])
            }
            (None, _) => String::from_utf16_lossy(&[unit]),
        };
        if is_code {
            self.instructions.push(&text, self.font_charset().unwrap_or(self.charset));
            return;
        }
        self.flow.output.unreadable(&text);
        if text != "\0" {
            self.text(&text);
        }
    }

    pub(super) fn paragraph(&mut self) {
        self.flush();
        if !self.is_text() {
            return;
        }
        if self.in_note() || self.group.in_table {
            self.flow.text("\n");
        } else {
            self.end_paragraph();
        }
    }

    /// True in a note or an aside, whose text becomes one line: a table of theirs is none of the document's.
    pub(super) fn in_note(&self) -> bool {
        self.group.saved.is_some() || self.outer.iter().any(|group| group.saved.is_some())
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

    pub(super) fn cell(&mut self) {
        self.flush();
        if self.in_note() {
            if !self.flow.is_blank() {
                self.flow.text(" | ");
            }
            return;
        }
        let text = self.flow.take();
        self.cells_in_table = self.group.in_table;
        if self.cells.len() < MAX_CELLS {
            self.cells.push(text);
        } else {
            self.flow.put_back(text);
        }
    }

    pub(super) fn row(&mut self) {
        self.flush();
        if self.in_note() {
            self.flow.text("\n");
            return;
        }
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

    /// The text ends. `in_table` says whether the group that ended last stood in a table.
    pub(super) fn end(&mut self, in_table: bool) {
        self.flush();
        // A row that nothing ends.
        if !self.cells.is_empty() {
            if (in_table || self.group.in_table) && !self.flow.is_blank() {
                self.cell();
            }
            self.row();
        }
        self.end_paragraph();
    }

    /// Passes over the rest of the group; of the document itself, only up to the next paragraph.
    pub(super) fn skip(&mut self) {
        self.flush();
        self.group.skipped = true;
        self.stray = self.depth <= 1;
    }

    /// A property without a group of its own ends with its paragraph.
    pub(super) fn end_stray(&mut self) {
        if self.depth > 1 {
            return;
        }
        if std::mem::take(&mut self.stray) {
            self.group.skipped = false;
        }
        if matches!(self.group.kind, Kind::Fonts | Kind::Styles) {
            self.group.kind = Kind::Text;
        }
    }

    /// This group is a note: the paragraph waits for its end.
    pub(super) fn aside(&mut self, kind: Kind) {
        if !self.is_text() || self.group.saved.is_some() {
            return;
        }
        self.flush();
        let saved = Some(self.flow.take());
        self.group = Group { kind, saved, ..self.group.clone() };
    }
}
