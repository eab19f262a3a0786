//! The beginning of an element, with the attributes that its text depends on.

/// A tag that begins.
#[derive(Default)]
pub(super) struct Tag {
    pub(super) name: Vec<u8>,
    pub(super) hidden: bool,
    pub(super) text: String,
    pub(super) columns: Option<usize>,
    pub(super) rows: Option<usize>,
    /// The value of a control, or the number of an item or of the first one.
    pub(super) value: String,
    /// The kind of a control.
    pub(super) kind: String,
    pub(super) is_chosen: bool,
    pub(super) is_multiple: bool,
}

impl Tag {
    pub(super) fn number(&self) -> Option<i64> {
        self.value.trim().parse().ok()
    }
}
