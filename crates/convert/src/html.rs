//! HTML to the text that a reader sees. Scripts, styles and what is hidden are left out; addresses of links too.

mod controls;
mod elements;
mod math;
mod skipped;
mod tag;

use attache_core::charset::named;
use bytes::Bytes;
use encoding_rs::Encoding;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};

use self::controls::Select;
use self::elements::{breaks, is_skipped, is_void, raw_text};
use self::math::Math;
use self::skipped::{End, Skipped};
use self::tag::Tag;
use crate::flow::Flow;
use crate::guarded::Clock;
use crate::output::{Output, one_line};
use crate::plain::NOT_TEXT;
use crate::{ConvertError, Converted, Limits, Unit, charset};

/// The number of bytes in which a document may say its charset.
const CHARSET_WITHIN: usize = 2048;

/// Lists inside each other that are told apart.
const MAX_LISTS: usize = 50;

/// After how many events the clock is looked at.
const EVENTS_PER_LOOK: u32 = 512;

/// Longest value of an attribute that matters here.
const MAX_VALUE: usize = 2000;

pub(crate) fn convert(
    bytes: &Bytes,
    charset: Option<&str>,
    form: Form,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let decoded = charset::decode(bytes, said(charset, bytes).as_deref()).ok_or(NOT_TEXT)?;
    clock.check()?;
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    decoded.notes().for_each(|note| output.note(note));
    let mut flow = Flow::new(&mut output);
    render(&decoded.text, form, &mut flow, clock)?;
    flow.finish();
    output.finish()
}

/// The charset that a document is declared to be in, else the first that its head names, else that of its XML declaration.
pub(crate) fn said(declared: Option<&str>, bytes: &[u8]) -> Option<String> {
    if let Some(named) = named(declared, b"") {
        return Some(named.to_owned());
    }
    let bytes = bytes.get(..bytes.len().min(CHARSET_WITHIN))?;
    let head = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let meta = head.split("charset").skip(1).find_map(|value| {
        let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':'));
        let encoding = Encoding::for_label(value.get(..end.unwrap_or(value.len()))?.as_bytes())?;
        // A head that can be read byte by byte is not in UTF-16: it means UTF-8, as the standard says.
        Some(encoding.output_encoding().name().to_owned())
    });
    meta.or_else(|| named(None, bytes).map(str::to_owned))
}

/// The form of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Html,
    /// Every element may end in its own tag. HTML that begins as XML does is read as this.
    Xhtml,
    /// XHTML of a book, whose chapters have their titles from its contents.
    #[cfg(feature = "epub")]
    Chapter,
}

/// The next task of a tokenizer.
enum Signal {
    /// The text that follows is not markup.
    Raw(State),
    /// The clock is to be looked at.
    Look,
}

/// Renders a document.
///
/// # Errors
/// The time is over.
pub(crate) fn render(text: &str, form: Form, flow: &mut Flow<'_>, clock: Clock) -> Result<(), ConvertError> {
    // Not so the `<?xml:namespace` of old mail programs.
    let is_declared =
        || text.trim_start().strip_prefix("<?xml")?.chars().next().filter(|c| c.is_whitespace());
    let is_xml = form != Form::Html || is_declared().is_some();
    let mut page = Page::new(flow, form, is_xml);
    let mut events = 0_u32;
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        events = events.wrapping_add(1);
        let look = events.is_multiple_of(EVENTS_PER_LOOK).then_some(Signal::Look);
        page.event(&event).map(Signal::Raw).or(look)
    });
    let mut tokenizer = Tokenizer::new_with_emitter(text, emitter);
    while let Some(Ok(signal)) = tokenizer.next() {
        match signal {
            Signal::Raw(state) => tokenizer.set_state(state),
            Signal::Look => clock.check()?,
        }
    }
    drop(tokenizer);
    page.end_select();
    page.end_paragraph();
    Ok(())
}

/// A page that is being read.
struct Page<'f, 'o> {
    flow: &'f mut Flow<'o>,
    form: Form,
    /// Every element may end in its own tag.
    is_xml: bool,
    tag: Tag,
    /// The attribute whose value comes next.
    attribute: Option<Attribute>,
    /// The element that is passed over.
    skipped: Option<Skipped>,
    preformatted: usize,
    heading: Option<usize>,
    /// For each open list the number of its next item, if it counts.
    lists: Vec<Option<i64>>,
    /// The text before the paragraph: the mark of a list item.
    mark: Option<String>,
    title: Option<String>,
    /// The list of a form that is open.
    select: Option<Select>,
    math: Math,
}

#[derive(Clone, Copy)]
enum Attribute {
    Alt,
    Style,
    Columns,
    Rows,
    Value,
    Kind,
}

impl<'f, 'o> Page<'f, 'o> {
    fn new(flow: &'f mut Flow<'o>, form: Form, is_xml: bool) -> Self {
        Self {
            flow,
            form,
            is_xml,
            tag: Tag::default(),
            attribute: None,
            skipped: None,
            preformatted: 0,
            heading: None,
            lists: Vec::new(),
            mark: None,
            title: None,
            select: None,
            math: Math::default(),
        }
    }

    fn event(&mut self, event: &CallbackEvent<'_>) -> Option<State> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Tag { name: name.to_vec(), ..Tag::default() };
                self.attribute = None;
            }
            CallbackEvent::AttributeName { name } => self.name_attribute(name),
            CallbackEvent::AttributeValue { value } => self.value(value),
            CallbackEvent::CloseStartTag { self_closing } => return self.start(*self_closing),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.string(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        None
    }

    fn name_attribute(&mut self, name: &[u8]) {
        self.attribute = match name {
            b"alt" => Some(Attribute::Alt),
            b"style" => Some(Attribute::Style),
            b"colspan" => Some(Attribute::Columns),
            b"rowspan" => Some(Attribute::Rows),
            b"start" | b"value" => Some(Attribute::Value),
            b"type" => Some(Attribute::Kind),
            _ => {
                match name {
                    b"hidden" => self.tag.hidden = true,
                    b"checked" | b"selected" => self.tag.is_chosen = true,
                    b"multiple" => self.tag.is_multiple = true,
                    _ => {}
                }
                None
            }
        };
    }

    fn value(&mut self, value: &[u8]) {
        let value = String::from_utf8_lossy(value.get(..value.len().min(MAX_VALUE)).unwrap_or_default());
        match self.attribute.take() {
            Some(Attribute::Alt) => self.tag.text = value.into_owned(),
            Some(Attribute::Style) => {
                let style: String = value.split_whitespace().collect::<String>().to_ascii_lowercase();
                self.tag.hidden |= style.contains("display:none") || style.contains("visibility:hidden");
            }
            Some(Attribute::Columns) => self.tag.columns = value.trim().parse().ok(),
            Some(Attribute::Rows) => self.tag.rows = value.trim().parse().ok(),
            Some(Attribute::Value) => self.tag.value = value.into_owned(),
            Some(Attribute::Kind) => self.tag.kind = value.into_owned(),
            None => {}
        }
    }

    /// A tag has begun with all its attributes.
    fn start(&mut self, self_closing: bool) -> Option<State> {
        let tag = std::mem::take(&mut self.tag);
        // In HTML only what is no HTML may end in its own tag.
        let is_foreign = || {
            matches!(&*tag.name, b"svg" | b"math")
                || self.math.is_open()
                || self.skipped.as_ref().is_some_and(Skipped::is_foreign)
        };
        let ends = self_closing && (self.is_xml || is_foreign());
        let raw = if ends { None } else { raw_text(&tag.name) };
        let void = is_void(&tag.name) || ends;
        if let Some(skipped) = &mut self.skipped {
            if !skipped.ends_before(&tag.name) {
                if !void {
                    skipped.open(tag.name);
                }
                return raw;
            }
            self.skipped = None;
        }
        // A formula once more, for programs.
        let is_again = self.math.is_open() && tag.name.starts_with(b"annotation");
        if (tag.hidden || is_again || is_skipped(&tag.name)) && !void {
            self.skipped = Some(Skipped::new(tag.name));
            return raw;
        }
        if !tag.hidden {
            self.open(&tag);
            if ends && !is_void(&tag.name) {
                self.end(&tag.name);
            }
        }
        raw
    }

    /// True if the title of the document stands at the head of its text.
    fn shows_title(&self) -> bool {
        matches!(self.form, Form::Html | Form::Xhtml)
    }

    fn open(&mut self, tag: &Tag) {
        if breaks(&tag.name) || matches!(&*tag.name, b"input" | b"select" | b"textarea") {
            self.end_select();
        }
        if breaks(&tag.name) {
            self.end_paragraph();
            self.math = Math::default();
        }
        self.math.open(&tag.name, self.flow);
        match &*tag.name {
            b"br" => self.flow.text("\n"),
            b"img" => self.image(&tag.text),
            b"title" => self.title = self.title.is_none().then(String::new),
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.heading = tag.name.last().map(|digit| usize::from(digit - b'0'));
            }
            b"pre" | b"listing" | b"xmp" => self.preformatted += 1,
            b"input" => self.control(&controls::input(tag)),
            b"select" => self.select = Some(Select::new(tag)),
            b"ul" | b"menu" | b"dir" if self.lists.len() < MAX_LISTS => self.lists.push(None),
            b"ol" if self.lists.len() < MAX_LISTS => self.lists.push(Some(tag.number().unwrap_or(1))),
            b"li" => self.item(tag.number()),
            b"dd" => self.mark = Some("  ".to_owned()),
            b"table" => self.flow.open_table(),
            b"tr" => self.flow.open_row(),
            b"td" | b"th" => self.flow.open_cell(tag.columns.unwrap_or(1), tag.rows.unwrap_or(1)),
            b"hr" => {
                self.flow.text("---");
                self.end_paragraph();
            }
            b"q" => self.flow.text("\""),
            // So that 10 and a raised 6 are not read as 106.
            b"sup" if !self.flow.ends_blank() => self.flow.text("^"),
            b"del" | b"s" | b"strike" => self.flow.text("~~"),
            b"option" | b"button" | b"label" | b"textarea" => self.space(),
            _ => {}
        }
        match (&*tag.name, &mut self.select) {
            (b"textarea", _) => self.preformatted += 1,
            (b"option", Some(select)) => select.option(tag),
            _ => {}
        }
    }

    fn space(&mut self) {
        if !self.flow.ends_blank() {
            self.flow.text(" ");
        }
    }

    /// Writes what a control shows, if it shows anything.
    fn control(&mut self, shown: &str) {
        if !shown.is_empty() {
            self.space();
            self.flow.text(shown);
            self.flow.text(" ");
        }
    }

    fn end_select(&mut self) {
        if let Some(select) = self.select.take() {
            self.control(&select.shown());
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            match skipped.close(name) {
                End::Inside => return,
                End::Own => {
                    self.skipped = None;
                    return;
                }
                End::Around => self.skipped = None,
            }
        }
        self.math.close(name, self.flow);
        if breaks(name) || name == b"select" {
            self.end_select();
        }
        if breaks(name) {
            self.end_paragraph();
        }
        match name {
            b"title" => {
                if let Some(title) = self.title.take() {
                    let title = one_line(&title);
                    if self.shows_title() && !title.is_empty() && self.flow.is_blank() {
                        self.flow.text(&format!("title: {title}"));
                        self.flow.end_paragraph();
                    }
                }
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => self.heading = None,
            b"pre" | b"listing" | b"xmp" | b"textarea" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                if name == b"textarea" {
                    self.space();
                }
            }
            b"ul" | b"ol" | b"menu" | b"dir" => {
                self.lists.pop();
                self.mark = None;
            }
            b"li" | b"dd" => self.mark = None,
            b"td" | b"th" => self.flow.close_cell(),
            b"tr" => self.flow.close_row(),
            b"table" => self.flow.close_table(),
            b"q" => self.flow.text("\""),
            b"del" | b"s" | b"strike" => self.flow.text("~~"),
            _ => {}
        }
    }

    fn string(&mut self, text: &str) {
        if self.skipped.is_some() || self.math.is_open() && text.trim().is_empty() {
            return;
        }
        if let Some(title) = &mut self.title {
            title.extend(text.chars().take(MAX_VALUE));
            return;
        }
        if let Some(select) = &mut self.select {
            select.text(text);
            return;
        }
        if self.preformatted > 0 {
            self.flow.text(text);
            return;
        }
        self.flow.collapsed(text);
    }

    fn image(&mut self, description: &str) {
        let description = one_line(description);
        if description.is_empty() {
            // Most are spacers and trackers; one cannot tell them from pictures.
            self.flow.output.not_shown("image");
        } else {
            self.flow.text(&format!("[image: {description}]"));
            self.flow.output.not_shown("image");
        }
    }

    fn item(&mut self, number: Option<i64>) {
        self.mark = Some(match self.lists.last_mut() {
            Some(Some(next)) => {
                let this = number.unwrap_or(*next);
                *next = this.saturating_add(1);
                format!("{this}. ")
            }
            _ => "- ".to_owned(),
        });
    }

    fn end_paragraph(&mut self) {
        if self.flow.is_blank() {
            self.flow.end_paragraph();
            return;
        }
        if let Some(level) = self.heading {
            self.flow.end_heading(level);
            return;
        }
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let below = "  ".repeat(self.lists.len());
        let mark = match self.mark.take() {
            Some(mark) => indent + &mark,
            None => below.clone(),
        };
        self.flow.end(&mark, &below);
    }
}
