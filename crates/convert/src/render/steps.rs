//! The steps that drawing a page would take.
//!
//! A page of a few lines can ask for more than a machine does in a year: forms that show forms, cells that are laid out
//! a million times, lines of dashes shorter than an atom. So its content is gone through once, painting nothing, and
//! whatever would be done is counted as often as it would be.

use std::collections::HashMap;

use hayro::kurbo::{Affine, Point};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Rect, Stream};
use hayro_syntax::page::{Page, Resources};

use super::reach::image;
use crate::ConvertError;
use crate::guarded::Clock;

/// Most steps of a page. A step is an operator, a character or a hundred pixels of an image.
const MAX_STEPS: u64 = 4_000_000;

/// The pixels of a step.
const PIXELS: u64 = 100;

/// The bytes of a step: what is decoded, and gone through whether it says anything or not.
const BYTES: u64 = 64;

/// Steps of what is drawn apart and put on the page afterwards.
const GROUP: u64 = 100;

/// The depth to which forms may stand in forms.
const MAX_DEPTH: usize = 16;

/// Most states that are saved at a time, in forms inside of forms together. The library that draws keeps 65,536 and
/// then restores none: what is counted here would not be what is drawn.
const MAX_SAVED: usize = 60_000;

/// Most steps between two looks at the clock.
const BETWEEN_CHECKS: u64 = 4_096;

/// The flatness to which the cell of a pattern may be pressed: the sine of the angle between its sides.
const LEAST_ANGLE: f64 = 0.5;

/// The factor by which the cell of a pattern may be larger than its steps, along one side.
const MAX_OVERLAP: f64 = 8.0;

fn too_much() -> ConvertError {
    ConvertError::TooLarge { what: "steps to draw a page", limit: MAX_STEPS as usize }
}

/// Counts the steps of one page.
pub(super) struct Steps {
    clock: Clock,
    /// The pixels of the page's image.
    area: u64,
    /// The steps of decoding the largest function.
    function: u64,
    left: u64,
    unchecked: u64,
    /// The states that are saved.
    saved: usize,
    /// The forms that are open, one in the other.
    open: Vec<ObjectIdentifier>,
    /// True if the page shows text.
    pub(super) shows_text: bool,
    /// The steps of a character, by its font.
    characters: HashMap<ObjectIdentifier, u64>,
}

/// The state that later operators depend on.
#[derive(Clone, Copy)]
struct State {
    ctm: Affine,
    /// The mean length of a dash; infinite for lines without.
    dash: f64,
    /// The steps of a character.
    character: u64,
    /// The steps of whatever is painted with the colours that are chosen.
    fill: u64,
    stroke: u64,
}

impl State {
    fn new(ctm: Affine) -> Self {
        Self { ctm, dash: f64::INFINITY, character: 1, fill: 0, stroke: 0 }
    }
}

/// The path under construction.
#[derive(Default)]
struct Path {
    start: Point,
    at: Point,
    length: f64,
}

impl Path {
    fn line(&mut self, to: Point) -> f64 {
        let by = (to.x - self.at.x).abs() + (to.y - self.at.y).abs();
        self.at = to;
        self.length += by;
        by
    }
}

impl Steps {
    /// For an image of this size, of a page whose largest function has so many bytes.
    pub(super) fn new(clock: Clock, (width, height): (u16, u16), function: usize) -> Self {
        Self {
            clock,
            area: u64::from(width) * u64::from(height),
            function: function as u64 / BYTES,
            left: MAX_STEPS,
            unchecked: 0,
            saved: 0,
            open: Vec::new(),
            shows_text: false,
            characters: HashMap::new(),
        }
    }

    /// Fails if drawing a page takes too much. Its streams must have been measured.
    pub(super) fn page<'a>(&mut self, page: &Page<'a>, transform: Affine) -> Result<(), ConvertError> {
        let state = State::new(transform);
        let resources = page.resources();
        let content = page.page_stream().unwrap_or_default();
        self.content(content, resources, state, 0)?;
        let annotations = page.raw().get::<Array<'a>>("Annots");
        for annotation in annotations.iter().flat_map(|list| list.iter::<Dict<'a>>()) {
            self.charge(GROUP)?;
            let looks = annotation.get::<Dict<'a>>("AP").and_then(|looks| looks.get::<Object<'a>>("N"));
            match looks {
                Some(Object::Stream(form)) => self.form(&form, resources, state, 0)?,
                // One for each state.
                Some(Object::Dict(states)) => {
                    for name in states.keys() {
                        if let Some(form) = states.get::<Stream<'a>>(name) {
                            self.form(&form, resources, state, 0)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn charge(&mut self, steps: u64) -> Result<(), ConvertError> {
        self.left = self.left.checked_sub(steps).ok_or_else(too_much)?;
        self.unchecked += steps;
        if self.unchecked > BETWEEN_CHECKS {
            self.unchecked = 0;
            self.clock.check()?;
        }
        Ok(())
    }

    /// Charges an amount that may be absurd.
    fn charge_about(&mut self, steps: f64) -> Result<(), ConvertError> {
        match steps.is_finite() && steps < MAX_STEPS as f64 {
            true => self.charge(steps.max(0.0) as u64),
            false => Err(too_much()),
        }
    }

    fn content<'a>(
        &mut self,
        content: &[u8],
        resources: &Resources<'a>,
        mut state: State,
        depth: usize,
    ) -> Result<(), ConvertError> {
        self.charge(content.len() as u64 / BYTES)?;
        let root = state.ctm;
        let mut saved = Vec::new();
        let mut path = Path::default();
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.charge(1)?;
            match operator {
                Op::SaveState(_) => {
                    self.saved += 1;
                    if self.saved > MAX_SAVED {
                        return Err(too_much());
                    }
                    saved.push(state);
                }
                Op::RestoreState(_) => {
                    if let Some(before) = saved.pop() {
                        self.saved -= 1;
                        state = before;
                    }
                }
                Op::Transform(t) => {
                    state.ctm *= Affine::new([&t.0, &t.1, &t.2, &t.3, &t.4, &t.5].map(Number::as_f64));
                }
                Op::MoveTo(p) => {
                    path.at = point(&p.0, &p.1);
                    path.start = path.at;
                }
                Op::LineTo(p) => _ = path.line(point(&p.0, &p.1)),
                Op::CubicTo(p) => {
                    let points = [point(&p.0, &p.1), point(&p.2, &p.3), point(&p.4, &p.5)];
                    self.curve(&mut path, &points, &state)?;
                }
                Op::CubicStartTo(p) => {
                    self.curve(&mut path, &[point(&p.0, &p.1), point(&p.2, &p.3)], &state)?;
                }
                Op::CubicEndTo(p) => {
                    self.curve(&mut path, &[point(&p.0, &p.1), point(&p.2, &p.3)], &state)?;
                }
                Op::ClosePath(_) => _ = path.line(path.start),
                Op::RectPath(r) => {
                    path.at = point(&r.0, &r.1);
                    path.start = path.at;
                    path.length += 2.0 * (r.2.as_f64().abs() + r.3.as_f64().abs());
                }
                Op::StrokePath(_) | Op::CloseAndStrokePath(_) => {
                    self.paint(&mut path, &state, false, true)?
                }
                Op::FillPathNonZero(_) | Op::FillPathNonZeroCompatibility(_) | Op::FillPathEvenOdd(_) => {
                    self.paint(&mut path, &state, true, false)?;
                }
                Op::FillAndStrokeNonZero(_)
                | Op::FillAndStrokeEvenOdd(_)
                | Op::CloseFillAndStrokeNonZero(_)
                | Op::CloseFillAndStrokeEvenOdd(_) => self.paint(&mut path, &state, true, true)?,
                Op::EndPath(_) => path.length = 0.0,
                Op::DashPattern(dashes) => state.dash = mean(dashes.0),
                Op::NonStrokeColorNamed(colour) => {
                    let pattern = colour.1.and_then(|name| resources.get_pattern(name));
                    state.fill = self.pattern(pattern, root, depth)?;
                }
                Op::StrokeColorNamed(colour) => {
                    let pattern = colour.1.and_then(|name| resources.get_pattern(name));
                    state.stroke = self.pattern(pattern, root, depth)?;
                }
                Op::NonStrokeColor(_)
                | Op::NonStrokeColorDeviceGray(_)
                | Op::NonStrokeColorDeviceRgb(_)
                | Op::NonStrokeColorCmyk(_) => state.fill = 0,
                Op::ColorSpaceNonStroke(_) => {
                    self.charge(self.function)?;
                    state.fill = 0;
                }
                Op::StrokeColor(_)
                | Op::StrokeColorDeviceGray(_)
                | Op::StrokeColorDeviceRgb(_)
                | Op::StrokeColorCmyk(_) => state.stroke = 0,
                Op::ColorSpaceStroke(_) => {
                    self.charge(self.function)?;
                    state.stroke = 0;
                }
                Op::SetGraphicsState(name) => {
                    if let Some(set) = resources.get_ext_g_state(name.0) {
                        self.graphics_state(&set, resources, &mut state, depth)?;
                    }
                }
                Op::TextFont(font) => {
                    let font = resources.get_font(font.0);
                    state.character = font.map_or(Ok(1), |font| self.character(&font, resources, depth))?;
                }
                Op::ShowText(text) => self.show(text.0.len(), &state)?,
                Op::NextLineAndShowText(text) => self.show(text.0.len(), &state)?,
                Op::ShowTextWithParameters(text) => self.show(text.2.len(), &state)?,
                // Brackets and numbers stand between the characters, so that there are fewer of them.
                Op::ShowTexts(texts) => self.show(texts.0.data().len(), &state)?,
                Op::Shading(name) => {
                    let mesh = match resources.get_shading(name.0) {
                        Some(Object::Stream(mesh)) => mesh.raw_data().len() as u64,
                        _ => 0,
                    };
                    self.charge(GROUP.saturating_add(mesh).saturating_add(self.function))?;
                }
                Op::InlineImage(inline) => {
                    let pixels = image(inline.0, self.clock)?;
                    self.charge(GROUP.saturating_add(pixels / PIXELS).saturating_add(state.fill))?;
                }
                Op::XObject(name) => {
                    if let Some(stream) = resources.get_x_object(name.0) {
                        self.object(&stream, resources, state, depth)?;
                    }
                }
                _ => {}
            }
        }
        // A state that a form leaves saved ends with it.
        self.saved -= saved.len();
        Ok(())
    }

    /// A curve becomes the more lines, the larger it is on the image.
    fn curve(&mut self, path: &mut Path, points: &[Point], state: &State) -> Result<(), ConvertError> {
        let length: f64 = points.iter().map(|point| path.line(*point)).sum();
        let [a, b, c, d, ..] = state.ctm.as_coeffs();
        self.charge_about((length * a.hypot(b).max(c.hypot(d))).sqrt() / 16.0)
    }

    fn paint(
        &mut self,
        path: &mut Path,
        state: &State,
        fill: bool,
        stroke: bool,
    ) -> Result<(), ConvertError> {
        let length = std::mem::take(&mut path.length);
        if fill {
            self.charge(state.fill)?;
        }
        if stroke {
            self.charge(state.stroke)?;
            self.charge_about(length / state.dash)?;
        }
        Ok(())
    }

    fn show(&mut self, characters: usize, state: &State) -> Result<(), ConvertError> {
        self.shows_text |= characters > 0;
        let each = state.character.saturating_add(state.fill).saturating_add(state.stroke);
        self.charge(each.saturating_mul(characters as u64))
    }

    fn object<'a>(
        &mut self,
        stream: &Stream<'a>,
        resources: &Resources<'a>,
        state: State,
        depth: usize,
    ) -> Result<(), ConvertError> {
        let Some(kind) = stream.dict().get::<Name<'_>>("Subtype") else { return Ok(()) };
        match kind.as_ref() {
            b"Form" => self.form(stream, resources, state, depth),
            b"Image" => {
                let mut pixels = pixels(stream.dict());
                for key in ["SMask", "Mask"] {
                    pixels +=
                        stream.dict().get::<Stream<'_>>(key).map_or(0, |mask| self::pixels(mask.dict()));
                }
                self.charge(GROUP.saturating_add(pixels / PIXELS).saturating_add(state.fill))
            }
            _ => Ok(()),
        }
    }

    /// A piece of content of its own.
    fn form<'a>(
        &mut self,
        stream: &Stream<'a>,
        resources: &Resources<'a>,
        state: State,
        depth: usize,
    ) -> Result<(), ConvertError> {
        let (dict, id) = (stream.dict(), stream.obj_id());
        if depth >= MAX_DEPTH || self.open.contains(&id) {
            return Err(too_much());
        }
        self.charge(GROUP)?;
        let own = dict.get::<Dict<'a>>("Resources").map(Resources::new);
        let state = State { ctm: state.ctm * matrix(dict), ..state };
        let Ok(content) = stream.decoded_data() else { return Ok(()) };
        self.open.push(id);
        let result = self.content(&content, own.as_ref().unwrap_or(resources), state, depth + 1);
        self.open.pop();
        result
    }

    fn graphics_state<'a>(
        &mut self,
        set: &Dict<'a>,
        resources: &Resources<'a>,
        state: &mut State,
        depth: usize,
    ) -> Result<(), ConvertError> {
        if let Some(dashes) = set.get::<Array<'_>>("D").and_then(|list| list.iter::<Array<'_>>().next()) {
            state.dash = mean(&dashes);
        }
        if let Some(font) = set.get::<Array<'a>>("Font").and_then(|list| list.iter::<Dict<'a>>().next()) {
            state.character = self.character(&font, resources, depth)?;
        }
        if let Some(group) = set.get::<Dict<'a>>("SMask").and_then(|mask| mask.get::<Stream<'a>>("G")) {
            // A mask is an image of the page's size.
            self.charge(self.area / PIXELS)?;
            self.form(&group, resources, *state, depth)?;
        }
        Ok(())
    }

    /// The steps of painting something with a pattern.
    fn pattern(
        &mut self,
        pattern: Option<Object<'_>>,
        root: Affine,
        depth: usize,
    ) -> Result<u64, ConvertError> {
        let cell = match pattern {
            None => return Ok(0),
            Some(Object::Stream(cell)) => cell,
            Some(_) => return Ok(GROUP.saturating_add(self.function)),
        };
        let dict = cell.dict();
        let step = |key: &str| dict.get::<f64>(key).unwrap_or_default().abs();
        let (across, down) = (step("XStep"), step("YStep"));
        let Some(bounds) = dict.get::<Rect>("BBox") else { return Ok(0) };
        let overlap = |side: f64, step: f64| (side / step).ceil() + 2.0;
        let copies = [overlap(bounds.x1 - bounds.x0, across), overlap(bounds.y1 - bounds.y0, down)];
        let [a, b, c, d, ..] = (root * matrix(dict)).as_coeffs();
        let (width, height, area) = (a.hypot(b), c.hypot(d), (a * d - b * c).abs());
        // A cell that is pressed flat covers the page only if it is very long.
        let is_sound =
            copies.iter().all(|copies| *copies <= MAX_OVERLAP) && area >= LEAST_ANGLE * width * height;
        if !is_sound || !area.is_finite() || area == 0.0 {
            return Err(too_much());
        }
        let before = self.left;
        let resources = Resources::new(dict.get::<Dict<'_>>("Resources").unwrap_or_default());
        // Its matrix is applied as a form's is.
        self.form(&cell, &resources, State::new(root), depth)?;
        let once = before - self.left;
        let copies: f64 = copies.iter().product();
        Ok(once.saturating_mul(copies as u64).saturating_add(self.area / PIXELS))
    }

    /// The steps of a character of a font whose characters are pieces of content.
    fn character<'a>(
        &mut self,
        font: &Dict<'a>,
        resources: &Resources<'a>,
        depth: usize,
    ) -> Result<u64, ConvertError> {
        let is_drawn = font.get::<Name<'_>>("Subtype").is_some_and(|kind| kind.as_ref() == b"Type3");
        let id = font.obj_id();
        if !is_drawn {
            return Ok(1);
        }
        if let Some(known) = id.and_then(|id| self.characters.get(&id)) {
            return Ok(*known);
        }
        let own = font.get::<Dict<'a>>("Resources").map(Resources::new);
        let resources = own.as_ref().unwrap_or(resources);
        let state = State::new(Affine::IDENTITY);
        let mut most = 1;
        if let Some(all) = font.get::<Dict<'a>>("CharProcs") {
            for name in all.keys() {
                let Some(drawing) = all.get::<Stream<'a>>(name) else { continue };
                let before = self.left;
                self.form(&drawing, resources, state, depth)?;
                most = most.max(before - self.left);
            }
        }
        self.characters.extend(id.map(|id| (id, most)));
        Ok(most)
    }
}

fn point(x: &Number, y: &Number) -> Point {
    Point::new(x.as_f64(), y.as_f64())
}

fn matrix(dict: &Dict<'_>) -> Affine {
    dict.get::<[f64; 6]>("Matrix").map(Affine::new).unwrap_or_default()
}

/// The pixels that an image says it has.
fn pixels(dict: &Dict<'_>) -> u64 {
    let side = |key: &str| dict.get::<u32>(key).map_or(0, u64::from);
    side("Width").saturating_mul(side("Height"))
}

/// The mean length of dashes, 0 if one is no length. Those of no length are drawn as short ones.
fn mean(dashes: &Array<'_>) -> f64 {
    const SHORTEST: f64 = 0.01;
    let (mut sum, mut count) = (0.0, 0.0);
    for dash in dashes.iter::<f64>() {
        sum += match dash {
            dash if dash > 0.0 => dash,
            0.0 => SHORTEST,
            _ => return 0.0,
        };
        count += 1.0;
    }
    if count == 0.0 { f64::INFINITY } else { sum / count }
}
