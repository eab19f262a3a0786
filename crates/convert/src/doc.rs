//! DOC to text: the documents of Word 97 to 2003. Their text stands in pieces, and what ends a row of a table is
//! told apart from what ends a cell by the properties of paragraphs.

mod lists;
mod properties;
mod stories;
mod styles;

use std::ops::Range;

use bytes::Bytes;

use self::properties::{Characters, Look, Paragraphs, Place};
use self::stories::Stories;
use self::styles::{Styles, fonts};
use crate::compound::Compound;
use crate::docx::numbering::Numbering;
use crate::eq;
use crate::fields::{narrow, place_at, u16_at, u32_at, wide};
use crate::flow::{Flow, runs_on};
use crate::guarded::Clock;
use crate::output::{Output, joined_lines, one_line};
use crate::records::{drawn_words, inside, record};
use crate::symbol_fonts::{shown, sign};
use crate::{ConvertError, Converted, Limits, Unit};

/// Where the table of positions begins in the head of a document, and some of its entries.
const POSITIONS: usize = 0x9a;
const STYLES: usize = 1;
const CHARACTERS: usize = 12;
const PARAGRAPHS: usize = 13;
const FONTS: usize = 15;
const PIECES: usize = 33;
const DRAWINGS: usize = 50;
const KINDS_OF_LISTS: usize = 73;
const LISTS: usize = 74;

/// Fields inside each other.
const MAX_FIELDS: usize = 1_000;

/// Pieces of a text that are read.
const MAX_PIECES: usize = 1 << 18;

pub(crate) fn convert(bytes: &Bytes, limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let mut file = Compound::open(bytes, limits)?;
    let damaged = ConvertError::Malformed { reason: "it has no document inside" };
    let head = file.stream("/WordDocument").filter(|head| u16_at(head, 0) == Some(0xa5ec));
    let head = head.ok_or(damaged.clone())?;
    let flags = u16_at(&head, 10).unwrap_or(0);
    if flags & 0x0100 != 0 {
        return Err(ConvertError::Encrypted { reason: "it needs a password" });
    }
    if u16_at(&head, 2).is_some_and(|version| version < 0x00c1) {
        return Err(ConvertError::OldFormat { format: "Word before 97 (.doc)" });
    }
    let name = if flags & 0x0200 != 0 { "/1Table" } else { "/0Table" };
    let tables = file.stream(name).ok_or(damaged.clone())?;
    let part = |index: usize| {
        let at = POSITIONS + 8 * index;
        let (start, len) = (place_at(&head, at)?, place_at(&head, at + 4)?);
        tables.get(start..start.checked_add(len)?)
    };
    let paragraphs = part(PARAGRAPHS).map(|plc| Paragraphs::read(plc, &head, clock)).transpose()?;
    let characters = part(CHARACTERS).map(|plc| Characters::read(plc, &head, clock)).transpose()?;
    let document = Document {
        pieces: part(PIECES).and_then(pieces).ok_or(damaged)?,
        paragraphs: paragraphs.unwrap_or_default(),
        characters: characters.unwrap_or_default(),
        styles: part(STYLES).map(Styles::read).unwrap_or_default(),
        fonts: part(FONTS).map(fonts).unwrap_or_default(),
        head: &head,
        limits,
        clock,
    };
    let stories = Stories::read(&head, |index| part(index).unwrap_or_default());

    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    let mut reader = Reader::new(&document, &mut output);
    // The entries of the kinds of lists stand behind their table.
    let kinds = part(KINDS_OF_LISTS).filter(|kinds| !kinds.is_empty());
    let kinds = kinds.and_then(|_| tables.get(place_at(&head, POSITIONS + 8 * KINDS_OF_LISTS)?..));
    reader.numbering = lists::read(kinds.unwrap_or_default(), part(LISTS).unwrap_or_default());
    let mut at = 0;
    for note in stories.notes {
        reader.read(at..note.at)?;
        at = note.at;
        if reader.is_shown(at)
            && let Some(text) = document.aside(note.text, reader.flow.output)?
        {
            reader.cell.push_str(&format!(" [{}: {text}]", note.kind));
            reader.stay_within_room();
        }
    }
    reader.read(at..stories.main)?;
    for rest in stories.rest {
        reader.end_paragraph(Place::default());
        reader.read(rest)?;
    }
    reader.finish();
    let mut shown = Vec::new();
    let (of_margins, of_text) = drawn(part(DRAWINGS).unwrap_or_default(), clock)?;
    of_text.iter().for_each(|words| output.line(words));
    for words in &of_margins {
        clock.check()?;
        output.margin("header", words, &mut shown);
    }
    for (kind, text) in stories.margins {
        clock.check()?;
        if let Some(text) = document.aside(text, &mut output)? {
            output.margin(kind, &text, &mut shown);
        }
    }
    if !document.pieces.iter().all(|piece| piece.byte(piece.end) <= head.len()) {
        output.partial();
    }
    for object in file.entries("/ObjectPool").into_iter().filter(|entry| !entry.is_stream) {
        clock.check()?;
        crate::embedded::storage(&mut file, &format!("/ObjectPool/{}", object.name), &mut output);
    }
    output.finish()
}

/// The words that shapes in the margins draw, and those of shapes in the text ([MS-DOC] 2.9.172).
fn drawn(drawings: &[u8], clock: Clock) -> Result<(Vec<String>, Vec<String>), ConvertError> {
    let (mut margins, mut text) = (Vec::new(), Vec::new());
    // The part that the drawings share comes first; a byte before each drawing says where it stands.
    let shared = record(drawings).map_or(0, |shared| 8 + shared.data.len());
    let mut rest = drawings.get(shared..).unwrap_or_default();
    while let Some((place, drawing)) =
        rest.split_first().and_then(|(place, rest)| Some((place, record(rest)?)))
    {
        let words = if *place == 0 { &mut text } else { &mut margins };
        for inner in inside(&drawing) {
            clock.check()?;
            words.extend(drawn_words(&inner).map(|words| one_line(&words)).filter(|words| !words.is_empty()));
        }
        rest = rest.get(9 + drawing.data.len()..).unwrap_or_default();
    }
    Ok((margins, text))
}

/// A stretch of text: its first character and the one behind its last, and where its bytes are.
struct Piece {
    first: usize,
    end: usize,
    at: usize,
    narrow: bool,
}

impl Piece {
    /// The place of a character of this piece among the bytes.
    fn byte(&self, character: usize) -> usize {
        self.at.saturating_add(character.saturating_sub(self.first).saturating_mul(self.width()))
    }

    /// The number of bytes of a character.
    fn width(&self) -> usize {
        if self.narrow { 1 } else { 2 }
    }
}

/// The pieces that the text is made of.
fn pieces(table: &[u8]) -> Option<Vec<Piece>> {
    let mut at = 0;
    while *table.get(at)? == 1 {
        at += 3 + usize::from(u16_at(table, at + 1)?);
    }
    let len = place_at(table, at + 1)?;
    let list = table.get(at + 5..).map(|list| list.get(..len).unwrap_or(list))?;
    let count = (list.len().checked_sub(4)? / 12).min(MAX_PIECES);
    let piece = |index: usize| {
        let bits = u32_at(list, 4 * (count + 1) + 8 * index + 2)?;
        let narrow = bits & 0x4000_0000 != 0;
        let at = usize::try_from(bits & 0x3fff_ffff).ok()?;
        let (first, end) = (place_at(list, 4 * index)?, place_at(list, 4 * index + 4)?);
        Some(Piece { first, end, at: if narrow { at / 2 } else { at }, narrow })
    };
    Some((0..count).map_while(piece).collect())
}

/// A document: its bytes, and what is said about them.
struct Document<'a> {
    pieces: Vec<Piece>,
    paragraphs: Paragraphs,
    characters: Characters,
    styles: Styles,
    /// The names of fonts.
    fonts: Vec<String>,
    head: &'a [u8],
    limits: &'a Limits,
    clock: Clock,
}

impl Document<'_> {
    /// The pieces that hold some of these characters.
    fn pieces(&self, characters: &Range<usize>) -> &[Piece] {
        let start = self.pieces.partition_point(|piece| piece.end <= characters.start);
        let end = self.pieces.partition_point(|piece| piece.first < characters.end);
        self.pieces.get(start..end).unwrap_or_default()
    }

    /// A text beside the main one on one line, if it says something.
    fn aside(&self, characters: Range<usize>, output: &mut Output) -> Result<Option<String>, ConvertError> {
        let mut inside = Output::new(Unit::Whole, self.limits);
        inside.begin("");
        let mut reader = Reader::new(self, &mut inside);
        reader.read(characters)?;
        reader.finish();
        output.take_remarks(&inside);
        Ok(Some(joined_lines(inside.so_far())).filter(|text| !text.is_empty()))
    }
}

struct Reader<'o> {
    document: &'o Document<'o>,
    flow: Flow<'o>,
    /// The fields that are open.
    fields: Vec<Field>,
    table: bool,
    row: bool,
    /// The text since the last mark, and where in it the present paragraph begins.
    cell: String,
    start: usize,
    /// True if a paragraph goes on behind a page break, with its number before it.
    goes_on: bool,
    numbering: Numbering,
    images: usize,
}

impl<'o> Reader<'o> {
    fn new(document: &'o Document<'o>, output: &'o mut Output) -> Self {
        Self {
            document,
            flow: Flow::new(output),
            fields: Vec::new(),
            table: false,
            row: false,
            cell: String::new(),
            start: 0,
            goes_on: false,
            numbering: Numbering::default(),
            images: 0,
        }
    }

    /// Reads these characters.
    fn read(&mut self, characters: Range<usize>) -> Result<(), ConvertError> {
        let document = self.document;
        for piece in document.pieces(&characters) {
            document.clock.check()?;
            if self.flow.is_full() {
                return Ok(());
            }
            let width = piece.width();
            let start = piece.byte(characters.start.max(piece.first));
            let end = piece.byte(characters.end.min(piece.end)).min(document.head.len());
            let bytes = document.head.get(start..end).unwrap_or_default();
            let mut from = 0;
            for at in (0..bytes.len()).step_by(width) {
                let Some(unit) = unit(bytes, at, piece.narrow) else { break };
                if unit < 0x20 {
                    self.text(bytes.get(from..at).unwrap_or_default(), start + from, piece.narrow);
                    document.clock.check()?;
                    self.mark(unit, start + at, width);
                    from = at + width;
                }
            }
            self.text(bytes.get(from..).unwrap_or_default(), start + from, piece.narrow);
        }
        Ok(())
    }

    /// True if what the character before this place refers to is part of the text.
    fn is_shown(&self, place: usize) -> bool {
        let mark = place.saturating_sub(1);
        let byte = self.document.pieces(&(mark..place)).first().map(|piece| piece.byte(mark));
        !self.in_code() && byte.is_none_or(|byte| !self.is_gone(self.document.characters.at(byte).0, byte))
    }

    /// Writes what is left.
    fn finish(mut self) {
        self.end_paragraph(Place::default());
        for _ in 0..self.images {
            self.flow.output.not_shown("image");
        }
        self.flow.finish();
    }

    /// True in the instructions of a field.
    fn in_code(&self) -> bool {
        self.fields.iter().any(|field| !field.has_result)
    }

    /// True if characters with these properties at a byte are not part of the text as it stands now.
    fn is_gone(&self, look: Look, byte: usize) -> bool {
        look.is_deleted
            || match look.hidden {
                Some(0) => false,
                Some(1) => true,
                said => {
                    self.document.styles.hide(self.document.paragraphs.at(byte).style, look.style)
                        != (said == Some(0x81))
                }
            }
    }

    /// Text whose first byte stands there.
    fn text(&mut self, mut bytes: &[u8], mut at: usize, is_narrow: bool) {
        if self.in_code() {
            let text = if is_narrow { narrow(bytes) } else { wide(bytes) };
            if let Some(field) = self.fields.iter_mut().rfind(|field| !field.has_result)
                && field.code.len() + text.len() <= eq::MAX_CODE
            {
                field.code.push_str(&text);
            }
            return;
        }
        while !bytes.is_empty() {
            let (look, end) = self.document.characters.at(at);
            let len = end - at;
            let len = if is_narrow { len } else { len.checked_next_multiple_of(2).unwrap_or(len) };
            let (run, rest) = bytes.split_at_checked(len).unwrap_or((bytes, &[]));
            if !self.is_gone(look, at) {
                let text = if is_narrow { narrow(run) } else { wide(run) };
                let font = look.symbol.map(|(font, _)| font).or(look.font).unwrap_or_default();
                let font = self.document.fonts.get(usize::from(font)).map_or("", String::as_str);
                if let Some((_, code)) = look.symbol {
                    let sign = sign(font, code.into()).to_string();
                    self.flow.output.unreadable(&sign);
                    self.cell.push_str(&sign.repeat(text.chars().count()));
                } else {
                    let text = shown(font, &text, self.flow.output);
                    self.cell.extend(text.chars().filter(|c| *c != '\u{ad}'));
                }
            }
            (bytes, at) = (rest, at + run.len());
        }
        self.stay_within_room();
    }

    /// A character of so many bytes that is none of the text, at a byte.
    fn mark(&mut self, unit: u16, byte: usize, width: usize) {
        let look = self.document.characters.at(byte).0;
        let is_gone = self.is_gone(look, byte);
        match unit {
            0x13 if self.fields.len() < MAX_FIELDS => {
                self.fields.push(Field { has_result: false, code: String::new(), at: self.cell.len() });
            }
            0x14 => {
                if let Some(field) = self.fields.last_mut() {
                    field.has_result = true;
                }
            }
            0x15 => {
                let Some(field) = self.fields.pop() else { return };
                if eq::is_silent(&field.code) {
                    self.cell.truncate(self.cell.floor_char_boundary(field.at));
                } else if !self.in_code()
                    && !is_gone
                    && self.cell.len() == field.at
                    && let Some(equation) = eq::shown(&field.code)
                {
                    if runs_on(&self.cell, &equation) {
                        self.cell.push(' ');
                    }
                    self.cell.push_str(&equation);
                }
            }
            _ if self.in_code() => {}
            0x07 => {
                let place = self.document.paragraphs.at(byte);
                if place.ends_row {
                    (self.cell, self.start) = (String::new(), 0);
                    self.flow.close_row();
                    self.row = false;
                } else {
                    self.end_cell(place);
                }
            }
            // Without its mark a paragraph goes on with the next one.
            0x0d | 0x0c if look.is_deleted => {}
            0x0d | 0x0c => {
                let (end, mut place) = self.document.paragraphs.with_end(byte);
                // Behind a page break a paragraph may go on.
                let goes_on = unit == 0x0c && end > byte + width;
                let is_blank = self.cell.get(self.start..).is_none_or(|text| text.trim().is_empty());
                if is_blank && (goes_on || is_gone) {
                    place.rank.list = Some(0);
                }
                let has_number = self.goes_on || !is_blank;
                self.end_paragraph(place);
                self.goes_on = goes_on && has_number;
            }
            _ if is_gone => {}
            0x09 => self.cell.push('\t'),
            0x0b => self.cell.push('\n'),
            0x1e => self.cell.push('-'),
            0x01 | 0x08 => self.images += 1,
            _ => {}
        }
    }

    /// The number or mark of a paragraph in a list, its level, and that of its heading.
    fn rank(&mut self, place: Place) -> (String, usize, Option<usize>) {
        let rank = self.document.styles.rank(place.style, place.rank);
        let outline = rank.outline.map(usize::from).filter(|outline| *outline < 9);
        let list = rank.list.unwrap_or(0).to_string();
        if std::mem::take(&mut self.goes_on) || !self.numbering.has(&list) {
            return (String::new(), 0, outline);
        }
        let level = rank.level.map_or(0, usize::from).min(8);
        let label = self.numbering.next(&list, level);
        (if label.is_empty() { label } else { label + " " }, level, outline)
    }

    /// Writes a number before the present paragraph of a cell or heading, if that says something.
    fn number(&mut self, number: &str) {
        if self.cell.get(self.start..).is_some_and(|text| !text.trim().is_empty()) {
            self.cell.insert_str(self.start, number);
        }
    }

    fn end_cell(&mut self, place: Place) {
        if !self.table {
            self.flow.open_table();
            self.table = true;
        }
        if !self.row {
            self.flow.open_row();
            self.row = true;
        }
        self.flow.open_cell(1, 1);
        let number = self.rank(place).0;
        self.number(&number);
        self.write();
        self.flow.close_cell();
    }

    /// Writes text that is too long anyway before it grows, as that of a cell does.
    fn stay_within_room(&mut self) {
        if self.cell.len() > self.flow.output.room() {
            self.write();
        }
    }

    /// Writes the text since the last mark. Fields that go on do so in an empty one.
    fn write(&mut self) {
        self.flow.text(&std::mem::take(&mut self.cell));
        self.start = 0;
        self.fields.iter_mut().for_each(|field| field.at = 0);
    }

    fn end_paragraph(&mut self, place: Place) {
        let (number, level, outline) = self.rank(place);
        if place.in_table {
            self.number(&number);
            self.cell.push('\n');
            self.start = self.cell.len();
            self.stay_within_room();
            return;
        }
        if self.table {
            self.flow.close_row();
            self.flow.close_table();
            (self.table, self.row) = (false, false);
        }
        if let Some(outline) = outline {
            self.number(number.trim_start_matches("- "));
            self.write();
            self.flow.end_heading(outline + 1);
        } else {
            self.write();
            let indent = "  ".repeat(level);
            let below = if number.is_empty() { indent.clone() } else { format!("{indent}  ") };
            self.flow.end(&format!("{indent}{number}"), &below);
        }
    }
}

/// A field.
struct Field {
    /// True where its result has begun, behind its instructions.
    has_result: bool,
    code: String,
    /// The place of its text in the cell or paragraph.
    at: usize,
}

/// The character unit at a place.
fn unit(bytes: &[u8], at: usize, is_narrow: bool) -> Option<u16> {
    if is_narrow { bytes.get(at).map(|byte| u16::from(*byte)) } else { u16_at(bytes, at) }
}
