//! Scaling row by row, so that a large image need not be in memory at once.

use std::collections::VecDeque;
use std::f32::consts::PI;

use super::raster::{Layout, Raster};

/// The maximum number of pixels of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// Along one side.
    pub(super) side: u32,
    /// In all.
    pub(super) area: u64,
}

impl Room {
    /// The largest size of the same shape that fits, never larger than the image.
    pub(super) fn size(self, width: u32, height: u32) -> (u32, u32) {
        let (w, h) = (f64::from(width), f64::from(height));
        let by_side = f64::from(self.side) / w.max(h);
        let by_area = (self.area as f64 / (w * h)).sqrt();
        let factor = by_side.min(by_area);
        if factor >= 1.0 {
            return (width, height);
        }
        // Rounded, but not out of the room.
        let scaled = |side: f64| (side * factor).round().clamp(1.0, f64::from(self.side.max(1))) as u32;
        (scaled(w), scaled(h))
    }
}

/// The reach of the filter, in pixels of the smaller image.
const REACH: f32 = 3.0;

/// Lanczos with three lobes: the sharpest of the usual filters.
fn lanczos(x: f32) -> f32 {
    if x == 0.0 {
        1.0
    } else if x.abs() < REACH {
        let x = x * PI;
        REACH * x.sin() * (x / REACH).sin() / (x * x)
    } else {
        0.0
    }
}

/// Which pixels of one side make each pixel of the smaller one, and how much of each.
#[derive(Debug)]
struct Weights {
    /// The first pixel that counts, and where its weights begin and end.
    spans: Vec<(usize, usize, usize)>,
    weights: Vec<f32>,
}

impl Weights {
    fn new(from: u32, to: u32) -> Self {
        let ratio = from as f32 / to as f32;
        let reach = REACH * ratio.max(1.0);
        let mut spans = Vec::with_capacity(to as usize);
        let mut weights = Vec::new();
        for index in 0..to {
            let centre = (index as f32 + 0.5) * ratio;
            let first = (centre - reach).floor().max(0.0) as u32;
            let last = ((centre + reach).ceil() as u32).min(from);
            let start = weights.len();
            weights.extend((first..last).map(|at| lanczos((at as f32 + 0.5 - centre) / ratio.max(1.0))));
            let new = weights.get_mut(start..).unwrap_or_default();
            let sum: f32 = new.iter().sum();
            new.iter_mut().for_each(|weight| *weight /= sum);
            spans.push((first as usize, start, weights.len()));
        }
        Self { spans, weights }
    }

    fn get(&self, index: usize) -> Option<(usize, &[f32])> {
        let (first, start, end) = *self.spans.get(index)?;
        Some((first, self.weights.get(start..end)?))
    }
}

/// Takes the rows of an image one by one and makes a smaller one of them.
#[derive(Debug)]
pub(super) struct Scaler {
    raster: Raster,
    from: (u32, u32),
    /// The number of rows that came in.
    rows: u32,
    /// `None` if the size stays.
    work: Option<Work>,
}

#[derive(Debug)]
struct Work {
    columns: Weights,
    lines: Weights,
    /// The row that came in, and what is left of it after scaling its width.
    wide: Vec<f32>,
    narrow: Vec<f32>,
    /// The rows under construction, from the first that is not finished.
    open: VecDeque<Vec<f32>>,
    finished: usize,
}

impl Scaler {
    pub(super) fn new(layout: Layout, from: (u32, u32), to: (u32, u32)) -> Self {
        let (width, height) = to;
        let samples = width as usize * height as usize * layout.channels();
        let raster = Raster { width, height, layout, data: Vec::with_capacity(samples) };
        let work = (from != to).then(|| Work {
            columns: Weights::new(from.0, width),
            lines: Weights::new(from.1, height),
            wide: Vec::new(),
            narrow: Vec::new(),
            open: VecDeque::new(),
            finished: 0,
        });
        Self { raster, from, rows: 0, work }
    }

    /// The number of rows that came in.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Takes the next row. One that is too short is filled with zeros; what is too much is left out.
    pub(super) fn push(&mut self, row: &[u8]) {
        if self.rows >= self.from.1 {
            return;
        }
        let layout = self.raster.layout;
        let wanted = self.from.0 as usize * layout.channels();
        let row = row.get(..wanted).unwrap_or(row);
        match &mut self.work {
            None => {
                self.raster.data.extend_from_slice(row);
                self.raster.data.extend(std::iter::repeat_n(0, wanted - row.len()));
            }
            Some(work) => {
                work.take(row, wanted, layout);
                work.add(self.rows as usize, &mut self.raster);
            }
        }
        self.rows += 1;
    }

    /// The image; rows that did not come in are white.
    pub(super) fn finish(mut self) -> Raster {
        let white = if self.raster.layout == Layout::Cmyk { 0 } else { u8::MAX };
        let blank = vec![white; self.from.0 as usize * self.raster.layout.channels()];
        while self.rows < self.from.1 {
            self.push(&blank);
        }
        self.raster
    }
}

impl Work {
    /// Scales the width of a row.
    fn take(&mut self, row: &[u8], wanted: usize, layout: Layout) {
        self.wide.clear();
        if layout.has_alpha() {
            // Invisible pixels must not shine into visible ones.
            for pixel in row.chunks_exact(layout.channels()) {
                let Some((alpha, colours)) = pixel.split_last() else { continue };
                let alpha = f32::from(*alpha);
                self.wide.extend(colours.iter().map(|colour| f32::from(*colour) * alpha / 255.0));
                self.wide.push(alpha);
            }
        } else {
            self.wide.extend(row.iter().map(|sample| f32::from(*sample)));
        }
        self.wide.resize(wanted, 0.0);
        self.narrow.clear();
        match layout.channels() {
            1 => narrow::<1>(&self.wide, &self.columns, &mut self.narrow),
            2 => narrow::<2>(&self.wide, &self.columns, &mut self.narrow),
            3 => narrow::<3>(&self.wide, &self.columns, &mut self.narrow),
            _ => narrow::<4>(&self.wide, &self.columns, &mut self.narrow),
        }
    }

    /// Adds the row to every row of the smaller image that it is a part of.
    fn add(&mut self, row: usize, raster: &mut Raster) {
        let mut index = self.finished;
        while let Some((first, weights)) = self.lines.get(index) {
            let Some(offset) = row.checked_sub(first) else { break };
            let place = index - self.finished;
            if place == self.open.len() {
                self.open.push_back(vec![0.0; self.narrow.len()]);
            }
            if let (Some(open), Some(weight)) = (self.open.get_mut(place), weights.get(offset)) {
                for (sum, sample) in open.iter_mut().zip(&self.narrow) {
                    *sum += sample * weight;
                }
            }
            index += 1;
        }
        while let Some((first, weights)) = self.lines.get(self.finished)
            && first + weights.len() <= row + 1
            && let Some(sums) = self.open.pop_front()
        {
            self.finished += 1;
            round(&sums, raster);
        }
    }
}

/// Scales the width of a row of pixels with `N` channels.
fn narrow<const N: usize>(wide: &[f32], columns: &Weights, out: &mut Vec<f32>) {
    let (pixels, _) = wide.as_chunks::<N>();
    for &(first, start, end) in &columns.spans {
        let weights = columns.weights.get(start..end).unwrap_or_default();
        let mut sums = [0.0_f32; N];
        for (pixel, weight) in pixels.get(first..).unwrap_or_default().iter().zip(weights) {
            for (sum, sample) in sums.iter_mut().zip(pixel) {
                *sum += sample * weight;
            }
        }
        out.extend_from_slice(&sums);
    }
}

/// Adds a finished row.
fn round(sums: &[f32], raster: &mut Raster) {
    let byte = |value: f32| (value + 0.5).clamp(0.0, 255.0) as u8;
    if !raster.layout.has_alpha() {
        raster.data.extend(sums.iter().map(|sum| byte(*sum)));
        return;
    }
    for pixel in sums.chunks_exact(raster.layout.channels()) {
        let Some((alpha, colours)) = pixel.split_last() else { continue };
        let share = if *alpha > 0.5 { 255.0 / alpha } else { 0.0 };
        raster.data.extend(colours.iter().map(|colour| byte(colour * share)));
        raster.data.push(byte(*alpha));
    }
}

/// A raster in another size.
pub(super) fn scaled(raster: &Raster, to: (u32, u32)) -> Raster {
    let mut scaler = Scaler::new(raster.layout, (raster.width, raster.height), to);
    raster.rows().for_each(|row| scaler.push(row));
    scaler.finish()
}

#[cfg(test)]
mod tests {
    use super::{Layout, Raster, Room, Scaler, scaled};

    #[test]
    fn the_size_keeps_the_shape_and_stays_in_the_room() {
        let room = |side, area| Room { side, area };
        assert_eq!(room(1568, u64::MAX).size(9000, 6000), (1568, 1045));
        assert_eq!(room(8000, 16 << 20).size(8192, 8192), (4096, 4096));
        assert_eq!(room(8000, 16 << 20).size(640, 480), (640, 480));
        assert_eq!(room(100, u64::MAX).size(65_000, 3), (100, 1));
    }

    #[test]
    fn one_colour_stays_that_colour() {
        for layout in [Layout::Gray, Layout::GrayAlpha, Layout::Rgb, Layout::Rgba, Layout::Cmyk] {
            let pixel = &[10, 200, 77, 255][4 - layout.channels()..];
            let data = pixel.repeat(101 * 37);
            let raster = scaled(&Raster { width: 101, height: 37, layout, data }, (13, 5));
            assert_eq!(raster.data, pixel.repeat(13 * 5), "{layout:?}");
        }
    }

    #[test]
    fn fine_stripes_become_their_mean_and_coarse_ones_stay() {
        let stripes = |period: usize| {
            let data =
                (0..800 * 8).map(|at| if (at % 800 / period).is_multiple_of(2) { 0 } else { 255 }).collect();
            scaled(&Raster { width: 800, height: 8, layout: Layout::Gray, data }, (100, 1))
        };
        // A nearest neighbour would be black or white here.
        assert!(stripes(1).data.iter().all(|sample| sample.abs_diff(127) < 8), "{:?}", stripes(1).data);
        let coarse = stripes(100).data;
        assert!(coarse[4..8].iter().all(|sample| *sample < 20), "{coarse:?}");
        assert!(coarse[16..20].iter().all(|sample| *sample > 235), "{coarse:?}");
    }

    #[test]
    fn what_cannot_be_seen_does_not_shine_through() {
        // Half of it red and clear, half of it blue and solid.
        let data = [[255, 0, 0, 0], [0, 0, 255, 255]].concat().repeat(64 * 64);
        let raster = scaled(&Raster { width: 128, height: 64, layout: Layout::Rgba, data }, (16, 8));
        for pixel in raster.pixels() {
            assert_eq!(&pixel[..3], [0, 0, 255], "{pixel:?}");
            assert!(pixel[3].abs_diff(127) < 10, "{pixel:?}");
        }
    }

    #[test]
    fn missing_rows_are_white_and_short_ones_are_filled() {
        let mut scaler = Scaler::new(Layout::Rgb, (2, 4), (2, 4));
        scaler.push(&[1, 2, 3, 4, 5, 6]);
        scaler.push(&[7]);
        assert_eq!(scaler.rows(), 2);
        assert_eq!(scaler.finish().data, [&[1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0][..], &[255; 12]].concat());
        let halved = Scaler::new(Layout::Cmyk, (2, 4), (1, 2)).finish();
        assert_eq!(halved.data, [0; 8]);
    }
}
