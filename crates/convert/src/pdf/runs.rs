//! Collects the shown characters of a page into runs: stretches of text that stand together on one line.

use std::collections::BTreeMap;

use hayro_font::kurbo::{Point, Vec2};

use super::{accents, rtl};

/// Most runs of a page, and most bytes of text in them. A dense page of a newspaper has a tenth of this.
const MAX_RUNS: usize = 100_000;
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Gaps in a run are narrower than this part of its letters' height. Spaces are wider, kerning is narrower.
pub(super) const WORD_GAP: f64 = 0.1;

/// The same character again, no farther from itself than this part of its height, is the same one printed twice.
const STRUCK_TWICE: f64 = 0.1;

/// The distance of the baselines of a letter and an accent that is drawn over it, relative to the letter's height.
const ACCENT_OFF: f64 = 0.35;

/// Coordinates beyond this are on no page; a page of the largest kind is 14,400 points wide.
pub(super) const FAR: f64 = 1e6;

/// A stretch of text in the frame of its direction: `x` runs along the text, `y` grows against its lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) x: f64,
    pub(super) end: f64,
    /// The baseline.
    pub(super) y: f64,
    /// The height of the letters.
    pub(super) size: f64,
    /// True if a space was shown before it.
    pub(super) spaced: bool,
}

impl Run {
    /// True if the next run is the same text once more, as shadows and poor man's bold are made.
    pub(super) fn is_printed_again_by(&self, next: &Self) -> bool {
        let near = 0.3 * self.size;
        self.text == next.text && (self.x - next.x).abs() < near && (self.y - next.y).abs() < near
    }

    /// True if it is a raised number behind another: an exponent, or the number of a footnote.
    pub(super) fn is_raised_number_of(&self, base: &Self) -> bool {
        let is_digit = |c: char| c.is_ascii_digit();
        self.y - base.y >= 0.2 * base.size
            && self.size <= 0.8 * base.size
            && self.text.starts_with(is_digit)
            && base.text.ends_with(is_digit)
    }
}

/// Where a character stands on the page, in points from the lower left corner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) start: Point,
    /// Where the pen is after it.
    pub(super) end: Point,
    /// Where its line of text runs to; any length.
    pub(super) direction: Vec2,
    pub(super) size: f64,
}

/// The runs of a page by the direction of their text.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// By the angle of the text in degrees, against the clock.
    frames: BTreeMap<i16, Vec<Run>>,
    /// The frame of the last run while it can go on.
    open: Option<i16>,
    /// Where the last character of that run begins.
    last: f64,
    /// The last space, if nothing was shown since.
    space: Option<(i16, Run)>,
    /// Replacement text of a marked part of the page, while in it.
    replaced: Option<Replaced>,
    /// An accent that may belong to the next letter.
    accent: Option<Accent>,
    runs: usize,
    bytes: usize,
    full: bool,
}

#[derive(Debug)]
struct Accent {
    text: String,
    mark: char,
    place: Place,
}

#[derive(Debug)]
struct Replaced {
    text: String,
    place: Option<Place>,
}

impl Runs {
    /// True if the page holds more than is kept.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The runs of each direction with its angle, upright text first.
    pub(super) fn into_frames(mut self) -> impl Iterator<Item = (i16, Vec<Run>)> {
        self.settle();
        self.frames.into_iter()
    }

    /// Adds a character.
    pub(super) fn add(&mut self, text: &str, place: Place) {
        match &mut self.replaced {
            Some(Replaced { place: Some(known), .. }) => known.end = place.end,
            Some(Replaced { place: unknown, .. }) => *unknown = Some(place),
            None => self.put(text, place),
        }
    }

    /// True if any text is in them.
    pub(super) fn is_text(&mut self) -> bool {
        self.settle();
        self.frames.values().any(|runs| !runs.is_empty())
    }

    /// All of their texts.
    pub(super) fn text(&mut self) -> String {
        self.settle();
        self.frames.values().flatten().map(|run| run.text.as_str()).collect()
    }

    /// True if these show a text and nothing else, whatever its spaces.
    pub(super) fn shows(&mut self, text: &str) -> bool {
        let letters = |text: &str| {
            let mut letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
            letters.sort_unstable();
            letters
        };
        letters(text) == letters(&self.text())
    }

    /// Adds the runs of another piece of the page.
    pub(super) fn append(&mut self, mut other: Self) {
        self.settle();
        other.settle();
        for (angle, mut runs) in other.frames {
            self.frames.entry(angle).or_default().append(&mut runs);
        }
        self.open = None;
        self.space = None;
        self.runs += other.runs;
        self.bytes += other.bytes;
        self.full |= other.full || self.runs >= MAX_RUNS || self.bytes >= MAX_TEXT_BYTES;
    }

    /// From here on, characters are only places for `text`, until [`end_replacement`](Self::end_replacement).
    pub(super) fn replace_with(&mut self, text: String) {
        self.replaced = Some(Replaced { text, place: None });
    }

    /// Puts the replacement text where the characters were that it stands for.
    pub(super) fn end_replacement(&mut self) {
        if let Some(Replaced { text, place: Some(place) }) = self.replaced.take() {
            self.put(&text, place);
        }
    }

    /// Puts a text where it stands; an accent onto the letter that it is drawn over.
    fn put(&mut self, text: &str, place: Place) {
        if let Some(Accent { mark, place: own, .. }) = self.accent
            && let Some(letter) = accents::accented(text, mark)
            && let (Some(accent), Some(framed)) = (framed("", own), framed("", place))
            && accent.0 == framed.0
            && accent.1.is_over(&framed.1)
        {
            self.accent = None;
            return self.set(&letter, place);
        }
        self.settle();
        match accents::mark(text) {
            Some(mark) if !self.put_onto_last(mark, place) => {
                self.accent = Some(Accent { text: text.to_owned(), mark, place });
            }
            Some(_) => {}
            None => self.set(text, place),
        }
    }

    /// Puts an accent onto the last letter, if it is drawn over it.
    fn put_onto_last(&mut self, mark: char, place: Place) -> bool {
        let Some((angle, accent)) = framed("", place) else { return false };
        let last =
            self.open.filter(|open| *open == angle).and_then(|open| self.frames.get_mut(&open)?.last_mut());
        let Some(last) = last else { return false };
        let letter = Run { text: String::new(), x: self.last, ..*last };
        let composed = last.text.chars().next_back().and_then(|letter| accents::composed(letter, mark));
        let Some(composed) = composed.filter(|_| accent.is_over(&letter)) else { return false };
        last.text.pop();
        last.text.push(composed);
        true
    }

    /// Takes an accent that belongs to no letter as it is.
    fn settle(&mut self) {
        if let Some(Accent { text, place, .. }) = self.accent.take() {
            self.set(&text, place);
        }
    }

    fn set(&mut self, text: &str, place: Place) {
        // Several characters of one glyph are in the order in which they are read, a run is as it stands.
        let standing = text.chars().nth(1).is_some().then(|| rtl::logical(text));
        let text = standing.as_deref().unwrap_or(text);
        if text.is_empty() {
            return;
        }
        if text.trim().is_empty() {
            self.open = None;
            self.space = framed(text, place);
            return;
        }
        let Some((angle, mut run)) = framed(text, place) else { return };
        // Some producers take spaces back and set words apart by moving the pen.
        run.spaced = self.space.take().is_some_and(|(other, space)| {
            let near = |a: f64, b: f64| (a - b).abs() <= 0.1 * run.size;
            other == angle && near(space.y, run.y) && run.x >= space.end - 0.03 * run.size
        });
        self.bytes += text.len();
        let step = run.x - std::mem::replace(&mut self.last, run.x);
        let frame = self.frames.entry(angle).or_default();
        let last = frame.last_mut().filter(|_| self.open == Some(angle));
        let near = STRUCK_TWICE * run.size;
        match last {
            // Poor man's bold shows each character twice.
            Some(last)
                if step.abs() <= near && (run.y - last.y).abs() <= near && last.text.ends_with(text) =>
            {
                last.end = last.end.max(run.end);
            }
            Some(last) if last.continues(&run) => {
                last.text.push_str(text);
                last.end = last.end.max(run.end);
            }
            _ => {
                self.runs += 1;
                self.open = Some(angle);
                frame.push(run);
            }
        }
        self.full = self.runs >= MAX_RUNS || self.bytes >= MAX_TEXT_BYTES;
    }
}

impl Run {
    /// True if it is drawn over a letter, as an accent is.
    fn is_over(&self, letter: &Self) -> bool {
        let width = (self.end - self.x).min(letter.end - letter.x);
        let both = self.end.min(letter.end) - self.x.max(letter.x);
        width > 0.0 && both >= 0.5 * width && (self.y - letter.y).abs() <= ACCENT_OFF * letter.size
    }

    fn continues(&self, next: &Self) -> bool {
        let em = self.size.min(next.size);
        let gap = next.x - self.end;
        (next.y - self.y).abs() <= 0.1 * em
            && self.size.max(next.size) <= 1.25 * em
            && (-0.3 * em..WORD_GAP * em).contains(&gap)
    }
}

/// Turns a place into the frame of its direction.
fn framed(text: &str, place: Place) -> Option<(i16, Run)> {
    let Place { start, end, direction, size } = place;
    let near = |v: f64| v.abs() < FAR;
    if ![start.x, start.y, end.x, end.y, size].into_iter().all(near) || size <= 0.0 {
        return None;
    }
    let degrees = direction.y.atan2(direction.x).to_degrees();
    if !degrees.is_finite() {
        return None;
    }
    // Text that is meant to be straight is not always exactly so.
    let quarter = (degrees / 90.0).round() * 90.0;
    let degrees = if (degrees - quarter).abs() <= 2.0 { quarter } else { degrees.round() };
    let (sin, cos) = degrees.to_radians().sin_cos();
    let along = |p: Point| p.x * cos + p.y * sin;
    let across = |p: Point| p.y * cos - p.x * sin;
    // Whole degrees of a circle fit.
    let angle = degrees.rem_euclid(360.0) as i16;
    let (x, end) = (along(start), along(end));
    let (x, end) = (x.min(end), x.max(end));
    Some((angle, Run { text: text.to_owned(), x, end, y: across(start), size, spaced: false }))
}

#[cfg(test)]
mod tests {
    use super::{Place, Runs};
    use hayro_font::kurbo::{Point, Vec2};

    fn put(runs: &mut Runs, text: &str, x: f64, y: f64) {
        let place = Place {
            start: Point::new(x, y),
            end: Point::new(x + 5.0, y),
            direction: Vec2::new(1.0, 0.0),
            size: 10.0,
        };
        runs.add(text, place);
    }

    fn texts(runs: Runs) -> Vec<String> {
        runs.into_frames().flat_map(|(_, runs)| runs).map(|run| run.text).collect()
    }

    #[test]
    fn adjacent_characters_join_and_spaces_and_jumps_part() {
        let mut runs = Runs::default();
        put(&mut runs, "a", 0.0, 0.0);
        put(&mut runs, "b", 5.0, 0.0);
        put(&mut runs, " ", 10.0, 0.0);
        put(&mut runs, "c", 15.0, 0.0);
        put(&mut runs, "d", 15.0, 12.0);
        put(&mut runs, "e", 40.0, 12.0);
        assert_eq!(texts(runs), ["ab", "c", "d", "e"]);
    }

    #[test]
    fn characters_that_are_struck_twice_are_one() {
        let mut runs = Runs::default();
        for (text, x) in
            [("b", 0.0), ("i", 5.0), ("l", 10.0), ("l", 15.0), (" ", 20.0), ("1", 25.0), ("1", 30.0)]
        {
            put(&mut runs, text, x, 0.0);
            put(&mut runs, text, x + 0.4, 0.05);
        }
        assert_eq!(texts(runs), ["bill", "11"]);
    }

    #[test]
    fn accents_go_onto_the_letters_that_they_are_drawn_over() {
        let mut runs = Runs::default();
        for (text, x, y) in [
            ("M", 0.0, 0.0),
            ("¨", 5.1, 0.0),
            ("u", 5.0, 0.0),
            ("l", 10.0, 0.0),
            (" ", 15.0, 0.0),
            ("´", 20.0, 2.5),
            ("E", 20.0, 0.0),
            ("c", 25.0, 0.0),
            ("¸", 25.1, 0.0),
            (" ", 30.0, 0.0),
            ("n", 35.0, 0.0),
            ("´", 40.0, 0.0),
            ("t", 45.0, 0.0),
            ("¨", 50.0, 9.0),
            ("a", 50.0, 0.0),
            ("˚", 55.0, 0.0),
        ] {
            put(&mut runs, text, x, y);
        }
        assert_eq!(texts(runs), ["Mül", "Éç", "n´t", "¨", "a˚"]);
    }

    #[test]
    fn replacement_text_stands_where_its_characters_were() {
        let mut runs = Runs::default();
        put(&mut runs, "o", 0.0, 0.0);
        runs.replace_with("ffi".to_owned());
        put(&mut runs, "?", 5.0, 0.0);
        put(&mut runs, "?", 10.0, 0.0);
        runs.end_replacement();
        put(&mut runs, "ce", 15.0, 0.0);
        runs.replace_with("nothing here".to_owned());
        runs.end_replacement();
        assert_eq!(texts(runs), ["office"]);
    }

    #[test]
    fn text_of_one_glyph_that_reads_backwards_stands_turned_in_its_run() {
        let mut runs = Runs::default();
        put(&mut runs, "م", 0.0, 0.0);
        put(&mut runs, "لا", 5.0, 0.0);
        put(&mut runs, "س", 10.0, 0.0);
        assert_eq!(texts(runs), ["سلام".chars().rev().collect::<String>()]);
    }

    #[test]
    fn what_is_nowhere_is_left_out() {
        let mut runs = Runs::default();
        put(&mut runs, "a", f64::NAN, 0.0);
        put(&mut runs, "b", f64::INFINITY, 0.0);
        put(&mut runs, "c", 1e9, 0.0);
        assert!(texts(runs).is_empty());
    }
}
