//! The straight lines that are painted on a page along its sides: what tables are ruled with.

use hayro_font::kurbo::{Affine, Point};

use super::runs::FAR;

/// Most points of the paths of a page. Pages with more are drawings, whose lines rule no table.
const MAX_POINTS: usize = 60_000;

/// Lines are no thicker than this, in points; what is thicker is an area.
const THICK: f64 = 3.0;

/// Lines are at least this long when their pieces are joined.
const MIN_LENGTH: f64 = 6.0;

/// Pieces of one line stand no further apart than this, along it and across it.
const PIECE_GAP: f64 = 3.0;
const PIECE_SHIFT: f64 = 1.0;

/// A straight line along a side of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rule {
    /// Where it stands: its `y` if it is level, its `x` if it is upright.
    pub(super) at: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Rule {
    fn turned(self, sign: f64) -> Self {
        let (a, b) = (self.from * sign, self.to * sign);
        Self { at: self.at, from: a.min(b), to: a.max(b) }
    }

    fn moved(self, sign: f64) -> Self {
        Self { at: self.at * sign, ..self }
    }
}

/// The rules of a page, level and upright ones.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) level: Vec<Rule>,
    pub(super) upright: Vec<Rule>,
    /// Upper and lower edges of painted areas, which part rows but are no lines.
    pub(super) edges: Vec<Rule>,
}

impl Rules {
    /// The rules as text sees them that runs at this angle, in degrees.
    pub(super) fn in_frame(&self, angle: i16) -> Self {
        let turn = |rules: &[Rule], along: f64, across: f64| -> Vec<Rule> {
            rules.iter().map(|rule| rule.turned(along).moved(across)).collect()
        };
        let (level, upright) = (&self.level, &self.upright);
        match angle {
            0 => Self { level: level.clone(), upright: upright.clone(), edges: self.edges.clone() },
            90 => {
                Self { level: turn(upright, 1.0, -1.0), upright: turn(level, -1.0, 1.0), edges: Vec::new() }
            }
            180 => Self {
                level: turn(level, -1.0, -1.0),
                upright: turn(upright, -1.0, -1.0),
                edges: turn(&self.edges, -1.0, -1.0),
            },
            270 => {
                Self { level: turn(upright, -1.0, 1.0), upright: turn(level, 1.0, -1.0), edges: Vec::new() }
            }
            _ => Self::default(),
        }
    }
}

/// A part of a path that is drawn without lifting the pen.
#[derive(Debug)]
struct Stroke {
    points: Vec<Point>,
    /// True if a curve begins or ends it.
    curved: bool,
    closed: bool,
}

/// Follows the paths of a page and keeps what is painted of them.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    path: Vec<Stroke>,
    points: usize,
    rules: Rules,
}

impl Drawing {
    /// True if another point may be taken; a path that is too long is forgotten.
    fn has_room(&mut self) -> bool {
        self.points += 1;
        if self.points == MAX_POINTS {
            *self = Self { points: MAX_POINTS, ..Self::default() };
        }
        self.points < MAX_POINTS
    }

    pub(super) fn move_to(&mut self, to: Point) {
        if self.has_room() {
            self.path.push(Stroke { points: vec![to], curved: false, closed: false });
        }
    }

    pub(super) fn line_to(&mut self, to: Point) {
        if self.has_room()
            && let Some(stroke) = self.path.last_mut()
        {
            stroke.points.push(to);
        }
    }

    pub(super) fn curve_to(&mut self, to: Point) {
        if let Some(stroke) = self.path.last_mut() {
            stroke.curved = true;
        }
        if self.has_room() {
            self.path.push(Stroke { points: vec![to], curved: true, closed: false });
        }
    }

    pub(super) fn close(&mut self) {
        if let Some(stroke) = self.path.last_mut() {
            stroke.closed = true;
        }
    }

    /// A rectangle with this corner, width and height, where the matrix puts it.
    pub(super) fn rectangle(&mut self, ctm: Affine, [x, y, width, height]: [f64; 4]) {
        self.move_to(ctm * Point::new(x, y));
        self.line_to(ctm * Point::new(x + width, y));
        self.line_to(ctm * Point::new(x + width, y + height));
        self.line_to(ctm * Point::new(x, y + height));
        self.close();
    }

    /// Ends the path; what is neither stroked nor filled is not to be seen.
    pub(super) fn paint(&mut self, stroked: bool, filled: bool) {
        for stroke in std::mem::take(&mut self.path) {
            if filled && !stroke.curved {
                self.area(&stroke.points, stroked);
            }
            if stroked {
                for pair in stroke.points.windows(2) {
                    if let [from, to] = pair {
                        self.line(*from, *to);
                    }
                }
                if let (true, false, [first, .., last]) =
                    (stroke.closed, stroke.curved, stroke.points.as_slice())
                {
                    self.line(*last, *first);
                }
            }
        }
    }

    /// Adds a line if it runs along a side of the page.
    fn line(&mut self, from: Point, to: Point) {
        if ![from.x, from.y, to.x, to.y].into_iter().all(|v| v.abs() < FAR) {
            return;
        }
        let (width, height) = ((to.x - from.x).abs(), (to.y - from.y).abs());
        if height <= PIECE_SHIFT && width >= height {
            let at = (from.y + to.y) / 2.0;
            self.rules.level.push(Rule { at, from: from.x.min(to.x), to: from.x.max(to.x) });
        }
        if width <= PIECE_SHIFT && height >= width {
            let at = (from.x + to.x) / 2.0;
            self.rules.upright.push(Rule { at, from: from.y.min(to.y), to: from.y.max(to.y) });
        }
    }

    /// Adds a filled area: a line if it is thin, else its edges.
    fn area(&mut self, points: &[Point], stroked: bool) {
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let span = |of: fn(&Point) -> f64| {
            points.iter().map(of).fold(start, |(low, high), v| (low.min(v), high.max(v)))
        };
        let ((left, right), (low, high)) = (span(|p| p.x), span(|p| p.y));
        if points.len() < 3 || ![left, right, low, high].into_iter().all(|v| v.abs() < FAR) {
            return;
        }
        let (width, height) = (right - left, high - low);
        // Dots are pieces of dotted lines, of which nobody knows the direction yet.
        if height <= THICK {
            self.rules.level.push(Rule { at: (low + high) / 2.0, from: left, to: right });
        }
        if width <= THICK {
            self.rules.upright.push(Rule { at: (left + right) / 2.0, from: low, to: high });
        }
        if width > THICK && height > THICK && !stroked && (4..=5).contains(&points.len()) {
            self.rules.edges.push(Rule { at: low, from: left, to: right });
            self.rules.edges.push(Rule { at: high, from: left, to: right });
        }
    }

    /// The lines, joined of their pieces.
    pub(super) fn into_rules(self) -> Rules {
        let Rules { level, upright, edges } = self.rules;
        Rules { level: joined(level), upright: joined(upright), edges: joined(edges) }
    }
}

/// Joins the pieces of lines. Ordered by where they stand.
fn joined(mut pieces: Vec<Rule>) -> Vec<Rule> {
    pieces.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut lines: Vec<Rule> = Vec::new();
    for beside in pieces.chunk_by_mut(|a, b| b.at - a.at <= PIECE_SHIFT / 2.0) {
        beside.sort_by(|a, b| a.from.total_cmp(&b.from));
        let first = lines.len();
        for piece in beside {
            match lines.get_mut(first..).and_then(<[Rule]>::last_mut) {
                Some(line) if piece.from <= line.to + PIECE_GAP => line.to = line.to.max(piece.to),
                _ => lines.push(*piece),
            }
        }
    }
    lines.retain(|line| line.to - line.from >= MIN_LENGTH);
    lines
}

#[cfg(test)]
mod tests {
    use super::{Drawing, Rule};
    use hayro_font::kurbo::{Affine, Point};

    #[test]
    fn dashes_and_thin_areas_are_lines_and_clips_are_not() {
        let mut drawing = Drawing::default();
        for dash in 0..10 {
            let x = 10.0 + 5.0 * f64::from(dash);
            drawing.move_to(Point::new(x, 50.0));
            drawing.line_to(Point::new(x + 3.0, 50.0));
        }
        drawing.paint(true, false);
        drawing.rectangle(Affine::IDENTITY, [10.0, 20.0, 0.5, 30.0]);
        drawing.paint(false, true);
        drawing.rectangle(Affine::IDENTITY, [0.0, 0.0, 500.0, 500.0]);
        drawing.paint(false, false);
        let rules = drawing.into_rules();
        assert_eq!(rules.level, [Rule { at: 50.0, from: 10.0, to: 58.0 }]);
        assert_eq!(rules.upright, [Rule { at: 10.25, from: 20.0, to: 50.0 }]);
        let turned = rules.in_frame(90);
        assert_eq!(turned.level, [Rule { at: -10.25, from: 20.0, to: 50.0 }]);
        assert_eq!(turned.upright, [Rule { at: 50.0, from: -58.0, to: -10.0 }]);
    }
}
