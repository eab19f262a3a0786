//! The lines of a table by columns, and which of them begin a row.

/// Lines closer than this, relative to their letters, stand beside each other: cells of different heights.
const BESIDE: f64 = 0.95;

/// Lines of one cell are no further apart than this; lines of two rows are further apart by this factor.
pub(super) const MAX_LEADING: f64 = 1.9;
const ROW_FACTOR: f64 = 1.08;

/// Most lines of a row.
const MAX_ROW: usize = 30;

/// Texts of one height of a table, by columns.
#[derive(Debug)]
pub(super) struct Strip {
    pub(super) y: f64,
    pub(super) size: f64,
    pub(super) entries: Vec<Entry>,
}

/// A text in a column.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) x: f64,
    pub(super) end: f64,
}

/// Which lines of a table begin a row; `parted` says whether a line is drawn above the one of this number.
pub(super) fn starts(strips: &[Strip], parted: impl Fn(usize) -> bool) -> Vec<bool> {
    let table = Measures::of(strips);
    let beside: Vec<bool> = (0..strips.len()).map(|at| at > 0 && table.lead(at) < BESIDE).collect();
    let is_beside = |at: usize| beside.get(at) == Some(&true);
    let all = || 0..strips.len();
    let drawn = all().skip(1).filter(|at| parted(*at)).count();
    if drawn >= 2 && drawn * 5 >= strips.len() {
        let starts: Vec<bool> = all().map(|at| at == 0 || parted(at)).collect();
        if table.are_rows(&starts) {
            return starts;
        }
    }
    // Lines of a cell stand closer together than rows do.
    let mut leads: Vec<f64> = all().skip(1).filter(|at| !is_beside(*at)).map(|at| table.lead(at)).collect();
    leads.sort_by(f64::total_cmp);
    let step = leads.windows(2).find_map(|pair| match pair {
        [small, large] if *small <= MAX_LEADING && large / small >= ROW_FACTOR => Some((small + large) / 2.0),
        _ => None,
    });
    if let Some(step) = step {
        let starts: Vec<bool> =
            all().map(|at| at == 0 || (!is_beside(at) && table.lead(at) > step)).collect();
        let close: Vec<usize> =
            all().filter(|at| starts.get(*at) == Some(&false) && !is_beside(*at)).collect();
        let go_on = close.iter().filter(|at| table.may_go_on(**at, &starts)).count();
        if go_on * 10 >= close.len() * 7 && table.are_rows(&starts) {
            return starts;
        }
    }
    let mut first = 0;
    all()
        .map(|at| {
            let goes_on = is_beside(at) || (table.entries(first).len() > 1 && table.goes_on(at));
            if at > 0 && goes_on {
                return false;
            }
            first = at;
            true
        })
        .collect()
}

/// Figures of a table that its rows are told by.
struct Measures<'s> {
    strips: &'s [Strip],
    size: f64,
    /// The width of each column.
    widths: Vec<f64>,
}

impl<'s> Measures<'s> {
    fn of(strips: &'s [Strip]) -> Self {
        let mut sizes: Vec<f64> = strips.iter().map(|strip| strip.size).collect();
        sizes.sort_by(f64::total_cmp);
        let size = sizes.get(sizes.len() / 2).copied().unwrap_or(1.0);
        let mut widths: Vec<f64> = Vec::new();
        for entry in strips.iter().flat_map(|strip| &strip.entries) {
            if widths.len() <= entry.column {
                widths.resize(entry.column + 1, 0.0);
            }
            if let Some(width) = widths.get_mut(entry.column) {
                *width = width.max(entry.end - entry.x);
            }
        }
        Self { strips, size, widths }
    }

    fn entries(&self, at: usize) -> &'s [Entry] {
        self.strips.get(at).map(|strip| strip.entries.as_slice()).unwrap_or_default()
    }

    /// The distance of a line from the one above, relative to the letters.
    fn lead(&self, at: usize) -> f64 {
        match (at.checked_sub(1).and_then(|above| self.strips.get(above)), self.strips.get(at)) {
            (Some(above), Some(below)) => (above.y - below.y) / self.size,
            _ => f64::INFINITY,
        }
    }

    /// True if groups of lines can be rows: no column of one holds several numbers, and none is very high.
    fn are_rows(&self, starts: &[bool]) -> bool {
        let mut numbers: Vec<usize> = Vec::new();
        let mut high = 0;
        for (strip, starts) in self.strips.iter().zip(starts) {
            if *starts {
                numbers.clear();
                high = 0;
            }
            high += 1;
            for entry in strip.entries.iter().filter(|entry| is_number(&entry.text)) {
                if numbers.contains(&entry.column) {
                    return false;
                }
                numbers.push(entry.column);
            }
            if high > MAX_ROW {
                return false;
            }
        }
        true
    }

    /// True if the text of a column would not have fitted behind the one above it.
    fn is_wrapped(&self, above: &Entry, below: &Entry) -> bool {
        let width = self.widths.get(below.column).copied().unwrap_or(0.0);
        let letters = below.text.chars().count().max(1);
        let word = below.text.split(' ').next().unwrap_or_default().chars().count();
        // Widths of letters are not known here, and words of narrow ones are short.
        let word = (below.end - below.x) * word as f64 / letters as f64;
        above.end - above.x + 0.2 * self.size + word > 0.97 * width
    }

    /// The number of texts of a line that stand below one of the line above, and whether all these were wrapped from
    /// it.
    fn wrapped(&self, at: usize) -> (usize, bool) {
        let above = at.checked_sub(1).map(|above| self.entries(above)).unwrap_or_default();
        let pairs = self.entries(at).iter().filter_map(|below| {
            let above = above.iter().find(|above| above.column == below.column)?;
            Some(self.is_wrapped(above, below))
        });
        pairs.fold((0, true), |(count, all), wrapped| (count + 1, all && wrapped))
    }

    /// True if a line that stands close to the one above may belong to its row.
    fn may_go_on(&self, at: usize, starts: &[bool]) -> bool {
        let first = (0..at).rev().find(|at| starts.get(*at) == Some(&true)).unwrap_or(0);
        let fullest = (first..at).map(|at| self.entries(at).len()).max().unwrap_or(0);
        self.entries(at).len() < fullest || matches!(self.wrapped(at), (1.., true))
    }

    /// True if a line goes on with the row above, where rows stand no further apart than lines do.
    fn goes_on(&self, at: usize) -> bool {
        let entries = self.entries(at);
        let Some(above) = at.checked_sub(1).map(|above| self.entries(above)) else { return false };
        if self.lead(at) > MAX_LEADING
            || entries.is_empty()
            || entries.iter().any(|entry| is_number(&entry.text))
            || self.wrapped(at) != (entries.len(), true)
        {
            return false;
        }
        let first = above.iter().any(|entry| entry.column == 0);
        let fewer = entries.len() < self.widths.len() && entries.len() <= above.len();
        match entries {
            [entry] if entry.column == 0 => {
                first && entry.text.chars().next().is_some_and(|c| c.is_lowercase() || c == '(')
            }
            entries => fewer && entries.iter().all(|entry| entry.column > 0),
        }
    }
}

/// True if a text is a number, with its unit or currency.
pub(super) fn is_number(text: &str) -> bool {
    let (mut digits, mut letters) = (0_usize, 0_usize);
    for c in text.chars() {
        digits += usize::from(c.is_ascii_digit());
        letters += usize::from(c.is_alphabetic());
    }
    digits > 0 && letters <= 3 && letters < 2 * digits
}
