//! A document's text, and where its lines and units are.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use attache_core::converter::ConvertedText;

/// The text of a document, to be read in parts.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) text: Arc<str>,
    /// The words of the fence about it.
    pub(super) about: Vec<String>,
    units: Option<Divided>,
    /// The units that hold nothing but markers, ascending.
    without_text: Vec<usize>,
    /// The units that images cover, whose text does not say what they show, ascending.
    covered: Vec<usize>,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
}

/// The units that a document is divided into.
#[derive(Debug)]
struct Divided {
    name: Cow<'static, str>,
    starts: Vec<usize>,
    total: usize,
}

impl Reading {
    /// Text, with lines of at most `max_line` bytes: longer ones count as several.
    pub(super) fn new(text: Arc<str>, about: Vec<String>, max_line: usize) -> Self {
        let lines = line_starts(&text, max_line);
        Self { text, about, units: None, without_text: Vec::new(), covered: Vec::new(), lines }
    }

    /// Text that a converter made.
    pub(crate) fn converted(converted: ConvertedText, from: &str, max_line: usize) -> Self {
        let commented = converted.units_with_comments();
        let mut without_text = converted.units_without_text();
        without_text.retain(|unit| commented.binary_search(unit).is_err());
        let ConvertedText { text, notes, units, .. } = converted;
        let about = [format!("text converted from {from}")].into_iter().chain(notes).collect();
        // Units that do not fit the text could not be cited, so there are none then.
        let fits = |starts: &[usize]| {
            starts.is_sorted()
                && starts.iter().all(|start| text.is_char_boundary(*start))
                && !starts.is_empty()
        };
        let units = units.filter(|units| fits(&units.starts));
        let covered = units.as_ref().map(|units| units.covered.clone()).unwrap_or_default();
        let units = units.map(|units| Divided {
            total: units.total.max(units.starts.len()),
            name: units.name,
            starts: units.starts,
        });
        Self { units, without_text, covered, ..Self::new(text, about, max_line) }
    }

    /// The names of one of its units and of many; `None` if it has none.
    pub(crate) fn unit_name(&self, many: bool) -> Option<Cow<'_, str>> {
        let name = &self.units.as_ref()?.name;
        Some(if many { Cow::Owned(format!("{name}s")) } else { Cow::Borrowed(name) })
    }

    /// The number of units of the document; 0 if it has none.
    pub(crate) fn unit_count(&self) -> usize {
        self.units.as_ref().map_or(0, |units| units.total)
    }

    /// The number of them, from the first, that are in the text.
    pub(crate) fn units_held(&self) -> usize {
        self.units.as_ref().map_or(0, |units| units.starts.len())
    }

    /// The place of a unit in the text, in bytes; none if it is not there. The text before the first belongs to it.
    pub(super) fn unit(&self, number: usize) -> Range<usize> {
        let end = self.text.len();
        let Some(Divided { starts, .. }) = &self.units else { return end..end };
        match number.checked_sub(1).filter(|at| *at < starts.len()) {
            Some(0) => 0..starts.get(1).copied().unwrap_or(end),
            Some(at) => starts.get(at).copied().unwrap_or(end)..starts.get(number).copied().unwrap_or(end),
            None => end..end,
        }
    }

    /// The unit at a place in the text.
    pub(crate) fn unit_at(&self, byte: usize) -> Option<usize> {
        let starts = &self.units.as_ref()?.starts;
        Some(starts.partition_point(|start| *start <= byte).max(1))
    }

    /// True if some of its units hold no text, or images whose words it has not.
    #[cfg(feature = "files")]
    pub(crate) fn is_partly_without_text(&self) -> bool {
        !(self.without_text.is_empty() && self.covered.is_empty())
    }

    /// True if a unit is in the text and holds anything but markers.
    pub(super) fn unit_says_something(&self, number: usize) -> bool {
        (1..=self.units_held()).contains(&number) && self.without_text.binary_search(&number).is_err()
    }

    /// True if images cover a unit, and its text does not say what they show.
    pub(super) fn unit_is_covered(&self, number: usize) -> bool {
        self.covered.binary_search(&number).is_ok()
    }

    /// The number of lines.
    pub(crate) fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Where a line stands in the text, in bytes, its end included.
    pub(crate) fn line(&self, number: usize) -> Range<usize> {
        let end = self.text.len();
        let start = number.checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or(end);
        start..self.lines.get(number).copied().unwrap_or(end)
    }

    /// The line at a place in the text.
    pub(super) fn line_at(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte).max(1)
    }

    /// A piece of the text.
    pub(crate) fn piece(&self, at: Range<usize>) -> &str {
        self.text.get(at).unwrap_or_default()
    }
}

fn line_starts(text: &str, max_line: usize) -> Vec<usize> {
    let max_line = max_line.max(4);
    let mut starts = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        while start < end {
            starts.push(start);
            // The line end belongs to the line, wherever the limit is.
            start =
                if end - start <= max_line + 1 { end } else { text.floor_char_boundary(start + max_line) };
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use attache_core::converter::Units;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_and_lines() {
        let text = "title\n[page 1]\none\n[page 2]\n\n[this page could not be read]\n[page 3]\nthree\n";
        let starts = text.match_indices("[page").map(|(at, _)| at).collect();
        let converted =
            ConvertedText::new(text).with_units(Units::new("page", starts, 5)).with_note("a note");
        let reading = Reading::converted(converted, "application/pdf", 100);
        assert_eq!(reading.about, ["text converted from application/pdf", "a note"]);
        assert_eq!((reading.unit_count(), reading.units_held(), reading.line_count()), (5, 3, 8));
        assert_eq!(reading.piece(reading.unit(1)), "title\n[page 1]\none\n");
        assert_eq!(reading.piece(reading.unit(3)), "[page 3]\nthree\n");
        assert_eq!((reading.piece(reading.unit(4)), reading.piece(reading.unit(0))), ("", ""));
        assert_eq!([1, 2, 3, 4].map(|unit| reading.unit_says_something(unit)), [true, false, true, false]);
        assert_eq!((reading.unit_at(0), reading.unit_at(text.len())), (Some(1), Some(3)));
        assert_eq!(reading.piece(reading.line(3)), "one\n");
        assert_eq!(reading.line_at(reading.line(3).start), 3);
        assert_eq!(reading.line(9), text.len()..text.len());
    }

    #[test]
    fn units_that_do_not_fit_are_none() {
        for starts in [vec![], vec![5, 0], vec![0, 99], vec![0, 1]] {
            let converted = ConvertedText::new("üüü\n").with_units(Units::new("page", starts, 2));
            assert_eq!(Reading::converted(converted, "x/y", 100).unit_count(), 0);
        }
    }

    proptest! {
        #[test]
        fn lines_are_the_text(text in "(\\PC{0,12}\n?){0,12}", max_line in 0_usize..9) {
            let reading = Reading::new(Arc::from(text.as_str()), Vec::new(), max_line);
            let lines: Vec<&str> = (1..=reading.line_count()).map(|n| reading.piece(reading.line(n))).collect();
            prop_assert_eq!(lines.concat(), text);
            prop_assert!(lines.iter().all(|line| !line.is_empty() && line.trim_end_matches('\n').len() <= max_line.max(4) + 1));
            prop_assert!(lines.iter().all(|line| !line.trim_end_matches('\n').contains('\n')));
        }
    }
}
