//! The state that text depends on: the graphics state, and where the next character goes.

use std::rc::Rc;

use hayro_font::kurbo::Affine;
use hayro_syntax::object::Number;

use super::font::LoadedFont;

/// The part of the graphics state that text depends on.
#[derive(Clone)]
pub(super) struct State<'a> {
    pub(super) ctm: Affine,
    pub(super) font: Chosen<'a>,
    pub(super) size: f64,
    pub(super) char_space: f64,
    pub(super) word_space: f64,
    /// Horizontal scaling; 1 is none.
    pub(super) stretch: f64,
    pub(super) leading: f64,
    pub(super) rise: f64,
}

#[derive(Clone)]
pub(super) enum Chosen<'a> {
    None,
    /// A font that cannot be read; its codes mean nothing in another one.
    Unreadable,
    Font(Rc<LoadedFont<'a>>),
}

impl<'a> From<Option<Rc<LoadedFont<'a>>>> for Chosen<'a> {
    fn from(loaded: Option<Rc<LoadedFont<'a>>>) -> Self {
        loaded.map_or(Self::Unreadable, Self::Font)
    }
}

impl Default for State<'_> {
    fn default() -> Self {
        Self {
            ctm: Affine::IDENTITY,
            font: Chosen::None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

/// Where the next character goes.
#[derive(Default)]
pub(super) struct Pen {
    pub(super) matrix: Affine,
    pub(super) line: Affine,
}

impl Pen {
    pub(super) fn set(&mut self, matrix: Affine) {
        (self.matrix, self.line) = (matrix, matrix);
    }

    pub(super) fn next_line(&mut self, x: f64, y: f64) {
        self.set(self.line * Affine::translate((x, y)));
    }

    pub(super) fn advance(&mut self, x: f64, y: f64) {
        self.matrix *= Affine::translate((x, y));
    }
}

/// Moves the pen between two strings.
pub(super) fn adjust(thousandths: f64, state: &State<'_>, pen: &mut Pen) {
    let by = -thousandths / 1000.0 * state.size;
    match &state.font {
        Chosen::Font(font) if !font.is_horizontal() => pen.advance(0.0, by),
        _ => pen.advance(by * state.stretch, 0.0),
    }
}

pub(super) fn affine(numbers: [&Number; 6]) -> Affine {
    Affine::new(numbers.map(Number::as_f64))
}
