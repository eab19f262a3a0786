//! Lists of OpenDocument: what styles say of their labels, and how far they are counted.

use std::collections::HashMap;

use crate::numeral::numeral;
use crate::xml::Tag;

/// Styles of lists that are kept.
const MAX_STYLES: usize = 20_000;

/// Levels of a list.
const LEVELS: usize = 10;

/// The name under which the numbers of headings are kept.
pub(super) const HEADINGS: &str = "";

/// The styles of lists and their counters.
#[derive(Default)]
pub(super) struct Lists {
    styles: HashMap<String, Vec<Level>>,
    counters: HashMap<String, [Option<u32>; LEVELS]>,
    /// The style that is being read.
    open: Option<String>,
}

#[derive(Default)]
struct Level {
    /// The format of its number; empty for bullets.
    format: String,
    before: String,
    after: String,
    start: u32,
    /// The number of levels that the number shows.
    shown: usize,
}

impl Lists {
    /// Takes an element that may belong to the style of a list.
    pub(super) fn style(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "list-style" => {
                self.open = tag.exact("style:name").filter(|_| self.styles.len() < MAX_STYLES);
            }
            "outline-style" => self.open = Some(HEADINGS.to_owned()),
            "list-level-style-number"
            | "outline-level-style"
            | "list-level-style-bullet"
            | "list-level-style-image" => {
                let Some(style) = &self.open else { return };
                let at: usize = tag.number("level").unwrap_or(1);
                if at == 0 || at > LEVELS {
                    return;
                }
                let levels = self.styles.entry(style.clone()).or_default();
                levels.resize_with(levels.len().max(at), Level::default);
                let number = matches!(tag.name(), "list-level-style-number" | "outline-level-style");
                if let Some(level) = levels.get_mut(at - 1).filter(|_| number) {
                    *level = Level {
                        format: tag.attr("num-format").unwrap_or_default(),
                        before: tag.attr("num-prefix").unwrap_or_default(),
                        after: tag.attr("num-suffix").unwrap_or_default(),
                        start: tag.number("start-value").unwrap_or(1),
                        shown: tag.number("display-levels").unwrap_or(1),
                    };
                }
            }
            _ => {}
        }
    }

    /// A list begins anew.
    pub(super) fn restart(&mut self, style: &str) {
        self.counters.remove(style);
    }

    /// The label of the next item at this level, from 0: a number, `-`, or nothing.
    pub(super) fn next(&mut self, style: &str, level: usize, start: Option<u32>) -> String {
        let level = level.min(LEVELS - 1);
        let levels = self.styles.get(style).map_or(&[][..], Vec::as_slice);
        let first = |at: usize| levels.get(at).map_or(1, |level| level.start);
        let counters = self.counters.entry(style.to_owned()).or_default();
        for (at, counter) in counters.iter_mut().enumerate() {
            if at < level {
                counter.get_or_insert(first(at));
            } else if at == level {
                *counter = Some(match (start, *counter) {
                    (Some(start), _) => start,
                    (None, Some(count)) => count.saturating_add(1),
                    (None, None) => first(at),
                });
            } else {
                *counter = None;
            }
        }
        let none = if style == HEADINGS { "" } else { "-" };
        let Some(this) = levels.get(level).filter(|level| !level.format.is_empty()) else {
            return none.to_owned();
        };
        let from = (level + 1).saturating_sub(this.shown.max(1));
        let mut numbers = Vec::new();
        for (at, counter) in counters.iter().enumerate().take(level + 1).skip(from) {
            let format = levels.get(at).map_or("1", |level| level.format.as_str());
            if !format.is_empty() {
                numbers.push(numeral(counter.unwrap_or(1), name_of(format)));
            }
        }
        let label = format!("{}{}{}", this.before, numbers.join("."), this.after);
        label.chars().filter(|c| !c.is_control()).take(40).collect::<String>().trim().to_owned()
    }
}

/// Word's name of this format.
fn name_of(format: &str) -> &'static str {
    match format {
        "a" => "lowerLetter",
        "A" => "upperLetter",
        "i" => "lowerRoman",
        "I" => "upperRoman",
        _ => "decimal",
    }
}
