use std::fmt;

use bytes::Bytes;

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// The text, with lines ending in `\n` and each unit introduced by a marker line such as `[page 2]`. Texts side by
    /// side on one line are separated by ` | `.
    pub text: String,
    /// The units that the document is divided into.
    pub unit: Unit,
    /// The number of units of the document, including those that were not or could not be read.
    pub units: usize,
    /// The byte offset in the text of each unit that was read, including its marker; empty for [`Unit::Whole`], which
    /// has no units.
    pub starts: Vec<usize>,
    /// The name of each of these units, and its visibility.
    pub labels: Vec<Label>,
    /// True if text is missing because a limit was reached or the document is damaged; [`notes`](Self::notes) say
    /// which.
    pub truncated: bool,
    /// The notes for readers of the text.
    pub notes: Vec<Note>,
    /// Documents inside the document: attachments of an e-mail, documents embedded in an office file or attached to a
    /// PDF. The text marks the position of each (`[attachment 1: order.csv, text/csv, 8 bytes]`). Documents inside them
    /// are found when they are converted themselves.
    pub attachments: Vec<Attachment>,
}

/// The name and visibility of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Label {
    /// The name in the document, as in its marker; empty if there is none.
    pub name: String,
    /// True if it is hidden in programs that show the document.
    pub is_hidden: bool,
}

/// A document inside a document, as declared by its sender or detected from its content.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment {
    /// Its content.
    pub bytes: Bytes,
    /// The declared or detected media type.
    pub media_type: String,
    /// The declared file name.
    pub file_name: Option<String>,
}

/// The units into which a document is divided and which its markers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A page.
    Page,
    /// A sheet of a workbook.
    Sheet,
    /// A slide of a presentation.
    Slide,
    /// A chapter of a book: a file of an EPUB, in reading order.
    Chapter,
    /// A block of rows of a table.
    RowBlock,
    /// The document is not divided, and has no markers.
    Whole,
}

impl Unit {
    /// The name of one unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Sheet => "sheet",
            Self::Slide => "slide",
            Self::Chapter => "chapter",
            Self::RowBlock => "block of rows",
            Self::Whole => "document",
        }
    }

    const fn plural(self) -> &'static str {
        match self {
            Self::Page => "pages",
            Self::Sheet => "sheets",
            Self::Slide => "slides",
            Self::Chapter => "chapters",
            Self::RowBlock => "blocks of rows",
            Self::Whole => "documents",
        }
    }

    /// The preposition for something that stands there.
    const fn preposition(self) -> &'static str {
        match self {
            Self::Page | Self::Sheet | Self::Slide => "on",
            Self::Chapter | Self::RowBlock | Self::Whole => "in",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A remark on a converted text; its `Display` is a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Not all units were read.
    UnitsLeftOut {
        /// The kind of unit.
        unit: Unit,
        /// The number that was read, counted from the first.
        read: usize,
        /// The total number.
        total: usize,
    },
    /// The text was cut at a limit.
    TextCut {
        /// The limit in bytes.
        limit: usize,
    },
    /// These units could not be read at all. They keep their numbers, and the text says so under the marker of each.
    Unread {
        /// The kind of unit.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// The list of the units is damaged: they are in the order in which they were found, and their numbers may be
    /// wrong.
    OrderGuessed {
        /// The kind of unit.
        unit: Unit,
    },
    /// Parts of these units were left out because they are too large, nested too deep, or damaged. Under the marker
    /// of each, the text says so too.
    PartsLeftOut {
        /// The kind of unit.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// These units contain no text; they may be scans or drawings.
    WithoutText {
        /// The kind of unit.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// These units consist mostly of images, with little text: scans with a stamp, or pictures with a title.
    CoveredByImages {
        /// The kind of unit.
        unit: Unit,
        /// Their numbers, from 1.
        numbers: Vec<usize>,
    },
    /// Characters that the font does not identify, or whose bytes are damaged; each is `U+FFFD` in the text.
    UnreadableCharacters {
        /// The number.
        count: usize,
    },
    /// The file ends before its end marker; what could be recovered is shown.
    EndsEarly,
    /// The encrypted content is not what its integrity value was made of: it was damaged, or somebody altered it.
    Altered,
    /// The list of the parts of the file is missing or damaged: what could be found without it is shown.
    Recovered,
    /// The charset is not declared, or is not the declared one: this one was guessed.
    Charset {
        /// Its name.
        charset: &'static str,
    },
    /// Content of the document that is not text.
    NotShown {
        /// The kind of content, such as `image`.
        what: &'static str,
        /// The number.
        count: usize,
    },
    /// Rows of a table are left out.
    RowsLeftOut {
        /// The number that is shown.
        shown: usize,
        /// The total number, if they were counted.
        total: Option<usize>,
    },
    /// Formulas without stored values; the formulas themselves are shown.
    FormulasWithoutValues {
        /// The number.
        count: usize,
    },
    /// Numbers of pages are those of when the document was last laid out.
    PagesAsSaved,
    /// It is not what its type says, and is shown as text.
    ShownAsText {
        /// The kind that it is not, with its article.
        not: &'static str,
    },
    /// It is not what its media type says.
    ReadAs {
        /// The kind that it was read as.
        format: &'static str,
    },
    /// Long lists or long texts are cut; the text says where, and how much is left out.
    Shortened,
    /// Entries of an archive, or parts of an e-mail, are left out, as there are too many, or their list is damaged.
    EntriesLeftOut,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnitsLeftOut { unit, read, total } => {
                write!(f, "only the first {read} of {total} {} are shown", unit.plural())
            }
            Self::TextCut { limit } => write!(f, "the text is cut after {limit} bytes"),
            Self::Unread { unit, numbers } => write!(f, "{} could not be read", Numbers(*unit, numbers)),
            Self::OrderGuessed { unit } => {
                let units = unit.plural();
                write!(
                    f,
                    "the order of the {units} is damaged: {units} may be missing and have wrong numbers"
                )
            }
            Self::PartsLeftOut { unit: Unit::Whole, .. } => {
                f.write_str("parts that are too large or damaged are left out")
            }
            Self::PartsLeftOut { unit, numbers } => {
                let (on, numbers) = (unit.preposition(), Numbers(*unit, numbers));
                write!(f, "parts that are too large or damaged are left out {on} {numbers}")
            }
            Self::WithoutText { unit, numbers } => {
                write!(f, "no text is {} {}", unit.preposition(), Numbers(*unit, numbers))
            }
            Self::CoveredByImages { unit, numbers } => {
                let units = Numbers(*unit, numbers);
                write!(f, "images cover {units}, and the text does not say what they show")
            }
            Self::UnreadableCharacters { count } => {
                write!(f, "{count} characters could not be read and stand as \u{FFFD}")
            }
            Self::EndsEarly => f.write_str("the file ends early; what could be recovered is shown"),
            Self::Altered => f.write_str(
                "the content does not match the integrity value of the file: it is damaged or was altered",
            ),
            Self::Recovered => f.write_str(
                "the list of the file's parts is missing or damaged; what could be found without it is shown",
            ),
            Self::Charset { charset } => write!(f, "read as {charset} (guessed)"),
            Self::NotShown { what, count: 1 } => write!(f, "1 {what} is not shown"),
            Self::NotShown { what, count } => {
                let end = if what.ends_with('x') { "es" } else { "s" };
                write!(f, "{count} {what}{end} are not shown")
            }
            Self::RowsLeftOut { shown, total: Some(total) } => {
                write!(f, "only {shown} of {total} rows are shown")
            }
            Self::RowsLeftOut { shown, total: None } => {
                write!(f, "only {shown} rows are shown, there are more")
            }
            Self::FormulasWithoutValues { count } => {
                write!(f, "{count} formulas have no value in the document and stand as formulas")
            }
            Self::PagesAsSaved => f.write_str("pages are numbered as when the document was last laid out"),
            Self::ShownAsText { not } => write!(f, "it is not {not} and is shown as it is"),
            Self::ReadAs { format } => write!(f, "it is not of the declared type and was read as {format}"),
            Self::Shortened => f.write_str("long lists or texts are shortened where the text says so"),
            Self::EntriesLeftOut => {
                f.write_str("entries are left out: there are too many, or their list is damaged")
            }
        }
    }
}

/// `page 3`, `pages 3, 5–9`.
struct Numbers<'n>(Unit, &'n [usize]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(unit, numbers) = self;
        write!(f, "{} ", if numbers.len() == 1 { unit.name() } else { unit.plural() })?;
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
