//! Groups of RTF: what is set in one, and what becomes of its text.

/// The number of no font.
pub(super) const NO_FONT: i32 = -1;

/// The settings of a group, which come back when it ends.
#[derive(Clone)]
pub(super) struct Group {
    /// Nothing in it is text.
    pub(super) skipped: bool,
    /// Its text is hidden or deleted.
    pub(super) hidden: bool,
    /// The next text is raised, so that `10` and a raised `6` are not read as 106.
    pub(super) raised: bool,
    pub(super) in_table: bool,
    pub(super) heading: Option<usize>,
    pub(super) font: i32,
    /// The number of characters that stand in for each one in Unicode.
    pub(super) stand_ins: usize,
    pub(super) kind: Kind,
    /// The paragraph that goes on behind a note.
    pub(super) saved: Option<String>,
}

/// The destination of the text of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Fonts,
    /// It stands in brackets with this name, in the middle of the paragraph.
    Note(&'static str),
    /// It stands behind the text.
    Aside(&'static str),
    /// The name of who comments.
    Author,
    /// The name of a property of a shape.
    Property,
    /// Words that a shape draws.
    Words,
    Styles,
    /// The number or mark of a list.
    Label,
    /// A choice of a form field that is a list.
    Choice,
    /// The instructions of a field.
    Instructions,
    /// An object that another program made, in hexadecimal digits.
    Object,
}

impl Group {
    /// The group of the document itself.
    pub(super) fn outermost() -> Self {
        Self {
            skipped: false,
            hidden: false,
            raised: false,
            in_table: false,
            heading: None,
            font: NO_FONT,
            stand_ins: 1,
            kind: Kind::Text,
            saved: None,
        }
    }

    /// A group inside a note is a part of it, and does not end it.
    pub(super) fn inner_kind(&self) -> Kind {
        match self.kind {
            Kind::Note(_) | Kind::Aside(_) => Kind::Text,
            kind => kind,
        }
    }
}
