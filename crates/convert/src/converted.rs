use std::fmt;

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// The text, lines ending in `\n`, each unit introduced by a marker line such as `[page 2]`. Texts that
    /// stand side by side on one line are separated by ` | `.
    pub text: String,
    /// What the document is divided into.
    pub unit: Unit,
    /// How many units the document has, whether or not all of them were, or can be, read.
    pub units: usize,
    /// Whether text is missing because a limit was reached or the document is damaged; [`notes`](Self::notes) say
    /// which.
    pub truncated: bool,
    /// What a reader of the text should know about it.
    pub notes: Vec<Note>,
}

/// What a document is divided into, and its markers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A page.
    Page,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page => f.write_str("page"),
        }
    }
}

/// A remark on a converted text; its `Display` is a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Not all units were read.
    UnitsLeftOut {
        /// What the units are.
        unit: Unit,
        /// How many were read, counted from the first.
        read: usize,
        /// How many there are.
        total: usize,
    },
    /// The text was cut at a limit.
    TextCut {
        /// The limit in bytes.
        limit: usize,
    },
    /// These units could not be read at all. They keep their numbers: under the marker of each, the text says so.
    Unread {
        /// What the units are.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// The list of the units is damaged: they are in the order in which they were found, and their numbers may be
    /// wrong.
    OrderGuessed {
        /// What the units are.
        unit: Unit,
    },
    /// Parts of these units were left out because they are too large, nested too deep, or damaged. Under the marker
    /// of each, the text says so too.
    PartsLeftOut {
        /// What the units are.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// These units hold no text; they may be scans or drawings.
    WithoutText {
        /// What the units are.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// Characters whose font does not say what they are; each stands as `U+FFFD` in the text.
    UnreadableCharacters {
        /// How many.
        count: usize,
    },
    /// The file ends before its end marker; what could be recovered is shown.
    EndsEarly,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnitsLeftOut { unit, read, total } => {
                write!(f, "only the first {read} of {total} {unit}s are shown")
            }
            Self::TextCut { limit } => write!(f, "the text is cut after {limit} bytes"),
            Self::Unread { unit, numbers } => write!(f, "{} could not be read", Numbers(*unit, numbers)),
            Self::OrderGuessed { unit } => {
                write!(
                    f,
                    "the order of the {unit}s is damaged: {unit}s may be missing and have wrong numbers"
                )
            }
            Self::PartsLeftOut { unit, numbers } => {
                write!(f, "parts that are too large or damaged are left out on {}", Numbers(*unit, numbers))
            }
            Self::WithoutText { unit, numbers } => {
                write!(f, "no text is on {}", Numbers(*unit, numbers))
            }
            Self::UnreadableCharacters { count } => {
                write!(f, "{count} characters could not be read and stand as \u{FFFD}")
            }
            Self::EndsEarly => f.write_str("the file ends early; what could be recovered is shown"),
        }
    }
}

/// `page 3`, `pages 3, 5–9`.
struct Numbers<'n>(Unit, &'n [usize]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(unit, numbers) = self;
        write!(f, "{unit}{}", if numbers.len() == 1 { " " } else { "s " })?;
        let mut rest = numbers.iter().copied().peekable();
        let mut first = true;
        while let Some(start) = rest.next() {
            let mut end = start;
            while rest.next_if_eq(&(end + 1)).is_some() {
                end += 1;
            }
            f.write_str(if first { "" } else { ", " })?;
            first = false;
            if end == start { write!(f, "{start}")? } else { write!(f, "{start}\u{2013}{end}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Note, Unit};

    #[test]
    fn numbers_are_listed_as_ranges() {
        let note =
            |numbers: &[usize]| Note::WithoutText { unit: Unit::Page, numbers: numbers.to_vec() }.to_string();
        assert_eq!(note(&[3]), "no text is on page 3");
        assert_eq!(note(&[1, 3, 4, 5, 9]), "no text is on pages 1, 3\u{2013}5, 9");
    }
}
