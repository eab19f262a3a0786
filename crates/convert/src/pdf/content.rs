//! Reads the content of a page for its text.
//!
//! Only what moves or shows text is carried out; painting is not. Nothing here recurses deeper than
//! [`MAX_DEPTH`], and every operator is counted against the clock.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::{Dict, Name, Object, Rect, Stream, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::expand::{Refused, decode};
use super::font::{Fonts, UNREADABLE};
use super::runs::{Place, Runs};
use super::state::{Chosen, Pen, State, adjust, affine};
use super::values::{Unreadable, entries, value};
use crate::ConvertError;
use crate::guarded::Clock;

/// How deep forms may stand in forms, and saved states in saved states.
const MAX_DEPTH: usize = 16;
const MAX_SAVED: usize = 256;

/// Most annotations of a page whose appearance is read.
const MAX_ANNOTATIONS: usize = 10_000;

/// Stands behind the content that is read: the library stops without a word where it makes no sense of it.
const END: &[u8] = b"attache.end";

/// From this many bytes on, strings that are shown together count as a text of its own.
const SPACED_OUT: usize = 4;

/// How many operators, or characters, go by between two looks at the clock.
const BETWEEN_CHECKS: u32 = 256;

/// What was found on a page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) runs: Runs,
    /// Whether parts were left out because they are too large, too deep or not decodable.
    pub(super) partial: bool,
    pub(super) images: bool,
    /// Characters that no font names.
    pub(super) unreadable: usize,
}

/// Reads the text of a page, its annotations included. Streams may take `limit` bytes when decoded.
pub(super) fn read<'a>(
    page: &Page<'a>,
    fonts: &mut Fonts<'a>,
    limit: usize,
    clock: Clock,
) -> Result<Found, ConvertError> {
    let mut reader =
        Reader { fonts, found: Found::default(), held: 0, limit, clock, steps: 0, replacing: None };
    let state = State { ctm: Affine::new(page.initial_transform(false).as_coeffs()), ..State::default() };
    let content = reader.content(page);
    reader.run(content, page.resources(), state.clone(), 0)?;
    reader.annotations(page, &state)?;
    Ok(reader.found)
}

struct Reader<'f, 'a> {
    fonts: &'f mut Fonts<'a>,
    found: Found,
    /// Bytes of the streams being read, one in the other.
    held: usize,
    limit: usize,
    clock: Clock,
    steps: u32,
    /// Where the marked part began whose text is replaced: how many forms deep, and how many marks in it.
    replacing: Option<(usize, usize)>,
}

impl<'a> Reader<'_, 'a> {
    fn step(&mut self) -> Result<(), ConvertError> {
        self.steps += 1;
        if self.steps >= BETWEEN_CHECKS {
            self.steps = 0;
            self.clock.check()?;
        }
        Ok(())
    }

    /// The content streams of a page, one after the other.
    fn content(&mut self, page: &Page<'a>) -> Vec<u8> {
        let mut content = Vec::new();
        match value(page.raw(), "Contents") {
            None => {}
            Some(Ok(Object::Stream(stream))) => {
                self.append(&mut content, &stream);
            }
            Some(Ok(Object::Array(streams))) => {
                for stream in entries(&streams, page.xref()) {
                    let Ok(Object::Stream(stream)) = stream else {
                        self.found.partial = true;
                        continue;
                    };
                    if self.clock.check().is_err() || !self.append(&mut content, &stream) {
                        break;
                    }
                    // An operator never goes on in the next stream.
                    content.push(b'\n');
                }
            }
            Some(_) => self.found.partial = true,
        }
        content
    }

    fn append(&mut self, content: &mut Vec<u8>, stream: &Stream<'_>) -> bool {
        let decoded = decode(stream, self.limit.saturating_sub(content.len()), self.clock);
        let refused = decoded.as_ref().err().copied();
        let decoded = decoded.unwrap_or_default();
        content.extend_from_slice(&decoded.bytes);
        self.found.partial |= !decoded.whole;
        refused != Some(Refused::TooLong)
    }

    fn run(
        &mut self,
        mut content: Vec<u8>,
        resources: &Resources<'a>,
        mut state: State<'a>,
        depth: usize,
    ) -> Result<(), ConvertError> {
        let mut saved: Vec<State<'a>> = Vec::new();
        let mut marked = 0_usize;
        let mut pen = Pen::default();
        let mut fonts: HashMap<Vec<u8>, Chosen<'a>> = HashMap::new();
        let mut ended = false;
        content.reserve_exact(END.len() + 1);
        content.push(b'\n');
        content.extend_from_slice(END);
        let mut operators = TypedIter::new(&content);
        while let Some(operator) = operators.next() {
            self.step()?;
            if self.found.runs.is_full() {
                self.found.partial = true;
                break;
            }
            use TypedInstruction as Op;
            match operator {
                Op::SaveState(_) if saved.len() < MAX_SAVED => saved.push(state.clone()),
                Op::RestoreState(_) => state = saved.pop().unwrap_or(state),
                Op::Transform(t) => state.ctm *= affine([&t.0, &t.1, &t.2, &t.3, &t.4, &t.5]),
                Op::BeginText(_) => pen.set(Affine::IDENTITY),
                Op::SetTextMatrix(t) => pen.set(affine([&t.0, &t.1, &t.2, &t.3, &t.4, &t.5])),
                Op::TextFont(font) => {
                    let (name, size) = (font.0, font.1.as_f64());
                    state.size = size;
                    state.font = match fonts.get(name.as_ref()) {
                        Some(font) => font.clone(),
                        None => {
                            let dict = resources.get_font(name);
                            let font = dict.map_or(Chosen::None, |dict| self.fonts.load(&dict).into());
                            // There are only so many fonts, but any number of names.
                            if !matches!(font, Chosen::None) {
                                fonts.insert(name.as_ref().to_vec(), font.clone());
                            }
                            font
                        }
                    };
                }
                Op::CharacterSpacing(space) => state.char_space = space.0.as_f64(),
                Op::WordSpacing(space) => state.word_space = space.0.as_f64(),
                Op::HorizontalScaling(percent) => state.stretch = percent.0.as_f64() / 100.0,
                Op::TextLeading(leading) => state.leading = leading.0.as_f64(),
                Op::TextRise(rise) => state.rise = rise.0.as_f64(),
                Op::NextLine(by) => pen.next_line(by.0.as_f64(), by.1.as_f64()),
                Op::NextLineAndSetLeading(by) => {
                    state.leading = -by.1.as_f64();
                    pen.next_line(by.0.as_f64(), by.1.as_f64());
                }
                Op::NextLineUsingLeading(_) => pen.next_line(0.0, -state.leading),
                Op::ShowText(text) => self.show(text.0, text.0.len(), &state, &mut pen)?,
                Op::NextLineAndShowText(text) => {
                    pen.next_line(0.0, -state.leading);
                    self.show(text.0, text.0.len(), &state, &mut pen)?;
                }
                Op::ShowTextWithParameters(text) => {
                    (state.word_space, state.char_space) = (text.0.as_f64(), text.1.as_f64());
                    pen.next_line(0.0, -state.leading);
                    self.show(text.2, text.2.len(), &state, &mut pen)?;
                }
                Op::ShowTexts(items) => {
                    let together = items.0.data().len();
                    for item in items.0.iter::<Object<'_>>() {
                        match item {
                            Object::String(text) => self.show(&text, together, &state, &mut pen)?,
                            Object::Number(by) => adjust(by.as_f64(), &state, &mut pen),
                            _ => {}
                        }
                        self.step()?;
                    }
                }
                Op::BeginMarkedContent(_) => marked += 1,
                Op::BeginMarkedContentWithProperties(mark) => {
                    marked += 1;
                    if self.replacing.is_none()
                        && let Some(text) = replacement(mark.1, resources)
                    {
                        self.replacing = Some((depth, marked));
                        self.found.runs.replace_with(text);
                    }
                }
                Op::EndMarkedContent(_) => {
                    if self.replacing == Some((depth, marked)) {
                        self.end_replacement();
                    }
                    marked = marked.saturating_sub(1);
                }
                Op::InlineImage(_) => self.found.images = true,
                Op::XObject(name) => match resources.get_x_object(name.0) {
                    Some(stream) => self.object(&stream, resources, &state, depth)?,
                    None => self.found.partial = true,
                },
                Op::Fallback(operator) if **operator == *END => ended = true,
                // Not with what they show.
                Op::Fallback(operator) if matches!(&**operator, b"Tj" | b"TJ" | b"'" | b"\"") => {
                    self.found.partial = true;
                }
                _ => {}
            }
        }
        self.found.partial |= !ended;
        // A mark ends with its content at the latest.
        if self.replacing.is_some_and(|(at, _)| at == depth) {
            self.end_replacement();
        }
        Ok(())
    }

    fn end_replacement(&mut self) {
        self.replacing = None;
        self.found.runs.end_replacement();
    }

    /// Carries out a form, a piece of content of its own; notes an image.
    fn object(
        &mut self,
        stream: &Stream<'a>,
        resources: &Resources<'a>,
        state: &State<'a>,
        depth: usize,
    ) -> Result<(), ConvertError> {
        let dict = stream.dict();
        let Some(kind) = dict.get::<Name<'_>>("Subtype") else {
            self.found.partial = true;
            return Ok(());
        };
        if kind.as_ref() == b"Image" {
            self.found.images = true;
        }
        if kind.as_ref() != b"Form" {
            return Ok(());
        }
        let left = self.limit.saturating_sub(self.held);
        let Some(decoded) = decode(stream, left, self.clock).ok().filter(|_| depth < MAX_DEPTH) else {
            self.found.partial = true;
            return Ok(());
        };
        self.found.partial |= !decoded.whole;
        let own = dict.get::<Dict<'a>>("Resources").map(Resources::new);
        let state = State { ctm: state.ctm * matrix(dict), ..state.clone() };
        let held = decoded.bytes.len();
        self.held += held;
        let result = self.run(decoded.bytes, own.as_ref().unwrap_or(resources), state, depth + 1);
        self.held -= held;
        result
    }

    /// Carries out the appearances of the annotations of a page.
    fn annotations(&mut self, page: &Page<'a>, state: &State<'a>) -> Result<(), ConvertError> {
        let list = match value(page.raw(), "Annots") {
            None => return Ok(()),
            Some(Ok(Object::Array(list))) => list,
            Some(_) => {
                self.found.partial = true;
                return Ok(());
            }
        };
        for (index, annotation) in entries(&list, page.xref()).enumerate() {
            self.step()?;
            match annotation {
                Ok(Object::Dict(annotation)) if index < MAX_ANNOTATIONS => {
                    self.annotation(&annotation, page.resources(), state)?;
                }
                _ => self.found.partial = true,
            }
        }
        Ok(())
    }

    /// Carries out the appearance of an annotation, such as a form field that was filled in.
    fn annotation(
        &mut self,
        annotation: &Dict<'a>,
        resources: &Resources<'a>,
        state: &State<'a>,
    ) -> Result<(), ConvertError> {
        const HIDDEN: u32 = 1 << 1 | 1 << 5;
        if annotation.get::<u32>("F").is_some_and(|flags| flags & HIDDEN != 0) {
            return Ok(());
        }
        let Some(stream) = appearance(annotation) else { return Ok(()) };
        let bounds = stream.as_ref().ok().and_then(|stream| stream.dict().get::<Rect>("BBox"));
        let (Ok(stream), Some(target), Some(bounds)) = (stream, annotation.get::<Rect>("Rect"), bounds)
        else {
            self.found.partial = true;
            return Ok(());
        };
        // The appearance's box, where its matrix puts it, is fitted into the annotation's.
        let corners = [
            Point::new(bounds.x0, bounds.y0),
            Point::new(bounds.x1, bounds.y0),
            Point::new(bounds.x0, bounds.y1),
            Point::new(bounds.x1, bounds.y1),
        ]
        .map(|corner| matrix(stream.dict()) * corner);
        let (low, high) = corners.iter().fold((corners[0], corners[0]), |(low, high), p| {
            (Point::new(low.x.min(p.x), low.y.min(p.y)), Point::new(high.x.max(p.x), high.y.max(p.y)))
        });
        let scale = |from: f64, to: f64| if from > 0.0 { to / from } else { 1.0 };
        let (x, y) = (scale(high.x - low.x, target.width()), scale(high.y - low.y, target.height()));
        let fit = Affine::new([x, 0.0, 0.0, y, target.x0 - x * low.x, target.y0 - y * low.y]);
        let state = State { ctm: state.ctm * fit, ..State::default() };
        self.object(&stream, resources, &state, 0)
    }

    /// Shows a string, which is one of those that are shown `together`; that is their length.
    fn show(
        &mut self,
        string: &[u8],
        together: usize,
        state: &State<'a>,
        pen: &mut Pen,
    ) -> Result<(), ConvertError> {
        let font = match &state.font {
            Chosen::Font(font) => Some(Rc::clone(font)),
            Chosen::None if string.is_ascii() => self.fonts.default_font(),
            Chosen::None | Chosen::Unreadable => None,
        };
        let Some(font) = font else {
            self.found.unreadable += string.len();
            let start = state.ctm * pen.matrix * Point::ORIGIN;
            let size = state.size.abs();
            let direction = Vec2::new(1.0, 0.0);
            self.found.runs.add(UNREADABLE, Place { start, end: start, direction, size });
            return Ok(());
        };
        let mut rest = string;
        while !rest.is_empty() {
            self.step()?;
            let code = font.code(rest);
            let text = font.text(code.code);
            let is_space = code.code == 32 && code.len == 1;
            if &*text == UNREADABLE && self.replacing.is_none() {
                self.found.unreadable += 1;
            }
            let width = code.advance / 1000.0 * state.size;
            // Space between characters sets a longer text apart as a whole; some producers also make the
            // space between two words of it.
            let inner = if together >= SPACED_OUT { state.char_space } else { state.char_space.min(0.0) };
            let word_space = if is_space { state.word_space } else { 0.0 };
            let size = Affine::new([state.size * state.stretch, 0.0, 0.0, state.size, 0.0, state.rise]);
            let place = state.ctm * pen.matrix * size;
            let [a, b, c, d, ..] = place.as_coeffs();
            let (along, direction) = if font.is_horizontal() {
                (Vec2::new(state.stretch, 0.0), Vec2::new(a, b))
            } else {
                (Vec2::new(0.0, 1.0), Vec2::new(-c, -d))
            };
            let origin = Point::new(0.0, state.rise);
            let start = state.ctm * pen.matrix * origin;
            let end = state.ctm * pen.matrix * (origin + along * (width + inner));
            self.found.runs.add(&text, Place { start, end, direction, size: c.hypot(d) * font.em });
            let step = along * (width + state.char_space + word_space);
            pen.advance(step.x, step.y);
            rest = rest.get(code.len..).unwrap_or_default();
        }
        Ok(())
    }
}

/// What an annotation looks like in the state that it is in, if it shows anything.
fn appearance<'a>(annotation: &Dict<'a>) -> Option<Result<Stream<'a>, Unreadable>> {
    let normal = match value(annotation, "AP")? {
        Ok(Object::Dict(looks)) => value(&looks, "N")?,
        _ => Err(Unreadable),
    };
    let shown = match normal {
        // One for each state that shows anything.
        Ok(Object::Dict(looks)) => value(&looks, annotation.get::<Name<'_>>("AS")?)?,
        shown => shown,
    };
    Some(shown.and_then(|shown| shown.into_stream().ok_or(Unreadable)))
}

/// The matrix of a form.
fn matrix(dict: &Dict<'_>) -> Affine {
    dict.get::<[f64; 6]>("Matrix").map_or(Affine::IDENTITY, Affine::new)
}

/// The text that a marked part of the page says it stands for.
fn replacement(properties: &Object<'_>, resources: &Resources<'_>) -> Option<String> {
    let text = match properties {
        Object::Dict(dict) => dict.get::<PdfString<'_>>("ActualText").map(|text| text.to_vec()),
        Object::Name(name) => resources
            .properties
            .get::<Dict<'_>>(name)
            .and_then(|dict| dict.get::<PdfString<'_>>("ActualText"))
            .map(|text| text.to_vec()),
        _ => None,
    }?;
    Some(text_string(&text))
}

/// Decodes a text string: UTF-16 or UTF-8 with their marks, else one byte a character.
fn text_string(bytes: &[u8]) -> String {
    let decoded = match bytes {
        [0xfe, 0xff, rest @ ..] => {
            let units = rest.as_chunks().0.iter().map(|unit| u16::from_be_bytes(*unit));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        }
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|&byte| char::from(byte)).collect::<String>(),
    };
    decoded.chars().filter(|c| !c.is_control() && *c != '\u{00AD}').collect()
}
