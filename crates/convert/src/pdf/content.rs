//! The content of a page, read for its text.
//!
//! Only what moves or shows text is carried out; painting is not. Nothing here recurses deeper than
//! [`MAX_DEPTH`], and every operator is counted against the clock.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_font::kurbo::{Affine, Point, Vec2};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Stream, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::decoded::Refused;
use super::expand::decode;
use super::font::{Fonts, UNREADABLE};
use super::found::Found;
use super::layers::Layers;
use super::runs::Place;
use super::state::{Chosen, Pen, State, adjust, affine};
use super::text_string::text_string;
use super::values::{entries, value};
use crate::ConvertError;
use crate::guarded::Clock;

/// The depth to which forms may stand in forms, and saved states in saved states.
const MAX_DEPTH: usize = 16;
const MAX_SAVED: usize = 256;

/// Stands behind the content that is read: the library stops without a word where it makes no sense of it.
const END: &[u8] = b"attache.end";

/// From this many bytes on, strings that are shown together count as a text of its own.
const SPACED_OUT: usize = 4;

/// The number of operators, or characters, that go by between two looks at the clock.
const BETWEEN_CHECKS: u32 = 256;

/// Carries out content, and notes what it finds.
pub(super) struct Reader<'f, 'a> {
    fonts: &'f mut Fonts<'a>,
    pub(super) layers: &'f Layers,
    pub(super) found: Found,
    /// Bytes of the streams being read, one in the other.
    held: usize,
    limit: usize,
    clock: Clock,
    steps: u32,
    /// True if the next content lacks the mark of its end.
    cut: bool,
    /// Where the marked part began whose text is replaced: how many forms deep, and how many marks in it.
    replacing: Option<(usize, usize)>,
    /// The number of the mark with which a part of a layer that is off began. No form in it is run.
    hidden: Option<usize>,
}

impl<'f, 'a> Reader<'f, 'a> {
    /// A reader that has found nothing yet. Streams may take `limit` bytes when decoded.
    pub(super) fn new(fonts: &'f mut Fonts<'a>, layers: &'f Layers, limit: usize, clock: Clock) -> Self {
        Self {
            fonts,
            layers,
            found: Found::default(),
            held: 0,
            limit,
            clock,
            steps: 0,
            cut: false,
            replacing: None,
            hidden: None,
        }
    }

    /// Reads the content of a page.
    pub(super) fn page(&mut self, page: &Page<'a>, state: &State<'a>) -> Result<(), ConvertError> {
        let content = self.content(page);
        self.run(content, page.resources(), state.clone(), 0)
    }

    pub(super) fn step(&mut self) -> Result<(), ConvertError> {
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
        self.found.partial |= !decoded.whole && !decoded.cut;
        self.cut |= decoded.cut;
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
        let cut = std::mem::take(&mut self.cut);
        let mut in_text = false;
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
                Op::BeginText(_) => {
                    in_text = true;
                    pen.set(Affine::IDENTITY);
                }
                Op::EndText(_) => in_text = false,
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
                Op::SetGraphicsState(name) => {
                    let own = resources.ext_g_states.get::<Dict<'a>>(name.0);
                    let mut chosen =
                        own.and_then(|own| own.get::<Array<'a>>("Font")).unwrap_or_default().flex_iter();
                    if let (Some(font), Some(size)) = (chosen.next::<Dict<'a>>(), chosen.next::<f64>()) {
                        (state.font, state.size) = (self.fonts.load(&font).into(), size);
                    }
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
                Op::ShowText(text) => self.show(text.0, Together::only(text.0), &state, &mut pen)?,
                Op::NextLineAndShowText(text) => {
                    pen.next_line(0.0, -state.leading);
                    self.show(text.0, Together::only(text.0), &state, &mut pen)?;
                }
                Op::ShowTextWithParameters(text) => {
                    (state.word_space, state.char_space) = (text.0.as_f64(), text.1.as_f64());
                    pen.next_line(0.0, -state.leading);
                    self.show(text.2, Together::only(text.2), &state, &mut pen)?;
                }
                Op::ShowTexts(items) => {
                    let len = items.0.data().len();
                    let mut rest = items.0.iter::<Object<'_>>().peekable();
                    while let Some(item) = rest.next() {
                        match item {
                            Object::String(text) => {
                                let back = match rest.peek() {
                                    Some(Object::Number(by)) => by.as_f64() / 1000.0 * state.size,
                                    _ => 0.0,
                                };
                                self.show(&text, Together { len, back }, &state, &mut pen)?;
                            }
                            Object::Number(by) => adjust(by.as_f64(), &state, &mut pen),
                            _ => {}
                        }
                        self.step()?;
                    }
                }
                Op::BeginMarkedContent(_) => marked += 1,
                Op::BeginMarkedContentWithProperties(mark) => {
                    marked += 1;
                    if self.hidden.is_none() && mark.0.as_ref() == b"OC" && self.is_off(mark.1, resources) {
                        self.hidden = Some(marked);
                    }
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
                    self.hidden = self.hidden.filter(|part| *part != marked);
                    marked = marked.saturating_sub(1);
                }
                Op::InlineImage(_) => self.image(&state),
                Op::MoveTo(p) => self.found.drawing.move_to(state.ctm * point(&p.0, &p.1)),
                Op::LineTo(p) => self.found.drawing.line_to(state.ctm * point(&p.0, &p.1)),
                Op::CubicTo(p) => self.found.drawing.curve_to(state.ctm * point(&p.4, &p.5)),
                Op::CubicStartTo(p) => self.found.drawing.curve_to(state.ctm * point(&p.2, &p.3)),
                Op::CubicEndTo(p) => self.found.drawing.curve_to(state.ctm * point(&p.2, &p.3)),
                Op::ClosePath(_) => self.found.drawing.close(),
                Op::RectPath(r) => {
                    let sides = [&r.0, &r.1, &r.2, &r.3].map(Number::as_f64);
                    self.found.drawing.rectangle(state.ctm, sides);
                }
                Op::StrokePath(_) => self.paint(true, false),
                Op::CloseAndStrokePath(_) => {
                    self.found.drawing.close();
                    self.paint(true, false);
                }
                Op::FillPathNonZero(_) | Op::FillPathNonZeroCompatibility(_) | Op::FillPathEvenOdd(_) => {
                    self.paint(false, true);
                }
                Op::FillAndStrokeNonZero(_)
                | Op::FillAndStrokeEvenOdd(_)
                | Op::CloseFillAndStrokeNonZero(_)
                | Op::CloseFillAndStrokeEvenOdd(_) => {
                    self.found.drawing.close();
                    self.paint(true, true);
                }
                Op::EndPath(_) => self.paint(false, false),
                Op::XObject(name) => match resources.get_x_object(name.0) {
                    Some(stream) => self.object(&stream, resources, &state, depth)?,
                    // A thing that the page does not have at all is not left out.
                    None => self.found.partial |= resources.x_objects.contains_key(name.0.as_ref()),
                },
                Op::Fallback(operator) if **operator == *END => ended = true,
                // Not with what they show.
                Op::Fallback(operator) if matches!(&**operator, b"Tj" | b"TJ" | b"'" | b"\"") => {
                    self.found.partial = true;
                }
                _ => {}
            }
        }
        // Where everything that was begun has been ended, most likely nothing is missing.
        self.found.partial |= !ended || (cut && (in_text || !saved.is_empty()));
        // A mark ends with its content at the latest.
        if self.replacing.is_some_and(|(at, _)| at == depth) {
            self.end_replacement();
        }
        self.hidden = None;
        Ok(())
    }

    /// True if a marked part belongs to a layer that is off.
    fn is_off(&self, properties: &Object<'_>, resources: &Resources<'_>) -> bool {
        matches!(properties, Object::Name(name) if self.layers.hide(&resources.properties, name))
    }

    fn paint(&mut self, stroked: bool, filled: bool) {
        let is_shown = self.hidden.is_none();
        self.found.drawing.paint(stroked && is_shown, filled && is_shown);
    }

    fn end_replacement(&mut self) {
        self.replacing = None;
        self.found.runs.end_replacement();
    }

    /// Notes an image, which fills the unit square.
    fn image(&mut self, state: &State<'a>) {
        if self.hidden.is_some() {
            return;
        }
        self.found.images += 1;
        self.found.covered += state.ctm.determinant().abs();
    }

    /// Carries out a form, a piece of content of its own; notes an image.
    pub(super) fn object(
        &mut self,
        stream: &Stream<'a>,
        resources: &Resources<'a>,
        state: &State<'a>,
        depth: usize,
    ) -> Result<(), ConvertError> {
        let dict = stream.dict();
        if self.hidden.is_some() || self.layers.hide(dict, "OC") {
            return Ok(());
        }
        let Some(kind) = dict.get::<Name<'_>>("Subtype") else {
            self.found.partial = true;
            return Ok(());
        };
        if kind.as_ref() == b"Image" {
            self.image(state);
        }
        if kind.as_ref() != b"Form" {
            return Ok(());
        }
        let left = self.limit.saturating_sub(self.held);
        let Some(decoded) = decode(stream, left, self.clock).ok().filter(|_| depth < MAX_DEPTH) else {
            self.found.partial = true;
            return Ok(());
        };
        self.found.partial |= !decoded.whole && !decoded.cut;
        self.cut = decoded.cut;
        let own = dict.get::<Dict<'a>>("Resources").map(Resources::new);
        let state = State { ctm: state.ctm * matrix(dict), ..state.clone() };
        let held = decoded.bytes.len();
        self.held += held;
        let result = self.run(decoded.bytes, own.as_ref().unwrap_or(resources), state, depth + 1);
        self.held -= held;
        result
    }

    /// Shows a string, which is one of those that are shown `together`.
    fn show(
        &mut self,
        string: &[u8],
        together: Together,
        state: &State<'a>,
        pen: &mut Pen,
    ) -> Result<(), ConvertError> {
        let font = match &state.font {
            Chosen::Font(font) => Some(Rc::clone(font)),
            Chosen::None if string.is_ascii() => self.fonts.default_font(),
            Chosen::None | Chosen::Unreadable => None,
        };
        let Some(font) = font else {
            if self.hidden.is_some() {
                return Ok(());
            }
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
            let is_shown = self.hidden.is_none();
            if is_shown && &*text == UNREADABLE && self.replacing.is_none() {
                self.found.unreadable += 1;
            }
            let width = code.advance / 1000.0 * state.size;
            // Space between characters sets a longer text apart as a whole; some producers also make the
            // space between two words of it.
            let mut inner =
                if together.len >= SPACED_OUT { state.char_space } else { state.char_space.min(0.0) };
            // Tables are set with a wide space that is taken back where a cell goes on.
            if rest.len() <= code.len && inner > 0.0 && together.back > 0.0 {
                inner = (inner - together.back).max(0.0);
            }
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
            if is_shown {
                self.found.runs.add(&text, Place { start, end, direction, size: c.hypot(d) * font.em });
            }
            let step = along * (width + state.char_space + word_space);
            pen.advance(step.x, step.y);
            rest = rest.get(code.len..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The strings that one operator shows.
#[derive(Clone, Copy)]
struct Together {
    /// The number of bytes that they take.
    len: usize,
    /// The distance by which the pen goes back behind this one.
    back: f64,
}

impl Together {
    fn only(string: &[u8]) -> Self {
        Self { len: string.len(), back: 0.0 }
    }
}

fn point(x: &Number, y: &Number) -> Point {
    Point::new(x.as_f64(), y.as_f64())
}

/// The matrix of a form.
pub(super) fn matrix(dict: &Dict<'_>) -> Affine {
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
