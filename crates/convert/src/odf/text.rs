//! The text of ODT and the slides of ODP.

use super::lists::HEADINGS;
use super::objects::Objects;
use super::styles::{SHAPES, Styles, is_hidden_shape};
use crate::Unit;
use crate::flow::Flow;
use crate::output::{Output, joined_lines, one_line};
use crate::xml::{Node, Stop, Tag, Xml};

/// Text boxes and notes inside each other.
const MAX_ASIDES: usize = 20;

/// Lists inside each other.
const MAX_LISTS: usize = 50;

/// Headers and footers that are shown.
const MAX_MARGINS: usize = 200;

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
    styles: Styles,
    objects: &mut Objects<'_, '_>,
    unit: Unit,
    output: &mut Output,
) -> Result<(), Stop> {
    if unit == Unit::Whole {
        output.begin("");
    }
    let mut reader = Reader::new(styles, objects, unit, output);
    let ended = reader.read(&mut xml, None);
    reader.finish(ended)
}

/// Reads the headers and footers of all pages, once each, from the part of common styles.
pub(super) fn margins(
    mut xml: Xml<'_>,
    objects: &mut Objects<'_, '_>,
    output: &mut Output,
) -> Result<(), Stop> {
    let mut styles = Styles::default();
    let mut shown: Vec<String> = Vec::new();
    while !output.is_full() && shown.len() < MAX_MARGINS {
        let kind = match xml.next()? {
            Node::End => break,
            Node::Open(tag) => {
                let kind = match tag.name() {
                    "header" | "header-left" | "header-first" => Some("header"),
                    "footer" | "footer-left" | "footer-first" => Some("footer"),
                    _ => None,
                };
                styles.open(&tag);
                kind.filter(|_| tag.is_not_off("display"))
            }
            Node::Close(name) => {
                styles.close(&name);
                None
            }
            Node::Text(_) | Node::Nothing => None,
        };
        let Some(kind) = kind else { continue };
        let mut inside = output.beside();
        let mut reader = Reader::new(std::mem::take(&mut styles), objects, Unit::Whole, &mut inside);
        let outside = xml.depth().saturating_sub(1);
        let ended = reader.read(&mut xml, Some(outside));
        let Reader { flow, styles: read, .. } = reader;
        styles = read;
        flow.finish();
        output.take_remarks(&inside);
        output.margin(kind, &joined_lines(inside.so_far()), &mut shown);
        objects.write(output)?;
        ended?;
    }
    Ok(())
}

struct Reader<'o, 'a, 'b> {
    flow: Flow<'o>,
    styles: Styles,
    objects: &'o mut Objects<'a, 'b>,
    slides: bool,
    /// For each open span, whether it raises its text, and whether that around it is hidden; how many raise theirs.
    spans: Vec<(bool, bool)>,
    raised: usize,
    /// True if the text of the open paragraph is hidden here, and if all of it is.
    hidden: bool,
    unseen: bool,
    /// True if the text so far ends raised.
    was_raised: bool,
    /// The lists that are open, by their styles.
    open: Vec<String>,
    /// The item of a list whose first paragraph has not begun, with the number that it is to have.
    item: Option<Option<u32>>,
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
    raised: usize,
    unseen: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Box,
    Footnote,
    Endnote,
    Comment,
}

impl<'o, 'a, 'b> Reader<'o, 'a, 'b> {
    fn new(styles: Styles, objects: &'o mut Objects<'a, 'b>, unit: Unit, output: &'o mut Output) -> Self {
        Self {
            flow: Flow::new(output),
            styles,
            objects,
            slides: unit == Unit::Slide,
            spans: Vec::new(),
            raised: 0,
            hidden: false,
            unseen: false,
            was_raised: false,
            open: Vec::new(),
            item: None,
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
        }
    }

    /// Writes what is left, and gives back how the reading ended.
    fn finish(mut self, ended: Result<(), Stop>) -> Result<(), Stop> {
        self.flow.end_paragraph();
        let written = self.objects.write(self.flow.output);
        self.flow.finish();
        ended.and(written)
    }

    /// Reads to the end, or until so few elements are open.
    fn read(&mut self, xml: &mut Xml<'_>, outside: Option<usize>) -> Result<(), Stop> {
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
                    } else if self.paragraphs > 0 && !self.hidden {
                        let is_raised = self.raised > 0;
                        let was_raised = std::mem::replace(&mut self.was_raised, is_raised);
                        // So that 10 and a raised 6 are not read as 106.
                        if is_raised && !was_raised && !self.flow.ends_blank() {
                            self.flow.text("^");
                        }
                        self.flow.collapsed(&text);
                    }
                    false
                }
                Node::Close(name) => {
                    self.close(&name);
                    if outside.is_some_and(|outside| xml.depth() <= outside) {
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

    /// An element begins; whether it is to be passed over.
    fn open(&mut self, tag: &Tag<'_>) -> Result<bool, Stop> {
        let name = tag.name();
        if SKIPPED.contains(&name) {
            return Ok(true);
        }
        match name {
            "page" if self.slides => self.begin_slide(tag)?,
            "style" | "text-properties" | "drawing-page-properties" => self.styles.open(tag),
            _ if self.full => self.styles.lists.style(tag),
            "span" => {
                let (raises, hidden) = self.styles.of(tag, false);
                self.raised += usize::from(raises);
                self.spans.push((raises, self.hidden));
                self.hidden = hidden.unwrap_or(self.hidden);
            }
            "p" | "h" => self.begin_paragraph(tag),
            // A paragraph that is hidden as a whole, and a text that is.
            "hidden-paragraph" => self.unseen |= tag.is_on("is-hidden"),
            "hidden-text" => return Ok(tag.is_on("is-hidden")),
            "section" => {
                let is_hidden = tag.attr("display").is_some_and(|display| display == "none");
                return Ok(is_hidden || tag.is_on("is-hidden"));
            }
            "s" | "tab" | "line-break" if self.hidden => {}
            "note" | "annotation" if self.hidden => return Ok(true),
            name if SHAPES.contains(&name) && (self.hidden || is_hidden_shape(tag)) => return Ok(true),
            "s" => self.flow.text(&" ".repeat(tag.number("c").unwrap_or(1).min(MAX_REPEATED))),
            "tab" => self.flow.text("\t"),
            "line-break" => self.flow.text("\n"),
            "list" => self.begin_list(tag),
            "list-item" => {
                self.mark = None;
                self.item = Some(tag.number("start-value"));
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
            _ => self.styles.lists.style(tag),
        }
        Ok(false)
    }

    fn begin_paragraph(&mut self, tag: &Tag<'_>) {
        self.paragraphs += 1;
        self.hidden = self.styles.of(tag, true).1.unwrap_or(false);
        let is_heading = tag.name() == "h";
        let level: usize = tag.number("outline-level").unwrap_or(1);
        if is_heading {
            self.heading = Some(level);
        }
        // Hidden ones do not count.
        if self.hidden {
            return;
        }
        if let Some(start) = self.item.take() {
            let style = self.open.last().cloned().unwrap_or_default();
            let level = self.open.len().saturating_sub(1);
            self.mark = Some(self.styles.lists.next(&style, level, start));
        } else if is_heading && tag.attr("is-list-header").is_none() && self.open.is_empty() {
            let label = self.styles.lists.next(HEADINGS, level.saturating_sub(1), None);
            self.mark = (!label.is_empty()).then_some(label);
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" | "h" => self.end_paragraph(),
            "list" => {
                self.open.pop();
                self.mark = None;
            }
            "list-item" => (self.mark, self.item) = (None, None),
            "span" => {
                let (raises, was_hidden) = self.spans.pop().unwrap_or_default();
                self.raised = self.raised.saturating_sub(raises.into());
                self.hidden = was_hidden;
            }
            "style" => self.styles.close(name),
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
        let hidden = tag.attr("style-name").is_some_and(|style| self.styles.hides_slides(&style));
        let name = tag.attr("name").unwrap_or_default();
        // The names that the program gives say nothing.
        let number = name.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let name = if number.parse() == Ok(self.slide) { "" } else { name.as_str() };
        self.full = !self.flow.output.begin_labelled(name, hidden);
        self.flow.output.set_total(self.slide);
        Ok(())
    }

    fn begin_list(&mut self, tag: &Tag<'_>) {
        // An item that holds no more than a list has no number.
        self.item = None;
        let inherited = self.open.last().cloned();
        let style = tag.exact("text:style-name").or(inherited).unwrap_or_default();
        let goes_on = tag.is_on("continue-numbering") || tag.attr("continue-list").is_some();
        if self.open.is_empty() && !goes_on {
            self.styles.lists.restart(&style);
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
        let (raised, unseen) = (std::mem::take(&mut self.raised), std::mem::take(&mut self.unseen));
        self.asides.push(Aside { kind, paragraph: self.flow.take(), paragraphs, raised, unseen });
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
            let text = joined_lines(&text);
            let author = one_line(&self.author);
            let name = match aside.kind {
                Kind::Comment if !author.is_empty() => format!("comment by {author}"),
                Kind::Comment => "comment".to_owned(),
                Kind::Endnote => "endnote".to_owned(),
                Kind::Footnote | Kind::Box => "footnote".to_owned(),
            };
            if !text.is_empty() {
                self.flow.text(&format!(" [{name}: {text}]"));
            }
        }
        // None begins where the text around it is hidden.
        self.hidden = false;
        (self.paragraphs, self.raised, self.unseen) = (aside.paragraphs, aside.raised, aside.unseen);
    }

    fn end_paragraph(&mut self) {
        self.paragraphs = self.paragraphs.saturating_sub(1);
        self.hidden = false;
        if std::mem::take(&mut self.unseen) {
            self.flow.take();
        }
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
            if let Some(mark) = mark.filter(|mark| mark != "-" && !self.flow.is_blank()) {
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
