//! The places of a passage on a page.
//!
//! The letters of the page are held against those of the passage, without what stands between them: spaces, hyphens at
//! the ends of lines and the separators of cells are not alike in two readings of one page.

use hayro_font::kurbo::{Point, Rect, Vec2};
use hayro_syntax::Pdf;
use hayro_syntax::page::Page;
use memchr::memmem::Finder;

use super::font::Fonts;
use super::layers::Layers;
use super::page;
use super::rows::rows;
use super::rtl;
use super::runs::Run;
use crate::guarded::Clock;
use crate::{ConvertError, Limits, PageArea};

/// The letters of a piece of a passage that is looked for by itself, at least.
const PIECE: usize = 12;

/// A passage of so many letters may begin or end inside a word: scripts without spaces have long runs.
const LONG: usize = 8;

/// The distance that a mark reaches above and below the baseline, relative to the letters.
const ABOVE: f64 = 0.8;
const BELOW: f64 = 0.22;

/// Words that are further apart than this, relative to their letters, have marks of their own.
const APART: f64 = 1.5;

/// The places of a passage on a page; none if its words are not there.
pub(crate) fn areas<'a>(
    pdf: &Pdf,
    page: &Page<'a>,
    passage: &str,
    limits: &Limits,
    clock: Clock,
) -> Result<Vec<PageArea>, ConvertError> {
    let mut fonts = Fonts::new(limits.max_decoded_bytes, clock);
    let found = page::read(page, &mut fonts, &Layers::of(pdf), limits.max_decoded_bytes, clock)?;
    let frames: Vec<(i16, Vec<Run>)> = found.runs.into_frames().collect();
    // Prose is mostly shown in the order in which it is read, a table row by row.
    let shown = Letters::of(frames.iter().flat_map(|(angle, runs)| runs.iter().map(|run| (*angle, run))));
    let whole = folded(passage);
    let mut places = shown.find(&whole, clock)?.into_iter().collect::<Vec<_>>();
    let mut lined = Vec::new();
    let mut seen = None;
    if places.is_empty() {
        for (angle, runs) in &frames {
            let rows = rows(runs.clone(), clock)?;
            lined.extend(rows.into_iter().flat_map(|row| row.into_runs()).map(|run| (*angle, run)));
        }
        let lines = seen.insert(Letters::of(lined.iter().map(|(angle, run)| (*angle, run))));
        places.extend(lines.find(&whole, clock)?);
        if places.is_empty() {
            for piece in pieces(passage) {
                let found = match shown.find(&piece, clock)? {
                    None => lines.find(&piece, clock)?,
                    found => found,
                };
                places.extend(found);
            }
        }
    }
    let (width, height) = page.render_dimensions();
    let size = (f64::from(width), f64::from(height));
    Ok(places.into_iter().flat_map(|place| marks(&place)).filter_map(|mark| mark.area(size)).collect())
}

/// The pieces of a passage that may stand apart: it may leave words out, and run over cells and pages.
fn pieces(passage: &str) -> impl Iterator<Item = String> {
    let lines =
        passage.split(['\n', '…', '|']).flat_map(|line| line.split("...")).flat_map(|line| line.split(". "));
    lines.map(folded).filter(|piece| piece.chars().count() >= PIECE)
}

/// The letters and digits of a text in small letters, and nothing else.
fn folded(text: &str) -> String {
    text.chars().flat_map(letters).collect()
}

fn letters(c: char) -> impl Iterator<Item = char> {
    let ligature = match c {
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' | 'ﬆ' => "st",
        _ => "",
    };
    let is_letter = ligature.is_empty() && c.is_alphanumeric();
    ligature.chars().chain(c.to_lowercase().filter(move |_| is_letter))
}

/// A letter of a run: from where to where it goes, as parts of the run.
#[derive(Clone, Copy)]
struct Spot<'r> {
    angle: i16,
    run: &'r Run,
    from: f64,
    to: f64,
    /// True if a word begins, or ends, with it.
    begins: bool,
    ends: bool,
}

/// The letters of a page in an order, each byte of them with its spot.
struct Letters<'r> {
    text: String,
    spots: Vec<Spot<'r>>,
}

impl<'r> Letters<'r> {
    fn of(runs: impl Iterator<Item = (i16, &'r Run)>) -> Self {
        let mut all = Self { text: String::new(), spots: Vec::new() };
        for (angle, run) in runs {
            all.add(angle, run);
        }
        all
    }

    fn add(&mut self, angle: i16, run: &'r Run) {
        let logical = rtl::logical(&run.text);
        let count = logical.chars().count() as f64;
        // The letters of a run that was turned around stand elsewhere in it.
        let is_turned = *logical != *run.text;
        let mut before = false;
        let begin = self.spots.len();
        let mut chars = logical.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            let at = at as f64;
            let (from, to) = if is_turned { (0.0, 1.0) } else { (at / count, (at + 1.0) / count) };
            let is_letter = letters(c).next().is_some();
            let ends = chars.peek().is_none_or(|(_, next)| letters(*next).next().is_none());
            for letter in letters(c) {
                self.text.push(letter);
                let spot = Spot { angle, run, from, to, begins: !before, ends };
                self.spots.extend(std::iter::repeat_n(spot, letter.len_utf8()));
            }
            before = is_letter;
        }
        // The signs at the ends of a word are marked with it: nobody knows how wide they are.
        let own = self.spots.get_mut(begin..).unwrap_or_default();
        let (first, last) = (own.first().map(|spot| spot.from), own.last().map(|spot| spot.to));
        for spot in own {
            spot.from = if Some(spot.from) == first { 0.0 } else { spot.from };
            spot.to = if Some(spot.to) == last { 1.0 } else { spot.to };
        }
    }

    /// The first place at which the letters stand, as whole words if they do.
    fn find(&self, wanted: &str, clock: Clock) -> Result<Option<Vec<Spot<'r>>>, ConvertError> {
        clock.check()?;
        if wanted.is_empty() {
            return Ok(None);
        }
        let finder = Finder::new(wanted);
        let mut from = 0;
        let mut first = None;
        while let Some(at) = self.text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
            // Where one letter stands again and again, it is found at each place.
            clock.check()?;
            let Some(place) = self.spots.get(from + at..from + at + wanted.len()) else { break };
            if place.first().is_some_and(|spot| spot.begins) && place.last().is_some_and(|spot| spot.ends) {
                return Ok(Some(place.to_vec()));
            }
            first = first.or(Some(place));
            from += at + 1;
        }
        Ok(first.filter(|_| wanted.chars().nth(LONG - 1).is_some()).map(<[_]>::to_vec))
    }
}

/// A stretch of a line, in the frame of its direction.
struct Mark {
    angle: i16,
    from: f64,
    to: f64,
    y: f64,
    size: f64,
}

/// The stretches of lines that letters cover.
fn marks(place: &[Spot<'_>]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for run in place.chunk_by(|a, b| std::ptr::eq(a.run, b.run)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let Run { x, end, y, size, .. } = *first.run;
        let long = end - x;
        let next = Mark { angle: first.angle, from: x + first.from * long, to: x + last.to * long, y, size };
        match marks.last_mut().filter(|mark| mark.goes_on(&next)) {
            Some(mark) => mark.take(&next),
            None => marks.push(next),
        }
    }
    marks
}

impl Mark {
    fn goes_on(&self, next: &Self) -> bool {
        let size = self.size.max(next.size);
        let gap = (next.from - self.to).max(self.from - next.to);
        self.angle == next.angle && (self.y - next.y).abs() <= 0.4 * size && gap <= APART * size
    }

    fn take(&mut self, next: &Self) {
        (self.from, self.to) = (self.from.min(next.from), self.to.max(next.to));
        if next.size > self.size {
            (self.y, self.size) = (next.y, next.size);
        }
    }

    /// The place on a page of this size.
    fn area(&self, (width, height): (f64, f64)) -> Option<PageArea> {
        let (sin, cos) = f64::from(self.angle).to_radians().sin_cos();
        let turned = |x: f64, y: f64| Point::ORIGIN + Vec2::new(x * cos - y * sin, x * sin + y * cos);
        let (low, high) = (self.y - BELOW * self.size, self.y + ABOVE * self.size);
        let a = Rect::from_points(turned(self.from, low), turned(self.to, high));
        let b = Rect::from_points(turned(self.from, high), turned(self.to, low));
        let bounds = a.union(b).intersect(Rect::new(0.0, 0.0, width, height));
        (bounds.width() > 0.0 && bounds.height() > 0.0).then(|| PageArea {
            left: bounds.x0 / width,
            top: 1.0 - bounds.y1 / height,
            width: bounds.width() / width,
            height: bounds.height() / height,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn run(text: &str, x: f64, y: f64) -> Run {
        let end = x + 5.0 * text.chars().count() as f64;
        Run { text: text.to_owned(), x, end, y, size: 10.0, spaced: true }
    }

    fn found(runs: &[Run], passage: &str) -> Vec<(f64, f64, f64)> {
        let letters = Letters::of(runs.iter().map(|run| (0, run)));
        let clock = Clock::start(Duration::from_secs(60));
        let place = letters.find(&folded(passage), clock).unwrap().unwrap_or_default();
        marks(&place).iter().map(|mark| (mark.from, mark.to, mark.y)).collect()
    }

    #[test]
    fn a_passage_is_marked_line_by_line_whatever_stands_between_its_letters() {
        let runs = [
            run("1900", 0.0, 30.0),
            run("The", 0.0, 20.0),
            run("ﬁrst", 20.0, 20.0),
            run("agree-", 200.0, 20.0),
            run("ment,", 0.0, 8.0),
            run("900", 30.0, 8.0),
        ];
        let lines = [(0.0, 40.0, 20.0), (200.0, 230.0, 20.0), (0.0, 25.0, 8.0)];
        assert_eq!(found(&runs, "“THE first | agreement”"), lines);
        // A number is no part of another one.
        assert_eq!(found(&runs, "900"), [(30.0, 45.0, 8.0)]);
        assert_eq!(found(&runs, "90"), []);
        assert_eq!(found(&runs, "…"), []);
    }

    #[test]
    fn one_letter_again_and_again_takes_no_longer_than_it_may() {
        let runs = [run(&"a".repeat(1 << 20), 0.0, 0.0)];
        let letters = Letters::of(runs.iter().map(|run| (0, run)));
        let begun = Instant::now();
        let found = letters.find(&"a".repeat(1 << 19), Clock::start(Duration::from_millis(300)));
        assert!(
            matches!(found, Err(ConvertError::TimedOut { .. })),
            "{:?}",
            found.map(|found| found.is_some())
        );
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_part_of_a_line_without_spaces_is_marked_by_itself() {
        let runs = [run("本契約は二年間有効であり自動的に更新される", 0.0, 0.0)];
        assert_eq!(found(&runs, "二年間有効であり"), [(20.0, 60.0, 0.0)]);
    }

    #[test]
    fn text_that_runs_upwards_is_marked_upwards() {
        let mark = Mark { angle: 90, from: 20.0, to: 60.0, y: -50.0, size: 10.0 };
        let area = mark.area((100.0, 100.0)).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // The letters stand on a line 50 points from the left, to the left of it.
        assert!(close(area.left, 0.42) && close(area.width, 0.102), "{area:?}");
        assert!(close(area.top, 0.4) && close(area.height, 0.4), "{area:?}");
        assert_eq!(Mark { from: -9.0, to: -2.0, ..mark }.area((100.0, 100.0)), None);
    }
}
