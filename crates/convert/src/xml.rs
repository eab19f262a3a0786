//! XML as a stream of nodes, within bounds: one node, the depth and the time.
//!
//! Nothing outside the document is ever looked at. Entities that a document declares itself are not expanded: a
//! reference to one stands in the text as it is written.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, Encoding, UTF_8};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::ConvertError;
use crate::guarded::Clock;

/// Most bytes of one node: a tag with its attributes, or a stretch of text.
const MAX_NODE: usize = 4 << 20;

/// Most elements inside each other; real documents stay below a hundred.
const MAX_DEPTH: usize = 500;

/// Longest reference that is resolved, such as `#x10FFFF;`.
const MAX_REFERENCE: usize = 12;

/// After how many nodes the clock is looked at.
const NODES_PER_LOOK: u32 = 256;

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The conversion must end.
    Over(ConvertError),
    /// From here on it cannot be read: it is damaged, nested too deep, or too large.
    Damaged,
}

impl From<ConvertError> for Stop {
    fn from(error: ConvertError) -> Self {
        Self::Over(error)
    }
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::Damaged
    }
}

/// The value that was read to its end; `None` if the rest of it is damaged.
///
/// # Errors
/// The conversion must end.
pub(crate) fn whole<T>(read: Result<T, Stop>) -> Result<Option<T>, ConvertError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Stop::Damaged) => Ok(None),
        Err(Stop::Over(error)) => Err(error),
    }
}

/// A part of an XML document.
#[derive(Debug)]
pub(crate) enum Node<'n> {
    /// An element begins. Each ends, empty ones too.
    Open(Tag<'n>),
    /// The element of this name, without its prefix, ends.
    Close(Cow<'n, str>),
    /// Text.
    Text(Cow<'n, str>),
    /// A comment, an instruction or a declaration.
    Nothing,
    /// The document ends.
    End,
}

/// The begin of an element.
#[derive(Debug)]
pub(crate) struct Tag<'n>(BytesStart<'n>);

impl Tag<'_> {
    /// Its name without a prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().into_inner())
    }

    /// The value of the first attribute with this name, whatever its prefix.
    pub(crate) fn attr(&self, name: &str) -> Option<String> {
        self.find(|key| local(key) == name)
    }

    /// The value of the attribute with this name, prefix included.
    pub(crate) fn exact(&self, name: &str) -> Option<String> {
        self.find(|key| key == name)
    }

    /// The value of the attribute with this name behind any prefix, but not without.
    pub(crate) fn prefixed(&self, name: &str) -> Option<String> {
        self.find(|key| key.len() > name.len() && local(key) == name)
    }

    /// An attribute as a number.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.attr(name)?.trim().parse().ok()
    }

    /// True if an attribute is there and not switched off.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.attr(name).is_some_and(|value| !is_off(&value))
    }

    /// True unless an attribute is switched off.
    pub(crate) fn is_not_off(&self, name: &str) -> bool {
        self.attr(name).is_none_or(|value| !is_off(&value))
    }

    fn find(&self, mut wanted: impl FnMut(&str) -> bool) -> Option<String> {
        // Without the check for duplicates, which takes quadratic time.
        let mut attributes = self.0.attributes();
        let attribute = attributes
            .with_checks(false)
            .filter_map(Result::ok)
            .find(|attribute| wanted(attribute.key.into_inner()))?;
        Some(unescape(&attribute.value))
    }
}

fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false" | "off")
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Resolves the references that every document may use; others stay.
fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let end = after.bytes().take(MAX_REFERENCE).position(|byte| byte == b';');
        match end.and_then(|end| Some((resolve(after.get(..end)?)?, after.get(end + 1..)?))) {
            Some((character, after)) => {
                out.push_str(&character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn resolve(name: &str) -> Option<Cow<'static, str>> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| *c != '\0').map(|c| Cow::Owned(c.to_string()));
    }
    resolve_predefined_entity(name).map(Cow::Borrowed)
}

/// A document that is being read.
pub(crate) struct Xml<'r> {
    reader: Reader<Bounded<Utf8<'r>>>,
    buffer: Vec<u8>,
    depth: usize,
    nodes: u32,
    clock: Clock,
}

impl<'r> Xml<'r> {
    pub(crate) fn new(source: impl Read + 'r, clock: Clock) -> Self {
        let mut reader = Reader::from_reader(Bounded { inner: Utf8::new(Box::new(source)), left: MAX_NODE });
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self { reader, buffer: Vec::new(), depth: 0, nodes: 0, clock }
    }

    /// The number of open elements.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The next node.
    ///
    /// # Errors
    /// [`Stop`]
    pub(crate) fn next(&mut self) -> Result<Node<'_>, Stop> {
        self.nodes = self.nodes.wrapping_add(1);
        if self.nodes.is_multiple_of(NODES_PER_LOOK) {
            self.clock.check()?;
        }
        self.buffer.clear();
        self.reader.get_mut().left = MAX_NODE;
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|_| Stop::Damaged)?;
        Ok(match event {
            Event::Start(tag) | Event::Empty(tag) => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(Stop::Damaged);
                }
                Node::Open(Tag(tag))
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                Node::Close(Cow::Owned(local(tag.name().into_inner()).to_owned()))
            }
            Event::Text(text) => Node::Text(text.into_inner()),
            Event::CData(text) => Node::Text(text.into_inner()),
            Event::GeneralRef(name) => {
                let name = name.into_inner();
                Node::Text(resolve(&name).unwrap_or_else(|| Cow::Owned(format!("&{name};"))))
            }
            Event::Eof => Node::End,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => Node::Nothing,
        })
    }

    /// The first value that `of` makes of an element, up to the end or to where the rest is damaged.
    ///
    /// # Errors
    /// The conversion must end.
    pub(crate) fn find<T>(
        &mut self,
        mut of: impl FnMut(&Tag<'_>) -> Option<T>,
    ) -> Result<Option<T>, ConvertError> {
        loop {
            match self.next() {
                Ok(Node::Open(tag)) => {
                    if let Some(found) = of(&tag) {
                        return Ok(Some(found));
                    }
                }
                Ok(Node::End) | Err(Stop::Damaged) => return Ok(None),
                Err(Stop::Over(error)) => return Err(error),
                Ok(_) => {}
            }
        }
    }

    /// Passes over the rest of the element that began last.
    ///
    /// # Errors
    /// [`Stop`]
    pub(crate) fn skip(&mut self) -> Result<(), Stop> {
        self.leave(1)
    }

    /// Passes over the rest of the element that began last and of those around it, so many in all.
    ///
    /// # Errors
    /// [`Stop`]
    pub(crate) fn leave(&mut self, levels: usize) -> Result<(), Stop> {
        let outside = self.depth.saturating_sub(levels);
        loop {
            match self.next()? {
                Node::End => return Ok(()),
                Node::Close(_) => {}
                _ => continue,
            }
            if self.depth <= outside {
                return Ok(());
            }
        }
    }

    /// The text of the element that began last, its children's included, at most `limit` bytes of it.
    ///
    /// # Errors
    /// [`Stop`]
    pub(crate) fn text(&mut self, limit: usize) -> Result<String, Stop> {
        let outside = self.depth.saturating_sub(1);
        let mut text = String::new();
        loop {
            match self.next()? {
                Node::End => return Ok(text),
                Node::Text(more) if text.len() + more.len() <= limit => text.push_str(&more),
                Node::Close(_) => {}
                _ => continue,
            }
            if self.depth <= outside {
                return Ok(text);
            }
        }
    }
}

/// Any bytes as UTF-8: what the mark or the declaration at their begin says, undone; what does not fit is `U+FFFD`.
struct Utf8<'r> {
    source: Box<dyn Read + 'r>,
    decoder: Option<Decoder>,
    raw: Vec<u8>,
    at: usize,
    out: Vec<u8>,
    done: usize,
    ended: bool,
    /// Why nothing more comes, once all that came before is read.
    failed: Option<io::Error>,
}

/// The number of bytes that are read at once.
const CHUNK: usize = 16 << 10;

impl<'r> Utf8<'r> {
    fn new(source: Box<dyn Read + 'r>) -> Self {
        Self {
            source,
            decoder: None,
            raw: Vec::new(),
            at: 0,
            out: Vec::new(),
            done: 0,
            ended: false,
            failed: None,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        while self.done >= self.out.len() && !(self.ended && self.at >= self.raw.len()) {
            if self.at >= self.raw.len() {
                self.raw.clear();
                self.at = 0;
                let read = self.source.by_ref().take(CHUNK as u64).read_to_end(&mut self.raw);
                self.ended = !matches!(read, Ok(CHUNK..));
                self.failed = read.err();
            }
            let raw = self.raw.get(self.at..).unwrap_or_default();
            let decoder = self.decoder.get_or_insert_with(|| declared(raw).new_decoder());
            // Room for at least one character, however little there is to read.
            self.out.resize(4 * CHUNK, 0);
            let (_, read, written, _) = decoder.decode_to_utf8(raw, &mut self.out, self.ended);
            self.at += read;
            self.out.truncate(written);
            self.done = 0;
        }
        match self.failed.take() {
            Some(error) if self.done >= self.out.len() => Err(error),
            failed => {
                self.failed = failed;
                Ok(())
            }
        }
    }
}

/// The charset that the XML declaration names; a byte order mark is obeyed by the decoder.
fn declared(head: &[u8]) -> &'static Encoding {
    let name = attache_core::charset::named(None, head);
    name.and_then(|name| Encoding::for_label_no_replacement(name.as_bytes())).unwrap_or(UTF_8)
}

impl Read for Utf8<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Utf8<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        Ok(self.out.get(self.done..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.done = (self.done + amount).min(self.out.len());
    }
}

/// Gives so much and no more until it is allowed more.
struct Bounded<R> {
    inner: R,
    left: usize,
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other("a node is too large"));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount);
        self.inner.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Node, Xml};
    use crate::guarded::Clock;

    fn read(bytes: &[u8]) -> Result<String, ()> {
        let mut xml = Xml::new(bytes, Clock::start(Duration::from_secs(60)));
        let mut out = String::new();
        loop {
            match xml.next().map_err(|_| ())? {
                Node::Open(tag) => {
                    out.push_str(&format!("<{} {:?}>", tag.name(), tag.attr("v")));
                }
                Node::Close(name) => out.push_str(&format!("</{name}>")),
                Node::Text(text) => out.push_str(&text),
                Node::Nothing => {}
                Node::End => return Ok(out),
            }
        }
    }

    #[test]
    fn charsets_are_those_of_mark_and_declaration() {
        let expected = Ok("<a Some(\"é\")>é</a>".to_owned());
        let source = "<a x:v='é'>é</a>";
        assert_eq!(read(source.as_bytes()), expected);
        let wide: Vec<u8> = format!("\u{feff}{source}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&wide), expected);
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a v='\xe9'>\xe9</a>";
        assert_eq!(read(latin), expected);
        let named_wide = format!("<?xml version='1.0' encoding='UTF-16'?>{source}");
        assert_eq!(read(named_wide.as_bytes()), expected);
        assert_eq!(read(b"<a>\xff</a>"), Ok("<a None>\u{fffd}</a>".to_owned()));
    }

    #[test]
    fn entities_of_the_document_are_not_expanded() {
        let lol = "<!DOCTYPE a [<!ENTITY b 'lol'><!ENTITY c '&b;&b;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
                   <a v='&c;&amp;'>&c;&x;&amp;&#x41;&#0;</a>";
        assert_eq!(read(lol.as_bytes()), Ok("<a Some(\"&c;&\")>&c;&x;&A&#0;</a>".to_owned()));
    }

    #[test]
    fn depth_and_length_of_nodes_are_bounded() {
        assert!(read("<a>".repeat(400).as_bytes()).is_ok());
        assert!(read("<a>".repeat(1000).as_bytes()).is_err());
        assert!(read(format!("<a v='{}'/>", "x".repeat(5 << 20)).as_bytes()).is_err());
        assert!(read("x".repeat(5 << 20).as_bytes()).is_err());
        let many = format!("<a {}>", "v='&' ".repeat(500_000));
        assert_eq!(read(many.as_bytes()), Ok("<a Some(\"&\")>".to_owned()));
        assert!(read(b"</b><a>&&</b>").is_ok());
    }
}
