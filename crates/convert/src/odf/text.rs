//! The text of ODT and the slides of ODP.

use std::collections::HashSet;

use super::lists::{HEADINGS, Lists};
use super::objects::Objects;
use crate::Unit;
use crate::flow::Flow;
use crate::output::{Output, one_line};
use crate::xml::{Node, Stop, Tag, Xml};

/// Text boxes and notes inside each other.
const MAX_ASIDES: usize = 20;

/// Lists inside each other.
const MAX_LISTS: usize = 50;

/// So often a cell or a space is repeated at most.
const MAX_REPEATED: usize = 100;

/// Elements whose content is not part of the text.
const SKIPPED: &[&str] = &[
    "tracked-changes",
    "forms",
    "scripts",
    "font-face-decls",
    "note-citation",
    "covered-table-cell",
    "page-number",
    "sequence-decls",
    "user-field-decls",
    "variable-decls",
    "ruby-text",
    "event-listeners",
    "settings",
    "date",
    "date-string",
    "initials",
    "animations",
    "par",
    "header-decl",
    "footer-decl",
    "date-time-decl",
    "tab-stop",
];

/// Reads the content.
pub(super) fn read(
    mut xml: Xml<'_>,
    lists: Lists,
    objects: &mut Objects<'_, '_>,
    unit: Unit,
    output: &mut Output,
) -> Result<(), Stop> {
    if unit == Unit::Whole {
        output.begin("");
    }
    let mut reader = Reader {
        flow: Flow::new(output),
        lists,
        objects,
        slides: unit == Unit::Slide,
        hidden: HashSet::new(),
        style: String::new(),
        open: Vec::new(),
        asides: Vec::new(),
        paragraphs: 0,
        mark: None,
        heading: None,
        title: false,
        pictured: false,
        author: String::new(),
        in_author: false,
        description: None,
        full: unit == Unit::Slide,
        slide: 0,
        notes: false,
    };
    let ended = reader.read(&mut xml);
    reader.flow.end_paragraph();
    let written = reader.objects.write(reader.flow.output);
    reader.flow.finish();
    ended.and(written)
}

struct Reader<'o, 'a, 'b> {
    flow: Flow<'o>,
    lists: Lists,
    objects: &'o mut Objects<'a, 'b>,
    slides: bool,
    /// Styles of slides that are left out when the presentation is shown.
    hidden: HashSet<String>,
    /// The style that is being read.
    style: String,
    /// The lists that are open, by their styles.
    open: Vec<String>,
    asides: Vec<Aside>,
    /// The number of open paragraphs.
    paragraphs: usize,
    mark: Option<String>,
    heading: Option<usize>,
    /// True if the present frame holds a title.
    title: bool,
    /// True if the present frame holds something of which an image in it is a mere picture.
    pictured: bool,
    author: String,
    in_author: bool,
    /// The description of a picture, while it is read.
    description: Option<String>,
    /// True if the next text belongs to no slide that is shown.
    full: bool,
    slide: usize,
    /// True if the notes of a slide are to be announced.
    notes: bool,
}

/// Something inside a paragraph that has paragraphs.
struct Aside {
    kind: Kind,
    paragraph: String,
    paragraphs: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Box,
    Footnote,
    Endnote,
    Comment,
}

impl Reader<'_, '_, '_> {
    fn read(&mut self, xml: &mut Xml<'_>) -> Result<(), Stop> {
        loop {
            if self.flow.is_full() && !self.slides {
                return Ok(());
            }
            let skip = match xml.next()? {
                Node::End => return Ok(()),
                Node::Open(tag) => self.open(&tag)?,
                Node::Text(text) => {
                    if self.in_author {
                        self.author.extend(text.chars().take(200));
                    } else if let Some(description) = &mut self.description {
                        description.extend(text.chars().take(2000));
                    } else if self.paragraphs > 0 {
                        self.flow.collapsed(&text);
                    }
                    false
                }
                Node::Close(name) => {
                    self.close(&name);
                    false
                }
                Node::Nothing => false,
            };
            if skip {
                xml.skip()?;
            }
        }
    }

    /// An element begins; whether it is to be passed over.
    fn open(&mut self, tag: &Tag<'_>) -> Result<bool, Stop> {
        let name = tag.name();
        if SKIPPED.contains(&name) {
            return Ok(true);
        }
        match name {
            "page" if self.slides => self.begin_slide(tag)?,
            "style" => self.style = tag.exact("style:name").unwrap_or_default(),
            "drawing-page-properties" => {
                if tag.attr("visibility").is_some_and(|visibility| visibility == "hidden") {
                    self.hidden.insert(self.style.clone());
                }
            }
            _ if self.full => self.lists.style(tag),
            "p" => self.paragraphs += 1,
            "h" => {
                self.paragraphs += 1;
                let level: usize = tag.number("outline-level").unwrap_or(1);
                self.heading = Some(level);
                if tag.attr("is-list-header").is_none() && self.open.is_empty() {
                    let label = self.lists.next(HEADINGS, level.saturating_sub(1), None);
                    self.mark = (!label.is_empty()).then_some(label);
                }
            }
            "s" => self.flow.text(&" ".repeat(tag.number("c").unwrap_or(1).min(MAX_REPEATED))),
            "tab" => self.flow.text("\t"),
            "line-break" => self.flow.text("\n"),
            "list" => self.begin_list(tag),
            "list-item" => {
                let style = self.open.last().cloned().unwrap_or_default();
                let level = self.open.len().saturating_sub(1);
                self.mark = Some(self.lists.next(&style, level, tag.number("start-value")));
            }
            "table" => {
                self.pictured = true;
                self.flow.open_table();
            }
            "table-row" => self.flow.open_row(),
            "table-cell" => {
                let repeated: usize =
                    tag.number("number-columns-repeated").unwrap_or(1).clamp(1, MAX_REPEATED);
                for _ in 1..repeated {
                    self.flow.open_cell(1, 1);
                }
                let columns = tag.number("number-columns-spanned").unwrap_or(1);
                self.flow.open_cell(columns, tag.number("number-rows-spanned").unwrap_or(1));
            }
            "note" => {
                let endnote = tag.attr("note-class").is_some_and(|class| class == "endnote");
                return Ok(!self.begin_aside(if endnote { Kind::Endnote } else { Kind::Footnote }));
            }
            "annotation" => {
                self.author.clear();
                return Ok(!self.begin_aside(Kind::Comment));
            }
            "text-box" => return Ok(!self.begin_aside(Kind::Box)),
            "creator" => self.in_author = self.asides.last().is_some_and(|aside| aside.kind == Kind::Comment),
            "frame" => {
                self.pictured = false;
                self.title = tag.attr("class").is_some_and(|class| class == "title");
            }
            "custom-shape" | "rect" | "ellipse" | "g" => self.title = false,
            "image" => {
                if !self.pictured {
                    self.flow.output.not_shown("image");
                }
            }
            "object" | "object-ole" => {
                self.pictured = true;
                self.objects.refer(tag.attr("href"), self.flow.output);
            }
            "plugin" => self.flow.output.not_shown("recording"),
            "desc" => self.description = Some(String::new()),
            "title" if self.paragraphs > 0 || self.slides => self.description = Some(String::new()),
            "notes" if self.slides => {
                self.flow.end_paragraph();
                self.notes = true;
            }
            _ => self.lists.style(tag),
        }
        Ok(false)
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "h" => self.end_paragraph(),
            "list" => {
                self.open.pop();
                self.mark = None;
            }
            "list-item" => self.mark = None,
            "table" => self.flow.close_table(),
            "table-row" => self.flow.close_row(),
            "table-cell" => self.flow.close_cell(),
            "creator" => self.in_author = false,
            "desc" | "title" => {
                let description = self.description.take().unwrap_or_default();
                let description = one_line(&description);
                if !description.is_empty() {
                    self.flow.text(&format!("[image: {description}]"));
                    if self.paragraphs == 0 {
                        self.flow.end_paragraph();
                    }
                }
            }
            "note" => self.end_aside(&[Kind::Footnote, Kind::Endnote]),
            "annotation" => self.end_aside(&[Kind::Comment]),
            "text-box" => self.end_aside(&[Kind::Box]),
            "notes" => self.notes = false,
            _ => {}
        }
    }

    fn begin_slide(&mut self, tag: &Tag<'_>) -> Result<(), Stop> {
        self.flow.end_paragraph();
        self.objects.write(self.flow.output)?;
        self.slide += 1;
        self.open.clear();
        let hidden = tag.attr("style-name").is_some_and(|style| self.hidden.contains(&style));
        let name = tag.attr("name").unwrap_or_default();
        // The names that the program gives say nothing.
        let number = name.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let name = if number.parse() == Ok(self.slide) { "" } else { name.as_str() };
        self.full = !self.flow.output.begin_labelled(name, hidden);
        self.flow.output.set_total(self.slide);
        Ok(())
    }

    fn begin_list(&mut self, tag: &Tag<'_>) {
        let inherited = self.open.last().cloned();
        let style = tag.exact("text:style-name").or(inherited).unwrap_or_default();
        let goes_on = tag.is_on("continue-numbering") || tag.attr("continue-list").is_some();
        if self.open.is_empty() && !goes_on {
            self.lists.restart(&style);
        }
        if self.open.len() < MAX_LISTS {
            self.open.push(style);
        }
    }

    /// True if there is still room for one.
    fn begin_aside(&mut self, kind: Kind) -> bool {
        if self.asides.len() >= MAX_ASIDES {
            return false;
        }
        let paragraphs = std::mem::take(&mut self.paragraphs);
        self.asides.push(Aside { kind, paragraph: self.flow.take(), paragraphs });
        true
    }

    fn end_aside(&mut self, kinds: &[Kind]) {
        if !self.asides.last().is_some_and(|aside| kinds.contains(&aside.kind)) {
            return;
        }
        let Some(aside) = self.asides.pop() else { return };
        if aside.kind == Kind::Box {
            self.flow.end_paragraph();
            self.flow.put_back(aside.paragraph);
        } else {
            let text = self.flow.take();
            self.flow.put_back(aside.paragraph);
            let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let author = one_line(&self.author);
            let name = match aside.kind {
                Kind::Comment if !author.is_empty() => format!("comment by {author}"),
                Kind::Comment => "comment".to_owned(),
                Kind::Endnote => "endnote".to_owned(),
                Kind::Footnote | Kind::Box => "footnote".to_owned(),
            };
            if !lines.is_empty() {
                self.flow.text(&format!(" [{name}: {}]", lines.join(" / ")));
            }
        }
        self.paragraphs = aside.paragraphs;
    }

    fn end_paragraph(&mut self) {
        self.paragraphs = self.paragraphs.saturating_sub(1);
        if self.asides.last().is_some_and(|aside| aside.kind != Kind::Box) {
            self.flow.text("\n");
            return;
        }
        if !self.flow.is_blank() && std::mem::take(&mut self.notes) {
            let text = self.flow.take();
            self.flow.output.blank();
            self.flow.output.line("[speaker notes]");
            self.flow.put_back(text);
        }
        let mark = self.mark.take();
        let level = self.open.len();
        if let Some(heading) = self.heading.take().or((self.title && self.slides).then_some(1)) {
            if let Some(mark) = mark.filter(|mark| mark != "-") {
                let text = self.flow.take();
                self.flow.text(&format!("{mark} {text}"));
            }
            self.flow.end_heading(heading);
            return;
        }
        let indent = "  ".repeat(level.saturating_sub(1));
        match mark.filter(|mark| !mark.is_empty()) {
            Some(mark) => self.flow.end(&format!("{indent}{mark} "), &"  ".repeat(level)),
            None => {
                let indent = "  ".repeat(level);
                self.flow.end(&indent, &indent);
            }
        }
    }
}
