//! The pages, sheets and rows of a text, by the markers that converters write.

use attache_core::citation::Place;

/// A text's markers, and what repeats on its pages.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    marks: Vec<Mark>,
    /// Pieces that are no words of the document itself: markers, and headers that run from page to page.
    pub(crate) skipped: Vec<(usize, usize)>,
    /// The last page.
    pub(crate) pages: u32,
}

#[derive(Debug)]
struct Mark {
    at: usize,
    what: What,
}

#[derive(Debug)]
enum What {
    Page(u32),
    Sheet(String),
    /// A table by itself, such as CSV.
    Other,
}

/// A header or footer stands on so many pages at least.
const RUNNING: usize = 3;

impl Layout {
    pub(crate) fn of(text: &str) -> Self {
        let mut layout = Self::default();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if let Some(what) = marker(line.trim_end()) {
                if let What::Page(number) = what {
                    layout.pages = layout.pages.max(number);
                }
                layout.marks.push(Mark { at, what });
                layout.skipped.push((at, at + line.len()));
            }
            at += line.len();
        }
        layout.skip_headers(text);
        layout
    }

    /// The first and the last line of each page, where they say the same as on other pages, numbers apart. They count
    /// where they stand first.
    fn skip_headers(&mut self, text: &str) {
        let is_page = |mark: &&Mark| matches!(mark.what, What::Page(_));
        if self.marks.iter().filter(is_page).count() < RUNNING {
            return;
        }
        let mut edges: Vec<(String, usize, usize)> = Vec::new();
        let ends = self.marks.iter().skip(1).map(|mark| mark.at).chain([text.len()]);
        for (mark, end) in self.marks.iter().zip(ends) {
            let Some(page) = text.get(mark.at..end).filter(|_| matches!(mark.what, What::Page(_))) else {
                continue;
            };
            let mut at = mark.at;
            let mut lines: Vec<(usize, &str)> = Vec::new();
            for line in page.split_inclusive('\n') {
                if at > mark.at && !line.trim().is_empty() {
                    lines.push((at, line));
                }
                at += line.len();
            }
            // A page of two lines is all edge.
            if lines.len() < RUNNING {
                continue;
            }
            for (at, line) in lines.first().into_iter().chain(lines.last()) {
                let said: String = line.trim().chars().filter(|char| !char.is_ascii_digit()).collect();
                edges.push((said, *at, line.len()));
            }
        }
        edges.sort();
        for same in edges.chunk_by(|one, other| one.0 == other.0).filter(|same| same.len() >= RUNNING) {
            self.skipped.extend(same.iter().skip(1).map(|(_, at, len)| (*at, at + len)));
        }
        self.skipped.sort_unstable();
    }

    /// The place of a piece of the text.
    pub(crate) fn place(&self, text: &str, start: usize, end: usize) -> Option<Place> {
        let first = self.mark(start)?;
        match &first.what {
            What::Page(from) => match self.mark(end.saturating_sub(1)).map(|mark| &mark.what) {
                Some(What::Page(to)) => Some(Place::Pages(*from, *to)),
                _ => Some(Place::Pages(*from, *from)),
            },
            What::Sheet(sheet) => Some(Place::Cell { sheet: sheet.clone(), range: cells(text, start, end)? }),
            What::Other => None,
        }
    }

    fn mark(&self, at: usize) -> Option<&Mark> {
        self.marks.get(self.marks.partition_point(|mark| mark.at <= at).checked_sub(1)?)
    }

    /// The start of the page or sheet of a place.
    pub(crate) fn unit_start(&self, at: usize) -> usize {
        self.mark(at).map_or(0, |mark| mark.at)
    }
}

/// `[page 3]`, `[slide 3: Title]`, `[sheet 2: Budget]`, `[sheet 2: Budget, hidden]`.
fn marker(line: &str) -> Option<What> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (kind, rest) = inner.split_once(' ')?;
    let (number, name) = rest.split_once(':').unwrap_or((rest, ""));
    let digits = number.split(|char: char| !char.is_ascii_digit()).next()?;
    let number: u32 = digits.parse().ok()?;
    let name = name.trim();
    match (kind, name.strip_suffix(", hidden").unwrap_or(name)) {
        ("page" | "slide", _) => Some(What::Page(number)),
        ("sheet", "" | "hidden") => Some(What::Sheet(number.to_string())),
        ("sheet", name) => Some(What::Sheet(name.to_owned())),
        ("part" | "chapter" | "section", _) => Some(What::Other),
        _ => None,
    }
}

/// The cells of a piece of rows that stand as `7: one | two`.
fn cells(text: &str, start: usize, end: usize) -> Option<String> {
    let (first, column) = cell(text, start)?;
    let (last, _) = cell(text, end.saturating_sub(1)).unwrap_or((first, 0));
    let (_, until) = cell(text, end).unwrap_or((first, column));
    if first != last {
        return Some(format!("{first}:{last}"));
    }
    let (from, to) = (letters(column), letters(until.max(column)));
    Some(if from == to { format!("{from}{first}") } else { format!("{from}{first}:{to}{first}") })
}

/// The row of a place, from 1, and its column, from 0.
fn cell(text: &str, at: usize) -> Option<(usize, usize)> {
    let at = text.floor_char_boundary(at.min(text.len()));
    let line = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(line..)?;
    let (row, _) = line.split_once(": ")?;
    let before = text.get(line.as_ptr().addr() - text.as_ptr().addr()..at)?;
    Some((row.parse().ok()?, before.matches(" | ").count()))
}

fn letters(column: usize) -> String {
    let mut name = Vec::new();
    let mut left = column + 1;
    while left > 0 {
        name.push(char::from(b'A' + u8::try_from((left - 1) % 26).unwrap_or_default()));
        left = (left - 1) / 26;
    }
    name.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::{Layout, letters};
    use attache_core::citation::Place;

    fn place(text: &str, piece: &str) -> Option<Place> {
        let start = text.find(piece).unwrap();
        Layout::of(text).place(text, start, start + piece.len())
    }

    #[test]
    fn pages_and_cells() {
        let text = "[page 1]\none\n[page 2]\ntwo\nthree\n[page 3]\nfour\n";
        assert_eq!(place(text, "two"), Some(Place::Pages(2, 2)));
        assert_eq!(place(text, "three\n[page 3]\nfour"), Some(Place::Pages(2, 3)));
        let text = "[sheet 1: Budget]\n1: Item | Cost\n7: Rent | 900\n";
        let cell = |range: &str| Some(Place::Cell { sheet: "Budget".into(), range: range.into() });
        assert_eq!(place(text, "900"), cell("B7"));
        assert_eq!(place(text, "Rent | 900"), cell("A7:B7"));
        assert_eq!(place(text, "Item | Cost\n7: Rent"), cell("1:7"));
        let hidden = |marker: &str| place(&format!("[sheet 2{marker}]\n1: Rent | 900\n"), "900");
        assert_eq!(
            hidden(": Budget, hidden"),
            Some(Place::Cell { sheet: "Budget".into(), range: "B1".into() })
        );
        assert_eq!(hidden(": hidden"), Some(Place::Cell { sheet: "2".into(), range: "B1".into() }));
        assert_eq!(place("no markers", "no"), None);
        assert_eq!(
            (letters(0), letters(25), letters(26), letters(701)),
            ("A".into(), "Z".into(), "AA".into(), "ZZ".into())
        );
    }

    #[test]
    fn running_headers_count_once() {
        let page = |number: u32| {
            format!("[page {number}]\nACME Ltd, page {number}\ntext {number}\nmore {number} text\n")
        };
        let text: String = (1..=4).map(page).collect();
        let skipped = Layout::of(&text).skipped;
        let said: Vec<&str> = skipped.iter().map(|(start, end)| text[*start..*end].trim()).collect();
        assert_eq!(said.iter().filter(|line| line.starts_with("ACME")).count(), 3);
    }
}
