//! The body of a document, paragraph by paragraph.

use super::parts::Parts;
use crate::flow::Flow;
use crate::output::one_line;
use crate::xml::{Node, Stop, Tag, Xml};

/// Text boxes inside each other.
const MAX_BOXES: usize = 20;

/// Elements whose content is not part of the text as it stands now.
const SKIPPED: &[&str] = &[
    "del",
    "moveFrom",
    "delText",
    "instrText",
    "delInstrText",
    "sectPr",
    "sdtPr",
    "Fallback",
    "pPrChange",
    "rPrChange",
    "tblPrChange",
    "tcPrChange",
    "trPrChange",
    "tblGrid",
    "tblPr",
    "ruby",
];

/// A body that is being read.
pub(super) struct Body<'o, 'p> {
    flow: Flow<'o>,
    parts: &'p mut Parts,
    paragraph: Paragraph,
    /// The paragraphs that go on behind text boxes.
    boxes: Vec<(Paragraph, String)>,
    tables: usize,
    cells: Vec<Cell>,
    in_text: bool,
    /// True if the text of the present run is hidden.
    hidden: bool,
    /// True if it is raised, so that `10` and a raised `6` are not read as 106.
    raised: bool,
    in_run_properties: bool,
    /// The number of pages that have ended since the page that is being written.
    breaks: usize,
    /// The number of pages so far.
    pages: usize,
    /// True if pages are told apart: not in notes and margins.
    paged: bool,
}

#[derive(Default, Clone)]
struct Paragraph {
    style: Option<String>,
    list: Option<String>,
    level: Option<usize>,
    outline: Option<usize>,
}

/// A cell whose properties come before its content.
struct Cell {
    columns: usize,
    begun: bool,
}

impl<'o, 'p> Body<'o, 'p> {
    pub(super) fn new(flow: Flow<'o>, parts: &'p mut Parts, paged: bool) -> Self {
        Self {
            flow,
            parts,
            paragraph: Paragraph::default(),
            boxes: Vec::new(),
            tables: 0,
            cells: Vec::new(),
            in_text: false,
            hidden: false,
            raised: false,
            in_run_properties: false,
            breaks: 0,
            pages: 1,
            paged,
        }
    }

    /// Reads the element that began last, or the whole document, to its end.
    pub(super) fn read(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        let outside = xml.depth().saturating_sub(1);
        loop {
            if self.flow.is_full() {
                return self.count_pages(xml);
            }
            let skip = match xml.next()? {
                Node::End => return Ok(()),
                Node::Open(tag) => self.open(&tag),
                Node::Text(text) => {
                    if self.in_text && !self.hidden {
                        if std::mem::take(&mut self.raised) && !self.flow.ends_blank() {
                            self.flow.text("^");
                        }
                        self.flow.text(&text);
                    }
                    false
                }
                Node::Close(name) => {
                    self.close(&name);
                    if xml.depth() <= outside {
                        return Ok(());
                    }
                    false
                }
                Node::Nothing => false,
            };
            if skip {
                xml.skip()?;
            }
        }
    }

    pub(super) fn finish(self) {
        self.flow.finish();
    }

    /// Counts the pages of what does not fit any more.
    fn count_pages(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        let mut pages = self.pages;
        loop {
            match xml.next()? {
                Node::Open(tag) if tag.name() == "lastRenderedPageBreak" => pages += 1,
                Node::End => break,
                _ => {}
            }
        }
        if self.paged {
            self.flow.output.set_total(pages);
        }
        Ok(())
    }

    /// An element begins; whether it is to be passed over.
    fn open(&mut self, tag: &Tag<'_>) -> bool {
        let name = tag.name();
        if SKIPPED.contains(&name) {
            return true;
        }
        match name {
            "p" => {
                self.begin_cell();
                self.paragraph = Paragraph::default();
            }
            "pStyle" => self.paragraph.style = tag.attr("val"),
            "numId" => self.paragraph.list = tag.attr("val"),
            "ilvl" => self.paragraph.level = tag.number("val"),
            "outlineLvl" => self.paragraph.outline = tag.number("val"),
            "rPr" => self.in_run_properties = true,
            "r" => (self.hidden, self.raised) = (false, false),
            "vertAlign" if self.in_run_properties => {
                self.raised = tag.attr("val").is_some_and(|value| value == "superscript");
            }
            "vanish" if self.in_run_properties => {
                self.hidden =
                    tag.attr("val").is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"));
            }
            "t" => self.in_text = true,
            _ if self.hidden => {}
            "tab" if !self.in_run_properties => self.flow.text("\t"),
            "cr" => self.flow.text("\n"),
            "br" if tag.attr("type").is_none_or(|kind| kind == "textWrapping") => self.flow.text("\n"),
            "noBreakHyphen" => self.flow.text("-"),
            "sym" => self.symbol(tag),
            "lastRenderedPageBreak" => self.page_break(),
            "footnoteReference" => self.note("footnote", tag),
            "endnoteReference" => self.note("endnote", tag),
            "commentReference" => self.note("comment", tag),
            "docPr" => self.picture(tag),
            "blip" | "imagedata" => self.flow.output.not_shown("image"),
            "OLEObject" if tag.attr("Type").is_some_and(|kind| kind == "Link") => {
                self.flow.output.not_shown("linked document");
            }
            "txbxContent" => {
                if self.boxes.len() >= MAX_BOXES {
                    return true;
                }
                self.boxes.push((std::mem::take(&mut self.paragraph), self.flow.take()));
            }
            "tbl" => {
                self.begin_cell();
                self.tables += 1;
                self.flow.open_table();
            }
            "tr" => self.flow.open_row(),
            "gridBefore" => self.flow.open_cell(tag.number("val").unwrap_or(1), 1),
            "tc" => self.cells.push(Cell { columns: 1, begun: false }),
            "gridSpan" => {
                if let Some(cell) = self.cells.last_mut() {
                    cell.columns = tag.number("val").unwrap_or(1);
                }
            }
            _ => {}
        }
        false
    }

    fn close(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "rPr" => self.in_run_properties = false,
            "r" => self.hidden = false,
            "p" => self.end_paragraph(),
            "txbxContent" => {
                if let Some((paragraph, text)) = self.boxes.pop() {
                    self.flow.end_paragraph();
                    self.paragraph = paragraph;
                    self.flow.put_back(text);
                }
            }
            "tc" => {
                self.begin_cell();
                self.flow.close_cell();
                self.cells.pop();
            }
            "tr" => {
                self.flow.close_row();
                // A table goes on behind the marker of the page on which it does.
                if self.tables == 1 && self.breaks > 0 && self.boxes.is_empty() {
                    self.flow.close_table();
                    self.turn_pages();
                    self.flow.open_table();
                }
            }
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                self.flow.close_table();
            }
            _ => {}
        }
    }

    fn begin_cell(&mut self) {
        if let Some(cell) = self.cells.last_mut().filter(|cell| !cell.begun) {
            cell.begun = true;
            let columns = cell.columns;
            self.flow.open_cell(columns, 1);
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let style = paragraph.style.as_deref();
        let outline =
            paragraph.outline.or_else(|| self.parts.styles.outline(style?)).filter(|level| *level < 9);
        let (mark, level) = self.label(&paragraph);
        if let Some(outline) = outline {
            let text = self.flow.take();
            if !text.trim().is_empty() {
                self.flow.text(mark.trim_start_matches("- "));
                self.flow.text(&text);
            }
            self.flow.end_heading(outline + 1);
        } else {
            let indent = "  ".repeat(level);
            let below = if mark.is_empty() { indent.clone() } else { format!("{indent}  ") };
            self.flow.end(&format!("{indent}{mark}"), &below);
        }
        if self.tables == 0 && self.boxes.is_empty() {
            self.turn_pages();
        }
    }

    /// The number or mark of a paragraph in a list, and its level.
    fn label(&mut self, paragraph: &Paragraph) -> (String, usize) {
        let style = paragraph.style.as_deref();
        let (list, level) = match (&paragraph.list, style) {
            (Some(list), _) => (list.clone(), paragraph.level),
            (None, Some(style)) => match self.parts.styles.list(style) {
                Some((list, level)) => {
                    let level = paragraph.level.or(level);
                    let level = level.or_else(|| self.parts.numbering.level_of(&list, style));
                    (list, level)
                }
                None => return (String::new(), 0),
            },
            (None, None) => return (String::new(), 0),
        };
        // Zero takes a paragraph out of the list of its style.
        if list == "0" {
            return (String::new(), 0);
        }
        let level = level.unwrap_or(0);
        let label = self.parts.numbering.next(&list, level);
        let mark = if label.is_empty() { label } else { label + " " };
        (mark, level.min(8))
    }

    fn symbol(&mut self, tag: &Tag<'_>) {
        let code = tag.attr("char").and_then(|code| u32::from_str_radix(&code, 16).ok());
        let font = tag.attr("font").unwrap_or_default();
        let sign = match code {
            Some(0xF0B7 | 0xF0A7 | 0xF0A8 | 0x00B7) => '\u{2022}',
            Some(0xF0FC | 0xF0FE | 0x00FC | 0x00FE) if font.starts_with("Wingdings") => '\u{2611}',
            Some(0xF06F | 0x006F | 0xF071) if font.starts_with("Wingdings") => '\u{2610}',
            Some(0xF0E0 | 0x00E0) if font.starts_with("Wingdings") => '\u{2192}',
            Some(code @ 0xF020..=0xF07E) => {
                char::from_u32(code & 0x7f).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            Some(code) if !(0xE000..=0xF8FF).contains(&code) => {
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => char::REPLACEMENT_CHARACTER,
        };
        self.flow.text(sign.encode_utf8(&mut [0; 4]));
    }

    fn note(&mut self, kind: &'static str, tag: &Tag<'_>) {
        let Some(id) = tag.attr("id") else { return };
        if let Some(note) = self.parts.notes.get_mut(&(kind, id)) {
            note.shown = true;
            let text = format!(" {}", note.text);
            self.flow.text(&text);
        }
    }

    /// A drawing: a picture, a text box, a chart.
    fn picture(&mut self, tag: &Tag<'_>) {
        let description = tag.attr("descr").or_else(|| tag.attr("title")).unwrap_or_default();
        let description = one_line(&description);
        if !description.is_empty() {
            self.flow.text(&format!("[image: {description}]"));
        }
    }

    fn page_break(&mut self) {
        if self.paged {
            self.breaks += 1;
            self.pages += 1;
            if self.tables == 0 && self.boxes.is_empty() && self.flow.is_blank() {
                self.turn_pages();
            }
        }
    }

    fn turn_pages(&mut self) {
        for _ in 0..std::mem::take(&mut self.breaks) {
            self.flow.output.divide_into_pages();
            self.flow.output.begin("");
        }
    }
}
