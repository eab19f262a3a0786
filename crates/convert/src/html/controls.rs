//! Controls of forms, as a reader sees them: the value of each, and of a list what is chosen in it.

use super::tag::Tag;
use crate::marks;
use crate::output::one_line;

/// The text that an `input` shows. Passwords are dots, and what is hidden or a file is none of the text.
pub(super) fn input(tag: &Tag) -> String {
    match tag.kind.trim().to_ascii_lowercase().as_str() {
        "hidden" | "password" | "file" => String::new(),
        "checkbox" | "radio" => marks::of_box(tag.is_chosen).to_owned(),
        "image" => one_line(&tag.text),
        _ => one_line(&tag.value),
    }
}

/// A list that is open.
pub(super) struct Select {
    /// True if several may be chosen: all are to be seen.
    multiple: bool,
    /// The choices, and whether each is chosen.
    options: Vec<(bool, String)>,
}

impl Select {
    pub(super) fn new(tag: &Tag) -> Self {
        Self { multiple: tag.is_multiple, options: Vec::new() }
    }

    pub(super) fn option(&mut self, tag: &Tag) {
        self.options.push((tag.is_chosen, String::new()));
    }

    /// Adds to the choice that began last.
    pub(super) fn text(&mut self, text: &str) {
        if let Some((_, option)) = self.options.last_mut() {
            option.push_str(text);
        }
    }

    /// The text that it shows: without a choice of somebody's, the first.
    pub(super) fn shown(&self) -> String {
        if self.multiple {
            let all = self
                .options
                .iter()
                .map(|(chosen, text)| format!("{} {}", marks::of_box(*chosen), one_line(text)));
            return all.collect::<Vec<_>>().join(" ");
        }
        let chosen = self.options.iter().rfind(|(chosen, _)| *chosen).or(self.options.first());
        chosen.map(|(_, text)| one_line(text)).unwrap_or_default()
    }
}
