//! XLSX and XLSB to text: each sheet row by row, formulas as their values, dates as ISO dates.

mod binary;
mod codes;
mod numbers;
mod strings;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::archive::Archive;
use crate::drawings;
use crate::embedded::Embedded;
use crate::grid::{Grid, place};
use crate::guarded::Clock;
use crate::ooxml::{Package, Reference, References, of_kind};
use crate::output::Output;
use crate::pptx::{settle, shapes};
use crate::xml::{Node, Stop, Xml};
use crate::{ConvertError, Converted, Limits, Note, Unit};

use self::binary::Records;
pub(crate) use self::codes::Pattern;
pub(crate) use self::numbers::{Formats, plain};
use self::strings::Strings;

/// Columns and rows that a sheet can have.
const MAX_COLUMNS: usize = 16_384;
const MAX_ROWS: usize = 1_048_576;

/// Longest cell, in bytes; Excel's own limit is lower.
const MAX_CELL: usize = 1 << 18;

/// Bytes of one row.
const MAX_ROW: usize = 4 << 20;

/// Comments of one sheet that are kept.
const MAX_COMMENTS: usize = 20_000;

/// Sheets of one workbook that are listed.
const MAX_SHEETS: usize = 10_000;

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let package = Package { archive: Archive::open(bytes, limits)?, clock };
    let name = package.main("xl/workbook.xml")?;
    let name = if package.archive.has(&name) { name } else { "xl/workbook.bin".to_owned() };
    let mut references = package.references(&name)?;
    let mut book = Book::default();
    let missing = ConvertError::Malformed { reason: "it has no workbook inside" };
    let ended = if package.archive.recovered && !package.archive.has(&name) {
        Ok(())
    } else if is_binary(&name) {
        book.read_binary(&mut Records::open(&package, &name).ok_or(missing.clone())?)
    } else {
        let Some(Ok(xml)) = package.xml(&name) else { return Err(missing) };
        book.read(xml)
    };
    match ended {
        Err(Stop::Over(error)) => return Err(error),
        Err(Stop::Damaged) if book.sheets.is_empty() && !package.archive.recovered => {
            return Err(ConvertError::Malformed { reason: "its list of sheets is damaged" });
        }
        Ok(()) | Err(Stop::Damaged) => {}
    }
    let mut output = Output::new(Unit::Sheet, limits);
    if package.archive.recovered && book.find(&package, &mut references) {
        output.note(Note::OrderGuessed { unit: Unit::Sheet });
    }
    if book.sheets.is_empty() && package.archive.recovered {
        return Err(missing);
    }
    let formats = Formats::read(&package, &references, book.since_1904)?;
    let (strings, strings_whole) = Strings::read(&package, &references, limits)?;
    output.set_total(book.sheets.len());
    let mut embedded = Embedded::new(limits);
    let mut formulas = 0;
    for sheet in &book.sheets {
        clock.check()?;
        let hidden = if sheet.hidden { ", hidden" } else { "" };
        if !output.begin(&format!("{}{hidden}", sheet.name)) {
            break;
        }
        let Some(reference) = references.get(&sheet.id) else {
            output.unread();
            continue;
        };
        let own = package.references(&reference.target)?;
        if reference.kind == "chartsheet" {
            drawn(&package, &own, &mut output)?;
            embedded.give_on(&package, &reference.target, &mut output)?;
            continue;
        }
        let comments = comments(&package, &own)?;
        let mut reader =
            Cells { formats: &formats, strings: &strings, comments, clock, formulas: 0, lost: false };
        let ended = if is_binary(&reference.target) {
            Records::open(&package, &reference.target)
                .map(|mut records| reader.read_binary(&mut records, &mut output))
        } else {
            match package.xml(&reference.target) {
                Some(Ok(xml)) => Some(reader.read(xml, &mut output)),
                _ => None,
            }
        };
        let Some(ended) = ended else {
            output.unread();
            continue;
        };
        match ended {
            Err(Stop::Over(error)) => return Err(error),
            Err(Stop::Damaged) => output.partial(),
            // A cell whose text is in the damaged part of the shared texts.
            Ok(()) if reader.lost && !strings_whole => output.partial(),
            Ok(()) => {}
        }
        formulas += reader.formulas;
        drawn(&package, &own, &mut output)?;
        embedded.give_on(&package, &reference.target, &mut output)?;
    }
    package.archive.tell(&mut output);
    if formulas > 0 {
        output.note(Note::FormulasWithoutValues { count: formulas });
    }
    output.finish()
}

/// True if a part is one of XLSB.
fn is_binary(name: &str) -> bool {
    name.ends_with(".bin")
}

#[derive(Default)]
struct Book {
    sheets: Vec<Listed>,
    since_1904: bool,
}

struct Listed {
    name: String,
    id: String,
    hidden: bool,
}

impl Book {
    /// Finds the sheets of a file that lost the list of them, or the list of where they are; whether it had to.
    fn find(&mut self, package: &Package<'_>, references: &mut References) -> bool {
        if self.sheets.iter().any(|sheet| references.contains_key(&sheet.id)) {
            return false;
        }
        let mut refer = |id: &str, kind: &str, target: &str| {
            references.insert(id.to_owned(), Reference { kind: kind.to_owned(), target: target.to_owned() });
        };
        for end in [".xml", ".bin"] {
            for (index, target) in package.archive.numbered("xl/worksheets/", end).into_iter().enumerate() {
                if index >= self.sheets.len() && index < MAX_SHEETS {
                    self.sheets.push(Listed { name: String::new(), id: target.to_owned(), hidden: false });
                }
                if let Some(sheet) = self.sheets.get(index) {
                    refer(&sheet.id, "worksheet", target);
                }
            }
            for (kind, name) in [("sharedStrings", "sharedStrings"), ("styles", "styles")] {
                let target = format!("xl/{name}{end}");
                if package.archive.has(&target) {
                    refer(kind, kind, &target);
                }
            }
        }
        true
    }

    fn read(&mut self, mut xml: Xml<'_>) -> Result<(), Stop> {
        loop {
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "workbookPr" => self.since_1904 = tag.is_on("date1904"),
                    "sheet" if self.sheets.len() < MAX_SHEETS => self.sheets.push(Listed {
                        name: tag.attr("name").unwrap_or_default(),
                        id: tag.prefixed("id").unwrap_or_default(),
                        hidden: tag.attr("state").is_some_and(|state| state != "visible"),
                    }),
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }
}

/// The comments of a sheet by their cells.
fn comments(package: &Package<'_>, references: &References) -> Result<HashMap<String, String>, ConvertError> {
    let mut found = HashMap::new();
    for name in of_kind(references, "comments") {
        if is_binary(name) {
            let Some(mut records) = Records::open(package, name) else { continue };
            if let Err(Stop::Over(error)) = binary::comments(&mut records, &mut found) {
                return Err(error);
            }
            continue;
        }
        let Some(Ok(mut xml)) = package.xml(name) else { continue };
        let mut cell = None;
        loop {
            let in_text = match xml.next() {
                Ok(Node::Open(tag)) => {
                    if tag.name() == "comment" {
                        cell = tag.attr("ref");
                    }
                    tag.name() == "text"
                }
                Ok(Node::End) | Err(Stop::Damaged) => break,
                Err(Stop::Over(error)) => return Err(error),
                Ok(_) => false,
            };
            if in_text
                && let Ok(text) = xml.text(MAX_CELL)
                && let Some(cell) = cell.take()
                && found.len() < MAX_COMMENTS
            {
                found.insert(cell, text.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    Ok(found)
}

/// Writes what a sheet shows besides its cells: charts, diagrams and text boxes. Counts its images.
fn drawn(package: &Package<'_>, references: &References, output: &mut Output) -> Result<(), ConvertError> {
    for drawing in of_kind(references, "drawing") {
        if let Some(Ok(xml)) = package.xml(drawing) {
            settle(shapes(xml, output, false), output)?;
        }
        for diagram in of_kind(&package.references(drawing)?, "diagramData") {
            if let Some(Ok(xml)) = package.xml(diagram) {
                settle(shapes(xml, output, false), output)?;
            }
        }
        drawings::charts(package, drawing, output)?;
    }
    Ok(())
}

struct Cells<'a> {
    formats: &'a Formats,
    strings: &'a Strings,
    comments: HashMap<String, String>,
    clock: Clock,
    formulas: usize,
    /// True if a shared text is not there.
    lost: bool,
}

/// A cell while it is read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    value: Option<String>,
    formula: Option<String>,
    text: String,
    comment: Option<String>,
}

/// A row while it is read: all its texts in one.
#[derive(Default)]
struct Row {
    number: usize,
    texts: String,
    cells: Vec<(usize, usize)>,
}

impl Row {
    /// Adds a cell with its comment; whether there was room for it.
    fn add(&mut self, column: usize, text: &str, comment: Option<String>) -> bool {
        let start = self.texts.len();
        if start > MAX_ROW || self.cells.len() >= MAX_COLUMNS {
            return false;
        }
        self.texts.push_str(text);
        if let Some(comment) = comment {
            let space = if text.is_empty() { "" } else { " " };
            self.texts.push_str(&format!("{space}[comment: {comment}]"));
        }
        if self.texts.len() > start {
            self.cells.push((column, self.texts.len()));
        }
        true
    }

    fn write(&self, grid: &mut Grid, output: &mut Output) {
        let cells = self.cells.iter().scan(0, |from, (column, to)| {
            let text = self.texts.get(*from..*to).unwrap_or_default();
            *from = *to;
            Some((*column, text))
        });
        grid.row(self.number, cells, output);
    }
}

impl Cells<'_> {
    fn read(&mut self, mut xml: Xml<'_>, output: &mut Output) -> Result<(), Stop> {
        let mut grid = Grid::default();
        let mut row = Row::default();
        let mut cell = Cell::default();
        let mut next_column = 0;
        loop {
            if output.is_full() {
                return Ok(());
            }
            let mut wanted = None;
            match xml.next()? {
                Node::Open(tag) => match tag.name() {
                    "row" => {
                        let number = tag.number("r").unwrap_or(row.number + 1).clamp(1, MAX_ROWS);
                        row = Row { number, ..Row::default() };
                        next_column = 0;
                    }
                    "c" => {
                        let reference = tag.attr("r");
                        let at = reference.as_deref().and_then(place);
                        let column = at.map_or(next_column, |(column, _)| column).min(MAX_COLUMNS - 1);
                        next_column = column + 1;
                        cell = Cell {
                            column,
                            kind: tag.attr("t").unwrap_or_default(),
                            style: tag.number("s").unwrap_or(0),
                            comment: reference.and_then(|reference| self.comments.remove(&reference)),
                            ..Cell::default()
                        };
                    }
                    "v" => wanted = Some("v"),
                    "f" => wanted = Some("f"),
                    "t" => wanted = Some("t"),
                    "rPh" => wanted = Some("rPh"),
                    _ => {}
                },
                Node::Close(name) => match &*name {
                    "c" => self.add(&mut cell, &mut row),
                    "row" => {
                        self.clock.check()?;
                        row.write(&mut grid, output);
                        row = Row { number: row.number, ..Row::default() };
                    }
                    "sheetData" => return Ok(()),
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
            match wanted {
                Some("v") => cell.value = Some(xml.text(MAX_CELL)?),
                Some("f") => cell.formula = Some(xml.text(MAX_CELL)?),
                Some("t") => cell.text.push_str(&xml.text(MAX_CELL)?),
                Some(_) => xml.skip()?,
                None => {}
            }
        }
    }

    /// Adds a cell to its row.
    fn add(&mut self, cell: &mut Cell, row: &mut Row) {
        let cell = std::mem::take(cell);
        let value = cell.value.as_ref().filter(|value| !value.trim().is_empty() || cell.kind == "str");
        let text = match (value, &cell.formula) {
            (Some(value), _) => match cell.kind.as_str() {
                "s" => match value.trim().parse().ok().and_then(|at| self.strings.get(at)) {
                    Some(text) => Cow::Borrowed(text),
                    None => {
                        self.lost = true;
                        Cow::Borrowed("\u{fffd}")
                    }
                },
                "b" => Cow::Borrowed(if value.trim() == "1" { "TRUE" } else { "FALSE" }),
                "str" | "e" | "inlineStr" => Cow::Borrowed(value.as_str()),
                "d" => Cow::Borrowed(value.trim()),
                _ => Cow::Owned(self.formats.show(value.trim(), cell.style)),
            },
            (None, Some(formula)) if !formula.trim().is_empty() => {
                self.formulas += 1;
                Cow::Owned(format!("={}", formula.trim()))
            }
            _ => Cow::Borrowed(cell.text.as_str()),
        };
        self.lost |= !row.add(cell.column, &text, cell.comment);
    }
}
