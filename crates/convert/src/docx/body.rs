//! The body of a document, paragraph by paragraph.

use super::form::Form;
use super::parts::Parts;
use crate::eq;
use crate::flow::Flow;
use crate::formula::Formula;
use crate::output::one_line;
use crate::shapes::is_invisible;
use crate::symbol_fonts::{shown, sign};
use crate::xml::{Node, Stop, Tag, Xml};

/// Text boxes inside each other.
const MAX_BOXES: usize = 20;

/// Elements whose content is not part of the text as it stands now.
const SKIPPED: &[&str] = &[
    "del",
    "moveFrom",
    "delText",
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
    "rt",
    "rubyPr",
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
    /// True if the text of the present run is hidden, and if it says so itself.
    hidden: bool,
    said: Option<bool>,
    /// The style of the run.
    style: Option<String>,
    /// True if it is raised, so that `10` and a raised `6` are not read as 106.
    raised: bool,
    /// True inside of a run, and inside of the properties of a paragraph, which are also those of its mark.
    in_run: bool,
    in_properties: bool,
    /// The font that the run names.
    font: String,
    formula: Formula,
    form: Option<Form>,
    /// The fields that began in this paragraph.
    fields: Vec<Field>,
    /// True inside of the instructions of one.
    in_code: bool,
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
    /// True if its mark is deleted, so that it goes on with the next one, and if the mark is hidden.
    deleted: bool,
    hidden: Option<bool>,
    /// The style of the mark.
    mark: Option<String>,
}

/// A field: its instructions, and the place of its text.
struct Field {
    code: String,
    /// True until the result begins.
    is_open: bool,
    at: usize,
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
            said: None,
            style: None,
            raised: false,
            in_run: false,
            in_properties: false,
            font: String::new(),
            formula: Formula::default(),
            form: None,
            fields: Vec::new(),
            in_code: false,
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
            let levels = match xml.next()? {
                Node::End => return Ok(()),
                Node::Open(tag) => self.open(&tag),
                Node::Text(text) => {
                    // The result of a field inside the instructions of another one is part of these.
                    if (self.in_code || self.in_text && !self.hidden)
                        && let Some(field) = self.fields.iter_mut().rfind(|field| field.is_open)
                        && field.code.len() + text.len() <= eq::MAX_CODE
                    {
                        field.code.push_str(&text);
                    }
                    if self.in_text && !self.hidden {
                        if std::mem::take(&mut self.raised) && !self.flow.ends_blank() {
                            self.flow.text("^");
                        }
                        let text = shown(&self.font, &text, self.flow.output);
                        self.flow.text(&text);
                    }
                    0
                }
                Node::Close(name) => {
                    self.close(&name);
                    if xml.depth() <= outside {
                        return Ok(());
                    }
                    0
                }
                Node::Nothing => 0,
            };
            if levels > 0 {
                xml.leave(levels)?;
            }
        }
    }

    pub(super) fn finish(mut self) {
        self.formula.finish(&mut self.flow);
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

    /// An element begins; how many elements are to be passed over: none, it, or that around it, too.
    fn open(&mut self, tag: &Tag<'_>) -> usize {
        let name = tag.name();
        if SKIPPED.contains(&name) {
            self.paragraph.deleted |= self.in_properties && matches!(name, "del" | "moveFrom");
            return 1;
        }
        if !self.formula.is_none() {
            self.formula.open(tag, &mut self.flow);
        }
        if let Some(form) = &mut self.form {
            form.open(tag);
        }
        match name {
            "p" => {
                self.begin_cell();
                self.paragraph = Paragraph::default();
                (self.in_run, self.hidden) = (false, false);
            }
            "pPr" => self.in_properties = true,
            "pStyle" => self.paragraph.style = tag.attr("val"),
            "numId" => self.paragraph.list = tag.attr("val"),
            "ilvl" => self.paragraph.level = tag.number("val"),
            "outlineLvl" => self.paragraph.outline = tag.number("val"),
            "r" => {
                (self.in_run, self.raised) = (true, false);
                (self.said, self.style) = (None, None);
                self.hidden = self.is_hidden();
                self.font.clear();
            }
            "rFonts" if self.in_run => {
                self.font = tag.attr("ascii").or_else(|| tag.attr("hAnsi")).unwrap_or_default();
            }
            "vertAlign" if self.in_run => {
                self.raised = tag.attr("val").is_some_and(|value| value == "superscript");
            }
            "vanish" => {
                let said = Some(tag.is_not_off("val"));
                if self.in_run {
                    self.said = said;
                    self.hidden = self.is_hidden();
                } else if self.in_properties {
                    self.paragraph.hidden = said;
                }
            }
            "rStyle" if self.in_run => {
                self.style = tag.attr("val");
                self.hidden = self.is_hidden();
            }
            "rStyle" if self.in_properties => self.paragraph.mark = tag.attr("val"),
            "t" => self.in_text = true,
            "instrText" => self.in_code = true,
            "fldChar" => self.field(tag),
            "fldSimple" => return tag.attr("instr").is_some_and(|code| eq::is_silent(&code)).into(),
            // Their content is hidden, too.
            "drawing" | "pict" | "object" if self.hidden => return 1,
            // It stands in the shape that it is about.
            "docPr" | "cNvPr" if tag.is_on("hidden") => return 2,
            "shape" | "rect" | "roundrect" | "oval" | "group" if is_invisible(tag) => return 1,
            _ if self.hidden => {}
            // In the properties of a paragraph it is a place to which a tab leads.
            "tab" | "ptab" if !self.in_properties => self.flow.text("\t"),
            // A break of a line, a column or a page.
            "br" | "cr" => self.flow.text("\n"),
            "noBreakHyphen" => self.flow.text("-"),
            "sym" => self.symbol(tag),
            "oMath" if self.formula.is_none() => self.formula.open(tag, &mut self.flow),
            "checkBox" | "ddList" => self.form = Form::of(name),
            "lastRenderedPageBreak" => self.page_break(),
            "footnoteReference" => self.note("footnote", tag),
            "endnoteReference" => self.note("endnote", tag),
            "commentReference" => self.note("comment", tag),
            "docPr" => self.picture(tag),
            // A word that is drawn, such as a watermark.
            "textpath" => {
                let words = one_line(&tag.attr("string").unwrap_or_default());
                if !words.is_empty() {
                    self.flow.text(&format!(" {words} "));
                }
            }
            "blip" | "imagedata" => self.flow.output.not_shown("image"),
            "OLEObject" if tag.attr("Type").is_some_and(|kind| kind == "Link") => {
                self.flow.output.not_shown("linked document");
            }
            "txbxContent" => {
                if self.boxes.len() >= MAX_BOXES {
                    return 1;
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
        0
    }

    fn close(&mut self, name: &str) {
        if !self.formula.is_none() {
            self.formula.close(name, &mut self.flow);
        }
        match name {
            "checkBox" | "ddList" => {
                if let Some(form) = self.form.take() {
                    self.flow.text(form.shown());
                    // It stands among the instructions of its field, and is no part of them.
                    if let Some(field) = self.fields.last_mut().filter(|field| field.is_open) {
                        field.at = self.flow.len();
                    }
                }
            }
            "t" => self.in_text = false,
            "instrText" => self.in_code = false,
            "pPr" => self.in_properties = false,
            "r" => (self.in_run, self.hidden) = (false, false),
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
        // Without its mark, what is left of it belongs to the next one; if nothing is, it does not count.
        let style = paragraph.style.as_deref();
        let is_hidden =
            || paragraph.hidden.unwrap_or_else(|| self.parts.styles.hide(style, paragraph.mark.as_deref()));
        if paragraph.deleted || self.flow.is_blank() && is_hidden() {
            return;
        }
        self.fields.clear();
        let outline =
            paragraph.outline.or_else(|| self.parts.styles.outline(style?)).filter(|level| *level < 9);
        let (mark, level) = self.label(&paragraph);
        if let Some(outline) = outline {
            let text = self.flow.take();
            if !text.trim().is_empty() {
                self.flow.text(mark.trim_start_matches("- "));
                // A chapter begins with the break of a page.
                self.flow.text(text.trim_start());
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

    /// True if the text of the present run is hidden, by itself or else by its styles.
    fn is_hidden(&self) -> bool {
        self.said
            .unwrap_or_else(|| self.parts.styles.hide(self.paragraph.style.as_deref(), self.style.as_deref()))
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

    /// A mark of a field: it begins, its result begins, or it ends.
    fn field(&mut self, tag: &Tag<'_>) {
        let kind = tag.attr("fldCharType").unwrap_or_default();
        if kind == "begin" {
            self.fields.push(Field { code: String::new(), is_open: true, at: self.flow.len() });
            return;
        }
        // The results of fields inside the instructions are part of these.
        if let Some(field) = self.fields.last_mut().filter(|field| field.is_open) {
            self.flow.truncate(field.at);
            field.is_open = false;
        }
        if kind != "separate"
            && let Some(field) = self.fields.pop()
        {
            if eq::is_silent(&field.code) {
                self.flow.truncate(field.at);
            } else if self.flow.len() == field.at
                && !self.hidden
                && let Some(equation) = eq::shown(&field.code)
            {
                self.flow.formula(&equation);
            }
        }
    }

    fn symbol(&mut self, tag: &Tag<'_>) {
        let code = tag.attr("char").and_then(|code| u32::from_str_radix(&code, 16).ok());
        let font = tag.attr("font").unwrap_or_default();
        let sign = code.map_or(char::REPLACEMENT_CHARACTER, |code| sign(&font, code));
        let sign = String::from(sign);
        self.flow.output.unreadable(&sign);
        self.flow.text(&sign);
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
