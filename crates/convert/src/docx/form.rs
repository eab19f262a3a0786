//! Form fields, whose values are no text of the document.

use crate::marks;
use crate::xml::Tag;

/// Choices of a list that are kept.
const MAX_CHOICES: usize = 1_000;

/// A form field that is being read.
pub(super) enum Form {
    Box { checked: Option<bool>, default: bool },
    List { chosen: Option<usize>, default: usize, choices: Vec<String> },
}

impl Form {
    /// The field that an element begins, if it is one.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "checkBox" => Some(Self::Box { checked: None, default: false }),
            "ddList" => Some(Self::List { chosen: None, default: 0, choices: Vec::new() }),
            _ => None,
        }
    }

    /// An element begins inside the field.
    pub(super) fn open(&mut self, tag: &Tag<'_>) {
        let is_on = || tag.is_not_off("val");
        match (self, tag.name()) {
            (Self::Box { checked, .. }, "checked") => *checked = Some(is_on()),
            (Self::Box { default, .. }, "default") => *default = is_on(),
            (Self::List { chosen, .. }, "result") => *chosen = tag.number("val"),
            (Self::List { default, .. }, "default") => *default = tag.number("val").unwrap_or(0),
            (Self::List { choices, .. }, "listEntry") if choices.len() < MAX_CHOICES => {
                choices.push(tag.attr("val").unwrap_or_default());
            }
            _ => {}
        }
    }

    /// The text that the field shows.
    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Box { checked, default } => marks::of_box(checked.unwrap_or(*default)),
            Self::List { chosen, default, choices } => {
                choices.get(chosen.unwrap_or(*default)).map_or("", String::as_str)
            }
        }
    }
}
