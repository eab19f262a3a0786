//! The pieces that a text is taken apart into: what can be quoted, and the heads of its tables.

/// Something that can be quoted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Passage {
    /// The quote: as it stands in the text, but for line breaks inside a sentence.
    pub(crate) text: String,
    /// The page, where the text says it.
    pub(crate) page: Option<u32>,
    /// The heading above it.
    pub(crate) heading: String,
    /// The kind of its text.
    pub(crate) form: Form,
}

/// The kind of text of a passage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Form {
    /// A sentence or a line.
    #[default]
    Prose,
    /// A label and its value.
    Pair {
        /// The label.
        label: String,
        /// The value.
        value: String,
    },
    /// A row of a table.
    Row {
        /// The number of the table in the text.
        table: usize,
        /// The cells.
        cells: Vec<String>,
    },
    /// A heading.
    Heading,
}

/// A text taken apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Pieces {
    pub(crate) passages: Vec<Passage>,
    pub(crate) tables: Vec<Table>,
    /// The reason why not all of it was taken apart.
    pub(crate) cut: Option<String>,
}

/// The head of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// The names of the columns.
    pub(crate) columns: Vec<String>,
    /// The line as it stands.
    pub(crate) line: String,
}

impl Table {
    pub(crate) fn new(columns: &[&str], line: &str) -> Self {
        Self { columns: columns.iter().map(|column| (*column).to_owned()).collect(), line: line.to_owned() }
    }
}
