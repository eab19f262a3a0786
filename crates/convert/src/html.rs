//! HTML to the text that a reader sees. Scripts, styles and what is hidden are left out; addresses of links too.

use bytes::Bytes;
use encoding_rs::Encoding;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};

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
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let said = said(bytes);
    let decoded = charset::decode(bytes, charset.or(said.as_deref())).ok_or(NOT_TEXT)?;
    clock.check()?;
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    if let Some(note) = decoded.note() {
        output.note(note);
    }
    let mut flow = Flow::new(&mut output);
    render(&decoded.text, Titles::Shown, &mut flow, clock)?;
    flow.finish();
    output.finish()
}

/// The charset that the document names in its head.
pub(crate) fn said(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..bytes.len().min(CHARSET_WITHIN))?;
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let is_xml = head.trim_start().starts_with("<?xml");
    let after = |key: &str| head.split_once(key).map(|(_, rest)| rest);
    let value = after("charset").or_else(|| after("encoding").filter(|_| is_xml))?;
    let value = value.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let name: String =
        value.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')).collect();
    Encoding::for_label(name.as_bytes()).map(|encoding| encoding.name().to_owned())
}

/// The place of a document's title.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Titles {
    /// It stands at the head of the text.
    Shown,
    /// It is left out. The document is XHTML, where every element may end in its own tag.
    #[cfg(feature = "epub")]
    LeftOut,
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
pub(crate) fn render(
    text: &str,
    titles: Titles,
    flow: &mut Flow<'_>,
    clock: Clock,
) -> Result<(), ConvertError> {
    let mut page = Page::new(flow, titles);
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
    page.end_paragraph();
    Ok(())
}

/// A page that is being read.
struct Page<'f, 'o> {
    flow: &'f mut Flow<'o>,
    titles: Titles,
    tag: Tag,
    /// The attribute whose value comes next.
    attribute: Option<Attribute>,
    /// The element that is passed over, and how many of its name are open inside it.
    skipped: Option<(Vec<u8>, usize)>,
    preformatted: usize,
    heading: Option<usize>,
    /// For each open list the number of its next item, if it counts.
    lists: Vec<Option<i64>>,
    /// The text before the paragraph: the mark of a list item.
    mark: Option<String>,
    title: Option<String>,
}

/// A tag that begins.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    hidden: bool,
    text: String,
    columns: Option<usize>,
    rows: Option<usize>,
    number: Option<i64>,
}

#[derive(Clone, Copy)]
enum Attribute {
    Alt,
    Style,
    Columns,
    Rows,
    Number,
}

impl<'f, 'o> Page<'f, 'o> {
    fn new(flow: &'f mut Flow<'o>, titles: Titles) -> Self {
        Self {
            flow,
            titles,
            tag: Tag::default(),
            attribute: None,
            skipped: None,
            preformatted: 0,
            heading: None,
            lists: Vec::new(),
            mark: None,
            title: None,
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
            b"start" | b"value" => Some(Attribute::Number),
            b"hidden" => {
                self.tag.hidden = true;
                None
            }
            _ => None,
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
            Some(Attribute::Number) => self.tag.number = value.trim().parse().ok(),
            None => {}
        }
    }

    /// A tag has begun with all its attributes.
    fn start(&mut self, self_closing: bool) -> Option<State> {
        let tag = std::mem::take(&mut self.tag);
        let ends = self_closing && self.is_xml();
        let raw = if ends { None } else { raw_text(&tag.name) };
        if let Some((name, count)) = &mut self.skipped {
            *count += usize::from(*name == tag.name && !ends);
            return raw;
        }
        let void = is_void(&tag.name) || ends;
        if (tag.hidden || is_skipped(&tag.name)) && !void {
            self.skipped = Some((tag.name, 1));
            return raw;
        }
        if !tag.hidden {
            self.open(&tag);
        }
        if ends && !is_void(&tag.name) {
            self.end(&tag.name);
        }
        raw
    }

    fn is_xml(&self) -> bool {
        self.titles != Titles::Shown
    }

    fn open(&mut self, tag: &Tag) {
        if breaks(&tag.name) {
            self.end_paragraph();
        }
        match &*tag.name {
            b"br" => self.flow.text("\n"),
            b"img" => self.image(&tag.text),
            b"title" => self.title = self.title.is_none().then(String::new),
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.heading = tag.name.last().map(|digit| usize::from(digit - b'0'));
            }
            b"pre" | b"listing" | b"xmp" => self.preformatted += 1,
            b"ul" | b"menu" | b"dir" if self.lists.len() < MAX_LISTS => self.lists.push(None),
            b"ol" if self.lists.len() < MAX_LISTS => self.lists.push(Some(tag.number.unwrap_or(1))),
            b"li" => self.item(tag.number),
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
            // These are rendered apart and would run into the text before them.
            b"option" | b"button" | b"label" if !self.flow.ends_blank() => self.flow.text(" "),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some((skipped, count)) = &mut self.skipped {
            if *skipped == name {
                *count -= 1;
                if *count == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        if breaks(name) {
            self.end_paragraph();
        }
        match name {
            b"title" => {
                if let Some(title) = self.title.take() {
                    let title = one_line(&title);
                    if self.titles == Titles::Shown && !title.is_empty() && self.flow.is_blank() {
                        self.flow.text(&format!("title: {title}"));
                        self.flow.end_paragraph();
                    }
                }
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => self.heading = None,
            b"pre" | b"listing" | b"xmp" => self.preformatted = self.preformatted.saturating_sub(1),
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
        if self.skipped.is_some() {
            return;
        }
        if let Some(title) = &mut self.title {
            title.extend(text.chars().take(MAX_VALUE));
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

fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// Elements whose content nobody reads.
fn is_skipped(name: &[u8]) -> bool {
    matches!(
        name,
        b"script"
            | b"style"
            | b"template"
            | b"svg"
            | b"iframe"
            | b"object"
            | b"audio"
            | b"video"
            | b"canvas"
            | b"noembed"
            | b"noframes"
            | b"datalist"
            | b"textarea"
            | b"rp"
    )
}

/// Elements that begin on a line of their own.
fn breaks(name: &[u8]) -> bool {
    matches!(
        name,
        b"address"
            | b"article"
            | b"aside"
            | b"blockquote"
            | b"body"
            | b"caption"
            | b"center"
            | b"dd"
            | b"details"
            | b"dialog"
            | b"dir"
            | b"div"
            | b"dl"
            | b"dt"
            | b"fieldset"
            | b"figcaption"
            | b"figure"
            | b"footer"
            | b"form"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"header"
            | b"hgroup"
            | b"hr"
            | b"legend"
            | b"li"
            | b"listing"
            | b"main"
            | b"menu"
            | b"nav"
            | b"ol"
            | b"p"
            | b"pre"
            | b"search"
            | b"section"
            | b"summary"
            | b"table"
            | b"tbody"
            | b"td"
            | b"tfoot"
            | b"th"
            | b"thead"
            | b"title"
            | b"tr"
            | b"ul"
            | b"xmp"
    )
}

/// The way in which the text of an element without markup is read.
fn raw_text(name: &[u8]) -> Option<State> {
    match name {
        b"title" | b"textarea" => Some(State::RcData),
        b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
        b"script" => Some(State::ScriptData),
        b"plaintext" => Some(State::PlainText),
        _ => None,
    }
}
