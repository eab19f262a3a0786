//! The knowledge that the body of a document takes from other parts: styles, lists, notes.

use std::collections::HashMap;

use super::numbering::Numbering;
use super::styles::Styles;

/// The knowledge of other parts.
pub(super) struct Parts {
    pub(super) styles: Styles,
    pub(super) numbering: Numbering,
    pub(super) notes: HashMap<(&'static str, String), Aside>,
    /// True if a part of notes is damaged.
    pub(super) unread: bool,
}

/// A note or a comment.
pub(super) struct Aside {
    pub(super) text: String,
    pub(super) shown: bool,
}
