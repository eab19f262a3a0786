//! An element that is passed over, up to where it ends.

use std::collections::HashMap;

use super::elements::{breaks, is_container};

/// An element that is passed over. The end tags of some may be left out: they end before certain elements, and with the
/// element around them.
pub(super) struct Skipped {
    name: Vec<u8>,
    /// The number of elements of each name that are open inside. Of an element that its own tag ends, only those of its name
    /// are counted.
    open: HashMap<Vec<u8>, usize>,
    /// Of these the lists and tables, whose items and rows do not end those around them.
    containers: usize,
}

/// The meaning of an end tag to an element that is passed over.
pub(super) enum End {
    /// It ends something inside, or nothing.
    Inside,
    /// It ends the element.
    Own,
    /// It ends something around the element, and the element with it.
    Around,
}

impl Skipped {
    pub(super) fn new(name: Vec<u8>) -> Self {
        Self { name, open: HashMap::new(), containers: 0 }
    }

    /// True if what is inside is no HTML.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(&*self.name, b"svg" | b"math")
    }

    /// True if the element ends before one of this name begins.
    pub(super) fn ends_before(&self, name: &[u8]) -> bool {
        let is_cell = |name: &[u8]| matches!(name, b"td" | b"th");
        let is_group = |name: &[u8]| matches!(name, b"tbody" | b"thead" | b"tfoot");
        self.containers == 0
            && match &*self.name {
                b"p" => breaks(name),
                b"li" => name == b"li",
                b"dt" | b"dd" => matches!(name, b"dt" | b"dd"),
                b"td" | b"th" => is_cell(name) || name == b"tr" || is_group(name),
                b"tr" => name == b"tr" || is_group(name),
                b"tbody" | b"thead" | b"tfoot" => is_group(name),
                b"option" => matches!(name, b"option" | b"optgroup"),
                b"optgroup" => name == b"optgroup",
                b"rp" => matches!(name, b"rp" | b"rt"),
                _ => false,
            }
    }

    /// An element begins inside.
    pub(super) fn open(&mut self, name: Vec<u8>) {
        if self.ends_without_tag() || name == self.name {
            self.containers += usize::from(is_container(&name));
            *self.open.entry(name).or_default() += 1;
        }
    }

    /// An end tag comes.
    pub(super) fn close(&mut self, name: &[u8]) -> End {
        if let Some(count) = self.open.get_mut(name).filter(|count| **count > 0) {
            *count -= 1;
            self.containers -= usize::from(is_container(name));
            return End::Inside;
        }
        // An end of a paragraph or of a style that nothing began ends nothing.
        let ends_blocks =
            name != b"p" && breaks(name) || matches!(name, b"html" | b"optgroup" | b"ruby" | b"select");
        match name == self.name {
            true => End::Own,
            false if self.ends_without_tag() && ends_blocks => End::Around,
            false => End::Inside,
        }
    }

    fn ends_without_tag(&self) -> bool {
        matches!(
            &*self.name,
            b"p" | b"li"
                | b"dt"
                | b"dd"
                | b"tr"
                | b"td"
                | b"th"
                | b"tbody"
                | b"thead"
                | b"tfoot"
                | b"option"
                | b"optgroup"
                | b"rp"
        )
    }
}
